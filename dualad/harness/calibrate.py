"""The costs of the model in ``dualad.modes``, fitted on functions made for it.

None of them is among the problems that the model is tested on.  Run with
``python -m dualad.harness.calibrate``; it takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dualad.harness.measure import times
from dualad.modes import features, structure_of
from dualad.transforms import hessian, jacobian

Function = Callable[[Any], Any]


def numbers(x: Any, depth: int, outputs: int) -> Any:
    """Code that works entry by entry."""
    entries = x.tolist()
    results = []
    for j in range(outputs):
        total = entries[j % len(entries)]
        for i in range(depth):
            entry = entries[(i + j) % len(entries)]
            total = total * entry + np.sin(entry) if i % 3 else total - entry
        results.append(total)
    return results[0] if outputs == 1 else np.array(results)


def arrays(x: Any, depth: int, outputs: int) -> Any:
    """Code that works on whole arrays."""
    y = x
    for i in range(depth):
        y = np.sin(y) * x if i % 2 else y + x[::-1]
    if outputs == 1:
        return np.sum(y)
    return y if outputs == x.size else np.resize(np.ones(1), (outputs, x.size)) @ y


def spread(x: Any, depth: int, size: int, outputs: int) -> Any:
    """Few inputs that become large arrays."""
    grid = np.linspace(0.0, 1.0, size)
    y = x[0] * grid
    for i in range(depth):
        y = np.cos(y + x[i % x.size] * grid)
    return np.sum(y) if outputs == 1 else y[:outputs]


def pieces(x: Any, depth: int, outputs: int) -> Any:
    """Code that takes arrays apart and puts them together."""
    y = x
    for i in range(depth):
        joined = np.concatenate([y[1:], y[:1]])
        y = joined * 0.5 + x if i % 2 else joined - 0.1
    return y[-1] if outputs == 1 else y


def instances() -> Iterator[tuple[Function, Any]]:
    """Functions with their points, over inputs, outputs, depths and sizes."""
    for n in (1, 2, 4, 10, 30, 100):
        x = np.linspace(0.2, 0.9, n)
        for depth in (10, 60):
            for outputs in (1, 3, 20):
                yield partial(numbers, depth=depth, outputs=outputs), x
    for n in (2, 5, 12, 30, 80, 200, 500, 1500):
        x = np.linspace(0.2, 0.9, n)
        for depth in (3, 12):
            for outputs in {1, 4, n if n < 300 else 30}:
                yield partial(arrays, depth=depth, outputs=outputs), x
    for n in (2, 7, 40, 150):
        x = np.linspace(0.2, 0.9, n)
        for depth in (4, 40):
            for outputs in (1, n):
                yield partial(pieces, depth=depth, outputs=outputs), x
    for n in (1, 3, 10):
        x = np.linspace(0.2, 0.9, n)
        for size in (100, 10_000):
            for outputs in (1, 50):
                yield partial(spread, depth=8, size=size, outputs=outputs), x


def fit(want: str, rounds: int = 5) -> dict[str, dict[str, float]]:
    """The cost of each feature, in units of a recorded operation on an array."""
    from scipy.optimize import least_squares, nnls  # not needed to run the model

    template = features(structure_of(abs, 1.0), want)
    names = {mode: list(row) for mode, row in template.items()}
    rows: dict[str, list[list[float]]] = {mode: [] for mode in names}
    derivative = hessian if want == "hessian" else jacobian
    for f, x in instances():
        s = structure_of(f, x)
        if want == "hessian" and (s.outputs > 1 or s.inputs**2 * s.entries > 1e7):
            continue
        ways = {mode: partial(derivative(f, mode=mode), x) for mode in rows}
        measured = times(ways, "reverse", seconds=0.15, rounds=rounds)
        for mode, counted in features(s, want).items():
            # Relative errors count, so each row is divided by its time.
            seconds = measured[mode].seconds.lower  # what else runs only adds
            rows[mode].append([value / seconds for value in counted.values()])
    costs: dict[str, dict[str, float]] = {}
    for mode, matrix in rows.items():
        a = np.array(matrix)
        scale = np.max(a, axis=0)
        start, _ = nnls(a / scale, np.ones(len(a)))
        # Twice too much is as bad as half: logarithms are fitted, of costs that are positive.
        residual = partial(_log_ratio, a / scale)
        solution = np.exp(least_squares(residual, np.log(start + 1e-3), loss="soft_l1").x) / scale
        costs[mode] = dict(zip(names[mode], solution.tolist(), strict=True))
        quartiles = np.quantile(a @ solution, [0.25, 0.5, 0.75]).round(2).tolist()
        print(f"# {mode}: predicted / measured has quartiles {quartiles}")
    return costs


def _log_ratio(a: Any, logarithms: Any) -> Any:
    return np.log(a @ np.exp(logarithms))


if __name__ == "__main__":
    unit = 0.0
    for want in ("jacobian", "hessian"):
        costs = fit(want)
        unit = unit or costs["reverse"]["array, one output"]
        print(f'    "{want}": {{')
        for mode, costs_of_mode in costs.items():
            print(f'        "{mode}": {{')
            for name, cost in costs_of_mode.items():
                print(f'            "{name}": {cost / unit:.3g},')
            print("        },")
        print("    },")
