"""Products of vectors, matrices and arrays that are written with plainer products."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import (
    concatenate,
    conjugate,
    expand_dims,
    from_end,
    getitem,
    ndim_of,
    reshape,
    transpose,
)
from dualad.rules.multilinear import matmul


def _axis_to(x: Any, source: int, destination: int) -> Any:
    n = ndim_of(x)
    order = list(range(n))
    order.insert(destination % n, order.pop(source))
    return transpose(x, order)


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """The vector product; of vectors with two entries its last component alone."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    a = _axis_to(a, from_end(axisa, ndim_of(a)), ndim_of(a) - 1)
    b = _axis_to(b, from_end(axisb, ndim_of(b)), ndim_of(b) - 1)
    sizes = shape_of(a)[-1], shape_of(b)[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if sizes == (2, 2):
        (a0, a1), (b0, b1) = ([getitem(x, (..., i)) for i in (0, 1)] for x in (a, b))
        return a0 * b1 - a1 * b0
    a, b = _in_space(a), _in_space(b)
    turn, back = (..., np.array([1, 2, 0])), (..., np.array([2, 0, 1]))
    y = getitem(a, turn) * getitem(b, back) - getitem(a, back) * getitem(b, turn)
    return _axis_to(y, ndim_of(y) - 1, from_end(axisc, ndim_of(y)))


def _in_space(x: Any) -> Any:
    shape = shape_of(x)
    return x if shape[-1] == 3 else concatenate([x, np.zeros((*shape[:-1], 1), dtype_of(x))], -1)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Every entry of a times all of b, laid out in blocks."""
    a, b = as_array(a), as_array(b)
    n = ndim_of(a) if ndim_of(a) > ndim_of(b) else ndim_of(b)
    if n == 0:
        return a * b
    rows = (1,) * (n - ndim_of(a)) + shape_of(a)
    columns = (1,) * (n - ndim_of(b)) + shape_of(b)
    spread_a = reshape(a, tuple(m for s in rows for m in (s, 1)))
    spread_b = reshape(b, tuple(m for s in columns for m in (1, s)))
    return reshape(spread_a * spread_b, tuple(r * c for r, c in zip(rows, columns, strict=True)))


@implements(np.matvec)
def matvec(x1: Any, x2: Any) -> Any:
    """Every matrix of a stack times the vector of its own."""
    product = matmul(as_array(x1), expand_dims(as_array(x2), -1))
    return getitem(product, (..., 0))


@implements(np.vecmat)
def vecmat(x1: Any, x2: Any) -> Any:
    """Every vector of a stack, conjugated, times the matrix of its own."""
    x1 = as_array(x1)
    if dtype_of(x1).kind == "c":
        x1 = conjugate(x1)
    return getitem(matmul(expand_dims(x1, -2), as_array(x2)), (..., 0, slice(None)))


__all__ = ["cross", "kron", "matvec", "vecmat"]
