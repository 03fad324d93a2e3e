"""The command line does what its help says; what it cannot do it says in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dualad
from dualad.__main__ import main
from dualad.harness import measure, storage

MODULE = """
import numpy as np

def square(x):
    return np.sum(x**2)

def product(a, b):
    return a * np.sum(b)

def sixth(x):
    return x[5]

def broken(x):
    raise RuntimeError("two\\nlines")

def word(x):
    return "word"

def root(x):
    return np.log(-np.abs(x))

three = 3
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with modules of a user's, which are found there and forgotten after."""
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "absent.py").write_text("import a_module_that_is_not_there")
    (tmp_path / "quits.py").write_text("raise SystemExit(0)")
    (tmp_path / "other.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("mine", "absent", "quits"):
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr("dualad.__main__.QUICK", (0.0, 60.0))
    monkeypatch.setattr(measure, "BATCH", 1e-6)


def test_compare_a_problem_at_several_sizes(here, capsys):
    words = ["compare", "helmholtz", "--n", "1,8", "--quick", "--json", "out.json"]
    assert main([*words, "--plot", "out.png"]) == 0
    out = capsys.readouterr().out
    assert "helmholtz, n = 1: the gradient of 1 output with respect to 1 input\n" in out
    assert "helmholtz, n = 8: the gradient of 1 output with respect to 8 inputs\n" in out
    assert [result.n for result in storage.load("out.json")] == [1, 8]
    assert (here / "out.png").exists()
    # A later run adds, and what was stored is drawn again without measuring.
    assert main(["compare", "rosenbrock", "--n", "3", "--quick", "--json", "out.json"]) == 0
    names = [result.name for result in storage.load("out.json")]
    assert names == ["helmholtz", "helmholtz", "rosenbrock"]
    assert main(["draw", "out.json", "--plot", "all.svg"]) == 0
    assert (here / "all.svg").exists()


def test_compare_a_function_of_mine(capsys):
    assert main(["compare", "mine:square", "--at", "[0.1, 0.2]", "--quick"]) == 0
    shape = "the gradient of 1 output with respect to 2 inputs"
    assert f"mine:square: {shape}" in capsys.readouterr().out


def test_compare_a_function_of_two_arguments(capsys):
    words = ["compare", "mine:product", "--at", "2", "--at", "[1, 2, 3]", "--want", "hessian"]
    assert main([*words, "--quick"]) == 0
    assert "the hessian of 1 output with respect to 4 inputs" in capsys.readouterr().out


def test_a_problem_at_a_point_of_mine(capsys):
    assert main(["compare", "rosenbrock", "--n", "2", "--at", "[1, 1]", "--quick"]) == 0
    assert "2 inputs" in capsys.readouterr().out


def test_compiled_derivatives_are_compared_where_asked_for(capsys):
    assert main(["compare", "mine:square", "--at", "[1, 2]", "--quick", "--compiled"]) == 0
    assert "\nreverse, compiled " in capsys.readouterr().out


def test_a_graph_is_drawn(here, capsys):
    assert main(["graph", "mine:square", "--at", "[1, 2]", "--out", "graph.svg"]) == 0
    assert main(["graph", "helmholtz", "--n", "3", "--out", "graph.png"]) == 0
    assert {"graph.svg", "graph.png"} <= {path.name for path in here.iterdir()}


REFUSED = {
    "graph mine:broken --at 1 --out graph.svg": "two lines",
    "graph helmholtz-scalar --n 50 --out graph.svg": "cannot be read",
    "graph helmholtz --out graph.svg": "one size",
    "graph mine:square --at 1 --out no/graph.svg": "no directory",
    "graph mine:square --at 1 --out graph.word": "graph.word",
    "graph mine:square --at 1": "--out",
    "compare nowhere:f --at 1": "'nowhere' does not import: ModuleNotFoundError",
    "compare absent:f --at 1": "a_module_that_is_not_there",
    "compare quits:f --at 1": "'quits' does not import: SystemExit",
    "compare mine:nothing --at 1": "has no 'nothing'",
    "compare mine:three --at 1": "int, not a function",
    "compare mine:square": "where?",
    "compare mine:square --at [1] --n 3": "--n is for the named problems",
    "compare mine:broken --at 1": "fails at the point, of shape (): RuntimeError: two lines",
    "compare mine:sixth --at [1,2]": "fails at the point, of shape (2,): IndexError",
    "compare mine:word --at 1": "gives a str",
    "compare mine:root --at 1": "not finite",
    "compare mine:square --at [1 ": "'[1' is not a point",
    "compare mine:square --at [[1],[2,3]]": "rows of one length",
    "compare mine:square --at ['a']": "is not a point",
    "compare rosenbrock --n 3 --at [1,2]": "takes a point of shape (3,), not (2,)",
    "compare rosenbrock --at [1,2]": "one size",
    "compare rosenbrock --n 0": "'0' is not a list of sizes",
    "compare rosenbrock --n one": "'one' is not a list of sizes",
    "compare lstm --n 1": "at least 2",
    "compare helmholtz --n 10000000": "of memory",
    "compare tall --n 3 --want hessian --quick": "one number",
    "compare nothing": "no problem is named 'nothing'",
    "compare mine:square --at 1 --json no/such.json": "no directory no",
    "compare mine:square --at 1 --json other.json": "not a file of comparisons",
    "compare mine:square --at 1 --plot out.word --quick": "out.word",
    "draw missing.json --plot out.png": "holds no comparisons",
    "compare": "required",
    "compete": "invalid choice",
    "": "required",
}


@pytest.mark.parametrize(("words", "message"), REFUSED.items(), ids=str)
def test_what_cannot_be_done_is_said_in_one_line(words, message, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_too_much_memory_is_refused_with_the_estimate_before_it_is_tried(capsys, monkeypatch):
    monkeypatch.setattr(storage, "available_bytes", lambda: 1000.0)
    monkeypatch.setattr("dualad.__main__.compare", None)
    assert main(["compare", "rosenbrock", "--n", "100"]) == 2
    assert "would take about" in capsys.readouterr().err


def test_an_interrupt_keeps_what_was_measured(capsys, monkeypatch):
    original, seen = measure._time, []

    def interrupted(call, batch):
        seen.append(1)
        if len(seen) > 250:
            raise KeyboardInterrupt
        return original(call, batch)

    monkeypatch.setattr("dualad.__main__.FULL", (1e9, 60.0))
    monkeypatch.setattr(measure, "_time", interrupted)
    words = ["compare", "rosenbrock", "--n", "2,3", "--json", "out.json"]
    assert main(words) == 130
    captured = capsys.readouterr()
    assert "(interrupted)" in captured.out
    assert "interrupted after 1 comparisons" in captured.err
    (result,) = storage.load("out.json")
    assert result.measurement.interrupted
    assert result.measurement.function.timing.rounds >= 1


def test_as_a_command():
    words = [sys.executable, "-m", "dualad", "compare", "mine:square", "--at", "[1, 2]", "--quick"]
    found = {**os.environ, "PYTHONPATH": str(Path(dualad.__file__).parents[1])}
    words += ["--json", "out.json"]
    done = subprocess.run(words, capture_output=True, text=True, env=found)
    assert (done.returncode, done.stderr) == (0, "")
    with open("out.json", encoding="utf-8") as text:
        assert json.load(text)["comparisons"][0]["name"] == "mine:square"
