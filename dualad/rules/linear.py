"""Linear rows: a function and its transpose.

A linear function is its own derivative: tangents go through the function, cotangents
through its transpose.  Every row is indifferent to leading axes, so that k directions go
through at once: axes are counted from the end, shapes are those of the trailing axes.

What users call (``sum``, ``reshape`` ...) stands beside its row and does no more than
bring NumPy's arguments into that form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualad.primitive import Linear, Number, implements, lead_of, shape_of, value_of
from dualad.rules.lifting import as_array, dtype_of, lift

Shape = tuple[int, ...]


def ndim_of(x: Any) -> int:
    """The number of axes of a float, an array or a number."""
    return len(shape_of(x))


def from_end(axis: int, ndim: int) -> int:
    """An axis counted from the end, so that leading axes do not move it."""
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis - ndim if axis >= 0 else axis


def axes_from_end(axis: Any, ndim: int) -> Shape:
    """One axis, a tuple of them or None (all), counted from the end."""
    if axis is None:
        return tuple(range(-ndim, 0))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = tuple(from_end(int(a), ndim) for a in axes)
    if len(set(out)) != len(out):
        raise ValueError("duplicate value in 'axis'")
    return out


# ------------------------------------------------------------------ sums and their transpose


def _sum_transpose(ct: Any, i: int, shapes: Any, *, axes: Shape, keepdims: bool) -> Any:
    if type(ct) is float:
        return ct  # one float stands for a cotangent that is the same at every entry
    if not keepdims:
        ct = _insert(ct, axes=axes)
    return broadcast_to(ct, shapes[0])


def _sum(x: Any, *, axes: Shape, keepdims: bool) -> Any:
    return np.add.reduce(x, axis=axes, keepdims=keepdims)  # type: ignore[call-overload]


_sum_row = Linear(
    "sum",
    _sum,
    _sum_transpose,
    samples=(
        (((2, 3),), {"axes": (-1,), "keepdims": False}),
        (((2, 3, 2),), {"axes": (-3, -1), "keepdims": True}),
    ),
)


def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """Sum over axes."""
    a = as_array(a)
    if where is not True:
        a = np.where(where, a, 0)
    if dtype is not None:
        a = astype(a, dtype)
    y = _sum_row(
        a, axes=axes_from_end(axis, ndim_of(a)), keepdims=keepdims is True or keepdims == 1
    )
    return y if initial is None else y + initial


_insert = Linear(
    "expand_dims",
    lambda x, *, axes: np.expand_dims(x, axes),
    lambda ct, i, shapes, *, axes: reshape(ct, shapes[0]),
    samples=((((2, 3),), {"axes": (-2,)}),),
)


def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of length one."""
    a = as_array(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return _view(a, _insert, axes=axes_from_end(tuple(axes), ndim_of(a) + len(axes)))


def _broadcast(x: Any, *, shape: Shape, ndim: int) -> Any:
    lead = lead_of(x, ndim)
    if lead and ndim < len(shape):
        x = np.reshape(x, lead + (1,) * (len(shape) - ndim) + shape_of(x)[len(lead) :])
    return np.broadcast_to(x, lead + shape)


def _broadcast_transpose(ct: Any, i: int, shapes: Any, *, shape: Shape, ndim: int) -> Any:
    return unbroadcast(ct, shapes[0], ndim)


_broadcast_row = Linear(
    "broadcast_to",
    _broadcast,
    _broadcast_transpose,
    samples=((((3, 1),), {"shape": (2, 3, 4), "ndim": 2}),),
)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Repeat along missing axes and axes of length one."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if shape_of(array) == shape:
        return array
    if not isinstance(array, Number):
        return np.broadcast_to(array, shape)
    return _broadcast_row(array, shape=shape, ndim=ndim_of(array))


def unbroadcast(ct: Any, shape: Shape, ndim: int) -> Any:
    """Sum a cotangent over the axes along which its argument was broadcast.

    ``shape`` is the shape wanted, whose last ndim axes are the argument's own and whose
    first are the directions'.
    """
    have = shape_of(ct)
    if have == shape:
        return ct
    lead = len(shape) - ndim
    extra = len(have) - len(shape)
    axes = [*range(lead, lead + extra)]
    axes += [
        lead + extra + j for j in range(ndim) if shape[lead + j] == 1 != have[lead + extra + j]
    ]
    if axes:
        ct = _sum_row(ct, axes=tuple(a - len(have) for a in axes), keepdims=False)
    return ct if shape_of(ct) == shape else reshape(ct, shape)


# --------------------------------------------------------------------------- rearrangements


def _reshape(x: Any, *, shape: Shape, ndim: int) -> Any:
    y = np.reshape(x, lead_of(x, ndim) + shape)
    return y if shape else y[()]  # a scalar, not an array without axes


_reshape_row = Linear(
    "reshape",
    _reshape,
    lambda ct, i, shapes, *, shape, ndim: reshape(ct, shapes[0]),
    samples=((((2, 3),), {"shape": (3, 2), "ndim": 2}),),
)


def _resolve(shape: Any, size: int) -> Shape:
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    wanted = tuple(int(s) for s in entries)
    if -1 in wanted:
        known = -math.prod(wanted)
        if known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {wanted}")
        wanted = tuple(size // known if s == -1 else s for s in wanted)
    return wanted


def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Any:
    """The same entries in another shape."""
    if not isinstance(a, Number):
        return np.reshape(a, shape, order=order)  # type: ignore[call-overload]
    target = _resolve(shape, a.size)  # type: ignore[attr-defined]
    if order == "F":
        return transpose(reshape(transpose(a), target[::-1]))
    if order not in ("C", "A"):
        raise ValueError(f"order must be one of 'C', 'F', or 'A' (got {order!r})")
    return _view(a, _reshape_row, shape=target, ndim=ndim_of(a))


def _transpose(x: Any, *, perm: Shape) -> Any:
    lead = ndim_of(x) - len(perm)
    n = lead + len(perm)
    return np.transpose(x, (*range(lead), *(p + n for p in perm)))


def _transpose_transpose(ct: Any, i: int, shapes: Any, *, perm: Shape) -> Any:
    n = len(perm)
    inverse = [0] * n
    for j, p in enumerate(perm):
        inverse[p + n] = j - n
    return _transpose_row(ct, perm=tuple(inverse))


_transpose_row = Linear(
    "transpose",
    _transpose,
    _transpose_transpose,
    samples=((((2, 3, 4),), {"perm": (-1, -3, -2)}),),
)


def transpose(a: Any, axes: Any = None) -> Any:
    """Permute axes; by default reverse them."""
    a = as_array(a)
    n = ndim_of(a)
    perm = tuple(range(-1, -n - 1, -1)) if axes is None else axes_from_end(tuple(axes), n)
    if len(perm) != n:
        raise ValueError("axes don't match array")
    return _view(a, _transpose_row, perm=perm)


# --------------------------------------------------------------------------------- indexing


def _take_index(x: Any, *, index: Any, ndim: int) -> Any:
    lead = x.ndim - ndim
    y = x[(slice(None),) * lead + index] if lead else x[index]
    return y[()] if type(y) is np.ndarray and not y.ndim else y  # x[..., 0] of a vector is a scalar


def _put_index(ct: Any, i: int, shapes: Any, *, index: Any, ndim: int) -> Any:
    if isinstance(ct, Number):
        return _scatter(ct, index=index, shape=shapes[0][len(shapes[0]) - ndim :], out_ndim=-1)
    buffer = np.zeros(shapes[0], dtype=dtype_of(ct))
    _add_at(buffer, ct, index=index, ndim=ndim)
    return buffer


def _add_at(buffer: Any, ct: Any, *, index: Any, ndim: int) -> None:
    """``buffer[index] += ct``, with every repeated entry counted."""
    full = (slice(None),) * (buffer.ndim - ndim) + index
    if (len(index) == 1 and type(index[0]) is slice) or _picks_once(index):
        buffer[full] += ct
    else:
        np.add.at(buffer, full, ct)


def _picks_once(index: tuple[Any, ...]) -> bool:
    """Whether no entry can be picked twice: masks pick once, index arrays may repeat."""
    return not any(isinstance(i, np.ndarray) and i.ndim and i.dtype != bool for i in index)


getitem_row = Linear(
    "getitem",
    _take_index,
    _put_index,
    accumulate=_add_at,
    samples=(
        (((4, 3),), {"index": (slice(1, None, 2),), "ndim": 2}),
        (((4, 3),), {"index": (np.array([0, 2, 0]), slice(None)), "ndim": 2}),
    ),
)


def _scatter_forward(ct: Any, *, index: Any, shape: Shape, out_ndim: int) -> Any:
    lead = shape_of(ct)[: ndim_of(ct) - out_ndim]
    buffer = np.zeros(lead + shape, dtype=dtype_of(ct))
    _add_at(buffer, ct, index=index, ndim=len(shape))
    return buffer


_scatter_row = Linear(
    "scatter",
    _scatter_forward,
    lambda ct, i, shapes, *, index, shape, out_ndim: getitem_row(ct, index=index, ndim=len(shape)),
    samples=((((3, 3),), {"index": (np.array([0, 2, 0]),), "shape": (4, 3), "out_ndim": 2}),),
)


def _scatter(ct: Any, *, index: Any, shape: Shape, out_ndim: int) -> Any:
    if out_ndim < 0:
        # ct.shape = lead + picked: what the index picks is found on a stand-in without memory
        out_ndim = np.broadcast_to(np.empty(()), shape)[index].ndim
    return _scatter_row(ct, index=index, shape=shape, out_ndim=out_ndim)


def _scatter_add(buffer: Any, ct: Any, *, index: Any, ndim: int) -> Any:
    y = np.array(buffer, np.result_type(buffer, ct))
    _add_at(y, ct, index=index, ndim=ndim)
    return y


# One scatter more into what is there: where numbers are scattered, nothing is done in place.
scatter_add = Linear(
    "scatter_add",
    _scatter_add,
    lambda ct, i, shapes, *, index, ndim: getitem_row(ct, index=index, ndim=ndim) if i else ct,
    samples=((((4, 3), (3, 3)), {"index": (np.array([0, 2, 0]),), "ndim": 2}),),
)


def is_basic(index: Shape | tuple[Any, ...]) -> bool:
    """Whether an index of NumPy picks a view: integers, slices, None and Ellipsis."""
    return all(
        i is None or i is Ellipsis or (isinstance(i, (int, slice, np.integer))
        and not isinstance(i, (bool, np.bool_)))
        for i in index
    )  # fmt: skip


def plain_index(index: Any) -> tuple[Any, ...]:
    """An index as a tuple of plain entries: slices, integers, None, Ellipsis, index arrays."""
    entries = index if isinstance(index, tuple) else (index,)
    return tuple(
        i if i is None or i is Ellipsis or type(i) in (int, slice) else _plain_entry(i)
        for i in entries
    )


def _plain_entry(i: Any) -> Any:
    if isinstance(i, slice):
        return i
    if isinstance(i, Number):
        i = value_of(i)
        if isinstance(i, Number):
            return i
    if isinstance(i, (list, np.ndarray)):
        i = np.asarray(i)
        if i.size == 0 and i.dtype == np.float64:
            i = i.astype(np.intp)
        if i.dtype.kind not in "bui":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return i
    if isinstance(i, (bool, np.bool_)):
        return np.asarray(i)
    return i


def getitem(x: Any, index: Any) -> Any:
    """``x[index]``, for every form of index."""
    ndim = len(x.shape)
    if type(index) is slice or type(index) is int:
        return _view(x, getitem_row, index=(index,), ndim=ndim)
    index = plain_index(index)
    if is_basic(index):
        return _view(x, getitem_row, index=index, ndim=ndim)
    if _moves_to_front(index, ndim):
        # Index arrays kept apart by a slice send their axes to the front, before any
        # leading axis: gather on the flat array instead, where nothing moves.
        size = math.prod(shape_of(x))
        flat = np.arange(size).reshape(shape_of(x))[index]
        return getitem_row(reshape(x, (size,)), index=(flat,), ndim=1)
    return getitem_row(x, index=index, ndim=ndim)


def _moves_to_front(index: tuple[Any, ...], ndim: int) -> bool:
    """Whether leading axes would change where NumPy puts the axes of the index arrays."""
    kinds = ["a" if isinstance(i, np.ndarray) else "i" if isinstance(i, (int, np.integer)) else "s"
             for i in index]  # fmt: skip
    if "a" not in kinds:
        return False
    advanced = [j for j, k in enumerate(kinds) if k != "s"]
    return advanced[-1] - advanced[0] + 1 != len(advanced)


def _assign(x: Any, v: Any, *, index: Any, ndim: int, v_ndim: int) -> Any:
    lead = lead_of(x, ndim)
    # A tangent of complex entries may be real: that of x + 0j, until 1j * x[1] is put into it.
    y = np.array(x, dtype=np.result_type(np.asarray(x).dtype, np.asarray(v).dtype))
    if lead:
        shape = shape_of(v)
        picked = y[(slice(None),) * len(lead) + index].ndim - len(lead)
        if v_ndim < picked:
            v = np.reshape(v, shape[: len(lead)] + (1,) * (picked - v_ndim) + shape[len(lead) :])
    y[(slice(None),) * len(lead) + index] = v
    return y


def _assign_transpose(ct: Any, i: int, shapes: Any, *, index: Any, ndim: int, v_ndim: int) -> Any:
    if i == 1:
        return unbroadcast(getitem_row(ct, index=index, ndim=ndim), shapes[1], v_ndim)
    lead = lead_of(ct, ndim)
    return _assign_row(ct, np.zeros(lead), index=index, ndim=ndim, v_ndim=0)


_assign_row = Linear(
    "setitem",
    _assign,
    _assign_transpose,
    samples=((((4, 3), (3,)), {"index": (slice(0, 2),), "ndim": 2, "v_ndim": 1}),),
)


def setitem(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with ``x[index] = value`` done (a repeated index keeps the last value)."""
    index = plain_index(index)
    value = cast(lift(value), dtype_of(x))
    shape = shape_of(x)
    ndim = len(shape)
    if _moves_to_front(index, ndim) or _has_repeats(index, shape):
        flat = np.arange(math.prod(shape)).reshape(shape)[index]
        value = broadcast_to(value, flat.shape)
        kept, last = np.unique(flat.ravel()[::-1], return_index=True)
        value = getitem(reshape(value, (flat.size,)), (flat.size - 1 - last,))
        y = setitem(reshape(x, (math.prod(shape),)), (kept,), value)
        return reshape(y, shape)
    picked = np.broadcast_to(np.empty(()), shape)[index].shape
    excess = ndim_of(value) - len(picked)
    if excess > 0:  # NumPy drops leading axes of length one
        value = reshape(value, shape_of(value)[excess:])
    return _assign_row(x, value, index=index, ndim=ndim, v_ndim=ndim_of(value))


def cast(value: Any, dtype: Any) -> Any:
    """A value as an array of that type takes it."""
    own = dtype_of(value)
    if own == dtype or own.kind not in "fc" or np.result_type(own, dtype) == dtype:
        return value
    if own.kind == "c" and dtype.kind != "c":
        raise TypeError(
            "a complex value cannot be assigned into an array of real numbers; make the array with "
            "np.zeros_like(x, dtype=complex) or x + 0j, or assign value.real"
        )
    return astype(value, dtype)


def _has_repeats(index: tuple[Any, ...], shape: Shape) -> bool:
    if is_basic(index) or all(not isinstance(i, np.ndarray) or i.dtype == bool for i in index):
        return False
    flat = np.arange(math.prod(shape)).reshape(shape)[index]
    return bool(np.unique(flat).size != flat.size)


def _view(x: Any, row: Linear, **params: Any) -> Any:
    """Apply a row whose result NumPy gives as a view; dualad.protocols says what that entails."""
    y = row(x, **params)
    if isinstance(y, Number) and not (row is _reshape_row and _is_copied(x, y)):
        view_hook[0](y, x, row, params)
    return y


def _is_copied(x: Any, y: Any) -> bool:
    """Whether NumPy had to copy: a reshape of entries that do not lie in order is no view."""
    x, y = _memory_of(x), _memory_of(y)
    if type(x) is not np.ndarray or x.flags.c_contiguous:
        return False
    return not np.may_share_memory(x, y)


def _memory_of(x: Any) -> Any:
    """The array under all levels, tracers too: how it lies is no value that a guard would need."""
    while isinstance(x, Number):
        x = x.primal
    return x


#: filled by dualad.protocols: how a view is tied to its base, for assignment
view_hook: list[Any] = []


# ------------------------------------------------------------------- joining and choosing


def _concatenate(*xs: Any, axis: int) -> Any:
    return np.concatenate(xs, axis=axis)


def _concatenate_transpose(ct: Any, i: int, shapes: Any, *, axis: int) -> Any:
    start = int(np.add.reduce([s[axis] for s in shapes[:i]], dtype=np.intp))
    index = (slice(start, start + shapes[i][axis]),) + (slice(None),) * (-1 - axis)
    return getitem_row(ct, index=index, ndim=-axis)


_concatenate_row = Linear(
    "concatenate",
    _concatenate,
    _concatenate_transpose,
    samples=((((2, 3), (2, 1)), {"axis": -1}), (((2, 3), (1, 3)), {"axis": -2})),
)


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:  # fmt: skip  # noqa: E501
    """Join along an existing axis."""
    xs = [as_array(x) for x in arrays]
    if axis is None:
        xs, axis = [reshape(x, (-1,)) for x in xs], 0
    y = _concatenate_row(*xs, axis=from_end(axis, ndim_of(xs[0])))
    return y if dtype is None else astype(y, dtype)


def _where(a: Any, b: Any, *, condition: Any, ndims: tuple[int, int]) -> Any:
    shape = np.broadcast_shapes(
        np.shape(condition),
        *(shape_of(x)[ndim_of(x) - n :] for x, n in zip((a, b), ndims, strict=True)),
    )
    a, b = (
        _broadcast(x, shape=shape, ndim=n) if ndim_of(x) > n else x
        for x, n in zip((a, b), ndims, strict=True)
    )
    return np.where(condition, a, b)[()]  # a scalar, not an array without axes


def _where_transpose(ct: Any, i: int, shapes: Any, *, condition: Any, ndims: Any) -> Any:
    zero = 0.0
    picked = _where_row(
        *((ct, zero) if i == 0 else (zero, ct)),
        condition=condition,
        ndims=(ndim_of(ct), 0) if i == 0 else (0, ndim_of(ct)),
    )
    return unbroadcast(picked, shapes[i], ndims[i])


_where_row = Linear(
    "where",
    _where,
    _where_transpose,
    samples=(
        (((2, 3), (3,)), {"condition": np.array([True, False, True]), "ndims": (2, 1)}),
        (((), (2, 3)), {"condition": np.array([[True], [False]]), "ndims": (0, 2)}),
    ),
)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; or the places where it holds."""
    condition = value_of(lift(condition))
    if x is None and y is None:
        return np.where(condition)
    x, y = lift(x), lift(y)
    return _where_row(x, y, condition=condition, ndims=(ndim_of(x), ndim_of(y)))


# ----------------------------------------------------------------- running sums, parts, types


def _reverse(x: Any, axis: int) -> Any:
    index = (slice(None, None, -1),) + (slice(None),) * (-1 - axis)
    return getitem_row(x, index=index, ndim=-axis)


_cumsum_row: Linear = Linear(
    "cumsum",
    lambda x, *, axis: np.cumsum(x, axis=axis),
    lambda ct, i, shapes, *, axis: _reverse(_cumsum_row(_reverse(ct, axis), axis=axis), axis),
    samples=((((2, 3),), {"axis": -2}),),
)


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along an axis (of the flattened array by default)."""
    a = as_array(a)
    if dtype is not None:
        a = astype(a, dtype)
    if axis is None:
        a, axis = reshape(a, (-1,)), 0
    return _cumsum_row(a, axis=from_end(axis, ndim_of(a)))


real_row = Linear(
    "real",
    lambda x: np.real(x),
    lambda ct, i, shapes: ct,
    samples=((((2, 3),), {}),),
)
imag_row = Linear(
    "imag",
    lambda x: np.imag(x),
    lambda ct, i, shapes: ct * 1j,
    samples=((((2, 3),), {}),),
)
_conjugate_row: Linear = Linear(
    "conjugate",
    lambda x: np.conjugate(x),
    lambda ct, i, shapes: _conjugate_row(ct),
    samples=((((2, 3),), {}),),
)


@implements(np.real)
def real(val: Any) -> Any:
    """The real part: a view, as in NumPy."""
    val = as_array(val)
    if isinstance(val, Number) and shape_of(val):
        if np.dtype(val.dtype).kind != "c":  # type: ignore[attr-defined]
            return getitem(val, (Ellipsis,))
        return _view(val, real_row)
    return real_row(val)


@implements(np.imag)
def imag(val: Any) -> Any:
    """The imaginary part: a view, as in NumPy."""
    val = as_array(val)
    return _view(val, imag_row) if shape_of(val) else imag_row(val)


@implements(np.conjugate)
def conjugate(x: Any) -> Any:
    """The complex conjugate."""
    return _conjugate_row(as_array(x))


def _astype(x: Any, *, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype) if shape_of(x) else dtype.type(x)


_astype_row = Linear(
    "astype",
    _astype,
    lambda ct, i, shapes, *, dtype: ct,
    samples=((((2, 3),), {"dtype": np.dtype(np.float64)}),),
)


def astype(x: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    """Another floating-point (or complex) type; an integer or bool type gives the plain value."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        return np.asarray(x, dtype=object)  # each entry a number
    return _astype_row(x if dtype.kind in "fc" else value_of(x), dtype=dtype)


implements(np.sum)(sum)
implements(np.expand_dims)(expand_dims)
implements(np.broadcast_to)(broadcast_to)
implements(np.reshape)(reshape)
implements(np.transpose)(transpose)
implements(np.concatenate)(concatenate)
