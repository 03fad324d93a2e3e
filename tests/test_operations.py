"""What is counted of both modes is what theory says, exactly."""

import numpy as np
import pytest

import dualad as ad
from dualad.harness.operations import operations
from dualad.harness.problems import PROBLEMS

BOUNDED = ["helmholtz", "helmholtz-scalar", "rosenbrock", "speelpenning", "determinant", "wide",
           "tall", "gmm", "bundle", "ode", "chain"]  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_one_direction_costs_four_and_one_pullback_five_at_most(name):
    problem = PROBLEMS[name]
    f, (x,) = problem.make(max(problem.sizes[0], 3))
    counted = operations(f, x)
    assert 1 < counted.forward(1).flops / counted.function.flops <= 4
    assert 1 < counted.reverse(1).flops / counted.function.flops <= 5


@pytest.mark.parametrize("n", [2, 5, 17])
def test_a_product_of_n_numbers(n):
    # A product costs 3 multiplications and 1 addition forward; the first tangent is a constant's.
    f, (x,) = PROBLEMS["speelpenning"].make(n)
    counted = operations(f, x)
    assert counted.function.flops == counted.function.multiplications == n - 1
    assert counted.reverse(1).multiplications <= 3 * (n - 1)


@pytest.mark.parametrize("name", ["helmholtz", "tall", "wide", "bundle"])
def test_counts_are_linear_in_directions_and_outputs(name):
    f, (x,) = PROBLEMS[name].make(4)
    counted = operations(f, x)
    a, b, c = (counted.forward(k).flops for k in (1, 2, 7))
    assert c - a == 6 * (b - a)
    a, b, c = (counted.reverse(k).flops for k in (1, 2, 7))
    assert c - a == 6 * (b - a)


def test_directions_in_several_passes_evaluate_f_as_often():
    f, (x,) = PROBLEMS["rosenbrock"].make(6)
    counted = operations(f, x)
    assert counted.forward(6, passes=6).flops == 6 * counted.forward(1).flops
    assert counted.forward(6, passes=2).flops < counted.forward(6, passes=3).flops


def test_a_matrix_times_n_directions_is_counted():
    a = np.ones((3, 5))
    counted = operations(lambda x: a @ x, np.ones(5))
    # 3 rows of 5 products and 4 sums, for f and again for each direction.
    assert counted.function.flops == 27
    assert counted.forward(5).flops == 27 * 6


def test_a_comparison_holds_the_counts():
    f, (x,) = PROBLEMS["tall"].make(5)
    comparison = ad.compare(f, x, seconds=0.0, rounds=1)
    counted = operations(f, x)
    assert comparison.counts["reverse"]["flops"] == counted.reverse(5).flops
    assert comparison.counts["forward"]["flops"] == counted.forward(3).flops
    assert comparison.counts["forward, one at a time"]["flops"] == counted.forward(3, 3).flops
    assert comparison.counts["reverse"]["peak_bytes"] > 0
