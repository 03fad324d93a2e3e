"""Dual numbers: forward mode.

A dual number is ``a + b e`` with ``e * e = 0``: a primal and a tangent.  Multiplying out,

    (a + b e) (c + d e) = a c + (a d + b c) e,

which is the product rule; and ``f(a + b e) = f(a) + f'(a) b e`` is the chain rule.  So a
program that is run on dual numbers computes its directional derivative beside its value.

Over arrays a dual number holds one primal array and one tangent array.  The tangent may
have one leading axis more than the primal: then it holds k directions at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad import rules, scalar
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
    plain,
    quietly,
    shape_of,
)
from dualad.protocols import ArrayNumber, Operators, as_part


class Dual(Operators):
    """A primal and a tangent: ``Dual(3.0, 1.0)`` is 3 with a slope of 1.

    The tangent has the primal's shape, or one axis more in front: k directions at once.
    Plain NumPy code and the operators work on it; the result carries its derivative.

    Raises ``ValueError`` when the tangent's shape does not fit the primal's.

    >>> x = Dual(2.0, 1.0)
    >>> x * x
    Dual(primal=4.0, tangent=4.0)
    """

    __slots__ = ("level", "primal", "tangent")

    primal: Any
    tangent: Any

    def __init__(self, primal: Any, tangent: Any, level: float | None = None) -> None:
        self.primal = primal
        self.tangent = tangent
        if level is not None:
            self.level = level
            return
        self.primal = primal = as_part(primal)
        self.tangent = tangent = as_part(tangent, like=primal)
        shape = shape_of(primal)
        if lead_of(tangent, len(shape)) + shape != shape_of(tangent) or (
            len(shape_of(tangent)) - len(shape) not in (0, 1)
        ):
            raise ValueError(
                f"the tangent of a Dual has the primal's shape {shape}, or one leading axis "
                f"more for k directions; it was given the shape {shape_of(tangent)}"
            )
        self.level = level_above(2**-10, primal, tangent)
        if shape:
            self.__class__ = DualArray

    def parts(self) -> dict[str, Any]:
        """The parts by name, as the constructor takes them."""
        return {"primal": self.primal, "tangent": self.tangent}

    # The four operations are written out, since they are what a dual number is; a test
    # holds them equal to the table's rows.  Only floats take the short way (asked first:
    # a product of nested numbers is not to be computed twice); a NaN, since a zero tangent
    # may have met an infinite partial, and all else go to the rows.

    def __add__(self, other: Any) -> Any:
        if not paused:
            if type(other) is Dual:
                if other.level == self.level and type(self.tangent) is float:
                    tangent = self.tangent + other.tangent
                    if type(tangent) is float:
                        return Dual(self.primal + other.primal, tangent, self.level)
            elif (type(other) is float or type(other) is int) and type(self.primal) is float:
                return Dual(self.primal + other, self.tangent, self.level)
        return rules.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not paused:
            if type(other) is Dual:
                if other.level == self.level and type(self.tangent) is float:
                    tangent = self.tangent - other.tangent
                    if type(tangent) is float:
                        return Dual(self.primal - other.primal, tangent, self.level)
            elif (type(other) is float or type(other) is int) and type(self.primal) is float:
                return Dual(self.primal - other, self.tangent, self.level)
        return rules.subtract(self, other)

    def __mul__(self, other: Any) -> Any:
        if not paused:
            if type(other) is Dual:
                a, t = self.primal, self.tangent
                if other.level == self.level and type(a) is type(t) is float:
                    b = other.primal
                    tangent = a * other.tangent + t * b
                    known = a or other is not self  # a root of 0 may know its square
                    if known and type(tangent) is float and tangent == tangent:
                        return Dual(a * b, tangent, self.level)
            elif (type(other) is float or type(other) is int) and type(self.tangent) is float:
                tangent = self.tangent * other
                if tangent == tangent:
                    return Dual(self.primal * other, tangent, self.level)
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) is float or type(other) is int:
            return self.__mul__(other)
        return rules.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        if not paused:
            if type(other) is Dual:
                if other.level == self.level and type(self.tangent) is float:
                    b = other.primal
                    if type(b) is float and b != 0.0:
                        y = self.primal / b
                        tangent = (self.tangent - y * other.tangent) / b
                        if type(tangent) is float and tangent == tangent:
                            return Dual(y, tangent, self.level)
            elif (type(other) is float or type(other) is int) and (
                other != 0 and type(self.tangent) is float
            ):
                tangent = self.tangent / other
                if tangent == tangent:
                    return Dual(self.primal / other, tangent, self.level)
        return rules.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        if not paused and (type(other) is float or type(other) is int):
            b = self.primal
            if type(b) is float and b != 0.0 and type(self.tangent) is float:
                y = other / b
                tangent = -y / b * self.tangent
                if tangent == tangent:
                    return Dual(y, tangent, self.level)
        return rules.divide(other, self)

    def __rsub__(self, other: Any) -> Any:
        if not paused and (type(other) is float or type(other) is int):
            p, t = self.primal, self.tangent
            if type(p) is float and type(t) is float:
                return Dual(other - p, -t, self.level)
        return rules.subtract(other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if not paused and modulus is None and (type(other) is float or type(other) is int):
            p = self.primal
            if type(p) is float and other == 2 and type(self.tangent) is float:
                tangent = 2.0 * p * self.tangent
                if p and tangent == tangent:
                    return Dual(p * p, tangent, self.level)
        return super().__pow__(other, modulus)

    def __neg__(self) -> Any:
        if not paused and type(self.primal) is float and type(self.tangent) is float:
            return Dual(-self.primal, -self.tangent, self.level)
        return rules.negative(self)


class DualArray(ArrayNumber, Dual):
    """A dual number over an array: it has a length, items and iteration besides."""

    __slots__ = ()
    __add__, __radd__ = Operators.__add__, Operators.__radd__
    __sub__, __rsub__ = Operators.__sub__, Operators.__rsub__
    __pow__ = Operators.__pow__
    __mul__, __rmul__ = Operators.__mul__, Operators.__rmul__
    __truediv__, __rtruediv__ = Operators.__truediv__, Operators.__rtruediv__
    __neg__ = Operators.__neg__

    def replace(self, other: Dual) -> None:
        """Become another number of this level (assignment into an array)."""
        self.primal, self.tangent = other.primal, other.tangent

    def constant(self, value: Any) -> Dual:
        """A number of this level with that value and no slope."""
        lead = lead_of(self.tangent, self.ndim)
        return dual(value, np.zeros(lead + shape_of(value), dtype=value.dtype), self.level)


def dual(primal: Any, tangent: Any, level: float) -> Dual:
    """A dual number of the class that its primal needs."""
    if type(primal) is float or not shape_of(primal):
        return Dual(primal, plain(tangent), level)
    return DualArray(primal, tangent, level)


# -------------------------------------------------------- how dual numbers read the table


def split(level: float, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Primals and tangents of the arguments: a tangent is None where the level sees a constant."""
    primals, tangents = [], []
    for a in args:
        if isinstance(a, Number):
            if a.level == level:
                primals.append(a.primal)
                tangents.append(a.tangent)  # type: ignore[attr-defined]
                continue
            check_open(a)
        primals.append(a)
        tangents.append(None)
    return primals, tangents


def align(tangent: Any, ndim: int, out_ndim: int) -> Any:
    """The tangent of an argument of ndim axes, ready to meet a partial of out_ndim axes.

    The missing axes go in between the direction axis and the argument's own: without
    this, (k, 3) would broadcast against (2, 3) whenever k is 2, silently wrong.
    """
    shape = shape_of(tangent)
    lead = len(shape) - ndim
    if not lead or ndim >= out_ndim:
        return tangent
    return tangent.reshape(shape[:lead] + (1,) * (out_ndim - ndim) + shape[lead:])


def product(partial: Any, tangent: Any) -> Any:
    """Partial times tangent; a zero tangent stays zero.  A partial of 1 costs nothing."""
    if type(partial) is int:
        if partial == 1:
            return tangent
        if partial == -1:
            return -tangent
    if isinstance(partial, Number) or isinstance(tangent, Number):
        return rules.scaled(partial, tangent)
    return _plain_product(partial, tangent)


_plain_product = rules.scaled.function


def whole(tangent: Any, lead: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The tangent in the full shape of the output that it belongs to."""
    have = shape_of(tangent)
    if have == lead + shape:
        return tangent
    return rules.broadcast_to(align(tangent, len(have) - len(lead), len(shape)), lead + shape)


class DualSystem:
    """How dual numbers read each kind of primitive."""

    def elementwise(self, row: Elementwise) -> Rule:
        partials: tuple[Any, ...] = row.partials
        evaluate, on_floats = row.evaluate, row.on_floats or _none_on_floats

        def general(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            # ``split``, in line: this is the path of every operation on arrays.
            primals: list[Any] = []
            tangents: list[Any] = []
            nested = False
            for a in args:
                t = None
                if isinstance(a, Number):
                    if a.level == level:
                        t = a.tangent  # type: ignore[attr-defined]
                        a = a.primal
                    else:
                        check_open(a)
                    nested = nested or isinstance(a, Number)
                primals.append(a)
                tangents.append(t)
            y = row(*primals) if nested else evaluate(*primals)
            if paused and is_paused(level):
                return y
            if nested:
                total = quietly(push, rules, y, primals, tangents)
            elif type(y) is float:
                total = quietly(push, scalar, y, primals, tangents)
            else:
                total = quietly(push, np, y, primals, tangents)
            return y if total is None else dual(y, total, level)

        def push(xp: Any, y: Any, primals: list[Any], tangents: list[Any]) -> Any:
            total = None
            shape = shape_of(y)
            ndim = len(shape)
            lead: tuple[int, ...] = ()
            for a, t, formula in zip(primals, tangents, partials, strict=True):
                if t is None or formula is None:
                    continue
                partial = (
                    formula if type(formula) is int else evaluate_formula(formula, xp, y, primals)
                )
                if type(t) is not float:
                    a_ndim = len(shape_of(a))
                    lead = lead or lead_of(t, a_ndim)
                    if lead and a_ndim < ndim:
                        t = align(t, a_ndim, ndim)
                term = product(partial, t)
                total = term if total is None else total + term
            if total is None or shape_of(total) == lead + shape:
                return total
            return whole(total, lead, shape)

        if len(partials) > 2 or None in partials:
            return general

        # The short way, over floats and arrays of one shape: nothing nested, nothing to align.
        function = row.function
        left, right = partials[0], partials[-1]

        def slope(formula: Any, xp: Any, y: Any, *values: Any) -> Any:
            return formula if type(formula) is int else formula(xp, y, *values)

        on_left = left if callable(left) else lambda xp, y, *values: left

        def push_one(formula: Any, t: Any, y: Any, *values: Any) -> Any:
            return product(slope(formula, np, y, *values), t)

        def push_two(t: Any, u: Any, y: Any, p: Any, q: Any) -> Any:
            return push_one(left, t, y, p, q) + push_one(right, u, y, p, q)

        def unary(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            (x,) = args
            p = x.primal
            if paused:
                return general(level, args, params)
            if type(p) is float:
                try:
                    y = on_floats(p)
                    tangent = on_left(scalar, y, p) * x.tangent
                except (ValueError, ArithmeticError):
                    return general(level, args, params)
                if type(tangent) is float and tangent == tangent:
                    return Dual(y, tangent, level)
            elif type(p) is np.ndarray and type(x.tangent) is np.ndarray:
                y = function(p)
                if type(y) is np.ndarray:
                    return DualArray(y, quietly(push_one, left, x.tangent, y, p), level)
            return general(level, args, params)

        if len(partials) == 1:
            return unary

        def binary(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            a, b = args
            if paused:
                return general(level, args, params)
            if type(a) is DualArray and a.level == level:
                p, t = a.primal, a.tangent
                if type(p) is np.ndarray and type(t) is np.ndarray:
                    if type(b) is float or type(b) is int:
                        y = function(p, b)
                        tangent = quietly(push_one, left, t, y, p, b)
                        return DualArray(y, tangent, level)
                    if type(b) is DualArray and b.level == level:
                        q, u = b.primal, b.tangent
                        if type(q) is np.ndarray and type(u) is np.ndarray and p.shape == q.shape:
                            y = function(p, q)
                            return DualArray(y, quietly(push_two, t, u, y, p, q), level)
            elif type(a) is float or type(a) is int:
                q, u = b.primal, b.tangent  # the other one is of this level
                if type(q) is np.ndarray and type(u) is np.ndarray:
                    y = function(a, q)
                    return DualArray(y, quietly(push_one, right, u, y, a, q), level)
            return general(level, args, params)

        return binary

    def linear(self, row: Linear) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            primals, tangents = split(level, args)
            y = row(*primals, **params)
            if paused and is_paused(level):
                return y
            if len(args) > 1:
                tangents = filled(primals, tangents)
            return dual(y, quietly(row, *tangents, **params), level)

        return rule

    def multilinear(self, row: Multilinear) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            primals, tangents = split(level, args)
            y = row(*primals, **params)
            if paused and is_paused(level):
                return y
            total = None
            for i, t in enumerate(tangents):
                if t is not None:
                    term = quietly(rules.strong, row, primals, i, t, params)
                    total = term if total is None else total + term
            return dual(y, total, level)

        return rule

    def selection(self, row: Selection) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            ((x,), (t,)) = split(level, args)
            y = row(x, **params)
            if paused and is_paused(level):
                return y
            return dual(y, quietly(row.gather, t, **row.chosen(x, y, params)), level)

        return rule

    def implicit(self, row: Implicit) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            primals, tangents = split(level, args)
            y = row(*primals, **params)
            if paused and is_paused(level):
                return y
            t = quietly(row.push, y, primals, tangents, **params)
            if isinstance(y, tuple):
                return tuple(
                    a if s is None else dual(a, s, level) for a, s in zip(y, t, strict=True)
                )
            return dual(y, t, level)

        return rule


def _none_on_floats(*args: float) -> float:
    """Stands for a function that ``math`` does not have: NumPy's is taken."""
    raise ValueError


def filled(primals: list[Any], tangents: list[Any]) -> list[Any]:
    """Tangents with zeros for constants, for functions linear in all arguments together."""
    lead: tuple[int, ...] = ()
    dtype = None
    for p, t in zip(primals, tangents, strict=True):
        if t is not None:
            lead = lead_of(t, len(shape_of(p)))
            dtype = t.dtype if hasattr(t, "dtype") else np.float64
    return [
        np.zeros(lead + shape_of(p), dtype=dtype) if t is None else t
        for p, t in zip(primals, tangents, strict=True)
    ]


Dual.system = DualSystem()
Dual.unary = {}
