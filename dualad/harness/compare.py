"""Forward against reverse on one function: what each contestant costs, side by side.

All contestants compute the same derivative of the same function at the same point, so they
are checked against each other before they are compared: the column ``error`` is how far a
contestant is from reverse mode (from forward over reverse, for second derivatives), relative
to the largest entry.  Then ``measure`` says what each costs.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dualad.compiler import compile as compile_function
from dualad.harness import tables
from dualad.harness.measure import Contestant, Measurement, held_bytes, measure
from dualad.harness.operations import operations
from dualad.program import Count, trace
from dualad.rules.lifting import lift
from dualad.tape import Variable, schedule
from dualad.transforms import grad, hessian, jacobian, vjp
from dualad.tree import flatten

Function = Callable[..., Any]

#: the steps of the references: the best for differences, and one that no digit is lost to
STEP = {1: float(np.finfo(float).eps) ** (1 / 2), 2: float(np.finfo(float).eps) ** (1 / 4)}
COMPLEX_STEP = 1e-150
#: operations of f, times its calls, that are traced in order to count them and what they hold
LONGEST = 5000


@dataclass(frozen=True)
class Record:
    """What a tape holds when its sweep starts: nodes, and bytes of traced memory."""

    nodes: int
    held_bytes: int


@dataclass(frozen=True)
class Comparison:
    """What each way to the same derivative costs, and which to use.

    >>> comparison = compare(lambda x: np.sum(x * x), np.arange(3.0), seconds=0.01)
    >>> comparison.inputs, comparison.outputs, comparison.want
    (3, 1, 'gradient')
    >>> "reverse" in comparison.table()
    True
    """

    name: str
    n: int | None
    """The size of a problem that has one."""
    want: str
    """The gradient, the Jacobian or the Hessian."""
    inputs: int
    outputs: int
    measurement: Measurement
    errors: dict[str, float]
    """How far each contestant is from the reference, relative to its largest entry."""
    records: dict[str, Record] = field(default_factory=dict)
    """What the tape of each contestant that has one holds when the sweep starts."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Operations by class and peak bytes by liveness, where a program is not too long."""

    @property
    def advice(self) -> str:
        """Which contestant to use, in one sentence."""
        exact = {
            name: cost
            for name, cost in self.measurement.contestants.items()
            if name not in REFERENCES
        }
        if not exact:
            return "No contestant could differentiate this function."
        order = sorted(exact, key=lambda name: exact[name].timing.ratio.median)
        best = exact[order[0]].timing.ratio
        shape = f"{_plural(self.inputs, 'input')} and {_plural(self.outputs, 'output')}"
        said = (
            f"With {shape}, {order[0]!r} is the quickest way to the {self.want}, at "
            f"{best.median:.3g} times the function"
        )
        if len(order) == 1:
            return said + "."
        second = exact[order[1]].timing.ratio
        if second.lower <= best.upper:
            return f"{said}; {order[1]!r} is not distinguishable from it here."
        return f"{said}; {order[1]!r} takes {second.median / best.median:.3g} times as long."

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows of the table, as text."""
        m = self.measurement
        header = ["contestant", "time / f", "quartiles", "time", "calls of f", "peak memory"]
        header += ["tape nodes", "tape holds", "flops", "error"]
        rows = []
        for name, cost in {"f": m.function, **m.contestants}.items():
            ratio, record = cost.timing.ratio, self.records.get(name)
            rows.append([
                name, f"{ratio.median:.3g}", f"{ratio.lower:.3g} to {ratio.upper:.3g}",
                tables.duration(cost.timing.seconds.median), str(cost.evaluations),
                tables.memory(cost.peak_bytes), str(record.nodes) if record else "",
                tables.memory(record.held_bytes) if record else "",
                str(self.counts[name]["flops"]) if name in self.counts else "",
                f"{self.errors[name]:.0e}".replace("0e+00", "0") if name in self.errors else "",
            ])  # fmt: skip
        return header, rows

    def table(self) -> str:
        """The costs as a table for the terminal, with the advice below."""
        lines = [f"{self._title()}", "", tables.table(*self.rows()), ""]
        reasons: dict[str, list[str]] = {}
        for name, why in self.measurement.failures.items():
            reasons.setdefault(why, []).append(name)
        lines += [f"Not compared: {'; '.join(names)}: {why}" for why, names in reasons.items()]
        return "\n".join([*lines, self._note(), self.advice])

    def _title(self) -> str:
        size = "" if self.n is None else f", n = {self.n}"
        shape = f"{_plural(self.outputs, 'output')} with respect to {_plural(self.inputs, 'input')}"
        return f"{self.name}{size}: the {self.want} of {shape}"

    def _note(self) -> str:
        timing = self.measurement.function.timing
        short = " (interrupted)" if self.measurement.interrupted else ""
        return f"Times are medians of {_plural(timing.rounds, 'round')}{short}, taken in turns."

    def _repr_html_(self) -> str:
        notes = "<br>".join(tables.escape(line) for line in (self._note(), self.advice))
        caption = f"<p>{tables.escape(self._title())}</p>"
        return f"{caption}{tables.html_table(*self.rows())}<p>{notes}</p>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw time and memory as bars, with quartiles, into a file if a path is given.

        The answer is Matplotlib's figure.
        """
        # Matplotlib takes half a second to load, and a table does not need it.
        from dualad.harness import report

        return report.comparison(self, path)

    def to_json(self) -> str:
        """All of it as text that ``from_json`` reads."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """What ``to_json`` wrote."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """The comparison whose ``dataclasses.asdict`` is ``data``."""
        return cls(**{
            **data,
            "measurement": Measurement.from_dict(data["measurement"]),
            "records": {name: Record(**record) for name, record in data["records"].items()},
        })  # fmt: skip


def compare(
    f: Function,
    *args: Any,
    want: str | None = None,
    chunks: Sequence[int] = (),
    compiled: bool = False,
    contestants: Mapping[str, Contestant] | None = None,
    name: str | None = None,
    n: int | None = None,
    seconds: float = 1.0,
    rounds: int = 7,
    patience: float = 60.0,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Compare the ways to differentiate f at the arguments, in all of them.

    ``want`` is ``"gradient"``, ``"jacobian"`` or ``"hessian"``: if not given, the first if f
    gives one number and else the second.  ``chunks`` are numbers of directions to push
    forward at once, beside one and all; ``compiled`` adds compiled derivatives; ``contestants``
    are ways of your own, each a function from f to the derivative.  ``name`` and ``n`` are
    what the tables call f and its size.  ``seconds``, ``rounds``, ``patience`` and
    ``progress`` are those of ``dualad.harness.measure``; a contestant whose calls of f alone
    would last longer than ``patience`` is not tried.

    >>> comparison = compare(np.sin, 1.0, seconds=0.01)
    >>> comparison.measurement.contestants["forward"].evaluations
    1
    """
    point = [np.asarray(leaf) for leaf in flatten(args)[0]]
    inputs = sum(a.size for a in point)
    values = [np.asarray(y) for y in flatten(f(*args))[0]]
    outputs = sum(y.size for y in values)
    scalar = len(values) == 1 and values[0].ndim == 0
    if want is None:
        want = "gradient" if scalar else "jacobian"
    if want not in ("gradient", "jacobian", "hessian"):
        raise ValueError(f"compare: want is 'gradient', 'jacobian' or 'hessian', not {want!r}")
    if want != "jacobian" and not scalar:
        raise ValueError(f"compare: the {want} is of a function that gives one number")
    if not inputs:
        raise ValueError("compare: f has no inputs")

    every = tuple(range(len(args)))
    ways = second_order(every) if want == "hessian" else first_order(every, inputs, chunks)
    if compiled:
        chosen = [way for way in COMPILED if way in ways]
        ways |= {f"{way}, compiled": partial(_compiled, ways[way]) for way in chosen}
    ways |= contestants or {}
    start = time.perf_counter()
    f(*args)
    once = time.perf_counter() - start
    calls = _calls(inputs, want)
    slow = {way: calls[way] * once for way in calls if calls[way] * once > patience}
    measured = measure(
        f, args, {way: ways[way] for way in ways if way not in slow},
        seconds=seconds, rounds=rounds, patience=patience, progress=progress,
    )  # fmt: skip
    for way, predicted in slow.items():
        measured.failures[way] = (
            f"left out: its {calls[way]} calls of f alone would last {tables.duration(predicted)}"
        )
    records = {}
    if want != "hessian" and "reverse" in measured.contestants:
        records["reverse"] = record_of(f, *args)
    result = Comparison(
        n=n,
        name=name or str(getattr(f, "__name__", type(f).__name__)),
        want=want,
        inputs=inputs,
        outputs=outputs,
        measurement=measured,
        errors=_errors({way: ways[way](f) for way in measured.contestants}, args),
        records=records,
    )
    derivatives = {way: ways[way](f) for way in measured.contestants}
    return dataclasses.replace(result, counts=_counts(f, args, derivatives, result))


def _counts(
    f: Function, args: Sequence[Any], derivatives: dict[str, Function], comparison: Comparison
) -> dict[str, dict[str, int]]:
    """The operations of f and of each way to its first derivative, and their live memory.

    Those whose program would be long are left out, and an f that cannot be traced.
    """
    record = comparison.records.get("reverse")
    if record is None or record.nodes > LONGEST:
        return {}
    try:
        counted = operations(f, *args)
        found = {"f": _classes(counted.function) | _live(f, args)}
    except Exception:  # f does what a program cannot hold: there is nothing to count
        return {}
    for name, derivative in derivatives.items():
        if name == "reverse":
            found[name] = _classes(counted.reverse(comparison.outputs))
        elif name.startswith("forward") and not name.endswith("compiled"):
            passes = comparison.measurement.contestants[name].evaluations
            found[name] = _classes(counted.forward(comparison.inputs, passes))
            if passes * record.nodes > LONGEST:
                continue
        else:
            continue
        with suppress(Exception):
            found[name] |= _live(derivative, args)
    return found


def _classes(count: Count) -> dict[str, int]:
    return {**dataclasses.asdict(count), "flops": count.flops}


def _live(function: Function, args: Sequence[Any]) -> dict[str, int]:
    return {"peak_bytes": trace(function)(*args).peak_bytes()}


def _errors(derivatives: dict[str, Function], args: Sequence[Any]) -> dict[str, float]:
    answers = {name: _flat(derivative(*args)) for name, derivative in derivatives.items()}
    reference = next((answers[name] for name in JUDGES if name in answers), None)
    if reference is None:
        return {}
    largest = float(np.max(np.abs(reference), initial=0)) or 1.0
    return {
        name: float(np.max(np.abs(answer - reference), initial=0)) / largest
        if answer.shape == reference.shape
        else math.inf
        for name, answer in answers.items()
    }


def _flat(answer: Any) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in flatten(answer)[0]])


def record_of(f: Function, *args: Any) -> Record:
    """What the tape of f holds when the sweep starts.

    >>> record_of(lambda x: np.sin(x) * x, 2.0).nodes
    3
    """
    leaves, rebuild = flatten(args)
    # A list of numbers in an object array is one output.
    results = [lift(y) for y in flatten(f(*rebuild(list(map(Variable, leaves)))))[0]]
    heads = [y.node for y in results if isinstance(y, Variable) and y.node is not None]
    return Record(len(schedule(heads)), held_bytes(partial(vjp, f, *args)))


def _plural(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# --------------------------------------------------------------------- the contestants

#: whose answer the others are held against
JUDGES = ("reverse", "forward over reverse")
#: what is compared with, but not recommended
REFERENCES = ("differences", "complex step")


def first_order(
    argnums: tuple[int, ...], inputs: int, chunks: Sequence[int] = ()
) -> dict[str, Contestant]:
    """The ways to the gradient or Jacobian in these arguments, by name."""
    forward = partial(jacobian, argnums=argnums, mode="forward")
    some = [k for k in sorted(set(chunks)) if 1 < k < inputs]
    return {
        "forward, one at a time": partial(forward, chunk=1),
        **{f"forward, {k} at once": partial(forward, chunk=k) for k in some},
        "forward": forward,
        "reverse": partial(jacobian, argnums=argnums, mode="reverse"),
        "differences": differences,
        "complex step": complex_step,
    }


def second_order(argnums: tuple[int, ...]) -> dict[str, Contestant]:
    """The ways to the Hessian in these arguments, by name."""
    hessian_of = partial(hessian, argnums=argnums)

    def dual_of_dual(f: Function) -> Function:
        return jacobian(grad(f, argnums, mode="forward"), argnums, mode="forward")

    return {
        "hyperdual": partial(hessian_of, mode="hyperdual"),
        "dual of dual": dual_of_dual,
        "forward over reverse": partial(hessian_of, mode="forward"),
        "reverse over reverse": partial(hessian_of, mode="reverse"),
        "differences": second_differences,
    }


def _calls(inputs: int, want: str) -> dict[str, int]:
    """How often f is called by those that call it often."""
    if want == "hessian":
        return {"differences": (inputs + 1) * (inputs + 2) // 2}
    names = ("forward, one at a time", "complex step", "differences")
    return {name: inputs + (name == "differences") for name in names}


#: the ways that are compiled where asked for
COMPILED = ("forward", "reverse", "hyperdual", "forward over reverse")


def _compiled(way: Contestant, f: Function) -> Function:
    function: Function = compile_function(way(f))
    return function


class _Along:
    """f and a point, as a function of the step along each of the inputs."""

    def __init__(self, f: Function, args: tuple[Any, ...], dtype: type) -> None:
        leaves, self.rebuild = flatten(args)
        self.f = f
        self.leaves: list[Any] = [np.asarray(leaf, dtype) for leaf in leaves]
        self.size = sum(leaf.size for leaf in self.leaves)

    def __call__(self, *moves: tuple[int, Any]) -> Any:
        """The outputs with each input i moved by the step h, for (i, h) among the moves."""
        moved = [leaf.copy() for leaf in self.leaves]
        for i, h in moves:
            for leaf in moved:
                if i < leaf.size:
                    leaf.flat[i] += h
                    break
                i -= leaf.size
        return _flat(self.f(*self.rebuild([a if a.ndim else a[()] for a in moved])))

    def step(self, i: int, order: int) -> float:
        """A step that is exact in floating point, of the size of the input."""
        x = float(np.concatenate([leaf.ravel() for leaf in self.leaves])[i])
        moved: float = x + STEP[order] * max(abs(x), 1.0)
        return moved - x


def differences(f: Function) -> Function:
    """Forward differences: n + 1 calls of f, half of the digits."""

    def derivative(*args: Any) -> Any:
        along = _Along(f, args, float)
        y = along()
        steps = [along.step(i, 1) for i in range(along.size)]
        return np.array([(along((i, h)) - y) / h for i, h in enumerate(steps)]).T

    return derivative


def complex_step(f: Function) -> Function:
    """The imaginary part at x + ih, over h: exact, if f is analytic and takes complex x."""

    def derivative(*args: Any) -> Any:
        along = _Along(f, args, complex)
        columns = [np.imag(along((i, 1j * COMPLEX_STEP))) for i in range(along.size)]
        return np.array(columns).T / COMPLEX_STEP

    return derivative


def second_differences(f: Function) -> Function:
    """Differences of differences: (n + 1)(n + 2) / 2 calls of f, a quarter of the digits."""

    def derivative(*args: Any) -> Any:
        along = _Along(f, args, float)
        n = along.size
        h = [along.step(i, 2) for i in range(n)]
        y, once = along(), [along((i, h[i])) for i in range(n)]
        answer = np.empty((n, n))
        for i in range(n):
            for j in range(i + 1):
                both = along((i, h[i]), (j, h[j]))
                answer[i, j] = answer[j, i] = (both - once[i] - once[j] + y)[0] / (h[i] * h[j])
        return answer

    return derivative
