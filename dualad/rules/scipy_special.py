"""``scipy.special``: elementwise rows of its ufuncs, read when one of them first meets a number.

Nothing else imports this module, so that dualad needs no SciPy.  The formulas follow the
manner of ``elementwise``: a difference that cancels (1 - 2 x D(x) for Dawson's integral far
out, (E - (1 - m) K) / m for elliptic integrals near 0) is a function with a row of its own,
and families that are closed under differentiation (Bessel functions, hypergeometric
functions, iterated integrals of erfc) give derivatives of every order.

An order or a degree is a constant: where a slope in it is asked for, the row refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy import special

from dualad.primitive import (
    Elementwise,
    NotDifferentiableError,
    Primitive,
    implementations,
    value_of,
)
from dualad.rules.elementwise import INF, INSIDE, ORDER, PI, POSITIVE, REAL

SQRT2, SQRT_PI = math.sqrt(2.0), math.sqrt(PI)
PER_ROOT = 1.0 / SQRT_PI
UNIT = (0.01, 0.99)
DEGREE = (1.5, 3.0)


def row(name: str, *partials: Any, domain: Any, function: Any = None, **about: Any) -> Elementwise:
    """The row of a ufunc of SciPy under its name, or of a function given."""
    function = function or getattr(special, name)
    partials = tuple(_in_precision(p) if callable(p) else p for p in partials)
    return Elementwise(f"special.{name}", *partials, domain=domain, function=function, **about)


def _in_precision(partial: Any) -> Any:
    """The partial in the precision of the output: SciPy computes some functions in doubles only."""

    def precise(xp: Any, y: Any, *args: Any) -> Any:
        p = partial(xp, y, *args)
        if xp is np and isinstance(p, (np.ndarray, np.generic)) and p.dtype.kind == y.dtype.kind:
            return p.astype(y.dtype, copy=False)
        return p

    return precise


def constant(function: str, argument: str) -> Any:
    """The partial of an argument that has to be constant: it refuses."""

    def refuse(xp: Any, y: Any, *args: Any) -> NoReturn:
        raise NotDifferentiableError(
            f"scipy.special.{function} has no rule for its slope in {argument}; pass "
            "ad.stop_gradient of it if that slope is not wanted"
        )

    return refuse


def only_real(name: str, x: Any) -> Any:
    """X, which must not be complex: where a formula holds for real numbers alone."""
    if np.iscomplexobj(value_of(x)):
        raise NotDifferentiableError(f"scipy.special.{name} of complex numbers has no rule")
    return x


# ----------------------------------------------------------------------- error functions


def _gauss(x: Any, half: float) -> Any:
    # x = near + rest with near*near exact: a rounding error of the square costs x*x ulps.
    finite = np.where(np.abs(x) < 1e8, x, 0)
    near = np.rint(finite * 2.0**16) * 2.0**-16
    y = np.exp(-half * near * near) * np.exp(-half * (finite - near) * (finite + near))
    return np.where(np.abs(x) >= 1e8, 0, np.where(np.isnan(x), x, y)).astype(y.dtype)[()]


gauss: Elementwise = row(
    "gauss",
    lambda xp, y, x: -2.0 * (x * y),
    domain=(REAL,),
    function=lambda x: _gauss(x, 1.0),
    ulps=4,
)

normal: Elementwise = row(
    "normal",
    lambda xp, y, x: -(x * y),
    domain=(REAL,),
    function=lambda x: _gauss(x, 0.5) / math.sqrt(2.0 * PI),
    ulps=8,
)


def _erfc_integral(x: Any, n: int) -> Any:
    x = np.asarray(only_real("erfcx", x))
    near = np.minimum(x, 1.0)
    before, y = np.full(x.shape, 2.0 * PER_ROOT), special.erfcx(near)
    for k in range(1, n + 1):
        before, y = y, (before - 2.0 * near * y) / (2.0 * k)
    # Far out the recurrence cancels; run backwards, ratios of neighbours converge.
    far = np.maximum(x, 1.0)
    ratio = 1.0 / (far + np.sqrt(far * far + 400.0))
    out = special.erfcx(far)
    for k in range(200, 0, -1):
        ratio = 1.0 / (2.0 * far + 2.0 * (k + 1) * ratio)
        if k <= n:
            out = out * ratio
    return np.where(x < 1.0, y, out)[()]


# exp(x*x) times the n-th integral of erfc from x on, n constant.
erfc_integral: Elementwise = row(
    "erfc_integral",
    lambda xp, y, x, n: -2.0 * (n + 1) * erfc_integral(x, n + 1),
    None,
    domain=((-2.0, 10.0), ORDER),
    function=_erfc_integral,
    ulps=16,
)

erf = row("erf", lambda xp, y, x: 2.0 * PER_ROOT * gauss(x), domain=(REAL,), ulps=4)

erfc = row("erfc", lambda xp, y, x: -2.0 * PER_ROOT * gauss(x), domain=(REAL,), ulps=4)

erfcx = row("erfcx", lambda xp, y, x: -2.0 * erfc_integral(x, 1), domain=((-2.0, 10.0),), ulps=8)

erfinv = row(
    "erfinv",
    lambda xp, y, x: xp.divide(0.5 * SQRT_PI, gauss(y)),
    domain=(INSIDE,),
    special={(1.0,): (INF,), (-1.0,): (INF,)},
    ulps=16,
)

erfcinv = row(
    "erfcinv",
    lambda xp, y, x: xp.divide(-0.5 * SQRT_PI, gauss(y)),
    domain=((0.01, 1.99),),
    special={(0.0,): (-INF,), (2.0,): (-INF,)},
    ulps=32,
)

ndtr = row("ndtr", lambda xp, y, x: normal(x), domain=(REAL,), ulps=8)


def _mills_slope(xp: Any, y: Any, x: Any) -> Any:
    t = xp.where(x > 30.0, -30.0, -x) / SQRT2
    ratio = SQRT2 * erfc_integral(t, 1) / erfc_integral(t, 0)  # x + y, which cancels far out
    return -(y * xp.where(x > 30.0, x, ratio))


def _mills(x: Any) -> Any:
    # Both vanish on the left; on the right, erfcx would blow up the rounding of its argument.
    x = only_real("log_ndtr", x)
    left = math.sqrt(2.0 / PI) / special.erfcx(-np.minimum(x, 0.0) / SQRT2)
    return np.where(x > 0.0, _gauss(x, 0.5) / math.sqrt(2.0 * PI) / special.ndtr(x), left)[()]


# normal(x) / ndtr(x).
mills: Elementwise = row(
    "mills",
    _mills_slope,
    domain=(REAL,),
    function=_mills,
    ulps=8,
)

log_ndtr = row("log_ndtr", lambda xp, y, x: mills(x), domain=(REAL,), ulps=4)

ndtri = row(
    "ndtri",
    lambda xp, y, x: xp.divide(1.0, normal(y)),
    domain=(UNIT,),
    special={(0.0,): (INF,), (1.0,): (INF,)},
    ulps=16,
)


def _dawson_slope(x: Any) -> Any:
    far = np.abs(only_real("dawsn", x)) > 6.5
    q = 0.5 / np.square(np.where(far, x, 6.5))
    series: Any = 0.0
    for k in range(40, 0, -1):
        series = (2 * k - 1) * q * (1.0 + series)
    # By Kummer's transformation: all terms but the first have one sign.
    near = np.where(far, 0.0, x)
    q = near * near
    total: Any = 0.0
    for k in range(160, 0, -1):
        total = (total + 1.0 / (2 * k - 1)) * q / k
    return np.where(far, -series, _gauss(near, 1.0) * (1.0 - total))[()]


# 1 - 2 x D(x), which cancels far out.
dawson_slope: Elementwise = row(
    "dawson_slope",
    lambda xp, y, x: -2.0 * (dawsn(x) + x * y),
    domain=((-9.0, 9.0),),
    function=_dawson_slope,
    ulps=512,
)

dawsn: Elementwise = row("dawsn", lambda xp, y, x: dawson_slope(x), domain=((-9.0, 9.0),), ulps=32)

fresnel_sine = row(
    "fresnel_sine",
    lambda xp, y, x: xp.sin(0.5 * PI * (x * x)),
    domain=((0.1, 1.3),),
    function=lambda x: special.fresnel(x)[0],
    ulps=4,
)

fresnel_cosine = row(
    "fresnel_cosine",
    lambda xp, y, x: xp.cos(0.5 * PI * (x * x)),
    domain=((-0.9, 0.9),),
    function=lambda x: special.fresnel(x)[1],
    ulps=8,
)


# ------------------------------------------------------------------------ gamma and beta

polygamma: Elementwise = row(
    "polygamma",
    lambda xp, y, x, n: polygamma(x, n + 1),
    None,
    domain=(POSITIVE, ORDER),
    function=lambda x, n: special.polygamma(n, only_real("psi", x))[()],
    ulps=8,
)

digamma = row("psi", lambda xp, y, x: polygamma(x, 1), domain=(POSITIVE,), ulps=8)

gamma = row("gamma", lambda xp, y, x: y * digamma(x), domain=(POSITIVE,), ulps=4)

gammaln = row("gammaln", lambda xp, y, x: digamma(x), domain=(POSITIVE,), ulps=4)

loggamma = row("loggamma", lambda xp, y, x: digamma(x), domain=(POSITIVE,), ulps=4)

rgamma = row(
    "rgamma",
    lambda xp, y, x: -(y * digamma(x)),
    domain=(POSITIVE,),
    ulps=8,
)

beta = row(
    "beta",
    lambda xp, y, a, b: y * (digamma(a) - digamma(a + b)),
    lambda xp, y, a, b: y * (digamma(b) - digamma(a + b)),
    domain=((0.5, 5.0), (0.5, 5.0)),
    ulps=32,
)

betaln = row(
    "betaln",
    lambda xp, y, a, b: digamma(a) - digamma(a + b),
    lambda xp, y, a, b: digamma(b) - digamma(a + b),
    domain=((0.5, 5.0), (0.5, 5.0)),
    ulps=32,
)


def _gamma_density(a: Any, x: Any) -> Any:
    far = np.asarray(a) > 100.0
    size = np.where(far, 1.0, a)
    y = np.power(x, size - 1.0) * special.rgamma(size) * np.exp(-x)
    return np.where(far, np.exp((a - 1.0) * np.log(x) - x - special.gammaln(a)), y)[()]


# x**(a - 1) exp(-x) / Gamma(a), a constant.
gamma_density: Elementwise = row(
    "gamma_density",
    constant("gammainc", "a"),
    lambda xp, y, a, x: gamma_density(a - 1.0, x) - y,
    domain=(DEGREE, POSITIVE),
    function=_gamma_density,
    ulps=64,
)

gammainc = row(
    "gammainc",
    constant("gammainc", "a"),
    lambda xp, y, a, x: gamma_density(a, x),
    domain=(DEGREE, POSITIVE),
    special={(1.0, 0.0): (0.0, 1.0), (2.0, 0.0): (0.0, 0.0)},
    ulps=4,
)

gammaincc = row(
    "gammaincc",
    constant("gammaincc", "a"),
    lambda xp, y, a, x: -gamma_density(a, x),
    domain=(DEGREE, POSITIVE),
    ulps=4,
)


def _power_slope(xp: Any, y: Any, x: Any, p: Any, q: Any) -> Any:
    left = xp.where(p == 0, 0.0, p * beta_power(x, xp.where(p == 0, 0.0, p - 1.0), q))
    right = xp.where(q == 0, 0.0, q * beta_power(x, p, xp.where(q == 0, 0.0, q - 1.0)))
    return left - right


# x**p (1 - x)**q, p and q constant.
beta_power: Elementwise = row(
    "beta_power",
    _power_slope,
    constant("betainc", "a"),
    constant("betainc", "b"),
    domain=(UNIT, DEGREE, DEGREE),
    function=lambda x, p, q: np.power(x, p) * np.power(1.0 - x, q),
    ulps=16,
)

betainc = row(
    "betainc",
    constant("betainc", "a"),
    constant("betainc", "b"),
    lambda xp, y, a, b, x: beta_power(x, a - 1.0, b - 1.0) / beta(a, b),
    domain=(DEGREE, DEGREE, UNIT),
    ulps=16,
)

betaincc = row(
    "betaincc",
    constant("betaincc", "a"),
    constant("betaincc", "b"),
    lambda xp, y, a, b, x: -beta_power(x, a - 1.0, b - 1.0) / beta(a, b),
    domain=(DEGREE, DEGREE, UNIT),
    ulps=16,
)

zeta: Elementwise = row(
    "zeta",
    constant("zeta", "x"),
    lambda xp, y, x, q: -(x * zeta(x + 1.0, q)),
    domain=(DEGREE, POSITIVE),
    function=special._ufuncs._zeta,
    ulps=8,
)


# -------------------------------------------------------------- logistic and entropy functions

expit: Elementwise = row("expit", lambda xp, y, x: y * expit(-x), domain=(REAL,), ulps=4)

logit = row(
    "logit",
    lambda xp, y, x: 1.0 / (x * (1.0 - x)),
    domain=(UNIT,),
    special={(0.0,): (INF,), (1.0,): (INF,)},
    ulps=4,
)

log_expit = row("log_expit", lambda xp, y, x: expit(-x), domain=(REAL,), ulps=4)


def _part(xp: Any, x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0."""
    return xp.where(x == 0, 0.0, x / xp.where(x == 0, 1.0, y))


xlogy = row(
    "xlogy",
    lambda xp, z, x, y: xp.log(y),
    lambda xp, z, x, y: _part(xp, x, y),
    domain=(REAL, POSITIVE),
    special={(0.0, 0.0): (-INF, 0.0), (0.0, 2.0): (math.log(2.0), 0.0)},
)

xlog1py = row(
    "xlog1py",
    lambda xp, z, x, y: xp.log1p(y),
    lambda xp, z, x, y: _part(xp, x, 1.0 + y),
    domain=(REAL, POSITIVE),
    special={(0.0, -1.0): (-INF, 0.0)},
)

entr = row(
    "entr",
    lambda xp, y, x: -(1.0 + xp.log(x)),
    domain=(POSITIVE,),
    special={(0.0,): (INF,)},
)


def _log_ratio(xp: Any, x: Any, y: Any) -> Any:
    """log(x / y), with all its digits where x is near y."""
    near = (xp.absolute(x - y) < 0.5 * y) & (y > 0)
    return xp.where(
        near,
        xp.log1p(xp.where(near, x - y, 0.0) / xp.where(near, y, 1.0)),
        xp.log(xp.where(near, 1.0, x) / xp.where(near, 1.0, y)),
    )


rel_entr = row(
    "rel_entr",
    lambda xp, z, x, y: 1.0 + _log_ratio(xp, x, y),
    lambda xp, z, x, y: -_part(xp, x, y),
    domain=(POSITIVE, POSITIVE),
    special={(0.0, 2.0): (-INF, 0.0)},
    ulps=16,
)

kl_div = row(
    "kl_div",
    lambda xp, z, x, y: _log_ratio(xp, x, y),
    lambda xp, z, x, y: (y - x) / y,
    domain=(POSITIVE, POSITIVE),
    special={(0.0, 2.0): (-INF, 1.0)},
    ulps=4,
)

huber = row(
    "huber",
    lambda xp, y, d, r: xp.where(xp.absolute(r) <= d, 0.0, xp.absolute(r) - d),
    lambda xp, y, d, r: xp.where(xp.absolute(r) <= d, r, d * xp.sign(r)),
    domain=(POSITIVE, REAL),
    special={(1.0, 0.0): (0.0, 0.0), (1.0, 1.0): (0.0, 1.0)},
)


def _pseudo_huber_in_delta(xp: Any, y: Any, d: Any, r: Any) -> Any:
    u = r / d
    s = xp.hypot(1.0, u)
    v = u * u / (s + 1.0)  # s - 1
    return d * v * v / s


pseudo_huber = row(
    "pseudo_huber",
    _pseudo_huber_in_delta,
    lambda xp, y, d, r: r / xp.hypot(1.0, r / d),
    domain=(POSITIVE, REAL),
    ulps=16,
)


# ------------------------------------------------ exponentials, powers and their quotients

hyp1f1: Elementwise = row(
    "hyp1f1",
    constant("hyp1f1", "a"),
    constant("hyp1f1", "b"),
    lambda xp, y, a, b, x: a / b * hyp1f1(a + 1.0, b + 1.0, x),
    domain=(DEGREE, DEGREE, (-5.0, 5.0)),
    ulps=128,
)

hyp2f1: Elementwise = row(
    "hyp2f1",
    constant("hyp2f1", "a"),
    constant("hyp2f1", "b"),
    constant("hyp2f1", "c"),
    lambda xp, y, a, b, c, x: a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, x),
    domain=(DEGREE, DEGREE, DEGREE, (-0.7, 0.7)),
    ulps=8,
)


def _exp_moment(x: Any, n: int) -> Any:
    return special.hyp1f1(n + 1.0, n + 2.0, x) / (n + 1.0)


# The integral of t**n exp(t x) over t from 0 to 1: the n-th derivative of exprel.
exp_moment: Elementwise = row(
    "exp_moment",
    lambda xp, y, x, n: exp_moment(x, n + 1),
    None,
    domain=((-5.0, 5.0), ORDER),
    function=_exp_moment,
    ulps=8,
)

exprel = row("exprel", lambda xp, y, x: exp_moment(x, 1), domain=((-5.0, 5.0),), ulps=16)

for _name in ("expm1", "log1p", "exp2", "cbrt"):
    _like: Any = Primitive.table[_name]
    row(_name, *_like.partials, domain=_like.domain, special=_like.special, ulps=_like.ulps)

exp10 = row("exp10", lambda xp, y, x: math.log(10.0) * y, domain=((-3.0, 3.0),), ulps=4)

cosm1 = row("cosm1", lambda xp, y, x: -xp.sin(x), domain=(REAL,))

boxcox = row(
    "boxcox",
    lambda xp, y, x, n: xp.power(x, n - 1.0),
    lambda xp, y, x, n: xp.square(xp.log(x)) * exp_moment(n * xp.log(x), 1),
    domain=(POSITIVE, (-2.0, 2.0)),
    ulps=8,
)

boxcox1p = row(
    "boxcox1p",
    lambda xp, y, x, n: xp.exp((n - 1.0) * xp.log1p(x)),
    lambda xp, y, x, n: xp.square(xp.log1p(x)) * exp_moment(n * xp.log1p(x), 1),
    domain=(POSITIVE, (-2.0, 2.0)),
    ulps=8,
)


def _log_moment(x: Any) -> Any:
    """The derivative of log1p(x) / x."""
    return -0.5 * hyp2f1(2.0, 2.0, 3.0, -x)


inv_boxcox = row(
    "inv_boxcox",
    lambda xp, x, y, n: x / (1.0 + n * y),
    lambda xp, x, y, n: x * xp.square(y) * _log_moment(n * y),
    domain=((0.1, 3.0), (-0.2, 2.0)),
    ulps=16,
)

inv_boxcox1p = row(
    "inv_boxcox1p",
    lambda xp, x, y, n: (1.0 + x) / (1.0 + n * y),
    lambda xp, x, y, n: (1.0 + x) * xp.square(y) * _log_moment(n * y),
    domain=((0.1, 3.0), (-0.2, 2.0)),
    ulps=16,
)

lambertw = row(
    "lambertw",
    lambda xp, y, x, k, tol: 1.0 / (x + xp.exp(y)),
    None,
    None,
    domain=(POSITIVE, (0, 0), (1e-8, 1e-8)),
    special={(0.0, 0, 1e-8): (1.0, 0.0, 0.0)},
    function=special._ufuncs._lambertw,
    ulps=4,
)


# ----------------------------------------------------- exponential, sine and cosine integrals

exp1 = row("exp1", lambda xp, y, x: -xp.exp(-x) / x, domain=(POSITIVE,), special={(0.0,): (-INF,)})

expi = row("expi", lambda xp, y, x: xp.exp(x) / x, domain=(POSITIVE,))

expn: Elementwise = row(
    "expn",
    constant("expn", "n"),
    lambda xp, y, n, x: xp.where(
        np.equal(n, 0), -(y * (1.0 + x) / x), -expn(np.maximum(n - 1, 0), x)
    ),
    domain=((1, 3), POSITIVE),
    ulps=16,
)

# The spherical Bessel functions, of which sin(x) / x is the first.
spherical_jn: Elementwise = row(
    "spherical_jn",
    constant("spherical_jn", "n"),
    lambda xp, y, n, x: (
        (n * spherical_jn(np.maximum(n - 1, 0), x) - (n + 1) * spherical_jn(n + 1, x)) / (2 * n + 1)
    ),
    domain=((0, 3), (0.1, 2.0)),
    function=special.spherical_jn,
    ulps=32,
)

spherical_in: Elementwise = row(
    "spherical_in",
    constant("spherical_in", "n"),
    lambda xp, y, n, x: (
        (n * spherical_in(np.maximum(n - 1, 0), x) + (n + 1) * spherical_in(n + 1, x)) / (2 * n + 1)
    ),
    domain=((0, 3), (0.1, 2.0)),
    function=special.spherical_in,
    ulps=16,
)

sine_integral = row(
    "sine_integral",
    lambda xp, y, x: spherical_jn(0, x),
    domain=((0.1, 3.0),),
    special={(0.0,): (1.0,)},
    function=lambda x: special.sici(x)[0],
)

cosine_integral = row(
    "cosine_integral",
    lambda xp, y, x: xp.cos(x) / x,
    domain=((0.1, 1.5),),
    function=lambda x: special.sici(x)[1],
)

sinh_integral = row(
    "sinh_integral",
    lambda xp, y, x: spherical_in(0, x),
    domain=((0.1, 3.0),),
    special={(0.0,): (1.0,)},
    function=lambda x: special.shichi(x)[0],
    ulps=32,
)

cosh_integral = row(
    "cosh_integral",
    lambda xp, y, x: xp.cosh(x) / x,
    domain=((0.1, 3.0),),
    function=lambda x: special.shichi(x)[1],
    ulps=4,
)


# ----------------------------------------------------------------------------- Bessel functions

jv: Elementwise = row(
    "jv",
    constant("jv", "its order"),
    lambda xp, y, v, x: 0.5 * (jv(v - 1, x) - jv(v + 1, x)),
    domain=(DEGREE, (0.1, 1.5)),
    ulps=32,
)

yv: Elementwise = row(
    "yv",
    constant("yv", "its order"),
    lambda xp, y, v, x: 0.5 * (yv(v - 1, x) - yv(v + 1, x)),
    domain=(DEGREE, (0.1, 1.5)),
    ulps=32,
)

iv: Elementwise = row(
    "iv",
    constant("iv", "its order"),
    lambda xp, y, v, x: 0.5 * (iv(v - 1, x) + iv(v + 1, x)),
    domain=(DEGREE, POSITIVE),
    ulps=32,
)

kv: Elementwise = row(
    "kv",
    constant("kv", "its order"),
    lambda xp, y, v, x: -0.5 * (kv(v - 1, x) + kv(v + 1, x)),
    domain=(DEGREE, POSITIVE),
    ulps=64,
)

ive: Elementwise = row(
    "ive",
    constant("ive", "its order"),
    lambda xp, y, v, x: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - xp.sign(only_real("ive", x)) * y,
    domain=(DEGREE, (0.1, 1.5)),
    ulps=64,
)

kve: Elementwise = row(
    "kve",
    constant("kve", "its order"),
    lambda xp, y, v, x: y - 0.5 * (kve(v - 1, x) + kve(v + 1, x)),
    domain=(DEGREE, (0.1, 3.0)),
    ulps=256,
)

yn = row(
    "yn",
    constant("yn", "its order"),
    lambda xp, y, n, x: 0.5 * (yv(n - 1.0, x) - yv(n + 1.0, x)),
    domain=((0, 3), (0.1, 1.5)),
    ulps=8,
)

kn = row(
    "kn",
    constant("kn", "its order"),
    lambda xp, y, n, x: -0.5 * (kv(n - 1.0, x) + kv(n + 1.0, x)),
    domain=((0, 3), POSITIVE),
    ulps=8,
)

j1 = row("j1", lambda xp, y, x: 0.5 * (j0(x) - jv(2, x)), domain=((-1.5, 1.5),), ulps=16)
j0: Elementwise = row("j0", lambda xp, y, x: -j1(x), domain=((0.1, 3.0),), ulps=4)
y1 = row("y1", lambda xp, y, x: 0.5 * (y0(x) - yv(2, x)), domain=((0.1, 1.5),), ulps=8)
y0: Elementwise = row("y0", lambda xp, y, x: -y1(x), domain=((0.1, 1.5),), ulps=8)
i1 = row("i1", lambda xp, y, x: 0.5 * (i0(x) + iv(2, x)), domain=(REAL,), ulps=8)
i0: Elementwise = row(
    "i0", lambda xp, y, x: i1(x), domain=(REAL,), special={(0.0,): (0.0,)}, ulps=16
)
k1 = row("k1", lambda xp, y, x: -0.5 * (k0(x) + kv(2, x)), domain=(POSITIVE,), ulps=8)
k0: Elementwise = row("k0", lambda xp, y, x: -k1(x), domain=(POSITIVE,), ulps=8)
i1e = row(
    "i1e",
    lambda xp, y, x: 0.5 * (i0e(x) + ive(2, x)) - xp.sign(x) * y,
    domain=((-1.0, 1.0),),
    ulps=64,
)
i0e: Elementwise = row(
    "i0e", lambda xp, y, x: i1e(x) - xp.sign(x) * y, domain=((0.1, 3.0),), ulps=16
)
k1e = row("k1e", lambda xp, y, x: y - 0.5 * (k0e(x) + kve(2, x)), domain=((0.1, 3.0),), ulps=32)
k0e: Elementwise = row("k0e", lambda xp, y, x: y - k1e(x), domain=((0.1, 3.0),), ulps=32)


# --------------------------------------------------------------------------- elliptic integrals

# Carlson's R_D has the slopes of K and E without a difference; their slopes in turn are
# hypergeometric.
ellipk_slope: Elementwise = row(
    "ellipk_slope",
    lambda xp, y, m: PI * 9.0 / 64.0 * hyp2f1(2.5, 2.5, 3.0, m),
    domain=((-0.7, 0.7),),
    function=lambda m: special.elliprd(0.0, 1.0, 1.0 - m) / 6.0,
    ulps=16,
)

ellipk = row("ellipk", lambda xp, y, m: ellipk_slope(m), domain=((-0.7, 0.9),), ulps=4)


def _complementary_slope(xp: Any, y: Any, p: Any) -> Any:
    # By Legendre's differential equation, both terms of one sign; near 1 by the series.
    near = p > 0.5
    inside = xp.where(near, 0.5, p)
    left = 0.25 * ellipkm1(inside) - (1.0 - 2.0 * inside) * ellipkm1_slope(inside)
    series = PI * 9.0 / 64.0 * hyp2f1(2.5, 2.5, 3.0, 1.0 - xp.where(near, p, 1.0))
    return xp.where(near, series, left / (inside * (1.0 - inside)))


ellipkm1_slope: Elementwise = row(
    "ellipkm1_slope",
    _complementary_slope,
    domain=((0.01, 1.5),),
    function=lambda p: -special.elliprd(0.0, 1.0, p) / 6.0,
    ulps=16,
)

ellipkm1: Elementwise = row("ellipkm1", lambda xp, y, p: ellipkm1_slope(p), domain=((0.01, 1.5),))

ellipe_slope: Elementwise = row(
    "ellipe_slope",
    lambda xp, y, m: -PI * 3.0 / 64.0 * hyp2f1(1.5, 2.5, 3.0, m),
    domain=((-0.7, 0.7),),
    function=lambda m: -special.elliprd(0.0, 1.0 - m, 1.0) / 6.0,
    ulps=16,
)

ellipe = row("ellipe", lambda xp, y, m: ellipe_slope(m), domain=((-0.7, 0.9),), ulps=4)


# ------------------------------------------------------------ ufuncs of two results, and others


def _pair(first: Elementwise, second: Elementwise) -> Callable[[Any], tuple[Any, Any]]:
    return lambda x: (first(x), second(x))


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotDifferentiableError(
            f"scipy.special.{name} has no derivative rule: register one with ad.primitive, write "
            "the function with others (CONTRIBUTING.md, 'How to add a function'), or pass it the "
            "plain value ad.stop_gradient(x) if no derivative is wanted"
        )

    return refuse


implementations[special.sici] = _pair(sine_integral, cosine_integral)
implementations[special.shichi] = _pair(sinh_integral, cosh_integral)
implementations[special.fresnel] = _pair(fresnel_sine, fresnel_cosine)

for _ufunc in vars(special._ufuncs).values():
    if isinstance(_ufunc, np.ufunc) and _ufunc not in implementations:
        implementations[_ufunc] = _refusal(_ufunc.__name__.lstrip("_"))
