"""Comparisons in a file that later runs add to, and how much memory a problem will take."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from dualad.harness.compare import Comparison
from dualad.harness.measure import peak_bytes
from dualad.harness.problems import Problem
from dualad.transforms import jacobian


def load(path: str | Path) -> list[Comparison]:
    """The comparisons of a file; none, if there is no file.

    Raises ``ValueError`` for a file that holds something else.
    """
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        return [Comparison.from_dict(data) for data in json.loads(text)["comparisons"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a file of comparisons ({error})") from None


def add(path: str | Path, new: Sequence[Comparison]) -> list[Comparison]:
    """Write comparisons to a file; those of the same function, size and derivative go."""
    kept = {_key(result): result for result in [*load(path), *new]}
    text = json.dumps({"comparisons": [dataclasses.asdict(r) for r in kept.values()]}, indent=1)
    # Written beside and then moved, so that an interrupt leaves the old file or the new one.
    beside = Path(f"{path}.new")
    beside.write_text(text + "\n", "utf-8")
    beside.replace(path)
    return list(kept.values())


def _key(result: Comparison) -> tuple[str, int | None, int, str]:
    return result.name, result.n, result.inputs, result.want


@np.errstate(all="ignore")
def predicted_bytes(problem: Problem, n: int, order: int = 1, enough: float = 2e6) -> float:
    """About how much memory a derivative of the problem takes at size n.

    It is measured at sizes that grow until one takes ``enough`` bytes, and extrapolated from
    the last of them: as a power of n or, where even small n take much and the power is high,
    as an exponential of n.
    """
    sizes: list[int] = []
    peaks: list[float] = []
    size = problem.smallest
    gc.freeze()  # what is there already is not gone through each time
    try:
        while size <= n and (not peaks or peaks[-1] < enough):
            f, args = problem.make(size)
            if sizes and not np.all(np.isfinite(f(*args))):
                break  # outside of the domain, where NaN takes other ways
            peaks.append(float(peak_bytes(partial(_differentiate, problem, size))))
            sizes.append(size)
            size = min(n, max(size + 1, size * 5 // 4)) if size < n else n + 1
    finally:
        gc.unfreeze()
    if len(sizes) < 4 or sizes[-1] == n:
        grown = peaks[-1] * n / sizes[-1]
    elif (power := _power(sizes, peaks, -3)) > 3 and sizes[-1] < 50:
        step = math.log(peaks[-1] / peaks[-2]) / (sizes[-1] - sizes[-2])
        grown = peaks[-1] * math.exp(min(600.0, step * (n - sizes[-1])))
    else:
        grown = peaks[-1] * (n / sizes[-1]) ** power
    # What the answer takes is known: it may be small where it was measured and large here.
    inputs, outputs = (count(sizes[-1]) for count in (problem.inputs, problem.outputs))
    grows = n / sizes[-1]
    entries = inputs * (grows if problem.inputs(problem.smallest) < inputs else 1)
    rows = outputs * (grows if problem.outputs(problem.smallest) < outputs else 1)
    return max(grown, 8.0 * entries * (rows if order == 1 else entries))


def _power(sizes: list[int], peaks: list[float], i: int) -> float:
    """The power of n that memory grew with from the size at i on."""
    return max(0.0, math.log(peaks[-1] / peaks[i]) / math.log(sizes[-1] / sizes[i]))


def _differentiate(problem: Problem, n: int) -> object:
    f, args = problem.make(n)
    return jacobian(f, mode="reverse")(*args)


def available_bytes() -> float:
    """The memory that this process may take, as far as the system tells."""
    limits = [math.inf]
    with suppress(AttributeError, OSError, ValueError):  # not every system says
        limits.append(float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # the limits of a container
        with suppress(OSError, ValueError):
            limits.append(float(Path("/sys/fs/cgroup", name).read_text("ascii")))
    return min(limits)
