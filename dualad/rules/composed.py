"""Compositions: functions that need no rule, since they are written with others.

Each has NumPy's signature and answers for NumPy's function of the same name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualad.primitive import Number, implements, shape_of, value_of
from dualad.rules.lifting import as_array
from dualad.rules.linear import (
    astype,
    axes_from_end,
    concatenate,
    expand_dims,
    from_end,
    getitem,
    ndim_of,
    reshape,
    sum,
    transpose,
)


@implements(np.asarray, np.asanyarray, np.array, np.ascontiguousarray)
def asarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """a as an array or a number; a nested list with numbers in it becomes one number."""
    a = as_array(a)
    if dtype is None:
        return a if isinstance(a, Number) else np.asarray(a)
    return astype(a, dtype) if isinstance(a, Number) else np.asarray(a, dtype)


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:  # fmt: skip  # noqa: E501
    """Join along a new axis."""
    xs = [as_array(x) for x in arrays]
    if not xs:
        raise ValueError("need at least one array to stack")
    axis = from_end(axis, ndim_of(xs[0]) + 1)
    xs = [reshape(x, (1,)) if not shape_of(x) else expand_dims(x, axis) for x in xs]
    return concatenate(xs, axis, dtype=dtype)


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean over axes."""
    a = as_array(a)
    shape = shape_of(a)
    if where is True:
        count: Any = math.prod(shape[i] for i in axes_from_end(axis, len(shape)))
    else:
        count = np.sum(np.broadcast_to(where, shape), axis=axis, keepdims=keepdims)
    return sum(a, axis, dtype, out, keepdims, where=where) / count


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    order = list(range(ndim_of(a)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


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


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy: assignment to it does not reach a."""
    return getitem(a, (np.arange(shape_of(a)[0]),)) if shape_of(a) else a


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip  # noqa: E501
    """Zeros in the shape of a: an array of numbers, into which numbers can be assigned."""
    return filled_like(a, 0.0, dtype, shape)


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip  # noqa: E501
    """Ones in the shape of a."""
    return filled_like(a, 1.0, dtype, shape)


def filled_like(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """A constant number of a's system; a plain array where dtype is no float."""
    shape = shape_of(a) if shape is None else tuple(np.atleast_1d(shape).tolist())
    dtype = value_of(a).dtype if dtype is None and shape_of(a) else np.dtype(dtype or np.float64)
    y = np.full(shape, value, dtype)
    return a.constant(y) if dtype.kind in "fc" and shape and isinstance(a, Number) else y  # type: ignore[attr-defined]
