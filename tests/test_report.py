"""Figures have one look and are the same file twice; tables and the bar are legible."""

import io

import matplotlib
import pytest

from dualad.harness import report, tables
from dualad.harness.report import Curve, canvas, curves, looks
from dualad.harness.tables import Progress


def test_looks_are_distinct_in_one_figure_and_the_same_in_all():
    names = [*report.LOOKS, "mine", "yours"]
    chosen = looks(names)
    appearance = [tuple(chosen[name].values()) for name in names]
    assert len(set(appearance)) == len(names)
    assert looks(["reverse", "forward"])["reverse"] == chosen["reverse"]


def test_a_name_without_a_look_takes_one_that_is_free():
    chosen = looks(["mine", "reverse"])
    assert chosen["mine"]["color"] != chosen["reverse"]["color"]


def test_more_names_than_looks_are_drawn_all_the_same():
    names = [f"contestant {k}" for k in range(len(report.SPARE) + 1)]
    assert list(looks(names)) == names


def draw(path):
    with canvas(path, columns=3, note="two cores") as (left, middle, right):
        data = {"forward": Curve([1, 10], [2, 20], [1, 18], [3, 22]), "reverse": Curve([1], [3])}
        curves(left, data, x="inputs", y="time", published={"reverse": Curve([1, 10], [2, 2])})
        report.bars(middle, {"forward": (2.0, 1.0, 3.0), "reverse": 5.0}, x="time", log=True)
        report.heat(
            right, [[0.1, 1.0], [1.0, 10.0]], rows=[1, 2], columns=[1, 2], x="n", y="m", scale="t"
        )
    return left, middle, right


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure_is_the_same_file_twice(tmp_path, suffix):
    first, second = tmp_path / f"a.{suffix}", tmp_path / "new" / f"b.{suffix}"
    draw(first)
    draw(second)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1000


def test_every_axis_is_named(tmp_path):
    for axes in draw(tmp_path / "a.png"):
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_a_figure_that_fails_is_not_written(tmp_path):
    with pytest.raises(ZeroDivisionError), canvas(tmp_path / "a.png"):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())


def test_the_look_does_not_leak():
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), canvas("never.png"):
        1 / 0  # noqa: B018
    assert dict(matplotlib.rcParams) == before


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        tables.table(["a", "b", "c"], [["1", "2", "3"], ["1", "2"]])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ns"), (9.99e-7, "999 ns"), (9.999e-7, "1 us"), (0.123456, "123 ms"), (5e4, "50000 s")],
)
def test_duration(value, text):
    assert tables.duration(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (1e3, "1 kB"), (3e9, "3 GB")]
)
def test_memory(value, text):
    assert tables.memory(value) == text


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_on_a_terminal_and_wipes_its_line():
    stream = Terminal()
    with Progress("measuring", stream) as progress:
        progress(0.0)
        progress(0.5)
    assert "measuring [###############...............]  50%" in stream.getvalue()
    assert "left" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_elsewhere():
    stream = io.StringIO()
    with Progress("measuring", stream) as progress:
        progress(0.5)
    assert not stream.getvalue()
