"""The shared problems are what their sources say, in value and in derivative."""

import json
import math
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest

import dualad as ad
from dualad.harness import adbench, functions
from dualad.harness.problems import NESTED, PROBLEMS

DATA = Path(__file__).parent / "data" / "adbench"
SMALL = [(problem, n) for problem in PROBLEMS.values() for n in problem.sizes[:2]]
small = pytest.mark.parametrize(("problem", "n"), SMALL, ids=lambda p: getattr(p, "name", p))
modes = pytest.mark.parametrize("mode", ["forward", "reverse"])


@cache
def complex_step(problem, n):
    """The Jacobian, an axis of outputs by one of inputs, to rounding and without us."""
    f, (x,) = problem.make(n)
    h = 1e-150
    columns = []
    for i in range(np.size(x)):
        z = np.array(x, dtype=complex)
        z.flat[i] += 1j * h
        columns.append(np.ravel(np.imag(f(z if np.ndim(x) else z[()]))) / h)
    return np.array(columns).T


def jacobian(f, x, mode):
    return np.reshape(ad.jacobian(f, mode=mode)(x), (-1, np.size(x)))


def difference(got, expected):
    """The largest error, measured as ADBench does."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape
    return np.max(np.abs(got - expected) / np.maximum(1, np.abs(got) + np.abs(expected)))


@small
@modes
def test_derivative_equals_the_complex_step(problem, n, mode):
    f, (x,) = problem.make(n)
    got, expected = jacobian(f, x, mode), complex_step(problem, n)
    assert np.linalg.norm(got - expected) <= 1e-13 * np.linalg.norm(expected)


@small
def test_a_problem_is_the_same_at_every_call(problem, n):
    (f, (x,)), (g, (y,)) = problem.make(n), problem.make(n)
    assert np.array_equal(x, y)
    assert np.array_equal(f(x), g(y))


@small
def test_a_problem_counts_its_inputs_and_outputs(problem, n):
    assert complex_step(problem, n).shape == (problem.outputs(n), problem.inputs(n))


@small
def test_every_input_matters(problem, n):
    if problem.name == "lstm":
        pytest.skip("weights of characters that do not occur are not used")
    assert np.all(np.any(complex_step(problem, n) != 0, axis=0))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda p: p.name)
def test_a_size_too_small_is_refused(problem):
    with pytest.raises(ValueError, match=rf"{problem.name}.*{problem.counts}.*{problem.smallest}"):
        problem.make(problem.smallest - 1)


PUBLISHED = [(problem, row) for problem in PROBLEMS.values() for row in problem.published]


@modes
@pytest.mark.parametrize(
    ("problem", "row"), PUBLISHED, ids=[f"{p.name}-{row.order}" for p, row in PUBLISHED]
)
def test_published(problem, row, mode):
    f, _ = problem.make(np.size(row.point))
    if np.ndim(row.point) == 0:
        got = ad.derivative(f, order=row.order)(row.point) if row.order else f(row.point)
    else:
        got = {1: ad.grad, 2: ad.hessian}[row.order](f, mode=mode)(row.point)
    error = np.abs(np.asarray(got) - row.expected)
    assert np.all(error <= row.tolerance * np.abs(row.expected))


# ----------------------------------------------------------------- against closed forms


@pytest.mark.parametrize("n", [1, 8, 50])
def test_both_codings_of_the_helmholtz_energy_agree(n):
    (f, (x,)), (g, _) = PROBLEMS["helmholtz"].make(n), PROBLEMS["helmholtz-scalar"].make(n)
    assert f(x) == pytest.approx(g(x), rel=1e-13)


@pytest.mark.parametrize("n", [1, 10, 100])
def test_adolc_helmholtz_is_the_sum_its_source_writes(n):
    with mpmath.workdps(30):
        root2 = mpmath.sqrt(2)
        x = [mpmath.sqrt(1 + i) / n for i in range(n)]
        bx = sum(mpmath.mpf(2) / 100 * (1 + abs(mpmath.sin(i))) * x[i] for i in range(n))
        q = (
            sum(
                x[i] * (2 * x[i] / (1 + 2 * i) + sum(x[j] / (1 + i + j) for j in range(i)))
                for i in range(n)
            )
            / 2
        )
        ideal = sum(xi * mpmath.log(xi) for xi in x) - mpmath.log(1 - bx) / 100
        mixing = mpmath.log((1 + bx * (1 + root2)) / (1 + bx * (1 - root2)))
        expected = mpmath.mpf("1.3625e-3") * ideal - mixing * q / bx
    f, args = PROBLEMS["helmholtz-adolc"].make(n)
    assert f(*args) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_determinant(n):
    f, (x,) = PROBLEMS["determinant"].make(n)
    assert f(x) == pytest.approx(np.linalg.det(x), rel=1e-12)


@pytest.mark.parametrize("n", [1, 10, 100])
def test_speelpenning(n):
    f, (x,) = PROBLEMS["speelpenning"].make(n)
    assert f(x) == pytest.approx(1 / (n + 1), rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 10])
def test_logistic_has_a_closed_form(n):
    f, (x,) = PROBLEMS["logistic"].make(n)
    assert f(x) == pytest.approx(math.sin(2 ** (n - 1) * math.asin(math.sqrt(x))) ** 2, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_ode_is_exact_while_the_solution_has_degree_four(n):
    f, (x,) = PROBLEMS["ode"].make(n)
    assert f(x) == pytest.approx(np.prod(x) * 2**n / math.factorial(n), rel=1e-13)


# ------------------------------------------------------------------------------- ADBench


@pytest.mark.parametrize(
    ("read", "name", "block"),
    [
        (adbench.read_gmm, "gmm_test", (1, 18)),
        (adbench.read_bundle, "ba_test", (3, 15)),
        (adbench.read_lstm, "lstm_lstm_l2_c1024", (1, 266)),
    ],
)
@modes
def test_adbench_publishes_these_values_and_derivatives(read, name, block, mode):
    published = json.loads((DATA / "published.json").read_text("utf-8"))
    tolerance, published = published["tolerance"], published[name]
    f, (x,) = read(DATA / f"{name}.txt")
    # All observations of a file are alike: the first one's block is what is published.
    outputs, inputs = block
    assert difference(np.ravel(f(x))[:outputs], np.ravel(published["value"])) <= tolerance
    got = jacobian(f, x, mode)[:outputs, :inputs]
    assert difference(got, np.reshape(published["derivative"], block)) <= tolerance


def test_bundle_at_no_rotation_is_the_limit_of_small_ones():
    f, (p,) = PROBLEMS["bundle"].make(1)
    still, turned = p.copy(), p.copy()
    still[:, :3] = 0
    turned[:, :3] = 1e-9
    assert f(still) == pytest.approx(f(turned), rel=1e-6)
    for mode in ("forward", "reverse"):
        limit = jacobian(f, turned, mode)
        assert jacobian(f, still, mode) == pytest.approx(limit, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["gmm_1k_gmm_d2_K5", "gmm_1k_gmm_d10_K5"])
def test_modes_agree_on_the_large_mixtures(name):
    f, (theta,) = adbench.read_gmm(DATA / f"{name}.txt")
    forward, reverse = (ad.grad(f, mode=mode)(theta) for mode in ("forward", "reverse"))
    assert np.linalg.norm(forward - reverse) <= 1e-12 * np.linalg.norm(reverse)


# -------------------------------------------------------------------------------- nested


def gradient(mode):
    return lambda f: ad.grad(f, mode=mode)


def solved(name, outer, inner):
    problem = NESTED[name]
    got = problem.solve(gradient(outer), gradient(inner))
    assert got == pytest.approx(problem.published, rel=1e-12)


def test_saddle_has_the_published_answer():
    solved("saddle", outer="forward", inner="reverse")


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTED)
@modes
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_nested_problems_have_the_published_answer(name, mode, inner):
    solved(name, mode, inner)


@modes
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_the_particle_lands_where_differences_say(mode, inner):
    # The first and the last slope of the descent, which as a whole takes long.
    def f(w):
        return functions.landing(w, gradient(inner))

    h = 1e-4
    for w in (0.0, NESTED["particle"].published):
        difference = (8 * (f(w + h) - f(w - h)) - (f(w + 2 * h) - f(w - 2 * h))) / (12 * h)
        assert ad.grad(f, mode=mode)(w) == pytest.approx(difference, rel=1e-6, abs=1e-6)
