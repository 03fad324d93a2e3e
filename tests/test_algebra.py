"""Numbers over fractions: the ring laws hold exactly, and so do slopes of rational functions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualad as ad
from dualad import rules

fractions = st.fractions(-20, 20, max_denominator=12)
duals = st.builds(ad.Dual, fractions, fractions)
hyperduals = st.builds(ad.HyperDual, fractions, fractions, fractions, fractions)
three = {
    "Dual": st.tuples(duals, duals, duals),
    "HyperDual": st.tuples(hyperduals, hyperduals, hyperduals),
}
kinds = pytest.mark.parametrize("kind", three)


def content(x):
    """All parts of a number, which are all fractions (or integers)."""
    parts = tuple(x.parts().values())
    assert all(isinstance(p, (Fraction, int)) for p in parts), f"not exact: {parts}"
    return parts


@kinds
@given(data=st.data())
def test_numbers_are_a_commutative_ring(kind, data):
    a, b, c = data.draw(three[kind])
    assert content(a + b) == content(b + a)
    assert content(a * b) == content(b * a)
    assert content((a + b) + c) == content(a + (b + c))
    assert content((a * b) * c) == content(a * (b * c))
    assert content(a * (b + c)) == content(a * b + a * c)
    assert content(a + 0) == content(a)
    assert content(a * 1) == content(1 * a) == content(a)
    assert content(a - a) == content(a * 0)
    assert content(-a) == content(0 - a) == content(a * -1)
    assert content(a - b) == content(a + -b)


@kinds
@given(data=st.data())
def test_division_undoes_multiplication(kind, data):
    a, b, _ = data.draw(three[kind])
    if b.primal != 0:
        assert content(a / b * b) == content(a)
        assert content(1 / b) == content(b / b / b)


@given(b=fractions)
def test_nilpotent_parts(b):
    e = ad.Dual(Fraction(0), b)
    assert content(e * e) == (0, 0)
    e1 = ad.HyperDual(Fraction(0), b, Fraction(0), Fraction(0))
    e2 = ad.HyperDual(Fraction(0), Fraction(0), b, Fraction(0))
    assert content(e1 * e1) == content(e2 * e2) == (0, 0, 0, 0)
    assert content(e1 * e2) == (0, 0, 0, b * b)


# ------------------------------------------------------------- exact derivatives


def rational(x, c):
    """A rational function, with every operation in it."""
    p = c[0] + x * (c[1] + x * (c[2] + x * c[3]))
    return (p * p - 2 * x) / (x * x + 1) - 1 / (3 + x * x) - (-x)


def product(p, q):
    """The product of two polynomials, lists of coefficients."""
    out = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


def plus(p, q):
    return [a + b for a, b in itertools.zip_longest(p, q, fillvalue=Fraction(0))]


def slope(p):
    return [i * a for i, a in enumerate(p)][1:] or [Fraction(0)]


def at(p, x):
    return sum(a * x**i for i, a in enumerate(p))


def symbolic(x, c, order):
    """Derivatives of ``rational`` by the quotient rule, on coefficients."""
    top = plus(product(c, c), [0, -2])
    terms = [(top, [1, 0, 1]), ([-1], [3, 0, 1]), ([0, 1], [1])]
    for _ in range(order):
        terms = [
            (plus(product(slope(n), d), product([-1], product(n, slope(d)))), product(d, d))
            for n, d in terms
        ]
    return sum((Fraction(at(n, x)) / at(d, x) for n, d in terms), Fraction(0))


@given(x=fractions, c=st.tuples(fractions, fractions, fractions, fractions))
def test_derivatives_of_rational_functions_are_exact(x, c):
    value, first, second = (symbolic(x, c, order) for order in range(3))
    assert content(rational(ad.Dual(x, Fraction(1)), c)) == (value, first)
    number = ad.HyperDual(x, Fraction(1), Fraction(1), Fraction(0))
    assert content(rational(number, c)) == (value, first, first, second)
    nested = rational(ad.Dual(ad.Dual(x, Fraction(1)), Fraction(1)), c)
    assert content(nested.primal) == (value, first)
    assert content(nested.tangent) == (first, second)

    v = ad.Variable(x)
    y = rational(v, c)
    y.backward()
    assert (y.primal, v.grad) == (value, first)
    assert isinstance(v.grad, Fraction)


@given(x=fractions, c=st.tuples(fractions, fractions, fractions, fractions))
def test_transforms_of_exact_numbers_are_exact(x, c):
    for order in (1, 2):
        answer = ad.derivative(lambda x: rational(x, c), order)(x)
        assert answer == symbolic(x, c, order)
        assert isinstance(answer, Fraction)


# ------------------------------------- the operations written by hand are the table's rows

floats = st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3)
BINARY = {
    "+": (lambda a, b: a + b, rules.add),
    "-": (lambda a, b: a - b, rules.subtract),
    "*": (lambda a, b: a * b, rules.multiply),
    "/": (lambda a, b: a / b, rules.divide),
}
SYSTEMS = {"Dual": (ad.Dual, 2), "HyperDual": (ad.HyperDual, 4)}


def same(got, wanted):
    """Equal parts: exactly in the primal, to rounding of its terms in the others."""
    assert type(got) is type(wanted)
    pairs = zip(got.parts().items(), wanted.parts().values(), strict=True)
    for (name, a), b in pairs:
        if name == "primal":
            assert a == b
        else:
            assert type(a) is float
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, scale(got)))


def scale(number):
    """The size of the terms that a part may be a difference of."""
    return max(abs(p) for p in number.parts().values())


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("operator", BINARY)
@given(data=st.data())
def test_operators_written_by_hand_equal_the_rows(name, operator, data):
    kind, parts = SYSTEMS[name]
    by_hand, row = BINARY[operator]
    a, b = (kind(*(data.draw(floats) for _ in range(parts))) for _ in range(2))
    constant = data.draw(floats)
    if operator != "/" or b.primal:
        same(by_hand(a, b), row(a, b))
        same(by_hand(constant, b), row(constant, b))
        same(by_hand(3, b), row(3.0, b))
    if operator != "/" or constant:
        same(by_hand(a, constant), row(a, constant))
    same(-a, rules.negative(a))
    same(a**2, rules.power(a, 2))


@pytest.mark.parametrize("name", SYSTEMS)
def test_division_by_zero_is_numpys(name):
    kind, parts = SYSTEMS[name]
    with np.errstate(all="ignore"):
        a, zero = kind(*[1.0] * parts), kind(*[0.0] * parts)
        assert (a / zero).primal == (1.0 / zero).primal == (a / 0.0).primal == np.inf
