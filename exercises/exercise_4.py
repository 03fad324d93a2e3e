"""Exercise 4: sin and its derivative, the derivative by automatic differentiation only."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dualad as ad
from dualad.harness.report import BLUE, RED, canvas
from exercises.page import PLOTS, drawn, heading, say, show


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Both curves on one plot, without ever writing down the derivative."""
    heading(4, "Plot f(x) = sin x and f', and do not use that f' is cos.")
    x = np.linspace(-2 * np.pi, 2 * np.pi, 401)
    f = np.sin
    slope = ad.derivative(f)(x)
    say("""
        The array of 401 points goes through sin once, as one dual number: the value and
        the slope at every point come out together.
    """)

    # The same by reverse mode, and by a complex step (which has no derivative in it).
    reverse = ad.grad(lambda x: np.sum(f(x)))(x)
    step = 1e-20
    difference = np.imag(f(x + 1j * step)) / step
    by_mode = float(np.max(np.abs(slope - reverse)))
    by_step = float(np.max(np.abs(slope - difference)))
    show(f"largest difference from reverse mode:   {by_mode:.1e}\n"
         f"largest difference from a complex step: {by_step:.1e}")  # fmt: skip
    assert by_mode == 0.0
    assert by_step <= 4 * np.finfo(float).eps

    before = np.flatnonzero(np.sign(slope[:-1]) != np.sign(slope[1:]))
    say("""
        Where the slope changes its sign, the curve must turn around: there sin is 1 or -1.
    """)
    show(f"f' changes sign near x/pi = {np.round(x[before] / np.pi, 2)}\n"
         f"where f is about            {np.round(f(x[before]), 3)}")  # fmt: skip
    assert len(before) == 4
    assert np.all(np.abs(f(x[before])) > 0.999)

    path = plots / "exercise_4.png"
    with canvas(path, size=(7.0, 3.6)) as (axes,):
        axes.plot(x, f(x), color=BLUE, label="f(x) = sin x")
        axes.plot(x, slope, color=RED, linestyle="--", label="f'(x), by automatic differentiation")
        axes.set_xticks(np.pi * np.arange(-2, 3), ["-2π", "-π", "0", "π", "2π"])
        axes.set(xlabel="x", ylabel="value", title="sin and its derivative", ylim=(-1.15, 1.5))
        axes.legend(loc="upper center", ncols=2)
    drawn(path)


if __name__ == "__main__":
    main()
