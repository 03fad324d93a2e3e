"""The figures of the experiments, drawn from their data; and the page that explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dualad.harness import report
from dualad.harness.compare import Comparison
from dualad.harness.experiments import AUTOGRAD, EXPERIMENTS, FORWARDDIFF, MANUAL
from dualad.harness.report import Curve, bars, canvas, curves, heat

Data = dict[str, Any]


def _spread(x: list[float], rows: list[Data], what: str = "ratio") -> Curve:
    spreads = [row[what] for row in rows]
    return Curve(
        x, [s["median"] for s in spreads], [s["lower"] for s in spreads],
        [s["upper"] for s in spreads],
    )  # fmt: skip


def _against_n(rows: list[Data], peak: bool = False) -> dict[str, Curve]:
    results = [Comparison.from_dict(row) for row in rows]
    ways = dict.fromkeys(way for r in results for way in r.measurement.contestants)
    out = {}
    for way in ways:
        having = [r for r in results if way in r.measurement.contestants]
        costs = [r.measurement.contestants[way] for r in having]
        sizes = [float(r.n or 0) for r in having]
        if peak:
            out[way] = Curve(sizes, [c.peak_bytes / 1e3 for c in costs])
        else:
            ratios = [c.timing.ratio for c in costs]
            out[way] = Curve(
                sizes, [r.median for r in ratios], [r.lower for r in ratios],
                [r.upper for r in ratios],
            )  # fmt: skip
    return out


def _room_for_legend(axes: Any, factor: float = 8.0) -> None:
    """Space above the curves, where the legend stands in two columns."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * factor)
    axes.legend(ncols=2, loc="upper left")


def helmholtz(data: Data, path: Path, note: str) -> None:
    """Cost against n, for both codings."""
    with canvas(path, columns=2, note=note) as both:
        titles = {"helmholtz-scalar": "coded entry by entry", "helmholtz": "coded with arrays"}
        for axes, (name, title) in zip(both, titles.items(), strict=True):
            curves(axes, _against_n(data[name]), x="inputs n", title=title,
                   y="time of the gradient / time of f")  # fmt: skip
            _room_for_legend(axes)


def grid(data: Data, path: Path, note: str) -> None:
    """Three maps over inputs and outputs: measured, counted, predicted."""
    sizes = data["sizes"]
    with canvas(path, columns=3, size=(15.0, 4.0), note=note) as three:
        for axes, what in zip(three, ("measured", "counted", "predicted"), strict=True):
            scale = "operations" if what == "counted" else "time"
            heat(
                axes, data[what], rows=sizes, columns=sizes, x="inputs n", y="outputs m",
                scale=f"{scale}, forward / reverse", title=what,
            )  # fmt: skip
            _boundary(axes, np.asarray(data[what]))


def _boundary(axes: Any, values: Any) -> None:
    """A line between the cells where forward mode wins and those where reverse mode does."""
    wins = values < 1
    for (i, j), won in np.ndenumerate(wins):
        if j + 1 < wins.shape[1] and wins[i, j + 1] != won:
            axes.plot([j + 0.5] * 2, [i - 0.5, i + 0.5], color=report.BLACK, linewidth=2)
        if i + 1 < wins.shape[0] and wins[i + 1, j] != won:
            axes.plot([j - 0.5, j + 0.5], [i + 0.5] * 2, color=report.BLACK, linewidth=2)


def memory(data: Data, path: Path, note: str) -> None:
    """Peak memory against depth; steps and time against the number of stored states."""
    depths, trade = data["depths"], data["trade"]
    stored = [float(row["snapshots"]) for row in trade]
    with canvas(path, columns=3, size=(14.0, 3.8), note=note) as (left, middle, right):
        peaks = {name: Curve(depths, [b / 1e3 for b in y]) for name, y in data["peaks"].items()}
        curves(left, peaks, x="depth (steps)", y="peak memory (kB)", title="memory against depth")
        steps = {"reverse, checkpoints": Curve(stored, [row["steps"] for row in trade])}
        curves(middle, steps, x="stored states s", y="steps in all",
               title=f"{data['long']} steps: work for memory")  # fmt: skip
        middle.plot(
            stored,
            [row["optimum"] for row in trade],
            color=report.BLACK,
            linestyle=":",
            marker="o",
            markerfacecolor="none",
            markersize=9,
            label="binomial optimum",
        )
        middle.legend()
        times = {
            "time / time of the tape": _spread(stored, trade),
            "memory / memory of the tape": Curve(stored, [r["peak"] / r["tape"] for r in trade]),
        }
        curves(right, times, x="stored states s", y="ratio to the full tape",
               title="time and memory")  # fmt: skip


def chunks(data: Data, path: Path, note: str) -> None:
    """Time and memory against the number of directions at once."""
    widths = [float(k) for k in data["widths"]]
    with canvas(path, columns=2, note=note) as (left, right):
        rows = data["problems"]
        curves(
            left, {name: _spread(widths, row["time"]) for name, row in rows.items()},
            x="directions at once k", y="time / time with k = 1",
            title=f"gradient of n = {data['n']} inputs",
        )  # fmt: skip
        how = report.looks(list(rows))
        for name, (x, y) in FORWARDDIFF.items():
            look = how[name] | {"linestyle": ":", "linewidth": 1.0, "markerfacecolor": "none"}
            left.plot(x, y, label=f"{name}, ForwardDiff 2015", **look)
        left.legend()
        peaks = {n: Curve(widths, [b / 1e3 for b in row["peak"]]) for n, row in rows.items()}
        curves(right, peaks, x="directions at once k", y="peak memory (kB)")


def second(data: Data, path: Path, note: str) -> None:
    """Cost of the Hessian against n."""
    with canvas(path, columns=2, note=note) as both:
        for axes, (name, rows) in zip(both, data.items(), strict=True):
            curves(axes, _against_n(rows), x="inputs n", y="time of the Hessian / time of f",
                   title=name)  # fmt: skip
            _room_for_legend(axes)


def steps(data: Data, path: Path, note: str) -> None:
    """Error against step, of the first and of the second derivative."""
    h, floor = data["steps"], 1e-17
    shown = [i for i, step in enumerate(h) if step >= 1e-16]
    with canvas(path, columns=2, note=note) as both:
        for axes, table, title in zip(
            both, ("first", "second"), ("first derivative", "second derivative"), strict=True
        ):
            drawn = {
                name: Curve([h[i] for i in shown], [min(max(e[i], floor), 1e3) for i in shown])
                for name, e in data[table].items()
            }
            curves(axes, drawn, x="step h, or size of the seed", y="relative error", title=title)
            axes.invert_xaxis()
            axes.axhline(float(np.finfo(float).eps), color=report.GREY, linewidth=0.8)
            axes.legend(loc="center right")


def parallel(data: Data, path: Path, note: str) -> None:
    """Speed relative to one worker."""
    cases = data["cases"]
    with canvas(path, columns=len(cases), size=(4.8 * len(cases), 2.8), note=note) as all_axes:
        for axes, (label, rows) in zip(all_axes, cases.items(), strict=True):
            speeds = {
                where: (1 / r["median"], 1 / r["upper"], 1 / r["lower"])
                for where, r in ((w, row["ratio"]) for w, row in rows.items())
            }
            bars(axes, speeds, x="speed / speed of one worker", title=label)
            axes.set_ylabel("executor")


def ratios(data: Data, path: Path, note: str) -> None:
    """ADBench's ratios, ours beside the published."""
    cases = data["cases"]
    with canvas(path, size=(8.5, 4.2), note=note) as (axes,):
        names = list(cases)
        place = np.arange(len(names))
        series: dict[str, Mapping[str, float]] = {
            "reverse": {name: row["reverse"]["ratio"]["median"] for name, row in cases.items()},
            "forward": {
                name: row["forward"]["ratio"]["median"]
                for name, row in cases.items()
                if "forward" in row
            },
            "autograd, NumPy (published 2015)": AUTOGRAD,
            "by hand, C++ (published 2015)": MANUAL,
        }
        how = report.looks(list(series))
        for k, (label, values) in enumerate(series.items()):
            at = [place[names.index(name)] + 0.2 * (k - 1.5) for name in values]
            axes.bar(at, list(values.values()), width=0.19, color=how[label]["color"], label=label,
                     hatch=("", "//", "..", "xx")[k], edgecolor="white")  # fmt: skip
        shapes = [f"n = {row['inputs']}, m = {row['outputs']}" for row in cases.values()]
        axes.set_xticks(place, [f"{n}\n{s}" for n, s in zip(names, shapes, strict=True)])
        axes.set_yscale("log")
        report.plain_numbers(axes.yaxis)
        axes.set(xlabel="problem", ylabel="time of the derivative / time of f",
                 title="ADBench")  # fmt: skip
        axes.grid(visible=False, axis="x")
        _room_for_legend(axes, 3.0)


def choice(data: Data, path: Path, note: str) -> None:
    """How much slower the recommended mode is than the better one, over all instances."""
    rows = data["rows"]
    with canvas(path, size=(6.4, 4.0), note=note) as (axes,):
        part = (np.arange(len(rows)) + 1) / len(rows)
        keys = {"recommended": "chosen", "mode='auto'": "auto", "the other": "other"}
        drawn = {
            name: Curve(sorted(row[key] for row in rows), part.tolist())
            for name, key in keys.items()
        }
        curves(axes, drawn, x="time / time of the better mode",
               y="part of the instances at most so far off", log="x")  # fmt: skip
        for bound in (1.15, 2.0):
            axes.axvline(bound, color=report.GREY, linewidth=0.8, linestyle=":")
            axes.annotate(
                f"{bound:g}", (bound, 0.02), (2, 0), textcoords="offset points", fontsize=7
            )
        axes.axhline(0.9, color=report.GREY, linewidth=0.8, linestyle=":")


DRAW: dict[int, Callable[[Data, Path, str], None]] = {
    1: helmholtz, 2: grid, 3: memory, 4: chunks, 5: second, 6: steps, 7: parallel, 8: ratios,
    9: choice,
}  # fmt: skip


def draw(result: Data, path: Path) -> None:
    """Draw an experiment's figure from what was stored of it."""
    machine = result["machine"]
    note = f"Python {machine['python']}, NumPy {machine['numpy']}, {machine['processor']}"
    form = "; quick form" if result["quick"] else ""
    note = f"{note}, {machine['cores']} cores, BLAS threads: {machine['BLAS threads']}{form}"
    DRAW[result["experiment"]](result["data"], path, note)


def page(results: list[Data]) -> str:
    """The page that explains the figures: a heading, a figure and a paragraph each."""
    machine = results[0]["machine"]
    parts = [
        "# The experiments\n\n"
        "Forward mode against reverse mode, each question answered by one command.\n"
        "This page and its figures are written by `python -m dualad experiment all --out plots`; "
        "the numbers in it come from the stored results beside it.\n"
        "Times are medians over rounds in which f and all contestants take turns, with quartiles "
        "shaded; memory is the peak that `tracemalloc` sees; operations are counted from recorded "
        "programs (`dualad/harness/measure.py` says how).\n"
        f"The machine: {machine['processor']}, {machine['cores']} cores that others used too, "
        f"Python {machine['python']}, NumPy {machine['numpy']}, BLAS threads: "
        f"{machine['BLAS threads']} (`OPENBLAS_NUM_THREADS`).\n"
    ]
    for result in sorted(results, key=lambda r: int(r["experiment"])):
        number = result["experiment"]
        experiment = EXPERIMENTS[number]
        told = experiment.tell(result["data"]).replace(".  ", ".\n")
        parts.append(
            f"## {number}. {experiment.title}\n\n`python -m dualad experiment {number}`\n\n"
            f"![{experiment.title}](experiment-{number}.png)\n\n{told}\n"
        )
    parts.append(
        "## The figures of the exercises\n\n"
        "`exercise_*.png` are drawn by `python -m exercises`, which explains them.\n"
    )
    return "\n".join(parts)
