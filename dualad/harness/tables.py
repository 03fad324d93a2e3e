"""What was measured, in words: tables, quantities with their units, and a progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from html import escape as escape
from typing import TextIO


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
        cells = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
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
