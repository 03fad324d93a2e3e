"""Derivatives inside derivatives: perturbations are never confused, in any pairing of modes.

The cases are those the field knows confused systems by (Siskind and Pearlmutter 2005, 2008;
Manzyuk, Pearlmutter, Radul, Rush and Siskind 2019; the tests of ForwardDiff.jl, DiffSharp and
emmy).  Right answers are derived by hand or from closed forms beside each.
"""

import itertools
import math

import numpy as np
import pytest

import dualad as ad

SCALAR = {
    "forward": ad.derivative,
    "reverse": lambda f: ad.grad(f, mode="reverse"),
}
GRADIENT = {mode: lambda f, mode=mode: ad.grad(f, mode=mode) for mode in ("forward", "reverse")}
JACOBIAN = {mode: lambda f, mode=mode: ad.jacobian(f, mode=mode) for mode in ("forward", "reverse")}

pairings = pytest.mark.parametrize(
    ("outer", "inner"), list(itertools.product(SCALAR, repeat=2)), ids="-over-".join
)


def close(got, want, rel=1e-13):
    assert got == pytest.approx(want, rel=rel, abs=1e-14)


# ------------------------------------------------------------------- the classic cases


@pairings
def test_a_closure_over_the_outer_variable(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]
    close(D(lambda x: x * d(lambda y: x + y)(1.0))(1.0), 1.0)  # confused: 2
    close(D(lambda x: x * d(lambda y: x * y)(3.0))(2.0), 4.0)  # confused: 5


@pairings
def test_an_inner_function_that_ignores_its_argument(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]
    seen = []

    def f(x):
        seen.append(d(lambda y: x)(x))
        return seen[-1]

    close(D(f)(1.0), 0.0)
    assert ad.stop_gradient(seen[-1]) == 0.0  # confused: 1


@pairings
def test_the_slope_of_a_scaled_norm(outer, inner):
    v = np.array([1.0])
    d = SCALAR[inner]

    def norm(v):
        return np.sqrt(np.sum(v * v))

    got = GRADIENT[outer](lambda v: np.sum(v) * d(lambda y: y * norm(v))(1.0))(v)
    close(got, ad.grad(lambda v: np.sum(v) * norm(v))(v))
    close(got, [2.0])


@pairings
def test_the_jacobian_of_the_gradient_of_a_bilinear_form(outer, inner):
    a = np.arange(12.0).reshape(3, 4) ** 2
    y = np.linspace(-1, 1, 3)
    got = JACOBIAN[outer](lambda x: GRADIENT[inner](lambda y: y @ (a @ x))(y))(np.linspace(1, 2, 4))
    close(got, a)


@pairings
def test_the_lagrangian_of_a_falling_body(outer, inner):
    def lagrangian(t, q, qd):
        return 0.5 * 3.0 * (qd @ qd) - 3.0 * 9.8 * q[1]

    q, qd = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    got = JACOBIAN[outer](lambda q: GRADIENT[inner](lambda v: lagrangian(0.0, q, v))(qd))(q)
    assert np.array_equal(got, np.zeros((2, 2)))


@pairings
def test_the_hamiltonian_by_a_legendre_transform(outer, inner):
    def lagrangian(q, qd):
        return 0.5 * (qd @ qd) - 9.8 * q[1]

    def hamiltonian(q, p):
        # p - dL/dqd is affine in qd here, and its slope is -1: one Newton step from 0 solves it.
        momentum = GRADIENT[inner](lambda qd: lagrangian(q, qd))
        qd = p - momentum(np.zeros(2))
        return p @ qd - lagrangian(q, qd)

    q, p = np.array([1.0, 2.0]), np.array([5.0, 6.0])
    close(GRADIENT[outer](lambda q: hamiltonian(q, p))(q), [0.0, 9.8])
    close(GRADIENT[outer](lambda p: hamiltonian(q, p))(p), p)


@pairings
def test_a_derivative_that_is_one(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]

    def one(x):
        return d(lambda y: x + y)(3.0)

    for x in (1.0, 2.5):
        close(D(one)(x), 0.0)
        close(D(lambda x: x * one(x))(x), 1.0)
        close(D(lambda x: x * one(2 * x))(x), 1.0)


@pairings
def test_an_inner_point_that_depends_on_the_outer_variable(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]
    for point in (1.0, 2.5):
        close(D(lambda y: d(lambda x: x * x * y)(3 * y))(point), 12 * point)


def shift(offset):
    return lambda g: lambda a: g(a + offset)


def derivative_of_shift(D):
    """The derivative of ``shift`` at 3: an operator, since shift gives functions."""
    return lambda g: lambda a: D(lambda offset: shift(offset)(g)(a))(3.0)


@pairings
def test_the_amazing_bug(outer, inner):
    outer, inner = derivative_of_shift(SCALAR[outer]), derivative_of_shift(SCALAR[inner])
    close(outer(np.exp)(5.0), math.exp(8.0))
    close(outer(inner(np.exp))(5.0), math.exp(11.0))  # a level for each D, not each call: 0
    close(outer(outer(np.exp))(5.0), math.exp(11.0))


def functions_at(x):
    """Functions that close over x: one of a number, one of a function."""
    return (lambda y: np.sin(x * y)), (lambda g: lambda z: g(x + z))


@pairings
def test_a_derivative_that_is_a_pair_of_functions(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]

    def of_sine(y):
        return d(lambda x: functions_at(x)[0](y))(3.0)

    def of_shift(g):
        return lambda z: D(lambda x: functions_at(x)[1](g)(z))(3.0)

    y = math.pi + 3
    close(of_shift(of_sine)(math.pi), math.cos(3 * y) - 3 * y * math.sin(3 * y))


@pairings
def test_the_pair_handed_to_a_continuation(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]
    y = math.pi + 3
    want = (3 + y) * math.cos(3 * y)

    def composed(x):
        sine, shifted = functions_at(x)
        return shifted(sine)(math.pi)

    close(D(composed)(3.0), want)
    close(d(composed)(3.0), want)


@pairings
def test_an_output_encoded_as_a_function(outer, inner):
    D = SCALAR[outer]

    def church(f):
        return lambda x: lambda continuation: continuation(f(x))

    got = D(lambda x: church(np.sin)(x)(lambda y: y * y))(1.0)
    close(got, 2 * math.sin(1.0) * math.cos(1.0))


@pairings
def test_curvature_of_newtons_square_root(outer, inner):
    D, d = SCALAR[outer], SCALAR[inner]

    def root(a):
        x = 1.0
        for _ in range(40):
            x = x - (x * x - a) / (2 * x)
        return x

    for a, want in ((4.0, -1 / 32), (9.0, -1 / 108), (16.0, -1 / 256)):
        close(D(d(root))(a), want)


# ------------------------------------------------------------------------- higher orders

FOUR = pytest.mark.parametrize("modes", list(itertools.product(SCALAR, repeat=4)), ids="-".join)


@FOUR
def test_third_and_fourth_derivatives(modes):
    def f(x):
        return np.exp(2 * x) * np.sin(x)

    first, second, third, fourth = (SCALAR[m] for m in modes)
    # d^n/dx^n of Im exp((2 + i) x) is Im (2 + i)^n exp((2 + i) x).
    x, c = 0.7, complex(2, 1)
    wave = np.exp(c * x)
    close(first(second(third(f)))(x), (c**3 * wave).imag)
    close(first(second(third(fourth(f))))(x), (c**4 * wave).imag)


@pytest.mark.parametrize("order", range(7))
def test_any_order_of_derivative(order):
    c, x = complex(2, 1), 0.7
    got = ad.derivative(lambda x: np.exp(2 * x) * np.sin(x), order=order)(x)
    close(got, (c**order * np.exp(c * x)).imag)


@pairings
def test_the_jacobian_of_a_gradient_is_the_hessian(outer, inner):
    def f(x):
        return np.sum(np.sin(x[:-1] * x[1:])) + np.prod(x)

    x = np.array([0.5, 1.5, -0.7, 2.0])
    got = JACOBIAN[outer](GRADIENT[inner](f))(x)
    close(got, ad.hessian(f, mode="hyperdual")(x), rel=1e-12)
    close(got, got.T, rel=1e-12)


@pairings
def test_third_derivatives_of_an_array_function(outer, inner):
    x = np.array([0.3, 1.1])
    got = JACOBIAN[outer](JACOBIAN[inner](ad.grad(lambda x: np.sum(x) ** 3 + np.sum(x**4))))(x)
    want = np.full((2, 2, 2), 6.0)
    want[[0, 1], [0, 1], [0, 1]] += 24 * x
    close(got, want)


@pytest.mark.parametrize("mode", ["hyperdual", "forward", "reverse"])
def test_a_hessian_inside_a_gradient(mode):
    x = np.array([0.3, 1.1])

    def trace(x):
        return np.trace(ad.hessian(lambda y: np.sum(np.sin(y)) * np.sum(x * y), mode=mode)(x))

    # The Hessian's diagonal at y: -sin(y) sum(x y) + 2 cos(y) x, and then y = x.
    def closed(x):
        return np.sum(-np.sin(x) * np.sum(x * x) + 2 * np.cos(x) * x)

    for outer in ("forward", "reverse"):
        close(ad.grad(trace, mode=outer)(x), ad.grad(closed)(x), rel=1e-12)


def test_systems_made_by_hand_nest():
    x = ad.Variable(ad.Dual(3.0, 1.0))
    (x**3).backward()
    assert (x.grad.primal, x.grad.tangent) == (27.0, 18.0)
    y = ad.Dual(ad.Variable(3.0), 1.0) ** 3
    y.tangent.backward()
    assert y.tangent.primal == 27.0
    z = ad.Dual(ad.Dual(3.0, 1.0), ad.Dual(1.0, 0.0)) ** 3
    assert (z.tangent.primal, z.tangent.tangent) == (27.0, 18.0)


# ---------------------------------------------------------------------- levels, and their end

TRANSFORMS = {
    "derivative": lambda f, x: ad.derivative(f)(x),
    "derivative, order 2": lambda f, x: ad.derivative(f, order=2)(x),
    "grad": lambda f, x: ad.grad(f, mode="reverse")(x),
    "jvp": lambda f, x: ad.jvp(f, (x,), (1.0,)),
    "vjp": lambda f, x: ad.vjp(f, x),
    "jacobian": lambda f, x: ad.jacobian(f)(x),
    "hessian": lambda f, x: ad.hessian(f)(x),
}
transforms = pytest.mark.parametrize("leaving", TRANSFORMS)


@transforms
@pytest.mark.parametrize("other", TRANSFORMS)
def test_a_number_that_outlives_its_transform_is_refused_in_another(leaving, other):
    kept = []

    def leak(x):
        kept.append(x)
        kept.append(x * x)
        return x * x

    TRANSFORMS[leaving](leak, 2.0)
    for number in kept:
        with pytest.raises(ad.LevelError, match="already returned"):
            TRANSFORMS[other](lambda x, number=number: x * number, 3.0)
        with pytest.raises(ad.LevelError, match="already returned"):
            TRANSFORMS[other](lambda x, number=number: np.sin(x) + np.sin(number), 3.0)
        with pytest.raises(ad.LevelError, match="already returned"):
            TRANSFORMS[other](lambda x, number=number: number, 3.0)


@transforms
def test_a_number_that_leaves_an_inner_transform_is_refused_in_the_outer(leaving):
    def f(x):
        kept = []

        def leak(y):
            kept.append(y)
            return x * y

        TRANSFORMS[leaving](leak, 2.0)
        return x * kept[0]

    for outer in SCALAR.values():
        with pytest.raises(ad.LevelError, match="already returned"):
            outer(f)(3.0)


def test_a_number_made_by_hand_inside_a_transform_belongs_to_it():
    kept = []

    def f(x):
        kept.append(ad.Dual(x, 1.0))
        return x

    ad.derivative(f)(2.0)
    with pytest.raises(ad.LevelError, match="already returned"):
        ad.derivative(lambda x: x + kept[0])(2.0)


def test_stop_gradient_lets_a_value_out():
    kept = []

    def f(x):
        kept.append(ad.stop_gradient(x * x))
        return x

    ad.derivative(f)(3.0)
    close(ad.derivative(lambda x: x * kept[0])(1.0), 9.0)


def failing(x):
    np.sin(x)
    raise ValueError("stop")


@transforms
def test_an_inner_derivative_that_raises_leaves_no_level_open(leaving):
    def f(x):
        try:
            TRANSFORMS[leaving](lambda y: failing(x * y), 2.0)
        except ValueError as error:
            assert str(error) == "stop"  # noqa: PT017
        return np.sin(x)

    for D, d in itertools.product(SCALAR.values(), repeat=2):
        close(D(d(f))(0.5), -math.sin(0.5))
    with pytest.raises(ValueError, match=r"^stop$"):
        TRANSFORMS[leaving](failing, 2.0)
    assert type(np.sin(np.ones(2))) is np.ndarray


def test_generators_and_recursion_inside_f():
    def powers(x):
        y = x
        while True:
            yield y
            y = y * x

    def by_generator(x):
        return sum(itertools.islice(powers(x), 4))

    def by_recursion(x, n=4):
        return x * (1 + by_recursion(x, n - 1)) if n > 1 else x

    for D in SCALAR.values():
        close(D(by_generator)(2.0), 1 + 4 + 12 + 32)
        close(D(by_recursion)(2.0), 1 + 4 + 12 + 32)


def test_a_generator_suspended_in_one_transform_is_refused_in_another():
    def powers(x):
        yield x
        yield x * x

    kept = []

    def f(x):
        kept.append(powers(x))
        return next(kept[0])

    close(ad.derivative(f)(2.0), 1.0)
    with pytest.raises(ad.LevelError):
        ad.derivative(lambda x: x * next(kept[0]))(2.0)
