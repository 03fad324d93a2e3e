"""Parts of numbers: integer and fraction, mantissa and exponent, angle; bounds and repairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import NotDifferentiableError, Number, implements, shape_of, value_of
from dualad.rules import elementwise as rows
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import astype, imag, real, where


@implements(np.clip)
def clip(
    a: Any, a_min: Any = np._NoValue, a_max: Any = np._NoValue, out: Any = None, *,
    min: Any = np._NoValue, max: Any = np._NoValue, **kwargs: Any,
) -> Any:  # fmt: skip
    """a within bounds; at a bound the slope is that of a."""
    low, high = _bound(a_min, min, "min"), _bound(a_max, max, "max")
    y = a = as_array(a)
    # As np.minimum(np.maximum(a, low), high), but where a is equal to a bound it is a that counts.
    if low is not None:
        y = where(np.less(value_of(y), value_of(low)) | np.isnan(value_of(low)), low, y)
    if high is not None:
        y = where(np.greater(value_of(y), value_of(high)) | np.isnan(value_of(high)), high, y)
    dtype = kwargs.get("dtype")
    return y if dtype is None else astype(y, dtype)


def _bound(old: Any, new: Any, name: str) -> Any:
    if old is not np._NoValue and new is not np._NoValue:
        raise ValueError(f"{name}= and a_{name} are the same bound: give one of them")
    bound = new if old is np._NoValue else old
    return None if bound is np._NoValue or bound is None else as_array(bound)


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with NaN and infinities replaced by numbers."""
    x = as_array(x)
    if dtype_of(x).kind == "c":
        parts = (nan_to_num(part(x), True, nan, posinf, neginf) for part in (real, imag))
        y = next(parts) + 1j * next(parts)
    else:
        value = value_of(x)
        y = x
        largest = np.finfo(dtype_of(x)).max
        for found, instead in (
            (np.isnan(value), nan),
            (np.isposinf(value), largest if posinf is None else posinf),
            (np.isneginf(value), -largest if neginf is None else neginf),
        ):
            if np.any(found):
                y = where(found, as_array(instead), y)
    if not copy and shape_of(x) and isinstance(x, Number):
        x.assign(y)  # type: ignore[attr-defined]
        return x
    return y


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """The angle of a complex number."""
    z = as_array(z)
    y = rows.arctan2(imag(z), real(z)) if dtype_of(z).kind == "c" else rows.arctan2(0.0, z)
    return y * (180 / np.pi) if deg else y


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part, if all imaginary parts are close to zero."""
    a = as_array(a)
    return a if np.iscomplexobj(np.real_if_close(value_of(a), tol)) else real(a)


@implements(np.modf)
def modf(x: Any) -> Any:
    """The fraction, which has the slope of x, and the whole part, which is plain."""
    x = as_array(x)
    fraction, whole = np.modf(value_of(x))
    y = rows.fmod(x, 1.0)
    return where(np.isinf(whole), fraction, y) if np.any(np.isinf(whole)) else y, whole


@implements(np.frexp)
def frexp(x: Any) -> Any:
    """The mantissa, and the exponent, which is plain."""
    x = as_array(x)
    _, exponent = np.frexp(value_of(x))
    return rows.ldexp(x, -exponent), exponent


@implements(np.divmod)
def divmod(a: Any, b: Any) -> Any:
    """The quotient, which is flat, and the remainder."""
    a, b = as_array(a), as_array(b)
    return rows.floor_divide(a, b), rows.remainder(a, b)


# ------------------------------------------------------- np.emath: complex where it has to be


def _widened(name: str) -> Callable[[Any], Any]:
    """A function that goes to complex numbers where the real one is not defined."""
    row = getattr(rows, name)

    def widened(x: Any) -> Any:
        x = as_array(x)
        is_real = dtype_of(x).kind != "c"
        return row(x + 0j if is_real and np.any(np.less(value_of(x), 0)) else x)

    return widened


for _name in ("sqrt", "log", "log2", "log10"):
    implements(getattr(np.emath, _name))(_widened(_name))


def _inside(name: str) -> Callable[[Any], Any]:
    """A function that is refused beyond 1: there it lies on a cut between two branches."""
    row = getattr(rows, name)

    def inside(x: Any) -> Any:
        x = as_array(x)
        if dtype_of(x).kind != "c" and np.any(np.greater(np.abs(value_of(x)), 1)):
            raise NotDifferentiableError(
                f"np.emath.{name} of numbers beyond 1 lies on a cut of the complex plane, where "
                f"its slope has two values; write the branch that is meant with np.log and np.sqrt"
            )
        return row(x)

    return inside


for _name in ("arccos", "arcsin", "arctanh"):
    implements(getattr(np.emath, _name))(_inside(_name))


__all__ = ["angle", "clip", "divmod", "frexp", "modf", "nan_to_num", "real_if_close"]
