"""Every elementwise row is as accurate as it says, first partials and second.

The frozen values are high-precision differences of the functions themselves
(``frozen/elementwise.py``); errors are counted in units of the last place of the true value.
"""

from __future__ import annotations

import importlib.util
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dualad as ad
from dualad import rules, scalar
from dualad.primitive import evaluate_formula

FROZEN = Path(__file__).parent / "frozen"
VALUES = json.loads((FROZEN / "elementwise.json").read_text())
ROWS = sorted(rules.elementwise_rows, key=lambda row: row.name)
SECOND_ULPS = 64

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
spaces = pytest.mark.parametrize("on", ["floats", "arrays"])


def ulps(value, true):
    """The distance of a double from a decimal, in last places of the latter."""
    value, exact = float(value), Decimal(true)
    nearest = float(exact)
    if math.isinf(nearest) or not math.isfinite(value):
        return 0.0 if value == nearest else math.inf
    distance = abs(Fraction(value) - Fraction(exact)) / Fraction(math.ulp(nearest))
    return float(min(distance, 2**60))


def batches(row, on):
    """The frozen points as calls: one a point, or one array of all that share their integers."""
    entries = VALUES[row.name]
    points = [[float.fromhex(x) if isinstance(x, str) else x for x in e["at"]] for e in entries]
    if on == "floats":
        return [(point, [e]) for point, e in zip(points, entries, strict=True)]
    groups = {}
    for point, e in zip(points, entries, strict=True):
        groups.setdefault(tuple(x for x in point if isinstance(x, int)), []).append((point, e))
    return [
        (
            [
                np.array(column) if isinstance(column[0], float) else column[0]
                for column in zip(*(point for point, _ in group), strict=True)
            ],
            [e for _, e in group],
        )
        for group in groups.values()
    ]


def check(row, args, got, expected, bound, what):
    """Compare one partial at the points of a batch."""
    if expected[0] is None:  # an integer argument
        assert got is None
        return
    shape = np.broadcast_shapes(*map(np.shape, args))
    got = np.broadcast_to(0.0 if got is None else got, shape).ravel()
    columns = [np.broadcast_to(a, shape).ravel() for a in args]
    errors = {
        tuple(c[n].item() for c in columns): (ulps(g, true), float(g), true)
        for n, (g, true) in enumerate(zip(got, expected, strict=True))
    }
    wrong = {point: e for point, e in errors.items() if not e[0] <= bound}
    assert not wrong, f"{what} of {row.name}: ulps, value, true value by point: {wrong}"


def pairs_of(row):
    """The arguments of each second partial: the upper triangle."""
    n = len(row.partials)
    return [(i, j) for i in range(n) for j in range(i, n)]


def test_every_row_has_frozen_values():
    missing = {row.name for row in ROWS} ^ set(VALUES)
    assert not missing, f"run python tests/frozen/elementwise.py after adding {missing} to it"


@rows
def test_ulps_are_small(row):
    assert row.ulps <= 8


def test_most_rows_are_within_two_ulps():
    assert sum(row.ulps <= 2 for row in ROWS) > len(ROWS) / 2


def formulas_at(row, formulas, args):
    """What formulas of a row give at these plain arguments, as the number systems ask for it."""
    with np.errstate(all="ignore"):
        y = row(*args)
        xp = scalar if type(y) is float else np
        return [evaluate_formula(f, xp, y, args) if callable(f) else f for f in formulas]


@spaces
@rows
def test_first_partials(row, on):
    for args, entries in batches(row, on):
        for i, value in enumerate(formulas_at(row, row.partials, args)):
            expected = [e["first"][i] for e in entries]
            check(row, args, value, expected, row.ulps, f"partial {i} on {on}")


GIVEN = [row for row in ROWS if row.second is not None]


@spaces
@pytest.mark.parametrize("row", GIVEN, ids=lambda row: row.name)
def test_given_second_partials(row, on):
    for args, entries in batches(row, on):
        values = formulas_at(row, row.second, args)
        for place, (value, (i, j)) in enumerate(zip(values, pairs_of(row), strict=True)):
            expected = [e["second"][place] for e in entries]
            if expected[0] is not None:
                check(row, args, value, expected, SECOND_ULPS, f"second partial {i}{j} on {on}")


@spaces
@rows
def test_derived_second_partials(row, on):
    for args, entries in batches(row, on):
        for place, (i, j) in enumerate(pairs_of(row)):
            expected = [e["second"][place] for e in entries]
            if expected[0] is None:
                continue
            for of, by in {(i, j), (j, i)}:
                slope = slope_of_partial(row, of, by, args)
                what = f"derived second partial {of}{by} on {on}"
                if hasattr(np, row.name):
                    check(row, args, slope, expected, SECOND_ULPS, what)
                else:
                    check_roughly(args, slope, entries, place, what)


def check_roughly(args, got, entries, place, what):
    """For rows that serve as partials of others: their second partials are third ones.

    Those may cancel, so they are compared at the scale of the partials, away from the ends
    of the range of doubles.
    """
    shape = np.broadcast_shapes(*map(np.shape, args))
    got = np.broadcast_to(0.0 if got is None else got, shape).ravel()
    sizes = [np.abs(np.broadcast_to(a, shape).ravel()) for a in args]
    for n, e in enumerate(entries):
        if all(1e-3 < size[n] < 1e3 or size[n] == 0 for size in sizes):
            scale = max(abs(float(v)) for v in (*e["first"], *e["second"]) if v is not None)
            error = abs(got[n] - float(e["second"][place]))
            assert error <= SECOND_ULPS * 2.0**-52 * scale + 1e-300, f"{what} at {e['at']}"


def slope_of_partial(row, of, by, args):
    """The derivative of the row's partial formula, by dual numbers."""
    if row.partials[of] is None:
        return None
    x = args[by]
    one = 1.0 if isinstance(x, float) else np.ones(np.shape(x))
    numbers = [*args[:by], ad.Dual(x, one), *args[by + 1 :]]
    with np.errstate(all="ignore"):
        partial = row.partial(of, rules, row(*numbers), numbers)
    return partial.tangent if isinstance(partial, ad.Dual) else None


@spaces
@rows
def test_special_points(row, on):
    for point, expected in row.special.items():
        args = list(point) if on == "floats" else [np.array([x, x]) for x in point]
        for i, value in enumerate(formulas_at(row, row.partials, args)):
            got = np.broadcast_to(0.0 if value is None else value, np.shape(args[0]))
            np.testing.assert_array_equal(got, expected[i], f"partial {i} at {point}")


FLOATS = [
    *(x for size in (0.0, 1e-310, 1e-20, 0.1, 0.5, 1.0, 2.5, 3.0, 700.0, 1e17, 1e300, math.inf)
      for x in (size, -size)),
    math.nan,
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(scalar.__all__) - {"ldexp", "scaled", "where"}))
def test_floats_get_numpys_answer(name):
    """Where the scalar function does not raise, it agrees with NumPy's."""
    function, numpys = getattr(scalar, name), getattr(np, name)
    grid = np.meshgrid(*[FLOATS] * getattr(numpys, "nin", 1))
    for point in zip(*(axis.ravel().tolist() for axis in grid), strict=True):
        try:
            got = function(*point)
        except (ValueError, ArithmeticError):
            continue
        with np.errstate(all="ignore"):
            true = numpys(*map(np.float64, point))
        # At -0.0 and -inf the two roots may differ: NumPy's power takes sqrt's answer there.
        if name in ("power", "float_power") and point[1] == 0.5 and point[0] in (0.0, -math.inf):
            continue
        np.testing.assert_allclose(got, true, rtol=4 * 2.0**-52, atol=5e-324, err_msg=f"{point}")


def test_the_frozen_values_are_what_the_script_gives():
    """One point of each row, computed again."""
    spec = importlib.util.spec_from_file_location("generator", FROZEN / "elementwise.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert list(generator.ROWS) == list(VALUES)
    for name, entries in VALUES.items():
        points = generator.points(name)
        assert len(points) == len(entries)
        at = len(points) // 2
        assert generator.entry(name, points[at]) == entries[at], name
