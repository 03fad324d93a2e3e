"""What was measured, as figures with one look.

A contestant has the same colour, marker and dash in every figure, so that a reader learns
them once; colour is never the only difference, so that print and colour-blind eyes lose
nothing.  The palette is Okabe and Ito's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from dualad.harness.compare import Comparison

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#777777"

#: colour, marker and dash of the contestants that every figure may show
LOOKS: dict[str, tuple[str, str, str]] = {
    "f": (BLACK, "", "-"),
    "forward, one at a time": (ORANGE, "o", "-"),
    "forward": (RED, "s", "-"),
    "reverse": (BLUE, "^", "-"),
    "reverse, checkpoints": (SKY, "v", "--"),
    "hyperdual": (GREEN, "D", "-"),
    "forward over reverse": (PURPLE, "P", "-"),
    "reverse over reverse": (SKY, "X", "-."),
    "dual of dual": (ORANGE, "p", "--"),
    "differences": (GREY, "+", ":"),
    "complex step": (GREY, "x", "-."),
    "by hand": (BLACK, "*", ":"),
}
#: for names that have no look of their own: those in free colours first
SPARE = [
    (BLUE, "<", "-"), (RED, ">", "-"), (GREEN, "h", "-"), (PURPLE, "d", "--"),
    (ORANGE, "H", "--"), (SKY, "8", "-."), (BLACK, "1", ":"), (GREY, "2", ":"),
]  # fmt: skip

#: Any, since versions of Matplotlib disagree about the type
STYLE: Any = {
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "dualad",
}


@dataclass(frozen=True)
class Curve:
    """Points to draw, with quartiles above and below where there are some."""

    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float] | None = None
    upper: Sequence[float] | None = None


def looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How each of these contestants is drawn, as keywords of Matplotlib's ``plot``.

    >>> looks(["reverse"])["reverse"]["color"] == BLUE
    True
    """
    taken = {LOOKS[name][0] for name in names if name in LOOKS}
    spare = cycle(sorted(SPARE, key=lambda look: look[0] in taken))
    chosen = {name: LOOKS[name] if name in LOOKS else next(spare) for name in names}
    return {
        name: {"color": color, "marker": marker, "linestyle": dash}
        for name, (color, marker, dash) in chosen.items()
    }


# ------------------------------------------------------------------------- figures


@contextmanager
def canvas(
    path: str | Path | None,
    *,
    columns: int = 1,
    size: tuple[float, float] | None = None,
    note: str = "",
) -> Iterator[list[Axes]]:
    """Axes side by side in the common look, written to ``path``, if there is one, at the end.

    ``note`` stands below, for what holds of the whole figure: the size, the machine.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size or (4.8 * columns + 0.6, 3.8), layout="constrained")
        yield list(figure.subplots(1, columns, squeeze=False)[0])
        if note:
            figure.supxlabel(note, fontsize=7, color=GREY, x=0.01, ha="left")
        if path is None:
            return
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        # No dates or versions inside, so that the same figure is the same file.
        stamp = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}
        metadata = {stamp[path.suffix]: None} if path.suffix in stamp else None
        figure.savefig(path, metadata=metadata)


def curves(
    axes: Axes,
    data: Mapping[str, Curve],
    *,
    x: str,
    y: str,
    title: str = "",
    log: str = "xy",
    published: Mapping[str, Curve] | None = None,
) -> None:
    """One line a contestant, its quartiles shaded; published ones hollow and thin."""
    how = looks(list(data))
    for name, curve in data.items():
        axes.plot(curve.x, curve.y, label=name, **how[name])
        if curve.lower is not None and curve.upper is not None:
            color = how[name]["color"]
            axes.fill_between(curve.x, curve.lower, curve.upper, color=color, alpha=0.2, lw=0)
    for name, curve in (published or {}).items():
        look = looks([name])[name] | {"linewidth": 0.8, "markerfacecolor": "none"}
        axes.plot(curve.x, curve.y, label=f"{name} (published)", **look)
    if "x" in log:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    if "y" in log:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend()


def plain_numbers(axis: Axis) -> None:
    """Label the powers of ten of a logarithmic axis as numbers, and nothing between."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def bars(
    axes: Axes,
    data: Mapping[str, tuple[float, float, float] | float],
    *,
    x: str,
    title: str = "",
    log: bool = False,
) -> None:
    """One bar a contestant; a triple is a median with its quartiles, drawn as whiskers."""
    how = looks(list(data))
    for row, (name, value) in enumerate(data.items()):
        middle, *quartiles = value if isinstance(value, tuple) else (value,)
        axes.barh(row, middle, color=how[name]["color"], height=0.6)
        if quartiles:
            axes.plot(quartiles, [row, row], color=BLACK, marker="|", linewidth=1)
        axes.annotate(
            f"{middle:.3g}", (max([middle, *quartiles]), row), (4, 0), textcoords="offset points",
            va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(range(len(data)), list(data))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.15)
    if log:
        axes.set_xscale("log")
        # A bar has no foot at zero here: the least one is drawn a decade long.  On the right
        # there is room for the numbers.
        ends = [float(np.max(value)) for value in data.values()]
        left = min(float(np.min(value)) for value in data.values()) / 10
        axes.set_xlim(left, max(ends) * (max(ends) / left) ** 0.15)
        plain_numbers(axes.xaxis)
    axes.set(xlabel=x, ylabel="contestant", title=title)


def heat(
    axes: Axes,
    values: Any,
    *,
    rows: Sequence[Any],
    columns: Sequence[Any],
    x: str,
    y: str,
    scale: str,
    title: str = "",
) -> None:
    """A map of ratios around 1: blue below, red above, the number in each cell."""
    values = np.asarray(values, dtype=float)
    logs = np.log10(values)
    limit = float(np.nanmax(np.abs(logs))) or 1.0
    image = axes.imshow(logs, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        dark = abs(logs[i, j]) > 0.6 * limit
        text = f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"
        color = "white" if dark else "black"
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color=color)
    axes.set_xticks(range(len(columns)), [str(c) for c in columns])
    axes.set_yticks(range(len(rows)), [str(r) for r in rows])
    axes.grid(visible=False)
    axes.set(xlabel=x, ylabel=y, title=title)
    bar = axes.figure.colorbar(image, ax=axes, label=scale)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{10**value:.3g}"))


def comparisons(results: Sequence[Comparison], path: str | Path) -> None:
    """One comparison as bars; several as curves of time and memory against the size."""
    if len(results) == 1:
        comparison(results[0], path)
        return
    results = sorted(results, key=lambda result: (result.name, result.n or result.inputs))
    ways = list(dict.fromkeys(way for result in results for way in result.measurement.contestants))
    names = list(dict.fromkeys(result.name for result in results))
    times: dict[str, Curve] = {}
    peaks: dict[str, Curve] = {}
    for name in names:
        for way in ways:
            having = [
                result
                for result in results
                if result.name == name and way in result.measurement.contestants
            ]
            sizes = [result.n or result.inputs for result in having]
            costs = [result.measurement.contestants[way] for result in having]
            ratios = [cost.timing.ratio for cost in costs]
            label = way if len(names) == 1 else f"{name}: {way}"
            times[label] = Curve(
                sizes, [r.median for r in ratios], [r.lower for r in ratios],
                [r.upper for r in ratios],
            )  # fmt: skip
            peaks[label] = Curve(sizes, [cost.peak_bytes / 1e3 for cost in costs])
    note = f"medians of rounds in turns, quartiles; {results[0].measurement.machine['processor']}"
    with canvas(path, columns=2, note=note) as (left, right):
        curves(left, times, x="size n", y="time / time of f", title=", ".join(names))
        curves(right, peaks, x="size n", y="peak memory (kB)")
        if (legend := right.get_legend()) is not None:
            legend.remove()  # the left one holds for both


def comparison(result: Comparison, path: str | Path | None) -> Any:
    """The time and the memory of each contestant as bars, side by side; the figure."""
    measured = result.measurement
    processor, size = measured.machine["processor"], f"n = {result.inputs}, m = {result.outputs}"
    note = f"{size}; medians of {measured.function.timing.rounds} rounds, quartiles; {processor}"
    height = 1.6 + 0.3 * len(measured.contestants)
    with canvas(path, columns=2, size=(10.2, height), note=note) as (left, right):
        ratios = {name: cost.timing.ratio for name, cost in measured.contestants.items()}
        spreads = {name: (r.median, r.lower, r.upper) for name, r in ratios.items()}
        bars(left, spreads, x="time / time of f", title=f"{result.name}: {result.want}", log=True)
        peaks = {name: cost.peak_bytes / 1e3 for name, cost in measured.contestants.items()}
        bars(right, peaks, x="peak memory (kB)", log=True)
        right.set(ylabel="", yticklabels=[])
    return left.figure
