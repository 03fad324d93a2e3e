"""Exact operation counts of both modes, from recorded programs.

A program holds only what depends on its inputs, so seeds must be inputs: were the unit
directions constants, the products with them would not be counted.  The counts are linear in
the number of directions carried and of cotangents pulled back, so one and two of each tell the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualad.dual import Dual, dual
from dualad.primitive import new_level
from dualad.program import Count, trace
from dualad.transforms import vjp
from dualad.tree import flatten

Function = Callable[..., Any]


@dataclass(frozen=True)
class Operations:
    """What f costs, and its derivative along and back, for the first and for each further one.

    >>> counted = operations(lambda x: np.sin(x) * x, 2.0)
    >>> counted.function.flops, counted.forward(1).flops, counted.reverse(1).flops
    (2, 7, 7)
    """

    function: Count
    push: Count
    next_push: Count
    pull: Count
    next_pull: Count

    def forward(self, directions: int, passes: int = 1) -> Count:
        """The derivative along that many directions, in so many passes."""
        return _sum((passes, self.push), (directions - passes, self.next_push))

    def reverse(self, outputs: int) -> Count:
        """The derivatives of that many outputs, from one record."""
        return _sum((1, self.pull), (outputs - 1, self.next_pull))


def _sum(*terms: tuple[int, Count]) -> Count:
    names = ("moves", "additions", "multiplications", "divisions", "nonlinear")
    return Count(*(sum(times * getattr(count, name) for times, count in terms) for name in names))


def operations(f: Function, *args: Any) -> Operations:
    """Count the operations of f, and of its derivative in both modes, at the arguments."""
    leaves, rebuild = flatten(args)
    leaves = [np.asarray(leaf, dtype=float)[()] for leaf in leaves]

    def push(values: list[Any], tangents: list[Any]) -> list[Any]:
        with new_level() as level:
            numbers = [dual(v, t, level) for v, t in zip(values, tangents, strict=True)]
            results, _ = flatten(f(*rebuild(numbers)))
            ours = [y for y in results if isinstance(y, Dual) and y.level == level]
            return [y.primal for y in ours] + [y.tangent for y in ours]

    def pull(values: list[Any], cotangents: list[Any]) -> list[Any]:
        y, pullback = vjp(f, *rebuild(values))
        return [y, *(pullback(ct) for ct in cotangents)]

    def pushed(k: int) -> Count:
        tangents = [np.ones((k, *np.shape(leaf))) for leaf in leaves]
        return trace(push)(leaves, tangents).count()

    y, _ = vjp(f, *args)
    ys, rebuild_y = flatten(y)
    ct = rebuild_y([np.ones(np.shape(v))[()] for v in ys])

    def pulled(k: int) -> Count:
        return trace(pull)(leaves, [ct] * k).count()

    one, two, first, second = pushed(1), pushed(2), pulled(1), pulled(2)
    return Operations(
        function=trace(f)(*args).count(),
        push=one,
        next_push=_sum((1, two), (-1, one)),
        pull=first,
        next_pull=_sum((1, second), (-1, first)),
    )
