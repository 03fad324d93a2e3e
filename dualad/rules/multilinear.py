"""Products: rows that are linear in each argument by itself.

The derivative of a product is the product with one factor replaced by its tangent, summed
over the factors; the transpose in one factor is the product of the cotangent with the
others.  ``matmul`` and ``einsum`` are the two rows; the other products are written with
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Multilinear, Number, implements, quietly, shape_of, value_of
from dualad.rules.elementwise import has_nan, is_nonzero, multiply
from dualad.rules.lifting import OBJECT, as_array, dtype_of
from dualad.rules.linear import (
    axes_from_end,
    broadcast_to,
    conjugate,
    expand_dims,
    from_end,
    getitem,
    ndim_of,
    reshape,
    transpose,
    unbroadcast,
    where,
)

Shape = tuple[int, ...]


# -------------------------------------------------------------------------- strong zeros


def strong(row: Callable[..., Any], args: list[Any], i: int, t: Any, params: dict[str, Any]) -> Any:
    """The product with argument i replaced by t, where zeros of t stay zero.

    Entries of t that are zero meet infinite entries of the other factors as 0, not as
    NaN.  That is looked into only when a NaN appears.
    """
    ndims = params.get("ndims")
    if ndims and ndim_of(t) > ndims[i] and any(isinstance(x, Number) for x in (*args, t)):
        # Inner numbers have direction axes of their own: those of t become axes of the product.
        return raised[row](list(args), i, t, **params)
    y = row(*args[:i], t, *args[i + 1 :], **params)
    v = value_of(y)
    if isinstance(v, Number) or not has_nan(v):
        return y
    return quietly(_repaired, row, args, i, t, params, y)


def _repaired(row: Any, args: list[Any], i: int, t: Any, params: dict[str, Any], y: Any) -> Any:
    """``row`` is called like a Multilinear with t in place i; y is what it gave."""
    args = [*args[:i], 0.0, *args[i + 1 :]]  # the factor that t replaces may be forgotten
    tame = [where(np.isfinite(value_of(a)), a, 0.0) for a in args]
    finite = row(*tame[:i], t, *tame[i + 1 :], **params)
    touched: Any = 0.0
    nonzero = is_nonzero(t).astype(np.float64)
    for j, a in enumerate(args):
        if j != i:
            marks = [np.ones(shape_of(b)) for b in args]
            marks[j] = (~np.isfinite(value_of(a))).astype(np.float64)
            touched = touched + row(*marks[:i], nonzero, *marks[i + 1 :], **params)
    return where(value_of(touched) != 0, y, finite)


#: row -> the product with t in place i, where t's leading axes are axes of the product
raised: dict[Callable[..., Any], Any] = {}


# -------------------------------------------------------------------------------- matmul


def _matmul(a: Any, b: Any, *, ndims: tuple[int, int]) -> Any:
    na, nb = ndims
    if ndim_of(a) > na:
        if (nb <= 2 and na == 1) or nb == 1:
            return np.matmul(a, b)
        if na == 1:
            k, m = a.shape
            return np.matmul(a.reshape((k,) + (1,) * (nb - 1) + (m,)), b)[..., 0, :]
        return np.matmul(_aligned(a, na, nb), b)
    if ndim_of(b) > nb:
        if nb > 1:
            return np.matmul(a, _aligned(b, nb, na))
        if na <= 2:
            return np.matmul(b, a.T)
        k, m = b.shape
        return np.matmul(a, b.reshape((k,) + (1,) * (na - 2) + (m, 1)))[..., 0]
    return np.matmul(a, b)


def _aligned(x: Any, ndim: int, other: int) -> Any:
    """x with axes of length one after its leading axis, up to the rank of the other factor."""
    if other <= ndim:
        return x
    return x.reshape(x.shape[:1] + (1,) * (other - ndim) + x.shape[1:])


def _matmul_transpose(ct: Any, i: int, args: Any, shapes: Any, *, ndims: tuple[int, int]) -> Any:
    na, nb = ndims
    a = b = _adjoint(args[1 - i])
    if i == 0:
        if nb == 1:
            out = multiply(_last(ct), b)
        elif na == 1:
            out = matmul(ct, b) if nb == 2 else getitem(matmul(_swap(b), _last(ct)), (..., 0))
        else:
            out = matmul(ct, b)
    elif na == 1:
        if nb == 1:
            out = multiply(_last(ct), a)
        else:
            out = multiply(reshape(a, (-1, 1)), expand_dims(ct, -2))
    elif nb == 1:
        out = matmul(ct, _swap(a)) if na == 2 else getitem(matmul(a, _last(ct)), (..., 0))
    else:
        out = matmul(a, ct)
    return unbroadcast(out, shapes[i], ndims[i])


def _last(x: Any) -> Any:
    return np.reshape(x, (1,)) if type(x) is float else expand_dims(x, -1)


def _adjoint(x: Any) -> Any:
    """Conjugate transpose of the last two axes (a vector: its conjugate)."""
    x = _swap(x)
    return conjugate(x) if x.dtype.kind == "c" else x


def _swap(x: Any) -> Any:
    if type(x) is np.ndarray:
        return x.swapaxes(-1, -2) if x.ndim > 1 else x
    n = ndim_of(x)
    return x if n < 2 else transpose(x, (*range(n - 2), n - 1, n - 2))


_matmul_row = Multilinear(
    "matmul",
    _matmul,
    _matmul_transpose,
    samples=tuple(
        ((a, b), {"ndims": (len(a), len(b))})
        for a, b in (
            ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)),
            ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)),
            ((5, 1, 2, 3), (4, 3, 2)),
        )
    ),
)  # fmt: skip


def _raised_matmul(args: list[Any], i: int, t: Any, *, ndims: tuple[int, int]) -> Any:
    shape = shape_of(t)
    lead = shape[: len(shape) - ndims[i]]
    own = shape[len(lead) :]
    matrix = own if len(own) > 1 else (1, *own) if i == 0 else (*own, 1)
    other = args[1 - i]
    if ndims[1 - i] == 1:
        other = expand_dims(other, i - 1)
    t = reshape(t, lead + (1,) * (ndim_of(other) - len(matrix)) + matrix)
    y = matmul(t, other) if i == 0 else matmul(other, t)
    if ndims[0] == 1:
        y = getitem(y, (..., 0, slice(None)))
    return getitem(y, (..., 0)) if ndims[1] == 1 else y


raised[_matmul_row] = _raised_matmul


def matmul(a: Any, b: Any) -> Any:
    """The matrix product, as ``@``."""
    if type(a) is np.ndarray is type(b) and a.dtype != OBJECT != b.dtype:
        return np.matmul(a, b)
    a, b = as_array(a), as_array(b)
    na, nb = ndim_of(a), ndim_of(b)
    if not na or not nb:
        raise ValueError("matmul: an operand has no axes; write * to multiply by a number")
    return _matmul_row(a, b, ndims=(na, nb))


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """``np.dot``: a product of numbers, vectors or matrices; sums the last axis of a."""
    a, b = as_array(a), as_array(b)
    na, nb = ndim_of(a), ndim_of(b)
    if not na or not nb:
        return multiply(a, b)
    if nb == 1 or (na <= 2 and nb <= 2):
        return _matmul_row(a, b, ndims=(na, nb))
    return tensordot(a, b, (na - 1, nb - 2))


def inner(a: Any, b: Any) -> Any:
    """Sum of products over the last axes."""
    a, b = as_array(a), as_array(b)
    if not ndim_of(a) or not ndim_of(b):
        return multiply(a, b)
    return tensordot(a, b, (ndim_of(a) - 1, ndim_of(b) - 1))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of the entries of two flattened arrays."""
    return multiply(reshape(as_array(a), (-1, 1)), reshape(as_array(b), (-1,)))


def vdot(a: Any, b: Any) -> Any:
    """The inner product of flattened arrays, the first conjugated."""
    a, b = reshape(as_array(a), (-1,)), reshape(as_array(b), (-1,))
    return matmul(conjugate(a) if np.dtype(a.dtype).kind == "c" else a, b)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over given axes of each."""
    a, b = as_array(a), as_array(b)
    na, nb = ndim_of(a), ndim_of(b)
    if isinstance(axes, (int, np.integer)):
        over_a, over_b = tuple(range(na - int(axes), na)), tuple(range(int(axes)))
    else:
        over_a, over_b = (tuple(np.atleast_1d(np.asarray(x)).tolist()) for x in axes)
    over_a = tuple(x + na for x in axes_from_end(over_a, na))
    over_b = tuple(x + nb for x in axes_from_end(over_b, nb))
    shape_a, shape_b = shape_of(a), shape_of(b)
    if [shape_a[x] for x in over_a] != [shape_b[x] for x in over_b]:
        raise ValueError("shape-mismatch for sum")
    if na == nb == len(over_a) == 1:
        return matmul(a, b)
    keep_a = tuple(x for x in range(na) if x not in over_a)
    keep_b = tuple(x for x in range(nb) if x not in over_b)
    m = math.prod(shape_a[x] for x in over_a)
    left = reshape(transpose(a, keep_a + over_a), (math.prod(shape_a[x] for x in keep_a), m))
    right = reshape(transpose(b, over_b + keep_b), (m, math.prod(shape_b[x] for x in keep_b)))
    shape = tuple(shape_a[x] for x in keep_a) + tuple(shape_b[x] for x in keep_b)
    return reshape(matmul(left, right), shape)


# -------------------------------------------------------------------------------- einsum


def _einsum(*operands: Any, terms: tuple[str, ...], out: str, ndims: tuple[int, ...]) -> Any:
    lead = [ndim_of(x) > n for x, n in zip(operands, ndims, strict=True)]
    left = ",".join("..." * e + t for e, t in zip(lead, terms, strict=True))
    big = len(operands) > 2 or max(np.size(x) for x in operands) > 4096
    return np.einsum(f"{left}->{'...' * any(lead)}{out}", *operands, optimize=big)


def _einsum_transpose(
    ct: Any, i: int, args: Any, shapes: Any, *, terms: Any, out: str, ndims: Any
) -> Any:
    others = [j for j in range(len(args)) if j != i]
    known = set(out).union(*(terms[j] for j in others))
    term = "".join(c for c in terms[i] if c in known)
    operands = [conjugate(args[j]) if dtype_of(args[j]).kind == "c" else args[j]
                for j in others]  # fmt: skip
    lead = _spare(terms, out)[: ndim_of(ct) - len(out)]
    y = _einsum_row(
        ct,
        *operands,
        terms=(lead + out, *(terms[j] for j in others)),
        out=lead + term,
        ndims=(ndim_of(ct), *(ndims[j] for j in others)),
    )
    if term != terms[i]:  # an index summed over in this argument alone: its cotangent is constant
        axes = tuple(p - ndims[i] for p, c in enumerate(terms[i]) if c not in known)
        y = broadcast_to(expand_dims(y, axes), shapes[i])
    return y


_einsum_row = Multilinear(
    "einsum",
    _einsum,
    _einsum_transpose,
    samples=(
        (((2, 3), (3, 4)), {"terms": ("ij", "jk"), "out": "ki", "ndims": (2, 2)}),
        (((2, 3), (3, 2), (2,)), {"terms": ("ij", "ji", "i"), "out": "j", "ndims": (2, 2, 1)}),
        (((2, 3),), {"terms": ("ij",), "out": "i", "ndims": (2,)}),
    ),
)


def _spare(terms: Any, out: str) -> str:
    """Letters that no term uses."""
    used = set(out).union(*terms)
    return "".join(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in used)


def _raised_einsum(
    args: list[Any], i: int, t: Any, *, terms: Any, out: str, ndims: tuple[int, ...]
) -> Any:
    lead = _spare(terms, out)[: ndim_of(t) - ndims[i]]
    args[i] = t
    return _einsum_row(
        *args,
        terms=(*terms[:i], lead + terms[i], *terms[i + 1 :]),
        out=lead + out,
        ndims=(*ndims[:i], ndim_of(t), *ndims[i + 1 :]),
    )


raised[_einsum_row] = _raised_einsum


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Einstein summation, with or without an explicit output, with or without an ellipsis."""
    subscripts, xs = _subscripts(operands)
    terms, result = _explicit(subscripts, [ndim_of(x) for x in xs])
    for j, (x, term) in enumerate(zip(xs, terms, strict=True)):
        xs[j], terms[j] = _diagonals(x, term)
    return _einsum_row(*xs, terms=tuple(terms), out=result, ndims=tuple(ndim_of(x) for x in xs))


def _subscripts(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_array(x) for x in operands[1:]]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def term(axes: Any) -> str:
        return "".join("..." if a is Ellipsis else letters[a] for a in axes)

    pairs = len(operands) // 2
    text = ",".join(term(operands[2 * j + 1]) for j in range(pairs))
    if len(operands) % 2:
        text += "->" + term(operands[-1])
    return text, [as_array(operands[2 * j]) for j in range(pairs)]


def _explicit(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """Terms and output with the ellipsis spelled out in letters of its own."""
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(ndims)} operands")
    used = set(subscripts)
    spare = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in used]
    width = max(
        (n - len(t) + 3 for t, n in zip(terms, ndims, strict=True) if "..." in t), default=0
    )
    dots = "".join(spare[:width])
    for j, (t, n) in enumerate(zip(terms, ndims, strict=True)):
        if "..." in t:
            w = n - len(t) + 3
            terms[j] = t.replace("...", dots[width - w :])
        if len(terms[j]) != n:
            found = len(terms[j])
            raise ValueError(f"einsum: term {t!r} names {found} axes of an operand with {n}")
    if arrow:
        return terms, right.replace("...", dots)
    joined = "".join(terms)
    once = sorted(c for c in set(joined) - set(dots) if joined.count(c) == 1)
    return terms, dots + "".join(once)


def _diagonals(x: Any, term: str) -> tuple[Any, str]:
    """An operand with a repeated index replaced by its diagonal."""
    while len(set(term)) != len(term):
        c = next(c for c in term if term.count(c) > 1)
        p = term.index(c)
        q = term.index(c, p + 1)
        rest = [j for j in range(len(term)) if j not in (p, q)]
        x = transpose(x, (p, q, *rest))
        n = np.arange(shape_of(x)[0])
        x = getitem(x, (n, n))
        term = c + "".join(term[j] for j in rest)
    return x, term


for _functions, _answer in (
    ((np.matmul, np.linalg.matmul), matmul), ((np.dot,), dot), ((np.inner,), inner),
    ((np.outer, np.linalg.outer), outer), ((np.vdot,), vdot),
    ((np.tensordot, np.linalg.tensordot), tensordot), ((np.einsum,), einsum),
):  # fmt: skip
    implements(*_functions)(_answer)

__all__ = [
    "dot", "einsum", "from_end", "has_nan", "inner", "is_nonzero", "matmul", "outer", "strong",
    "tensordot", "vdot",
]  # fmt: skip
