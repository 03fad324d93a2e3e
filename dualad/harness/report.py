"""What was measured, for the eye: figures with one look, tables, and a progress bar.

A contestant has the same colour, marker and dash in every figure, so that a reader learns
them once; colour is never the only difference, so that print and colour-blind eyes lose
nothing.  The palette is Okabe and Ito's.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, TextIO

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

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
    path: str | Path, *, columns: int = 1, size: tuple[float, float] | None = None, note: str = ""
) -> Iterator[list[Axes]]:
    """Axes side by side in the common look, written to ``path`` at the end.

    ``note`` stands below, for what holds of the whole figure: the size, the machine.
    """
    path = Path(path)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size or (4.8 * columns + 0.6, 3.8), layout="constrained")
        yield list(figure.subplots(1, columns, squeeze=False)[0])
        if note:
            figure.supxlabel(note, fontsize=7, color=GREY, x=0.01, ha="left")
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
        _plain_numbers(axes.xaxis)
    if "y" in log:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.legend()


def _plain_numbers(axis: Axis) -> None:
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
        # A bar has no foot at zero here: the least one is drawn a decade long.
        axes.set_xlim(left=min(float(np.min(value)) for value in data.values()) / 10)
        _plain_numbers(axes.xaxis)
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
        axes.text(j, i, f"{value:.2g}", ha="center", va="center", fontsize=7,
                  color="white" if dark else "black")  # fmt: skip
    axes.set_xticks(range(len(columns)), [str(c) for c in columns])
    axes.set_yticks(range(len(rows)), [str(r) for r in rows])
    axes.grid(visible=False)
    axes.set(xlabel=x, ylabel=y, title=title)
    bar = axes.figure.colorbar(image, ax=axes, label=scale)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{10**value:.3g}"))


# -------------------------------------------------------------------------- tables


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their names: the first is text, the others are numbers.

    >>> print(table(["mode", "time"], [["forward", "1.2 ms"], ["reverse", "0.35 ms"]]))
    mode        time
    -------  -------
    forward   1.2 ms
    reverse  0.35 ms
    """
    cells = [list(header), *[list(row) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        first = row[0].ljust(widths[0])
        return "  ".join([first, *[c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]])

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(header).rstrip(), rule, *[line(row).rstrip() for row in rows]])


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same table for a notebook.

    >>> html_table(["mode"], [["a < b"]])
    '<table><tr><th>mode</th></tr><tr><td>a &lt; b</td></tr></table>'
    """

    def line(row: Sequence[str], tag: str) -> str:
        cells = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
        return f"<tr>{cells}</tr>"

    lines = [line(header, "th"), *[line(row, "td") for row in rows]]
    return f"<table>{''.join(lines)}</table>"


def duration(seconds: float) -> str:
    """Seconds, in a unit that leaves three digits.

    >>> duration(1.234e-5), duration(0.05), duration(200.0)
    ('12.3 us', '50 ms', '200 s')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * scale:
            return f"{_three(seconds / scale)} {unit}"
    return f"{_three(seconds / 1e-9)} ns"


def memory(size: float) -> str:
    """Bytes, in a unit that leaves three digits.

    >>> memory(512), memory(2e6)
    ('512 B', '2 MB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= 0.9995 * scale:
            return f"{_three(size / scale)} {unit}"
    return f"{_three(size)} B"


def _three(value: float) -> str:
    """Three digits, never as a power of ten while it is below a thousand."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


class Progress:
    """A bar with the time left, on a terminal; elsewhere nothing.

    Tell it the part that is done: ``progress(0.25)``.  The line is wiped at the end.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream.isatty()
        self.started = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def __call__(self, done: float) -> None:
        """Show that this part of the whole is done."""
        if not self.shown:
            return
        filled = round(30 * done)
        spent = time.monotonic() - self.started
        left = f"{duration(spent * (1 - done) / done)} left" if done else ""
        bar = "#" * filled + "." * (30 - filled)
        self.stream.write(f"\r\x1b[K{self.label} [{bar}] {done:4.0%} {left}")
        self.stream.flush()
