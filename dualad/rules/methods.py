"""Array methods and attributes: NumPy's functions under the names that arrays have them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Number, implementations, shape_of, value_of
from dualad.rules.linear import astype, conjugate, imag, real, reshape, transpose

#: methods that are functions of NumPy with the array first
_SAME_NAME = (
    "all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum "
    "diagonal dot max mean min nonzero prod ptp ravel repeat round searchsorted squeeze std "
    "sum swapaxes take trace var"
)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return implementations[function](self, *args, **kwargs)

    method.__name__ = name
    return method


methods: dict[str, Callable[..., Any]] = {name: _method(name) for name in _SAME_NAME.split()}


def _register(function: Callable[..., Any]) -> Callable[..., Any]:
    methods[function.__name__.strip("_")] = function
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
def _astype(self: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    return astype(self, dtype)


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
def _fill(self: Any, value: Any) -> None:
    self[...] = value


attributes: dict[str, Callable[[Any], Any]] = {
    "T": transpose,
    "mT": lambda x: implementations[np.swapaxes](x, -1, -2),
    "real": real,
    "imag": imag,
    "itemsize": lambda x: dtype_of(x).itemsize,
    "nbytes": lambda x: dtype_of(x).itemsize * x.size,
}

#: attributes whose use would lose the derivative, with what to write instead
refused_attributes: dict[str, str] = {
    name: f"x.{name} gives away the memory of an array, and with it the derivative; {instead}"
    for name, instead in {
        "data": "use x itself",
        "tobytes": "use ad.stop_gradient(x).tobytes()",
        "tofile": "use ad.stop_gradient(x).tofile(...)",
        "view": "use x itself, or x.astype(...)",
        "ctypes": "pass ad.stop_gradient(x) to C code",
    }.items()
}


def dtype_of(x: Any) -> Any:
    """The dtype of a float, an array or a number."""
    x = value_of(x)
    return np.dtype(np.float64) if type(x) is float else getattr(x, "dtype", np.dtype(object))


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
    "as_object_array", "attributes", "conjugate", "dtype_of", "methods", "refused_attributes",
]  # fmt: skip
