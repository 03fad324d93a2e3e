"""The ufuncs of scipy.special: partials against mpmath, and what is refused.

The oracle knows no derivative: it differentiates mpmath's functions numerically, with so many
digits that all of a double's are right.
"""

from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import dualad as ad
from dualad import rules
from dualad.primitive import NotDifferentiableError, Primitive, implementations
from dualad.rules import scipy_special

ROWS = [r for r in Primitive.table.values() if r.name.startswith("special.")]
DIGITS = 50


def huber(d, r):
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def boxcox(x, n):
    return (x**n - 1) / n


def integral(f):
    return lambda x: mp.quad(f, [0, x])


#: the function of each row, from mpmath
TRUE = {
    "gauss": lambda x: mp.exp(-x * x),
    "normal": mp.npdf,
    "erfc_integral": lambda x, n: erfc_integral(x, n),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda x: mp.erfc(x) * mp.exp(x * x),
    "erfinv": mp.erfinv,
    "erfcinv": lambda x: mp.erfinv(1 - x),
    "ndtr": mp.ncdf,
    "mills": lambda x: mp.npdf(x) / mp.ncdf(x),
    "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
    "ndtri": lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    "dawson_slope": lambda x: 1 - mp.sqrt(mp.pi) * x * mp.exp(-x * x) * mp.erfi(x),
    "fresnel_sine": mp.fresnels,
    "fresnel_cosine": mp.fresnelc,
    "polygamma": lambda x, n: mp.psi(n, x),
    "psi": mp.digamma,
    "gamma": mp.gamma,
    "gammaln": mp.loggamma,
    "loggamma": mp.loggamma,
    "rgamma": mp.rgamma,
    "beta": mp.beta,
    "betaln": lambda a, b: mp.log(mp.beta(a, b)),
    "gamma_density": lambda a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a),
    "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
    "beta_power": lambda x, p, q: x**p * (1 - x) ** q,
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betaincc": lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True),
    "zeta": mp.zeta,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "logit": lambda x: mp.log(x) - mp.log(1 - x),
    "log_expit": lambda x: -mp.log(1 + mp.exp(-x)),
    "xlogy": lambda x, y: x * mp.log(y),
    "xlog1py": lambda x, y: x * mp.log(1 + y),
    "entr": lambda x: -x * mp.log(x),
    "rel_entr": lambda x, y: x * mp.log(x / y),
    "kl_div": lambda x, y: x * mp.log(x / y) - x + y,
    "huber": huber,
    "pseudo_huber": lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "exp_moment": lambda x, n: mp.hyp1f1(n + 1, n + 2, x) / (n + 1),
    "exprel": lambda x: (mp.exp(x) - 1) / x,
    "expm1": lambda x: mp.exp(x) - 1,
    "log1p": lambda x: mp.log(1 + x),
    "exp2": lambda x: mp.mpf(2) ** x,
    "cbrt": lambda x: x ** (mp.mpf(1) / 3),
    "exp10": lambda x: mp.mpf(10) ** x,
    "cosm1": lambda x: mp.cos(x) - 1,
    "boxcox": boxcox,
    "boxcox1p": lambda x, n: boxcox(1 + x, n),
    "inv_boxcox": lambda y, n: (1 + n * y) ** (1 / n),
    "inv_boxcox1p": lambda y, n: (1 + n * y) ** (1 / n) - 1,
    "lambertw": lambda x, k, tol: mp.lambertw(x).real,
    "exp1": mp.e1,
    "expi": mp.ei,
    "expn": mp.expint,
    "spherical_jn": lambda n, x: mp.sqrt(mp.pi / 2 / x) * mp.besselj(n + mp.mpf(1) / 2, x),
    "spherical_in": lambda n, x: mp.sqrt(mp.pi / 2 / x) * mp.besseli(n + mp.mpf(1) / 2, x),
    "sine_integral": mp.si,
    "cosine_integral": mp.ci,
    "sinh_integral": mp.shi,
    "cosh_integral": mp.chi,
    "jv": mp.besselj,
    "yv": mp.bessely,
    "iv": mp.besseli,
    "kv": mp.besselk,
    "ive": lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)),
    "kve": lambda v, x: mp.besselk(v, x) * mp.exp(x),
    "yn": mp.bessely,
    "kn": mp.besselk,
    **{f"{k}{n}": (lambda x, f=f, n=n: f(n, x)) for n in (0, 1) for k, f in (
        ("j", mp.besselj), ("y", mp.bessely), ("i", mp.besseli), ("k", mp.besselk))},
    **{f"i{n}e": (lambda x, n=n: mp.besseli(n, x) * mp.exp(-abs(x))) for n in (0, 1)},
    **{f"k{n}e": (lambda x, n=n: mp.besselk(n, x) * mp.exp(x)) for n in (0, 1)},
    "ellipk": mp.ellipk,
    "ellipe": mp.ellipe,
    "ellipkm1": lambda p: mp.ellipk(1 - p),
    "ellipk_slope": lambda m: mp.diff(mp.ellipk, m),
    "ellipe_slope": lambda m: mp.diff(mp.ellipe, m),
    "ellipkm1_slope": lambda p: mp.diff(lambda q: mp.ellipk(1 - q), p),
}  # fmt: skip


def erfc_integral(x, n):
    """The n-th integral of erfc from x on, times exp(x*x), by its recurrence."""
    before, y = 2 / mp.sqrt(mp.pi), mp.erfc(x) * mp.exp(x * x)
    for k in range(1, n + 1):
        before, y = y, (before - 2 * x * y) / (2 * k)
    return y


def name_of(row):
    return row.name.removeprefix("special.")


def points_of(row):
    """Arguments drawn from a row's domain; a pair of integers stands for integers."""
    rng = np.random.default_rng(7)
    return [
        [
            int(rng.integers(lo, hi + 1)) if isinstance(lo, int) else float(rng.uniform(lo, hi))
            for lo, hi in row.domain
        ]
        for _ in range(3)
    ]


def true_slope(row, point, orders):
    with mp.workdps(DIGITS):
        exact = [a if isinstance(a, int) else mp.mpf(a) for a in point]
        moving = [i for i, n in enumerate(orders) if n]

        def f(*moved):
            args = list(exact)
            for i, a in zip(moving, moved, strict=True):
                args[i] = a
            return TRUE[name_of(row)](*args)

        at = tuple(exact[i] for i in moving)
        n = tuple(orders[i] for i in moving)
        return mp.diff(f, at if len(at) > 1 else at[0], n if len(n) > 1 else n[0])


def ulps(got, true):
    nearest = float(true)
    return float(abs(mp.mpf(float(got)) - true) / np.spacing(max(abs(nearest), 1e-300)))


def slopes(row, point):
    """Which arguments a row has a slope in, and the first partials there."""
    out = {}
    for i, a in enumerate(point):
        if isinstance(a, float) and row.partials[i] is not None:
            args = [*point[:i], ad.Dual(a, 1.0), *point[i + 1 :]]
            try:
                out[i] = row(*args).tangent
            except NotDifferentiableError:
                continue
    return out


every_row = pytest.mark.parametrize("row", ROWS, ids=name_of)


def test_every_row_has_an_oracle():
    assert {name_of(r) for r in ROWS} == set(TRUE)


@every_row
def test_values_and_partials(row):
    for point in points_of(row):
        with mp.workdps(DIGITS):
            value = TRUE[name_of(row)](*[a if isinstance(a, int) else mp.mpf(a) for a in point])
        assert abs(np.real(row(*point)) - float(value)) <= 1e-12 * max(abs(float(value)), 1e-3)
        found = slopes(row, point)
        assert found
        for i, got in found.items():
            orders = [int(j == i) for j in range(len(point))]
            error = ulps(np.real(got), true_slope(row, point, orders))
            assert error <= row.ulps, f"partial {i} at {point}: {error} ulps"


@every_row
def test_second_partials(row):
    for point in points_of(row)[:2]:
        found = slopes(row, point)
        for i in found:
            for j in found:
                args = [a if k not in (i, j) else ad.HyperDual(a, float(k == i), float(k == j), 0.0)
                        for k, a in enumerate(point)]  # fmt: skip
                got = np.real(row(*args).mixed)
                orders = [int(k == i) + int(k == j) for k in range(len(point))]
                true = float(true_slope(row, point, orders))
                scale = max(abs(true), abs(np.real(found[i])), abs(np.real(row(*point))))
                assert abs(got - true) <= 1e-11 * scale, f"{i}{j} at {point}: {got}, {true}"


@every_row
def test_special_points(row):
    for point, expected in row.special.items():
        for i, want in enumerate(expected):
            if not isinstance(point[i], float) or row.partials[i] is None:
                continue
            args = [*point[:i], ad.Dual(point[i], 1.0), *point[i + 1 :]]
            try:
                got = row(*args)
            except NotDifferentiableError:
                continue
            got = np.real(got.tangent) if isinstance(got, ad.Dual) else 0.0
            assert got == want, f"partial {i} at {point}"


ONE = """
erf erfc erfcx erfinv erfcinv ndtr log_ndtr ndtri dawsn psi digamma gamma gammaln loggamma rgamma
expit logit log_expit entr exprel expm1 log1p exp2 cbrt exp10 cosm1 exp1 expi j0 j1 y0 y1 i0 i1
k0 k1 i0e i1e k0e k1e ellipk ellipe ellipkm1 softmax sinc
"""
TWO = "beta betaln xlogy xlog1py rel_entr kl_div huber pseudo_huber boxcox boxcox1p inv_boxcox"
OF_ORDER = "gammainc gammaincc jv yv iv kv ive kve zeta"


def calls():
    """Calls as users write them, by name."""
    for name in ONE.split():
        yield name, getattr(special, name)
    for name in TWO.split():
        f = getattr(special, name)
        yield f"{name} of the first", lambda a, f=f: f(a, 0.7)
        yield f"{name} of the second", lambda a, f=f: f(0.7, a)
        yield f"{name} of both", lambda a, f=f: f(a, a[::-1] + 0.05)
    for name in OF_ORDER.split():
        f = getattr(special, name)
        yield name, lambda a, f=f: f(2.5, a)
    for f in (special.kn, special.yn, special.expn):
        yield f.__name__, lambda a, f=f: f(2, a)
    for f in (special.betainc, special.betaincc):
        yield f.__name__, lambda a, f=f: f(2.5, 1.5, a)
    for f in (special.sici, special.shichi, special.fresnel):
        yield f.__name__, lambda a, f=f: f(a)[0] * f(a)[1]
    yield "lambertw", lambda a: special.lambertw(a).real
    yield "jvp", lambda a: special.jvp(2, a)


CALLS = dict(calls())


@pytest.mark.parametrize("name", CALLS)
def test_calls_in_every_mode(name):
    f, x, h = CALLS[name], np.array([0.3, 0.6, 0.8]), 1e-6
    steps = h * np.eye(x.size)
    differences = np.stack([(f(x + s) - f(x - s)) / (2 * h) for s in steps], -1)
    forward = ad.jacobian(f, mode="forward")(x)
    np.testing.assert_allclose(forward, differences, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ad.jacobian(f, mode="reverse")(x), forward, rtol=1e-12, atol=1e-13)
    g = lambda a: np.sum(f(a) * np.array([1.0, -2.0, 0.5]))  # noqa: E731
    columns = [(ad.grad(g)(x + s) - ad.grad(g)(x - s)) / (2 * h) for s in steps]
    for mode in ("forward", "reverse", "hyperdual"):
        np.testing.assert_allclose(
            ad.hessian(g, mode=mode)(x), np.stack(columns), rtol=1e-5, atol=1e-6, err_msg=mode
        )


def test_slopes_in_an_order_are_refused_by_name():
    for f in (special.jv, special.gammainc, special.kv):
        with pytest.raises(NotDifferentiableError, match=f.__name__):
            ad.derivative(lambda v, f=f: f(v, 0.5))(1.5)


def test_ufuncs_without_a_row_are_refused_by_name():
    with pytest.raises(NotDifferentiableError, match=r"scipy\.special\.voigt_profile"):
        ad.derivative(lambda x: special.voigt_profile(x, 1.0, 1.0))(0.5)


def test_every_ufunc_has_a_row_or_is_refused():
    ufuncs = [f for f in vars(special).values() if isinstance(f, np.ufunc)]
    assert len(ufuncs) > 100
    assert not [f.__name__ for f in ufuncs if f not in implementations]


@pytest.mark.parametrize(
    "f",
    [
        special.logsumexp, special.log_softmax, lambda x: special.polygamma(1, x),
        lambda x: special.multigammaln(x[2] + 3.0, 2), special.factorial,
        lambda x: special.spherical_jn(1, x), lambda x: special.diric(x, 3),
        lambda x: special.comb(x, 2), lambda x: special.erf(np.array([x[0], 2.0])),
    ],
)  # fmt: skip
def test_functions_that_convert_their_input_are_refused(f):
    for mode in ("forward", "reverse"):
        with pytest.raises((TypeError, ValueError)):
            ad.jacobian(f, mode=mode)(np.array([0.3, 0.6, 0.8]))


@pytest.mark.parametrize("name", CALLS)
def test_slopes_have_the_precision_of_the_value(name):
    f, x = CALLS[name], np.array([0.3, 0.6, 0.8], np.float32)
    y, t = ad.jvp(f, (x,), (x,))
    assert y.dtype == t.dtype == f(x).dtype
    assert ad.grad(lambda a: np.sum(f(a)))(x).dtype == np.float32
    wide = x.astype(float)
    np.testing.assert_allclose(t, ad.jvp(f, (wide,), (wide,))[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [special.erf, special.erfc, special.ndtr, special.psi, special.gamma, special.loggamma,
     special.rgamma, special.exp1, special.expi, special.expm1, special.log1p, special.lambertw,
     lambda z: special.jv(1.5, z), lambda z: special.yv(1.5, z), lambda z: special.iv(1.5, z),
     lambda z: special.kv(1.5, z), lambda z: special.kve(1.5, z), lambda z: special.sici(z)[0],
     lambda z: special.shichi(z)[1], lambda z: special.fresnel(z)[0],
     lambda z: special.xlogy(z, z + 2.0), lambda z: special.xlog1py(2.0, z),
     lambda z: special.hyp1f1(1.0, 2.5, z), lambda z: special.hyp2f1(1.0, 1.5, 2.5, 0.3 * z),
     special.erfcx, special.dawsn, special.log_ndtr, lambda z: special.ive(1.5, z)],
)  # fmt: skip
def test_complex_arguments_are_right_or_refused(f):
    z, t, h = np.array([0.6 + 0.4j, 0.3 - 0.7j]), np.array([1.0 - 0.5j, 0.3 + 1.0j]), 1e-6
    try:
        slope = ad.jvp(f, (z,), (t,))[1]
    except NotDifferentiableError:
        return
    np.testing.assert_allclose(slope, (f(z + h * t) - f(z - h * t)) / (2 * h), rtol=1e-7)


def test_far_out_slopes_keep_their_digits():
    for f, x, true in (
        (special.dawsn, 30.0, lambda: TRUE["dawson_slope"](mp.mpf(30))),
        (special.log_ndtr, -1e3, lambda: mp.npdf(-1000) / mp.ncdf(-1000)),
        (special.expit, 700.0, lambda: mp.exp(-700)),
        (special.erfcx, 1e3, lambda: 2000 * mp.erfc(1000) * mp.exp(10**6) - 2 / mp.sqrt(mp.pi)),
    ):
        with mp.workdps(500):
            assert ulps(ad.derivative(f)(x), true()) < 64


def test_importing_dualad_loads_no_scipy():
    code = (
        "import sys, numpy as np, dualad as ad\n"
        "ad.grad(lambda x: np.sum(np.sin(x)))(np.ones(3))\n"
        "assert not any(m.startswith('scipy') for m in sys.modules)\n"
        "assert 'dualad.rules.scipy_special' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_of_scipy_are_told_from_numpys():
    assert rules.elementwise_rows.isdisjoint({scipy_special.i0, scipy_special.erf})
    assert implementations[np.i0] is not implementations[special.i0]
