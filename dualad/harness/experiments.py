"""The experiments: what is measured, and the paragraph that says what it shows.

Each gives data that can be stored, added to and drawn again (``figures`` draws them), in a
quick form of seconds and a full form of minutes.  The paragraphs are made from the data, so
no number in them is written by hand.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from dualad import modes
from dualad.checkpointing import checkpoint_loop, extra_steps
from dualad.harness import adbench, functions
from dualad.harness.compare import Comparison, compare
from dualad.harness.measure import Counted, Timing, peak_bytes, times
from dualad.harness.operations import operations
from dualad.harness.problems import PROBLEMS
from dualad.hyperdual import HyperDual
from dualad.transforms import derivative, grad, jacobian, jvp

Data = dict[str, Any]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Experiment:
    """A question, how it is answered, and how the answer is told."""

    number: int
    title: str
    run: Callable[[bool, Progress], Data]
    """From (quick, progress) to the data."""
    tell: Callable[[Data], str]
    """What the data show, in a paragraph."""


def _each(items: Sequence[Any], progress: Progress) -> Iterable[Any]:
    for done, item in enumerate(items):
        progress(done / len(items))
        yield item
    progress(1.0)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x that y goes with: the slope of a line through their logarithms.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 12)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _timing(timing: Timing) -> Data:
    seconds, ratio = map(dataclasses.asdict, (timing.seconds, timing.ratio))
    return {"seconds": seconds, "ratio": ratio}


def _complete(result: Comparison) -> Data:
    """A comparison as data, if nothing failed in it but what takes too long."""
    for way, why in result.measurement.failures.items():
        if not why.startswith("left out"):
            raise RuntimeError(f"{result.name}, n = {result.n}: {way}: {why}")
    return dataclasses.asdict(result)


def _median(row: Data, what: str = "ratio") -> float:
    return float(row[what]["median"])


# --------------------------------------------------------------------- 1: the energy


def _run_helmholtz(quick: bool, progress: Progress) -> Data:
    sizes = [1, 8, 29, 50] if quick else [1, 8, 15, 22, 29, 36, 43, 50, 100]
    seconds, patience = (0.1, 0.3) if quick else (0.6, 0.7)
    names = ["helmholtz-scalar", "helmholtz"]
    data: Data = {name: [] for name in names}
    for name, n in _each([(name, n) for n in sizes for name in names], progress):
        f, args = PROBLEMS[name].make(n)
        result = compare(f, *args, name=name, n=n, seconds=seconds, patience=patience, rounds=3)
        data[name].append(_complete(result))
    return data


def _curve(results: list[Comparison], way: str) -> tuple[list[int], list[float]]:
    having = [r for r in results if way in r.measurement.contestants and r.n is not None]
    sizes = [r.n or 0 for r in having]
    return sizes, [r.measurement.contestants[way].timing.ratio.median for r in having]


def _slope_above(results: list[Comparison], way: str, least: int = 8) -> float:
    points = [(n, y) for n, y in zip(*_curve(results, way), strict=True) if n >= least]
    return slope([n for n, _ in points], [y for _, y in points]) if len(points) > 1 else math.nan


def _crossover(results: list[Comparison]) -> str:
    forward, reverse = (dict(zip(*_curve(results, w), strict=True)) for w in ("forward", "reverse"))
    wins = [n for n in sorted(forward) if n in reverse and reverse[n] < forward[n]]
    lasting = [n for n in wins if all(k in wins for k in forward if k >= n and k in reverse)]
    return f"from n = {lasting[0]}" if lasting else "at none of these sizes for good"


def _tell_helmholtz(data: Data) -> str:
    scalar = [Comparison.from_dict(r) for r in data["helmholtz-scalar"]]
    array = [Comparison.from_dict(r) for r in data["helmholtz"]]
    ways = ("differences", "forward, one at a time", "forward", "reverse")
    slopes = ", ".join(f"{way} {_slope_above(scalar, way):.2f}" for way in ways)
    slopes_array = ", ".join(f"{way} {_slope_above(array, way):.2f}" for way in ways)
    having = [r for r in scalar if "reverse" in r.counts]
    counted = [r.counts["reverse"]["flops"] / r.counts["f"]["flops"] for r in having]
    return (
        "The gradient of the Helmholtz energy costs as many functions as a power of n.  Coded by "
        f"entries, from n = 8 on, the powers are: {slopes}.  With arrays they are: "
        f"{slopes_array}.  Reverse mode beats forward mode with all directions at once "
        f"{_crossover(scalar)} in scalar code, and {_crossover(array)} with arrays.  Counted "
        f"instead of timed, reverse mode does {min(counted):.2f} to {max(counted):.2f} times the "
        f"operations of f, up to n = {max(r.n or 0 for r in having)}; theory allows five.  The "
        "survey has reverse mode flat, differences and forward mode in proportion to n, and the "
        "crossover below n = 8.  What differs here has known reasons.  Forward mode with all "
        "directions grows less than the survey's vector mode, since a scalar operation becomes one "
        "NumPy call whose cost is overhead until n is in the hundreds; what is left out above some "
        "n takes too long.  In scalar code the tape is some n squared small objects, which leave "
        "the caches as n grows and the more so while others use the machine: the times of such "
        "runs scatter, and their powers with them, while the counts do not.  The ratios are "
        "larger, since a step of f is one instruction of Python's and a step of a derivative also "
        "keeps books.  With arrays f does not grow over these sizes, being a dozen calls."
    )


# ---------------------------------------------------------- 2: inputs against outputs


def _run_grid(quick: bool, progress: Progress) -> Data:
    sizes = [1, 10, 100] if quick else [1, 3, 10, 30, 100, 300, 1000]
    measured, predicted, counted = (np.ones((len(sizes),) * 2).tolist() for _ in range(3))
    cells = [(i, j) for i in range(len(sizes)) for j in range(len(sizes))]
    for i, j in _each(cells, progress):
        n, m = sizes[j], sizes[i]
        draw = np.random.default_rng([n, m])
        inner, outer = draw.normal(size=(32, n)) / math.sqrt(n), draw.normal(size=(m, 32))
        f, x = partial(functions.layers, inner=inner, outer=outer), draw.normal(size=n)
        ways = {mode: partial(jacobian(f, mode=mode), x) for mode in ("forward", "reverse")}
        timings = times(ways, "reverse", seconds=0.05 if quick else 0.2, rounds=5)
        measured[i][j] = timings["forward"].ratio.median
        costs = modes.predict(modes.structure_of(f, x))
        predicted[i][j] = costs["forward"] / costs["reverse"]
        flops = operations(f, x)
        counted[i][j] = flops.forward(n).flops / flops.reverse(m).flops
    return {"sizes": sizes, "measured": measured, "predicted": predicted, "counted": counted}


def _tell_grid(data: Data) -> str:
    measured, predicted, counted = (np.array(data[k]) for k in ("measured", "predicted", "counted"))
    agree = float(np.mean((measured < 1) == (predicted < 1)))
    by_count = float(np.mean((measured < 1) == (counted < 1)))
    close = np.maximum(measured, 1 / measured) <= 1.15
    missed = ((measured < 1) != (predicted < 1)) & ~close
    return (
        f"Two layers of a network from n inputs to m outputs, with 32 between.  Forward mode wins "
        "where there are few inputs and reverse mode where there are few outputs; at the extremes "
        f"reverse mode is {measured.max():.3g} times and forward mode {1 / measured.min():.3g} "
        f"times as fast as the other.  The cost model picks the faster mode in {agree:.0%} of the "
        f"cells, and where it does not the two are within 15 % of each other in all but "
        f"{int(missed.sum())}.  Counting operations alone picks it in {by_count:.0%}: where the "
        "counts differ by little, the fixed cost of a call decides.  The boundary is not at n = m, "
        "as counting passes would have it, since a tape must be recorded first, which tilts small "
        "cases towards forward mode."
    )


# ------------------------------------------------------------- 3: memory against depth


def _loop(x: Any, step: Callable[[Any], Any], depth: int, snapshots: int) -> Any:
    return np.sum(checkpoint_loop(step, x, depth, snapshots=snapshots))


def _snapshots(depth: int) -> int:
    """As many as the logarithm to the base four: time and memory then grow alike."""
    return max(1, math.ceil(math.log(depth, 4)))


def _run_memory(quick: bool, progress: Progress) -> Data:
    depths = [8, 32, 128] if quick else [8, 16, 32, 64, 128, 256, 512, 1024]
    x = np.linspace(0.1, 1.0, 2000)
    peaks: dict[str, list[int]] = {"forward": [], "reverse": [], "reverse, checkpoints": []}
    long = 64 if quick else 250
    stored = [1, 2, 3, 5, 8, 20, 63] if quick else [2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 100, 249]
    trade = []
    jobs = [("depth", depth) for depth in depths] + [("snapshots", s) for s in stored]
    for what, number in _each(jobs, progress):
        if what == "depth":
            f = partial(functions.chain, depth=number)
            g = partial(_loop, step=np.sin, depth=number, snapshots=_snapshots(number))
            peaks["forward"].append(peak_bytes(partial(jvp, f, (x,), (np.ones_like(x),))))
            peaks["reverse"].append(peak_bytes(partial(grad(f, mode="reverse"), x)))
            peaks["reverse, checkpoints"].append(peak_bytes(partial(grad(g, mode="reverse"), x)))
            continue
        step = Counted(np.sin)
        counted = grad(partial(_loop, step=step, depth=long, snapshots=number), mode="reverse")
        counted(x)
        plain = grad(partial(functions.chain, depth=long), mode="reverse")
        stepped = grad(partial(_loop, step=np.sin, depth=long, snapshots=number), mode="reverse")
        ways = {"tape": partial(plain, x), "loop": partial(stepped, x)}
        timings = times(ways, "tape", seconds=0.1 if quick else 0.5, rounds=3)
        trade.append({
            "snapshots": number, "steps": step.calls, "optimum": long + extra_steps(long, number),
            "peak": peak_bytes(ways["loop"]), "tape": peak_bytes(ways["tape"]),
            **_timing(timings["loop"]),
        })  # fmt: skip
    return {"entries": x.size, "depths": depths, "peaks": peaks, "long": long, "trade": trade}


def _tell_memory(data: Data) -> str:
    depths, peaks = data["depths"], data["peaks"]
    slopes = ", ".join(f"{name} {slope(depths, peaks[name]):.2f}" for name in peaks)
    trade = data["trade"]
    exact = sum(row["steps"] == row["optimum"] for row in trade)
    few = min(trade, key=lambda row: abs(row["snapshots"] - _snapshots(data["long"])))
    return (
        f"A chain of sines of {data['entries']} numbers.  The peak memory grows with the depth as "
        f"a power: {slopes}.  Forward mode forgets as it goes and the tape keeps a partial a step; "
        "checkpoints, as many as the logarithm of the depth to the base four, are between.  To "
        f"the right, for {data['long']} steps, memory is bought with time: "
        f"{few['snapshots']} stored states take {few['steps']} steps instead of "
        f"{data['long']}, {_median(few):.2f} times the time of the tape and "
        f"{few['peak'] / few['tape']:.2g} of its memory.  In {exact} of {len(trade)} cases the "
        "number of steps is exactly the binomial optimum of Griewank and Walther.  The time grows "
        "with the number of steps, plus what it costs to open a record for each one."
    )


# ------------------------------------------------------------------- 4: chunk width

#: ForwardDiff.jl's own data of 2015, n = 1600: time with chunks of N over that with N = 1
FORWARDDIFF = {
    "ackley": ([1, 2, 4, 8, 16], [1, 0.0966 / 0.1718, 0.0679 / 0.1718, 0.0484 / 0.1718,
                                  0.0421 / 0.1718]),
    "rosenbrock": ([1, 2, 4, 8, 16], [1, 0.0831 / 0.1380, 0.0727 / 0.1380, 0.0576 / 0.1380,
                                      0.0619 / 0.1380]),
    "logit": ([1, 2, 4, 8, 16], [1, 0.0247 / 0.0386, 0.0210 / 0.0386, 0.0174 / 0.0386,
                                 0.0181 / 0.0386]),
}  # fmt: skip


def _run_chunks(quick: bool, progress: Progress) -> Data:
    n = 160 if quick else 1600
    widths = [1, 4, 16, 64, n] if quick else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1600]
    data: Data = {"n": n, "widths": widths, "problems": {}}
    for name in _each(list(FORWARDDIFF), progress):
        f, (x,) = PROBLEMS[name].make(n)
        ways = {str(k): partial(jacobian(f, mode="forward", chunk=k), x) for k in widths} | {
            "reverse": partial(jacobian(f, mode="reverse"), x),
            "f": partial(f, x),
        }
        timings = times(ways, "1", seconds=0.2 if quick else 3.0, rounds=3)
        counted = Counted(f)
        passes = []
        for k in widths:
            counted.calls = 0
            jacobian(counted, mode="forward", chunk=k)(x)
            passes.append(counted.calls)
        data["problems"][name] = {
            "time": [_timing(timings[str(k)]) for k in widths],
            "reverse": _timing(timings["reverse"]),
            "f": _timing(timings["f"]),
            "peak": [peak_bytes(ways[str(k)]) for k in widths],
            "passes": passes,
        }
    return data


def _tell_chunks(data: Data) -> str:
    n, widths = data["n"], data["widths"]
    said = []
    for name, row in data["problems"].items():
        ratios = [_median(t) for t in row["time"]]
        best = int(np.argmin(ratios))
        said.append(
            f"{name} is quickest with {widths[best]} directions, {1 / ratios[best]:.3g} times as "
            "fast as one at a time, and then takes "
            f"{ratios[best] / _median(row['reverse']):.3g} times as long as reverse mode"
        )
    exact = all(row["passes"] == [-(-n // k) for k in widths] for row in data["problems"].values())
    passes = "is n / k, rounded up, throughout" if exact else "is NOT n / k, rounded up"
    return (
        f"Forward gradients of three functions of n = {n} inputs, k directions at once.  "
        f"{'; '.join(said)}.  The number of passes {passes}.  ForwardDiff's curve (dotted, for n = "
        "1600) flattens at 8 to 16 directions, where its compiled code runs out of registers and "
        "bandwidth; ours falls longer, since what a wider chunk saves is the overhead of NumPy "
        "calls, microseconds each, and bends where the tangents leave the cache.  Memory grows in "
        "proportion to k, once k is large.  That forward gradients beat a NumPy tape, as was "
        "published for ForwardDiff, is not found when both modes are NumPy: there, compiled code "
        "ran against interpreted code."
    )


# ------------------------------------------------------------------- 5: second order


def _run_second(quick: bool, progress: Progress) -> Data:
    sizes = [2, 8, 32] if quick else [2, 4, 8, 16, 32, 64, 128]
    data: Data = {name: [] for name in ("rosenbrock", "helmholtz")}
    for n, name in _each([(n, name) for n in sizes for name in data], progress):
        f, args = PROBLEMS[name].make(n)
        result = compare(
            f, *args, want="hessian", name=name, n=n, seconds=0.1 if quick else 0.7, rounds=3,
            patience=0.5 if quick else 2.0,
        )  # fmt: skip
        data[name].append(_complete(result))
    return data


#: said where it is found
OPPOSITE = (
    "  That reverse over reverse is ahead of forward over reverse is the opposite of what compiled "
    "libraries measure: here one record of the gradient serves all rows, while tangents go through "
    "the recording and the sweep."
)


def _tell_second(data: Data) -> str:
    said, mixed_ratios = [], []
    for name, rows in data.items():
        results = [Comparison.from_dict(row) for row in rows]
        ends = (results[0], results[-1])
        best = []
        for result in ends:
            costs = result.measurement.contestants
            exact = [way for way in costs if way != "differences"]
            way = min(exact, key=lambda w: costs[w].timing.ratio.median)
            best.append(f"{way} at n = {result.n}")
        seconds = [
            {way: cost.timing.seconds.median for way, cost in r.measurement.contestants.items()}
            for r in ends
        ]
        gain = [taken["dual of dual"] / taken["hyperdual"] for taken in seconds]
        mixed = seconds[1]["reverse over reverse"] / seconds[1]["forward over reverse"]
        mixed_ratios.append(mixed)
        said.append(
            f"For {name} the quickest is {best[0]} and {best[1]}; dual of dual takes {gain[0]:.2f} "
            f"and {gain[1]:.2f} times as long as a hyper-dual number, and at the larger n reverse "
            f"over reverse takes {mixed:.2f} times as long as forward over reverse"
        )
    return (
        "Whole Hessians.  " + ".  ".join(said) + ".  All four agree to rounding; differences keep "
        "a quarter of the digits.  One type for the second order gains 1.5 to 3 times over nested "
        "duals in the compiled code of HyperHessians.jl, which skips the symmetric half.  Here "
        "what a hyper-dual number saves is calls, while n is small, and the symmetric half once "
        "its directions are cut into chunks that stay in a cache; between, nested duals gain, "
        "since they know of a seed that its mixed part is nothing.  What carries n tangents "
        "through a tape, not n by n, wins as n grows."
        + (OPPOSITE if all(ratio < 1 for ratio in mixed_ratios) else "")
    )


# ------------------------------------------------------------------- 6: error and step


def _run_steps(quick: bool, progress: Progress) -> Data:
    f, x = functions.fike_alonso, 1.5
    published = {row.order: row.expected for row in PROBLEMS["fike-alonso"].published}
    steps = [10.0**-k for k in range(1, 17)] + [10.0**-k for k in (50, 100, 150)]
    first: dict[str, list[float]] = {}
    second: dict[str, list[float]] = {}

    def note(table: dict[str, list[float]], name: str, value: float, order: int) -> None:
        error = abs(value - published[order]) / abs(published[order])
        table.setdefault(name, []).append(error if math.isfinite(error) else math.inf)

    with np.errstate(all="ignore"):
        for h in _each(steps, progress):
            y = f(x)
            note(first, "differences", (f(x + h) - y) / h, 1)
            note(first, "central differences", (f(x + h) - f(x - h)) / (2 * h), 1)
            note(first, "complex step", f(x + 1j * h).imag / h, 1)
            note(first, "dual", jvp(f, (x,), (h,))[1] / h, 1)
            note(second, "differences", (f(x + 2 * h) - 2 * f(x + h) + y) / h / h, 2)
            note(second, "central differences", (f(x + h) - 2 * y + f(x - h)) / h / h, 2)
            note(second, "complex step", 2 * (y - f(x + 1j * h).real) / h / h, 2)
            number: Any = f(HyperDual(x, h, h, 0.0))
            note(second, "hyperdual", number.mixed / h / h, 2)
    exact = {"1": derivative(f)(x), "2": derivative(f, order=2)(x)}
    return {"steps": steps, "first": first, "second": second, "exact": exact,
            "published": {str(order): value for order, value in published.items()}}  # fmt: skip


def _tell_steps(data: Data) -> str:
    steps = data["steps"]

    def best(table: str, name: str) -> str:
        errors = data[table][name]
        i = int(np.argmin(errors))
        return f"{errors[i]:.1e} at h = {steps[i]:.0e}"

    eps = float(np.finfo(float).eps)
    dual, hyper = max(data["first"]["dual"]), max(data["second"]["hyperdual"])
    return (
        "Fike and Alonso's function at 1.5.  The best that forward differences do is "
        f"{best('first', 'differences')} for the first derivative and "
        f"{best('second', 'differences')} for the second; central differences, "
        f"{best('first', 'central differences')} and {best('second', 'central differences')}.  The "
        "complex step is exact for the first derivative once h is small, but subtracts for the "
        f"second: {best('second', 'complex step')}.  A dual number has at most {dual / eps:.0f} "
        f"units of rounding (2.2e-16) and a hyper-dual one {hyper / eps:.0f}, whatever the seed, "
        f"down to {steps[-1]:.0e}: nothing is subtracted, so nothing cancels.  This is the plot of "
        "the paper, and the values agree with the published digits: "
        f"f' = {data['exact']['1']!r}, f'' = {data['exact']['2']!r}.  A step below 1e-16 leaves "
        "1.5 + h = 1.5, so differences have no digit left."
    )


# ------------------------------------------------------------------- 7: in parallel


class _Here:
    """An executor that works at once, in this thread."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        from concurrent.futures import Future

        future: Any = Future()
        future.set_result(function(*args))
        return future


def _run_parallel(quick: bool, progress: Progress) -> Data:
    cases = {
        "gmm (large arrays)": ("gmm", 5 if quick else 25, "forward"),
        "lstm (small arrays)": ("lstm", 8 if quick else 32, "forward"),
        "bundle (output rows)": ("bundle", 20 if quick else 60, "reverse"),
    }
    data: Data = {"cases": {}, "identical": True, "dask": False}
    with ExitStack() as stack:
        spawn = get_context("spawn")
        pools: dict[str, Any] = {"one worker": _Here()}
        pools["2 threads"] = stack.enter_context(ThreadPoolExecutor(2))
        pools["2 processes"] = stack.enter_context(ProcessPoolExecutor(2, mp_context=spawn))
        if (client := _dask(stack)) is not None:
            pools["Dask, 2 workers"] = client.get_executor()
            data["dask"] = True
        for label, (name, n, mode) in _each(list(cases.items()), progress):
            f, (x,) = PROBLEMS[name].make(n)
            ways = {
                where: partial(jacobian(f, mode=mode, executor=pool), x)
                for where, pool in pools.items()
            }
            answers = [way() for way in ways.values()]
            same = all(np.array_equal(answers[0], answer) for answer in answers[1:])
            data["identical"] = data["identical"] and same
            timings = times(ways, "one worker", seconds=0.3 if quick else 4.0, rounds=3)
            data["cases"][label] = {where: _timing(t) for where, t in timings.items()}
    return data


def _dask(stack: ExitStack) -> Any:
    """A client of a local cluster, where Dask is installed."""
    try:
        import distributed
    except ImportError:
        return None
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    stack.enter_context(cluster)
    return stack.enter_context(distributed.Client(cluster))


def _tell_parallel(data: Data) -> str:
    said = []
    for label, rows in data["cases"].items():
        others = [where for where in rows if where != "one worker"]
        speeds = ", ".join(f"{where} {1 / _median(rows[where]):.2f}" for where in others)
        said.append(f"{label}: {speeds}")
    digits = "are identical" if data["identical"] else "DIFFER"
    dask = "" if data["dask"] else "  (Dask is not installed here, so its row is missing.)"
    return (
        "A Jacobian cut into eight chunks of directions or of output rows, on two workers.  The "
        f"speed relative to one: {'; '.join(said)}.  The matrices {digits} to the last bit.  "
        "Threads can help where NumPy works on large arrays, which it does outside of Python's "
        "lock; processes share no lock but send f and its data to each chunk and the rows back; "
        "for output rows f is recorded once a chunk, which one worker without chunks would not do. "
        f" So it takes chunks of many milliseconds for an executor to pay.{dask}"
    )


# ------------------------------------------------------------------------ 8: ADBench

#: gradient over function, autograd on NumPy, 1000 points, 24 September 2015 (ADBench's data)
AUTOGRAD = {"gmm d2 K5": 21.2, "gmm d10 K5": 67.2}
MANUAL = {"gmm d2 K5": 2.08, "gmm d10 K5": 2.93}


def _adbench_files() -> Path:
    return Path(__file__).parents[2] / "tests" / "data" / "adbench"


def _run_adbench(quick: bool, progress: Progress) -> Data:
    files = _adbench_files()
    if not files.is_dir():
        raise FileNotFoundError("ADBench's data files come with a clone: run this in one")
    cases: dict[str, tuple[Callable[..., Any], str, str | None]] = {
        "gmm d2 K5": (adbench.read_gmm, "gmm_1k_gmm_d2_K5.txt", None),
        "gmm d10 K5": (adbench.read_gmm, "gmm_1k_gmm_d10_K5.txt", None),
        "gmm test": (adbench.read_gmm, "gmm_test.txt", "gmm_test"),
        "ba test": (adbench.read_bundle, "ba_test.txt", "ba_test"),
        "lstm l2 c1024": (adbench.read_lstm, "lstm_lstm_l2_c1024.txt", "lstm_lstm_l2_c1024"),
    }
    import json

    published = json.loads((files / "published.json").read_text("utf-8"))
    data: Data = {"tolerance": published["tolerance"], "cases": {}}
    for label in _each(list(cases), progress):
        read, file, golden = cases[label]
        f, (x,) = read(files / file)
        ways = {"f": partial(f, x), "reverse": partial(jacobian(f, mode="reverse"), x)}
        if not (quick and label in ("gmm d10 K5", "lstm l2 c1024")):
            ways["forward"] = partial(jacobian(f, mode="forward"), x)
        timings = times(ways, "f", seconds=0.1 if quick else 3.0, rounds=1 if quick else 3)
        row: Data = {way: _timing(timings[way]) for way in ways}
        row["inputs"], row["outputs"] = int(np.size(x)), int(np.size(f(x)))
        if golden is not None:
            expected = published[golden]
            row["error"] = _adbench_error(f(x), ways["reverse"](), expected)
        data["cases"][label] = row
    return data


def _adbench_error(value: Any, matrix: Any, published: Data) -> float:
    """The largest error as ADBench measures it, of the first block of outputs and inputs."""
    expected = np.atleast_2d(np.array(published["derivative"], dtype=float))
    got = np.reshape(matrix, (np.size(value), -1))[: len(expected), : expected.shape[1]]
    size = np.maximum(1, np.abs(got) + np.abs(expected))
    return float(np.max(np.abs(got - expected) / size))


def _tell_adbench(data: Data) -> str:
    cases = data["cases"]
    ratios = ", ".join(f"{name} {_median(row['reverse']):.3g}" for name, row in cases.items())
    worst = max(row["error"] for row in cases.values() if "error" in row)
    theirs = ", ".join(f"{name} {value}" for name, value in AUTOGRAD.items())
    by_hand = ", ".join(f"{name} {value}" for name, value in MANUAL.items())
    return (
        "ADBench's mixture model, bundle adjustment and LSTM, from its own data files.  The time "
        f"of the derivative over that of the function, in reverse mode: {ratios}.  The published "
        f"values are met to {worst:.0e}, within ADBench's {data['tolerance']:.0e}.  The published "
        f"ratios of the other NumPy tape, autograd, in 2015: {theirs}; of derivatives by hand in "
        f"C++: {by_hand}.  Our mixture is coded for all points and components at once, so a tape "
        "node holds large arrays and the cost of recording it is spread; the LSTM is 1023 steps on "
        "arrays of 14, where it is not."
    )


# ----------------------------------------------------------------- 9: which mode to use


def _run_choice(quick: bool, progress: Progress) -> Data:
    instances = [
        (problem.name, n)
        for problem in PROBLEMS.values()
        for n in _choice_sizes(problem.name, problem.sizes, quick)
    ]
    rows = []
    for name, n in _each(instances, progress):
        f, (x,) = PROBLEMS[name].make(n)
        advice = modes.recommend(f, x)
        ways = {mode: partial(jacobian(f, mode=mode), x) for mode in ("forward", "reverse")}
        ways["auto"] = partial(jacobian(f), x)
        timings = times(ways, advice.mode, seconds=0.05 if quick else 0.4, rounds=3 if quick else 7)
        # The lower quartiles: what else the machine does comes in bursts and only adds.
        taken = {way: timings[way].seconds.lower for way in ways}
        best = min(taken["forward"], taken["reverse"])
        rows.append({
            "problem": name, "n": n, "mode": advice.mode, "why": advice.why,
            "chosen": taken[advice.mode] / best, "auto": taken["auto"] / best,
            "other": max(taken["forward"], taken["reverse"]) / best,
        })  # fmt: skip
    return {"rows": rows}


def _choice_sizes(name: str, sizes: Sequence[int], quick: bool) -> list[int]:
    """Sizes beside those listed, so that there are enough; none at which a mode takes seconds."""
    most = {"ackley": 1600, "rosenbrock": 1600, "logit": 1600, "chain": 100, "gmm": 10, "lstm": 16}
    listed = [n for n in sizes if n <= most.get(name, n)]
    if quick:
        return listed[:1]
    middle = [(a + b) // 2 for a, b in pairwise(listed) if b - a > 1]
    return sorted({*listed, *middle[:2]})


def _tell_choice(data: Data) -> str:
    rows = data["rows"]
    chosen = np.array([row["chosen"] for row in rows])
    auto = np.array([row["auto"] for row in rows])
    other = np.array([row["other"] for row in rows])
    worst = rows[int(np.argmax(chosen))]
    return (
        f"{len(rows)} instances of the shared problems; the cost model was fitted on others.  "
        "The time (lower quartile) of the recommended mode is within 1.15 times that of the better "
        f"one in {np.mean(chosen <= 1.15):.0%}, and at most {chosen.max():.2f} times it "
        f"({worst['problem']}, n = {worst['n']}); the other mode takes up to {other.max():.3g} "
        "times as long.  "
        f"mode='auto', which keeps what it learned in its first call, is within 1.15 in "
        f"{np.mean(auto <= 1.15):.0%} and at most {auto.max():.2f}: with four inputs or fewer it "
        "goes forward without looking, since a record would cost as much as it could save."
    )


EXPERIMENTS: dict[int, Experiment] = {
    e.number: e
    for e in [
        Experiment(1, "The Helmholtz energy: cost against inputs", _run_helmholtz, _tell_helmholtz),
        Experiment(2, "Inputs against outputs", _run_grid, _tell_grid),
        Experiment(3, "Memory against depth", _run_memory, _tell_memory),
        Experiment(4, "How many directions at once", _run_chunks, _tell_chunks),
        Experiment(5, "Second derivatives", _run_second, _tell_second),
        Experiment(6, "Error against step", _run_steps, _tell_steps),
        Experiment(7, "In parallel", _run_parallel, _tell_parallel),
        Experiment(8, "ADBench", _run_adbench, _tell_adbench),
        Experiment(9, "Which mode to use", _run_choice, _tell_choice),
    ]
}
