"""Making arrays: conversions, constants shaped like a number, grids.

``zeros_like(x)`` and ``np.zeros(n, like=x)`` give numbers of x's system without slope, so
that numbers can be assigned into them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Number, implements, shape_of, value_of
from dualad.rules.composed.gathering import common_dtype
from dualad.rules.composed.joining import as_number, stack
from dualad.rules.composed.shaping import moveaxis
from dualad.rules.lifting import as_array, dtype_of, existing, plainly
from dualad.rules.linear import (
    astype,
    broadcast_to,
    concatenate,
    expand_dims,
    getitem,
    ndim_of,
    reshape,
    setitem,
)

# --------------------------------------------------------------------------- conversions


@implements(np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require)
def asarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """a as an array or a number; a nested list with numbers in it becomes one number."""
    a = as_array(a)
    if dtype is None:
        return a if isinstance(a, Number) else np.asarray(a)
    return astype(a, dtype) if isinstance(a, Number) else np.asarray(a, dtype)


@implements(np.array)
def array(
    object: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **kwargs: Any
) -> Any:
    """A new array or number."""
    a = asarray(object, dtype)
    a = copied(a) if copy else a
    missing = ndmin - ndim_of(a)
    return a if missing <= 0 else expand_dims(a, tuple(range(missing)))


@implements(np.copy)
def copied(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy: assignment to it does not reach a."""
    a = as_array(a)
    return getitem(a, (np.arange(shape_of(a)[0]),)) if shape_of(a) else a


implements(*existing("astype"))(astype)


# ----------------------------------------------------------- constants in the shape of a


@implements(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip  # noqa: E501
    """Zeros in the shape of a: an array of numbers, into which numbers can be assigned."""
    return filled_like(a, 0.0, dtype, shape)


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip  # noqa: E501
    """Ones in the shape of a."""
    return filled_like(a, 1.0, dtype, shape)


@implements(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Any:  # fmt: skip  # noqa: E501
    """One value, a number or not, in the shape of a."""
    fill_value = as_array(fill_value)
    y = filled_like(a, 0.0, dtype, shape)
    if isinstance(y, Number):
        return astype(broadcast_to(as_number(fill_value, y), shape_of(y)) + y, dtype_of(y))
    if isinstance(fill_value, Number) and y.dtype.kind in "fc":
        return astype(broadcast_to(fill_value, shape_of(y)), dtype_of(y))
    y[...] = value_of(fill_value)
    return y


def filled_like(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """A constant number of a's system; a plain array where dtype is no float."""
    a = as_array(a)
    shape = shape_of(a) if shape is None else tuple(np.atleast_1d(shape).tolist())
    dtype = dtype_of(a) if dtype is None else np.dtype(dtype)
    return constant(np.full(shape, value, dtype), a)


def constant(y: Any, like: Any) -> Any:
    """A plain array as a number of that system without slope, where it can have one."""
    if y.dtype.kind not in "fc" or not y.shape or not isinstance(like, Number):
        return y
    array: Any = like if shape_of(like) else reshape(like, (1,))
    return array.constant(y)


# ------------------------------------------------------------------------------- like=

#: NumPy function -> what makes its array when it is called with like=number, the number first
creations: dict[Any, Callable[..., Any]] = {}


def _creates(function: Callable[..., Any]) -> Callable[..., Any]:
    def create(like: Any, *args: Any, **kwargs: Any) -> Any:
        return constant(function(*args, **kwargs), like)

    return create


for _function in existing("zeros", "ones", "empty", "arange", "eye", "identity", "tri", "fromiter"):
    creations[_function] = _creates(_function)


def _full(
    like: Any, shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any
) -> Any:
    fill_value = as_array(fill_value)
    if not isinstance(fill_value, Number):
        return constant(np.full(shape, fill_value, dtype), like)
    return full_like(like, fill_value, dtype or dtype_of(fill_value), shape=shape)


def _fromfunction(like: Any, function: Any, shape: Any, **kwargs: Any) -> Any:
    return as_array(np.fromfunction(function, shape, **kwargs))


creations[np.full] = _full
creations[np.fromfunction] = _fromfunction


# -------------------------------------------------------------------------------- ranges


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Equal steps from start to stop."""
    start, stop = as_array(start), as_array(stop)
    num = int(num)
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts > 0 else (stop - start) * np.nan
    ndim = max(ndim_of(start), ndim_of(stop))
    common = common_dtype(start, stop)
    steps = np.arange(num, dtype=common if common.kind in "fc" else float)
    steps = steps.reshape((-1,) + (1,) * ndim)
    y = start + steps * step if parts > 0 else start + steps * (stop - start)
    if endpoint and num > 1:
        last = broadcast_to(astype(as_number(stop, y), dtype_of(y)), shape_of(y)[1:])
        last = reshape(last, (1, *shape_of(y)[1:]))
        y = concatenate([getitem(y, slice(0, -1)), last])
    y = moveaxis(y, 0, axis) if axis else y
    if dtype is not None:
        y = astype(y, dtype)
    return (y, step) if retstep else y


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """Equal steps of the exponent from start to stop."""
    base = as_array(base)
    exponents = linspace(start, stop, num, endpoint, axis=0)
    missing = ndim_of(base) - ndim_of(exponents) + 1
    if ndim_of(base) and missing > 0:
        exponents = reshape(exponents, (-1,) + (1,) * missing + shape_of(exponents)[1:])
    y = np.power(base, exponents)
    y = moveaxis(y, 0, axis) if axis else y
    return y if dtype is None else astype(y, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Equal ratios from start to stop."""
    start, stop = as_array(start), as_array(stop)
    if np.any(value_of(start) == 0) or np.any(value_of(stop) == 0):
        raise ValueError("Geometric sequence cannot include zero")
    shares = linspace(0.0, 1.0, num, endpoint)
    ndim = max(ndim_of(start), ndim_of(stop))
    y = start * np.power(stop / start, shares.reshape((-1,) + (1,) * ndim))
    y = moveaxis(y, 0, axis) if axis else y
    return y if dtype is None else astype(y, dtype)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each entry, in a row."""
    x = as_array(x)
    count = shape_of(x)[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return np.power(expand_dims(x, -1), powers)


# --------------------------------------------------------------------------------- grids


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays of a grid, from the coordinates along each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    axes = list(range(n))
    if indexing == "xy" and n > 1:
        axes[:2] = [1, 0]
    grids = [
        reshape(as_array(x), (1,) * axis + (-1,) + (1,) * (n - 1 - axis))
        for x, axis in zip(xi, axes, strict=True)
    ]
    if sparse:
        return tuple(grids)
    shape = np.broadcast_shapes(*map(shape_of, grids))
    return tuple(broadcast_to(g, shape) for g in grids)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    """An open grid."""
    xs = [np.nonzero(a)[0] if dtype_of(a).kind == "b" else a for a in map(as_array, args)]
    return tuple(
        reshape(x, (1,) * i + (-1,) + (1,) * (len(args) - 1 - i)) for i, x in enumerate(xs)
    )


# ----------------------------------------------------------------- functions on slices


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors on every slice along an axis."""
    arr = moveaxis(as_array(arr), axis, -1)
    outer = shape_of(arr)[:-1]
    results = [as_array(func1d(arr[i], *args, **kwargs)) for i in np.ndindex(*outer)]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    inner = shape_of(results[0])
    y = reshape(stack(results), outer + inner)
    at = axis % (len(outer) + 1)
    return moveaxis(y, range(len(outer), ndim_of(y)), range(at, at + len(inner)))


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """A function of an array and an axis, one axis after the other."""
    y = as_array(a)
    ndim = ndim_of(y)
    for axis in np.atleast_1d(axes).tolist():
        axis = axis % ndim
        reduced = as_array(func(y, axis))
        y = reduced if ndim_of(reduced) == ndim_of(y) else expand_dims(reduced, axis)
        if ndim_of(y) != ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return y


def _flat_mask(condition: Any, shape: tuple[int, ...]) -> Any:
    """A condition for every entry, in one axis."""
    condition = plainly(condition)
    if not shape:
        return np.array([bool(condition)])
    if dtype_of(condition).kind != "b":
        condition = np.not_equal(condition, 0)
    return np.reshape(np.broadcast_to(condition, shape), (-1,))


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """The function whose condition holds, at each entry."""
    x = as_array(x)
    shape = shape_of(x)
    single = not np.ndim(plainly(condlist)) or (shape and not np.ndim(plainly(condlist[0])))
    conditions = [_flat_mask(c, shape) for c in ([condlist] if single else condlist)]
    if len(funclist) == len(conditions) + 1:
        conditions.append(np.logical_not(functools.reduce(np.logical_or, conditions)))
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    flat = reshape(x, (-1,))
    y: Any = np.zeros(shape_of(flat), dtype_of(x))
    for condition, function in zip(conditions, funclist, strict=True):
        (places,) = np.nonzero(condition)
        if callable(function):
            if not places.size:
                continue
            function = function(getitem(flat, (places,)), *args, **kw)
        value = broadcast_to(as_number(function, y), places.shape)
        y = setitem(y, (places,), value)
    return reshape(y, shape)


__all__ = [
    "apply_along_axis", "apply_over_axes", "array", "asarray", "constant", "copied", "creations",
    "filled_like", "full_like", "geomspace", "ix_", "linspace", "logspace", "meshgrid",
    "ones_like", "piecewise", "vander", "zeros_like",
]  # fmt: skip
