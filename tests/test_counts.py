"""Operation counts, held to the theory: what a derivative costs, without a clock.

The bounds are those of Griewank and Walther (Evaluating Derivatives, 2nd ed., chapter 4), here
in operations alone: a product's tangent costs 3 multiplications and an addition, its reverse
3 and 2, so a tangent is at most 4 times the function and a gradient at most 5 times.
"""

from __future__ import annotations

import numpy as np
import pytest

import dualad as ad
from dualad.program import Count, trace


def count(f, *args):
    return trace(f)(*args).count()


# --------------------------------------------------------------------------- the counting


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        (lambda x, y: x + y, (2.0, 3.0), Count(moves=3, additions=1)),
        (lambda x, y: x * y, (2.0, 3.0), Count(moves=3, multiplications=1)),
        (lambda x: np.sin(x), (2.0,), Count(moves=2, nonlinear=1)),
        (lambda x: x**2, (2.0,), Count(moves=2, multiplications=1)),
        (lambda x: x**3.5, (2.0,), Count(moves=2, nonlinear=1)),
        (lambda x: 1 / x, (2.0,), Count(moves=2, divisions=1)),
        (lambda x: -x, (2.0,), Count(moves=2)),
        (lambda x: 1.0 * x, (2.0,), Count()),
        (lambda x: np.abs(x), (2.0,), Count(moves=2, nonlinear=1)),
        (lambda x: x[::2], (np.ones(6),), Count(moves=9)),
        (lambda x: np.sum(x), (np.ones(6),), Count(moves=7, additions=5)),
        (lambda x: np.max(x), (np.ones(6),), Count(moves=7, nonlinear=5)),
        (lambda x: x * x, (np.ones((2, 3)),), Count(moves=18, multiplications=6)),
        (lambda x: x * np.ones(3), (np.ones((2, 3)),), Count(moves=12, multiplications=6)),
    ],
)  # fmt: skip
def test_what_an_operation_counts(f, args, expected):
    assert count(f, *args) == expected


def test_products_of_arrays_by_their_inner_dimension():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    for f in (lambda a, b: a @ b, lambda a, b: np.einsum("ij,jk->ik", a, b)):
        got = count(f, a, b)
        assert (got.multiplications, got.additions) == (2 * 3 * 4, 2 * 2 * 4)


def test_comparisons_are_nothing():
    assert count(lambda x: x * x if x > 1 else x, 2.0).flops == 1


# ----------------------------------------------------------------------- hyper-dual arithmetic

X, Y = (2.0, 0.5, 0.25, 0.125), (3.0, 1.5, 0.75, 1.25)


def parts(z):
    return z.primal, z.tangent1, z.tangent2, z.mixed


def hyper(operation):
    """The operation on hyper-dual numbers, as a function of their eight parts."""
    return lambda x, y: parts(operation(ad.HyperDual(*x), ad.HyperDual(*y)))


def test_a_hyper_dual_sum_is_four_additions():
    got = count(hyper(lambda x, y: x + y), X, Y)
    assert (got.additions, got.flops) == (4, 4)


def test_a_hyper_dual_product_is_nine_multiplications_and_five_additions():
    got = count(hyper(lambda x, y: x * y), X, Y)
    assert (got.multiplications, got.additions, got.flops) == (9, 5, 14)


def test_a_function_of_a_hyper_dual_is_five_multiplications_and_an_addition_beside_its_partials():
    got = count(lambda *x: parts(np.exp(ad.HyperDual(*x))), *X)
    assert got.nonlinear == 1  # both partials are the value
    assert got.multiplications <= 5
    assert got.additions <= 1


# ------------------------------------------------------------------------------ the theorems


def sum_chain(x):
    y = x[0]
    for i in range(1, len(x)):
        y = y + x[i]
    return y


def speelpenning(x):
    y = x[0]
    for i in range(1, len(x)):
        y = y * x[i]
    return y


def horner(c):
    y = c[0]
    for i in range(1, len(c)):
        y = y * 0.75 + c[i]
    return y


def minors(m):
    """The determinant by its minors."""
    n = len(m)
    if n == 1:
        return m[0][0]
    total = 0.0
    for j in range(n):
        smaller = [[row[k] for k in range(n) if k != j] for row in m[1:]]
        total = total + (-1.0) ** j * (m[0][j] * minors(smaller))
    return total


def mixture(x):
    """A Gaussian mixture's log-likelihood: weights, means, log-scales of 3 components in 2-d."""
    data = np.array([[0.1, -0.4], [1.2, 0.3], [-0.7, 0.9], [0.4, 0.4]])
    weights, means, scales = x[:3], x[3:9].reshape(3, 2), x[9:].reshape(3, 2)
    z = (data[:, None, :] - means) * np.exp(scales)
    e = weights + np.sum(scales, 1) - 0.5 * np.sum(z * z, 2)
    return np.sum(np.log(np.sum(np.exp(e), 1))) - 4 * np.log(np.sum(np.exp(weights)))


VECTOR = np.linspace(0.5, 1.5, 12)
PROGRAMS = {
    "sum chain": (sum_chain, VECTOR),
    "product chain": (speelpenning, VECTOR),
    "horner": (horner, VECTOR),
    "mixture": (mixture, np.linspace(-0.6, 0.8, 15)),
    "minors": (lambda x: minors([[x[4 * i + j] for j in range(4)] for i in range(4)]),
               np.random.default_rng(0).normal(size=16)),
}  # fmt: skip


def weighted(c):
    """Moves, additions and products alike, a nonlinear call as two: the weights of the theorem."""
    return c.moves + c.additions + c.multiplications + c.divisions + 2 * c.nonlinear


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tangent_costs_at_most_four_functions(name):
    f, x = PROGRAMS[name]
    tangent = count(lambda x, v: ad.jvp(f, (x,), (v,)), x, np.ones_like(x))
    assert tangent.flops <= 4 * count(f, x).flops


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_costs_at_most_five_functions(name):
    f, x = PROGRAMS[name]
    assert count(ad.value_and_grad(f, mode="reverse"), x).flops <= 5 * count(f, x).flops


@pytest.mark.parametrize("name", ["sum chain", "product chain"])
def test_with_moves_a_tangent_costs_two_and_a_half(name):
    f, x = PROGRAMS[name]
    tangent = count(lambda x, v: ad.jvp(f, (x,), (v,)), x, np.ones_like(x))
    assert weighted(tangent) <= 2.5 * weighted(count(f, x))


@pytest.mark.parametrize("n", [4, 40])
def test_the_gradient_of_a_product_is_linear_in_its_length(n):
    got = count(ad.grad(speelpenning, mode="reverse"), np.linspace(0.5, 1.5, n))
    # Products of the function, and two a step back; no dense array for an index.
    assert got.multiplications <= 3 * (n - 1)
    assert got.additions <= 2 * n


@pytest.mark.parametrize(("n", "chunk"), [(3, 1), (4, 1), (4, 2), (5, 2)])
def test_a_hessian_by_hyper_duals_is_one_evaluation_a_pair_of_chunks(n, chunk):
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(x**3) * x[0]

    ad.hessian(f, mode="hyperdual", chunk=chunk)(np.linspace(0.5, 1.5, n))
    k = -(-n // chunk)
    assert len(calls) == k * (k + 1) // 2


# --------------------------------------------------------------------------------- memory


def sines(depth):
    def f(x):
        for _ in range(depth):
            x = np.sin(x)
        return np.sum(x)

    return f


def test_peak_bytes_by_liveness():
    x = np.ones(100)
    # An elementwise chain needs the array that it reads and the one that it writes.
    assert trace(sines(10))(x).peak_bytes() == 2 * x.nbytes
    assert trace(lambda x: x[1:])(x).peak_bytes() == 0  # a view
    assert trace(lambda x: (x + 1, x + 2, x + 3))(x).peak_bytes() == 3 * x.nbytes


def test_forward_memory_is_flat_and_reverse_memory_grows_with_depth():
    x = np.ones(100)
    v = np.ones(100)
    forward = [
        trace(lambda x, v, d=d: ad.jvp(sines(d), (x,), (v,))[1])(x, v).peak_bytes()
        for d in (10, 40)
    ]
    reverse = [trace(ad.grad(sines(d)))(x).peak_bytes() for d in (10, 40)]
    assert forward[0] == forward[1]
    assert reverse[1] - reverse[0] == pytest.approx(30 * x.nbytes, rel=0.05)
