"""The exercises run, answer and draw; what they print is what the chapter says."""

from __future__ import annotations

import gc
import importlib
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PICTURES = {
    0: [], 1: ["exercise_1"], 2: [], 3: ["exercise_3"], 4: ["exercise_4"], 5: ["exercise_5"],
    6: ["exercise_6"], 7: ["exercise_7_forward", "exercise_7_reverse"],
    8: ["exercise_8_shapes", "exercise_8_depth"],
}  # fmt: skip
#: what must be read in the answers, beside what each exercise asserts itself
WORDS = {
    0: ["[ 0.  4.  8. 12.]", "[1. 1. 1. 1.]", "[0. 2. 4. 6.]", "[0. 1. 4. 9.]"],
    1: ["How often f is run", "n (n + 1) / 2", "The reason"],
    2: ["retain_graph", "x.grad = 12.0"],
    3: ["gradient=", "times the identity", "f(a) = k a"],
    4: ["complex step"],
    5: ["np.log(v1)", "1.760554"],
    6: ["np.cos(x)", "0.08239541392249738"],
    7: ["tangent", "adjoint", "0.08239541392249738"],
    8: ["crossover", "Recommendation", "Memory", "Parallel"],
}


@pytest.fixture
def exercises(monkeypatch):
    """The package, as it is found from the root of the repository."""
    monkeypatch.syspath_prepend(str(ROOT))
    module = importlib.import_module("exercises.__main__")
    gc.freeze()  # measuring collects garbage often, and a test run's heap is large
    yield module
    gc.unfreeze()


def size_of(png: Path) -> tuple[int, int]:
    """Width and height of a picture."""
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


@pytest.mark.parametrize("number", range(9))
def test_an_exercise(number, exercises, tmp_path, capsys):
    exercises.main([str(number), "--quick", "--plots", str(tmp_path)])
    said = capsys.readouterr().out
    assert re.findall(r"^Exercise \d$", said, re.MULTILINE) == [f"Exercise {number}"]
    for word in WORDS[number]:
        assert word in said
    assert sorted(p.stem for p in tmp_path.iterdir()) == sorted(PICTURES[number])
    for picture in tmp_path.iterdir():
        width, height = size_of(picture)
        assert width >= 800
        assert height >= 400
        assert (ROOT / "plots" / picture.name).exists(), "the pictures are committed"


def test_all_of_them_from_the_command_line(tmp_path):
    """Exactly the README's command, on those that measure nothing."""
    command = [sys.executable, "-m", "exercises", "5", "2", "--quick", "--plots", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"^Exercise \d$", run.stdout, re.MULTILINE) == ["Exercise 5", "Exercise 2"]
    assert not run.stderr


def test_without_numbers_all_nine_run(exercises, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(exercises, "run", lambda numbers, plots, quick: asked.append(list(numbers)))
    exercises.main([])
    assert asked == [list(range(9))]


def test_a_number_that_is_none_of_them(exercises, capsys):
    with pytest.raises(SystemExit):
        exercises.main(["9"])
    assert "no exercise 9" in capsys.readouterr().err
