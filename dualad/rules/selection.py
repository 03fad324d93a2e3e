"""Selections: rows that pick among entries by looking at the primal.

What is picked is decided once, on plain values; tangents are then gathered and cotangents
scattered by a linear row.  Ties share: each of m equal maxima takes 1/m of the slope.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualad.primitive import Linear, Number, Selection, implements, shape_of, value_of
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import (
    axes_from_end,
    broadcast_to,
    expand_dims,
    from_end,
    ndim_of,
    reshape,
    where,
)

Shape = tuple[int, ...]


# ------------------------------------------------------------------- maxima and their shares


def _share(t: Any, *, weights: Any, axes: Shape, keepdims: Any) -> Any:
    return np.add.reduce(weights * t, axis=axes, keepdims=keepdims)


def _share_transpose(
    ct: Any, i: int, shapes: Any, *, weights: Any, axes: Shape, keepdims: bool
) -> Any:
    if not keepdims:
        ct = expand_dims(ct, axes)
    return broadcast_to(ct, shapes[0]) * weights


share_row = Linear(
    "share",
    _share,
    _share_transpose,
    samples=(
        (
            ((2, 3),),
            {"weights": np.array([[0, 1, 0], [0.5, 0, 0.5]]), "axes": (-1,), "keepdims": False},
        ),
    ),
)


def _choose_extreme(value: Any, y: Any, *, axes: Shape, keepdims: bool) -> dict[str, Any]:
    top = y if keepdims else np.expand_dims(y, axes)
    chosen = value == top
    # What is rare is looked for first, unless the value is traced: there a look is a guard.
    traced = isinstance(value, Number)
    if traced or np.any(top != top):
        # A NaN is the maximum of what holds it, and NaNs share as equal entries do.
        chosen = chosen | ((value != value) & (top != top))
    count = np.add.reduce(chosen, axis=axes, keepdims=True)
    weights = chosen / count if traced or np.any(count != 1) else np.asarray(chosen)
    if weights.dtype != dtype_of(value):
        weights = weights.astype(dtype_of(value))
    return {"weights": weights, "axes": axes, "keepdims": keepdims}


_max_row, _min_row = (
    Selection(
        name,
        lambda x, *, axes, keepdims, reduce=ufunc.reduce: reduce(x, axis=axes, keepdims=keepdims),
        _choose_extreme,
        share_row,
        samples=(
            (((2, 3),), {"axes": (-1,), "keepdims": False}),
            (((2, 3, 2),), {"axes": (-3, -1), "keepdims": True}),
        ),
    )
    for name, ufunc in (("max", np.maximum), ("min", np.minimum))
)


def _extreme(
    row: Selection, pair: Any, a: Any, axis: Any, keepdims: Any, initial: Any, mask: Any
) -> Any:
    a = as_array(a)
    if mask is not True:
        if initial is None:
            raise ValueError(f"np.{row.name} with where= needs initial=, as in NumPy")
        a = where(mask, a, initial)
    y = row(a, axes=axes_from_end(axis, ndim_of(a)), keepdims=bool(keepdims))
    return y if initial is None else pair(y, initial)


def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The largest entry along axes; ties share the slope."""
    return _extreme(_max_row, np.maximum, a, axis, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """The smallest entry along axes; ties share the slope."""
    return _extreme(_min_row, np.minimum, a, axis, keepdims, initial, where)


# ------------------------------------------------------------------------ gathers by index


def _along(t: Any, *, index: Any, axis: int) -> Any:
    lead = shape_of(t)[: ndim_of(t) - index.ndim]
    return np.take_along_axis(t, np.broadcast_to(index, lead + index.shape), axis=axis)


def _along_transpose(ct: Any, i: int, shapes: Any, *, index: Any, axis: int) -> Any:
    return put_along_row(ct, index=index, axis=axis, length=shapes[0][axis])


def _put_along(ct: Any, *, index: Any, axis: int, length: int) -> Any:
    shape = list(shape_of(ct))
    shape[axis] = length
    out = np.zeros(shape, dtype=ct.dtype)
    index = np.broadcast_to(index, shape_of(ct))
    places: list[Any] = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[axis] = index
    np.add.at(out, tuple(places), ct)
    return out


along_row = Linear(
    "take_along_axis",
    _along,
    _along_transpose,
    samples=((((2, 3),), {"index": np.array([[2, 0], [1, 1]]), "axis": -1}),),
)
put_along_row = Linear(
    "put_along_axis",
    _put_along,
    lambda ct, i, shapes, *, index, axis, length: along_row(ct, index=index, axis=axis),
    samples=((((2, 2),), {"index": np.array([[2, 0], [1, 1]]), "axis": -1, "length": 3}),),
)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Entries at an index array along an axis."""
    arr, indices = as_array(arr), np.asarray(indices)
    if axis is None:
        arr, axis = reshape(arr, (-1,)), 0
    axis = from_end(axis, ndim_of(arr))
    shape = list(shape_of(arr))
    shape[axis] = indices.shape[axis]
    indices = np.broadcast_to(indices, np.broadcast_shapes(tuple(shape), indices.shape))
    return along_row(arr, index=indices % shape_of(arr)[axis], axis=axis)


# ------------------------------------------------------------------------------ sorting


def _mean_over_runs(t: Any, starts: Any, axis: int, ndim: int) -> Any:
    """Each entry replaced by the mean of its run; ``starts`` count through lane after lane."""
    t = np.moveaxis(t, axis, -1)
    shape = shape_of(t)
    lead = shape[: len(shape) - ndim]
    flat = np.reshape(t, (*lead, math.prod(shape[len(lead) :])))
    lengths = np.diff(starts, append=flat.shape[-1])
    means = np.add.reduceat(flat, starts, axis=-1) / lengths
    return np.moveaxis(np.reshape(np.repeat(means, lengths, axis=-1), shape), -1, axis)


def _ordered(t: Any, *, index: Any, starts: Any, axis: int) -> Any:
    t = _along(t, index=index, axis=axis)
    return t if starts is None else _mean_over_runs(t, starts, axis, index.ndim)


def _ordered_transpose(ct: Any, i: int, shapes: Any, *, index: Any, starts: Any, axis: int) -> Any:
    if starts is not None:
        ct = _runs_row(ct, starts=starts, axis=axis, ndim=index.ndim)
    return put_along_row(ct, index=index, axis=axis, length=shapes[0][axis])


_RUNS: dict[str, Any] = {"starts": np.array([0, 1, 3]), "axis": -1}

# The mean over runs is symmetric: its own transpose.
_runs_row: Linear = Linear(
    "mean_over_runs",
    lambda t, *, starts, axis, ndim: _mean_over_runs(t, starts, axis, ndim),
    lambda ct, i, shapes, *, starts, axis, ndim: _runs_row(ct, starts=starts, axis=axis, ndim=ndim),
    samples=((((2, 3),), {**_RUNS, "ndim": 2}),),
)

_ordered_row = Linear(
    "ordered",
    _ordered,
    _ordered_transpose,
    samples=((((2, 3),), {**_RUNS, "index": np.array([[1, 2, 0], [2, 1, 0]])}),),
)


def _choose_order(value: Any, y: Any, *, axis: int) -> dict[str, Any]:
    index = np.argsort(value, axis=axis, kind="stable")
    lanes = np.moveaxis(y, axis, -1)
    again = lanes[..., 1:] == lanes[..., :-1]
    starts = None
    if np.any(again):
        first = np.ones((*shape_of(lanes)[:-1], 1), dtype=bool)
        starts = np.flatnonzero(np.concatenate([first, ~again], axis=-1))
    return {"index": index, "starts": starts, "axis": axis}


_sort_row = Selection(
    "sort",
    lambda x, *, axis: np.sort(x, axis=axis, kind="stable"),
    _choose_order,
    _ordered_row,
    samples=((((3, 4),), {"axis": -1}), (((3, 4),), {"axis": -2})),
)


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Entries in ascending order along an axis; equal ones share the slopes."""
    a = as_array(a)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return _sort_row(a, axis=from_end(axis, ndim_of(a)))


def partition(
    a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """The kth entry in its place, smaller ones before it and larger ones behind."""
    a = as_array(a)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    parted = np.partition(value_of(a), kth, axis)
    ranks = np.argsort(np.argsort(parted, axis, kind="stable"), axis)
    return take_along_axis(sort(a, axis), ranks, axis)


for _functions, _answer in (
    ((np.max, np.amax), max), ((np.min, np.amin), min), ((np.take_along_axis,), take_along_axis),
    ((np.sort,), sort), ((np.partition,), partition),
):  # fmt: skip
    implements(*_functions)(_answer)
