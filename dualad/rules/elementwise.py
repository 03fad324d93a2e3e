"""Elementwise rows: a function of numbers, and its partial in each argument.

A row is a formula written once.  ``xp`` is the namespace of the arguments (NumPy's names
for floats, for arrays, and for numbers of any system), ``y`` the output.  Every formula is
one of many that are equal on paper: tanh' as 1 - y*y loses all its digits at 18, arcsin'
as 1/sqrt(1 - x*x) half of them near 1.  A comment says why where it is not plain.

Formulas are differentiated again for higher orders, so that the derivative of a formula
must be as accurate as the formula.  Where it would not be (1 - x near 0 has slope -1, but
(1 - x)*(1 + x) has slope -2x, lost in a difference of ones), the partial is a function
with a row of its own: those stand before the rows that need them, and their partials are
written with one another, so that all orders are.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dualad import scalar
from dualad.primitive import Elementwise, Number, implements, plain, shape_of, value_of
from dualad.rules.linear import imag, real, where

PI = math.pi
LN2 = math.log(2.0)
PER_LN2 = 1.0 / LN2
PER_LN10 = 1.0 / math.log(10.0)
INF = math.inf
NAN = math.nan

# Intervals that tests draw from; one of integers stands for integers.
REAL = (-10.0, 10.0)
POSITIVE = (0.01, 10.0)
INSIDE = (-0.99, 0.99)
ORDER = (0, 3)


# --------------------------------------------------------------------------- arithmetic

add = Elementwise("add", 1, 1, second=(0, 0, 0), domain=(REAL, REAL))

subtract = Elementwise("subtract", 1, -1, second=(0, 0, 0), domain=(REAL, REAL))

negative = Elementwise("negative", -1, second=(0,), domain=(REAL,))

positive = Elementwise("positive", 1, second=(0,), domain=(REAL,))

multiply = Elementwise(
    "multiply",
    lambda xp, y, a, b: b,
    lambda xp, y, a, b: a,
    second=(0, 1, 0),
    domain=(REAL, REAL),
    arithmetic=False,
)


def _inverse(b: Any) -> Any:
    try:
        return 1 / b
    except ZeroDivisionError:  # a Python zero, which may stand beside an array
        return math.copysign(INF, b)


# Divided twice, not by a square, which overflows first.
divide = Elementwise(
    "divide",
    lambda xp, y, a, b: _inverse(b),
    lambda xp, y, a, b: -(y / b),
    second=(
        0,
        lambda xp, y, a, b: -(_inverse(b) * _inverse(b)),
        lambda xp, y, a, b: 2 * (y / b / b),
    ),
    domain=(REAL, POSITIVE),
)

reciprocal = Elementwise(
    "reciprocal",
    lambda xp, y, x: -(y / x),
    second=(lambda xp, y, x: 2 * (y / x / x),),
    domain=(POSITIVE,),
)

square = Elementwise("square", lambda xp, y, x: 2 * x, second=(2,), domain=(REAL,))


# ------------------------------------------------------------------------- strong zeros


def has_nan(x: Any) -> bool:
    """Whether a float, an array or any part of a number holds a NaN: one pass, no temporary."""
    if type(x) is float:
        return x != x
    if isinstance(x, Number):
        if not x.transparent:
            return False  # a program that is traced takes no branch for a NaN
        return any(has_nan(p) for p in x.parts().values())  # type: ignore[attr-defined]
    if not isinstance(x, np.ndarray):
        return bool(x != x)
    # NaN is the least of all, to NumPy; and unlike a sum, a minimum cannot overflow.
    least = np.minimum.reduce(x, axis=None) if x.size else 0.0
    return bool(least != least)


def is_nonzero(t: Any) -> Any:
    """Where a tangent is not zero in all its parts, as a plain array."""
    if isinstance(t, Number):
        if not t.transparent:
            return t != 0  # type: ignore[comparison-overlap]
        parts = t.parts().values()  # type: ignore[attr-defined]
        shape = shape_of(t)
        out = np.zeros(shape, dtype=bool)
        for p in parts:
            nonzero = is_nonzero(p)
            extra = tuple(range(nonzero.ndim - len(shape)))
            out |= nonzero.any(axis=extra) if extra else nonzero
        return out
    return np.asarray(t != 0)


class StrongProduct(Elementwise):
    """The product by which a tangent passes a partial: a zero tangent stays zero against any."""

    def __call__(self, *args: Any, **params: Any) -> Any:
        p, t = args
        y = super().__call__(p, t)
        if isinstance(y, Number) and has_nan(y):
            # A zero in all parts of the tangent may have met an infinite slope of the partial.
            return super().__call__(where(is_nonzero(t), p, 0.0), t)
        return y


def _scaled(p: Any, t: Any) -> Any:
    y = p * t
    if isinstance(y, np.ndarray) and y.size < 10_000:
        entries = y if y.ndim == 1 else y.ravel("K")
        s = np.vdot(entries, entries)  # a sum of squares: for a small array the quickest
        if s == s:
            return y
    return np.where(t == 0, 0, y)[()] if has_nan(y) else y


scaled = StrongProduct(
    "scaled",
    lambda xp, y, p, t: t,
    lambda xp, y, p, t: p,
    second=(0, 1, 0),
    domain=(REAL, REAL),
    special={(INF, 0.0): (0.0, INF), (NAN, 0.0): (0.0, NAN)},
    function=_scaled,
)
scaled.on_floats = scalar.scaled


# ------------------------------------------------------------------------------- powers


def _rounded_off(a: Any, b: Any, difference: Any) -> Any:
    """What rounding took from the difference a - b (Knuth); infinite ones have lost nothing."""
    back = difference - a
    return (a - (difference - back)) - (b + back)


def _power_log(x: Any, b: Any, k: int, n: int) -> Any:
    exponent = b - k
    y = np.power(x, exponent)
    lost = _rounded_off(b, k, exponent)  # against x = 1e300 it makes hundreds of ulps
    if np.any(lost):
        y = y * (1.0 + lost * np.log(np.where((x > 0) & (x < INF), x, 1)))
    return _times_log(y, x, n) if n else y


def _times_log(y: Any, x: Any, n: int) -> Any:
    """y * log(x)**n, where a power y that is 0 stays 0: it goes there faster."""
    return np.where(y == 0, 0, y * plain(np.log(x)) ** n)[()]


def _slope_of_power_log(xp: Any, y: Any, x: Any, b: Any, k: int, n: int) -> Any:
    exponent = b - k
    if type(exponent) is int or type(exponent) is float:
        slope = exponent * power_log(x, b, k + 1, n) if exponent else 0
    else:
        # At exponent 0 the slope is 0 even where 1/x is infinite, and to all orders.
        flat = exponent == 0
        slope = xp.where(
            flat,
            exponent * y / xp.where(flat & (x != 0), x, 1),
            exponent * power_log(xp.where(flat, 1, x), b, k + 1, n),
        )
    return slope + n * power_log(x, b, k + 1, n - 1) if n else slope


# x**(b - k) * log(x)**n, with k and n constant: all that derivatives of a power consist of.
power_log: Elementwise = Elementwise(
    "power_log",
    _slope_of_power_log,
    lambda xp, y, x, b, k, n: power_log(x, b, k, n + 1),
    None,
    None,
    domain=(POSITIVE, (-3.0, 3.0), ORDER, ORDER),
    function=_power_log,
    ulps=8,
)


def _slope_in_base(xp: Any, y: Any, x: Any, b: Any) -> Any:
    if type(b) is int or type(b) is float:  # a constant exponent: the common ones are cheap
        if b == 2:
            return 2 * x
        if b == 3:
            return 3 * (x * x)
        if b == 1 or b == 0:
            return int(b)
        if b - 1 + 1 == b:
            return b * xp.power(x, b - 1)
        if xp is scalar and 1e-300 < y < INF:
            return b * y / x
    return _slope_of_power_log(xp, y, x, b, 0, 0)


def _slope_in_exponent(xp: Any, y: Any, x: Any, b: Any) -> Any:
    if xp is scalar and y > 0.0:
        return y * xp.log(x)
    return _times_log(y, x, 1) if xp is np else power_log(x, b, 0, 1)


_POWER: dict[str, Any] = {
    "domain": (POSITIVE, (-3.0, 3.0)),
    "special": {
        (0.0, 0.0): (0.0, -INF),
        (0.0, 1.0): (1.0, 0.0),
        (0.0, 2.0): (0.0, 0.0),
        (-2.0, 3.0): (12.0, NAN),
    },
    "ulps": 4,
}

power = Elementwise("power", _slope_in_base, _slope_in_exponent, **_POWER)

float_power = Elementwise("float_power", _slope_in_base, _slope_in_exponent, **_POWER)

# The root of -0.0 is -0.0, but its slope is +inf: hence + 0.0.
sqrt = Elementwise(
    "sqrt",
    lambda xp, y, x: 0.5 / (y + 0.0),
    second=(lambda xp, y, x: -0.25 / (y + 0.0) / (x + 0.0),),
    domain=(POSITIVE,),
    special={(0.0,): (INF,)},
)

cbrt = Elementwise(
    "cbrt",
    lambda xp, y, x: 1.0 / (3.0 * (y * y)),
    domain=(POSITIVE,),
    special={(0.0,): (INF,)},
    ulps=8,
)


# ----------------------------------------------------------- exponentials and logarithms

exp = Elementwise("exp", lambda xp, y, x: y, second=(lambda xp, y, x: y,), domain=(REAL,))

exp2 = Elementwise("exp2", lambda xp, y, x: LN2 * y, domain=(REAL,))

expm1 = Elementwise("expm1", lambda xp, y, x: xp.exp(x), domain=(REAL,))

log = Elementwise(
    "log",
    lambda xp, y, x: 1.0 / x,
    second=(lambda xp, y, x: -(1.0 / x / x),),
    domain=(POSITIVE,),
    special={(0.0,): (INF,)},
)

log2 = Elementwise("log2", lambda xp, y, x: PER_LN2 / x, domain=(POSITIVE,))

log10 = Elementwise("log10", lambda xp, y, x: PER_LN10 / x, domain=(POSITIVE,))

log1p = Elementwise(
    "log1p", lambda xp, y, x: 1.0 / (1.0 + x), domain=((-0.9, 10.0),), special={(-1.0,): (INF,)}
)


def _share(a: Any, b: Any, power: Any, log_base: float) -> Any:
    difference = a - b
    lost = _rounded_off(a, b, difference)  # far out, a power makes it many ulps
    lost = np.where(np.abs(lost) < 1, log_base * lost, 0)
    smaller = power(-np.abs(difference))
    larger_share = 1 / (1 + smaller)
    smaller_share = smaller / (1 + smaller)
    a_is_larger = difference >= 0
    share = np.where(a_is_larger, larger_share, smaller_share)
    rest = np.where(a_is_larger, smaller_share, larger_share)
    return np.where(a == b, 0.5, share + share * rest * lost)[()]


def _share_of_floats(a: float, b: float, power: Any, log_base: float) -> Any:
    if a == b:
        return 0.5
    difference = a - b
    lost = _rounded_off(a, b, difference)
    smaller = power(-abs(difference))
    larger_share, smaller_share = 1.0 / (1.0 + smaller), smaller / (1.0 + smaller)
    share = larger_share if difference >= 0.0 else smaller_share
    return share + larger_share * smaller_share * log_base * lost if abs(lost) < 1.0 else share


# exp(a) / (exp(a) + exp(b)); equal infinities share.
exp_share: Elementwise = Elementwise(
    "exp_share",
    lambda xp, y, a, b: y * exp_share(b, a),
    lambda xp, y, a, b: -(y * exp_share(b, a)),
    domain=(REAL, REAL),
    function=lambda a, b: _share(a, b, np.exp, 1.0),
    ulps=4,
)
exp_share.on_floats = lambda a, b: _share_of_floats(a, b, math.exp, 1.0)

exp2_share: Elementwise = Elementwise(
    "exp2_share",
    lambda xp, y, a, b: LN2 * (y * exp2_share(b, a)),
    lambda xp, y, a, b: -(LN2 * (y * exp2_share(b, a))),
    domain=(REAL, REAL),
    function=lambda a, b: _share(a, b, np.exp2, LN2),
    ulps=4,
)
exp2_share.on_floats = lambda a, b: _share_of_floats(a, b, math.exp2, LN2)

logaddexp = Elementwise(
    "logaddexp",
    lambda xp, y, a, b: exp_share(a, b),
    lambda xp, y, a, b: exp_share(b, a),
    domain=(REAL, REAL),
    special={(-INF, -INF): (0.5, 0.5), (INF, 0.0): (1.0, 0.0)},
)

logaddexp2 = Elementwise(
    "logaddexp2",
    lambda xp, y, a, b: exp2_share(a, b),
    lambda xp, y, a, b: exp2_share(b, a),
    domain=(REAL, REAL),
    special={(-INF, -INF): (0.5, 0.5), (INF, 0.0): (1.0, 0.0)},
)


# ------------------------------------------------------------------------ trigonometric

sin = Elementwise("sin", lambda xp, y, x: xp.cos(x), second=(lambda xp, y, x: -y,), domain=(REAL,))

cos = Elementwise("cos", lambda xp, y, x: -xp.sin(x), second=(lambda xp, y, x: -y,), domain=(REAL,))

tan = Elementwise("tan", lambda xp, y, x: 1.0 + y * y, domain=((-1.5, 1.5),))


def _one_minus_square(x: Any) -> Any:
    return (1.0 - x) * (1.0 + x)


# No digit is lost near 1, and none of the slope near 0.
one_minus_square = Elementwise(
    "one_minus_square",
    lambda xp, y, x: -2.0 * x,
    domain=(REAL,),
    function=_one_minus_square,
)
one_minus_square.on_floats = _one_minus_square

arcsin = Elementwise(
    "arcsin",
    lambda xp, y, x: 1.0 / xp.sqrt(one_minus_square(x)),
    domain=(INSIDE,),
    special={(1.0,): (INF,), (-1.0,): (INF,)},
)

arccos = Elementwise(
    "arccos",
    lambda xp, y, x: -1.0 / xp.sqrt(one_minus_square(x)),
    domain=(INSIDE,),
    special={(1.0,): (-INF,), (-1.0,): (-INF,)},
)


def _lorentzian(x: Any) -> Any:
    # 1/(1 + x*x), with both parts made small so that the square overflows last.
    small = 2.0**-10 if getattr(x, "dtype", None) == np.float16 else 2.0**-60
    return small / (small + x * (small * x))


lorentzian = Elementwise(
    "lorentzian",
    lambda xp, y, x: -2.0 * ((x * y) * y),
    domain=(REAL,),
    function=_lorentzian,
    ulps=4,
)
lorentzian.on_floats = _lorentzian

arctan = Elementwise("arctan", lambda xp, y, x: lorentzian(x), domain=(REAL,))


def _direction(a: Any, b: Any) -> Any:
    h = np.hypot(a, b)
    if np.any((h < 1e-290) | (h == INF)):
        # Infinite parts count as 1 against 0; tiny ones have no digits left in h.
        infinite = h == INF
        a, b = (
            np.where(infinite, np.where(np.isinf(x), np.copysign(1, x), 0 * x), x) for x in (a, b)
        )
        exponent = np.frexp(np.maximum(np.abs(a), np.abs(b)))[1]
        a, b = np.ldexp(a, -exponent), np.ldexp(b, -exponent)
        h = np.hypot(a, b)
    return (a / np.where(h == 0, 1, h))[()]


def _direction_of_floats(a: float, b: float) -> float:
    h = math.hypot(a, b)
    return a / h if 1e-290 < h < INF else float(_direction(a, b))


def _over_length(xp: Any, part: Any, h: Any) -> Any:
    return part / xp.where(h == 0, 1, h)


# a / hypot(a, b), a cosine; 0 at the origin, to all orders.
direction_cosine: Elementwise = Elementwise(
    "direction_cosine",
    lambda xp, y, a, b: _over_length(xp, xp.square(direction_cosine(b, a)), xp.hypot(a, b)),
    lambda xp, y, a, b: -_over_length(xp, y * direction_cosine(b, a), xp.hypot(a, b)),
    domain=(REAL, REAL),
    special={(0.0, 0.0): (0.0, 0.0)},
    function=_direction,
    ulps=5,
)
direction_cosine.on_floats = _direction_of_floats

hypot = Elementwise(
    "hypot",
    lambda xp, y, a, b: direction_cosine(a, b),
    lambda xp, y, a, b: direction_cosine(b, a),
    domain=(REAL, REAL),
    special={(0.0, 0.0): (0.0, 0.0), (0.0, -2.0): (0.0, -1.0), (INF, 1.0): (1.0, 0.0)},
)

# a / (a*a + b*b), the imaginary part of 1 / (b - ia).
over_square: Elementwise = Elementwise(
    "over_square",
    lambda xp, y, a, b: (
        ((b - a) / xp.hypot(a, b)) * ((b + a) / xp.hypot(a, b)) / xp.hypot(a, b) / xp.hypot(a, b)
    ),
    lambda xp, y, a, b: -2.0 * (y * over_square(b, a)),
    domain=(REAL, POSITIVE),
    function=lambda a, b: _direction(a, b) / np.hypot(a, b),
    ulps=6,
)
over_square.on_floats = lambda a, b: _direction_of_floats(a, b) / math.hypot(a, b)

arctan2 = Elementwise(
    "arctan2",
    lambda xp, y, a, b: over_square(b, a),
    lambda xp, y, a, b: -over_square(a, b),
    domain=(REAL, POSITIVE),
    special={(2.0, 0.0): (0.0, -0.5), (0.0, -2.0): (-0.5, -0.0)},
    ulps=4,
)

deg2rad = Elementwise("deg2rad", lambda xp, y, x: PI / 180.0, second=(0,), domain=(REAL,))

rad2deg = Elementwise("rad2deg", lambda xp, y, x: 180.0 / PI, second=(0,), domain=(REAL,))

radians = implements(np.radians)(deg2rad)
degrees = implements(np.degrees)(rad2deg)


# --------------------------------------------------------------------------- hyperbolic

sinh = Elementwise("sinh", lambda xp, y, x: xp.cosh(x), domain=(REAL,))

cosh = Elementwise("cosh", lambda xp, y, x: xp.sinh(x), domain=(REAL,))


def _sech_squared(x: Any) -> Any:
    if np.iscomplexobj(x):
        return np.square(1 / np.cosh(x))
    e = np.exp(-2.0 * np.abs(x))
    return 4.0 * e / (1.0 + e * (2.0 + e))


def _sech_squared_of_float(x: float) -> float:
    e = math.exp(-2.0 * abs(x))
    return 4.0 * e / (1.0 + e * (2.0 + e))


def _slope_of_tanh(xp: Any, y: Any, x: Any) -> Any:
    return _sech_squared_of_float(x) if xp is scalar else sech_squared(x)


# 1/cosh(x)**2, but cosh overflows before this is 0.
sech_squared = Elementwise(
    "sech_squared",
    lambda xp, y, x: -2.0 * (y * xp.tanh(x)),
    domain=(REAL,),
    function=_sech_squared,
    ulps=6,
)
sech_squared.on_floats = _sech_squared_of_float

tanh = Elementwise(
    "tanh",
    _slope_of_tanh,
    second=(lambda xp, y, x: -2.0 * (y * _slope_of_tanh(xp, y, x)),),
    domain=(REAL,),
    ulps=4,
)


def _length_with_one(xp: Any, x: Any) -> Any:
    if xp is not scalar and np.iscomplexobj(value_of(x)):
        return xp.sqrt(1.0 + x * x)
    return xp.hypot(1.0, x)


arcsinh = Elementwise("arcsinh", lambda xp, y, x: 1.0 / _length_with_one(xp, x), domain=(REAL,))

# Two roots, since the product of what is under them overflows at 1e154.
arccosh = Elementwise(
    "arccosh",
    lambda xp, y, x: 1.0 / (xp.sqrt(x - 1.0) * xp.sqrt(x + 1.0)),
    domain=((1.01, 10.0),),
    special={(1.0,): (INF,)},
    ulps=4,
)

arctanh = Elementwise(
    "arctanh",
    lambda xp, y, x: xp.reciprocal(one_minus_square(x)),
    domain=(INSIDE,),
    special={(1.0,): (INF,), (-1.0,): (INF,)},
)


# ---------------------------------------------------------------------- kinks and steps

_absolute = Elementwise(
    "absolute", lambda xp, y, x: xp.sign(x), second=(0,), domain=(REAL,), special={(0.0,): (0.0,)}
)

fabs = Elementwise(
    "fabs", lambda xp, y, x: xp.sign(x), second=(0,), domain=(REAL,), special={(0.0,): (0.0,)}
)

_sign = Elementwise("sign", None, second=(0,), domain=(REAL,))


def _is_complex_number(x: Any) -> bool:
    return isinstance(x, Number) and np.iscomplexobj(value_of(x))


@implements(np.absolute)
def absolute(x: Any) -> Any:
    """The absolute value: of complex numbers a function of both parts, with no one partial."""
    return hypot(real(x), imag(x)) if _is_complex_number(x) else _absolute(x)


@implements(np.sign)
def sign(x: Any) -> Any:
    """The sign: of complex numbers z/abs(z), which is not flat."""
    if not _is_complex_number(x):
        return _sign(x)
    size = absolute(x)
    return x / where(size == 0, INF, size)


floor = Elementwise("floor", None, second=(0,), domain=(REAL,))

ceil = Elementwise("ceil", None, second=(0,), domain=(REAL,))

trunc = Elementwise("trunc", None, second=(0,), domain=(REAL,))

rint = Elementwise("rint", None, second=(0,), domain=(REAL,))

spacing = Elementwise("spacing", None, second=(0,), domain=(REAL,))

# The next number is the number itself, but for the last place.
nextafter = Elementwise("nextafter", 1, None, second=(0, 0, 0), domain=(REAL, REAL))

heaviside = Elementwise("heaviside", None, None, second=(0, 0, 0), domain=(REAL, REAL))

floor_divide = Elementwise("floor_divide", None, None, second=(0, 0, 0), domain=(REAL, POSITIVE))

# The quotient is the one that the remainder was taken with: 1 // 0.1 is 9.
remainder = Elementwise(
    "remainder",
    1,
    lambda xp, y, a, b: -xp.floor_divide(a, b),
    second=(0, 0, 0),
    domain=(REAL, POSITIVE),
)

fmod = Elementwise(
    "fmod",
    1,
    lambda xp, y, a, b: xp.rint((y - a) / b),
    second=(0, 0, 0),
    domain=(REAL, POSITIVE),
)

mod = remainder


def _above(xp: Any, a: Any, b: Any) -> Any:
    """1 where a is above b, 0 below, a half at a tie; not by a - b, NaN at equal infinities."""
    return xp.heaviside(xp.where(a == b, 0, a - b), 0.5)


def _wins(xp: Any, a: Any, b: Any, above: Any) -> Any:
    """``above``, but a NaN loses to a number."""
    return xp.where(a != a, 0, xp.where(b != b, 1, above))


TIES: dict[tuple[float, ...], tuple[float, ...]] = {
    (1.0, 1.0): (0.5, 0.5),
    (INF, INF): (0.5, 0.5),
    (0.0, -0.0): (0.5, 0.5),
}
MISSING: dict[tuple[float, ...], tuple[float, ...]] = {
    (NAN, 1.0): (0.0, 1.0),
    (1.0, NAN): (1.0, 0.0),
}

maximum = Elementwise(
    "maximum",
    lambda xp, y, a, b: _above(xp, a, b),
    lambda xp, y, a, b: _above(xp, b, a),
    second=(0, 0, 0),
    domain=(REAL, REAL),
    special=TIES,
)

minimum = Elementwise(
    "minimum",
    lambda xp, y, a, b: _above(xp, b, a),
    lambda xp, y, a, b: _above(xp, a, b),
    second=(0, 0, 0),
    domain=(REAL, REAL),
    special=TIES,
)

fmax = Elementwise(
    "fmax",
    lambda xp, y, a, b: _wins(xp, a, b, _above(xp, a, b)),
    lambda xp, y, a, b: _wins(xp, b, a, _above(xp, b, a)),
    second=(0, 0, 0),
    domain=(REAL, REAL),
    special=TIES | MISSING,
)

fmin = Elementwise(
    "fmin",
    lambda xp, y, a, b: _wins(xp, a, b, _above(xp, b, a)),
    lambda xp, y, a, b: _wins(xp, b, a, _above(xp, a, b)),
    second=(0, 0, 0),
    domain=(REAL, REAL),
    special=TIES | MISSING,
)

copysign = Elementwise(
    "copysign",
    lambda xp, y, x, s: xp.sign(x) * xp.sign(y),
    None,
    second=(0, 0, 0),
    domain=(REAL, REAL),
    special={(0.0, -1.0): (0.0, 0.0), (3.0, -0.0): (-1.0, 0.0)},
)

# 2**n as a power in x's own precision.
ldexp = Elementwise(
    "ldexp",
    lambda xp, y, x, n: xp.ldexp(xp.copysign(1.0, x), n) * xp.copysign(1.0, x),
    None,
    second=(0, 0, 0),
    domain=(REAL, ORDER),
)


# ---------------------------------------------------------------- sinc and Bessel's i0


def _by_size(x: Any, limit: float, near: Any, far: Any) -> Any:
    """near(x) where abs(x) is below the limit and far(x) elsewhere, each seeing its side only."""
    if type(x) is float:
        return near(x) if abs(x) < limit else far(x)
    small = np.abs(x) < limit
    if np.all(small):
        return near(x)
    return np.where(small, near(np.where(small, x, 0)), far(np.where(small, limit, x)))[()]


def _sine_of_half_turns(x: Any, quarter: int) -> Any:
    """sin(pi x + quarter pi/2), reduced before pi is multiplied in."""
    sign = -1.0 if quarter % 4 >= 2 else 1.0
    if np.iscomplexobj(x):
        return sign * (np.cos(PI * x) if quarter % 2 else np.sin(PI * x))
    r = x - 2.0 * np.rint(0.5 * x)
    size = np.abs(r)
    if quarter % 2:
        return sign * np.sin(PI * (0.5 - size))
    return sign * np.sin(PI * np.where(size > 0.5, np.copysign(1.0, r) - r, r))


def _sinc_slope(x: Any, n: int) -> Any:
    limit = 0.25 * (n + 1)
    return _by_size(x, limit, lambda x: _sinc_slope_near(x, n), lambda x: _sinc_slope_far(x, n))


@functools.cache
def _sinc_series(n: int) -> tuple[float, ...]:
    """Taylor's coefficients of the n-th derivative, the last first."""
    return tuple(
        (-1) ** k * PI ** (2 * k) / (2 * k + 1) / math.factorial(2 * k - n)
        for k in range(n // 2 + 16, (n - 1) // 2, -1)
    )


def _sinc_slope_near(x: Any, n: int) -> Any:
    y: Any = 0.0
    for c in _sinc_series(n):
        y = y * x * x + c
    return y * x if n % 2 else y


def _sinc_slope_far(x: Any, n: int) -> Any:
    # x sinc(x) = sin(pi x) / pi, differentiated once more at each step
    y = _sine_of_half_turns(x, 0) / (PI * x)
    for m in range(1, n + 1):
        y = (PI ** (m - 1) * _sine_of_half_turns(x, m) - m * y) / x
    return y


# The n-th derivative of sinc, n constant.  Near its zeros the error is relative to 1/x.
sinc_slope: Elementwise = Elementwise(
    "sinc_slope",
    lambda xp, y, x, n: sinc_slope(x, n + 1),
    None,
    domain=(REAL, ORDER),
    function=_sinc_slope,
    ulps=8,
)

sinc = implements(np.sinc)(
    Elementwise(
        "sinc",
        lambda xp, y, x: sinc_slope(x, 1),
        domain=(REAL,),
        special={(0.0,): (0.0,)},
        ulps=8,
    )
)


def _bessel_i(x: Any, n: int) -> Any:
    return _by_size(x, 20.0, lambda x: _bessel_i_near(x, n), lambda x: _bessel_i_far(x, n))


def _bessel_i_near(x: Any, n: int) -> Any:
    half = 0.5 * x
    y: Any = 1.0
    for k in range(44, 0, -1):  # all terms have one sign; half * half would be off in all
        y = 1.0 + y * half / k * half / (k + n)
    return y * half**n / math.factorial(n)


def _bessel_i_far(x: Any, n: int) -> Any:
    t = np.minimum(np.abs(x), 1e4)
    y: Any = 1.0
    for k in range(30, 0, -1):  # Hankel's expansion, which from 20 on ends in time
        y = 1.0 - y * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * t)
    root = np.exp(0.5 * t)  # exp(t) overflows before the function does
    y = root / np.sqrt(2.0 * PI * t) * y * root
    return np.sign(x) * y if n % 2 else y


# Bessel's I_n, n constant.
bessel_i: Elementwise = Elementwise(
    "bessel_i",
    lambda xp, y, x, n: (bessel_i(x, abs(n - 1)) + bessel_i(x, n + 1)) * 0.5,
    None,
    domain=(REAL, ORDER),
    function=_bessel_i,
    ulps=8,
)

i0 = implements(np.i0)(
    Elementwise(
        "i0",
        lambda xp, y, x: bessel_i(x, 1),
        domain=(REAL,),
        special={(0.0,): (0.0,)},
        function=lambda x: np.i0(x)[()],
        ulps=8,
    )
)
