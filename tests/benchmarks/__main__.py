"""The table of README's section "How fast", measured again.

    python tests/benchmarks

Each figure is the time of a library over the time of the derivative by hand: of both the
least of many slices, taken in turn, so that a machine that is busy disturbs both alike.
"""

from __future__ import annotations

import timeit

import numpy as np
from libraries import LIBRARIES, installed
from workloads import workloads

SLICE, ROUNDS = 0.01, 15


def ratio(f, g, x) -> float:
    """How much longer f takes than g."""
    number = max(1, int(SLICE / max(timeit.timeit(lambda: f(x), number=1), 1e-7)))
    floor = max(1, int(SLICE / max(timeit.timeit(lambda: g(x), number=1), 1e-7)))
    a, b = [], []
    for _ in range(ROUNDS):
        a.append(timeit.timeit(lambda: f(x), number=number) / number)
        b.append(timeit.timeit(lambda: g(x), number=floor) / floor)
    return min(a) / min(b)


def main() -> None:
    """Print the table, a line at a time."""
    names = [n for n in LIBRARIES if n != "by hand" and installed(n)]
    print(f"| workload | {' | '.join(names)} |")
    print(f"|---{'|---' * len(names)}|")
    for workload in workloads():
        want = np.asarray(workload.by_hand(workload.point))
        cells = []
        for name in names:
            f = LIBRARIES[name](workload)
            got = np.asarray(f(workload.point), dtype=float).reshape(want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8)
            cells.append(f"{ratio(f, workload.by_hand, workload.point):.2f}")
        print(f"| {workload.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
