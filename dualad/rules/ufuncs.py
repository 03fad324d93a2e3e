"""Calls that are more than a plain call: ``out=``, ``where=``, ``dtype=``, and ufunc methods.

``ufunc.reduce`` and its kin are written with the ufunc's own row, slice by slice, for every
ufunc of two arguments; where a reduction of NumPy has a row (``sum``, ``max`` ...), that is
taken.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import NotDifferentiableError, Number, implementations, shape_of
from dualad.rules.composed.joining import as_number, stack
from dualad.rules.composed.shaping import moveaxis
from dualad.rules.lifting import OBJECT, as_array, dtype_of, plainly
from dualad.rules.linear import (
    astype,
    axes_from_end,
    broadcast_to,
    expand_dims,
    getitem,
    ndim_of,
    reshape,
    setitem,
    where,
)
from dualad.rules.plain import name_of, plain_functions, refused_functions
from dualad.rules.reductions import accumulate_pairs, reduce_pairs


def no_rule(function: Any, what: str = "") -> NotDifferentiableError:
    """The error for a function of NumPy that has no rule."""
    return NotDifferentiableError(
        f"{name_of(function)}{what} has no derivative rule: register one with ad.primitive, write "
        "the function with others of NumPy (CONTRIBUTING.md, 'How to add a function'), or pass it "
        "the plain value ad.stop_gradient(x) if no derivative is wanted"
    )


# ------------------------------------------------------------------------ calls with out=


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function of NumPy gives for numbers, written into ``out`` where there is one."""
    implementation = implementations.get(function)
    if implementation is None:
        raise no_rule(function)
    out = kwargs.pop("out", None) if "out" in kwargs else None
    if out is None and len(args) > 1:
        place = place_of_out(function)
        if len(args) > place:
            out, args = args[place], (*args[:place], None, *args[place + 1 :])
    y = implementation(*args, **kwargs)
    if out is None:
        return y
    return write_into(out, y, f"{name_of(function)}(..., out=)")


_places: dict[Any, int] = {}


def place_of_out(function: Any) -> int:
    """Which positional argument of a function is ``out``; a large number if none is."""
    place = _places.get(function)
    if place is None:
        try:
            names = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            names = []
        places = [i for i, p in enumerate(names)
                  if p.name == "out" and p.kind is not p.KEYWORD_ONLY]  # fmt: skip
        place = _places[function] = places[0] if places else 1000
    return place


def write_into(target: Any, y: Any, what: str) -> Any:
    """Write a result into ``out``: a number takes it, a float array would lose the derivative."""
    if isinstance(target, tuple) and len(target) == 1:
        (target,) = target
    if isinstance(target, Number) and shape_of(target):
        target[...] = y  # type: ignore[index]
        return target
    if isinstance(target, np.ndarray) and target.dtype == OBJECT:
        target[...] = y
        return target
    if isinstance(target, Number):
        raise TypeError(f"{what} into a scalar number: it has no entries to write to")
    if isinstance(y, Number):
        raise TypeError(
            f"{what} into a float array would lose the derivative; make the array with "
            "np.zeros_like(x) or np.zeros(n, like=x), or leave out= away"
        )
    target[...] = y
    return target


# -------------------------------------------------------------------------- ufunc calls


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ufunc.method(*inputs, **kwargs)`` with a number among the inputs or in ``out``."""
    if ufunc in plain_functions:
        return _call_plain(getattr(ufunc, method), inputs, kwargs)
    if ufunc.types and all(loop.split("->")[0] == "O" * ufunc.nin for loop in ufunc.types):
        # Python's code for entries (np.frompyfunc): it is given the numbers.
        entries = (np.asarray(x) if isinstance(x, Number) else x for x in inputs)
        return getattr(ufunc, method)(*entries, **kwargs)
    row = implementations.get(ufunc) or _row_of_scipy(ufunc)
    if ufunc in refused_functions:
        row()
    out = kwargs.pop("out", None)
    targets = out if isinstance(out, tuple) else (out,)
    if method != "__call__":
        y = _method_of(ufunc, method)(ufunc, *inputs, **kwargs)
        if targets[0] is None:
            return y
        return write_into(targets[0], y, f"np.{ufunc.__name__}.{method}(..., out=)")
    mask = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    for name in ("casting", "order", "subok"):
        kwargs.pop(name, None)
    if ufunc.signature is None and kwargs:
        raise no_rule(ufunc, f" with {', '.join(kwargs)}=")
    if mask is not True and not (isinstance(mask, (bool, np.bool_)) and mask):
        return _where_chosen(ufunc, row, [as_array(x) for x in inputs], mask, targets)
    y = row(*map(as_array, inputs), **kwargs)
    if dtype is not None:
        y = astype(y, dtype)
    if ufunc.nout > 1:
        return tuple(
            part if t is None else write_into(t, part, f"np.{ufunc.__name__}(..., out=)")
            for t, part in zip(targets if out else (None,) * ufunc.nout, y, strict=True)
        )
    if targets[0] is None:
        return y
    return write_into(targets[0], y, f"np.{ufunc.__name__}(..., out=)")


def _row_of_scipy(ufunc: Any) -> Any:
    """The row of a ufunc of scipy.special, whose rows are read when one first meets a number."""
    if "scipy.special" in sys.modules:
        importlib.import_module("dualad.rules.scipy_special")
    row = implementations.get(ufunc)
    if row is None:
        raise no_rule(ufunc)
    return row


def _where_chosen(ufunc: Any, row: Any, inputs: list[Any], mask: Any, targets: Any) -> Any:
    """``ufunc(*inputs, where=mask, out=target)``: computed where it is wanted, and only there."""
    if ufunc.nout > 1 or targets[0] is None:
        raise NotDifferentiableError(
            f"np.{ufunc.__name__} with where= and no out= leaves entries undefined; "
            "write np.where(mask, y, other)"
        )
    (target,) = targets
    places = np.nonzero(np.broadcast_to(plainly(mask), shape_of(target)))
    y = row(*(getitem(broadcast_to(x, shape_of(target)), places) for x in inputs))
    what = f"np.{ufunc.__name__}(..., where=, out=)"
    if isinstance(y, Number) and not isinstance(target, Number):
        return write_into(target, y, what)
    target[places] = y
    return target


def _call_plain(function: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out", (None,))
    y = function(*map(plainly, inputs), **{k: plainly(v) for k, v in kwargs.items()})
    return y if out[0] is None else write_into(out, y, f"{function}(..., out=)")


# ------------------------------------------------------------------------- ufunc methods

#: methods that have a function with rules of its own
_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
}  # fmt: skip
_ACCUMULATIONS: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def _method_of(ufunc: Any, method: str) -> Callable[..., Any]:
    if method == "at" and ufunc.nin == ufunc.nout == 1:
        return at
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError(f"{method} only supported for ufuncs of two arguments with one result")
    methods: dict[str, Callable[..., Any]] = {
        "reduce": reduce, "accumulate": accumulate, "outer": outer, "reduceat": reduceat, "at": at,
    }  # fmt: skip
    return methods[method]


def reduce(
    ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
    keepdims: bool = False, initial: Any = np._NoValue, where: Any = True,
) -> Any:  # fmt: skip
    """``ufunc.reduce``: the first entry with the second, the result with the third ..."""
    a = as_array(array)
    if dtype is not None:
        a = astype(a, dtype)
    start = None if initial is np._NoValue else initial
    where = plainly(where)
    if where is not True and start is None and ufunc.identity is None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where "
            "mask one has to specify 'initial'"
        )
    function = _REDUCTIONS.get(ufunc)
    if function is not None:
        y = implementations[function](a, axis, keepdims=keepdims, initial=start, where=where)
        return y
    ndim = ndim_of(a)
    axes = axes_from_end(axis, ndim)
    if len(axes) > 1 and ufunc.identity is None and ufunc not in _ANY_ORDER:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis "
            "may be specified"
        )
    folded = _to_front(a, axes)
    mask = None
    if where is not True:
        mask = _to_front(np.broadcast_to(where, shape_of(a)), axes)
    y = _fold(ufunc, folded, start, mask)
    if keepdims:
        y = expand_dims(y, axes) if shape_of(y) else reshape(y, (1,) * ndim)
    return y


#: ufuncs without a function of their own whose order of reduction is free
_ANY_ORDER = {np.fmax, np.fmin, np.hypot, np.logaddexp, np.logaddexp2}


def _to_front(a: Any, axes: tuple[int, ...]) -> Any:
    """The given axes made one, in front of the others."""
    ndim, shape = ndim_of(a), shape_of(a)
    rest = tuple(n for i, n in enumerate(shape) if i - ndim not in axes)
    a = moveaxis(a, axes, range(len(axes))) if axes else expand_dims(a, 0)
    return reshape(a, (math.prod(shape[i] for i in axes), *rest))


def _fold(ufunc: Any, a: Any, start: Any, mask: Any) -> Any:
    row = implementations[ufunc]
    if ufunc in _ANY_ORDER and mask is None and shape_of(a)[0]:
        y = reduce_pairs(row, a, 0)
        return y if start is None else row(start, y)
    entries = list(a)
    if start is None:
        if not entries or mask is not None:
            start = ufunc.identity
        if not entries:
            return np.full(shape_of(a)[1:], start)[()]
    y = entries.pop(0) if start is None else start
    first = len(shape_of(a)) and shape_of(a)[0] - len(entries)
    for i, e in enumerate(entries, first):
        new = row(y, e)
        y = new if mask is None else where(mask[i], new, y)
    return y


def accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``: all results on the way of a reduction."""
    a = as_array(array)
    if dtype is not None:
        a = astype(a, dtype)
    function = _ACCUMULATIONS.get(ufunc)
    if function is not None:
        return implementations[function](a, axis)
    row = implementations[ufunc]
    if ufunc in _ANY_ORDER or ufunc in _REDUCTIONS:
        return accumulate_pairs(row, a, axis)
    results: list[Any] = []
    for e in moveaxis(a, axis, 0):
        results.append(row(results[-1], e) if results else e)
    return moveaxis(stack(results), 0, axis) if results else a


def outer(ufunc: Any, A: Any, B: Any, **kwargs: Any) -> Any:
    """``ufunc.outer``: every entry of A with every entry of B."""
    a, b = as_array(A), as_array(B)
    if ndim_of(b):
        a = reshape(a, shape_of(a) + (1,) * ndim_of(b))
    return call_ufunc(ufunc, "__call__", (a, b), kwargs)


def reduceat(
    ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.reduceat``: reductions of slices; where a slice would be empty, its first entry."""
    a = moveaxis(as_array(array), axis, 0)
    starts = np.asarray(plainly(indices)).tolist()
    results = []
    for i, start in enumerate(starts):
        stop = starts[i + 1] if i + 1 < len(starts) else shape_of(a)[0]
        piece = getitem(a, slice(start, max(stop, start + 1)))
        results.append(reduce(ufunc, piece, 0, dtype))
    return moveaxis(stack(results), 0, axis) if results else array


def at(ufunc: Any, a: Any, indices: Any, *b: Any) -> None:
    """``ufunc.at``: in place at indices, once for each time that an index occurs."""
    if len(b) != ufunc.nin - 1:
        raise ValueError(f"np.{ufunc.__name__}.at wants {ufunc.nin + 1} arguments")
    operands = [as_array(e) for e in b]
    places = tuple(map(plainly, indices)) if isinstance(indices, tuple) else plainly(indices)
    if isinstance(a, np.ndarray) and a.dtype == OBJECT:
        ufunc.at(a, places, *(np.asarray(e, dtype=object) for e in operands))
        return
    if not isinstance(a, Number):
        if any(isinstance(e, Number) for e in operands):
            raise TypeError(
                f"np.{ufunc.__name__}.at into a float array would lose the derivative; make the "
                "array with np.zeros_like(x) or np.zeros(n, like=x)"
            )
        ufunc.at(a, places, *operands)
        return
    shape = shape_of(a)
    flat = np.arange(math.prod(shape)).reshape(shape)[places]
    values = [reshape(broadcast_to(as_number(e, a), flat.shape), (-1,)) for e in operands]
    left = np.arange(flat.size)
    y = reshape(a, (-1,))
    row = implementations[ufunc]
    while left.size:  # a round for each time that the most frequent index occurs
        here, first = np.unique(flat.ravel()[left], return_index=True)
        turn = left[first]
        new = row(getitem(y, (here,)), *(getitem(v, (turn,)) for v in values))
        y = setitem(y, (here,), new)
        left = np.delete(left, first)
    a.assign(astype(reshape(y, shape), dtype_of(a)))  # type: ignore[attr-defined]


__all__ = ["call_function", "call_ufunc", "no_rule", "place_of_out", "write_into"]
