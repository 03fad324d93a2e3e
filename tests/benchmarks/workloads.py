"""The workloads that are timed: a function, the derivative asked for, and that one by hand.

The time by hand is the floor: it is what one would write in NumPy or ``math``, knowing the
derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Workload:
    """``make(numpy)`` gives the function over a module that looks like NumPy."""

    name: str
    kind: str  # "derivative", "second", "entries", "grad", "jacobian" or "hessian"
    make: Callable[[Any], Callable[[Any], Any]]
    point: Any
    by_hand: Callable[[Any], Any]


def log_sin(xp):
    return lambda x: xp.log(x**2) * xp.sin(x) + 1 / x


def log_sin_first(x):
    return 2 / x * math.sin(x) + math.log(x * x) * math.cos(x) - 1 / (x * x)


def log_sin_second(x):
    s, c = math.sin(x), math.cos(x)
    return -2 / (x * x) * s + 4 / x * c - math.log(x * x) * s + 2 / (x * x * x)


def log_sin_entries(x):
    return 2 / x * np.sin(x) + np.log(x * x) * np.cos(x) - 1 / (x * x)


def sines(xp):
    def f(x):
        for _ in range(100):
            x = xp.sin(x)
        return x

    return f


def sines_first(x):
    slope = 1.0
    for _ in range(100):
        slope *= math.cos(x)
        x = math.sin(x)
    return slope


def rosenbrock(xp):
    return lambda x: xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_gradient(x):
    d = x[1:] - x[:-1] ** 2
    g = np.zeros_like(x)
    g[1:] = 200 * d
    g[:-1] += -400 * x[:-1] * d - 2 * (1 - x[:-1])
    return g


def rosenbrock_hessian(x):
    diagonal = np.zeros(x.size)
    diagonal[:-1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    diagonal[1:] += 200
    beside = -400 * x[:-1]
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def wave(xp):
    return lambda x: xp.sum(xp.sin(x) * xp.exp(-x * x))


def wave_gradient(x):
    return np.exp(-x * x) * (np.cos(x) - 2 * x * np.sin(x))


def layer(n: int, m: int) -> tuple[Any, Any]:
    """A layer of 32 units, from n numbers to m, and its Jacobian."""
    rng = np.random.default_rng(2)
    inner, outer = rng.normal(size=(32, n)) / math.sqrt(n), rng.normal(size=(m, 32)) / 6

    def make(xp):
        first, second = xp.asarray(inner), xp.asarray(outer)
        return lambda x: xp.matmul(second, xp.tanh(xp.matmul(first, x)))

    def by_hand(x):
        t = np.tanh(inner @ x)
        return (outer * (1 - t * t)) @ inner

    return make, by_hand


def workloads() -> list[Workload]:
    """All workloads."""
    rng = np.random.default_rng(0)
    points = {n: rng.uniform(0.5, 1.5, n) for n in (10, 1000, 1_000_000)}
    out = [
        Workload("log-sin, first", "derivative", log_sin, 2.0, log_sin_first),
        Workload("log-sin, second", "second", log_sin, 2.0, log_sin_second),
        Workload("sin 100 times", "derivative", sines, 1.0, sines_first),
    ]
    for n, x in points.items():
        out.append(Workload(f"log-sin, {n} entries", "entries", log_sin, x, log_sin_entries))
        out.append(
            Workload(f"Rosenbrock gradient, {n}", "grad", rosenbrock, x, rosenbrock_gradient)
        )
        out.append(Workload(f"sin x exp(-x x) gradient, {n}", "grad", wave, x, wave_gradient))
    for n, m in ((3, 1000), (1000, 3), (50, 50)):
        make, by_hand = layer(n, m)
        out.append(
            Workload(
                f"layer Jacobian, {n} to {m}", "jacobian", make, np.linspace(-1, 1, n), by_hand
            )
        )
    for n in (10, 100):
        out.append(
            Workload(
                f"Rosenbrock Hessian, {n}",
                "hessian",
                rosenbrock,
                points[1000][:n],
                rosenbrock_hessian,
            )
        )
    return out
