"""Which mode: predicted from the number of inputs and outputs and from what a tape shows.

The model counts.  A pass forward calls each operation once however many directions it
carries, and works on every entry once a direction; a sweep back does the same once an
output, after a recording that costs about as much as a pass.  So a mode costs

    calls * (cost of a call)  +  entries * directions * (cost of an entry)

with calls of operations on numbers, and on arrays, counted apart.  The costs, in units of a
recorded operation on an array, were fitted on functions made for it: see
``dualad/harness/calibrate.py``, which prints them anew.  They are properties of this
library more than of a machine, since only their ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dualad.primitive import shape_of
from dualad.rules.lifting import lift
from dualad.tape import Node, Variable, schedule
from dualad.tree import flatten

#: Directions times inputs that go through at once: transforms cut there.  Two megabytes stay in
#: a cache; wider chunks were slower (experiment 4), and narrower ones call more often.
WIDEST = 2**18


def pair_width(inputs: int) -> int:
    """How many directions a hyper-dual number carries twice at once.

    Its mixed part has an entry for each pair of them, so the width is a square root: then the
    symmetric half is left out early, and what is carried stays in a cache.

    >>> pair_width(32), pair_width(128)
    (64, 32)
    """
    return max(1, math.isqrt(WIDEST // 2 // max(inputs, 1)))


@dataclass(frozen=True)
class Structure:
    """What the cost of a derivative depends on."""

    inputs: int
    outputs: int
    numbers: int
    """Operations whose result is a number."""
    arrays: int
    """Operations whose result is an array."""
    entries: int
    """Entries of all those arrays together."""
    pulls: int = 0
    """Steps back that call a function (of linear operations) instead of multiplying."""

    @classmethod
    def of(cls, inputs: int, outputs: int, order: Sequence[Node]) -> Structure:
        """The structure of a record, given by its nodes."""
        sizes = [math.prod(node.shape) for node in order if node.shape]
        numbers = sum(1 for node in order if not node.shape)
        pulls = sum(pull is not None for node in order for _, _, pull in node.edges or ())
        return cls(inputs, outputs, numbers, len(sizes), sum(sizes), pulls)


def features(s: Structure, want: str = "jacobian") -> dict[str, dict[str, float]]:
    """What is counted, for each mode: the predicted cost is linear in it.

    >>> square = structure_of(lambda x: x * x, 3.0)
    >>> features(square)["forward"]["number, one direction"]
    2
    """
    return _second_order(s) if want == "hessian" else _first_order(s)


def _first_order(s: Structure) -> dict[str, dict[str, float]]:
    width = max(1, WIDEST // max(s.inputs, 1))
    passes = -(-s.inputs // width)
    sweeps = -(-s.outputs // width)
    one_in, one_out = s.inputs == 1, s.outputs == 1
    return {
        "forward": {
            "call": passes,
            "number, one direction": s.numbers if one_in else 0,
            "number": 0 if one_in else passes * s.numbers,
            "number, a direction": 0 if one_in else s.inputs * s.numbers,
            "array": passes * s.arrays,
            "entry": s.inputs * s.entries,
        },
        "reverse": {
            "call": 1,
            "pull": (1 if one_out else sweeps) * s.pulls,
            "number, one output": s.numbers if one_out else 0,
            "array, one output": s.arrays if one_out else 0,
            "entry, one output": s.entries if one_out else 0,
            "number": 0 if one_out else s.numbers,
            "number, a sweep": 0 if one_out else sweeps * s.numbers,
            "number, an output": 0 if one_out else s.outputs * s.numbers,
            "array": 0 if one_out else s.arrays,
            "array, a sweep": 0 if one_out else sweeps * s.arrays,
            "entry, an output": 0 if one_out else s.outputs * s.entries,
        },
    }


def _second_order(s: Structure) -> dict[str, dict[str, float]]:
    n = s.inputs
    calls = -(-n // pair_width(n))
    passes = -(-n // max(1, WIDEST // max(n, 1)))
    pairs = calls * (calls + 1) // 2
    rows: dict[str, float] = {
        "call": passes,
        "number": passes * s.numbers,
        "array": passes * s.arrays,
        "number, an input": n * s.numbers,
        "entry, an input": n * s.entries,
    }
    return {
        "hyperdual": {
            "call": pairs,
            "number": pairs * s.numbers,
            "array": pairs * s.arrays,
            "number, two inputs": n * n * s.numbers,
            "entry, two inputs": n * n * s.entries,
        },
        "forward": rows,
        "reverse": dict(rows),
    }


#: what a unit of each feature costs; printed by ``python -m dualad.harness.calibrate``
COSTS: dict[str, dict[str, dict[str, float]]] = {
    "jacobian": {
        "forward": {
            "call": 4.24,
            "number, one direction": 0.326,
            "number": 3.78,
            "number, a direction": 0.0183,
            "array": 3.28,
            "entry": 0.00224,
        },
        "reverse": {
            "call": 16.9,
            "pull": 5.49,
            "number, one output": 0.888,
            "array, one output": 1,
            "entry, one output": 0.00682,
            "number": 2.38,
            "number, a sweep": 0.0112,
            "number, an output": 0.114,
            "array": 2.66,
            "array, a sweep": 1.36e-08,
            "entry, an output": 0.00187,
        },
    },
    "hessian": {
        "hyperdual": {
            "call": 3.85e-13,
            "number": 5.81,
            "array": 5.5,
            "number, two inputs": 0.00768,
            "entry, two inputs": 0.00117,
        },
        "forward": {
            "call": 3.1e-16,
            "number": 10.7,
            "array": 6.32,
            "number, an input": 0.062,
            "entry, an input": 0.00441,
        },
        "reverse": {
            "call": 1.6e-12,
            "number": 10.4,
            "array": 6.43,
            "number, an input": 0.131,
            "entry, an input": 0.00506,
        },
    },
}


def predict(s: Structure, want: str = "jacobian") -> dict[str, float]:
    """The predicted cost of each mode, in operations on an array that a tape records."""
    counted, costs = features(s, want), COSTS[_table(want)]
    return {
        mode: sum(costs[mode][name] * number for name, number in values.items())
        for mode, values in counted.items()
    }


def _table(want: str) -> str:
    return "hessian" if want == "hessian" else "jacobian"


def choose(s: Structure, want: str = "jacobian") -> str:
    """The mode with the least predicted cost."""
    predicted = predict(s, want)
    return min(predicted, key=lambda mode: predicted[mode])


@dataclass(frozen=True)
class Recommendation:
    """A mode, what each mode is predicted to cost, and why."""

    mode: str
    costs: dict[str, float]
    """In units of one operation on an array that a tape records."""
    why: str
    structure: Structure

    def __str__(self) -> str:
        return f"{self.mode}: {self.why}"


def recommend(f: Callable[..., Any], *args: Any, want: str = "jacobian") -> Recommendation:
    """Which mode to use for the derivative of f in all its arguments, and why.

    ``want`` is ``"gradient"``, ``"jacobian"`` or ``"hessian"``.  f is run once, on a tape.

    >>> import numpy as np
    >>> recommend(lambda x: np.sum(np.sin(x)), np.ones(1000), want="gradient").mode
    'reverse'
    >>> recommend(lambda x: np.sin(x * np.arange(1000.0)), 1.0).mode
    'forward'
    """
    if want not in ("gradient", "jacobian", "hessian"):
        raise ValueError(f"recommend: want is 'gradient', 'jacobian' or 'hessian', not {want!r}")
    s = structure_of(f, *args)
    if want != "jacobian" and s.outputs != 1:
        raise ValueError(
            f"recommend: the {want} is of a function that gives one number, not {s.outputs}"
        )
    costs = predict(s, want)
    mode, other = sorted(costs, key=lambda name: costs[name])[:2]
    shape = f"{_plural(s.inputs, 'input')} and {_plural(s.outputs, 'output')}"
    operations = _plural(s.numbers + s.arrays, "operation")
    # The factor tells more than the sum where it is close: then there is little to choose.
    factor = costs[other] / costs[mode]
    longer = f"{factor:.2g} times as long" if factor > 1.05 else "about as long"
    why = (
        f"{shape} in {operations}: {_does(mode, s, want)}, and {other} is predicted to take "
        f"{longer}"
    )
    return Recommendation(mode, costs, why, s)


def _does(mode: str, s: Structure, want: str) -> str:
    if want == "hessian":
        return {
            "hyperdual": "hyper-dual numbers need no tape",
            "forward": f"{_plural(s.inputs, 'tangent')} through one gradient give all rows",
            "reverse": f"{_plural(s.inputs, 'cotangent')} through one gradient give all rows",
        }[mode]
    if mode == "forward":
        return f"forward carries {_plural(s.inputs, 'tangent')} past each operation"
    return f"reverse records each operation and carries {_plural(s.outputs, 'cotangent')} back"


def _plural(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def structure_of(f: Callable[..., Any], *args: Any) -> Structure:
    """The structure of f at the arguments, by recording it once."""
    leaves, rebuild = flatten(args)
    variables = [Variable(leaf) for leaf in leaves]
    # A list of numbers in an object array is one output.
    results = [lift(y) for y in flatten(f(*rebuild(list(variables))))[0]]
    heads = [y.node for y in results if isinstance(y, Variable) and y.node is not None]
    inputs = sum(math.prod(x.shape) for x in variables)
    outputs = sum(math.prod(shape_of(y)) for y in results)
    return Structure.of(inputs, outputs, schedule(heads))
