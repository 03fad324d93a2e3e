"""Exercise 0: the chapter's own examples, in the words of its four frameworks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dualad as ad
from exercises.functions import control_flow
from exercises.page import PLOTS, heading, say, section, show


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Every example of the chapter, with the numbers that are printed there."""
    heading(0, "The chapter's own examples, with the numbers printed there.")
    pytorch()
    mxnet()
    jax()
    tensorflow()


def pytorch() -> None:
    section("Backward on a variable (PyTorch's way)")
    say("A Variable records what is computed from it; backward adds to its grad.")
    x: Any = ad.Variable(np.arange(4.0))
    before = x.grad
    assert before is None
    y = 2 * np.dot(x, x)
    y.backward()
    show(f"x = {x.primal}\ny = 2 x·x = {y.primal}\ngradient = {x.grad}, which is 4 x")
    assert y.primal == 28.0
    assert np.array_equal(x.grad, [0.0, 4.0, 8.0, 12.0])
    assert np.array_equal(x.grad, 4 * x.primal)

    x.zero_grad()
    x.sum().backward()
    show(f"gradient of sum(x) = {x.grad}")
    assert np.array_equal(x.grad, [1.0, 1.0, 1.0, 1.0])

    say("""
        Gradients accumulate, so zero_grad stands before each new function.  y = x x is a
        vector: backward must be told with which vector to multiply its Jacobian.
    """)
    x.zero_grad()
    y = x * x
    y.backward(gradient=np.ones(len(y)))
    show(f"gradient of x*x with ones = {x.grad}")
    assert np.array_equal(x.grad, [0.0, 2.0, 4.0, 6.0])

    say("""
        Detached: u has the value of y = x x and none of its history, so that z = u x is
        linear in x with slope u.  The record of y itself is still there.
    """)
    x.zero_grad()
    y = x * x
    u = y.detach()
    z = u * x
    z.sum().backward()
    show(f"gradient of u x = {x.grad}, which is u (and not 3 x x)")
    assert np.array_equal(x.grad, u.primal)
    x.zero_grad()
    y.sum().backward()
    show(f"gradient of y = {x.grad}, which is 2 x")
    assert np.array_equal(x.grad, 2 * x.primal)

    say("""
        Control flow: how often the loop runs and which branch is taken depend on the
        value of a.  Whatever happens, f(a) = k a on that path, so the slope is d / a.
    """)
    rng = np.random.default_rng(0)
    for _ in range(3):
        a = ad.Variable(rng.normal())
        d = control_flow(a)
        d.backward()
        show(f"a = {a.primal:+.4f}   f(a) = {d.primal:+.4f}   slope = {a.grad:.0f}")
        assert a.grad == d.primal / a.primal


def mxnet() -> None:
    section("Record, then backward (MXNet's way)")
    say("""
        With attach_grad the gradient is zero at first, only what runs inside record() is
        recorded, each backward overwrites, and a vector at the head is summed.
    """)
    x: Any = ad.Variable(np.arange(4.0))
    x.attach_grad()
    assert np.array_equal(x.grad, np.zeros(4))
    examples: list[tuple[str, Callable[[Any], Any], list[float]]] = [
        ("2 x·x", lambda x: 2 * np.dot(x, x), [0.0, 4.0, 8.0, 12.0]),
        ("sum(x)", lambda x: x.sum(), [1.0, 1.0, 1.0, 1.0]),
        ("x*x", lambda x: x * x, [0.0, 2.0, 4.0, 6.0]),
        ("u x", lambda x: (x * x).detach() * x, [0.0, 1.0, 4.0, 9.0]),
    ]
    for name, f, expected in examples:
        with ad.record():
            y = f(x)
        y.backward()
        show(f"gradient of {name} = {x.grad}")
        assert np.array_equal(x.grad, expected)


def jax() -> None:
    section("A function's gradient is a function (JAX's way)")
    x = np.arange(4.0)
    gradient = ad.grad(lambda x: 2 * np.dot(x, x))(x)
    show(f"grad of 2 x·x = {gradient}")
    assert np.array_equal(gradient, 4 * x)
    assert np.array_equal(ad.grad(np.sum)(x), np.ones(4))
    assert np.array_equal(ad.grad(lambda x: (x * x).sum())(x), 2 * x)
    constant = ad.grad(lambda x: (ad.stop_gradient(x * x) * x).sum())(x)
    show(f"grad of u x, u by stop_gradient = {constant}")
    assert np.array_equal(constant, x * x)
    a = float(np.random.default_rng(1).normal())
    assert ad.grad(control_flow)(a) == control_flow(np.float64(a)) / a


def tensorflow() -> None:
    section("A tape (TensorFlow's way)")
    with ad.Tape(persistent=True) as tape:
        x = tape.watch(np.arange(4.0))
        y = x * x
        u = ad.stop_gradient(y)
        z = u * x
        t = 2 * np.tensordot(x, x, axes=1)
    show(f"gradient of 2 x·x = {tape.gradient(t, x)}")
    show(f"gradient of x*x = {tape.gradient(y, x)}")
    show(f"gradient of u x = {tape.gradient(z, x)}")
    assert np.array_equal(tape.gradient(t, x), [0.0, 4.0, 8.0, 12.0])
    assert np.array_equal(tape.gradient(y, x), [0.0, 2.0, 4.0, 6.0])
    assert np.array_equal(tape.gradient(z, x), u)


if __name__ == "__main__":
    main()
