"""Hyper-dual numbers: exact second derivatives, with no tape and no step.

A hyper-dual number is ``a + b e1 + c e2 + d e1 e2`` with ``e1 e1 = e2 e2 = 0``.  Multiplying out
two of them gives the product rule twice over, and

    f(a + b e1 + c e2 + d e1 e2) = f + f' b e1 + f' c e2 + (f' d + f'' b c) e1 e2,

so with b = c = 1 and d = 0 the last part is f'' (Fike and Alonso, AIAA 2011-886).

It is the same thing as a dual number whose parts are dual numbers, with half the
bookkeeping.  A function without second partials in its row is evaluated that way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad import rules, scalar
from dualad.dual import Dual, align, dual, product, whole
from dualad.primitive import (
    Elementwise,
    Implicit,
    Linear,
    Multilinear,
    Number,
    Rule,
    Selection,
    check_open,
    evaluate_formula,
    is_paused,
    lead_of,
    level_above,
    paused,
    quietly,
    shape_of,
)
from dualad.protocols import ArrayNumber, Operators, as_part, namespace_of


class HyperDual(Operators):
    """A primal, two tangents and the mixed second part.

    ``tangent1`` and ``tangent2`` have the primal's shape, or a leading axis more each, for
    k1 and k2 directions; ``mixed`` then has both: ``(k1, k2, *shape)``.

    Raises ``ValueError`` when the shapes of the parts do not fit.

    >>> HyperDual(2.0, 1.0, 1.0, 0.0) ** 3
    HyperDual(primal=8.0, tangent1=12.0, tangent2=12.0, mixed=12.0)
    """

    __slots__ = ("level", "mixed", "primal", "tangent1", "tangent2")

    primal: Any
    tangent1: Any
    tangent2: Any
    mixed: Any

    def __init__(
        self, primal: Any, tangent1: Any, tangent2: Any, mixed: Any, level: float | None = None
    ) -> None:
        self.primal = primal
        self.tangent1 = tangent1
        self.tangent2 = tangent2
        self.mixed = mixed
        if level is not None:
            self.level = level
            return
        parts = [as_part(p) for p in (primal, tangent1, tangent2, mixed)]
        self.primal, self.tangent1, self.tangent2, self.mixed = parts
        shape = shape_of(parts[0])
        leads = [lead_of(p, len(shape)) for p in parts]
        fits = (
            all(shape_of(p) == lead + shape for p, lead in zip(parts, leads, strict=True))
            and leads[3] == leads[1] + leads[2]
            and max(len(leads[1]), len(leads[2])) <= 1
        )
        if not fits:
            raise ValueError(
                f"the tangents of a HyperDual have the primal's shape {shape}, or one leading axis "
                "more each, and mixed both leading axes; the shapes given are "
                f"{', '.join(str(shape_of(p)) for p in parts)}"
            )
        self.level = level_above(2**-20, *parts)
        if shape:
            self.__class__ = HyperDualArray

    def parts(self) -> dict[str, Any]:
        return {
            "primal": self.primal,
            "tangent1": self.tangent1,
            "tangent2": self.tangent2,
            "mixed": self.mixed,
        }

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None and (type(other) is int or type(other) is float) and other == 2:
            return self * self
        return super().__pow__(other, modulus)

    # The four operations on pairs of floats are written out: they are the definition.
    # A NaN may mean that a zero met an infinity: such results, and all else, go to the rows.

    def __add__(self, other: Any) -> Any:
        if not paused:
            if type(other) is HyperDual:
                if other.level == self.level and type(self.mixed) is float:
                    m = self.mixed + other.mixed
                    if type(m) is float:
                        return HyperDual(
                            self.primal + other.primal,
                            self.tangent1 + other.tangent1,
                            self.tangent2 + other.tangent2,
                            m,
                            self.level,
                        )
            elif (type(other) is float or type(other) is int) and type(self.primal) is float:
                return HyperDual(
                    self.primal + other, self.tangent1, self.tangent2, self.mixed, self.level
                )
        return rules.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not paused:
            if type(other) is HyperDual:
                if other.level == self.level and type(self.mixed) is float:
                    m = self.mixed - other.mixed
                    if type(m) is float:
                        return HyperDual(
                            self.primal - other.primal,
                            self.tangent1 - other.tangent1,
                            self.tangent2 - other.tangent2,
                            m,
                            self.level,
                        )
            elif (type(other) is float or type(other) is int) and type(self.primal) is float:
                return HyperDual(
                    self.primal - other, self.tangent1, self.tangent2, self.mixed, self.level
                )
        return rules.subtract(self, other)

    def __mul__(self, other: Any) -> Any:
        if not paused:
            if type(other) is HyperDual:
                a, b, c, d = self.primal, self.tangent1, self.tangent2, self.mixed
                if other.level == self.level and type(a) is type(d) is float:
                    p, q, r, s = other.primal, other.tangent1, other.tangent2, other.mixed
                    first1, first2 = a * q + b * p, a * r + c * p
                    m = a * s + b * r + c * q + d * p
                    known = a or other is not self  # a root of 0 may know its square
                    proper = m == m and first1 == first1 and first2 == first2
                    if known and type(m) is float and proper:
                        return HyperDual(a * p, first1, first2, m, self.level)
            elif (type(other) is float or type(other) is int) and type(self.mixed) is float:
                first1, first2 = self.tangent1 * other, self.tangent2 * other
                m = self.mixed * other
                if m == m and first1 == first1 and first2 == first2:
                    return HyperDual(self.primal * other, first1, first2, m, self.level)
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) is float or type(other) is int:
            return self.__mul__(other)
        return rules.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        if not paused:
            if type(other) is HyperDual:
                p = other.primal
                if (
                    other.level == self.level
                    and type(p) is float
                    and p != 0.0
                    and type(self.mixed) is float
                ):
                    q, r = other.tangent1, other.tangent2
                    y = self.primal / p
                    b = (self.tangent1 - y * q) / p
                    c = (self.tangent2 - y * r) / p
                    m = (self.mixed - b * r - c * q - y * other.mixed) / p
                    if type(m) is float and m == m:
                        return HyperDual(y, b, c, m, self.level)
            elif (type(other) is float or type(other) is int) and (
                other != 0 and type(self.mixed) is float
            ):
                m = self.mixed / other
                if m == m:
                    return HyperDual(
                        self.primal / other,
                        self.tangent1 / other,
                        self.tangent2 / other,
                        m,
                        self.level,
                    )
        return rules.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if not paused and (type(other) is float or type(other) is int):
            p = self.primal
            if type(p) is float and p != 0.0 and type(self.mixed) is float:
                y = other / p
                slope = -y / p
                b, c = slope * self.tangent1, slope * self.tangent2
                m = slope * self.mixed - 2.0 * (b * self.tangent2) / p
                if m == m:
                    return HyperDual(y, b, c, m, self.level)
        return rules.divide(other, self)

    def __rsub__(self, other: Any) -> Any:
        if not paused and (type(other) is float or type(other) is int):
            m = self.mixed
            if type(self.primal) is float and type(m) is float:
                return HyperDual(
                    other - self.primal, -self.tangent1, -self.tangent2, -m, self.level
                )
        return rules.subtract(other, self)

    def __neg__(self) -> Any:
        m = self.mixed
        if not paused and type(self.primal) is float and type(m) is float:
            return HyperDual(-self.primal, -self.tangent1, -self.tangent2, -m, self.level)
        return rules.negative(self)


class HyperDualArray(ArrayNumber, HyperDual):
    """A hyper-dual number over an array."""

    __slots__ = ()
    __add__, __radd__ = Operators.__add__, Operators.__radd__
    __sub__, __rsub__ = Operators.__sub__, Operators.__rsub__
    __mul__, __rmul__ = Operators.__mul__, Operators.__rmul__
    __truediv__, __rtruediv__ = Operators.__truediv__, Operators.__rtruediv__
    __neg__ = Operators.__neg__
    __pow__ = HyperDual.__pow__

    def replace(self, other: Any) -> None:
        self.primal, self.mixed = other.primal, other.mixed
        self.tangent1, self.tangent2 = other.tangent1, other.tangent2

    def constant(self, value: Any) -> HyperDual:
        """A number of this level with that value and no slopes."""
        n, shape = self.ndim, shape_of(value)
        return HyperDualArray(
            value,
            np.zeros(lead_of(self.tangent1, n) + shape, value.dtype),
            np.zeros(lead_of(self.tangent2, n) + shape, value.dtype),
            np.zeros(lead_of(self.mixed, n) + shape, value.dtype),
            self.level,
        )


def hyperdual(primal: Any, tangent1: Any, tangent2: Any, mixed: Any, level: float) -> HyperDual:
    """A hyper-dual number of the class that its primal needs."""
    kind = HyperDual if type(primal) is float or not shape_of(primal) else HyperDualArray
    return kind(primal, tangent1, tangent2, mixed, level)


# ---------------------------------------------------------------- dual over dual, and back


def to_duals(x: Any, level: float) -> Any:
    """A hyper-dual number as a dual number of dual numbers: e1 is the inner part."""
    if not (isinstance(x, HyperDual) and x.level == level):
        return x
    inner, outer = level, level + 0.5
    return dual(dual(x.primal, x.tangent1, inner), dual(x.tangent2, x.mixed, inner), outer)


def from_duals(x: Any, level: float, leads: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    """Back from ``to_duals``; parts that became constant are zeros."""
    if isinstance(x, tuple):
        return tuple(from_duals(v, level, leads) for v in x)
    inner, outer = level, level + 0.5
    at_outer = isinstance(x, Dual) and x.level == outer
    p = x.primal if at_outer else x
    t = x.tangent if at_outer else None
    shape = shape_of(x)
    first, second = leads

    def part(z: Any, which: str, lead: tuple[int, ...]) -> Any:
        if z is not None:
            if isinstance(z, Dual) and z.level == inner:
                return getattr(z, which)
            if which == "primal":
                return z
        return np.zeros(lead + shape) if lead + shape else 0.0

    primal = part(p, "primal", ())
    if not at_outer and not (isinstance(p, Dual) and p.level == inner):
        return primal
    return hyperdual(
        primal,
        part(p, "tangent", first),
        part(t, "primal", second),
        part(t, "tangent", first + second),
        level,
    )


def leads_of(level: float, args: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The direction axes of the first and the second tangents among the arguments."""
    for a in args:
        if isinstance(a, HyperDual) and a.level == level:
            n = len(shape_of(a.primal))
            return lead_of(a.tangent1, n), lead_of(a.tangent2, n)
    return (), ()


def pairs(s: Any, t: Any, leads: tuple[tuple[int, ...], ...]) -> Any:
    """All products of a first and a second tangent: their direction axes side by side."""
    if leads[0] and leads[1]:
        shape = shape_of(s)
        s = s.reshape((*shape[:1], 1, *shape[1:]))
    return s * t


def plus(a: Any, b: Any) -> Any:
    """a + b, where None is nothing yet."""
    return b if a is None else a + b


# ------------------------------------------------------- how hyper-dual numbers read the table


class HyperDualSystem:
    """How hyper-dual numbers read each kind of primitive."""

    def _via_duals(self, row: Any) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            y = row(*(to_duals(a, level) for a in args), **params)
            return from_duals(y, level, leads_of(level, args))

        return rule

    def elementwise(self, row: Elementwise) -> Rule:
        general = self._via_duals(row)
        if row.second is None:
            return general
        second = row.second

        def written_out(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if paused and is_paused(level):
                return general(level, args, params)
            primals = []
            ours: list[tuple[int, HyperDual]] = []
            for i, a in enumerate(args):
                if isinstance(a, Number):
                    if a.level == level:
                        ours.append((i, a))  # type: ignore[arg-type]
                        a = a.primal
                    else:
                        check_open(a)
                primals.append(a)
            y = row(*primals)
            xp = namespace_of(primals)
            return quietly(parts, level, xp, y, primals, ours)

        def parts(level: float, xp: Any, y: Any, primals: Any, ours: Any) -> Any:
            ndim = len(shape_of(y))
            first1: Any = None
            first2: Any = None
            mixed: Any = None
            leads: tuple[tuple[int, ...], ...] = ((), (), ())
            aligned = []
            for i, a in ours:
                n = len(shape_of(a.primal))
                t1, t2, m = a.tangent1, a.tangent2, a.mixed
                leads = tuple(
                    lead or lead_of(t, n) for lead, t in zip(leads, (t1, t2, m), strict=True)
                )
                t1, t2, m = (align(t, n, ndim) for t in (t1, t2, m))
                aligned.append((i, t1, t2))
                d = row.partial(i, xp, y, primals)
                if d is None:
                    continue
                first1 = plus(first1, product(d, t1))
                first2 = plus(first2, product(d, t2))
                mixed = plus(mixed, product(d, m))
            for p, (i, s1, s2) in enumerate(aligned):
                for j, t1, t2 in aligned[p:]:
                    # the place of (i, j), i <= j, in the upper triangle by rows
                    formula = second[i * len(primals) - i * (i - 1) // 2 + j - i]
                    if formula is None or (type(formula) is int and formula == 0):
                        continue
                    d = evaluate_formula(formula, xp, y, primals) if callable(formula) else formula
                    both = pairs(s1, t2, leads)
                    if i != j:
                        both = both + pairs(t1, s2, leads)
                    mixed = plus(mixed, product(d, both))
            if first1 is None:
                return y
            shape = shape_of(y)
            tangents = zip((first1, first2, mixed), leads, strict=True)
            first1, first2, mixed = (whole(t, lead, shape) for t, lead in tangents)
            return hyperdual(y, first1, first2, mixed, level)

        on_floats: Any = row.on_floats
        first: Any = row.partials[0]
        curvature: Any = second[0]
        one_formula = len(row.partials) == 1 and callable(first) and callable(curvature)
        if on_floats is None or not one_formula:
            return written_out

        def unary(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            (x,) = args
            p = x.primal
            if type(p) is float and not paused:
                b, c = x.tangent1, x.tangent2
                try:
                    y = on_floats(p)
                    d = first(scalar, y, p)
                    m = d * x.mixed + curvature(scalar, y, p) * (b * c)
                except (ValueError, ArithmeticError):
                    return written_out(level, args, params)
                if type(m) is float and m == m:
                    return HyperDual(y, d * b, d * c, m, level)
            return written_out(level, args, params)

        return unary

    def linear(self, row: Linear) -> Rule:
        general = self._via_duals(row)

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if len(args) > 1 or (paused and is_paused(level)):
                return general(level, args, params)
            (x,) = args
            return hyperdual(
                row(x.primal, **params),
                quietly(row, x.tangent1, **params),
                quietly(row, x.tangent2, **params),
                quietly(row, x.mixed, **params),
                level,
            )

        return rule

    def multilinear(self, row: Multilinear) -> Rule:
        return self._via_duals(row)

    def selection(self, row: Selection) -> Rule:
        return self._via_duals(row)

    def implicit(self, row: Implicit) -> Rule:
        return self._via_duals(row)


HyperDual.system = HyperDualSystem()
HyperDual.unary = {}
