"""NumPy's names for functions of Python floats.

A row is written once over a namespace; for floats that namespace is this module, which
costs a tenth of NumPy.  Where ``math`` raises (log 0, exp 1000, 1/0, a negative base) the
caller evaluates the same row with NumPy, so the user sees NumPy's answer everywhere.
Only functions that agree with NumPy wherever they do not raise are here.
"""

from __future__ import annotations

import math
from math import (
    acos as arccos,
    acosh as arccosh,
    asin as arcsin,
    asinh as arcsinh,
    atan as arctan,
    atan2 as arctan2,
    atanh as arctanh,
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
    pow as power,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

__all__ = [
    "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "cbrt", "copysign", "cos", "cosh", "divide", "exp", "exp2", "expm1", "fabs", "float_power",
    "fmod", "hypot", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "multiply",
    "negative", "positive", "power", "reciprocal", "scaled", "sign", "sin", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "where",
]  # fmt: skip

absolute = fabs
float_power = power
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


def where(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def scaled(partial: float, tangent: float) -> float:
    """``partial * tangent``, where a zero tangent stays zero against any partial."""
    y = partial * tangent
    return y if y == y or tangent != 0.0 else 0.0
