"""Object arrays of numbers, lifted to numbers over arrays; and what all rules ask of a value.

``np.array([x[0], 1.0, np.sin(x[1])])`` never asks us: NumPy makes an object array with
numbers in it.  Such an array is lifted to one number over an array of floats as soon as
it meets a number, a primitive or the end of f.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import OBJECT as OBJECT
from dualad.primitive import Number, implementations, lifters, shape_of, value_of


def lift(x: Any) -> Any:
    """x, with an object array or a nested list that holds numbers made into one number."""
    if isinstance(x, (list, tuple)):
        x = as_array(x)
    if type(x) is np.ndarray and x.dtype == OBJECT:
        return lift_array(x)
    return x


def lift_array(x: Any) -> Any:
    """An object array of numbers and plain values as one number (or a plain array)."""
    entries = x.ravel().tolist()
    if not any(isinstance(e, Number) for e in entries):
        # Entries that NumPy has no type for (exact fractions) stay as they are.
        plain = np.array(entries) if entries else np.zeros(0)
        return plain.reshape(x.shape) if plain.dtype.kind in "fciub" else x
    stack, reshape = implementations[np.stack], implementations[np.reshape]
    return reshape(stack([e if shape_of(e) == () else lift(e) for e in entries]), x.shape)


def as_array(x: Any) -> Any:
    """x as an array, a number or a float; a list (nested, with numbers in it) becomes one."""
    if type(x) is float or isinstance(x, Number):
        return x
    if isinstance(x, (list, tuple)):
        if not has_number(x):
            return np.asarray(x)
        return implementations[np.stack]([as_array(e) for e in x])
    if type(x) is np.ndarray and x.dtype == OBJECT:
        return lift_array(x)
    return x


def has_number(x: Any) -> bool:
    """Whether a nested list holds a number anywhere."""
    if isinstance(x, (list, tuple)):
        return any(has_number(e) for e in x)
    return isinstance(x, Number) or (type(x) is np.ndarray and x.dtype == OBJECT)


def plainly(x: Any) -> Any:
    """The plain value of an argument that may be a number, or a list with numbers in it."""
    if isinstance(x, (list, tuple)) and has_number(x):
        return type(x)(plainly(e) for e in x) if not hasattr(x, "_fields") else plainly(tuple(x))
    if isinstance(x, slice):
        return slice(plainly(x.start), plainly(x.stop), plainly(x.step))
    return value_of(lift(x))


def dtype_of(x: Any) -> Any:
    """The dtype of a float, an array or a number."""
    x = value_of(x)
    if type(x) is float:
        return np.dtype(np.float64)
    if type(x) in (complex, int, bool):
        return np.dtype(type(x))
    return np.dtype(getattr(x, "dtype", object))


def existing(*names: str, module: Any = np) -> tuple[Any, ...]:
    """Those functions of NumPy that this release has: names come and go."""
    return tuple(f for f in (getattr(module, n, None) for n in names) if f is not None)


lifters.append(lift)
