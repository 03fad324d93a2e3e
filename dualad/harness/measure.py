"""What a derivative costs in time, memory and evaluations of f, each by a stated method.

Time: f and all contestants take turns, round after round, so that whatever disturbs the
machine disturbs them alike; a contestant's ratio is formed within each round, and what is
reported is the median over the rounds with the quartiles.  Each was called before (rows
are bound and caches filled), quick ones are timed in batches, the order moves on by one a
round, and the garbage collector is off.

Memory: the peak that ``tracemalloc`` sees during one call, above what was there before.
NumPy's arrays are seen, the result is included.

Evaluations: how often f itself was called.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import json
import math
import os
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Call = Callable[[], object]
#: takes f to what is measured, which is then called with f's arguments
Contestant = Callable[[Callable[..., Any]], Callable[..., Any]]

#: what a batch of calls lasts at least, in seconds: thousands of times the clock's own cost
BATCH = 2e-4
#: more rounds than this do not narrow the quartiles noticeably
MOST_ROUNDS = 200


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles.

    >>> Spread.of([1.0, 2.0, 3.0, 4.0, 10.0])
    Spread(median=3.0, lower=2.0, upper=4.0)
    """

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """The spread of the samples."""
        lower, median, upper = np.quantile(samples, [0.25, 0.5, 0.75]).tolist()
        return cls(median, lower, upper)


@dataclass(frozen=True)
class Timing:
    """How long one call takes, in seconds and as a ratio to the base of the same round."""

    seconds: Spread
    ratio: Spread
    rounds: int
    batch: int
    """How many calls were timed as one, in each round."""
    planned: int
    """How many rounds there would have been without an interrupt."""


@dataclass(frozen=True)
class Cost:
    """All that is measured of one contestant."""

    timing: Timing
    peak_bytes: int
    evaluations: int


@dataclass(frozen=True)
class Measurement:
    """The costs of f and of its contestants, and why those that failed did."""

    function: Cost
    contestants: dict[str, Cost]
    failures: dict[str, str]
    machine: dict[str, str]
    interrupted: bool = False
    """Whether fewer rounds were made than planned, since the user had enough."""

    def to_json(self) -> str:
        """All of it as text that ``from_json`` reads."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """What ``to_json`` wrote."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Measurement:
        """The measurement whose ``dataclasses.asdict`` is ``data``."""
        costs = {name: _cost(cost) for name, cost in data["contestants"].items()}
        return cls(**{**data, "function": _cost(data["function"]), "contestants": costs})


def _cost(data: dict[str, Any]) -> Cost:
    timing = data["timing"]
    return Cost(
        timing=Timing(
            seconds=Spread(**timing["seconds"]),
            ratio=Spread(**timing["ratio"]),
            rounds=timing["rounds"],
            batch=timing["batch"],
            planned=timing["planned"],
        ),
        peak_bytes=data["peak_bytes"],
        evaluations=data["evaluations"],
    )


def measure(
    f: Callable[..., Any],
    args: Sequence[Any],
    contestants: Mapping[str, Contestant],
    *,
    seconds: float = 1.0,
    rounds: int = 7,
    patience: float = 60.0,
    progress: Callable[[float], None] | None = None,
) -> Measurement:
    """Measure what each contestant costs on f at the arguments.

    ``seconds`` is spent on the rounds, of which there are at least ``rounds`` however long
    they take.  ``progress`` is told the part that is done, from 0 to 1.  A contestant that
    raises, or whose first call lasts longer than ``patience`` seconds, is reported among
    the failures; an f that raises, raises.  An interrupt from the keyboard during the rounds
    ends them, and what was measured until then is kept.

    >>> import numpy as np
    >>> def slope(f):
    ...     return lambda x: (f(x + 1e-6) - f(x)) / 1e-6
    >>> result = measure(np.sin, [1.0], {"differences": slope}, seconds=0.01)
    >>> result.contestants["differences"].evaluations
    2
    >>> result.function.timing.ratio.median
    1.0
    """
    f(*args)
    calls: dict[str, Call] = {"f": partial(f, *args)}
    evaluations = {"f": 1}
    failures = {}
    for name, contestant in contestants.items():
        if name == "f":
            raise ValueError("a contestant cannot be named 'f', which stands for the function")
        counted = Counted(f)
        start = time.perf_counter()
        try:
            contestant(counted)(*args)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
            continue
        taken = time.perf_counter() - start
        if taken > patience:
            failures[name] = f"left out: one call lasts {taken:.3g} s, above {patience:.3g} s"
            continue
        evaluations[name] = counted.calls
        calls[name] = partial(contestant(f), *args)
    peaks = {name: peak_bytes(call) for name, call in calls.items()}
    timings = times(calls, base="f", seconds=seconds, rounds=rounds, progress=progress)
    costs = {name: Cost(timings[name], peaks[name], evaluations[name]) for name in calls}
    cut = timings["f"].planned > timings["f"].rounds
    return Measurement(costs.pop("f"), costs, failures, machine(), cut)


class Counted:
    """A function that counts how often it is called.

    >>> f = Counted(abs)
    >>> f(-1), f(2), f.calls
    (1, 2, 2)
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


def times(
    calls: Mapping[str, Call],
    base: str,
    *,
    seconds: float = 1.0,
    rounds: int = 7,
    progress: Callable[[float], None] | None = None,
) -> dict[str, Timing]:
    """How long each call takes, as a ratio to the one named ``base``.

    An interrupt from the keyboard ends the rounds; those that were completed count.

    >>> result = times({"a": lambda: sum(range(10)), "b": lambda: None}, "a", seconds=0.01)
    >>> result["b"].ratio.median < result["a"].ratio.median == 1.0
    True
    """
    if rounds < 1:
        raise ValueError(f"at least one round is needed, not {rounds}")
    names = list(calls)
    with collector_off():
        batches = {name: _batch(calls[name]) for name in names}
        samples: dict[str, list[float]] = {name: [] for name in names}
        started = time.perf_counter()
        planned = rounds
        for done in itertools.count():
            if done == 1:
                # The first round says how many fit.
                fit = seconds / (time.perf_counter() - started)
                planned = max(rounds, min(MOST_ROUNDS, round(fit)))
            if done == planned:
                break
            turn = done % len(names)
            try:
                taken = {n: _time(calls[n], batches[n]) for n in names[turn:] + names[:turn]}
            except KeyboardInterrupt:
                if not done:
                    raise
                break
            for name in names:
                samples[name].append(taken[name])
            gc.collect(0)  # only what the round left in cycles, between the timed parts
            if progress is not None:
                progress((done + 1) / planned if done else 0.0)
    return {
        name: Timing(
            seconds=Spread.of(samples[name]),
            ratio=Spread.of([t / b for t, b in zip(samples[name], samples[base], strict=True)]),
            rounds=len(samples[name]),
            batch=batches[name],
            planned=planned,
        )
        for name in names
    }


def _batch(call: Call) -> int:
    """How many calls last for BATCH; the first call, which may fill caches, is not timed."""
    call()
    batch = 1
    while (taken := batch * _time(call, batch)) < BATCH:
        # A batch that was too short is measured too roughly to trust far.
        batch = min(10 * batch, math.ceil(1.2 * batch * BATCH / taken) if taken else 10 * batch)
    return batch


def _time(call: Call, batch: int) -> float:
    start = time.perf_counter()
    for _ in itertools.repeat(None, batch):
        call()
    return (time.perf_counter() - start) / batch


def peak_bytes(call: Call) -> int:
    """The most memory that one call holds at a time, its result included.

    >>> import numpy as np
    >>> 8000 <= peak_bytes(lambda: np.ones(1000)) < 10000
    True
    """
    return _traced(call)[1]


def held_bytes(call: Call) -> int:
    """The memory that the result of a call holds.

    >>> import numpy as np
    >>> 8000 <= held_bytes(lambda: np.ones(10_000)[:1000].copy()) < 10000
    True
    """
    return _traced(call)[0]


def _traced(call: Call) -> tuple[int, int]:
    call()  # what the first call leaves for the later ones is not a cost of each
    gc.collect()
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        with collector_off():
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            result = call()
            after, peak = tracemalloc.get_traced_memory()
            del result
    finally:
        if not already:
            tracemalloc.stop()
    return after - before, peak - before


@contextmanager
def collector_off() -> Iterator[None]:
    """Garbage is collected once, and then not until the end."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def machine() -> dict[str, str]:
    """What a measurement depends on and a reader may want to know."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": platform.system(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
