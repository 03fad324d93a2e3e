"""Exercise 2: backward twice in a row."""

from __future__ import annotations

from pathlib import Path

import dualad as ad
from exercises.page import PLOTS, heading, refused, say, section, show


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """What a second backward does, and what makes it work."""
    heading(2, "Run backward, and immediately again: what happens?")

    section("Twice in a row")
    x = ad.Variable(3.0)
    y = x * x
    y.backward()
    show(f"after the first backward:  x.grad = {x.grad}")
    assert x.grad == 6.0
    say("The second one refuses:")
    refused(y.backward, RuntimeError, "retain_graph")
    assert x.grad == 6.0
    say("""
        The first sweep used up the record.  A record holds a local partial for every
        operation, so for a long computation it is most of the memory in use; it is needed
        once in almost every program, and is given back as soon as it has been walked.  The
        refused call changed nothing: x.grad is still 6.
    """)

    section("With retain_graph=True")
    x = ad.Variable(3.0)
    y = x * x
    y.backward(retain_graph=True)
    once = x.grad
    y.backward()
    show(f"after one backward:   x.grad = {once}\nafter two:            x.grad = {x.grad}")
    assert (once, x.grad) == (6.0, 12.0)
    say("""
        Both sweeps give 6, and the second is added to the first: 12 is the gradient of y + y.
        That is what one wants when several losses share parameters, and a wrong answer
        where a loop forgets zero_grad.
    """)
    x = ad.Variable(3.0)
    y = x * x
    y.backward(retain_graph=True)
    x.zero_grad()
    y.backward()
    show(f"with zero_grad between them: x.grad = {x.grad}")
    assert x.grad == 6.0

    section("Where the question does not arise")
    say("""
        A pullback belongs to whoever holds it: it returns its answer instead of adding it
        somewhere, and can be called any number of times.
    """)
    value, pullback = ad.vjp(lambda x: x * x, 3.0)
    answers = [pullback(1.0)[0] for _ in range(3)]
    show(f"y = {value}, pullback(1.0) three times: {answers}")
    assert answers == [6.0, 6.0, 6.0]


if __name__ == "__main__":
    main()
