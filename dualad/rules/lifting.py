"""Object arrays of numbers, lifted to numbers over arrays.

``np.array([x[0], 1.0, np.sin(x[1])])`` never asks us: NumPy makes an object array with
numbers in it.  Such an array is lifted to one number over an array of floats as soon as
it meets a number, a primitive or the end of f.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import Number, implementations, shape_of

OBJECT = np.dtype(object)


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
        return np.array(entries).reshape(x.shape) if entries else x.astype(float)
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
