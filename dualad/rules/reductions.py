"""Products and other reductions by a function of two entries, with no division anywhere.

The derivative of a product in one factor is the product of the others, and to write that as
y / x fails where a factor is zero, which is where it matters.  So a product is
taken as what it is, multiplications: the two halves of an axis are multiplied entry by entry
until one entry is left, and running products likewise.  Their rules are those of the
multiplication, right at zeros to all orders, for about three multiplications an entry.

The variants that leave NaN out replace it by what does not count, so that a NaN has no slope
and gives none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Number, implements, shape_of, value_of
from dualad.rules.composed import counted, mean, over_count
from dualad.rules.elementwise import multiply
from dualad.rules.lifting import as_array, dtype_of, lift
from dualad.rules.linear import (
    astype,
    axes_from_end,
    broadcast_to,
    concatenate,
    cumsum,
    from_end,
    getitem_row,
    ndim_of,
    reshape,
    sum,
    transpose,
)
from dualad.rules.selection import max, min

Pair = Callable[[Any, Any], Any]


def along(x: Any, axis: int, index: Any) -> Any:
    """``x[..., index, ...]`` with the index at an axis that is counted from the end.

    Nobody assigns to such a piece, so it is not tied to x as a view of it would be.
    """
    return getitem_row(x, index=(..., index, *(slice(None),) * (-1 - axis)), ndim=ndim_of(x))


def one_axis(a: Any, axis: Any) -> tuple[Any, int]:
    """a with the axes made into one, and where that is, counted from the end."""
    n = ndim_of(a)
    axes = sorted(axes_from_end(axis, n))
    if len(axes) == 1:
        return a, axes[0]
    if len(axes) == n:
        return reshape(a, (-1,)), -1
    shape = shape_of(a)
    kept = [i for i in range(-n, 0) if i not in axes]
    merged = transpose(a, (*kept, *axes))
    return reshape(merged, (*(shape[i] for i in kept), math.prod(shape[i] for i in axes))), -1


def kept_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape that a reduction with ``keepdims=True`` leaves."""
    axes = axes_from_end(axis, len(shape))
    return tuple(1 if i - len(shape) in axes else s for i, s in enumerate(shape))


# ------------------------------------------------------------- reductions by pairs of entries


def reduce_pairs(pair: Pair, a: Any, axis: Any, keepdims: Any = False) -> Any:
    """Reduce axes, of some length, by an associative and commutative function of two entries."""
    if not axes_from_end(axis, ndim_of(a)):
        return a
    x, at = one_axis(a, axis)
    y = _halved(pair, x, at, shape_of(x)[at])
    return reshape(y, kept_shape(shape_of(a), axis)) if keepdims else y


def _halved(pair: Pair, x: Any, axis: int, n: int) -> Any:
    odd = []
    while n > 1:
        if n % 2:
            odd.append(along(x, axis, n - 1))
        n //= 2
        x = pair(along(x, axis, slice(0, n)), along(x, axis, slice(n, 2 * n)))
    y = along(x, axis, 0)
    for last in odd:
        y = pair(y, last)
    return y


def accumulate_pairs(pair: Pair, a: Any, axis: int) -> Any:
    """Running reductions by an associative function of two entries."""
    return _scanned(pair, a, from_end(axis, ndim_of(a)))


def _scanned(pair: Pair, x: Any, axis: int) -> Any:
    """Scan the pairs of neighbours: those are the results at odd places; then those between."""
    n = shape_of(x)[axis]
    if n < 2:
        return x
    even, odd = along(x, axis, slice(0, None, 2)), along(x, axis, slice(1, None, 2))
    at_odd = _scanned(pair, pair(along(even, axis, slice(0, n // 2)), odd), axis)
    between = pair(along(at_odd, axis, slice(0, (n - 1) // 2)), along(even, axis, slice(1, None)))
    joined = concatenate([along(even, axis, slice(0, 1)), between, at_odd], axis)
    order = np.arange(n)
    return along(joined, axis, order // 2 + order % 2 * ((n + 1) // 2))


@implements(np.prod)
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """The product over axes."""
    a = as_array(a)
    if where is not True:
        a = np.where(where, a, 1.0)
    if dtype is not None:
        a = astype(a, dtype)
    if 0 in shape_of(a):
        y: Any = np.prod(np.zeros(shape_of(a)), axis=axis, keepdims=bool(keepdims))
    else:
        y = reduce_pairs(multiply, a, axis, keepdims)
        if not np.all(np.isfinite(value_of(y))):
            # From left to right, as NumPy: halves may overflow, or meet 0 * inf, where it does not.
            x, at = one_axis(a, axis)
            y = along(x, at, 0)
            for i in range(1, shape_of(x)[at]):
                y = multiply(y, along(x, at, i))
            y = reshape(y, kept_shape(shape_of(a), axis)) if keepdims else y
    return y if initial is None else y * initial


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along an axis (of the flattened array by default)."""
    a = as_array(a)
    if dtype is not None:
        a = astype(a, dtype)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    y = accumulate_pairs(multiply, a, axis)
    if np.all(np.isfinite(value_of(y))):
        return y
    axis = from_end(axis, ndim_of(a))
    in_turn = [along(a, axis, slice(0, 1))]
    for i in range(1, shape_of(a)[axis]):
        in_turn.append(multiply(in_turn[-1], along(a, axis, slice(i, i + 1))))
    return concatenate(in_turn, axis)


def _running(name: str, sums: Any, x: Any, axis: Any, dtype: Any, out: Any, first: Any) -> Any:
    x = as_array(x)
    n = ndim_of(x)
    if axis is None:
        if n != 1:
            raise ValueError(f"np.{name} of an array with {n} axes needs axis=")
        axis = 0
    y = sums(x, axis, dtype)
    if first is not None:
        shape = list(shape_of(x))
        shape[axis] = 1
        y = concatenate([np.full(shape, first, dtype_of(y)), y], axis)
    return y


@implements(np.cumulative_sum)
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    """Running sums, after a zero if asked."""
    first = 0.0 if include_initial else None
    return _running("cumulative_sum", cumsum, x, axis, dtype, out, first)


@implements(np.cumulative_prod)
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    """Running products, after a one if asked."""
    first = 1.0 if include_initial else None
    return _running("cumulative_prod", cumprod, x, axis, dtype, out, first)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """The largest entry minus the smallest."""
    a = as_array(a)
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


# ------------------------------------------------------------------------ variance and spread


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The mean square of the deviations from the mean."""
    a = as_array(a)
    shape = shape_of(a)
    where = value_of(lift(where))
    if dtype is not None:
        a = astype(a, dtype)
    if where is not True:
        a = np.where(where, a, 0.0)
    if mean is None:
        mean = _mean(a, axis, keepdims=True, where=where)
    deviation = a - lift(mean)
    squared = squared_size(deviation)
    if where is not True:
        squared = np.where(where, squared, 0.0)
    freedom = counted(shape, axis, where, keepdims) - (ddof if correction is None else correction)
    freedom = freedom * (freedom > 0)
    return over_count(sum(squared, axis, keepdims=keepdims), freedom)


_mean = mean


def squared_size(x: Any) -> Any:
    """The square of a real number, the squared modulus of a complex one."""
    if np.iscomplexobj(value_of(x)):
        return np.square(np.real(x)) + np.square(np.imag(x))
    return np.square(x)


def root(x: Any) -> Any:
    """The square root of a sum of squares: a norm, whose slope at 0 is 0, to all orders."""
    flat = value_of(x) == 0
    if not np.any(flat):
        return np.sqrt(x)
    y = np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, x)))
    if isinstance(y, Number) and y.transparent:
        y._square = x  # type: ignore[attr-defined]  # which is smooth: see roots.py
    return y


@implements(np.std)
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The root of the variance; where all entries are equal its slope is 0."""
    y = var(
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )  # fmt: skip
    return root(y)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The mean with weights, which may be differentiated too."""
    a = as_array(a)
    shape = shape_of(a)
    if weights is None:
        y = mean(a, axis, keepdims=keepdims)
        total: Any = np.full(shape_of(y), float(counted(shape, axis, True, keepdims)))
    else:
        weights = spread(as_array(weights), shape, axis)
        total = sum(weights, axis, keepdims=keepdims)
        if np.any(value_of(total) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        y = sum(a * weights, axis, keepdims=keepdims) / total
    if not returned:
        return y
    return y, broadcast_to(total, shape_of(y)) if shape_of(total) else total


def spread(weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Weights in the shape of what they weigh: they may be given for the axes alone."""
    have = shape_of(weights)
    if have == shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = tuple(a + len(shape) for a in axes_from_end(axis, len(shape)))
    if have != tuple(shape[i] for i in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along its axes.")
    weights = transpose(weights, tuple(np.argsort(axes).tolist()))
    return broadcast_to(
        reshape(weights, tuple(s if i in axes else 1 for i, s in enumerate(shape))), shape
    )


# ---------------------------------------------------------------------- leaving NaN out


def _without(a: Any, instead: Any) -> tuple[Any, Any]:
    """a with its NaNs replaced, and where they are not."""
    a = as_array(a)
    there = ~np.isnan(value_of(a))
    return (a if np.all(there) else np.where(there, a, instead)), there


def _and(mask: Any, there: Any) -> Any:
    return there if mask is True else there & mask


@implements(np.nansum)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """The sum of what is not NaN."""
    a, _ = _without(a, 0.0)
    return sum(a, axis, dtype, None, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """The product of what is not NaN."""
    a, _ = _without(a, 1.0)
    return prod(a, axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums, NaN counting as 0."""
    return cumsum(_without(a, 0.0)[0], axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products, NaN counting as 1."""
    return cumprod(_without(a, 1.0)[0], axis, dtype, out)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean of what is not NaN."""
    a, there = _without(a, 0.0)
    y = mean(a, axis, dtype, None, keepdims, where=_and(where, there))
    return y


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance of what is not NaN."""
    a, there = _without(a, 0.0)
    return var(
        a, axis, dtype, out, ddof, keepdims,
        where=_and(where, there), mean=mean, correction=correction,
    )  # fmt: skip


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The root of the variance of what is not NaN."""
    a, there = _without(a, 0.0)
    return std(
        a, axis, dtype, out, ddof, keepdims,
        where=_and(where, there), mean=mean, correction=correction,
    )  # fmt: skip


def _nan_extreme(
    name: str, extreme: Any, worst: float, a: Any, axis: Any, out: Any, keepdims: Any,
    initial: Any, where: Any,
) -> Any:  # fmt: skip
    a, there = _without(a, worst)
    if where is not True:
        initial = worst if initial is None else initial
    y = extreme(a, axis, None, keepdims, initial, where)
    missing = ~np.any(_and(where, there), axis=axis, keepdims=bool(keepdims))
    if initial is None and np.any(missing):
        y = np.where(missing, np.nan, y)
    return y


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The largest entry that is not NaN; ties share the slope."""
    return _nan_extreme("nanmax", max, -np.inf, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The smallest entry that is not NaN; ties share the slope."""
    return _nan_extreme("nanmin", min, np.inf, a, axis, out, keepdims, initial, where)


__all__ = [
    "accumulate_pairs", "average", "cumprod", "cumulative_prod", "cumulative_sum",
    "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar", "prod", "ptp", "reduce_pairs", "std", "var",
]  # fmt: skip
