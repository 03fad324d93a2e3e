"""Convolutions, and polynomials as ``np.polyval`` and its like have them: highest power first.

The coefficients of a product of polynomials are the convolution of their coefficients, so one
bilinear row carries this file: a convolution, all of it or the part where the shorter factor lies
within the longer.  Each is the other's transpose, with one factor turned round.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dualad.primitive import Multilinear, implements, shape_of, value_of
from dualad.rules.composed import stack
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import (
    broadcast_to,
    concatenate,
    conjugate,
    getitem,
    ndim_of,
    reshape,
    transpose,
)
from dualad.rules.linear import sum as sum_over
from dualad.rules.multilinear import matmul, raised
from dualad.rules.reductions import squared_size

# ------------------------------------------------------------------------------ convolution


def _convolve(a: Any, v: Any, *, mode: str, ndims: tuple[int, int]) -> Any:
    """Last axes convolved; one of the two may be a stack, the other a vector.  Directions lead.

    Where the mode is valid, a is not the shorter one.
    """
    if ndim_of(a) == ndim_of(v) == 1:
        return np.convolve(a, v, mode)  # type: ignore[call-overload]
    rows, columns = (np.reshape(x, (-1, shape_of(x)[-1])) for x in (a, v))
    leads = [shape_of(a)[:-1], shape_of(v)[:-1]]
    pairs = [(x, y) for x in rows for y in columns]
    if ndim_of(v) > ndims[1]:
        leads.reverse()
        pairs = [(x, y) for y in columns for x in rows]
    n, m = shape_of(a)[-1], shape_of(v)[-1]
    length = n + m - 1 if mode == "full" else n - m + 1
    y = np.array([np.convolve(*pair, mode) for pair in pairs])  # type: ignore[call-overload]
    return np.reshape(y, (*leads[0], *leads[1], length))


def _convolve_transpose(
    ct: Any, i: int, args: Any, shapes: Any, *, mode: str, ndims: tuple[int, int]
) -> Any:
    other = args[1 - i]
    if ndim_of(other) == 1:
        return _pulled(ct, i, other, mode)
    lead = shape_of(ct)[: ndim_of(ct) - ndim_of(other)]
    ct = reshape(ct, (*lead, -1, shape_of(ct)[-1]))
    other = reshape(other, (-1, shape_of(other)[-1]))
    total: Any = 0.0
    for j in range(shape_of(other)[0]):
        total = total + _pulled(getitem(ct, (..., j, slice(None))), i, other[j], mode)
    return total


def _pulled(ct: Any, i: int, other: Any, mode: str) -> Any:
    """The cotangent of factor i, the other being a vector: no more work than the product was."""
    other = _turned(other)
    if mode == "valid" and i == 1:
        return _convolve_row(other, ct, mode="valid", ndims=(1, ndim_of(ct)))
    back = "valid" if mode == "full" else "full"
    return _convolve_row(ct, other, mode=back, ndims=(ndim_of(ct), 1))


def _turned(v: Any) -> Any:
    """The entries in reverse order, conjugated."""
    v = getitem(v, (slice(None, None, -1),))
    return conjugate(v) if dtype_of(v).kind == "c" else v


_convolve_row = Multilinear(
    "convolve",
    _convolve,
    _convolve_transpose,
    samples=(
        (((4,), (3,)), {"mode": "full", "ndims": (1, 1)}),
        (((4,), (3,)), {"mode": "valid", "ndims": (1, 1)}),
        (((2, 2), (5,)), {"mode": "full", "ndims": (2, 1)}),
        (((3,), (2, 2)), {"mode": "valid", "ndims": (1, 2)}),
    ),
)


def _convolve_raised(args: list[Any], i: int, t: Any, *, mode: str, ndims: tuple[int, int]) -> Any:
    def product(x: Any) -> Any:
        a, v = (x, args[1]) if i == 0 else (args[0], x)
        return _convolve_row(a, v, mode=mode, ndims=(ndim_of(a), ndim_of(v)))

    if ndims[1 - i] == 1:
        return product(t)
    lead = shape_of(t)[: ndim_of(t) - ndims[i]]
    each = reshape(t, (-1, *shape_of(t)[len(lead) :]))
    y = stack([product(each[j]) for j in range(shape_of(each)[0])])
    return reshape(y, lead + shape_of(y)[1:])


raised[_convolve_row] = _convolve_raised


def _vectors(a: Any, v: Any) -> tuple[Any, Any]:
    a, v = (reshape(x, (1,)) if not shape_of(x) else x for x in (as_array(a), as_array(v)))
    if ndim_of(a) > 1 or ndim_of(v) > 1:
        raise ValueError("object too deep for desired array")
    if not shape_of(a)[0] or not shape_of(v)[0]:
        raise ValueError("a convolution needs arrays that are not empty")
    return a, v


def _part(a: Any, v: Any, mode: str, swapped: bool) -> Any:
    """The convolution, or the part of it that ``mode`` keeps."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    if shape_of(a)[0] < shape_of(v)[0]:
        a, v = v, a
    if mode == "valid":
        return _convolve_row(a, v, mode="valid", ndims=(1, 1))
    full = _convolve_row(a, v, mode="full", ndims=(1, 1))
    if mode == "full":
        return full
    n, m = shape_of(a)[0], shape_of(v)[0]
    start = m // 2 if swapped else (m - 1) // 2
    return full[start : start + n]


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two sequences."""
    return _part(*_vectors(a, v), mode, swapped=False)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The products of a sequence with another that is moved along it."""
    a, v = _vectors(a, v)
    # NumPy exchanges the two if v is longer, and turns the result round.
    return _part(a, _turned(v), mode, swapped=shape_of(v)[0] > shape_of(a)[0])


# ------------------------------------------------------------------------------ polynomials


def _coefficients(p: Any) -> Any:
    p = as_array(p)
    return p if shape_of(p) else reshape(p, (1,))


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The value of a polynomial, by Horner's rule."""
    p, x = _coefficients(p), as_array(x)
    n = shape_of(p)[0]
    if n == 0:
        return np.zeros(shape_of(x))
    y = broadcast_to(p[0], shape_of(x))
    for i in range(1, n):
        y = y * x + p[i]
    return y


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    a1, a2 = _coefficients(a1), _coefficients(a2)
    missing = shape_of(a2)[0] - shape_of(a1)[0]
    if missing > 0:
        a1 = concatenate([np.zeros(missing, dtype_of(a1)), a1])
    elif missing < 0:
        a2 = concatenate([np.zeros(-missing, dtype_of(a2)), a2])
    return a1 + a2


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return polyadd(a1, -_coefficients(a2))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return convolve(a1, a2)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials."""
    u, v = _coefficients(u), _coefficients(v)
    steps = shape_of(u)[0] - shape_of(v)[0] + 1
    if steps < 1:
        return np.zeros(1), u
    n = shape_of(v)[0]
    quotient = []
    for _ in range(steps):
        q = u[0] / v[0]
        quotient.append(q)
        u = concatenate([u[1:n] - q * v[1:], u[n:]])
    if shape_of(u)[0] == 0:
        u = np.zeros(1)
    while shape_of(u)[0] > 1 and np.allclose(value_of(u)[0], 0, rtol=1e-14):
        u = u[1:]
    return stack(quotient), u


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, m times."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = _coefficients(p)
    for _ in range(int(m)):
        p = p[:-1] * np.arange(shape_of(p)[0] - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The antiderivative of a polynomial, m times, with constants k."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = _coefficients(p)
    k = np.zeros(m) if k is None else _coefficients(k)
    if shape_of(k)[0] == 1 and m > 1:
        k = broadcast_to(k, (m,))
    if shape_of(k)[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(int(m)):
        p = concatenate([p / np.arange(shape_of(p)[0], 0, -1), k[i : i + 1]])
    return p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with given roots, or the characteristic polynomial of a matrix."""
    zeros = _coefficients(seq_of_zeros)
    if ndim_of(zeros) == 2 and shape_of(zeros)[0] == shape_of(zeros)[1] != 0:
        zeros = np.linalg.eigvals(zeros)
    elif ndim_of(zeros) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    one = np.ones(1, dtype_of(zeros))
    a: Any = one
    for i in range(shape_of(zeros)[0]):
        a = convolve(a, concatenate([one, -zeros[i : i + 1]]))
    roots = value_of(zeros)
    if np.iscomplexobj(roots) and np.all(np.sort(roots) == np.sort(np.conjugate(roots))):
        a = np.real(a)
    return a


@implements(np.roots)
def roots(p: Any) -> Any:
    """The roots of a polynomial: the eigenvalues of its companion matrix."""
    p = _coefficients(p)
    if ndim_of(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    used = np.flatnonzero(value_of(p))
    if used.size == 0:
        return np.zeros(0)
    trailing = shape_of(p)[0] - int(used[-1]) - 1
    p = p[int(used[0]) : int(used[-1]) + 1]
    n = shape_of(p)[0]
    if n < 2:
        return np.zeros(trailing)
    below = np.eye(n - 1, dtype=dtype_of(p))[:-1]
    companion = concatenate([reshape(-p[1:] / p[0], (1, n - 1)), below])
    found = np.linalg.eigvals(companion)
    return concatenate([found, np.zeros(trailing)]) if trailing else found


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial that fits points best, in the mean of squares."""
    x, y = as_array(x), as_array(y)
    order = int(deg) + 1
    if order < 1:
        raise ValueError("expected deg >= 0")
    if ndim_of(x) != 1 or ndim_of(y) not in (1, 2):
        raise TypeError("expected a vector for x and a vector or a matrix for y")
    if shape_of(x)[0] != shape_of(y)[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = shape_of(x)[0] * np.finfo(dtype_of(x)).eps
    columns = [np.ones(shape_of(x))]
    for _ in range(order - 1):
        columns.insert(0, columns[0] * x)
    left, right = stack(columns, 1), y
    if w is not None:
        w = as_array(w)
        left = left * reshape(w, (-1, 1))
        right = right * (w if ndim_of(y) == 1 else reshape(w, (-1, 1)))
    scale = np.sqrt(sum_over(squared_size(left), 0))
    left = left / scale
    c, residuals, rank, singular = np.linalg.lstsq(left, right, rcond)
    c = transpose(transpose(c) / scale)
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return c, residuals, rank, singular, rcond
    if not cov:
        return c
    base = np.linalg.inv(matmul(transpose(left), left)) / (reshape(scale, (-1, 1)) * scale)
    if cov == "unscaled":
        return c, base
    if shape_of(x)[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance")
    factor = residuals / (shape_of(x)[0] - order)
    if ndim_of(y) == 1:
        return c, base * factor
    return c, reshape(base, (*shape_of(base), 1)) * factor


__all__ = [
    "convolve", "correlate", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint",
    "polymul", "polysub", "polyval", "roots",
]  # fmt: skip
