"""Array methods and attributes: NumPy's functions under the names that arrays have them by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dualad.primitive import Number, implementations, shape_of
from dualad.rules.lifting import dtype_of, plainly
from dualad.rules.linear import (
    astype,
    conjugate,
    getitem,
    imag,
    real,
    reshape,
    setitem,
    transpose,
)
from dualad.rules.ufuncs import call_function

#: methods that are functions of NumPy with the array first
_SAME_NAME = (
    "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal "
    "dot max mean min nonzero prod put ravel repeat round searchsorted squeeze std "
    "sum swapaxes take trace var"
)

#: the names by which NumPy's loops over object arrays call functions of their entries
_OF_ENTRIES = (
    "arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh deg2rad degrees exp exp2 "
    "expm1 fabs fmod hypot log log10 log1p log2 rad2deg radians rint sin sinh sqrt tan tanh"
)


def _method(function: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, np.ufunc):
            return function(self, *args, **kwargs)
        return call_function(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    return method


methods: dict[str, Callable[..., Any]] = {
    name: _method(getattr(np, name)) for name in (_SAME_NAME + " " + _OF_ENTRIES).split()
}


def _register(function: Callable[..., Any]) -> Callable[..., Any]:
    methods[function.__name__.removeprefix("_")] = function
    return function


@_register
def _reshape(self: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape(self, shape[0] if len(shape) == 1 else shape, order)


@_register
def _transpose(self: Any, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return transpose(self)
    return transpose(self, axes[0] if isinstance(axes[0], (tuple, list)) else axes)


@_register
def _astype(
    self: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Any:  # fmt: skip
    return astype(self, dtype) if copy or np.dtype(dtype) != dtype_of(self) else self


@_register
def _conj(self: Any) -> Any:
    return conjugate(self) if dtype_of(self).kind == "c" else self


@_register
def _conjugate(self: Any) -> Any:
    return self.conj()


@_register
def _copy(self: Any, order: str = "C") -> Any:
    return implementations[np.copy](self)


@_register
def _flatten(self: Any, order: str = "C") -> Any:
    return implementations[np.copy](implementations[np.ravel](self, order))


@_register
def _item(self: Any, *args: Any) -> Any:
    flat = reshape(self, (-1,))
    if not args:
        if flat.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return flat[0]
    index = args[0] if len(args) == 1 else args
    return self[index] if isinstance(index, tuple) else flat[index]


@_register
def _tolist(self: Any) -> Any:
    return [e.tolist() for e in self] if shape_of(self) else self


@_register
def _sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> None:
    self.assign(implementations[np.sort](self, axis))


@_register
def _partition(self: Any, kth: Any, axis: int = -1, *args: Any, **kwargs: Any) -> None:
    self.assign(implementations[np.partition](self, kth, axis))


@_register
def _to_device(self: Any, device: str, /, *, stream: Any = None) -> Any:
    if device != "cpu":
        raise ValueError(f"numbers are on the device 'cpu', not {device!r}")
    return self


@_register
def _compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return call_function(np.compress, (condition, self, axis), {"out": out})


@_register
def _fill(self: Any, value: Any) -> None:
    self[...] = value


@_register
def _setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if write is not None and not write:
        raise TypeError("x.setflags(write=False): a number cannot be protected; leave it away")


# ------------------------------------------------------------------------------ attributes


class Flat:
    """``x.flat``: the entries in order, to read, to write and to go through."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        flat = reshape(self.base, (-1,))
        return (flat[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return getitem(reshape(self.base, (-1,)), plainly(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        places = np.arange(len(self))[plainly(index)]
        flat = reshape(self.base, (-1,))
        if np.ndim(places):
            value = np.resize(value, np.shape(places))  # flat assignment repeats its values
        self.base.assign(reshape(setitem(flat, places, value), shape_of(self.base)))

    def copy(self) -> Any:
        """The entries in an array of one axis."""
        return implementations[np.copy](reshape(self.base, (-1,)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return reshape(self.base, (-1,)).__array__(dtype, copy)


def _strides(x: Any) -> tuple[int, ...]:
    strides: tuple[int, ...] = np.empty(shape_of(x), dtype_of(x)).strides
    return strides


attributes: dict[str, Callable[[Any], Any]] = {
    "T": transpose,
    "mT": lambda x: implementations[np.matrix_transpose](x),
    "real": real,
    "imag": imag,
    "flat": Flat,
    "base": lambda x: None,
    "flags": lambda x: np.empty(shape_of(x), dtype_of(x)).flags,
    "strides": _strides,
    "device": lambda x: "cpu",
    "itemsize": lambda x: dtype_of(x).itemsize,
    "nbytes": lambda x: dtype_of(x).itemsize * x.size,
}


def _set_flat(x: Any, value: Any) -> None:
    Flat(x)[:] = np.ravel(value) if np.ndim(value) else value


def _set_real(x: Any, value: Any) -> None:
    x[...] = value + 1j * imag(x) if dtype_of(x).kind == "c" else value


def _set_imag(x: Any, value: Any) -> None:
    if dtype_of(x).kind != "c":
        raise TypeError("array does not have imaginary part to set")
    x[...] = real(x) + 1j * value


#: attributes that can be assigned to, as arrays' can
setters: dict[str, Callable[[Any, Any], None]] = {
    "flat": _set_flat, "real": _set_real, "imag": _set_imag,
}  # fmt: skip

#: attributes whose use would lose the derivative, with what to write instead
refused_attributes: dict[str, str] = {
    name: f"x.{name} gives away the memory of an array, and with it the derivative; {instead}"
    for name, instead in {
        "data": "use x itself",
        "tobytes": "use ad.stop_gradient(x).tobytes()",
        "tostring": "use ad.stop_gradient(x).tobytes()",
        "tofile": "use ad.stop_gradient(x).tofile(...)",
        "dump": "use ad.stop_gradient(x).dump(...)",
        "dumps": "use ad.stop_gradient(x).dumps()",
        "view": "use x itself, or x.astype(...)",
        "getfield": "use x.real or x.imag",
        "setfield": "use x[...] = value",
        "byteswap": "use ad.stop_gradient(x).byteswap()",
        "resize": "use np.resize(x, shape), or x.reshape(shape)",
        "ctypes": "pass ad.stop_gradient(x) to C code",
    }.items()
}


# ---------------------------------------------------------------------- the dtype of a scalar


class ScalarDtype:
    """The dtype of a scalar number: NumPy's, but its ``type`` hands numbers on as they are.

    ``np.mean([a, b])`` converts its result by ``y.dtype.type(y)``, which would cost a float
    nothing and a number its derivative.
    """

    __slots__ = ("dtype", "type")

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.type = _scalar_type(dtype.type)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> Any:
        return self.dtype == (other.dtype if isinstance(other, ScalarDtype) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self.dtype)

    def __str__(self) -> str:
        return str(self.dtype)


def _scalar_type(kind: Any) -> Any:
    def new(cls: Any, value: Any = 0) -> Any:
        if not isinstance(value, Number):
            return kind(value)
        return value if dtype_of(value).type is kind else astype(value, kind)

    return type(kind.__name__, (kind,), {"__new__": new})


_scalar_dtypes: dict[Any, ScalarDtype] = {}


def scalar_dtype(dtype: Any) -> Any:
    """The dtype that a scalar number shows."""
    found = _scalar_dtypes.get(dtype)
    if found is None:
        if dtype.kind not in "fc":
            return dtype
        found = _scalar_dtypes[dtype] = ScalarDtype(dtype)
    return found


def as_object_array(x: Number) -> Any:
    """The entries of a number in an object array, each a number."""
    shape = shape_of(x)
    out = np.empty(shape, dtype=object)
    if not shape:
        out[()] = x
        return out
    flat = reshape(x, (-1,))
    out.ravel()[:] = [flat[i] for i in range(out.size)]
    return out


__all__ = [
    "as_object_array", "attributes", "dtype_of", "methods", "refused_attributes", "scalar_dtype",
    "setters",
]  # fmt: skip
