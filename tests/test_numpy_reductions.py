"""Reductions, statistics and sorting: each call as users write it, and what holds at hard points.

Calls are checked as in ``call`` of conftest: values, slopes against differences, forward against
reverse, k directions against one, hyper-dual against nested.  The hard points are zeros
under a product, equal entries under a root, ties, and NaNs that are left out.
"""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest

import dualad as ad

CALLS = """
    np.prod(x)
    np.prod(A)
    np.prod(A, 0)
    np.prod(A, axis=-1, keepdims=True)
    np.prod(S, axis=(0, 2))
    np.prod(S, axis=(-1, 1), keepdims=True)
    np.prod(S, axis=())
    np.prod(A, axis=1, initial=2.5)
    np.prod(A, axis=1, initial=c)
    np.prod(A, axis=0, where=A > 0)
    np.prod(A, axis=0, dtype=np.float64)
    np.cumprod(A, axis=0, dtype=float)
    np.var(A, axis=0, dtype=float)
    np.prod(c)
    np.prod(e) + np.sum(x)
    np.prod(E, axis=0) * np.sum(x)
    np.prod([c, d, c])
    np.prod(A, axis=0, out=np.zeros_like(x))
    x.prod()
    A.prod(1)
    np.multiply.reduce(A)
    np.cumprod(x)
    np.cumprod(A)
    np.cumprod(S, axis=1)
    np.cumprod(A, axis=-2)
    A.cumprod(1)
    np.multiply.accumulate(A, axis=1)
    np.cumulative_prod(x)
    np.cumulative_prod(A, axis=1, include_initial=True)
    np.cumulative_sum(x)
    np.cumulative_sum(A, axis=-2, include_initial=True)
    np.var(x)
    np.var(A, 0)
    np.var(A, axis=1, ddof=1, keepdims=True)
    np.var(S, axis=(0, 2), correction=1)
    np.var(A, axis=0, where=A > -1)
    np.var(A, axis=0, mean=np.mean(A, axis=0, keepdims=True))
    np.var(A, axis=0, mean=d)
    np.var(x + 1j * y)
    np.var([c, d, 2.0])
    A.var(0)
    np.std(x)
    np.std(A, axis=-1)
    np.std(S, axis=(0, 1), ddof=2)
    np.std(A, axis=1, where=A > -1, keepdims=True)
    np.std([x, y], axis=0)
    A.std()
    np.ptp(x)
    np.ptp(A, axis=0)
    np.ptp(S, axis=(1, 2), keepdims=True)
    np.average(x)
    np.average(A, axis=0)
    np.average(x, weights=y)
    np.average(A, weights=A**2)
    np.average(A, axis=1, weights=x + 3)
    np.average(A, axis=-2, weights=[c, d, 1.0])
    np.average(S, axis=(2, 0), weights=V[:, :2] + 2, keepdims=True)
    np.average(A, axis=1, weights=x + 3, returned=True)
    np.average(x, returned=True)
    np.nansum(A)
    np.nansum(np.where(A > 1, np.nan, A), axis=0)
    np.nanprod(np.where(A > 1, np.nan, A), axis=1, keepdims=True)
    np.nanmean(np.where(A > 1, np.nan, A), axis=0)
    np.nanvar(np.where(A > 2, np.nan, A), axis=0, ddof=1)
    np.nanstd(np.where(A > 1, np.nan, A))
    np.nanmax(np.where(A > 1, np.nan, A), axis=0)
    np.nanmin(np.where(A > 1, np.nan, A), axis=1, keepdims=True)
    np.nanmax(A, axis=0, initial=-9.0, where=A > 0)
    np.nancumsum(np.where(A > 1, np.nan, A), axis=0)
    np.nancumprod(np.where(A > 1, np.nan, A))
    np.nanmedian(np.where(A > 1, np.nan, A))
    np.nanmedian(np.where(A > 1, np.nan, A), axis=1)
    np.nanmedian(A, axis=0)
    np.nanquantile(np.where(A > 1, np.nan, A), [0.2, 0.7], axis=0)
    np.nanquantile(np.where(A > 1, np.nan, A), [[0.2, 0.7]], axis=(0, 1), keepdims=True)
    np.nanpercentile(np.where(A > 1, np.nan, A), 30, axis=-1, method="hazen")
    np.nanpercentile(A, 30)
    np.max(A, axis=0)
    np.max(S, axis=(0, -1), keepdims=True)
    np.max(A, axis=1, initial=1.0)
    np.max(A, axis=1, initial=-5.0, where=A < 1)
    np.min(A, axis=1)
    np.amin(x)
    x.max()
    np.sort(x)
    np.sort(A, axis=0)
    np.sort(A, axis=None)
    np.sort(V)
    np.partition(x, 2)
    np.partition(A, (0, 2), axis=-1)
    np.partition(A, 1, axis=0)
    np.partition(A, 5, axis=None)
    np.median(x)
    np.median(x[:3])
    np.median(A, axis=0)
    np.median(S, axis=(0, 2), keepdims=True)
    np.median([x, y, x + y], axis=0)
    np.quantile(x, 0.3)
    np.quantile(x, [0.0, 0.4, 1.0])
    np.quantile(A, [[0.2], [0.9]], axis=1)
    np.quantile(S, 0.35, axis=(0, 2), keepdims=True)
    np.quantile(x, 0.3 * c)
    np.quantile(A, np.abs(x) / 4, axis=1)
    np.quantile(x, [0.2, 0.6], method="inverted_cdf", weights=[1.0, 2.0, 0.5, 1.0])
    np.quantile(A, 0.6, axis=0, method="inverted_cdf", weights=[1.0, 2.0, 0.5])
    np.percentile(A, [25, 80], axis=0)
    np.percentile(x, 40 * c)
    np.cov(A)
    np.cov(x)
    np.cov(x, y)
    np.cov(A, rowvar=False, bias=True)
    np.cov(A, fweights=[1, 2, 1, 3], aweights=x + 3)
    np.cov(A, aweights=x + 3, ddof=0)
    np.cov(A + 1j * A**2)
    np.cov(A, dtype=float)
    np.corrcoef(A)
    np.corrcoef(x, y)
    np.corrcoef(A[:, :3], rowvar=False)
    np.bincount([0, 3, 1, 1], x)
    np.bincount([0, 3, 1, 1], weights=x, minlength=6)
    np.histogram([0.1, 0.7, 0.8, 0.3], bins=3, weights=x)
    np.histogram(x, bins=3)
    np.histogram(x, bins=[-2.0, 0.0, 1.0, 3.0], weights=y, density=True)
    np.histogram(A, bins=3, density=True)
    np.histogram_bin_edges(A, 4)
"""

METHODS = """
    inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull
    linear median_unbiased normal_unbiased lower higher midpoint nearest
"""

LISTED = [line.strip() for line in CALLS.strip().splitlines()]


@pytest.mark.parametrize("text", LISTED)
def test_a_call_is_right_in_every_mode(call, text):
    call(text)


@pytest.mark.parametrize("method", METHODS.split())
def test_every_method_of_quantile(call, method):
    call(f'np.quantile(A, [0.3, 0.55], axis=1, method="{method}")')
    call(f'np.quantile(x, 0.4 * c, method="{method}")')
    call(f'np.nanquantile(np.where(A > 2, np.nan, A), 0.4 * c, axis=1, method="{method}")')


# ----------------------------------------------------------------------------- hard points

MODES = ("hyperdual", "forward", "reverse")


def others(x: np.ndarray, *left_out: int) -> float:
    return float(np.prod(np.delete(x, left_out)))


@pytest.mark.parametrize("zeros", [(), (1,), (1, 4), (0, 2, 5)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_a_product_is_right_at_zeros_to_second_order(n, zeros, agree):
    x = np.arange(1.0, n + 1.0)
    x[[z for z in zeros if z < n]] = 0.0
    pairs = itertools.product(range(n), repeat=2)
    second = np.array([0.0 if i == j else others(x, i, j) for i, j in pairs]).reshape(n, n)
    with np.errstate(all="raise"):
        for mode in ("forward", "reverse"):
            agree(ad.grad(np.prod, mode=mode)(x), np.array([others(x, i) for i in range(n)]))
        for mode in MODES:
            agree(ad.hessian(np.prod, mode=mode)(x), second)


def test_running_products_are_right_at_zeros(agree):
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    n = len(x)
    rows = [[others(x[: i + 1], j) if j <= i else 0.0 for j in range(n)] for i in range(n)]
    for mode in ("forward", "reverse"):
        agree(ad.jacobian(np.cumprod, mode=mode)(x), np.array(rows))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (np.prod, [0.0, 1e200, 1.0, 1e200]),
        (lambda x: np.prod(x[:, None], axis=0, keepdims=True)[0, 0], [0.0, 1e200, 1.0, 1e200]),
        (lambda x: np.cumprod(x)[-1], [0.0, 1.0, 1e200, 1e200]),
    ],
)
def test_products_overflow_where_those_of_numpy_do(f, x):
    # From left to right 0 * 1e200 * ... is 0; by halves, or pairs, it would be 0 * inf.
    x = np.array(x)
    with np.errstate(over="ignore", invalid="ignore"):
        assert ad.jvp(f, (x,), (np.ones(4),))[0] == f(x) == 0.0


@pytest.mark.parametrize("f", [np.std, np.nanstd, lambda x: np.std(x, ddof=1)])
def test_the_spread_of_equal_entries_has_slope_zero(f):
    x = np.full(4, 1.7)
    with np.errstate(all="raise"):
        for mode in ("forward", "reverse"):
            assert np.array_equal(ad.grad(f, mode=mode)(x), np.zeros(4))
        for mode in MODES:
            assert np.array_equal(ad.hessian(f, mode=mode)(x), np.zeros((4, 4)))


TIES = [
    (np.max, [3.0, 1.0, 3.0, 3.0], [1 / 3, 0.0, 1 / 3, 1 / 3]),
    (np.min, [3.0, 1.0, 1.0, 3.0], [0.0, 0.5, 0.5, 0.0]),
    (np.nanmax, [3.0, np.nan, 3.0], [0.5, 0.0, 0.5]),
    (np.median, [2.0, 1.0, 2.0, 2.0, 5.0], [1 / 3, 0.0, 1 / 3, 1 / 3, 0.0]),
    (np.median, [1.0, 2.0, 2.0, 3.0], [0.0, 0.5, 0.5, 0.0]),
    (lambda x: np.quantile(x, 0.25), [1.0, 1.0, 4.0, 7.0, 9.0], [0.5, 0.5, 0.0, 0.0, 0.0]),
    (lambda x: np.sort(x)[1], [4.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    (lambda x: np.partition(x, 1)[1], [4.0, 2.0, 2.0], [0.0, 0.5, 0.5]),
    (np.ptp, [1.0, 1.0, 2.0, 2.0], [-0.5, -0.5, 0.5, 0.5]),
    (np.logaddexp.reduce, [-np.inf, 0.0, 0.0], [0.0, 0.5, 0.5]),
]


@pytest.mark.parametrize(("f", "x", "shares"), TIES)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_ties_share_the_slope(f, x, shares, mode, agree):
    agree(ad.grad(f, mode=mode)(np.array(x)), np.array(shares))


def test_ties_share_in_each_lane_by_itself(agree):
    A = np.array([[2.0, 2.0, 1.0], [1.0, 3.0, 2.0], [5.0, 5.0, 5.0]])
    each = [ad.jacobian(np.sort)(row) for row in A]
    for mode in ("forward", "reverse"):
        J = ad.jacobian(np.sort, mode=mode)(A)
        agree([J[i, :, i] for i in range(3)], each)
        agree(ad.jacobian(lambda B: np.sort(B, axis=0).T, mode=mode)(A.T).swapaxes(-1, -2), J)


SMALLER_SIDE = [
    (0.5, [0.0, 1.0, 3.0], 2.0),  # 2 before, 4 behind
    (0.5, [0.0, 3.0, 4.0], 2.0),
    (0.0, [0.0, 3.0, 4.0], 6.0),  # outside there is no quantile
    (1.0, [0.0, 3.0, 4.0], 2.0),
]


@pytest.mark.parametrize(("q", "x", "slope"), SMALLER_SIDE)
def test_the_slope_in_q_at_an_entry_is_the_smaller_one(q, x, slope):
    for mode in ("forward", "reverse"):
        assert ad.grad(lambda q: np.quantile(x, q), mode=mode)(q) == pytest.approx(slope)


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmedian"]
)
def test_a_nan_that_is_left_out_has_no_slope(name, agree):
    f = getattr(np, name)
    x = np.array([1.3, np.nan, 0.7, 2.0, np.nan])
    there = ~np.isnan(x)
    with np.errstate(all="raise"):
        for mode in ("forward", "reverse"):
            slope = ad.grad(f, mode=mode)(x)
            assert np.array_equal(slope[~there], np.zeros(2))
            agree(slope[there], ad.grad(f)(x[there]))
        for mode in MODES:
            second = ad.hessian(f, mode=mode)(x)
            agree(second[np.ix_(there, there)], ad.hessian(f)(x[there]))
            assert np.array_equal(second[~there], np.zeros((2, 5)))


CHUNKED = [t for t in LISTED if re.search(r"\bA\b", t) and not re.search(r"\b[xcSVE]\b", t)]


@pytest.mark.parametrize("text", [t for t in CHUNKED if "histogram" not in t and "1j" not in t])
def test_as_many_directions_as_rows(text, agree):
    """Where k is a leading dimension, a direction axis taken for an entry axis goes unnoticed."""
    A = np.array([[0.5, -1.1, 0.9, 1.7], [2.3, 0.2, -0.4, 0.6], [-0.8, 1.4, 1.2, -0.3]])
    f = eval(f"lambda A: {text}", {"np": np, "d": 1.3})
    wanted = ad.jacobian(f, mode="reverse")(A)
    for k in A.shape:
        agree(ad.jacobian(f, mode="forward", chunk=k)(A), wanted)


def test_a_result_without_degrees_of_freedom_warns_as_numpy_does():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        ad.jvp(np.cov, (np.array([[1.0]]),), (np.array([[1.0]]),))


def test_weights_that_sum_to_zero_are_refused():
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        ad.grad(lambda w: np.average([1.0, 2.0], weights=w))(np.array([1.0, -1.0]))


KEEPING = """
    np.prod np.cumprod np.var np.std np.ptp np.average np.median np.nansum np.nanprod np.nanmean
    np.nanvar np.nanstd np.nanmax np.nanmedian np.sort np.cov np.corrcoef np.logaddexp.reduce
    np.diff np.ediff1d np.trapezoid np.unwrap np.gradient np.polyder np.poly np.roots
    np.fft.fft np.fft.rfft np.fft.irfft np.fft.hfft
"""


@pytest.mark.parametrize("name", KEEPING.split())
def test_single_precision_stays_what_numpy_makes_of_it(name):
    f = eval(name, {"np": np})
    x = np.array([0.3, -1.2, 0.8, 1.9], np.float32)
    wanted = np.asarray(f(x)).dtype
    y, slope = ad.jvp(f, (x,), (np.ones_like(x),))
    assert (np.asarray(y).dtype, np.asarray(slope).dtype) == (wanted, wanted)
    y, pullback = ad.vjp(f, x)
    assert pullback(np.ones_like(y))[0].dtype == np.float32


@pytest.mark.parametrize("f", [np.mean, np.var, np.std, lambda x: np.var(x, ddof=1)])
def test_a_reduction_of_nothing_is_nan_as_in_numpy(f):
    nothing = np.zeros(0)
    with np.errstate(all="ignore"):
        for y in (ad.jvp(f, (nothing,), (nothing,))[0], ad.vjp(f, nothing)[0]):
            assert type(y) is float
            assert np.isnan(y)


@pytest.mark.parametrize("f", [np.median, lambda x: np.quantile(x, 0.3), np.cov, np.prod])
def test_a_result_without_axes_is_a_float(f):
    y, slope = ad.jvp(f, (np.array([1.0, 3.0, 2.0]),), (np.ones(3),))
    assert type(y) is type(slope) is float


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [lambda s: s**2, np.square, lambda s: s * s, lambda s: s**4 + s**2])
def test_the_square_of_a_spread_is_smooth_where_the_spread_is_zero(f, mode, agree):
    x = np.full(3, 1.7)
    wanted = ad.hessian(np.var)(x)
    assert np.all(wanted != 0)
    agree(ad.hessian(lambda x: f(np.std(x)), mode=mode)(x), wanted)
    lanes = np.array([x, [1.0, 2.0, 4.0]])
    agree(ad.hessian(lambda A: np.sum(f(np.std(A, axis=1))), mode=mode)(lanes)[0, :, 0], wanted)


@pytest.mark.parametrize("f", [np.nanmax, np.nanmin, np.nanmean, np.nanmedian])
def test_a_lane_of_nothing_but_nan_is_nan_and_has_no_slope(f):
    A = np.array([[np.nan, np.nan], [1.0, 3.0]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y, pullback = ad.vjp(lambda A: f(A, axis=1), A)
        (slopes,) = pullback(np.array([0.0, 1.0]))
        assert np.array_equal(y, f(A, axis=1), equal_nan=True)
    assert np.array_equal(slopes[0], np.zeros(2))
    assert np.sum(slopes[1]) == pytest.approx(1.0)


INVALID = """
    np.prod(x, axis=1)
    np.cumprod(x, axis=1)
    np.cumulative_sum(A)
    np.cumulative_prod(A)
    np.max(x[:0])
    np.max(A, where=A > 0)
    np.sort(x, axis=2)
    np.partition(x, 9)
    np.median(A, axis=3)
    np.median(A, axis=(0, 0))
    np.quantile(x, 1.5)
    np.quantile(x, 0.5, method="middle")
    np.average(A, weights=x)
    np.average(A, weights=x[:2], axis=1)
    np.cov(A[None])
    np.bincount([0, 1], x)
    np.bincount([-1, 1, 0, 0], x)
    np.histogram([0.1, 0.2, 0.3, 0.4], bins=[1.0, 0.0], weights=x)
"""


@pytest.mark.parametrize("text", [line.strip() for line in INVALID.strip().splitlines()])
def test_an_invalid_call_raises_what_numpy_raises(text):
    f = eval(f"lambda x, A: {text}", {"np": np})
    x, A = np.arange(4.0), np.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as plain:  # noqa: PT011 - which one is NumPy's to say
        f(x, A)
    with pytest.raises(plain.type):
        ad.jvp(f, (x, A), (x, A))
