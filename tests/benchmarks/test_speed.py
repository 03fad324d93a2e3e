"""Every library on every workload, timed by pytest-benchmark, one group a workload.

    python -m pytest tests/benchmarks -m slow --benchmark-group-by=group

Answers are checked before anything is timed.
"""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from libraries import LIBRARIES, installed
from workloads import workloads

pytestmark = pytest.mark.slow

ALL = {w.name: w for w in workloads()}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ALL)
def test_speed(request, name, library):
    if importlib.util.find_spec("pytest_benchmark") is None:
        pytest.skip("pytest-benchmark is not installed: pip install 'dualad[bench]'")
    if not installed(library):
        pytest.skip(f"{library} is not installed: pip install 'dualad[bench]'")
    workload = ALL[name]
    derivative = LIBRARIES[library](workload)
    want = np.asarray(workload.by_hand(workload.point))
    got = np.asarray(derivative(workload.point), dtype=float)
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-8, atol=1e-8)
    timed = request.getfixturevalue("benchmark")
    timed.group = name
    timed(derivative, workload.point)
