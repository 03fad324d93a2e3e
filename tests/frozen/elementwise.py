"""The partials of every elementwise row to thirty digits, from the functions alone.

No derivative is written down here: each function is evaluated by mpmath with so many
digits that plain central differences with a step of 1e-35 have thirty right ones, also
where tanh is 1 minus 1e-300.  ``python tests/frozen/elementwise.py`` (a minute)
writes ``elementwise.json`` beside this file: for each row a list of points (doubles as
hex, exact; integers as they are) with first partials and second partials (the upper
triangle), null in an integer argument.  What is outside the range of doubles is 0 or inf.
"""

import itertools
import json
import math
import random
from pathlib import Path

from mpmath import mp, mpf

FILE = Path(__file__).with_suffix(".json")
DIGITS = 1500
STEP = mpf(10) ** -35
STEP_AT_ZERO = mpf(10) ** -350  # an error of its square is 0 in double precision


def cbrt(x):
    return mp.sign(x) * mp.cbrt(abs(x))


def truncated(x):
    return mp.sign(x) * mp.floor(abs(x))


def hypot(a, b):
    return mp.sqrt(a * a + b * b)


def share(base):
    return lambda a, b: 1 / (1 + mp.power(base, b - a))


def logadd(base):
    # Only the difference of the arguments is exponentiated, to stay within the exponents.
    def f(a, b):
        return max(a, b) + mp.log1p(mp.power(base, -abs(a - b))) / mp.log(base)

    return f


def sinc_derivative(x, n):
    """The n-th derivative of sin(pi x) / (pi x), by Leibniz's rule."""
    if x == 0:
        return mp.pi**n * mp.cospi(mpf(n) / 2) / (n + 1)
    return mp.fsum(
        mp.binomial(n, k)
        * (mp.pi**k * mp.sinpi(x + mpf(k) / 2))
        * ((-1) ** (n - k) * mp.factorial(n - k) / (mp.pi * x ** (n - k + 1)))
        for k in range(n + 1)
    )


def copysign(x, s):
    return abs(x) if s > 0 else -abs(x)


def between(low, high, count=12, seed=0):
    """Doubles drawn evenly from an interval."""
    draw = random.Random(seed)
    return [draw.uniform(low, high) for _ in range(count)]


def spread(low, high, count=12, seed=1):
    """Doubles of both signs whose logarithms are drawn evenly."""
    draw = random.Random(seed)
    return [
        draw.choice((-1, 1)) * 10 ** draw.uniform(math.log10(low), math.log10(high))
        for _ in range(count)
    ]


def positive(points):
    return [abs(x) for x in points]


def pairs(*columns):
    """Points of several arguments, one entry of each column."""
    return list(zip(*columns, strict=True))


TINY, HUGE = 1e-200, 1e200
LAST = 1 - 2.0**-53  # the double below 1

REAL = [0.0, *between(-10, 10), *spread(1e-12, 1), TINY, -TINY, 1e-300]
POSITIVE = [*positive(spread(1e-12, 1e12)), *between(0.5, 2, 8), TINY, HUGE, 1e-300, 1e300]
INSIDE = [0.0, *between(-1, 1), *spread(1e-12, 1), TINY, LAST, -LAST, 0.9999, 0.5]
FAR = [HUGE, -HUGE, 1e100, *spread(10, 1e15, 6)]
PAIRS = [
    *pairs(between(-10, 10, seed=2), between(-10, 10, seed=3)),
    *pairs(spread(1e-6, 1e6, seed=4), spread(1e-6, 1e6, seed=5)),
]
LENGTHS = [
    *PAIRS, (HUGE, 3e200), (-2 * TINY, TINY), (1e-170, 3.0), (1.0, 1e-8), (1e-8, -1.0),
    (3.0, 1e9), (1.5e300, -1e300), (3e-300, 4e-300), (0.0, 2.0), (-2.0, 0.0), (5e-324, 1e-323),
]  # fmt: skip
SUMS = [
    *PAIRS, (0.3, 700.1), (700.1, 0.3), (-0.1, -350.7), (1e50, 1.0), (-1e50, 3.0), (2.0, 2.0),
    (1e50, 1e50), (1.0, 1.0 + 2.0**-52), (-1e5, -1e5 - 0.1), (1e16, 1e16 + 2), (0.1, 740.3),
]  # fmt: skip
DIVISIONS = [(a, abs(b)) for a, b in PAIRS if abs(a / b) < 1e9] + [(5.3, -0.7), (-5.3, -0.7)]
BASES = [
    *pairs(positive(spread(1e-8, 1e8, seed=6)), between(-3, 3, seed=7)),
    *pairs(between(0.5, 2, 8, seed=8), between(-40, 40, 8, seed=9)),
    (1e300, 1 / 3), (1e-300, 0.1), (1e200, -0.7), (3.0, 1e-20), (2.0, 1e-300), (1e-200, 2.0),
    (1e150, 2.0), (1e-100, 3.0), (7.5, 4.0), (2.0, 0.5), (1e-200, 1.5), (1.3, 1.0), (0.7, 3.0),
]  # fmt: skip
FLAT = [-7.3, -1.5, -0.2, 0.3, 2.5, 1e10 + 0.5]
APART = [p for p in PAIRS if p[0] != p[1]]


def orders(points, low, high):
    return [(x, n) for n in range(low, high + 1) for x in points]


#: row -> (the function, its points)
ROWS = {
    "add": (lambda a, b: a + b, PAIRS),
    "subtract": (lambda a, b: a - b, PAIRS),
    "negative": (lambda x: -x, REAL),
    "positive": (lambda x: x, REAL),
    "multiply": (lambda a, b: a * b, LENGTHS),
    "scaled": (lambda p, t: p * t, LENGTHS),
    "divide": (
        lambda a, b: a / b,
        [*PAIRS, (1e-200, 1e-160), (1e-200, 1e100), (1e200, 1e-20), (1e200, 1e160), (3.0, 1e200)],
    ),
    "reciprocal": (lambda x: 1 / x, [*POSITIVE, -0.3, -TINY]),
    "square": (lambda x: x * x, [*REAL, *FAR]),
    "power": (mp.power, BASES),
    "float_power": (mp.power, BASES),
    "power_log": (
        lambda x, b, k, n: mp.power(x, b - k) * mp.log(x) ** n,
        [(x, b, k, n) for x, b in BASES[:22] for k, n in ((0, 0), (0, 1), (1, 0), (1, 1))],
    ),
    "sqrt": (mp.sqrt, POSITIVE),
    "cbrt": (cbrt, [*POSITIVE, -0.3, -8.0, -HUGE]),
    "exp": (mp.exp, [*REAL, 709.7, 300.3, -708.3, -740.2, -1e10]),
    "exp2": (lambda x: mp.power(2, x), [*REAL, 1023.9, 300.3, -1021.3, -1070.2, -1e10]),
    "expm1": (mp.expm1, [*REAL, 709.7, -40.0, -708.3, -740.2, -1e10]),
    "log": (mp.log, POSITIVE),
    "log2": (lambda x: mp.log(x) / mp.log(2), POSITIVE),
    "log10": (mp.log10, POSITIVE),
    "log1p": (mp.log1p, [*POSITIVE, 0.0, -0.5, -0.3, -LAST, -1e-10, -TINY]),
    "exp_share": (share(mp.e), SUMS),
    "exp2_share": (share(mpf(2)), SUMS),
    "logaddexp": (logadd(mp.e), SUMS),
    "logaddexp2": (logadd(mpf(2)), SUMS),
    "sin": (mp.sin, [*REAL, *FAR]),
    "cos": (mp.cos, [*REAL, *FAR]),
    "tan": (mp.tan, [*REAL, *FAR, 1.5707963267948966]),
    "one_minus_square": (lambda x: 1 - x * x, [*INSIDE, *FAR]),
    "arcsin": (mp.asin, INSIDE),
    "arccos": (mp.acos, INSIDE),
    "lorentzian": (lambda x: 1 / (1 + x * x), [*REAL, *FAR, 1e80, -1e155]),
    "arctan": (mp.atan, [*REAL, *FAR, 1e80, -1e155]),
    "direction_cosine": (lambda a, b: a / hypot(a, b), LENGTHS),
    "hypot": (hypot, LENGTHS),
    "over_square": (lambda a, b: a / (a * a + b * b), LENGTHS[:-1]),
    "arctan2": (mp.atan2, [p for p in LENGTHS[:-1] if p != (-2.0, 0.0)] + [(2.0, 0.0)]),
    "deg2rad": (lambda x: x * mp.pi / 180, REAL),
    "rad2deg": (lambda x: x * 180 / mp.pi, REAL),
    "sinh": (mp.sinh, [*REAL, 709.9, -710.4, 300.3]),
    "cosh": (mp.cosh, [*REAL, 709.9, -710.4, 300.3]),
    "sech_squared": (
        lambda x: mp.sech(x) ** 2,
        [*REAL, 18.3, -40.2, 300.3, 354.9, 360.1, -371.3, 800.0, -HUGE],
    ),
    "tanh": (mp.tanh, [*REAL, 18.3, -40.2, 300.3, 354.9, 360.1, -371.3, 800.0, -HUGE]),
    "arcsinh": (mp.asinh, [*REAL, *FAR, 1e154, -1e155]),
    "arccosh": (mp.acosh, [1 + 2.0**-52, 1.01, *between(1, 10), *positive(FAR), 1e154]),
    "arctanh": (mp.atanh, INSIDE),
    "absolute": (abs, [x for x in REAL if x]),
    "fabs": (abs, [x for x in REAL if x]),
    "sign": (mp.sign, FLAT),
    "floor": (mp.floor, FLAT),
    "ceil": (mp.ceil, FLAT),
    "trunc": (truncated, FLAT),
    "rint": (mp.nint, [-7.3, -0.2, 0.3, 1e10 + 0.25]),
    "spacing": (lambda x: mpf(2) ** (mp.floor(mp.log(abs(x), 2)) - 52), FLAT),
    "nextafter": (lambda x, to: x, APART),  # but for the last digit
    "heaviside": (lambda x, h: mpf(x > 0), APART),
    "floor_divide": (lambda a, b: mp.floor(a / b), DIVISIONS),
    "remainder": (lambda a, b: a - b * mp.floor(a / b), [*DIVISIONS, (1.0, 0.1)]),
    "fmod": (lambda a, b: a - b * truncated(a / b), [*DIVISIONS, (1.0, 0.1)]),
    "maximum": (max, APART),
    "minimum": (min, APART),
    "fmax": (max, APART),
    "fmin": (min, APART),
    "copysign": (copysign, APART),
    "ldexp": (lambda x, n: x * mpf(2) ** n, orders([0.0, 0.3, -TINY, 1e300], -40, -38)),
    "sinc_slope": (
        sinc_derivative,
        orders([0.0, *between(-3, 3), *spread(1e-8, 1), 0.1, 20.3, 1000.3], 0, 3),
    ),
    "sinc": (
        lambda x: sinc_derivative(x, 0),
        [0.0, *between(-3, 3), *spread(1e-8, 1), 1e-5, -1e-5, TINY, 20.3, 1000.3, 1e10 + 0.3],
    ),
    "bessel_i": (
        lambda x, n: mp.besseli(n, x),
        orders([0.0, *between(-10, 10), 1e-5, -19.9, 20.1, 100.3, 700.1], 0, 3),
    ),
    "i0": (
        lambda x: mp.besseli(0, x),
        [0.0, *between(-10, 10), *spread(1e-8, 1), TINY, -19.9, 20.1, 100.3, 700.1, -712.9],
    ),
}  # fmt: skip


def partials(f, point):
    """First and second partials of f by central differences."""
    args = [mpf(x) if isinstance(x, float) else x for x in point]
    steps = [STEP * min(abs(x), 1) if x else STEP_AT_ZERO for x in args]

    def shifted(*shifts):
        moved = list(args)
        for i, sign in shifts:
            moved[i] = moved[i] + sign * steps[i]
        return f(*moved)

    real = [i for i, x in enumerate(args) if isinstance(x, mpf)]
    first = [
        (shifted((i, 1)) - shifted((i, -1))) / (2 * steps[i]) if i in real else None
        for i in range(len(args))
    ]
    second = []
    for i, j in itertools.combinations_with_replacement(range(len(args)), 2):
        if i not in real or j not in real:
            second.append(None)
        elif i == j:
            second.append((shifted((i, 1)) - 2 * f(*args) + shifted((i, -1))) / steps[i] ** 2)
        else:
            corners = [
                p * q * shifted((i, p), (j, q)) for p, q in itertools.product((1, -1), repeat=2)
            ]
            second.append(mp.fsum(corners) / (4 * steps[i] * steps[j]))
    return first, second


def written(value):
    """Thirty digits, or what a double can still tell."""
    if value is None:
        return None
    if abs(value) < mpf(10) ** -330:
        return "0.0"
    if abs(value) > mpf(10) ** 310:
        return "inf" if value > 0 else "-inf"
    return mp.nstr(value, 30)


def entry(name, point):
    """What the file holds for one point of a row."""
    f, _ = ROWS[name]
    with mp.workdps(DIGITS):
        first, second = partials(f, point)
        return {
            "at": [x.hex() if isinstance(x, float) else x for x in point],
            "first": [written(p) for p in first],
            "second": [written(p) for p in second],
        }


def points(name):
    return [p if isinstance(p, tuple) else (p,) for p in ROWS[name][1]]


if __name__ == "__main__":
    table = {name: [entry(name, p) for p in points(name)] for name in ROWS}
    lines = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, entries)) + "\n]"
        for name, entries in table.items()
    )
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
