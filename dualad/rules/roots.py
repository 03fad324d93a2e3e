"""Roots whose square is known: |x|, a length, a square root.

At its kink a root has no slope, or an infinite one, and first derivatives there follow a
convention.  But its square is smooth, and the convention must not reach it: |x|**2 has the
second derivative 2 at 0 like everywhere.  So a root that is zero somewhere remembers its
square, computed from its argument, and an even power of it is a power of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Number, Primitive, Rule, System, implements, shape_of, value_of
from dualad.rules.elementwise import _absolute, fabs, hypot, multiply, power, sqrt, square
from dualad.rules.implicit import length
from dualad.rules.linear import imag, real, sum, where
from dualad.rules.methods import dtype_of


def _remember(row: Primitive, squared: Callable[..., Any]) -> None:
    """Let results of that row that are zero somewhere carry the square of the function."""
    bind = row.bind

    def binding(system: System) -> Rule:
        rule = bind(system)

        def remembering(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            y = rule(level, args, params)
            if isinstance(y, Number) and y.transparent and _has_zero(value_of(y)):
                y._square = squared(*args, **params)  # type: ignore[attr-defined]
            return y

        row.bound[system] = remembering
        return remembering

    row.bind = binding  # type: ignore[method-assign]


def _has_zero(v: Any) -> bool:
    if type(v) is float:
        return v == 0.0
    return not (v.all() if type(v) is np.ndarray else np.all(v))


def _of_absolute(x: Any) -> Any:
    return multiply(x, x)


def _of_length(x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    parts = (real(x), imag(x)) if dtype_of(x).kind == "c" else (x,)
    total: Any = 0.0
    for p in parts:
        total = total + sum(multiply(p, p), axes, keepdims=keepdims)
    return total


_remember(_absolute, _of_absolute)
_remember(fabs, _of_absolute)
_remember(sqrt, lambda x: x)
_remember(hypot, lambda a, b: multiply(a, a) + multiply(b, b))
_remember(length, _of_length)


def even_power(x: Any, n: float, y: Any) -> Any:
    """x**n, which is y but where x is zero and knows its square: there a power of that."""
    try:
        known = x._square
    except AttributeError:
        return y
    smooth = known if n == 2 else power(known, n / 2)
    return smooth if not shape_of(x) else where(value_of(x) == 0, smooth, y)


def is_even(n: Any) -> bool:
    """Whether an exponent is a constant even whole number, from 2."""
    return type(n) in (int, float) and n >= 2 and n % 2 == 0


@implements(np.multiply)
def product(a: Any, b: Any) -> Any:
    """The product; of a root with itself, its square."""
    y = multiply(a, b)
    return even_power(a, 2, y) if a is b else y


@implements(np.square)
def squared(x: Any) -> Any:
    """The square."""
    return even_power(x, 2, square(x))


@implements(np.power)
def raised(x: Any, n: Any) -> Any:
    """The power."""
    y = power(x, n)
    return even_power(x, n, y) if is_even(n) else y
