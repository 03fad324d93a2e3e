"""Calls of ufuncs that are more than a plain call: methods, ``out=``, ``where=``, ``dtype=``."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import NotDifferentiableError, Number, implementations, shape_of, value_of
from dualad.rules.linear import astype, where

#: ufuncs (and functions) that see the primal and give a plain result
plain_functions: set[Any] = {
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.isfinite, np.isnan,
    np.isinf, np.signbit,
}  # fmt: skip


def no_rule(function: Any, what: str = "") -> NotDifferentiableError:
    """The error for a function of NumPy that has no rule."""
    name = getattr(function, "__name__", str(function)) + what
    module = getattr(function, "__module__", None) or "numpy"
    return NotDifferentiableError(
        f"{module}.{name} has no derivative rule: register one with ad.primitive, write the "
        "function with others of NumPy (CONTRIBUTING.md, 'How to add a function'), or pass it the "
        "plain value ad.stop_gradient(x) if no derivative is wanted"
    )


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.method(*inputs, **kwargs)`` with a number among the inputs or in ``out``."""
    if ufunc in plain_functions:
        return getattr(ufunc, method)(*map(value_of, inputs), **kwargs)
    if method != "__call__":
        implementation = implementations.get((ufunc, method))  # type: ignore[call-overload]
        if implementation is None:
            raise no_rule(ufunc, f".{method}")
        return implementation(*inputs, **kwargs)
    row = implementations.get(ufunc)
    if row is None:
        raise no_rule(ufunc)
    out = kwargs.pop("out", None)
    mask = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    kwargs.pop("order", None)
    kwargs.pop("subok", None)
    if kwargs:
        raise no_rule(ufunc, f" with {', '.join(kwargs)}=")
    y = row(*inputs)
    if dtype is not None:
        y = astype(y, dtype)
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        if mask is not True:
            raise NotDifferentiableError(
                f"np.{ufunc.__name__} with where= and no out= leaves entries undefined; "
                "write np.where(mask, y, other)"
            )
        return y
    if mask is not True:
        y = where(mask, y, target)
    return write_into(target, y, f"np.{ufunc.__name__}(..., out=)")


def write_into(target: Any, y: Any, what: str) -> Any:
    """Write a result into ``out``: a number takes it, a float array would lose the derivative."""
    if isinstance(target, Number) and shape_of(target):
        target[...] = y  # type: ignore[index]
        return target
    if isinstance(target, np.ndarray) and target.dtype == object:
        target[...] = y
        return target
    if isinstance(y, Number):
        raise TypeError(
            f"{what} into a float array would lose the derivative; make the array with "
            "np.zeros_like(x) or np.zeros(n, like=x), or leave out= away"
        )
    target[...] = y
    return target
