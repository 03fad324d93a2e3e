"""Selections: rows that pick among entries by looking at the primal.

What is picked is decided once, on plain values; tangents are then gathered and cotangents
scattered by a linear row.  Ties share: each of m equal maxima takes 1/m of the slope.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import Linear, Selection, implements, shape_of
from dualad.rules.lifting import as_array
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


def _share(t: Any, *, weights: Any, axes: Shape, keepdims: bool) -> Any:
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
        (((2, 3),), {"weights": np.array([[0, 1, 0], [0.5, 0, 0.5]]), "axes": (-1,), "keepdims": False}),
    ),
)


def _choose_extreme(value: Any, y: Any, *, axes: Shape, keepdims: bool) -> dict[str, Any]:
    top = y if keepdims else np.expand_dims(y, axes)
    # A NaN is the maximum of what holds it, and NaNs share as equal entries do.
    chosen = (value == top) | ((value != value) & (top != top))
    weights = chosen / np.add.reduce(chosen, axis=axes, keepdims=True)
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


def _extreme(row: Selection, pair: Any, a: Any, axis: Any, keepdims: Any, initial: Any, mask: Any) -> Any:  # fmt: skip
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
    return _put_along_row(ct, index=index, axis=axis, length=shapes[0][axis])


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
_put_along_row = Linear(
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


_sort_row = Selection(
    "sort",
    lambda x, *, axis: np.sort(x, axis=axis, kind="stable"),
    lambda value, y, *, axis: {
        "index": np.argsort(value, axis=axis, kind="stable"), "axis": axis
    },
    along_row,
    samples=((((3, 4),), {"axis": -1}), (((3, 4),), {"axis": -2})),
)  # fmt: skip


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Entries in ascending order along an axis."""
    a = as_array(a)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return _sort_row(a, axis=from_end(axis, ndim_of(a)))


for _functions, _answer in (
    ((np.max, np.amax), max), ((np.min, np.amin), min), ((np.take_along_axis,), take_along_axis),
    ((np.sort,), sort),
):  # fmt: skip
    implements(*_functions)(_answer)
