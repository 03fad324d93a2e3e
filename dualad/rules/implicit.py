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

from dualad.primitive import Implicit, NotDifferentiableError, shape_of, value_of
from dualad.rules.elementwise import divide, is_nonzero, multiply, negative
from dualad.rules.linear import (
    concatenate,
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


def _length_pull(y: Any, args: Any, ct: Any, needed: Any, *, axes: Shape, keepdims: bool) -> Any:
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
    lambda y, args, ct, needed: (negative(matmul(matmul(adjoint(y), spread(ct, y)), adjoint(y))),),
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


# ------------------------------------------------------------------ for the decompositions

#: filled by dualad.undetermined: how a slope that does not exist is marked
undetermined_hook: list[Any] = []

_SYMMETRIC = np.array([[2.0, 0.5, -0.25], [0.5, -1.0, 0.75], [-0.25, 0.75, 3.0]])
_SYMMETRIC_STACK = np.stack([_SYMMETRIC, _SYMMETRIC @ _SYMMETRIC - 0.5 * np.eye(3)])
_TALL = np.array([[2.0, -1.0], [0.25, 1.5], [1.0, 0.5]])


def marked(t: Any, missing: Any, reason: str) -> Any:
    """The tangent t; where parts of it are missing (are NaN), with the reason for that."""
    return undetermined_hook[0](t, reason) if np.any(missing) else t


def diagonal(x: Any) -> Any:
    """The diagonal of every square matrix of a stack; not as a product, where NaNs spread."""
    return sum(where(np.eye(shape_of(x)[-1], dtype=bool), x, 0.0), -1)


def diagonal_matrix(v: Any) -> Any:
    """Square matrices with these diagonals."""
    return where(np.eye(shape_of(v)[-1], dtype=bool), expand_dims(v, -1), 0.0)


def eye_like(x: Any) -> Any:
    """The identity with as many rows as x has, in its precision."""
    return np.eye(shape_of(x)[-2], dtype=value_of(x).dtype)


def lower(x: Any) -> Any:
    """The strictly lower part of every square matrix of a stack."""
    return where(np.tri(shape_of(x)[-1], k=-1, dtype=bool), x, 0.0)


def columns_times(x: Any, v: Any) -> Any:
    """Every column of a matrix times a number of its own: x @ diag(v)."""
    return multiply(x, expand_dims(v, -2))


def real_part(x: Any) -> Any:
    """The real part, which of a real array is the array."""
    return real(x) if is_complex(x) else x


def _largest(v: Any) -> Any:
    """The largest size along the last axis, which is kept."""
    if not v.shape[-1]:
        return np.zeros((*v.shape[:-1], 1))
    return np.max(np.abs(v), axis=-1, keepdims=True)


def repeated(w: Any) -> Any:
    """Which pairs of values are equal, to rounding: a plain matrix."""
    v = value_of(w)
    n = shape_of(v)[-1]
    size = np.expand_dims(_largest(v), -1)
    gap = np.abs(np.expand_dims(v, -2) - np.expand_dims(v, -1))
    return (gap <= n * np.finfo(v.dtype).eps * size) & ~np.eye(n, dtype=bool)


def inverse_gaps(w: Any, same: Any, missing: float) -> Any:
    """1 / (w_j - w_i), and 0 on the diagonal."""
    gap = expand_dims(w, -2) - expand_dims(w, -1)
    out = same | np.eye(shape_of(w)[-1], dtype=bool)
    return where(same, missing, where(out, 0.0, divide(1.0, where(out, 1.0, gap))))


def shared(slopes: Any, same: Any) -> Any:
    """Slopes of sorted values, those of equal ones replaced by their mean: a tie is shared."""
    if not np.any(same):
        return slopes
    group = (same | np.eye(same.shape[-1], dtype=bool)).astype(value_of(slopes).dtype)
    shares = group / group.sum(-1, keepdims=True)
    return matmul(shares, expand_dims(slopes, -1))[..., 0]


def nonzero(ct: Any, like: Any) -> Any:
    """A cotangent in full, or None where all of it is zero."""
    if ct is None or not np.any(is_nonzero(ct)):
        return None
    return spread(ct, like)


def refuse_where(ct: Any, places: Any, reason: str) -> None:
    """Raise where a cotangent asks for slopes that do not exist."""
    if np.any(places) and np.any(is_nonzero(ct) & places):
        raise NotDifferentiableError(reason)


PHASE = (
    "the phase of complex eigenvectors and singular vectors is arbitrary, and the function depends "
    "on it here: it has no derivative"
)


def real_row(v: Any) -> int | None:
    """The row, first or last, in which LAPACK makes complex vectors real: that fixes their phase.

    Found by looking, since it is a property of the algorithm, not of the decomposition.
    """
    v = value_of(v)
    for i in (0, -1):
        if np.all(np.abs(np.imag(v[..., i, :])) < 64 * np.finfo(v.dtype).eps):
            return i
    return None


def _real_entries_at(v: Any, i: int) -> tuple[Any, Any]:
    """The real entries of such a row, and where they are 0 and fix nothing (they read 1 there)."""
    entries = real(v[..., i, :])
    loose = np.abs(value_of(entries)) < 64 * np.finfo(value_of(v).dtype).eps
    return where(loose, 1.0, entries), loose


def turned(v: Any, dv: Any) -> Any:
    """At what rate vectors turn so that their real entries stay real, given their other changes."""
    i = real_row(v)
    if i is None:
        return np.zeros(shape_of(v)[-1])
    entries, loose = _real_entries_at(v, i)
    return where(loose, 0.0, negative(divide(imag(dv[..., i, :]), entries)))


def turned_back(v: Any, ct: Any, turns: Any) -> Any:
    """The transpose: to ct is added what comes back when a function depends on such turns."""
    i = real_row(v)
    entries, loose = (1.0, True) if i is None else _real_entries_at(v, i)
    size = np.max(np.abs(value_of(ct)), initial=0)
    if np.any(np.abs(value_of(where(loose, turns, 0.0))) > 1e-6 * size):
        raise NotDifferentiableError(PHASE)
    if i is None:
        return ct
    n = shape_of(v)[-2]
    at = np.arange(n)[:, None] == i % n
    rates = where(loose, 0.0, divide(turns, entries))
    return ct - where(at, expand_dims(rates, -2), 0.0) * 1j


# ------------------------------------------------------------------------------ symmetric

REPEATED = (
    "the eigenvectors of a repeated eigenvalue have no derivative (nor have second derivatives "
    "of the eigenvalue): any basis of its eigenspace will do; write the function with the matrix "
    "itself (np.trace, np.linalg.det, products), or move apart the eigenvalues"
)


def _eigh_push(y: Any, args: Any, tangents: Any, *, triangle: str) -> Any:
    w, v = y
    p = matmul(matmul(adjoint(v), tangents[0]), v)
    same = repeated(w)
    dv = matmul(v, multiply(inverse_gaps(w, same, np.nan), p))
    if is_complex(v):
        dv = dv + columns_times(v, turned(v, dv)) * 1j
    return shared(real_part(diagonal(p)), same), marked(dv, same, REPEATED)


def _eigh_pull(y: Any, args: Any, cts: Any, needed: Any, *, triangle: str) -> Any:
    w, v = y
    ct_w, ct_v = cts[0], nonzero(cts[1], v)
    same = repeated(w)
    middle = None if ct_w is None else diagonal_matrix(shared(spread(ct_w, w), same))
    if ct_v is not None:
        refuse_where(ct_v, same.any(-2, keepdims=True), REPEATED)
        if is_complex(v):
            ct_v = turned_back(v, ct_v, imag(sum(multiply(conj(v), ct_v), -2)))
        m = multiply(inverse_gaps(w, same, 0.0), matmul(adjoint(v), ct_v))
        middle = m if middle is None else middle + m
    if middle is None:
        return (None,)
    return (matmul(matmul(v, middle), adjoint(v)),)


# Of Hermitian matrices: ``eigh`` in linalg.py makes them from one triangle.  Which one LAPACK
# reads still matters, to the signs of the eigenvectors.
eigh_row: Implicit = Implicit(
    "eigh",
    lambda a, *, triangle: tuple(np.linalg.eigh(a, triangle)),
    _eigh_push,
    _eigh_pull,
    samples=(((_SYMMETRIC,), {"triangle": "L"}), ((_SYMMETRIC_STACK,), {"triangle": "U"})),
)


def _eigvalsh_push(y: Any, args: Any, tangents: Any, *, triangle: str) -> Any:
    v = eigh_row(args[0], triangle=triangle)[1]
    slopes = diagonal(matmul(matmul(adjoint(v), tangents[0]), v))
    return shared(real_part(slopes), repeated(y))


def _eigvalsh_pull(y: Any, args: Any, ct: Any, needed: Any, *, triangle: str) -> Any:
    v = eigh_row(args[0], triangle=triangle)[1]
    return (matmul(columns_times(v, shared(spread(ct, y), repeated(y))), adjoint(v)),)


eigvalsh_row: Implicit = Implicit(
    "eigvalsh",
    lambda a, *, triangle: np.linalg.eigvalsh(a, triangle),
    _eigvalsh_push,
    _eigvalsh_pull,
    samples=(((_SYMMETRIC,), {"triangle": "L"}), ((_SYMMETRIC_STACK,), {"triangle": "U"})),
)


def _lower_half(x: Any) -> Any:
    """The lower part with half the diagonal, of a matrix that is its sum with the adjoint."""
    return lower(x) + diagonal_matrix(0.5 * diagonal(x))


def _sandwich(root: Any, x: Any) -> Any:
    """inv(root) x inv(root)^H."""
    return adjoint(solve_row(root, adjoint(solve_row(root, x))))


cholesky_row: Implicit = Implicit(
    "cholesky",
    lambda a: np.linalg.cholesky(a),
    lambda y, args, tangents: matmul(y, _lower_half(_sandwich(y, tangents[0]))),
    lambda y, args, ct, needed: (
        _sandwich(adjoint(y), _lower_half(matmul(adjoint(y), spread(ct, y)))),
    ),
    samples=(
        ((_SYMMETRIC @ _SYMMETRIC + np.eye(3),), {}),
        ((_SYMMETRIC_STACK @ _SYMMETRIC_STACK + np.eye(3),), {}),
    ),
)


# --------------------------------------------------------------------------- any square one

DEFECTIVE = (
    "the eigenvalues of a defective matrix (too few eigenvectors) have infinite slopes, and the "
    "eigenvectors none"
)


def _left_vectors(v: Any) -> Any:
    """The inverse of the matrix of eigenvectors; refused where it is none to rounding."""
    if np.any(np.linalg.cond(value_of(v), 1) * np.finfo(value_of(v).dtype).eps > 0.01):
        raise NotDifferentiableError(DEFECTIVE)
    return inv_row(v)


def _real_entries(v: Any) -> Any:
    """Where LAPACK turned each eigenvector: a one at its largest entry, which is real."""
    v = value_of(v)
    size = np.where(np.imag(v) == 0, np.abs(v), -1.0)
    return np.expand_dims(np.argmax(size, axis=-2), -2) == np.arange(shape_of(v)[-1])[:, None]


def _eig_push(y: Any, args: Any, tangents: Any) -> Any:
    w, v = y
    c = matmul(matmul(_left_vectors(v), tangents[0]), v)
    same = repeated(w)
    turn = matmul(v, multiply(inverse_gaps(w, same, np.nan), c))
    # The eigenvectors keep their length, and their largest entry stays real.
    along = sum(multiply(conj(v), turn), -2)
    if is_complex(turn):
        at = _real_entries(v)
        entry, change = (sum(where(at, x, 0.0), -2) for x in (v, turn))
        along = real(along) + divide(imag(change), real(entry)) * 1j
    turn = turn - columns_times(v, along)
    return shared(diagonal(c), same), marked(turn, same, REPEATED)


def _eig_pull(y: Any, args: Any, cts: Any, needed: Any) -> Any:
    w, v = y
    ct_w, ct_v = cts[0], nonzero(cts[1], v)
    same = repeated(w)
    middle = None if ct_w is None else diagonal_matrix(shared(spread(ct_w, w), same))
    left = adjoint(_left_vectors(v))
    if ct_v is not None:
        along = sum(multiply(conj(v), ct_v), -2)
        ct_turn = ct_v - columns_times(v, real_part(along))
        if is_complex(v):
            at = _real_entries(v)
            entry = real(sum(where(at, v, 0.0), -2))
            ct_turn = ct_turn - where(at, expand_dims(divide(imag(along), entry), -2), 0.0) * 1j
        m = matmul(adjoint(v), ct_turn)
        refuse_where(ct_v, same.any(-2, keepdims=True), REPEATED)
        m = multiply(conj(inverse_gaps(w, same, 0.0)), m)
        middle = m if middle is None else middle + m
    if middle is None:
        return (None,)
    return (matmul(matmul(left, middle), adjoint(v)),)


_ROTATION = np.array([[0.5, -2.0, 0.25], [1.0, 0.75, 0.5], [0.25, -0.5, 1.5]])

eig_row: Implicit = Implicit(
    "eig",
    lambda a: tuple(np.linalg.eig(a)),
    _eig_push,
    _eig_pull,
    samples=(((_REGULAR,), {}), ((_ROTATION,), {}), ((np.stack([_ROTATION, _REGULAR]),), {})),
)


def _eigvals_push(y: Any, args: Any, tangents: Any) -> Any:
    v = eig_row(args[0])[1]
    return shared(diagonal(matmul(matmul(_left_vectors(v), tangents[0]), v)), repeated(y))


def _eigvals_pull(y: Any, args: Any, ct: Any, needed: Any) -> Any:
    v = eig_row(args[0])[1]
    left = adjoint(_left_vectors(v))
    ct = shared(spread(ct, y), repeated(y))
    return (matmul(columns_times(left, ct), adjoint(v)),)


eigvals_row: Implicit = Implicit(
    "eigvals",
    lambda a: np.linalg.eigvals(a),
    _eigvals_push,
    _eigvals_pull,
    samples=(((_REGULAR,), {}), ((_ROTATION,), {})),
)


# ------------------------------------------------------------------------ singular values

NO_VECTORS = (
    "the singular vectors of a repeated singular value have no derivative, nor have those that "
    "only complete a basis (full_matrices=True) or belong to a singular value of 0; "
    "np.linalg.svdvals, or full_matrices=False, may be all that is needed"
)


def _squares_apart(s: Any, same: Any, missing: float) -> Any:
    """1 / (s_j**2 - s_i**2), factored; 0 on the diagonal."""
    total = expand_dims(s, -2) + expand_dims(s, -1)
    out = same | np.eye(shape_of(s)[-1], dtype=bool)
    return divide(inverse_gaps(s, same, missing), where(out, 1.0, total))


def vanishing(s: Any, shape: Shape) -> Any:
    """Which singular values are 0, to rounding."""
    v = value_of(s)
    size = _largest(v)
    return v <= np.finfo(v.dtype).eps * np.max(shape[-2:]) * size


def _reciprocals(s: Any, zero: Any, missing: float) -> Any:
    return where(zero, missing, divide(1.0, where(zero, 1.0, s)))


def _beyond(u: Any, x: Any) -> Any:
    """The part of the columns of x outside the span of the columns of u."""
    return x - matmul(u, matmul(adjoint(u), x))


def _svd_push(y: Any, args: Any, tangents: Any, *, full_matrices: bool, hermitian: bool) -> Any:
    (da,) = tangents
    k = shape_of(y[1])[-1]
    m, n = shape_of(args[0])[-2:]
    u, s, v = y[0][..., :k], y[1], adjoint(y[2][..., :k, :])
    same, zero = repeated(s), vanishing(s, (m, n))
    apart = _squares_apart(s, same, np.nan)
    p = matmul(matmul(adjoint(u), da), v)
    scaled, swapped = columns_times(p, s), columns_times(adjoint(p), s)
    du = matmul(u, multiply(apart, scaled + adjoint(scaled)))
    dv = matmul(v, multiply(apart, swapped + adjoint(swapped)))
    per_s = _reciprocals(s, zero, np.nan)
    if is_complex(p):
        half = multiply(imag(diagonal(p)), 0.5 * per_s) * 1j
        du, dv = du + columns_times(u, half), dv - columns_times(v, half)
    if m > k:
        du = du + columns_times(_beyond(u, matmul(da, v)), per_s)
    if n > k:
        dv = dv + columns_times(_beyond(v, matmul(adjoint(da), u)), per_s)
    if is_complex(p):
        turn = (turned(v, dv) if real_row(v) is not None else turned(u, du)) * 1j
        du, dv = du + columns_times(u, turn), dv + columns_times(v, turn)
    if full_matrices:
        du = _completed(du, u, y[0], k)
        dv = _completed(dv, v, adjoint(y[2]), k)
    missing = np.any(same) or np.any(zero) or (full_matrices and abs(m - n) > 1)
    return (
        marked(du, missing, NO_VECTORS),
        shared(real_part(diagonal(p)), same),
        marked(adjoint(dv), missing, NO_VECTORS),
    )


def _completed(du: Any, u: Any, whole: Any, k: int) -> Any:
    """The tangent of a whole basis, of which the first k vectors are u: one more may follow."""
    extra = shape_of(whole)[-1] - k
    if not extra:
        return du
    rest = whole[..., k:]
    turn = negative(matmul(u, matmul(adjoint(du), rest)))
    return concatenate([du, turn if extra == 1 else multiply(turn, np.nan)], -1)


def _svd_pull(
    y: Any, args: Any, cts: Any, needed: Any, *, full_matrices: bool, hermitian: bool
) -> Any:
    k = shape_of(y[1])[-1]
    m, n = shape_of(args[0])[-2:]
    u, s, v = y[0][..., :k], y[1], adjoint(y[2][..., :k, :])
    same, zero = repeated(s), vanishing(s, (m, n))
    ct_s = cts[1]
    ct_u = _first(nonzero(cts[0], y[0]), u, y[0], k)
    ct_vh = nonzero(cts[2], y[2])
    ct_v = None if ct_vh is None else _first(adjoint(ct_vh), v, adjoint(y[2]), k)
    middle = None if ct_s is None else diagonal_matrix(shared(spread(ct_s, s), same))
    outside = None
    apart = _squares_apart(s, same, 0.0)
    per_s = _reciprocals(s, zero, 0.0)
    if is_complex(u):
        ct_u, ct_v = _turned_back(u, v, ct_u, ct_v)
    turns: list[Any] = [0.0, 0.0]
    for j, (ct, basis, rows) in enumerate(((ct_u, u, m), (ct_v, v, n))):
        if ct is None:
            continue
        if np.any(zero) and (rows > k or is_complex(u)):
            refuse_where(ct, np.expand_dims(zero, -2), NO_VECTORS)
        refuse_where(ct, same.any(-2, keepdims=True), NO_VECTORS)
        x = matmul(adjoint(basis), ct)
        if is_complex(u):
            turns[j] = imag(diagonal(x))
        x = multiply(apart, x)
        x = columns_times(x + adjoint(x), s)
        x = adjoint(x) if j else x
        middle = x if middle is None else middle + x
        if rows > k:
            rest = columns_times(_beyond(basis, ct), per_s)
            term = matmul(u, adjoint(rest)) if j else matmul(rest, adjoint(v))
            outside = term if outside is None else outside + term
    if middle is None:
        return (None,)
    if is_complex(u):
        middle = middle + diagonal_matrix(multiply(turns[0] - turns[1], 0.5 * per_s)) * 1j
    inside = matmul(matmul(u, middle), adjoint(v))
    return (inside if outside is None else inside + outside,)


def _turned_back(u: Any, v: Any, ct_u: Any, ct_v: Any) -> tuple[Any, Any]:
    """Cotangents with what comes back when pairs of complex vectors turn, both at one rate."""
    pairs = [(x, ct) for x, ct in ((u, ct_u), (v, ct_v)) if ct is not None]
    if not pairs:
        return ct_u, ct_v
    turns = 0.0
    for x, ct in pairs:
        turns = turns + imag(sum(multiply(conj(x), ct), -2))
    if real_row(v) is not None:
        return ct_u, turned_back(v, 0.0 if ct_v is None else ct_v, turns)
    return turned_back(u, 0.0 if ct_u is None else ct_u, turns), ct_v


def _first(ct: Any, u: Any, whole: Any, k: int) -> Any:
    """The cotangent of the first k vectors, given that of a whole basis."""
    if ct is None or shape_of(whole)[-1] == k:
        return ct
    first, last = ct[..., :k], ct[..., k:]
    if not np.any(is_nonzero(last)):
        return first
    if shape_of(whole)[-1] > k + 1:
        raise NotDifferentiableError(NO_VECTORS)
    if is_complex(u):
        turned_back(np.full((1, 1), 1j), last, imag(sum(multiply(conj(whole[..., k:]), last), -2)))
    return first - matmul(whole[..., k:], matmul(adjoint(last), u))


svd_row: Implicit = Implicit(
    "svd",
    lambda a, *, full_matrices, hermitian: tuple(
        np.linalg.svd(a, full_matrices, hermitian=hermitian)
    ),
    _svd_push,
    _svd_pull,
    samples=(
        ((_REGULAR,), {"full_matrices": True, "hermitian": False}),
        ((_TALL,), {"full_matrices": False, "hermitian": False}),
        ((_TALL.T,), {"full_matrices": True, "hermitian": False}),
        ((_STACK,), {"full_matrices": False, "hermitian": False}),
        ((_SYMMETRIC,), {"full_matrices": False, "hermitian": True}),
    ),
)


def _svdvals_push(y: Any, args: Any, tangents: Any, *, hermitian: bool) -> Any:
    u, _, vh = svd_row(args[0], full_matrices=False, hermitian=hermitian)
    slopes = real_part(diagonal(matmul(matmul(adjoint(u), tangents[0]), adjoint(vh))))
    return where(vanishing(y, shape_of(args[0])), 0.0, shared(slopes, repeated(y)))


def _svdvals_pull(y: Any, args: Any, ct: Any, needed: Any, *, hermitian: bool) -> Any:
    u, _, vh = svd_row(args[0], full_matrices=False, hermitian=hermitian)
    ct = where(vanishing(y, shape_of(args[0])), 0.0, shared(spread(ct, y), repeated(y)))
    return (matmul(columns_times(u, ct), vh),)


# A singular value of 0 is a kink, as of an absolute value: its slope is 0.
svdvals_row: Implicit = Implicit(
    "svdvals",
    lambda a, *, hermitian: np.linalg.svd(a, compute_uv=False, hermitian=hermitian),
    _svdvals_push,
    _svdvals_pull,
    samples=tuple(
        ((a,), {"hermitian": a is _SYMMETRIC}) for a in (_REGULAR, _TALL, _STACK, _SYMMETRIC)
    ),
)


# ------------------------------------------------------------------- triangles and inverses


def _upper_turn(x: Any) -> Any:
    """The change of R by R, for a change x of A in the frame of Q: real on the diagonal."""
    return swap(lower(swap(x))) + adjoint(lower(x)) + diagonal_matrix(real_part(diagonal(x)))


def _right_divide(x: Any, r: Any) -> Any:
    """x inv(r)."""
    return adjoint(solve_row(adjoint(r), adjoint(x)))


def _qr_push(y: Any, args: Any, tangents: Any) -> Any:
    q, r = y
    moved = _right_divide(tangents[0], r)
    t = _upper_turn(matmul(adjoint(q), moved))
    return moved - matmul(q, t), matmul(t, r)


def _qr_pull(y: Any, args: Any, cts: Any, needed: Any) -> Any:
    q, r = y
    ct_q, ct_r = (None if c is None else spread(c, v) for c, v in zip(cts, y, strict=True))
    ct_t: Any = 0.0
    if ct_r is not None:
        ct_t = matmul(ct_r, adjoint(r))
    if ct_q is not None:
        ct_t = ct_t - matmul(adjoint(q), ct_q)
    upper = swap(lower(swap(ct_t)))
    ct_x = upper + adjoint(upper) + diagonal_matrix(real_part(diagonal(ct_t)))
    out = matmul(q, ct_x)
    return (_right_divide(out if ct_q is None else out + ct_q, adjoint(r)),)


# Of matrices with no more columns than rows, in the reduced mode.
qr_row: Implicit = Implicit(
    "qr",
    lambda a: tuple(np.linalg.qr(a)),
    _qr_push,
    _qr_pull,
    samples=(((_REGULAR,), {}), ((_TALL,), {}), ((_STACK,), {})),
)


def _pinv_push(y: Any, args: Any, tangents: Any, *, rcond: Any, hermitian: bool) -> Any:
    (a,), (da,) = args, tangents
    dah, p, ph = adjoint(da), y, adjoint(y)
    inside = matmul(matmul(p, da), p)
    rows = matmul(matmul(matmul(p, ph), dah), _rest(a, p))
    columns = matmul(matmul(_rest(p, a), dah), matmul(ph, p))
    return rows + columns - inside


def _pinv_pull(y: Any, args: Any, ct: Any, needed: Any, *, rcond: Any, hermitian: bool) -> Any:
    (a,) = args
    ct, p, ph = spread(ct, y), y, adjoint(y)
    cth = adjoint(ct)
    inside = matmul(matmul(ph, ct), ph)
    rows = matmul(matmul(_rest(a, p), cth), matmul(p, ph))
    columns = matmul(matmul(matmul(ph, p), cth), _rest(p, a))
    return (rows + columns - inside,)


def _rest(a: Any, p: Any) -> Any:
    """1 - a p, the projection beside that of a p."""
    return eye_like(a) - matmul(a, p)


# Golub and Pereyra (SIAM J. Numer. Anal. 10, 1973); along changes that keep the rank.
pinv_row: Implicit = Implicit(
    "pinv",
    lambda a, *, rcond, hermitian: np.linalg.pinv(a, rcond, hermitian),
    _pinv_push,
    _pinv_pull,
    samples=tuple(
        ((a,), {"rcond": 1e-15, "hermitian": a is _SYMMETRIC})
        for a in (_REGULAR, _TALL, np.stack([_TALL.T, 2.0 - _TALL.T]), _SYMMETRIC)
    ),
)
