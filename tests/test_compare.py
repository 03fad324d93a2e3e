"""A comparison says what was measured, checks its contestants, and survives being stored."""

import subprocess
import sys

import numpy as np
import pytest

import dualad as ad
from dualad.harness import measure, storage
from dualad.harness.compare import COMPLEX_STEP, Comparison, record_of
from dualad.harness.problems import PROBLEMS


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measure, "BATCH", 1e-6)


def energy(x):
    return np.sum(np.sin(x) ** 2) + x[0] * x[1]


def compared(f, *args, **options):
    return ad.compare(f, *args, seconds=0.0, rounds=1, **options)


def evaluations(comparison):
    return {name: c.evaluations for name, c in comparison.measurement.contestants.items()}


N = 5
X = np.linspace(0.5, 1.5, N)


def test_first_order_calls_f_as_often_as_theory_says():
    assert evaluations(compared(energy, X, chunks=[2, N, 99])) == {
        "forward, one at a time": N,
        "forward, 2 at once": -(-N // 2),
        "forward": 1,
        "reverse": 1,
        "differences": N + 1,
        "complex step": N,
    }


def test_second_order_calls_f_as_often_as_theory_says():
    assert evaluations(compared(energy, X, want="hessian")) == {
        "hyperdual": 1,
        "dual of dual": 1,
        "forward over reverse": 1,
        "reverse over reverse": 1,
        "differences": (N + 1) * (N + 2) // 2,
    }


@pytest.mark.parametrize("n", [1, 4, 7])
def test_a_hessian_by_hyper_dual_numbers_takes_a_pair_of_chunks_each(n):
    counted = ad.harness.measure.Counted(lambda x: np.sum(x**3))
    for c in (1, 2, 3):
        counted.calls = 0
        ad.hessian(counted, mode="hyperdual", chunk=c)(np.ones(n))
        k = -(-n // c)
        assert counted.calls == k * (k + 1) // 2


@pytest.mark.parametrize("want", ["gradient", "hessian"])
def test_contestants_agree_with_the_reference(want):
    comparison = compared(energy, X, want=want)
    errors = dict(comparison.errors)
    digits = {"gradient": 1e-6, "hessian": 1e-2}[want]
    assert 0 < errors.pop("differences") < digits
    assert max(errors.values()) < 1e-14


def test_a_wrong_contestant_is_seen():
    comparison = compared(energy, X, contestants={"wrong": lambda f: lambda x: 1.5 * ad.grad(f)(x)})
    assert comparison.errors["wrong"] == pytest.approx(0.5)


def test_a_contestant_that_fails_is_reported_once():
    comparison = compared(lambda x: np.sum(np.abs(x) if x.dtype == float else 1 / 0), X)
    assert set(comparison.measurement.failures) == {"complex step"}
    assert "ZeroDivisionError" in comparison.table()


def test_several_arguments_and_structures():
    comparison = compared(lambda a, b: a["x"] * np.sum(b) + a["y"], {"x": 2.0, "y": 1.0}, X)
    assert (comparison.inputs, comparison.outputs) == (2 + N, 1)
    assert comparison.measurement.failures == {}
    assert comparison.errors["differences"] < 1e-6


def test_a_function_of_several_outputs_has_a_jacobian():
    comparison = compared(np.sin, X)
    assert (comparison.want, comparison.outputs) == ("jacobian", N)
    assert comparison.errors["complex step"] < 1e-15


@pytest.mark.parametrize(
    ("f", "options", "message"),
    [
        (np.sin, {"want": "gradient"}, "one number"),
        (np.sin, {"want": "hessian"}, "one number"),
        (energy, {"want": "slope"}, "'slope'"),
    ],
)
def test_what_cannot_be_compared_is_refused(f, options, message):
    with pytest.raises(ValueError, match=message):
        compared(f, X, **options)


def test_contestants_that_would_take_too_long_are_not_tried():
    def slow(x):
        assert np.shape(x) == X.shape
        return np.sum(np.exp(np.outer(np.ones(100_000), x)))

    comparison = compared(slow, X, patience=1e-4)
    assert "calls of f alone would last" in comparison.measurement.failures["differences"]


# ------------------------------------------------------------------------------ the tape


@pytest.mark.parametrize("depth", [1, 10, 100])
def test_the_record_of_a_chain_holds_a_node_and_a_partial_a_step(depth):
    f, (x,) = PROBLEMS["chain"].make(depth)
    record = record_of(f, x)
    assert record.nodes == depth + 2  # the input, and the sum
    assert depth * x.nbytes <= record.held_bytes <= (depth + 2) * x.nbytes + 1000 * (depth + 4)


# --------------------------------------------------------------------- shown and stored


def test_the_advice_names_the_quickest_exact_contestant():
    comparison = compared(energy, X)
    costs = comparison.measurement.contestants
    exact = set(costs) - {"differences", "complex step"}
    quickest = min(exact, key=lambda name: costs[name].timing.ratio.median)
    assert f"{quickest!r} is the quickest way to the gradient" in comparison.advice
    assert comparison.advice in comparison.table()
    assert comparison.advice.count(".\n") == 0


def test_html_is_escaped():
    comparison = compared(lambda x: x * x, 2.0)
    assert "<table>" in comparison._repr_html_()
    assert "&lt;lambda&gt;" in comparison._repr_html_()
    assert "<lambda>" not in comparison._repr_html_()


def test_json_gives_all_of_it_back():
    comparison = compared(energy, X, n=N)
    assert Comparison.from_json(comparison.to_json()) == comparison


def test_plots(tmp_path):
    comparison = compared(energy, X)
    comparison.plot(tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 1000
    assert len(comparison.plot().axes) == 2


def test_a_file_is_added_to(tmp_path):
    path = tmp_path / "costs.json"
    assert storage.load(path) == []
    first, second = (compared(energy, np.ones(n), n=n) for n in (2, 3))
    storage.add(path, [first])
    again = compared(energy, np.ones(2), n=2)
    storage.add(path, [second, again])
    assert storage.load(path) == [again, second]
    path.write_text("[]")
    with pytest.raises(ValueError, match="not a file of comparisons"):
        storage.add(path, [first])


def test_comparing_does_not_load_matplotlib():
    code = (
        "import sys, dualad as ad\n"
        "print(ad.compare(lambda x: x * x, 2.0, seconds=0.0, rounds=1).table())\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# --------------------------------------------------------------------------- prediction


@pytest.mark.parametrize(
    ("name", "n", "least", "most"),
    [
        ("helmholtz", 10**5, 8e10 / 4, 8e10 * 4),  # mostly A
        ("rosenbrock", 10**8, 8e8, 4e10),
        ("tall", 10**6, 8e6, 1e14),
        ("determinant", 25, 1e12, float("inf")),
        ("fike-alonso", 10**9, 0, 1e6),
    ],
)
def test_memory_is_predicted_from_small_sizes(name, n, least, most):
    assert least <= storage.predicted_bytes(PROBLEMS[name], n) <= most


def test_prediction_is_near_what_is_taken():
    problem = PROBLEMS["chain"]
    f, (x,) = problem.make(2000)
    taken = ad.harness.measure.peak_bytes(lambda: ad.grad(f, mode="reverse")(x))
    assert taken / 2 <= storage.predicted_bytes(problem, 2000) <= 2 * taken


def test_available_memory_is_positive():
    assert storage.available_bytes() > 1e6


def test_the_complex_step_is_a_reference_to_the_last_digits():
    assert COMPLEX_STEP**2 > 0
    assert compared(energy, X).errors["complex step"] < 1e-15
