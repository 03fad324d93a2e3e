"""Exercise 1: why second derivatives cost so much more than first ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dualad as ad
from dualad.harness.functions import rosenbrock
from dualad.harness.measure import Contestant, Measurement, measure
from dualad.harness.report import Curve, canvas, curves
from dualad.harness.tables import memory, table
from exercises.functions import POINT, log_sine
from exercises.page import PLOTS, drawn, heading, say, section, show

GRADIENT, PRODUCT = "reverse", "Hessian times a vector"
HYPERDUAL, OVER = "hyperdual", "forward over reverse"
#: names in tables, where they differ from those in figures
CALLED = {GRADIENT: "gradient", PRODUCT: "H v", OVER: "H, fwd over rev", HYPERDUAL: "H, hyperdual"}


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Measure gradient and Hessian with n growing, and say where the difference comes from."""
    heading(1, "Why are second derivatives so much more expensive than first ones?")
    one_number(0.05 if quick else 0.5)
    sizes = (2, 3, 4) if quick else (2, 4, 8, 16, 32)
    seconds = 0.01 if quick else 0.4
    single = {n: measured(n, 1, seconds) for n in sizes}
    at_once = {n: measured(n, None, seconds) for n in sizes}
    one_at_a_time(single)
    operations(sizes)
    all_at_once(at_once)
    draw(plots / "exercise_1.png", single, at_once)
    reason()


def one_number(seconds: float) -> None:
    """With one input there is nothing to wonder about."""
    section("A function of one number")
    ways: dict[str, Contestant] = {
        "first derivative": ad.derivative,
        "second derivative": partial(ad.derivative, order=2),
    }
    result = measure(log_sine, [POINT], ways, seconds=seconds)
    show(rows_of({1: result}, tuple(ways)))
    say("""
        A dual number carries two floats and a hyper-dual number four, so the second derivative
        of a function of one number costs a small multiple of the first.  That is not it.
    """)


def point(n: int) -> np.ndarray:
    """Where the function of n numbers is taken."""
    return np.random.default_rng(n).normal(size=n)


def contestants(chunk: int | None, n: int) -> dict[str, Contestant]:
    """Gradient, Hessian times a vector, and the Hessian in two ways."""
    v = np.ones(n)

    def product(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: ad.hvp(f, x, v)

    return {
        GRADIENT: partial(ad.grad, mode="reverse"),
        PRODUCT: product,
        OVER: partial(ad.hessian, mode="forward", chunk=chunk),
        HYPERDUAL: partial(ad.hessian, mode="hyperdual", chunk=chunk),
    }


def measured(n: int, chunk: int | None, seconds: float) -> Measurement:
    """All contestants on Rosenbrock's function of n numbers; they agree, or nothing counts."""
    x = point(n)
    ways = contestants(chunk, n)
    by_tape, by_numbers = ways[OVER](rosenbrock)(x), ways[HYPERDUAL](rosenbrock)(x)
    assert np.allclose(by_tape, by_numbers, rtol=1e-12, atol=1e-9)
    assert np.allclose(ways[PRODUCT](rosenbrock)(x), by_tape.sum(axis=1), rtol=1e-12, atol=1e-9)
    return measure(rosenbrock, [x], ways, seconds=seconds, rounds=5)


def rows_of(results: dict[int, Measurement], names: tuple[str, ...]) -> str:
    """Times as ratios to f, one row a size."""
    rows = []
    for n, result in results.items():
        ratios = [result.contestants[name].timing.ratio for name in names]
        spreads = [f"{r.median:,.0f} ({r.lower:,.0f} to {r.upper:,.0f})" for r in ratios]
        rows.append([str(n), *spreads])
    header = [CALLED.get(name, name) for name in names]
    return table(["n", *header], rows) + "\nTime / time of f: median (quartiles)."


def growth(results: dict[int, Measurement], name: str) -> float:
    """p where the ratio to f grows like n to the p, over the largest three sizes."""
    sizes = list(results)[-3:]
    ratios = [results[n].contestants[name].timing.ratio.median for n in sizes]
    return float(np.polyfit(np.log(sizes), np.log(ratios), 1)[0])


def one_at_a_time(results: dict[int, Measurement]) -> None:
    """The count of passes: 1, n, n (n + 1) / 2."""
    section("A function of n numbers, one direction at a time")
    names = (GRADIENT, PRODUCT, OVER, HYPERDUAL)
    show(rows_of(results, names))
    counts = [
        [str(n), *(str(result.contestants[name].evaluations) for name in names)]
        for n, result in results.items()
    ]
    show(table(["n", *CALLED.values()], counts) + "\nHow often f is run.")
    for n, result in results.items():
        runs = {name: cost.evaluations for name, cost in result.contestants.items()}
        assert runs == {GRADIENT: 1, PRODUCT: 1, OVER: n, HYPERDUAL: n * (n + 1) // 2}
    largest = max(results)
    cost = {name: results[largest].contestants[name].timing.ratio.median for name in names}
    say(f"""
        The gradient has n entries and comes out of one run of f and one sweep back, whatever n
        is.  The Hessian has n (n + 1) / 2 different entries.  Its row i is the derivative of
        the gradient along input i, so it takes n runs of what costs about as much as a gradient;
        hyper-dual numbers give one entry a run, so they take n (n + 1) / 2.  At n =
        {largest} the Hessian costs {cost[OVER] / cost[GRADIENT]:.0f} and
        {cost[HYPERDUAL] / cost[GRADIENT]:.0f} times the gradient, and
        the ratios grow like n^{growth(results, OVER):.1f} and
        n^{growth(results, HYPERDUAL):.1f} (the gradient's like n^{growth(results, GRADIENT):.1f}).
    """)
    # By how much is for the counts below to assert, which no busy machine can disturb.
    assert cost[GRADIENT] < min(cost[OVER], cost[HYPERDUAL])


def operations(sizes: Sequence[int]) -> None:
    """The same with no clock: exact counts of additions, products, divisions and calls."""
    section("The same, counted instead of timed")
    rows = []
    for n in sizes:
        x, ways = point(n), contestants(1, n)
        count = {name: ad.trace(way(rosenbrock))(x).count().flops for name, way in ways.items()}
        f = ad.trace(rosenbrock)(x).count().flops
        rows.append([str(n), str(f), *(f"{count[name] / f:,.1f}" for name in ways)])
        assert count[OVER] == n * count[PRODUCT]
        assert count[GRADIENT] <= 5 * f
        assert count[HYPERDUAL] > count[OVER]
    below = "\nOperations of f, and of the others for each of them."
    show(table(["n", "f", *CALLED.values()], rows) + below)
    say("""
        Every derivative was recorded as a program of its own and its operations counted.  The
        gradient costs the same small multiple of f for every n, the product H v another one,
        and the Hessian exactly n times H v.
    """)


def all_at_once(results: dict[int, Measurement]) -> None:
    """The same entries, carried in arrays: cheaper by a constant, until arrays are large."""
    section("The same, all directions at once")
    names = (GRADIENT, PRODUCT, OVER, HYPERDUAL)
    show(rows_of(results, names))
    peaks = [
        [str(n), *(memory(result.contestants[name].peak_bytes) for name in names)]
        for n, result in results.items()
    ]
    show(table(["n", *CALLED.values()], peaks) + "\nPeak memory.")
    say("""
        Arrays carry all directions through f in one run.  While they are small, what is
        paid for is the call of NumPy and not the arithmetic, so that the growth is hidden
        for a while.  The numbers are all there nevertheless: with each of n values go n
        slopes forward over reverse, and n^2 mixed parts in a hyper-dual number.  The memory
        shows it and, as soon as these arrays outgrow the cache, so does the time.
    """)


def draw(path: Path, single: dict[int, Measurement], at_once: dict[int, Measurement]) -> None:
    """Both experiments side by side."""

    def lines(results: dict[int, Measurement]) -> dict[str, Curve]:
        out = {}
        for name in (HYPERDUAL, OVER, PRODUCT, GRADIENT):
            ratios = [result.contestants[name].timing.ratio for result in results.values()]
            out[name] = Curve(
                list(results),
                [r.median for r in ratios],
                [r.lower for r in ratios],
                [r.upper for r in ratios],
            )
        return out

    note = "Rosenbrock's function; 'reverse' is the gradient; shaded: quartiles"
    with canvas(path, columns=2, note=note) as (left, right):
        for axes, results, title in [
            (left, single, "One direction at a time"),
            (right, at_once, "All directions at once"),
        ]:
            curves(axes, lines(results), x="n, inputs", y="time / time of f", title=title)
            axes.set_xscale("log", base=2)
            axes.set_xticks(list(results), [str(n) for n in results])
        top = max(axes.get_ylim()[1] for axes in (left, right))
        for axes in (left, right):
            axes.set_ylim(1, top)
    drawn(path)


def reason() -> None:
    """What the measurements come down to."""
    section("The reason")
    say("""
        First, there is more to compute: n (n + 1) / 2 entries against n, while one sweep
        gives n of them at most.  Second, each sweep is dearer: what is differentiated is no
        longer f but its gradient, which is itself a few times the work of f, and the record
        must keep what the gradient computed, too.  Two constants multiply, and then n does.

        Who needs the Hessian only to multiply it with a vector (conjugate gradients, Newton's
        method without the matrix) pays neither: the derivative of the gradient along v is one
        pass, at a small multiple of the gradient whatever n is.
    """)


if __name__ == "__main__":
    main()
