"""The choice of mode follows the structure, and never changes an answer."""

import numpy as np
import pytest

import dualad as ad
from dualad import modes
from dualad.harness.measure import Counted
from dualad.harness.problems import PROBLEMS
from dualad.modes import COSTS, Structure, features, predict, structure_of

WANTS = ["gradient", "jacobian", "hessian"]


def test_the_structure_counts_operations_and_entries():
    s = structure_of(lambda x: np.sum(np.sin(x) * x) * 2.0, np.arange(5.0))
    # x, sin x and the product are arrays; the sum and its double are numbers.
    assert s == Structure(inputs=5, outputs=1, numbers=2, arrays=3, entries=15, pulls=1)


def test_structures_of_arguments_and_outputs_are_counted():
    s = structure_of(lambda a, b: {"p": a["x"] * b, "q": [b + 1.0, 3.0]}, {"x": 2.0}, np.ones(4))
    assert (s.inputs, s.outputs) == (5, 9)


def test_an_object_array_of_numbers_is_one_output():
    s = structure_of(lambda x: np.array([x[0], x[1] * x[0], 1.0]), np.ones(2))
    assert s.outputs == 3
    assert s.numbers >= 3


@pytest.mark.parametrize("want", WANTS)
@pytest.mark.parametrize("inputs", [1, 7])
@pytest.mark.parametrize("outputs", [1, 5])
def test_every_feature_has_a_cost(want, inputs, outputs):
    counted = features(Structure(inputs, outputs, 10, 10, 100), want)
    costs = COSTS["hessian" if want == "hessian" else "jacobian"]
    assert {m: set(row) for m, row in counted.items()} == {m: set(row) for m, row in costs.items()}
    assert all(cost >= 0 for row in costs.values() for cost in row.values())


def test_predicted_costs_grow_as_theory_says():
    def cost(mode, n, m):
        return predict(Structure(n, m, 0, 50, 50_000))[mode]

    # Per direction forward, per output back, once entries outweigh calls.
    assert cost("forward", 2000, 5) == pytest.approx(2 * cost("forward", 1000, 5), rel=0.05)
    assert cost("reverse", 5, 2000) == pytest.approx(2 * cost("reverse", 5, 1000), rel=0.05)
    assert cost("forward", 10, 5) == cost("forward", 10, 500)


@pytest.mark.parametrize(
    ("name", "n", "mode"),
    [("tall", 1000, "forward"), ("wide", 1000, "reverse"), ("rosenbrock", 1600, "reverse"),
     ("logistic", 100, "forward"), ("speelpenning", 100, "reverse"), ("gmm", 10, "reverse")],
)  # fmt: skip
def test_clear_cases(name, n, mode):
    f, args = PROBLEMS[name].make(n)
    advice = ad.recommend(f, *args)
    assert advice.mode == mode
    assert advice.costs[mode] == min(advice.costs.values())


def test_the_reason_is_one_sentence_with_the_numbers():
    f, args = PROBLEMS["wide"].make(50)
    advice = ad.recommend(f, *args)
    assert advice.why.startswith("50 inputs and 3 outputs in 4 operations: ")
    assert "\n" not in str(advice)
    assert ". " not in advice.why
    assert str(advice) == f"{advice.mode}: {advice.why}"


@pytest.mark.parametrize(
    ("want", "message"), [("slope", "'slope'"), ("gradient", "not 5"), ("hessian", "not 5")]
)
def test_what_cannot_be_recommended_is_refused(want, message):
    with pytest.raises(ValueError, match=message):
        ad.recommend(np.sin, np.ones(5), want=want)


@pytest.mark.parametrize("want", WANTS)
def test_the_recommended_mode_is_one_that_the_transform_takes(want):
    f, (x,) = PROBLEMS["rosenbrock"].make(6)
    advice = ad.recommend(f, x, want=want)
    transform = {"gradient": ad.grad, "jacobian": ad.jacobian, "hessian": ad.hessian}[want]
    assert np.isfinite(transform(f, mode=advice.mode)(x)).all()
    assert set(advice.costs) >= {"forward", "reverse"}


# ---------------------------------------------------------------------------- mode="auto"


def jacobian_modes(monkeypatch, f, x):
    """The answers of both modes and of auto, and how often f is called by a second auto."""
    counted = Counted(f)
    automatic = ad.jacobian(counted)
    first = automatic(x)
    counted.calls = 0
    again = automatic(x)
    return first, again, counted.calls


@pytest.mark.parametrize("name", ["tall", "wide", "rosenbrock", "helmholtz-scalar", "bundle"])
@pytest.mark.parametrize("which", [0, 1])
def test_auto_gives_the_answer_of_the_mode_it_chose_every_time(name, which, monkeypatch):
    problem = PROBLEMS[name]
    f, (x,) = problem.make(problem.sizes[which])
    first, again, calls = jacobian_modes(monkeypatch, f, x)
    assert calls == 1
    assert np.array_equal(first, again)
    s = structure_of(f, x)
    mode = "forward" if s.inputs <= 4 else modes.choose(s)
    assert np.array_equal(first, ad.jacobian(f, mode=mode)(x))


def test_a_gradient_calls_f_once():
    for n in (1, 2, 100):
        counted = Counted(lambda x: np.sum(x * x))
        ad.grad(counted)(np.ones(n))
        assert counted.calls == 1
