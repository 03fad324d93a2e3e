"""A checker of derivatives: it asks for the same number in every way there is.

Along a random direction v, and for outputs weighted by random w, the derivative of
``<w, f(x + t v)>`` at t = 0 is one number, and so is the second.  Every mode, and every nesting
of two, computes it in its own way; differences of f know no rule at all.  Where two of them
differ there is a fault, in a rule, in f's own registered rows, or in what f does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualad import rules
from dualad.transforms import derivative, grad, jvp, vjp
from dualad.tree import flatten

Function = Callable[..., Any]


class CheckError(AssertionError):
    """Two ways to a derivative give different answers."""


@dataclass(frozen=True)
class Row:
    """One way to the number: what it gave, and how far that may be from the first way's."""

    order: int
    way: str
    value: float
    error: float
    bound: float

    @property
    def holds(self) -> bool:
        return self.error <= self.bound


@dataclass(frozen=True)
class Report:
    """All ways, side by side; printed, it is a table."""

    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)

    def __str__(self) -> str:
        width = max(len(row.way) for row in self.rows)
        lines = [f"order  {'way':{width}}  {'value':>24}  {'difference':>10}  {'allowed':>8}"]
        for r in self.rows:
            mark = "" if r.holds else "  <- differs"
            lines.append(
                f"{r.order:>5}  {r.way:{width}}  {r.value:>24.16g}  {r.error:>10.2g}  "
                f"{r.bound:>8.1g}{mark}"
            )
        return "\n".join(lines)


def check(f: Function, *args: Any, order: int = 2, rtol: float = 1e-9, seed: int = 0) -> Report:
    """Compare f's derivatives at a point: the modes with each other, and with differences.

    ``order`` is 1, or 2 for second derivatives too.  ``rtol`` is what the modes may differ by,
    relative to the size of the terms; differences are allowed their own estimated error.
    Arguments and results may be nested.  At a kink differences say nothing: their estimated
    error is large there.

    Returns the table of all answers; raises ``CheckError`` with that table if two differ.

    >>> report = check(lambda x: np.sum(np.sin(x)), np.array([1.0, 2.0]))
    >>> report.holds
    True
    """
    if order not in (1, 2):
        raise ValueError(f"check: order is 1 or 2, not {order!r}")
    along = _Along(f, args, seed)
    rows = _compared(1, _first(along), along.difference(along.value), along.size, rtol)
    if order == 2:
        rows += _compared(2, _second(along), along.difference(along.slope), along.size, rtol)
    report = Report(tuple(rows))
    if not report.holds:
        raise CheckError(f"derivatives disagree\n{report}")
    return report


class _Along:
    """f along a line through the point, its outputs weighted: a function of one number."""

    def __init__(self, f: Function, args: tuple[Any, ...], seed: int) -> None:
        rng = np.random.default_rng(seed)
        leaves, self.rebuild = flatten(args)
        self.f = f
        self.point = [a if _is_inexact(a) else np.asarray(a, float)[()] for a in leaves]
        if any(np.iscomplexobj(a) for a in self.point):
            raise TypeError("check: the point is real; check the real and imaginary parts of f")
        self.v = [rng.uniform(0.5, 1.5, np.shape(a)) * rng.choice([-1, 1], np.shape(a))
                  for a in self.point]  # fmt: skip
        outputs, _ = flatten(f(*self.rebuild(self.point)))
        self.w = [rng.uniform(0.5, 1.5, np.shape(y)) for y in outputs]
        #: what answers are small or large against: the terms that are added up
        self.size = float(sum(np.sum(w * np.abs(y)) for w, y in zip(self.w, outputs, strict=True)))

    def weighted(self, y: Any) -> Any:
        """<w, y>, for the outputs y of f or their tangents."""
        outputs, _ = flatten(y)
        return sum(
            np.sum(rules.real(w * rules.lift(o))) for w, o in zip(self.w, outputs, strict=True)
        )

    def of_point(self, *args: Any) -> Any:
        return self.weighted(self.f(*args))

    def value(self, t: Any) -> Any:
        """<w, f(x + t v)>."""
        there = [a + t * v for a, v in zip(self.point, self.v, strict=True)]
        return self.of_point(*self.rebuild(there))

    def directed(self, cts: Any) -> Any:
        """<ct, v>."""
        leaves, _ = flatten(cts)
        return sum(np.sum(c * v) for c, v in zip(leaves, self.v, strict=True))

    @property
    def args(self) -> Any:
        return self.rebuild(self.point)

    @property
    def directions(self) -> Any:
        return self.rebuild(self.v)

    def gradient(self, *args: Any) -> Any:
        return grad(self.of_point, tuple(range(len(args))), mode="reverse")(*args)

    def slope(self, t: float) -> Any:
        """d/dt <w, f(x + t v)>, by forward mode."""
        return derivative(self.value)(t)

    def difference(self, phi: Function) -> tuple[float, float]:
        """phi'(0) by central differences, and an estimate of its error.

        Steps are halved and extrapolated (Ridders); the best of the table is taken.
        """
        table: list[list[float]] = []
        best, error = math.nan, math.inf
        h = 0.1
        for i in range(10):
            row = [(float(phi(h)) - float(phi(-h))) / (2 * h)]
            for j in range(i):
                factor = 4.0 ** (j + 1)
                row.append((factor * row[j] - table[i - 1][j]) / (factor - 1))
                change = max(abs(row[-1] - row[-2]), abs(row[-1] - table[i - 1][j]))
                if change <= error:
                    best, error = row[-1], change
            table.append(row)
            h /= 2
        return best, error


def _is_inexact(a: Any) -> bool:
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype.kind in "fc"
    return isinstance(a, float)


def _first(s: _Along) -> dict[str, Callable[[], Any]]:
    def reverse() -> Any:
        y, pullback = vjp(s.f, *s.args)
        leaves, rebuild = flatten(y)
        return s.directed(pullback(rebuild([w + 0 * o for w, o in zip(s.w, leaves, strict=True)])))

    return {
        "forward": lambda: s.weighted(jvp(s.f, s.args, s.directions)[1]),
        "reverse": reverse,
        "forward, one number": lambda: derivative(s.value)(0.0),
        "reverse, one number": lambda: grad(s.value, mode="reverse")(0.0),
    }


def _second(s: _Along) -> dict[str, Callable[[], Any]]:
    def pushed(*args: Any) -> Any:
        return s.weighted(jvp(s.f, args, s.directions)[1])

    everything = tuple(range(len(s.args)))
    return {
        "hyper-dual": lambda: derivative(s.value, order=2)(0.0),
        "forward over forward": lambda: derivative(derivative(s.value))(0.0),
        "forward over reverse": lambda: s.directed(jvp(s.gradient, s.args, s.directions)[1]),
        "reverse over forward": lambda: s.directed(grad(pushed, everything, "reverse")(*s.args)),
        "reverse over reverse": lambda: s.directed(
            grad(lambda *a: s.directed(s.gradient(*a)), everything, "reverse")(*s.args)
        ),
    }


def _compared(
    order: int,
    ways: dict[str, Callable[[], Any]],
    difference: tuple[float, float],
    size: float,
    rtol: float,
) -> list[Row]:
    """The ways against the first of them, and the differences against it too."""
    values = {way: float(run()) for way, run in ways.items()}
    first = next(iter(values.values()))
    size = max(size, abs(first)) if math.isfinite(first) else 0.0
    rows = [Row(order, way, v, _apart(v, first), rtol * size) for way, v in values.items()]
    value, error = difference
    bound = max(100 * error, 1e-6 * size)
    return [*rows, Row(order, "differences", value, _apart(value, first), bound)]


def _apart(a: float, b: float) -> float:
    return 0.0 if a == b or (math.isnan(a) and math.isnan(b)) else abs(a - b)


__all__ = ["CheckError", "Report", "Row", "check"]
