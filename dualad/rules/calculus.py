"""Differences, slopes, integrals and interpolation of sampled functions.

All are compositions.  Where NumPy takes a shortcut by looking at values (coordinates that
happen to be equally spaced), the general formula is used, since the shortcut's slope in
those values would be another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of, value_of
from dualad.rules.lifting import as_array, dtype_of, existing, lift
from dualad.rules.linear import (
    axes_from_end,
    broadcast_to,
    concatenate,
    from_end,
    getitem,
    ndim_of,
    reshape,
)
from dualad.rules.linear import sum as sum_over
from dualad.rules.reductions import along


def _neighbours(a: Any, axis: int) -> tuple[Any, Any]:
    return along(a, axis, slice(None, -1)), along(a, axis, slice(1, None))


# ------------------------------------------------------------------------------ differences


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, n times over."""
    a = as_array(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0:
        return a
    axis = from_end(axis, ndim_of(a))
    before, after = (_end(ends, a, axis) for ends in (prepend, append))
    if before or after:
        a = concatenate([*before, a, *after], axis)
    for _ in range(n):
        left, right = _neighbours(a, axis)
        a = right - left
    return a


def _end(values: Any, a: Any, axis: int) -> list[Any]:
    """What is put before or behind a: a number stands for one entry along the axis."""
    if values is None or values is np._NoValue:
        return []
    values = as_array(values)
    if shape_of(values):
        return [values]
    shape = list(shape_of(a))
    shape[axis] = 1
    return [broadcast_to(values, tuple(shape))]


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of the flattened array, with something before and behind."""
    ary = reshape(as_array(ary), (-1,))
    parts = [ary[1:] - ary[:-1]]
    if to_begin is not None:
        parts.insert(0, reshape(as_array(to_begin), (-1,)))
    if to_end is not None:
        parts.append(reshape(as_array(to_end), (-1,)))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Jumps between neighbours made small by whole periods."""
    p, period = as_array(p), as_array(period)
    plain = np.unwrap(value_of(p), value_of(lift(discont)), axis, period=value_of(period))
    turns = np.rint((plain - value_of(p)) / value_of(period))
    return p + turns * period


# ------------------------------------------------------------------------- slopes, integrals


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes by differences that are central inside; also differentiated in the spacings."""
    f = as_array(f)
    n = ndim_of(f)
    axes = axes_from_end(axis, n)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) > 1 and len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    spacings = list(varargs or (1.0,)) * (len(axes) if len(varargs) < 2 else 1)
    slopes = [
        _slope(f, as_array(spacing), at, edge_order)
        for spacing, at in zip(spacings, axes, strict=True)
    ]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _slope(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    length = shape_of(f)[axis]
    if length < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )

    def at(i: Any) -> Any:
        return along(f, axis, i)

    steps: Any = None
    if shape_of(spacing):
        if shape_of(spacing) != (length,):
            raise ValueError("when 1d, distances must match the length of their dimension")
        steps = reshape(spacing[1:] - spacing[:-1], (-1,) + (1,) * (-1 - axis))

    def step(i: int) -> Any:
        """The width of interval i, as one entry along the axis."""
        return spacing if steps is None else along(steps, axis, slice(i, i + 1 or None))

    def one(i: int) -> Any:
        return at(slice(i, i + 1 or None))

    if steps is None:
        inside = (at(slice(2, None)) - at(slice(None, -2))) / (2.0 * spacing)
    else:
        left, right = _neighbours(steps, axis)
        both = left + right
        inside = (
            -right / (left * both) * at(slice(None, -2))
            + (right - left) / (left * right) * at(slice(1, -1))
            + left / (right * both) * at(slice(2, None))
        )
    if edge_order == 1:
        first = (one(1) - one(0)) / step(0)
        last = (one(-1) - one(-2)) / step(-1)
    else:
        first = _edge(one(0), one(1), one(2), step(0), step(1))
        last = -_edge(one(-1), one(-2), one(-3), step(-1), step(-2))
    return concatenate([first, inside, last], axis)


def _edge(f0: Any, f1: Any, f2: Any, near: Any, far: Any) -> Any:
    """The slope at f0 of the parabola through three values, given the two steps between them."""
    both = near + far
    return (
        -(2.0 * near + far) / (near * both) * f0
        + both / (near * far) * f1
        - near / (far * both) * f2
    )


@implements(*existing("trapezoid", "trapz"))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of the piecewise linear function through samples."""
    y = as_array(y)
    axis = from_end(axis, ndim_of(y))
    left, right = _neighbours(y, axis)
    widths = as_array(dx)
    if x is not None:
        x = as_array(x)
        if ndim_of(x) == 1:
            widths = reshape(x[1:] - x[:-1], (-1,) + (1,) * (-1 - axis))
        else:
            start, stop = _neighbours(x, axis)
            widths = stop - start
    return sum_over(widths * (left + right) / 2.0, axis)


# ------------------------------------------------------------------------------ interpolation


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Piecewise linear interpolation, differentiated in the point, the places and the values.

    At a place itself the slope is the smaller of those beside it, and 0 between two of
    different sign.
    """
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if "c" in (dtype_of(x).kind, dtype_of(xp).kind):
        raise TypeError("np.interp is between real places; only fp may be complex")
    if period is not None:
        return _periodic(x, xp, fp, as_array(period))
    n = shape_of(xp)[0]
    left = getitem(fp, 0) if left is None else as_array(left)
    right = getitem(fp, n - 1) if right is None else as_array(right)
    at, places = value_of(x), value_of(xp)
    if n == 1:
        y = broadcast_to(getitem(fp, 0), shape_of(x))
    else:
        segment, flat = _segments(at, places, value_of(fp))
        x0, x1 = getitem(xp, segment), getitem(xp, segment + 1)
        f0, f1 = getitem(fp, segment), getitem(fp, segment + 1)
        width = x1 - x0
        # What is not selected must not divide by zero on the way.
        unused = (value_of(width) == 0) | (at < places[0]) | (at > places[-1])
        if np.any(unused):
            width = np.where(unused, 1.0, width)
        y = f0 + (f1 - f0) * ((x - x0) / width)
        if np.any(flat):
            y = np.where(flat, getitem(fp, segment + (at != places[segment])), y)
    if np.any(at < places[0]):
        y = np.where(at < places[0], left, y)
    if np.any(at > places[-1]):
        y = np.where(at > places[-1], right, y)
    return y


def _segments(at: Any, places: Any, values: Any) -> tuple[Any, Any]:
    """The segment that each point is in, and where its slope is to be 0.

    A point on a place is in two segments: the one with the smaller slope counts, or none
    if the slopes differ in sign.  Before the first place and behind the last it is flat.
    """
    last = shape_of(places)[0] - 1
    widths = places[1:] - places[:-1]
    inner = np.diff(values) / np.where(widths == 0, 1.0, widths)
    slopes = np.concatenate([[0.0], np.where(widths == 0, 0.0, inner), [0.0]])
    segment = np.clip(np.searchsorted(places, at, "right") - 1, 0, last - 1)
    place = np.clip(np.searchsorted(places, at, "left"), 0, last)
    on_place = at == places[place]
    before, after = slopes[place], slopes[place + 1]
    flat = on_place & (np.real(before * np.conj(after)) <= 0)
    from_left = on_place & ~flat & (np.abs(before) < np.abs(after))
    return np.where(from_left, place - 1, segment), flat


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    if value_of(period) == 0:
        raise ValueError("period must be a non-zero value")
    period = np.abs(period)
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = np.argsort(value_of(xp))
    xp, fp = getitem(xp, order), getitem(fp, order)
    xp = concatenate([xp[-1:] - period, xp, xp[0:1] + period])
    fp = concatenate([fp[-1:], fp, fp[0:1]])
    return interp(x, xp, fp)


__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]
