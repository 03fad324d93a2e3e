"""Joining arrays, taking them apart, and adding to their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import (
    NotDifferentiableError,
    Number,
    implements,
    shape_of,
    value_of,
)
from dualad.rules.composed.gathering import drawn, gathered, moved, numbered
from dualad.rules.composed.shaping import atleast_1d, atleast_2d, atleast_3d, moveaxis
from dualad.rules.lifting import as_array, dtype_of, existing
from dualad.rules.linear import (
    astype,
    axes_from_end,
    concatenate,
    expand_dims,
    from_end,
    getitem,
    ndim_of,
    reshape,
    transpose,
)

# ------------------------------------------------------------------------------- joining


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:  # fmt: skip  # noqa: E501
    """Join along a new axis."""
    xs = [as_array(x) for x in arrays]
    if not xs:
        raise ValueError("need at least one array to stack")
    if len({shape_of(x) for x in xs}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = from_end(axis, ndim_of(xs[0]) + 1)
    xs = [reshape(x, (1,)) if not shape_of(x) else expand_dims(x, axis) for x in xs]
    return concatenate(xs, axis, dtype=dtype)


@implements(*existing("vstack", "row_stack"))
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join along the first axis; a vector is a row."""
    return concatenate([atleast_2d(x) for x in tup], 0, dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join along the second axis, or the first of vectors."""
    xs = [atleast_1d(x) for x in tup]
    return concatenate(xs, 0 if ndim_of(xs[0]) == 1 else 1, dtype=dtype)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    """Join along the third axis."""
    return concatenate([atleast_3d(x) for x in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Join along the second axis; a vector is a column."""
    return concatenate([
        x if ndim_of(x) > 1 else transpose(atleast_2d(x)) for x in map(as_array, tup)
    ], 1)  # fmt: skip


@implements(np.block)
def block(arrays: Any) -> Any:
    """Join nested lists of blocks, the innermost along the last axis."""
    sources: list[Any] = []

    def skeleton(x: Any) -> Any:
        if isinstance(x, list):
            return [skeleton(e) for e in x]
        sources.append(x)
        return len(sources) - 1

    def filled(x: Any, places: tuple[Any, ...]) -> Any:
        return [filled(e, places) for e in x] if isinstance(x, list) else places[x]

    layout = skeleton(arrays)
    return drawn(lambda *places: np.block(filled(layout, places)), *sources)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values after the end (of the flattened array by default)."""
    return concatenate([arr, values], axis)


# -------------------------------------------------------------------------- taking apart


def _pieces(function: Any, ary: Any, *args: Any) -> list[Any]:
    """The pieces of a function that splits: slices, so that they are views."""
    ary = as_array(ary)
    shape = shape_of(ary)
    out = []
    for places in function(numbered(shape), *args):
        if not places.size:  # what is empty is no slice of any place
            out.append(gathered(reshape(ary, (-1,)), places))
            continue
        first = np.unravel_index(places.ravel()[0], shape)
        index = tuple(slice(int(i), int(i) + n) for i, n in zip(first, places.shape, strict=True))
        out.append(getitem(ary, index))
    return out


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Pieces along an axis."""
    return _pieces(np.split, ary, indices_or_sections, axis)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Pieces along an axis, as equal as can be."""
    return _pieces(np.array_split, ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the second axis, or the first of a vector."""
    return _pieces(np.hsplit, ary, indices_or_sections)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the first axis."""
    return _pieces(np.vsplit, ary, indices_or_sections)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Pieces along the third axis."""
    return _pieces(np.dsplit, ary, indices_or_sections)


@implements(*existing("unstack"))
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    x = as_array(x)
    if not ndim_of(x):
        raise ValueError("Input array must be at least 1-d.")
    return tuple(moveaxis(x, axis, 0))


# ------------------------------------------------------------------- adding and leaving out


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Values before given places."""
    arr = as_array(arr)
    values = astype(as_number(values, arr), dtype_of(arr))
    return drawn(lambda a, v: np.insert(a, obj, v, axis), arr, values)


def as_number(x: Any, like: Any) -> Any:
    """x ready to be written into an array like that one."""
    x = as_array(x)
    return x if isinstance(x, Number) else np.asarray(x)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without the entries at given places."""
    return moved(np.delete, arr, obj, axis)


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """More entries at the ends of each axis."""
    a = as_array(array)
    if mode == "constant":
        values = kwargs.pop("constant_values", 0)
        _no_more(kwargs, mode)
        values = astype(as_number(values, a), dtype_of(a))
        return drawn(lambda n, c: np.pad(n, pad_width, constant_values=c), a, values)
    if mode == "empty":  # entries that nobody may read
        return drawn(lambda n, c: np.pad(n, pad_width, constant_values=c), a, 0)
    if mode in ("edge", "wrap") or (
        mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "even"
    ):
        return moved(np.pad, a, pad_width, mode, **kwargs)
    widths = np.broadcast_to(np.asarray(_pairs(pad_width, ndim_of(a))), (ndim_of(a), 2)).tolist()
    if mode == "linear_ramp":
        return _ramped(a, widths, **kwargs)
    if mode in ("maximum", "mean", "median", "minimum"):
        return _continued(a, widths, mode, **kwargs)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type") == "odd":
        return _mirrored(a, widths, mode)
    raise NotDifferentiableError(
        f"np.pad with mode={mode!r} and {kwargs or 'no options'} has no rule; "
        "write it with np.concatenate"
    )


def _no_more(kwargs: dict[str, Any], mode: str) -> None:
    if kwargs:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {set(kwargs)}")


def _pairs(widths: Any, ndim: int) -> Any:
    """NumPy's ways to say how much goes before and after along each axis."""
    if isinstance(widths, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in widths.items():
            pairs[axis] = width if isinstance(width, (tuple, list)) else (width, width)
        return pairs
    return widths


def _along(a: Any, axis: int, index: slice) -> Any:
    return getitem(a, (slice(None),) * axis + (index,))


def _ramped(a: Any, widths: Any, end_values: Any = 0) -> Any:
    ends = np.broadcast_to(np.asarray(end_values, dtype_of(a)), (ndim_of(a), 2))
    for axis, (before, after) in enumerate(widths):
        column = (-1,) + (1,) * (ndim_of(a) - 1 - axis)
        first, last = _along(a, axis, slice(0, 1)), _along(a, axis, slice(-1, None))
        up = (np.arange(before, dtype=dtype_of(a)) / max(before, 1)).reshape(column)
        down = (np.arange(after, dtype=dtype_of(a)) / max(after, 1))[::-1].reshape(column)
        a = concatenate([
            ends[axis, 0] * (1 - up) + first * up, a, ends[axis, 1] * (1 - down) + last * down
        ], axis)  # fmt: skip
    return a


def _mirrored(a: Any, widths: Any, mode: Any) -> Any:
    """An odd reflection is linear along each axis: what it makes of the unit vectors says all."""
    for axis, width in enumerate(widths):
        if any(width):
            unit = np.eye(shape_of(a)[axis], dtype=dtype_of(a))
            matrix = np.pad(unit, (width, (0, 0)), mode, reflect_type="odd")
            a = moveaxis(np.tensordot(matrix, a, (1, axis)), 0, axis)
    return a


def _continued(a: Any, widths: Any, mode: str, stat_length: Any = None) -> Any:
    statistic: Any = {
        "maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min
    }[mode]  # fmt: skip
    lengths = np.broadcast_to(
        np.asarray(max(shape_of(a)) if stat_length is None else stat_length), (ndim_of(a), 2)
    ).tolist()
    for axis, (before, after) in enumerate(widths):
        n = shape_of(a)[axis]
        from_left, from_right = (min(n, length) for length in lengths[axis])
        left = statistic(_along(a, axis, slice(0, from_left)), axis=axis, keepdims=True)
        right = statistic(_along(a, axis, slice(n - from_right, n)), axis=axis, keepdims=True)
        left, right = moved(np.repeat, left, before, axis), moved(np.repeat, right, after, axis)
        a = concatenate([left, a, right], axis)
    return a


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without the zeros at the ends."""
    a = as_array(filt)
    shape = shape_of(a)
    trimmed = axes_from_end(axis, len(shape))
    places = np.argwhere(value_of(a))
    index = []
    for i, n in enumerate(shape):
        start, stop = 0, n
        if i - len(shape) in trimmed:
            along = places[:, i]
            if "f" in trim.lower():
                start = along.min() if along.size else n
            if "b" in trim.lower():
                stop = along.max() + 1 if along.size else 0
        index.append(slice(int(start), int(stop)))
    return getitem(a, tuple(index))


__all__ = [
    "append", "array_split", "block", "column_stack", "delete", "dsplit", "dstack", "hsplit",
    "hstack", "insert", "pad", "split", "stack", "trim_zeros", "unstack", "vsplit", "vstack",
]  # fmt: skip
