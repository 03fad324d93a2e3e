"""The experiments run from one command and draw; what is exact in them is exact."""

import json
import math

import numpy as np
import pytest

import dualad as ad
from dualad.__main__ import main
from dualad.checkpointing import extra_steps
from dualad.harness import experiments, figures
from dualad.harness.experiments import EXPERIMENTS

QUICK = (3, 6)


def silent(done):
    assert 0 <= done <= 1


@pytest.fixture(scope="module")
def data():
    return {number: EXPERIMENTS[number].run(True, silent) for number in QUICK}


def test_one_command_writes_results_figure_and_paragraph(tmp_path, capsys):
    words = ["experiment", "6", "--out", str(tmp_path / "new")]
    assert main([*words, "--quick"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("6. Error against step\n")
    figure = (tmp_path / "new" / "experiment-6.png").read_bytes()
    stored = json.loads((tmp_path / "new" / "experiment-6.json").read_text("utf-8"))
    assert stored["machine"]["numpy"] == np.__version__
    # Drawn again from what was stored, it is the same figure.
    (tmp_path / "new" / "experiment-6.png").unlink()
    assert main([*words, "--redraw"]) == 0
    assert (tmp_path / "new" / "experiment-6.png").read_bytes() == figure
    assert capsys.readouterr().out == out


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # a cluster warns of what the machine lacks
def test_all_of_them_make_the_page(tmp_path, capsys):
    assert main(["experiment", "all", "--quick", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "README.md").read_text("utf-8")
    for number, experiment in EXPERIMENTS.items():
        assert f"## {number}. {experiment.title}\n" in page
        assert (tmp_path / f"experiment-{number}.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("experiment 0", "no experiment '0'"),
        ("experiment ten", "no experiment 'ten'"),
        ("experiment 6 --redraw", "--out"),
        ("experiment 6 --redraw --out nowhere", "experiment-6.json"),
        ("experiment", "required"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(words, message, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_every_experiment_has_a_figure():
    assert set(figures.DRAW) == set(EXPERIMENTS)
    assert [experiment.number for experiment in EXPERIMENTS.values()] == list(EXPERIMENTS)


def test_slope():
    x = np.array([1.0, 10.0, 100.0])
    assert experiments.slope(x, 3 * x**1.5) == pytest.approx(1.5)


# --------------------------------------------------------------------------- memory


def test_the_steps_of_a_checkpointed_loop_are_the_binomial_optimum(data):
    for row in data[3]["trade"]:
        assert row["steps"] == row["optimum"]


@pytest.mark.parametrize(
    ("steps", "snapshots", "extra"),
    [(10, 3, 15), (10, 1, 45), (100, 5, 316), (250, 10, 672), (1000, 8, 4285), (10000, 20, 37976)],
)
def test_the_published_schedule_lengths(steps, snapshots, extra):
    assert extra_steps(steps, snapshots) == extra


def test_memory_against_depth(data):
    depths, peaks = data[3]["depths"], data[3]["peaks"]
    powers = {name: experiments.slope(depths, sizes) for name, sizes in peaks.items()}
    assert abs(powers["forward"]) < 0.05
    assert 0.8 < powers["reverse"] < 1.05
    assert powers["reverse, checkpoints"] < 0.3


# ----------------------------------------------------------------------------- steps


def test_duals_are_exact_whatever_the_seed(data):
    eps = np.finfo(float).eps
    assert max(data[6]["first"]["dual"]) <= 5 * eps
    assert max(data[6]["second"]["hyperdual"]) <= 10 * eps


@pytest.mark.parametrize(
    ("table", "name", "step", "error"),
    [
        ("first", "differences", 1e-8, 2.5e-8),
        ("first", "central differences", 1e-5, 1.4e-10),
        ("second", "differences", 1e-5, 3.3e-5),
        ("second", "central differences", 1e-4, 3.0e-8),
        ("second", "complex step", 1e-4, 3.5e-8),
    ],
)
def test_the_best_step_of_differences_is_the_published_one(data, table, name, step, error):
    errors = data[6][table][name]
    best = int(np.argmin(errors))
    assert error / 3 <= errors[best] <= 3 * error
    assert abs(math.log10(data[6]["steps"][best] / step)) <= 1


# --------------------------------------------------------- counts that are known exactly


def parts(x, y):
    product = ad.HyperDual(*x) * ad.HyperDual(*y)
    return product.primal, product.tangent1, product.tangent2, product.mixed


def test_a_hyper_dual_product_is_nine_multiplications_and_five_additions():
    x, y = (2.0, 3.0, 5.0, 7.0), (11.0, 13.0, 17.0, 19.0)
    count = ad.trace(parts)(x, y).count()
    assert (count.multiplications, count.additions, count.flops) == (9, 5, 14)


def test_a_hyper_dual_sum_is_four_additions():
    def total(x, y):
        s = ad.HyperDual(*x) + ad.HyperDual(*y)
        return s.primal, s.tangent1, s.tangent2, s.mixed

    count = ad.trace(total)((2.0, 3.0, 5.0, 7.0), (11.0, 13.0, 17.0, 19.0)).count()
    assert (count.additions, count.flops) == (4, 4)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [("normal", lambda n: n + 1), ("signs", lambda n: n - 1)],
)
def test_forward_gradients_are_unbiased_with_the_known_error(draw, expected):
    # One jvp along a random direction v, times v: kurtosis 3 for normal v and 1 for signs.
    n, draws = 10, 100_000
    rng = np.random.default_rng(14)
    x = rng.uniform(size=n)

    def f(x):
        return np.sum(np.sin(x) * x)

    if draw == "normal":
        v = rng.normal(size=(draws, n))
    else:
        v = rng.choice([-1.0, 1.0], size=(draws, n))
    gradient = ad.grad(f)(x)
    # All directions at once: the Jacobian of what adds up the directions is their slopes.
    slopes = ad.jacobian(lambda t: f(x + t @ v), mode="reverse")(np.zeros(draws))
    assert slopes[7] == pytest.approx(ad.jvp(f, (x,), (v[7],))[1])
    estimates = slopes[:, None] * v
    square = np.sum(gradient**2)
    error = np.mean(np.sum((estimates - gradient) ** 2, axis=1)) / square
    assert error == pytest.approx(expected(n), rel=0.03)
    assert np.sum((np.mean(estimates, axis=0) - gradient) ** 2) / square < 4 * expected(n) / draws


# ---------------------------------------------------------------------- the choice of mode


@pytest.mark.slow
def test_the_recommended_mode_is_the_better_one_or_close_to_it():
    rows = EXPERIMENTS[9].run(False, silent)["rows"]
    chosen = np.array([row["chosen"] for row in rows])
    assert len(rows) >= 60
    assert np.mean(chosen <= 1.15) >= 0.9
    assert np.max(chosen) <= 2


def test_a_contestant_that_fails_is_not_passed_over_in_silence():
    def broken(f):
        raise OverflowError("too far")

    f, args = ad.harness.problems.PROBLEMS["rosenbrock"].make(2)
    result = ad.compare(f, *args, seconds=0.0, rounds=1, contestants={"mine": broken})
    with pytest.raises(RuntimeError, match="mine: OverflowError: too far"):
        experiments._complete(result)
