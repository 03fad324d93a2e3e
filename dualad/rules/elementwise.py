"""Elementwise rows: a function of numbers, and its partial in each argument.

A row is a formula written once.  ``xp`` is the namespace of the arguments (NumPy's names
for floats, for arrays, and for numbers of any system), ``y`` the output.  Every formula is
a choice among many that are equal on paper: tanh' as 1 - y*y loses all its digits at 18,
arcsin' as 1/sqrt(1 - x*x) half of them near 1.  A comment says why where it is not plain.

Formulas are differentiated again for higher orders.  So a kink or a removable
singularity goes through ``xp.where``, whose unselected branch is made safe first.
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from dualad.primitive import Elementwise

LN2 = log(2.0)
LN10 = log(10.0)

REAL = (-10.0, 10.0)
POSITIVE = (0.01, 10.0)

# ----------------------------------------------------------------------- arithmetic

add = Elementwise("add", 1, 1, second=(0, 0, 0), domain=(REAL, REAL))

subtract = Elementwise("subtract", 1, -1, second=(0, 0, 0), domain=(REAL, REAL))

multiply = Elementwise(
    "multiply",
    lambda xp, y, a, b: b,
    lambda xp, y, a, b: a,
    second=(0, 1, 0),
    domain=(REAL, REAL),
)

divide = Elementwise(
    "divide",
    lambda xp, y, a, b: 1 / b,
    lambda xp, y, a, b: -(y / b),
    second=(0, lambda xp, y, a, b: -(1 / b / b), lambda xp, y, a, b: 2 * (y / b / b)),
    domain=(REAL, POSITIVE),
)

negative = Elementwise("negative", -1, second=(0,), domain=(REAL,))

positive = Elementwise("positive", 1, second=(0,), domain=(REAL,))

reciprocal = Elementwise(
    "reciprocal",
    lambda xp, y, x: -(y / x),
    second=(lambda xp, y, x: 2 * (y / x / x),),
    domain=(POSITIVE,),
)

square = Elementwise("square", lambda xp, y, x: 2 * x, second=(2,), domain=(REAL,))


def _scaled(p: Any, t: Any) -> Any:
    r = p * t
    s = np.vdot(r, r)
    return np.where(t == 0, 0, r) if s != s else r


scaled = Elementwise(
    "scaled",
    lambda xp, y, p, t: t,
    lambda xp, y, p, t: p,
    second=(0, 1, 0),
    domain=(REAL, REAL),
    function=_scaled,
)

# ----------------------------------------------------------------------- powers


def _power_in_base(xp: Any, y: Any, x: Any, b: Any) -> Any:
    if type(b) is int or type(b) is float:
        if b == 2:
            return 2 * x
        if b == 0:
            return 0
        return b * xp.power(x, b - 1)
    # At exponent 0 the slope is 0 even where x**-1 is infinite.
    flat = b == 0
    return xp.where(
        flat, b * y / xp.where(x == 0, 1, x), b * xp.power(xp.where(flat, 1, x), b - 1)
    )


def _power_in_exponent(xp: Any, y: Any, x: Any, b: Any) -> Any:
    return xp.where(y == 0, 0.0, y * xp.log(xp.where(y == 0, 1.0, x)))


power = Elementwise("power", _power_in_base, _power_in_exponent, domain=(POSITIVE, (-3.0, 3.0)))

float_power = Elementwise(
    "float_power", _power_in_base, _power_in_exponent, domain=(POSITIVE, (-3.0, 3.0))
)

sqrt = Elementwise(
    "sqrt",
    lambda xp, y, x: 0.5 / (y + 0.0),  # sqrt(-0.0) is -0.0, its slope +inf
    second=(lambda xp, y, x: -0.25 / (y + 0.0) / x,),
    domain=(POSITIVE,),
)

cbrt = Elementwise("cbrt", lambda xp, y, x: 1.0 / (3.0 * (y * y)), domain=(POSITIVE,))

# ----------------------------------------------------------- exponentials and logarithms

exp = Elementwise(
    "exp", lambda xp, y, x: y, second=(lambda xp, y, x: y,), domain=(REAL,)
)

exp2 = Elementwise("exp2", lambda xp, y, x: LN2 * y, domain=(REAL,))

expm1 = Elementwise("expm1", lambda xp, y, x: xp.exp(x), domain=(REAL,))

log = Elementwise(  # type: ignore[assignment]
    "log", lambda xp, y, x: 1.0 / x, second=(lambda xp, y, x: -1.0 / x / x,), domain=(POSITIVE,)
)

log2 = Elementwise("log2", lambda xp, y, x: 1.0 / LN2 / x, domain=(POSITIVE,))

log10 = Elementwise("log10", lambda xp, y, x: 1.0 / LN10 / x, domain=(POSITIVE,))

log1p = Elementwise("log1p", lambda xp, y, x: 1.0 / (1.0 + x), domain=((-0.9, 10.0),))

logaddexp = Elementwise(
    "logaddexp",
    lambda xp, y, a, b: xp.exp(a - y),
    lambda xp, y, a, b: xp.exp(b - y),
    domain=(REAL, REAL),
)

logaddexp2 = Elementwise(
    "logaddexp2",
    lambda xp, y, a, b: xp.exp2(a - y),
    lambda xp, y, a, b: xp.exp2(b - y),
    domain=(REAL, REAL),
)

# ----------------------------------------------------------------------- trigonometry

sin = Elementwise(
    "sin", lambda xp, y, x: xp.cos(x), second=(lambda xp, y, x: -y,), domain=(REAL,)
)

cos = Elementwise(
    "cos", lambda xp, y, x: -xp.sin(x), second=(lambda xp, y, x: -y,), domain=(REAL,)
)

tan = Elementwise("tan", lambda xp, y, x: 1.0 + y * y, domain=((-1.5, 1.5),))

arcsin = Elementwise(
    "arcsin",
    lambda xp, y, x: 1.0 / xp.sqrt((1.0 - x) * (1.0 + x)),
    domain=((-0.99, 0.99),),
)

arccos = Elementwise(
    "arccos",
    lambda xp, y, x: -1.0 / xp.sqrt((1.0 - x) * (1.0 + x)),
    domain=((-0.99, 0.99),),
)

arctan = Elementwise("arctan", lambda xp, y, x: 1.0 / (1.0 + x * x), domain=(REAL,))

hypot = Elementwise(
    "hypot",
    lambda xp, y, a, b: a / xp.where(y == 0, 1.0, y),
    lambda xp, y, a, b: b / xp.where(y == 0, 1.0, y),
    domain=(REAL, REAL),
)

arctan2 = Elementwise(
    "arctan2",
    lambda xp, y, a, b: b / xp.hypot(a, b) / xp.hypot(a, b),
    lambda xp, y, a, b: -(a / xp.hypot(a, b) / xp.hypot(a, b)),
    domain=(REAL, REAL),
)

deg2rad = Elementwise("deg2rad", lambda xp, y, x: pi / 180.0, domain=(REAL,))

rad2deg = Elementwise("rad2deg", lambda xp, y, x: 180.0 / pi, domain=(REAL,))

# ----------------------------------------------------------------------- hyperbolic

sinh = Elementwise("sinh", lambda xp, y, x: xp.cosh(x), domain=(REAL,))

cosh = Elementwise("cosh", lambda xp, y, x: xp.sinh(x), domain=(REAL,))

tanh = Elementwise(
    "tanh",
    lambda xp, y, x: 1.0 / xp.square(xp.cosh(x)),
    domain=(REAL,),
)

arcsinh = Elementwise("arcsinh", lambda xp, y, x: 1.0 / xp.hypot(1.0, x), domain=(REAL,))

arccosh = Elementwise(
    "arccosh",
    lambda xp, y, x: 1.0 / (xp.sqrt(x - 1.0) * xp.sqrt(x + 1.0)),
    domain=((1.01, 10.0),),
)

arctanh = Elementwise(
    "arctanh", lambda xp, y, x: 1.0 / ((1.0 - x) * (1.0 + x)), domain=((-0.99, 0.99),)
)

# ----------------------------------------------------------------------- kinks and steps

absolute = Elementwise("absolute", lambda xp, y, x: xp.sign(x), domain=(REAL,))

fabs = Elementwise("fabs", lambda xp, y, x: xp.sign(x), domain=(REAL,))

sign = Elementwise("sign", None, domain=(REAL,))

floor = Elementwise("floor", None, domain=(REAL,))

ceil = Elementwise("ceil", None, domain=(REAL,))

trunc = Elementwise("trunc", None, domain=(REAL,))

rint = Elementwise("rint", None, domain=(REAL,))

heaviside = Elementwise("heaviside", None, None, domain=(REAL, REAL))

floor_divide = Elementwise("floor_divide", None, None, domain=(REAL, POSITIVE))

nextafter = Elementwise("nextafter", None, None, domain=(REAL, REAL))

spacing = Elementwise("spacing", None, domain=(REAL,))

maximum = Elementwise(
    "maximum",
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(a == y, 1.0, 0.0)),
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(b == y, 1.0, 0.0)),
    domain=(REAL, REAL),
)

minimum = Elementwise(
    "minimum",
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(a == y, 1.0, 0.0)),
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(b == y, 1.0, 0.0)),
    domain=(REAL, REAL),
)

fmax = Elementwise(
    "fmax",
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(a == y, 1.0, 0.0)),
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(b == y, 1.0, 0.0)),
    domain=(REAL, REAL),
)

fmin = Elementwise(
    "fmin",
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(a == y, 1.0, 0.0)),
    lambda xp, y, a, b: xp.where(a == b, 0.5, xp.where(b == y, 1.0, 0.0)),
    domain=(REAL, REAL),
)

copysign = Elementwise(
    "copysign", lambda xp, y, x, s: xp.sign(x) * xp.sign(y), None, domain=(REAL, REAL)
)

remainder = Elementwise(
    "remainder", 1, lambda xp, y, a, b: -xp.floor_divide(a, b), domain=(REAL, POSITIVE)
)

fmod = Elementwise("fmod", 1, lambda xp, y, a, b: -xp.trunc(a / b), domain=(REAL, POSITIVE))

ldexp = Elementwise("ldexp", lambda xp, y, x, n: xp.exp2(n), None, domain=(REAL, (-3.0, 3.0)))

# ----------------------------------------------------------------------- special shapes

sinc = Elementwise(
    "sinc",
    lambda xp, y, x: (xp.cos(pi * x) - y) / xp.where(x == 0, 1.0, x),
    domain=(REAL,),
)

__all__ = [name for name, row in list(globals().items()) if isinstance(row, Elementwise)]
