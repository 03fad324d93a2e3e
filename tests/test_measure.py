"""The instrument measures what it says: shown with a clock and a memory that we control."""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest

from dualad.harness import measure
from dualad.harness.measure import Measurement, Spread, peak_bytes, times


class Clock:
    """Time that passes only when something is called that takes it."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def perf_counter(self):
        return self.now

    def takes(self, seconds, name=""):
        def call(*args):
            self.now += seconds() if callable(seconds) else seconds
            self.log.append(name)

        return call


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    return clock


def test_seconds_and_ratios(clock):
    result = times({"f": clock.takes(0.002), "g": clock.takes(0.006)}, "f", seconds=0.1)
    assert result["f"].seconds.median == pytest.approx(0.002)
    assert result["g"].seconds.median == pytest.approx(0.006)
    assert result["g"].ratio.median == pytest.approx(3)


def test_a_ratio_is_formed_within_its_round(clock):
    # The machine slows down all the time; each round is slow for all alike.
    speed = (1.03**k for k in itertools.count())
    slowing = {
        name: clock.takes(lambda seconds=seconds: seconds * next(speed))
        for name, seconds in {"f": 0.001, "g": 0.005}.items()
    }
    result = times(slowing, "f", seconds=0.01, rounds=9)
    spread, ratio = result["f"].seconds, result["g"].ratio
    assert spread.upper / spread.lower > 1.2
    assert ratio.lower == pytest.approx(5, rel=0.05)
    assert ratio.upper == pytest.approx(5, rel=0.05)


def test_a_quick_call_is_timed_in_batches(clock):
    result = times({"f": clock.takes(1e-7)}, "f", seconds=0.01)
    assert result["f"].batch * 1e-7 >= measure.BATCH
    assert result["f"].batch * 1e-7 <= 2 * measure.BATCH
    assert result["f"].seconds.median == pytest.approx(1e-7)


def test_contestants_take_turns_and_the_order_moves_on(clock):
    calls = {name: clock.takes(0.001, name) for name in "abc"}
    times(calls, "a", seconds=0.0, rounds=4)
    assert "".join(clock.log).endswith("abc" + "bca" + "cab" + "abc")


@pytest.mark.parametrize(("seconds", "rounds"), [(0.05, 10), (0.0, 7), (1e9, measure.MOST_ROUNDS)])
def test_rounds_fill_the_time_within_their_bounds(clock, seconds, rounds):
    # One round of both takes 5 ms.
    calls = {"f": clock.takes(0.002), "g": clock.takes(0.003)}
    assert times(calls, "f", seconds=seconds)["g"].rounds == rounds


def test_no_rounds_are_refused():
    with pytest.raises(ValueError, match="at least one round"):
        times({"f": int}, "f", rounds=0)


def test_progress_goes_from_none_to_all(clock):
    seen = []
    times({"f": clock.takes(0.01)}, "f", seconds=0.2, progress=seen.append)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_off_while_timing_and_as_it_was_after(on):
    seen = set()
    (gc.enable if on else gc.disable)()
    try:
        times({"f": lambda: seen.add(gc.isenabled())}, "f", seconds=0.0)
        assert gc.isenabled() == on
        with pytest.raises(ZeroDivisionError):
            times({"f": lambda: 1 / 0}, "f")
        assert gc.isenabled() == on
    finally:
        gc.enable()
    assert seen == {False}


# ---------------------------------------------------------------------------- memory


def test_peak_counts_what_is_held_at_once():
    size = 1_000_000

    def one_after_the_other():
        for _ in range(5):
            np.ones(size, dtype=np.uint8)

    def together():
        return [np.ones(size, dtype=np.uint8) for _ in range(5)]

    assert size <= peak_bytes(one_after_the_other) < 2.1 * size
    assert 5 * size <= peak_bytes(together) < 5.1 * size


def test_peak_does_not_count_what_the_first_call_leaves():
    kept = []

    def f():
        if not kept:
            kept.append(np.ones(1_000_000, dtype=np.uint8))

    assert peak_bytes(f) < 10_000


def test_peak_leaves_tracing_as_it_was():
    peak_bytes(list)
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        peak_bytes(list)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------ all together


def differences(f):
    return lambda x: [(f(x + h) - f(x)) / 1e-6 for h in 1e-6 * np.eye(x.size)]


def broken(f):
    def call(x):
        raise OverflowError("too far")

    return call


def test_measure():
    x = np.arange(4.0)
    result = measure.measure(
        np.sum, [x], {"differences": differences, "broken": broken}, seconds=0.01
    )
    assert result.contestants["differences"].evaluations == 2 * x.size
    assert result.contestants["differences"].timing.ratio.median > 1
    assert result.function.timing.ratio == Spread(1.0, 1.0, 1.0)
    assert result.function.evaluations == 1
    assert result.failures == {"broken": "OverflowError: too far"}
    assert Measurement.from_json(result.to_json()) == result


def test_an_f_that_raises_raises():
    with pytest.raises(OverflowError, match="too far"):
        measure.measure(broken(None), [1.0], {})


def test_a_contestant_is_not_named_f():
    with pytest.raises(ValueError, match="'f'"):
        measure.measure(np.sum, [1.0], {"f": differences})
