"""Exercise 3: the control-flow function at a vector and at a matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dualad as ad
from dualad.harness.report import BLUE, GREY, RED, canvas
from exercises.functions import control_flow
from exercises.page import PLOTS, drawn, heading, refused, say, section, show


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Why backward refuses, what the derivative is instead, and why it is so simple."""
    heading(3, "The control-flow function, with a vector and with a matrix for a.")
    rng = np.random.default_rng(3)
    for name, shape in [("A vector", (3,)), ("A matrix", (2, 3))]:
        section(name)
        at_array(rng.normal(size=shape))
    section("What f is")
    analysis(rng)
    draw(plots / "exercise_3.png")


def at_array(value: np.ndarray) -> None:
    """Backward, backward with a cotangent, and the Jacobian at one array."""
    a = ad.Variable(value)
    d = control_flow(a)
    show(f"a =\n{np.round(value, 3)}\nf(a) =\n{np.round(d.primal, 1)}")
    say("backward refuses:")
    refused(d.backward, ValueError, "gradient", "sum")
    say(f"""
        f(a) is no longer one number but {value.size}, so there is no one gradient: each of the
        {value.size} outputs has a slope in each of the {value.size} inputs.  Backward computes a
        product, v times that matrix, and must be told v.  With gradient= all ones it is
        the gradient of the sum of f(a):
    """)
    d.backward(gradient=np.ones(value.shape))
    k = factor(value)
    show(a.grad)
    assert np.array_equal(a.grad, np.full(value.shape, k))

    jacobian = ad.jacobian(control_flow)(value)
    say(f"jacobian gives all of it, an array of shape out.shape + a.shape = {jacobian.shape}:")
    square = jacobian.reshape(value.size, value.size)
    show(f"{square}" if value.ndim == 1 else f"as a {value.size} x {value.size} matrix,\n{square}")
    assert jacobian.shape == value.shape * 2
    assert np.array_equal(square, k * np.eye(value.size))
    say(f"It is {k:.0f} times the identity, and f(a) / a is {k:.0f} in every entry.")
    assert np.array_equal(d.primal, k * value)


def factor(a: np.ndarray) -> float:
    """The k of f(a) = k a, found without running f: the first doubling beyond 1000."""
    k = 2.0
    while np.linalg.norm(k * a) < 1000:
        k *= 2
    return k if (k * a).sum() > 0 else 100 * k


def analysis(rng: np.random.Generator) -> None:
    """That f is linear along pieces, and not linear."""
    say("""
        Loop and branch only look at a; what they do to it is to multiply it by 2 and by 100.
        So f(a) = k a, where k is 2, 4, 8, ... until the norm of k a reaches 1000, and 100
        times that if the sum of the entries is not positive.  k depends on a in steps: near
        almost every a it is a constant, there f is linear, and its Jacobian is k times the
        identity, exactly.
    """)
    for _ in range(100):
        a = rng.normal(size=4)
        assert np.array_equal(ad.jvp(control_flow, (a,), (a,))[1], control_flow(a))
    say("""
        For 100 random vectors, the slope of f along a itself equals f(a), to the last bit.
        But f is not linear: twice the argument takes one doubling less.
    """)
    a = np.array([1.0, 2.0, 2.0])
    show(f"a = {a}     f(a)  = {control_flow(a)}\n2a = {2 * a}    f(2a) = {control_flow(2 * a)}")
    assert np.array_equal(control_flow(a), control_flow(2 * a))
    say("""
        Where k jumps (the norm of a is 1000 / 2^m, or the entries sum to 0), f jumps too and has
        no derivative.  Automatic differentiation does not see the jump: it gives the slope
        of the path that was run.  That is the derivative wherever there is one, and
        no warning where there is none.
    """)


def draw(path: Path) -> None:
    """f and its slope over numbers: both jump where the loop runs once more."""
    a = np.concatenate([-np.geomspace(2500, 20, 700), np.geomspace(20, 2500, 700)])
    slope = np.array([ad.derivative(control_flow)(float(x)) for x in a])
    value = np.array([control_flow(x) for x in a])
    assert np.array_equal(value, slope * a)
    with canvas(path, columns=2) as (left, right):
        for axes, y, color, name in [(left, value, BLUE, "f(a)"), (right, slope, RED, "f'(a)")]:
            jump = np.flatnonzero(np.diff(slope) != 0)
            where, shown = np.insert(a, jump + 1, np.nan), np.insert(y, jump + 1, np.nan)
            axes.plot(where, shown, color=color)
            axes.axvline(0, color=GREY, linewidth=0.8)
            axes.set_xscale("symlog", linthresh=20)
            axes.set_xticks([-1000, -100, 0, 100, 1000], ["-1000", "-100", "0", "100", "1000"])
            axes.set(xlabel="a, a number", ylabel=name)
        left.set_yscale("symlog", linthresh=100)
        left.set_title("f(a) = k a: a jump at each 1000 / 2^m and at 0")
        right.set_yscale("log", base=2)
        right.set_title("its slope k: constant between the jumps")
    drawn(path)


if __name__ == "__main__":
    main()
