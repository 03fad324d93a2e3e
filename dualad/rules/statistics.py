"""Order statistics, covariances and counts.

A quantile is a sorted array read at a position, between two entries.  Where that is, NumPy
says itself: the quantile of the *ranks* 0 ... n-1 is the position, by any of its
methods, with weights and with NaNs left out.  So nothing of those methods is written here a
second time, and only reading is differentiated.  Ties share, since sorting does.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dualad.primitive import Number, implements, shape_of, value_of
from dualad.rules.lifting import as_array, dtype_of, plainly
from dualad.rules.linear import astype, concatenate, conjugate, getitem, ndim_of, reshape, transpose
from dualad.rules.linear import sum as sum_over
from dualad.rules.multilinear import dot
from dualad.rules.reductions import average, kept_shape, one_axis, spread
from dualad.rules.selection import max, min, put_along_row, sort, take_along_axis

# ------------------------------------------------------------------------------- quantiles


def _lanes(a: Any, axis: Any) -> Any:
    """a with the axes made into one, which is the last."""
    x, at = one_axis(a, axis)
    if at == -1:
        return x
    order = list(range(ndim_of(x)))
    order.append(order.pop(at))
    return transpose(x, order)


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The entry in the middle, or the mean of the two there."""
    a = as_array(a)
    s = sort(_lanes(a, axis))
    n = shape_of(s)[-1]
    if n == 0:
        return np.median(value_of(a), axis=axis, keepdims=bool(keepdims))
    y = getitem(s, (..., n // 2))
    if n % 2 == 0:
        y = (getitem(s, (..., n // 2 - 1)) + y) * 0.5
    y = _nan_if_any(y, value_of(s)[..., -1])
    return reshape(y, kept_shape(shape_of(a), axis)) if keepdims else y


def _nan_if_any(y: Any, last: Any) -> Any:
    """NaNs are sorted to the end: one there makes the result NaN."""
    missing = np.isnan(last)
    return np.where(missing, np.nan, y) if np.any(missing) else y


#: by how much more than n - 1 the position moves with q; methods not named move in steps
_MOVES = {
    "linear": 0.0, "interpolated_inverted_cdf": 1.0, "hazen": 1.0, "weibull": 2.0,
    "median_unbiased": 4 / 3, "normal_unbiased": 5 / 4,
}  # fmt: skip


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, skips_nan: bool = False
) -> Any:
    a = as_array(a)
    shape, q_shape = shape_of(a), shape_of(q)
    lanes = _lanes(a, axis)
    count: Any = shape_of(lanes)[-1]
    missing = np.isnan(value_of(lanes))
    steps = value_of(reshape(q, (-1,)))
    of_ranks: Any = np.nanquantile if skips_nan else np.quantile
    if weights is None and not (skips_nan and np.any(missing)):
        place = of_ranks(np.arange(float(count)), steps, method=method)
    else:
        ranks: Any = np.argsort(np.argsort(value_of(lanes), -1, kind="stable"), -1).astype(float)
        if skips_nan:
            ranks = np.where(missing, np.nan, ranks)
            count = np.sum(~missing, axis=-1, keepdims=True)
        if weights is not None:
            weights = _lanes(spread(np.asarray(plainly(weights)), shape, axis), axis)
        place = of_ranks(ranks, steps, axis=-1, method=method, weights=weights)
        place = np.moveaxis(place, 0, -1)
    if type(q) in (int, float):  # which has no precision of its own
        place = place.astype(dtype_of(a))
    s = sort(lanes)
    y = _read(s, place, reshape(q, (-1,)), count, method)
    if not skips_nan:
        y = _nan_if_any(y, value_of(s)[..., -1:])
    y = transpose(y, (-1, *range(ndim_of(y) - 1)))
    return reshape(y, q_shape + (kept_shape(shape, axis) if keepdims else shape_of(y)[1:]))


def _read(s: Any, place: Any, q: Any, count: Any, method: str) -> Any:
    """Sorted lanes read at places, which are the same for all of them or one set a lane."""

    def entry(index: Any) -> Any:
        return getitem(s, (..., index)) if index.ndim == 1 else take_along_axis(s, index, -1)

    nowhere = np.isnan(place)  # a lane with nothing but NaN
    place = np.where(nowhere, 0.0, place)
    below = np.floor(place).astype(np.intp)
    part: Any = place - below.astype(place.dtype)
    above = below + (part > 0)
    if isinstance(q, Number) and method in _MOVES:
        # At an entry the slope changes: take the side where it is smaller.
        last = count - 1
        inside = (place > 0) & (place < last)
        left, here, right = (
            value_of(entry(np.clip(below + i, 0, np.maximum(last, 0)))) for i in (-1, 0, 1)
        )
        from_left = (part == 0) & (below > 0) & ((here - left < right - here) | (place == last))
        below, part = np.where(from_left, below - 1, below), np.where(from_left, 1.0, part)
        above = np.minimum(below + 1, np.maximum(last, 0))
        rate = (count - 1 + _MOVES[method]) * (inside | (method == "linear"))
        part = part + rate * (q - value_of(q))
    y = entry(below)
    if isinstance(part, Number) or np.any(part):
        y = y + (entry(above) - y) * part
    return np.where(nowhere, np.nan, y) if np.any(nowhere) else y


@implements(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """Quantiles, by any of NumPy's methods; also differentiated in q."""
    method = interpolation or method
    return _quantile(a, as_array(q), axis, method, keepdims, weights)


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """Quantiles, with q in percent."""
    method = interpolation or method
    return _quantile(a, as_array(q) / 100.0, axis, method, keepdims, weights)


@implements(np.nanquantile)
def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """Quantiles of what is not NaN."""
    method = interpolation or method
    return _quantile(a, as_array(q), axis, method, keepdims, weights, skips_nan=True)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: Any = False, *, weights: Any = None,
    interpolation: Any = None,
) -> Any:  # fmt: skip
    """Quantiles of what is not NaN, with q in percent."""
    method = interpolation or method
    return _quantile(a, as_array(q) / 100.0, axis, method, keepdims, weights, skips_nan=True)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The median of what is not NaN."""
    a = as_array(a)
    if not np.any(np.isnan(value_of(a))):
        return median(a, axis, out, keepdims=keepdims)
    return _quantile(a, 0.5, axis, "linear", keepdims, None, skips_nan=True)


# ----------------------------------------------------------------------------- covariances


def _observations(m: Any, rowvar: bool) -> Any:
    m = as_array(m)
    if ndim_of(m) > 2:
        raise ValueError("m has more than 2 dimensions")
    if ndim_of(m) < 2:
        return reshape(m, (1, -1))
    return m if rowvar else transpose(m)


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix of variables in rows, with weights if given."""
    x = _observations(m, rowvar)
    if y is not None:
        x = concatenate([x, _observations(y, rowvar)], 0)
    if dtype is not None:
        x = astype(x, dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w: Any = None
    if fweights is not None:
        w = np.asarray(plainly(fweights))
    if aweights is not None:
        aweights = as_array(aweights)
        w = aweights if w is None else w * aweights
    center, total = average(x, 1, w, returned=True)
    total = total[0]
    if w is None or ddof == 0 or aweights is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * sum_over(w * aweights) / total
    if value_of(freedom) <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = np.float64(0.0)
    x = x - reshape(center, (-1, 1))
    weighted = transpose(x if w is None else x * w)
    c = dot(x, conjugate(weighted) if dtype_of(x).kind == "c" else weighted) / freedom
    return reshape(c, ()) if shape_of(c) == (1, 1) else c


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The matrix of correlations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    i = np.arange(shape_of(c)[0])
    spread_of = np.sqrt(np.real(getitem(c, (i, i))))
    c = c / reshape(spread_of, (-1, 1)) / spread_of
    value = value_of(c)
    if np.iscomplexobj(value) or not np.any(np.abs(value) > 1):
        return c
    return np.where(np.abs(value) > 1, np.sign(value), c)  # beyond 1 by rounding


# ---------------------------------------------------------------------------------- counts


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each integer occurs, or the sum of the weights that come with it."""
    x = plainly(x)
    weights = as_array(weights)
    if not isinstance(weights, Number):
        return np.bincount(x, weights, minlength)
    weights = astype(weights, np.float64)
    x = np.asarray(x)
    length = np.bincount(x, minlength=minlength).size
    if x.shape != shape_of(weights):
        raise ValueError("The weights and list don't have the same length.")
    return put_along_row(weights, index=x, axis=-1, length=length)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins; between the ends of the data they move with those."""
    a, bins = as_array(a), as_array(bins)
    edges = np.histogram_bin_edges(value_of(a), value_of(bins), range, plainly(weights))
    if shape_of(bins) or not isinstance(a, Number) or range is not None or 0 in shape_of(a):
        return bins if isinstance(bins, Number) else edges
    part = (edges - edges[0]) / (edges[-1] - edges[0])
    low, high = min(a), max(a)
    return edges + (low - value_of(low)) * (1.0 - part) + (high - value_of(high)) * part


@implements(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts, or sums of weights, in bins, and their edges; counts move in steps: no slope."""
    weights = as_array(weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    data, cuts = np.ravel(plainly(a)), value_of(edges)
    if isinstance(weights, Number):
        place = np.searchsorted(cuts, data, "right") - 1
        place = np.where(data == cuts[-1], len(cuts) - 2, place)
        inside = (data >= cuts[0]) & (data <= cuts[-1])
        counts = put_along_row(
            getitem(reshape(weights, (-1,)), (inside,)),
            index=place[inside], axis=-1, length=len(cuts) - 1,
        )  # fmt: skip
    else:
        counts = np.histogram(data, cuts, weights=None if weights is None else np.ravel(weights))[0]
    if density:
        widths = edges[1:] - edges[:-1]
        counts = counts / (widths * sum_over(counts))
    return counts, edges


__all__ = [
    "bincount", "corrcoef", "cov", "histogram", "histogram_bin_edges", "median", "nanmedian",
    "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip
