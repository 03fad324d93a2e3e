"""The problems that tests, benchmarks and experiments share, in one list.

``PROBLEMS[name].make(n)`` gives a function of one argument, a number or an array, and the
point to take it at: the same at every call.  Where a source publishes derivatives, they
stand in the problem's row; ADBench's come with data files (``dualad.harness.adbench``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dualad.harness import functions
from dualad.harness.adbench import bundle, gmm, lstm
from dualad.harness.functions import Array, Function, Gradient


@dataclass(frozen=True)
class Published:
    """What a source says a derivative of a problem's function is at a point."""

    order: int
    """0 for the value, 1 for the gradient, 2 for the second derivative."""
    point: Any
    expected: Any
    tolerance: float
    """The largest relative error that the source allows, or that its digits do."""
    source: str


@dataclass(frozen=True, eq=False)
class Problem:
    """A function to differentiate, at any size.

    >>> rosenbrock = PROBLEMS["rosenbrock"]
    >>> f, args = rosenbrock.make(3)
    >>> f(np.array([1.0, 1.0, 2.0]))
    np.float64(100.0)
    >>> rosenbrock.inputs(3), rosenbrock.outputs(3)
    (3, 1)
    """

    name: str
    about: str
    counts: str
    """What n is the number of."""
    build: Callable[[int], tuple[Function, Array]]
    sizes: tuple[int, ...]
    """Values of n to try, smallest first."""
    source: str
    published: tuple[Published, ...] = ()
    smallest: int = 1

    def make(self, n: int) -> tuple[Function, tuple[Array]]:
        """The function of size n, and its arguments: ``f(*args)`` is the value."""
        if n < self.smallest:
            raise ValueError(
                f"{self.name} has a size n (its number of {self.counts}) of at least "
                f"{self.smallest}, not {n}"
            )
        f, x = self.build(n)
        return f, (x,)

    def inputs(self, n: int) -> int:
        """The number of inputs at size n."""
        return int(np.size(self.make(n)[1][0]))

    def outputs(self, n: int) -> int:
        """The number of outputs at size n."""
        f, args = self.make(n)
        return int(np.size(f(*args)))


@dataclass(frozen=True)
class NestedProblem:
    """A problem that takes gradients of gradients: ``solve(outer, inner)`` is its answer.

    ``outer`` and ``inner`` turn a function into its gradient; all four pairings of forward
    and reverse must give what is published.
    """

    name: str
    about: str
    solve: Callable[[Gradient, Gradient], Array]
    published: float
    source: str


def _draw(n: int) -> np.random.Generator:
    """A generator that gives the same numbers for the same n, always."""
    return np.random.default_rng([n, 2020])


# ------------------------------------------------------------------- data and points


def _helmholtz_data(n: int) -> tuple[Array, Array, Array]:
    """A, b and x as the benchmark of the survey has them: uniform on [0, 0.1)."""
    draw = _draw(n)
    return draw.uniform(0, 0.1, (n, n)), draw.uniform(0, 0.1, n), draw.uniform(0, 0.1, n)


def _helmholtz(n: int) -> tuple[Function, Array]:
    a, b, x = _helmholtz_data(n)
    return partial(functions.helmholtz, a=a, b=b), x


def _helmholtz_scalar(n: int) -> tuple[Function, Array]:
    a, b, x = _helmholtz_data(n)
    return partial(functions.helmholtz_scalar, a=a.tolist(), b=b.tolist()), x


def _helmholtz_adolc(n: int) -> tuple[Function, Array]:
    i = np.arange(n)
    hilbert = 1.0 / (1 + i + i[:, None])
    # Half a sum over j <= i, the diagonal twice.
    a = np.diag(np.diag(hilbert)) + np.tril(hilbert, -1) / 2
    b = 0.02 * (1 + np.abs(np.sin(i)))
    return partial(functions.helmholtz_adolc, a=a, b=b), np.sqrt(1 + i) / n


def _layers(inputs: int, outputs: int, width: int = 32) -> tuple[Function, Array]:
    draw = _draw(inputs)
    inner = draw.normal(size=(width, inputs)) / math.sqrt(inputs)
    outer = draw.normal(size=(outputs, width)) / math.sqrt(width)
    return partial(functions.layers, inner=inner, outer=outer), draw.normal(size=inputs)


def _network(n: int, width: int = 16, batch: int = 64) -> tuple[Function, Array]:
    draw = _draw(n)
    features = draw.normal(size=(batch, n))
    targets = np.sin(features.sum(axis=1))
    f = partial(functions.network, features=features, targets=targets, width=width)
    return f, draw.normal(size=n * width + 2 * width + 1) / math.sqrt(n)


def _gmm(n: int, d: int = 2, points: int = 1000) -> tuple[Function, Array]:
    draw = _draw(n)
    theta = np.concatenate(
        [draw.normal(size=n), draw.uniform(size=n * d), draw.normal(size=n * d * (d + 1) // 2)]
    )
    x = draw.normal(size=(points, d))
    return partial(gmm, x=x, components=n, gamma=1.0, m=0), theta


def _bundle(n: int) -> tuple[Function, Array]:
    draw = _draw(n)
    p = np.concatenate(
        [
            draw.normal(0, 0.3, (n, 3)),
            draw.normal([0, 0, -5], 0.3, (n, 3)),
            draw.uniform(150, 250, (n, 1)),
            draw.normal(0, 5, (n, 2)),
            draw.normal(0, 0.05, (n, 2)),
            draw.normal(0, 0.5, (n, 3)),
            draw.uniform(0.2, 1, (n, 1)),
        ],
        axis=1,
    )
    return partial(bundle, feature=draw.normal(0, 20, (n, 2))), p


def _lstm(n: int, depth: int = 2, width: int = 14) -> tuple[Function, Array]:
    draw = _draw(n)
    theta = draw.uniform(size=8 * depth * width + 3 * width)
    sequence = np.eye(width)[draw.integers(width, size=n)]
    return partial(lstm, state=draw.uniform(size=(2 * depth, width)), sequence=sequence), theta


# --------------------------------------------------------------------- the list

_EPS = float(np.finfo(float).eps)
_FIKE = "Fike and Alonso 2011; more digits from the closed forms"
_CPP = "ForwardDiff.jl, benchmarks/cpp/benchmarks.cpp"
_SURVEY = "Baydin, Pearlmutter, Radul, Siskind 2018, and DiffSharp's benchmark script"
_ADBENCH = "ADBench; Srajer, Kukelova, Fitzgibbon 2018"

_LIST = [
    Problem(
        name="helmholtz",
        about="Helmholtz energy of a mixed fluid, coded with arrays",
        counts="inputs",
        build=_helmholtz,
        sizes=(1, 8, 15, 22, 29, 36, 43, 50),
        source=_SURVEY,
    ),
    Problem(
        name="helmholtz-scalar",
        about="Helmholtz energy of a mixed fluid, coded entry by entry",
        counts="inputs",
        build=_helmholtz_scalar,
        sizes=(1, 8, 15, 22, 29, 36, 43, 50),
        source=_SURVEY,
    ),
    Problem(
        name="helmholtz-adolc",
        about="Helmholtz energy with a Hilbert matrix and no random data",
        counts="inputs",
        build=_helmholtz_adolc,
        sizes=(1, 10, 100, 1000),
        source="ADOL-C, examples/additional_examples/timing/sfunc_helmholtz.cpp",
    ),
    Problem(
        name="ackley",
        about="Ackley's test function",
        counts="inputs",
        build=lambda n: (functions.ackley, _draw(n).uniform(size=n)),
        sizes=(16, 1600, 16000),
        source="Revels, Lubin, Papamarkou 2016",
    ),
    Problem(
        name="rosenbrock",
        about="Rosenbrock's valley",
        counts="inputs",
        build=lambda n: (functions.rosenbrock, _draw(n).uniform(size=n)),
        sizes=(16, 1600, 16000),
        source="Revels, Lubin, Papamarkou 2016",
        published=(
            Published(
                1,
                np.arange(12.0),
                (-2, -200, 1002, 5804, 16606, 35808, 65810, 109012, 167814, 244616, 341818, -17800),
                0.0,
                _CPP,
            ),
        ),
    ),
    Problem(
        name="logit",
        about="A logistic function of x weighted by itself",
        counts="inputs",
        # Uniform on [0, 1) it would be 1 to rounding, and flat, from n = 100 on.
        build=lambda n: (functions.weighted_logit, _draw(n).uniform(size=n) / math.sqrt(n)),
        sizes=(16, 1600, 16000),
        source="Revels, Lubin, Papamarkou 2016",
    ),
    Problem(
        name="speelpenning",
        about="The product of the entries, one after the other",
        counts="inputs",
        build=lambda n: (functions.speelpenning, np.arange(1.0, n + 1) / np.arange(2.0, n + 2)),
        sizes=(10, 100, 1000),
        source="Speelpenning 1980; ADOL-C's timing examples",
    ),
    Problem(
        name="determinant",
        about="A determinant, by minors",
        counts="rows",
        build=lambda n: (functions.determinant, _draw(n).uniform(size=(n, n))),
        sizes=(3, 5, 7),
        source="CppAD, det_by_minor; GradBench, det",
    ),
    Problem(
        name="fike-alonso",
        about="exp x / sqrt(sin³ x + cos³ x), a function of one number whatever n",
        counts="inputs",
        build=lambda n: (functions.fike_alonso, 1.5),
        sizes=(1,),
        source="Fike and Alonso 2011",
        published=(
            Published(0, 1.5, 4.4977800539461619503, 5 * _EPS, _FIKE),
            Published(1, 1.5, 4.0534278938986206577, 5 * _EPS, _FIKE),
            Published(2, 1.5, 9.4630736815966033525, 10 * _EPS, _FIKE),
        ),
    ),
    Problem(
        name="logistic",
        about="Iterates of the logistic map, a function of one number",
        counts="iterates",
        build=lambda n: (partial(functions.logistic, iterates=n), 0.2),
        sizes=(1, 10, 100),
        source=_SURVEY,
    ),
    Problem(
        name="wide",
        about="A tanh layer with many inputs and three outputs",
        counts="inputs",
        build=lambda n: _layers(n, 3),
        sizes=(3, 50, 1000),
        source="dualad",
    ),
    Problem(
        name="tall",
        about="A tanh layer with three inputs and many outputs",
        counts="outputs",
        build=lambda n: _layers(3, n),
        sizes=(3, 50, 1000),
        source="dualad",
    ),
    Problem(
        name="chain",
        about="A chain of sines of a vector of 1000",
        counts="steps",
        build=lambda n: (partial(functions.chain, depth=n), _draw(n).normal(size=1000)),
        sizes=(10, 100, 1000),
        source="HIPS autograd, benchmarks/bench_core.py (f_long), on a vector",
    ),
    Problem(
        name="ode",
        about="A chain of linear differential equations, by ten Runge-Kutta steps",
        counts="inputs",
        build=lambda n: (partial(functions.ode, steps=10), _draw(n).uniform(size=n)),
        sizes=(2, 8, 32),
        source="GradBench, ode, as coded",
    ),
    Problem(
        name="network",
        about="Mean squared error of a small neural network, in its weights",
        counts="features",
        build=_network,
        sizes=(2, 8, 32),
        source="dualad",
    ),
    Problem(
        name="gmm",
        about="Log-likelihood of a Gaussian mixture in the plane, 1000 points",
        counts="components",
        build=_gmm,
        sizes=(5, 10, 25),
        source=_ADBENCH,
    ),
    Problem(
        name="bundle",
        about="Residuals of bundle adjustment, 15 inputs and 3 outputs an observation",
        counts="observations",
        build=_bundle,
        sizes=(1, 10, 50),
        source=_ADBENCH,
    ),
    Problem(
        name="lstm",
        about="Loss of a two-layer LSTM over a sequence, in its 266 weights",
        counts="characters",
        build=_lstm,
        sizes=(4, 16, 64),
        source=_ADBENCH,
        smallest=2,
    ),
]

#: every problem by name
PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _LIST}

_NESTED = "Siskind and Pearlmutter 2008; GradBench"

#: the problems whose function itself takes a derivative, by name
NESTED: dict[str, NestedProblem] = {
    problem.name: problem
    for problem in [
        NestedProblem(
            name="saddle",
            about="A minimum of maxima, both found by gradient descent",
            solve=functions.saddle,
            published=8.246324826140356e-06,
            source=_NESTED,
        ),
        NestedProblem(
            name="particle",
            about="A charge placed by descent through a simulation that differentiates",
            solve=functions.particle,
            published=0.2071918746486116,
            source=_NESTED,
        ),
    ]
}
