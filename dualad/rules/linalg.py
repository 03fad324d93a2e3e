"""``numpy.linalg``: its functions written over the implicit rows, with NumPy's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of, value_of
from dualad.rules.elementwise import absolute, hypot, power
from dualad.rules.implicit import (
    adjoint,
    det_row,
    inv_row,
    is_complex,
    length,
    slogdet_row,
    solve_row,
)
from dualad.rules.lifting import as_array
from dualad.rules.linear import (
    axes_from_end,
    expand_dims,
    getitem,
    imag,
    ndim_of,
    real,
    sum,
    where,
)
from dualad.rules.multilinear import matmul
from dualad.rules.selection import max, min

Shape = tuple[int, ...]
INF = np.inf

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def _matrices(*arrays: Any) -> list[Any]:
    """Arguments as stacks of matrices.

    Raises ``LinAlgError`` where one has fewer than two axes.
    """
    out = [as_array(a) for a in arrays]
    for a in out:
        if ndim_of(a) < 2:
            raise np.linalg.LinAlgError(
                f"{ndim_of(a)}-dimensional array given. Array must be at least two-dimensional"
            )
    return out


def _drop(x: Any, axes: Shape) -> Any:
    """x without these axes, which have length one."""
    n = ndim_of(x)
    return getitem(x, tuple(0 if i - n in axes else slice(None) for i in range(n)))


# ---------------------------------------------------------------------------------- norms


def _sizes(x: Any) -> Any:
    return hypot(real(x), imag(x)) if is_complex(x) else absolute(x)


def _vector_norm(x: Any, axes: Shape, order: Any, keepdims: bool) -> Any:
    if order is None or order == 2:
        return length(x, axes=axes, keepdims=keepdims)
    if order == INF:
        return max(_sizes(x), axes, keepdims=keepdims)
    if order == -INF:
        return min(_sizes(x), axes, keepdims=keepdims)
    if order == 0:
        v = value_of(x)
        return np.sum((v != 0).astype(np.real(v).dtype), axis=axes, keepdims=keepdims)
    if order == 1:
        return sum(_sizes(x), axes, keepdims=keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    # Zeros are kept out of the power: its slope there may be infinite, while theirs is 0.
    zero = value_of(x) == 0
    powers = where(zero, 0.0 if order > 0 else INF, power(_sizes(where(zero, 1.0, x)), order))
    total = sum(powers, axes, keepdims=keepdims)
    empty = value_of(total) == 0
    return where(empty, 0.0, power(where(empty, 1.0, total), 1.0 / order))


def _matrix_norm(x: Any, axes: Shape, order: Any, keepdims: bool) -> Any:
    if order is None or order in ("fro", "f"):
        return length(x, axes=axes, keepdims=keepdims)
    row, column = axes
    if order in (1, -1, INF, -INF):
        along, over = (row, column) if order in (1, -1) else (column, row)
        sums = sum(_sizes(x), along, keepdims=True)
        y = (max if order > 0 else min)(sums, over, keepdims=True)
        return y if keepdims else _drop(y, axes)
    if order not in (2, -2, "nuc"):
        raise ValueError(f"Invalid norm order {order!r} for matrices")
    raise NotImplementedError


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """A norm of a vector or a matrix, of any order; its slope at the origin is 0."""
    x = as_array(x)
    n = ndim_of(x)
    if axis is None and (ord is None or n == 0):
        return length(x, axes=axes_from_end(None, n), keepdims=bool(keepdims)) if n else _sizes(x)
    axes = axes_from_end(axis, n)
    if len(axes) == 1:
        return _vector_norm(x, axes, ord, bool(keepdims))
    if len(axes) == 2:
        return _matrix_norm(x, axes, ord, bool(keepdims))
    raise ValueError("Improper number of dimensions to norm.")


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """A norm of the entries along axes, taken as one vector."""
    x = as_array(x)
    return _vector_norm(x, axes_from_end(axis, ndim_of(x)), ord, bool(keepdims))


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """A norm of every matrix of a stack."""
    return _matrix_norm(_matrices(x)[0], (-2, -1), ord, bool(keepdims))


# ------------------------------------------------------------------- solutions and inverses


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """The inverse of every matrix of a stack."""
    return inv_row(*_matrices(a))


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """The solution x of a x = b: b is a vector, or a stack of matrices."""
    (a,) = _matrices(a)
    b = as_array(b)
    if ndim_of(b) == 1:
        return getitem(solve_row(a, expand_dims(b, -1)), (..., 0))
    return solve_row(a, b)


# ----------------------------------------------------------------------------- determinants


def _is_regular(a: Any) -> bool:
    """Whether det(a) inv(a) can stand for the cofactors, on plain values."""
    if not np.size(a):
        return True
    d = np.linalg.det(a)
    return bool(np.all((d != 0) & np.isfinite(d) & (np.linalg.cond(a, 1) < 1e7)))


def _strict_upper(x: Any, n: int) -> Any:
    return where(np.tri(n, k=-1, dtype=bool).T, x, 0.0)


def _det_of_any(a: Any) -> Any:
    """The determinant as the polynomial that it is, with no division.

    Bird's algorithm (Inf. Proc. Letters 111, 2011) needs n products of matrices.  It is run
    in the bases of the singular vectors (which are constants here): on a diagonal matrix of
    numbers >= 0 all its sums are of one sign, so nothing cancels.
    """
    u, _, vh = np.linalg.svd(value_of(a))
    n = shape_of(a)[-1]
    d = matmul(matmul(adjoint(u), a), adjoint(vh))
    f = d
    below = np.tri(n, k=-1, dtype=bool).T.astype(np.float64)
    places = np.arange(n)
    for _ in range(n - 1):
        diagonal = getitem(f, (..., places, places))
        tail = matmul(diagonal, below.T)
        upper = _strict_upper(f, n)
        f = matmul(expand_dims(tail, -1) * np.eye(n) - upper, d)
    turn = np.linalg.det(u) * np.linalg.det(vh)
    return getitem(f, (..., 0, 0)) * turn


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant; its slopes are right for singular matrices too."""
    (a,) = _matrices(a)
    return det_row(a) if _is_regular(value_of(a)) else _det_of_any(a)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """The sign and the logarithm of the absolute value of the determinant."""
    return SlogdetResult(*slogdet_row(*_matrices(a)))
