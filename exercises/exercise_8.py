"""Exercise 8: when forward mode, and when reverse."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dualad as ad
from dualad.harness.functions import chain
from dualad.harness.measure import Contestant, Measurement, measure
from dualad.harness.report import Curve, canvas, curves, heat
from dualad.harness.tables import memory, table
from exercises.page import PLOTS, drawn, heading, say, section, show

WIDTH = 16
JACOBIANS: dict[str, Contestant] = {
    "forward": partial(ad.jacobian, mode="forward"),
    "reverse": partial(ad.jacobian, mode="reverse"),
}


def main(plots: Path = PLOTS, quick: bool = False) -> None:
    """Measure over inputs, outputs and depth; say where the crossover is and what to do."""
    heading(8, "When should one use forward, and when reverse differentiation?")
    seconds = 0.01 if quick else 0.2
    two_extremes(64 if quick else 256, seconds)
    sizes = (1, 16) if quick else (1, 4, 16, 64, 256)
    ratios = over_shapes(plots / "exercise_8_shapes.png", sizes, seconds)
    crossover(sizes, ratios)
    operations(sizes)
    depths = (4, 64) if quick else (4, 16, 64, 256)
    over_depth(plots / "exercise_8_depth.png", depths, seconds)
    recommendation()


def layers(x: Any, inner: Any, outer: Any) -> Any:
    """Two layers of a network."""
    return np.tanh(outer @ np.tanh(inner @ np.tanh(x)))


def network(inputs: int, outputs: int) -> tuple[partial[Any], np.ndarray]:
    """Two layers with that many inputs and outputs, and a point for them."""
    rng = np.random.default_rng(inputs + 1000 * outputs)
    inner = rng.normal(size=(WIDTH, inputs)) / np.sqrt(inputs)
    outer = rng.normal(size=(outputs, WIDTH)) / np.sqrt(WIDTH)
    return partial(layers, inner=inner, outer=outer), rng.normal(size=inputs)


def two_extremes(n: int, seconds: float) -> None:
    """One input and many outputs, and the other way round, in full."""
    section("The two extremes")
    say(f"""
        The same network, 1 -> {n} and {n} -> 1, by every way there is.  A pass forward
        gives one column of the Jacobian, a sweep back one row.
    """)
    for inputs, outputs, fewer in [(1, n, "forward"), (n, 1, "reverse")]:
        f, x = network(inputs, outputs)
        comparison = ad.compare(f, x, want="jacobian", name="network", seconds=seconds)
        show(comparison.table())
        costs = comparison.measurement.contestants
        single = costs["forward, one at a time"]
        assert single.evaluations == inputs
        assert max(error for name, error in comparison.errors.items() if name in JACOBIANS) < 1e-12
        if fewer == "reverse":
            assert costs["reverse"].timing.ratio.median < single.timing.ratio.median


def over_shapes(path: Path, sizes: Sequence[int], seconds: float) -> np.ndarray:
    """Time of forward over time of reverse, for all pairs of inputs and outputs."""
    section("Inputs and outputs")
    ratios = np.empty((len(sizes), len(sizes)))
    peaks = np.empty_like(ratios)
    for i, outputs in enumerate(sizes):
        for j, inputs in enumerate(sizes):
            f, x = network(inputs, outputs)
            expected = ad.jacobian(f, mode="reverse")(x)
            assert np.allclose(ad.jacobian(f, mode="forward")(x), expected, rtol=1e-12, atol=1e-14)
            costs = measure(f, [x], JACOBIANS, seconds=seconds).contestants
            forward, reverse = costs["forward"], costs["reverse"]
            ratios[i, j] = forward.timing.seconds.median / reverse.timing.seconds.median
            peaks[i, j] = forward.peak_bytes / reverse.peak_bytes
    say("""
        Time of the whole Jacobian forward, over time in reverse; each mode carries all of its
        directions at once.  Above 1, reverse is quicker.
    """)
    rows = [
        [f"{outputs} outputs", *(f"{ratio:.2f}" for ratio in row)]
        for outputs, row in zip(sizes, ratios, strict=True)
    ]
    show(table(["time", *(f"{n} inputs" for n in sizes)], rows))
    with canvas(path, columns=2, note=f"two layers, {WIDTH} wide, tanh between them") as axes:
        for where, values, what in zip(axes, (ratios, peaks), ("time", "peak memory"), strict=True):
            heat(
                where, values, rows=sizes, columns=sizes, x="inputs", y="outputs",
                scale=f"{what}: forward / reverse", title=f"{what} (red: reverse needs less)",
            )  # fmt: skip
    drawn(path)
    return ratios


def crossover(sizes: Sequence[int], ratios: np.ndarray) -> None:
    """Where the two are equal, for each number of outputs."""
    section("The crossover")
    logs = np.log(ratios)
    lines = []
    for outputs, row in zip(sizes, logs, strict=True):
        after = np.flatnonzero((row[:-1] < 0) & (row[1:] >= 0))
        if row[0] >= 0:
            where = "reverse is quicker from the first input on"
        elif len(after) == 0:
            where = f"forward is quicker up to {sizes[-1]} inputs"
        else:
            j = after[-1]
            low, high = np.log(sizes[j]), np.log(sizes[j + 1])
            n = np.exp(low - row[j] * (high - low) / (row[j + 1] - row[j]))
            where = f"reverse is quicker from about {n:.0f} inputs on"
        lines.append(f"{outputs:4d} outputs: {where}")
    show("\n".join(lines))
    say("""
        As long as an array of directions is small, carrying it costs hardly more than one
        direction: the time is that of the calls, and the two modes differ only by what
        recording costs.  The number of directions decides once the arrays are large.
    """)


def operations(sizes: Sequence[int]) -> None:
    """The same with no clock: the crossover is where inputs and outputs are equally many."""
    section("The crossover, counted instead of timed")
    rows = []
    for outputs in sizes:
        row = []
        for inputs in sizes:
            f, x = network(inputs, outputs)
            programs = {name: ad.trace(mode(f))(x) for name, mode in JACOBIANS.items()}
            count = {name: program.count().flops for name, program in programs.items()}
            row.append(count["forward"] / count["reverse"])
            assert (row[-1] > 1) == (inputs > outputs)
            assert (row[-1] < 1) == (inputs < outputs)
        rows.append([f"{outputs} outputs", *(f"{ratio:.2f}" for ratio in row)])
    show(table(["operations", *(f"{n} inputs" for n in sizes)], rows))
    say("""
        Operations of the Jacobian forward, over operations in reverse, in recorded programs.
        It is 1 where inputs and outputs are equally many, and only there: forward carries as many
        directions as there are inputs, reverse as many as there are outputs.
    """)


def over_depth(path: Path, depths: Sequence[int], seconds: float) -> None:
    """What a chain of operations makes either mode remember."""
    section("Depth: what must be kept")
    n = 1000
    x = np.random.default_rng(0).normal(size=n)
    v = np.ones(n)
    ways: dict[str, Contestant] = {
        "forward, one at a time": lambda f: lambda x: ad.jvp(f, (x,), (v,))[1],
        "reverse": partial(ad.grad, mode="reverse"),
    }
    results: dict[int, Measurement] = {}
    for depth in depths:
        f = partial(chain, depth=depth)
        assert np.isclose(ways["forward, one at a time"](f)(x), ad.grad(f)(x) @ v, rtol=1e-12)
        results[depth] = measure(f, [x], ways, seconds=seconds)
    say(f"""
        sin of sin of sin ... of {n} numbers: one direction forward, against the whole
        gradient in reverse.  Forward, a value is done with as soon as the next one is there.
        Reverse needs every partial again, last first, so it keeps them all.
    """)
    rows = []
    for depth, result in results.items():
        costs = list(result.contestants.values())
        times = [f"{cost.timing.ratio.median:.1f}" for cost in costs]
        rows.append([str(depth), *times, *(memory(cost.peak_bytes) for cost in costs)])
    show(table(["depth", "time fwd/f", "time rev/f", "peak fwd", "peak rev"], rows))
    first, last = results[depths[0]].contestants, results[depths[-1]].contestants
    growth = {name: last[name].peak_bytes / first[name].peak_bytes for name in ways}
    assert growth["forward, one at a time"] < 1.5
    assert last["reverse"].peak_bytes > 8 * n * depths[-1]

    with canvas(path, columns=2, note=f"sum of sin(sin(...)) of {n} numbers") as (left, right):
        time, peak = {}, {}
        for name in ways:
            costs = [result.contestants[name] for result in results.values()]
            ratios = [cost.timing.ratio for cost in costs]
            time[name] = Curve(
                depths,
                [r.median for r in ratios],
                [r.lower for r in ratios],
                [r.upper for r in ratios],
            )
            peak[name] = Curve(depths, [cost.peak_bytes / 1e6 for cost in costs])
        curves(left, time, x="depth", y="time / time of f", title="Time", log="x")
        curves(right, peak, x="depth", y="peak memory, MB", title="Memory")
        left.set_ylim(bottom=0)
        for axes in (left, right):
            axes.set_xticks(list(depths))
    drawn(path)


def recommendation() -> None:
    """The answer in words."""
    section("Recommendation")
    say("""
        One output and many inputs (a loss, and its parameters): reverse.  It is one sweep, at
        a few times the cost of f, however many inputs there are.

        Few inputs and many outputs (a curve, a sensitivity to one parameter), or a product of the
        Jacobian with a vector: forward.  It is one pass, and nothing is kept.

        About as many of each: forward, as long as the arrays of directions are small; it
        needs no record and, inside loops over single numbers, no more than f does.

        Memory: forward needs a fixed multiple of what f holds at a time; reverse keeps a
        partial for every operation, so its memory grows with depth.  When it no longer fits,
        keep the state at some places only and run f again between them (ad.checkpoint).

        Parallel: the columns of a Jacobian, forward, know nothing of each other: they can be
        carried in one array or given to different cores.  A sweep back cannot begin before f has
        ended, and the sweeps for different rows share one record.

        Both at once: a Hessian times a vector is forward over reverse.  And mode="auto" decides
        as this page does: reverse for a gradient of more than one number, and for a Jacobian
        of many inputs and no more outputs than inputs.
    """)


if __name__ == "__main__":
    main()
