"""Implicit rows: linear algebra, whose tangents solve an equation.

``X = solve(A, B)`` is defined by ``A X = B``.  Differentiating the equation instead of the
algorithm gives

    A dX = dB - dA X,

one more solve with the same matrix; its transpose is a solve with the adjoint matrix.  The
same is done for lengths, inverses, determinants and every factorisation here.

A rule gets plain arrays or numbers of outer transforms, so it is written with rules alone
and can be differentiated again.  Matrices are the last two axes; a tangent may have
direction axes before all others, which NumPy's broadcasting takes for more of the stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualad.primitive import Implicit, shape_of, value_of
from dualad.rules.elementwise import divide, multiply, negative
from dualad.rules.linear import (
    conjugate,
    expand_dims,
    imag,
    ndim_of,
    real,
    reshape,
    sum,
    transpose,
    where,
)
from dualad.rules.multilinear import matmul

Shape = tuple[int, ...]
MATRIX = (-2, -1)

#: an invertible matrix, and one of a stack: what samples are made of
_REGULAR = np.array([[2.0, -1.0, 0.5], [0.25, 1.5, -0.75], [1.0, 0.5, -2.0]])
_STACK = np.stack([_REGULAR, _REGULAR.T - 0.5 * np.eye(3)])


# ------------------------------------------------------------------------- small helpers


def is_complex(x: Any) -> bool:
    """Whether an array or a number is complex."""
    if type(x) is float:
        return False
    dtype: Any = getattr(value_of(x), "dtype", None)
    return isinstance(value_of(x), complex) if dtype is None else bool(dtype.kind == "c")


def conj(x: Any) -> Any:
    """The complex conjugate, which of a real array is the array."""
    return conjugate(x) if is_complex(x) else x


def swap(x: Any) -> Any:
    """The transpose of every matrix of a stack."""
    n = ndim_of(x)
    return transpose(x, (*range(n - 2), n - 1, n - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transpose of every matrix of a stack."""
    return conj(swap(x))


def spread(ct: Any, like: Any) -> Any:
    """A cotangent in full: the sweep may send one float for an array of equal entries."""
    shape = shape_of(like)
    return np.full(shape, ct) if type(ct) is float and shape else ct


def raised(t: Any, ndim: int, out_ndim: int) -> Any:
    """A tangent of an argument of ndim axes, with axes put in up to a stack of out_ndim."""
    shape = shape_of(t)
    lead = len(shape) - ndim
    if not lead or ndim >= out_ndim:
        return t
    return reshape(t, shape[:lead] + (1,) * (out_ndim - ndim) + shape[lead:])


def over_matrices(x: Any) -> Any:
    """One number a matrix, shaped to multiply the matrices of a stack."""
    return expand_dims(x, MATRIX) if shape_of(x) else x


def inner(a: Any, b: Any, axes: Shape, keepdims: bool = False) -> Any:
    """The real inner product along axes."""
    y = sum(multiply(conj(a), b), axes, keepdims=keepdims)
    return real(y) if is_complex(y) else y


# -------------------------------------------------------------------------------- lengths


def _length(x: Any, *, axes: Shape, keepdims: bool) -> Any:
    if len(axes) == np.ndim(x):
        return np.linalg.norm(x, axis=None, keepdims=keepdims)
    if len(axes) <= 2:
        return np.linalg.norm(x, axis=axes, keepdims=keepdims)
    return np.linalg.vector_norm(x, axis=axes, keepdims=keepdims)


def _length_push(y: Any, args: Any, tangents: Any, *, axes: Shape, keepdims: bool) -> Any:
    return inner(unit(args[0], axes=axes), tangents[0], axes, keepdims)


def _length_pull(
    y: Any, args: Any, ct: Any, needed: Any, *, axes: Shape, keepdims: bool
) -> Any:
    u = unit(args[0], axes=axes)
    if type(ct) is not float and not keepdims:
        ct = expand_dims(ct, axes)
    return (multiply(u, ct),)


length = Implicit(
    "length",
    _length,
    _length_push,
    _length_pull,
    samples=(
        ((np.array([3.0, -1.0, 2.0]),), {"axes": (-1,), "keepdims": False}),
        ((_STACK,), {"axes": (-1, -3), "keepdims": True}),
    ),
)


def _unit(x: Any, *, axes: Shape) -> Any:
    # In parts of the largest entry, so that no square overflows or underflows; an infinite
    # entry counts as 1 against finite ones as 0.
    largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
    infinite = np.isinf(largest)
    x = np.where(infinite, np.where(np.isinf(x), np.sign(x), 0), x)
    x = x / np.where((largest == 0) | infinite, 1, largest)
    n = np.sqrt(np.sum(np.square(np.abs(x)), axis=axes, keepdims=True))
    return x / np.where(n == 0, 1, n)


def _unit_push(y: Any, args: Any, tangents: Any, *, axes: Shape) -> Any:
    return _across(y, args[0], tangents[0], axes)


def _unit_pull(y: Any, args: Any, ct: Any, needed: Any, *, axes: Shape) -> Any:
    return (_across(y, args[0], spread(ct, y), axes),)


def _across(u: Any, x: Any, t: Any, axes: Shape) -> Any:
    """The part of t across the unit vectors u, by the length of x: 0 at the origin."""
    n = length(x, axes=axes, keepdims=True)
    at_origin = value_of(n) == 0
    part = t - multiply(u, inner(u, t, axes, True))
    return where(at_origin, 0.0, divide(part, where(at_origin, 1.0, n)))


# x / |x|, and 0 at the origin, to all orders.
unit: Implicit = Implicit(
    "unit",
    _unit,
    _unit_push,
    _unit_pull,
    samples=(
        ((np.array([3.0, -1.0, 2.0]),), {"axes": (-1,)}),
        ((_STACK,), {"axes": (-2, -1)}),
    ),
)


# ------------------------------------------------------------------- solutions and inverses


def _solve_push(y: Any, args: Any, tangents: Any) -> Any:
    a, b = args
    da, db = tangents
    right = None
    if da is not None:
        right = negative(matmul(raised(da, ndim_of(a), ndim_of(y)), y))
    if db is not None:
        db = raised(db, ndim_of(b), ndim_of(y))
        right = db if right is None else db + right
    return solve_row(a, right)


def _solve_pull(y: Any, args: Any, ct: Any, needed: Any) -> Any:
    ct_b = solve_row(adjoint(args[0]), spread(ct, y))
    ct_a = negative(matmul(ct_b, adjoint(y))) if needed[0] else None
    return ct_a, ct_b


# Stacks of matrices, both; they broadcast.
solve_row: Implicit = Implicit(
    "solve",
    lambda a, b: np.linalg.solve(a, b),
    _solve_push,
    _solve_pull,
    samples=(
        ((_REGULAR, np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])), {}),
        ((_STACK, np.array([[1.0], [2.0], [3.0]])), {}),
        ((_REGULAR, _STACK), {}),
    ),
)

# As a product with the inverse twice, rather than two solves: it is at hand.
inv_row: Implicit = Implicit(
    "inv",
    lambda a: np.linalg.inv(a),
    lambda y, args, tangents: negative(matmul(matmul(y, tangents[0]), y)),
    lambda y, args, ct, needed: (
        negative(matmul(matmul(adjoint(y), spread(ct, y)), adjoint(y))),
    ),
    samples=(((_REGULAR,), {}), ((_STACK,), {})),
)


# ---------------------------------------------------------------------------- determinants


def _relative_slope(a: Any, da: Any) -> Any:
    """The slope of log det: the trace of inv(a) da."""
    return sum(multiply(swap(inv_row(a)), da), MATRIX)


# Of regular matrices: ``det`` in linalg.py has another way for singular ones.
det_row: Implicit = Implicit(
    "det",
    lambda a: np.linalg.det(a),
    lambda y, args, tangents: multiply(y, _relative_slope(args[0], tangents[0])),
    lambda y, args, ct, needed: (
        multiply(over_matrices(multiply(ct, conj(y))), adjoint(inv_row(args[0]))),
    ),
    samples=(((_REGULAR,), {}), ((_STACK,), {})),
)


def _slogdet_push(y: Any, args: Any, tangents: Any) -> Any:
    slope = _relative_slope(args[0], tangents[0])
    if not is_complex(slope):
        return None, slope
    return multiply(y[0], imag(slope) * 1j), real(slope)


def _slogdet_pull(y: Any, args: Any, cts: Any, needed: Any) -> Any:
    of_sign, total = cts
    if of_sign is not None and is_complex(y[0]):
        turn = imag(multiply(y[0], conj(of_sign))) * -1j
        total = turn if total is None else total + turn
    if total is None or (of_sign is not None and total is of_sign):
        return (None,)
    return (multiply(over_matrices(total), adjoint(inv_row(args[0]))),)


# The sign and the logarithm of the absolute value: a phase, where complex.
slogdet_row: Implicit = Implicit(
    "slogdet",
    lambda a: tuple(np.linalg.slogdet(a)),
    _slogdet_push,
    _slogdet_pull,
    samples=(((_REGULAR,), {}), ((_STACK,), {})),
)
