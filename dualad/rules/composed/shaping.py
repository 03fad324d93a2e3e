"""Shapes and axes: functions that show the same entries in another arrangement.

What NumPy gives as a view is one here too (assignment to it reaches the array it shows):
it is written with reshape, transpose and slices.  The others are gathers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of
from dualad.rules.composed.gathering import moved, moved_among_zeros
from dualad.rules.lifting import as_array, existing
from dualad.rules.linear import (
    axes_from_end,
    broadcast_to,
    from_end,
    getitem,
    ndim_of,
    reshape,
    transpose,
    where,
)
from dualad.rules.linear import sum as total


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    a = as_array(a)
    order = list(range(ndim_of(a)))
    axis1, axis2 = (from_end(int(axis), len(order)) for axis in (axis1, axis2))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@implements(*existing("matrix_transpose"), *existing("matrix_transpose", module=np.linalg))
def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes."""
    if ndim_of(as_array(x)) < 2:
        raise ValueError("a matrix transpose needs at least two axes")
    return swapaxes(x, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places; the others keep their order."""
    a = as_array(a)
    return transpose(a, _order(np.moveaxis, ndim_of(a), source, destination))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis back until it stands before another."""
    a = as_array(a)
    return transpose(a, _order(np.rollaxis, ndim_of(a), axis, start))


def _order(function: Any, ndim: int, *args: Any) -> tuple[int, ...]:
    """The permutation that a function of axes makes: read off an array of shape (0, 1, 2, ...)."""
    shape: tuple[int, ...] = function(np.empty(tuple(range(ndim))), *args).shape
    return shape


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Drop axes of length one."""
    a = as_array(a)
    shape = shape_of(a)
    n = len(shape)
    drop = (
        {i for i, s in enumerate(shape) if s == 1}
        if axis is None
        else {i + n for i in axes_from_end(axis, n)}
    )
    if any(shape[i] != 1 for i in drop):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, tuple(s for i, s in enumerate(shape) if i not in drop))


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """The entries in one axis."""
    return reshape(as_array(a), (-1,), "F" if order == "F" else "C")


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    """Each array with one axis at least."""
    return _each(lambda x: x if ndim_of(x) else reshape(x, (1,)), arys)


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    """Each array with two axes at least: new ones in front."""
    return _each(
        lambda x: x if ndim_of(x) >= 2 else reshape(x, (1,) * (2 - ndim_of(x)) + shape_of(x)), arys
    )


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    """Each array with three axes at least: a vector becomes (1, n, 1), a matrix (m, n, 1)."""

    def raised(x: Any) -> Any:
        shape = shape_of(x)
        front = (1,) * (len(shape) < 2)
        return x if len(shape) > 2 else reshape(x, (front + shape + (1, 1))[:3])

    return _each(raised, arys)


def _each(function: Any, arrays: tuple[Any, ...]) -> Any:
    out = tuple(function(as_array(x)) for x in arrays)
    return out[0] if len(out) == 1 else out


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """All arrays in their common shape."""
    xs = [as_array(x) for x in args]
    shape = np.broadcast_shapes(*map(shape_of, xs))
    return tuple(broadcast_to(x, shape) for x in xs)


# ------------------------------------------------------------------- reversals and rotations


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order along axes."""
    m = as_array(m)
    axes = axes_from_end(axis, ndim_of(m))
    n = ndim_of(m)
    return getitem(m, tuple(slice(None, None, -1 if i - n in axes else None) for i in range(n)))


@implements(np.flipud)
def flipud(m: Any) -> Any:
    """Reverse the first axis."""
    return flip(m, 0)


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    """Reverse the second axis."""
    return flip(m, 1)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Rotate a quarter turn k times, in the plane of two axes."""
    m = as_array(m)
    first, second = axes_from_end(tuple(axes), ndim_of(m))
    quarters = k % 4
    if quarters == 2:
        return flip(m, (first, second))
    if quarters == 1:
        return swapaxes(flip(m, second), first, second)
    if quarters == 3:
        return flip(swapaxes(m, first, second), second)
    return getitem(m, (slice(None),) * ndim_of(m))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Shift entries along axes; what leaves at one end comes in at the other."""
    return moved(np.roll, a, shift, axis)


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each entry several times."""
    return moved(np.repeat, a, repeats, axis)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """All windows of that shape."""
    return moved(np.lib.stride_tricks.sliding_window_view, x, window_shape, axis)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """The array several times along each axis."""
    return moved(np.tile, A, reps)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Another shape and size: the entries start again when they have run out."""
    a = as_array(a)
    return moved(np.resize, a, new_shape) if np.prod(shape_of(a)) else np.resize(a, new_shape)


# ----------------------------------------------------------------- triangles and diagonals


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """The lower triangle."""
    m = as_array(m)
    return where(_below(m, k), m, 0)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """The upper triangle."""
    m = as_array(m)
    return where(_below(m, k - 1), 0, m)


def _below(m: Any, k: int) -> Any:
    """The places on and below a diagonal of the last two axes."""
    tri: Any = np.tri
    return tri(*shape_of(m)[-2:], k=k, dtype=bool)


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The entries whose places along two axes differ by the offset."""
    return moved(np.diagonal, a, offset, axis1, axis2)


@implements(*existing("diagonal", module=np.linalg))
def _matrix_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the diagonal matrix of a vector."""
    v = as_array(v)
    if ndim_of(v) == 2:
        return diagonal(v, k)
    return moved_among_zeros(np.diag, v, k)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """The diagonal matrix of all entries."""
    return moved_among_zeros(np.diagflat, v, k)


@implements(np.trace)
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum of a diagonal."""
    return total(diagonal(a, offset, axis1, axis2), -1, dtype)


@implements(*existing("trace", module=np.linalg))
def _matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


implements(*existing("permute_dims"))(transpose)

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "diag", "diagflat", "diagonal",
    "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "ravel", "repeat", "resize", "roll",
    "rollaxis", "rot90", "sliding_window_view", "squeeze", "swapaxes", "tile", "trace", "tril",
    "triu",
]  # fmt: skip
