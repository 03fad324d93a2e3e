"""NumPy's names for functions of Python floats.

A row is written once over a namespace; for floats that namespace is this module, which
costs a tenth of NumPy.  Where ``math`` raises (log 0, exp 1000, 1/0, a negative base) the
caller evaluates the same row with NumPy, so the user sees NumPy's answer everywhere.
Only functions that agree with NumPy wherever they do not raise are here.
"""

from __future__ import annotations

import math
from math import (
    cbrt,
    copysign,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    fabs,
    fmod,
    hypot,
    log,
    log1p,
    log2,
    log10,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from operator import index

__all__ = [
    "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "cbrt", "ceil", "copysign", "cos", "cosh", "deg2rad", "divide", "exp", "exp2", "expm1", "fabs",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot",
    "isfinite", "isinf", "isnan", "ldexp", "log", "log10", "log1p", "log2", "maximum", "minimum",
    "multiply", "negative", "positive", "power", "rad2deg", "reciprocal", "remainder", "rint",
    "scaled", "sign", "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan", "tanh",
    "trunc", "where",
]  # fmt: skip

absolute = fabs
arccos, arcsin, arctan, arctan2 = math.acos, math.asin, math.atan, math.atan2
arccosh, arcsinh, arctanh = math.acosh, math.asinh, math.atanh
power = float_power = math.pow  # not **, which turns a root of -8 complex
deg2rad, rad2deg = math.radians, math.degrees
isfinite, isinf, isnan = math.isfinite, math.isinf, math.isnan


def add(a: float, b: float) -> float:
    return a + b


def subtract(a: float, b: float) -> float:
    return a - b


def multiply(a: float, b: float) -> float:
    return a * b


def divide(a: float, b: float) -> float:
    return a / b


def negative(x: float) -> float:
    return -x


def positive(x: float) -> float:
    return x


def square(x: float) -> float:
    return x * x


def reciprocal(x: float) -> float:
    return 1.0 / x


def sign(x: float) -> float:
    return 1.0 if x > 0 else -1.0 if x < 0 else x + 0.0


# The copysign keeps the sign of a zero, which an int has not.


def floor(x: float) -> float:
    return copysign(math.floor(x), x)


def ceil(x: float) -> float:
    return copysign(math.ceil(x), x)


def trunc(x: float) -> float:
    return copysign(math.trunc(x), x)


def rint(x: float) -> float:
    return copysign(round(x), x)


def floor_divide(a: float, b: float) -> float:
    return a // b


def remainder(a: float, b: float) -> float:
    return a % b


def ldexp(x: float, n: int) -> float:
    try:
        return math.ldexp(x, index(n))  # NumPy's integers are none to math
    except OverflowError:  # NumPy cannot answer instead, with n as a float
        return copysign(math.inf, x)


def heaviside(x: float, at_zero: float) -> float:
    return 1.0 if x > 0.0 else 0.0 if x < 0.0 else float(at_zero) if x == 0.0 else x


# A literal 0 is an int, which is no answer: np.maximum(x, 0) is a float.


def maximum(a: float, b: float) -> float:
    return float(a if a >= b or a != a else b)


def minimum(a: float, b: float) -> float:
    return float(a if a <= b or a != a else b)


def fmax(a: float, b: float) -> float:
    return float(a if a >= b or b != b else b)


def fmin(a: float, b: float) -> float:
    return float(a if a <= b or b != b else b)


def sinc(x: float) -> float:
    y = math.pi * x
    return sin(y) / y if y else 1.0


def where(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def scaled(partial: float, tangent: float) -> float:
    """``partial * tangent``, where a zero tangent stays zero against any partial."""
    y = partial * tangent
    return y if y == y or tangent != 0.0 else 0.0
