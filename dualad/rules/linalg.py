"""``numpy.linalg``: its functions written over the implicit rows, with NumPy's signatures."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from dualad.primitive import NotDifferentiableError, implementations, implements, shape_of, value_of
from dualad.rules.elementwise import absolute, hypot, power
from dualad.rules.implicit import (
    adjoint,
    cholesky_row,
    conj,
    det_row,
    diagonal_matrix,
    eig_row,
    eigh_row,
    eigvals_row,
    eigvalsh_row,
    inv_row,
    is_complex,
    length,
    lower,
    pinv_row,
    qr_row,
    slogdet_row,
    solve_row,
    svd_row,
    svdvals_row,
    swap,
)
from dualad.rules.implicit import diagonal as diagonals
from dualad.rules.lifting import as_array
from dualad.rules.linear import (
    axes_from_end,
    broadcast_to,
    concatenate,
    expand_dims,
    getitem,
    imag,
    ndim_of,
    real,
    reshape,
    sum,
    transpose,
    where,
)
from dualad.rules.multilinear import matmul
from dualad.rules.selection import max, min

Shape = tuple[int, ...]
INF = np.inf

# NumPy's named tuples, which have no public names.
SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
EigResult: Any = type(np.linalg.eig(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))


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
        extreme: Any = max if order > 0 else min
        y = extreme(sums, over, keepdims=True)
        return y if keepdims else _drop(y, axes)
    if order not in (2, -2, "nuc"):
        raise ValueError(f"Invalid norm order {order!r} for matrices")
    n = ndim_of(x)
    rest = tuple(a for a in range(-n, 0) if a not in axes)
    s = svdvals_row(transpose(x, (*rest, row, column)), hermitian=False)
    y = sum(s, -1) if order == "nuc" else (max if order > 0 else min)(s, -1)
    return expand_dims(y, axes) if keepdims else y


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
    if not np.size(a) or not np.all(np.isfinite(a)):
        return True
    d = np.linalg.det(a)
    return bool(np.all((d != 0) & np.isfinite(d) & (np.linalg.cond(a, 1) < 1e7)))


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
    after = np.tri(n, k=-1, dtype=u.dtype)
    for _ in range(n - 1):
        tails = diagonal_matrix(matmul(diagonals(f), after))
        f = matmul(tails - swap(lower(swap(f))), d)
    y = getitem(f, (..., 0, 0)) * (np.linalg.det(u) * np.linalg.det(vh))
    # The slopes, at NumPy's own value.
    found, true = value_of(y), np.linalg.det(value_of(a))
    same = ~np.isfinite(found)
    return y - np.where(same, 0.0, found) + np.where(same, 0.0, true)


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant; its slopes are right for singular matrices too."""
    (a,) = _matrices(a)
    return det_row(a) if _is_regular(value_of(a)) else _det_of_any(a)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """The sign and the logarithm of the absolute value of the determinant."""
    return SlogdetResult(*slogdet_row(*_matrices(a)))


# ------------------------------------------------------------------------- decompositions


def _hermitian(a: Any, triangle: str) -> Any:
    """The Hermitian matrix that LAPACK takes a for, which reads one triangle of it only."""
    (a,) = _matrices(a)
    if triangle.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    below = np.tri(shape_of(a)[-1], k=-1, dtype=bool)
    other = adjoint(a)
    y = where(below, a, other) if triangle.upper() == "L" else where(below, other, a)
    return where(np.eye(shape_of(a)[-1], dtype=bool), real(a), y) if is_complex(a) else y


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*eigh_row(_hermitian(a, UPLO), triangle=UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices."""
    return eigvalsh_row(_hermitian(a, UPLO), triangle=UPLO)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of square matrices."""
    return EigResult(*eig_row(*_matrices(a)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Eigenvalues of square matrices."""
    return eigvals_row(*_matrices(a))


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    """Singular values, and vectors, of every matrix of a stack."""
    a = _hermitian(a, "L") if hermitian else _matrices(a)[0]
    if not compute_uv:
        return svdvals_row(a, hermitian=bool(hermitian))
    return SVDResult(*svd_row(a, full_matrices=bool(full_matrices), hermitian=bool(hermitian)))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Singular values of every matrix of a stack."""
    return svdvals_row(*_matrices(x), hermitian=False)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: Any = False) -> Any:
    """The triangular root of positive definite matrices, of which one triangle is read."""
    y = cholesky_row(_hermitian(a, "U" if upper else "L"))
    return adjoint(y) if upper else y


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthonormal columns and a triangle, of which a is the product."""
    (a,) = _matrices(a)
    m, n = shape_of(a)[-2:]
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and m > n):
        raise NotDifferentiableError(
            f"np.linalg.qr with mode={mode!r} has no derivative: its last columns only complete a "
            "basis, and any will do; write mode='reduced'"
        )
    if m >= n:
        q, r = qr_row(a)
    else:
        q, r = qr_row(getitem(a, (..., slice(m))))
        r = concatenate([r, matmul(adjoint(q), getitem(a, (..., slice(m, None))))], -1)
    return r if mode == "r" else QRResult(q, r)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = 1e-15) -> Any:
    """The pseudo-inverse of every matrix of a stack, along changes that keep the rank."""
    a = _hermitian(a, "L") if hermitian else _matrices(a)[0]
    if rcond is None:
        rcond = _rounding(a) if rtol is None else rtol
    return _pseudo_inverse(a, value_of(rcond), bool(hermitian))


def _pseudo_inverse(a: Any, rcond: Any, hermitian: bool) -> Any:
    """The pseudo-inverse; what rcond leaves out, if more than rounding errors, is left out of a."""
    if np.all(np.asarray(rcond) <= _rounding(a)):
        return pinv_row(a, rcond=rcond, hermitian=hermitian)
    s = np.linalg.svd(value_of(a), compute_uv=False)
    largest = np.max(s, axis=-1, keepdims=True, initial=0)
    kept = s > np.asarray(rcond)[..., None] * largest
    if np.all(kept | (s <= _rounding(a) * largest)):
        return pinv_row(a, rcond=rcond, hermitian=hermitian)
    u, s, vh = svd(a, full_matrices=False)
    inverse = where(kept, 1 / where(kept, s, 1.0), 0.0)
    return matmul(adjoint(vh), expand_dims(inverse, -1) * adjoint(u))


def _rounding(a: Any) -> float:
    """What NumPy takes for rounding errors, relative to the largest singular value."""
    return float(builtins.max(shape_of(a)[-2:]) * np.finfo(value_of(a).dtype).eps)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The least-squares solution, residuals, rank and singular values."""
    (a,), b = _matrices(a), as_array(b)
    m, n = shape_of(a)
    rcond = _rounding(a) if rcond is None else rcond
    x = matmul(_pseudo_inverse(a, value_of(rcond), False), b)
    s = svdvals_row(a, hermitian=False)
    v = value_of(s)
    rank = int(np.sum(v > rcond * np.max(v, initial=0)))
    if rank < n or m <= n:
        residuals: Any = np.zeros(0, v.dtype)
    else:
        rest = reshape(b - matmul(a, x), (m, -1))
        residuals = sum(_squares(rest), 0)
    return x, residuals, rank, s


def _squares(x: Any) -> Any:
    return real(x) * real(x) + imag(x) * imag(x) if is_complex(x) else x * x


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, *args: Any, **kwargs: Any) -> Any:
    """The rank, which is plain."""
    return np.linalg.matrix_rank(value_of(as_array(A)), *args, **kwargs)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The condition number in any norm of matrices."""
    (x,) = _matrices(x)
    if p is not None and p not in (2, -2):
        return _matrix_norm(x, (-2, -1), p, False) * _matrix_norm(inv_row(x), (-2, -1), p, False)
    s = svdvals_row(x, hermitian=False)
    ends = (-1, 0) if p == -2 else (0, -1)
    return getitem(s, (..., ends[0])) / getitem(s, (..., ends[1]))


# ------------------------------------------------------------------------------- products


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """A whole power of every matrix of a stack, by squaring."""
    (a,) = _matrices(a)
    n = operator.index(n)
    if n < 0:
        a, n = inv_row(a), -n
    if n == 0:
        return broadcast_to(np.eye(shape_of(a)[-1], dtype=value_of(a).dtype), shape_of(a)).copy()
    if n == 3:
        return matmul(matmul(a, a), a)  # NumPy's order
    y = None
    while True:
        if n % 2:
            y = a if y is None else matmul(y, a)
        n //= 2
        if not n:
            return y
        a = matmul(a, a)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices, in the order that costs least; vectors at the ends."""
    xs = [as_array(x) for x in arrays]
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = ndim_of(xs[0]) == 1, ndim_of(xs[-1]) == 1
    if first:
        xs[0] = expand_dims(xs[0], 0)
    if last:
        xs[-1] = expand_dims(xs[-1], 1)
    if any(ndim_of(x) != 2 for x in xs):
        raise np.linalg.LinAlgError("multi_dot takes matrices, and vectors at the ends")
    y = _cheapest(xs)
    return getitem(y, (0,) * first + (slice(None),) * (not first) + (0,) * last)


def _cheapest(xs: list[Any]) -> Any:
    """The product in the order of fewest multiplications, found from short pieces to long."""
    sizes = [shape_of(xs[0])[0], *(shape_of(x)[1] for x in xs)]
    n = len(xs)
    cost: dict[tuple[int, int], int] = {(i, i + 1): 0 for i in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            cost[i, j], cut[i, j] = builtins.min(
                (cost[i, k] + cost[k, j] + sizes[i] * sizes[k] * sizes[j], k)
                for k in range(i + 1, j)
            )

    def product(i: int, j: int) -> Any:
        if j == i + 1:
            return xs[i]
        k = cut[i, j]
        return matmul(product(i, k), product(k, j))

    return product(0, n)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of tensordot(a, x, x.ndim) == b."""
    a, b = as_array(a), as_array(b)
    n = ndim_of(a)
    if axes is not None:
        moved = [x + n for x in axes_from_end(tuple(axes), n)]
        a = transpose(a, (*(i for i in range(n) if i not in moved), *moved))
    shape = shape_of(a)[ndim_of(b) :]
    size = math.prod(shape)
    if size * size != math.prod(shape_of(a)):
        raise np.linalg.LinAlgError("tensorsolve: the sizes of a before and after b.ndim differ")
    return reshape(solve(reshape(a, (size, size)), reshape(b, (-1,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse under tensordot(a, x, ind)."""
    a = as_array(a)
    shape = shape_of(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = math.prod(shape[:ind])
    return reshape(inv_row(reshape(a, (rows, -1))), shape[ind:] + shape[:ind])


# ------------------------------------------------------- the array API's names for others


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """Every matrix of a stack transposed."""
    return swap(_matrices(x)[0])


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of every matrix of a stack."""
    (x,) = _matrices(x)
    above = np.arange(builtins.max(offset, 0), shape_of(x)[-1])
    below = np.arange(builtins.max(-offset, 0), shape_of(x)[-2])
    n = builtins.min(above.size, below.size)
    return getitem(x, (..., below[:n], above[:n]))


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of every matrix of a stack."""
    return sum(diagonal(x, offset=offset), -1, dtype)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors in space."""
    return implementations[np.cross](x1, x2, axis=axis)


@implements(np.linalg.vecdot, np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Inner products along an axis, the first factor conjugated."""
    return sum(conj(as_array(x1)) * as_array(x2), axis)
