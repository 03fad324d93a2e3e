"""Checkpointing: reverse mode that computes again what it did not store.

A *stretch* of a computation is run on plain values, and nothing of it is recorded but where
it began.  When the sweep arrives, the stretch is run once more with a record of its own, swept,
and dropped.  Memory is then that of one stretch, at the price of a second evaluation.

For a loop of n steps and s stored states there is a best choice of which states to store and
when to drop them, the binomial schedule (Griewank and Walther, ACM TOMS 26(1), 2000): with
C(s + r, s) >= n, no step is run more than r times before it is recorded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad import rules
from dualad.primitive import (
    Number,
    is_paused,
    lead_of,
    new_level,
    outermost,
    plain,
    reopened,
    shape_of,
    value_of,
)
from dualad.tape import (
    Bundle,
    Leaf,
    Node,
    Slot,
    Variable,
    is_real,
    is_recording,
    keep_args,
    leaf_for,
    mark,
    older_than,
    schedule,
    sweep,
    variable,
)
from dualad.tree import flatten

Function = Callable[..., Any]


class _NotHere(Exception):
    """The stretch uses a number of a higher level, which must see every operation itself."""


# ---------------------------------------------------------------------------- stretches


def _is_inexact(x: Any) -> bool:
    return isinstance(x, (float, Number)) or rules.dtype_of(x).kind in "fc"


def _below(y: Any, level: float, heads: set[Node]) -> Any:
    """An output as its value under the level; its node, if it has one, joins the heads."""
    y = rules.lift(y)
    if isinstance(y, Number) and y.level > level:
        raise _NotHere
    if isinstance(y, Variable) and y.level == level:
        if y.node is not None:
            heads.add(y.node)
        y = y.primal
    return plain(y)


def _private(x: Any) -> Any:
    """A value that f may write to."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _run(f: Function, values: list[Any], level: float) -> tuple[list[Any], Any, set[Node]]:
    """f on values under the level: its outputs, their structure, and the nodes that f captured.

    A closure may hold variables of the level.  What is recorded through them is dropped; only
    the nodes are kept from which it came.
    """
    start = mark()
    heads: set[Node] = set()
    leaves, rebuild = flatten(f(values))
    out = [_below(y, level, heads) for y in leaves]
    return out, rebuild, older_than(heads, start)


class _Stretch:
    """f run with a record of its own, on variables in place of the values."""

    def __init__(self, f: Function, values: list[Any], level: float) -> None:
        self.level = level
        self.start = mark()
        self.leaves = [leaf_for(v) if _is_inexact(v) else None for v in values]
        self.heads: list[tuple[Node | None, Node | None]] = []
        self.values: list[Any] = []
        with new_level() as inner:
            args = [
                v if leaf is None else variable(v, inner, leaf)
                for v, leaf in zip(values, self.leaves, strict=True)
            ]
            leaves, self.rebuild = flatten(f(args))
            for y in leaves:
                y = rules.lift(y)
                node = None
                if isinstance(y, Variable) and y.level == inner:
                    node, y = y.node, y.primal
                captured: set[Node] = set()
                self.values.append(_below(y, level, captured))
                self.heads.append((node, next(iter(captured), None)))

    @property
    def captured(self) -> set[Node]:
        """The nodes that f's closure contributed."""
        return older_than({n for _, n in self.heads if n is not None}, self.start)

    def pull(self, cts: list[Any]) -> tuple[list[Any], dict[Node, Any]]:
        """The cotangents of the values that f was run on, and of the nodes it captured."""
        lead: tuple[int, ...] = ()
        for ct, y in zip(cts, self.values, strict=True):
            if ct is not None:
                lead = lead_of(ct, len(shape_of(y)))
        inner, outer = (self._seeds(cts, side) for side in (0, 1))
        wanted = [leaf for leaf in self.leaves if leaf is not None]
        arrived = sweep(schedule(inner), inner, wanted, lead)
        captured = self.captured
        order = schedule(outer, (self.start, math.inf))
        return (
            [None if leaf is None else self._under(arrived.get(leaf)) for leaf in self.leaves],
            sweep(order, outer, captured, lead),
        )

    def _seeds(self, cts: list[Any], side: int) -> dict[Node, Any]:
        seeds: dict[Node, Any] = {}
        for heads, ct in zip(self.heads, cts, strict=True):
            head = heads[side]
            if head is not None and ct is not None:
                seeds[head] = seeds[head] + ct if head in seeds else ct
        return seeds

    def _under(self, ct: Any) -> Any:
        """A cotangent as a value: captured variables have made it one of the level."""
        return ct.primal if isinstance(ct, Variable) and ct.level == self.level else ct


def _gist(values: list[Any]) -> list[tuple[complex, float]]:
    """The sum and the size of each value: enough to see that f gave something else this time."""
    out = []
    with np.errstate(all="ignore"):
        for v in values:
            v = value_of(v)
            if not isinstance(v, Number) and _is_inexact(v):  # a tracer runs f but this once
                flat = np.ravel(v)
                size = math.sqrt(flat.size * float(np.vdot(flat, flat).real))
                out.append((complex(np.add.reduce(flat)), size))
    return out


def _check_same(values: list[Any], before: list[tuple[complex, float]]) -> None:
    for (total, _), (old, size) in zip(_gist(values), before, strict=True):
        if not np.isclose(total, old, rtol=0, atol=1e-8 * size, equal_nan=True) and size < math.inf:
            raise RuntimeError(
                "checkpoint: f gave another value when it was run again for the sweep; it must "
                "not depend on arrays that are changed, or on random numbers drawn inside"
            )


def _split(level: float, leaves: list[Any]) -> tuple[list[Any], list[Node | None], list[Any]]:
    """Values under the level, nodes of those that gradients flow to, and fingerprints."""
    nodes: list[Node | None] = []
    primals = []
    for a in leaves:
        node = None
        if isinstance(a, Variable) and a.level == level:
            node = a.node
            if isinstance(node, Leaf) and node.attached and not is_recording():
                node = None
            primals.append(a.primal)
        else:
            primals.append(a)
        nodes.append(node)
    prints: list[Any] = []
    return keep_args(level, tuple(leaves), primals, prints), nodes, prints


def _outputs_of(
    values: list[Any], parents: list[Node], pull: Any, prints: list[Any], level: float
) -> list[Any]:
    """The values as variables that came out of one operation."""
    bundle = Bundle(parents, len(values), pull, prints)
    return [
        variable(v, level, Slot(bundle, j, shape_of(v), is_real(v))) if _is_inexact(v) else v
        for j, v in enumerate(values)
    ]


def _level_for(leaves: list[Any]) -> float | None:
    """The level of the tape that would record this call, if the outermost number is on one."""
    top = outermost(tuple(leaves))
    return None if not isinstance(top, Variable) or is_paused(top.level) else top.level


# ------------------------------------------------------------------------------ the two


def checkpoint(f: Function) -> Function:
    """f, computed again in the sweep instead of stored.

    Its value and derivatives are those of f; in reverse mode the memory for its intermediate
    values is traded for a second evaluation.  Arguments and results may be nested lists, tuples
    and dicts.  In forward mode it is f.

    Raises ``RuntimeError`` in the sweep if f then gives another value.

    >>> from dualad import grad
    >>> grad(lambda x: checkpoint(np.sin)(x) * x, mode="reverse")(0.0)
    0.0
    """

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, rebuild_in = flatten((args, kwargs))
        leaves = [rules.lift(a) if isinstance(a, np.ndarray) else a for a in leaves]
        level = _level_for(leaves)
        if level is None:
            return f(*args, **kwargs)

        def call(values: list[Any]) -> Any:
            some, named = rebuild_in(values)
            return f(*some, **named)

        primals, nodes, prints = _split(level, leaves)
        try:
            values, rebuild, captured = _run(call, [_private(p) for p in primals], level)
        except _NotHere:
            return f(*args, **kwargs)
        gist = _gist(values)
        others = list(captured)

        def pull(cts: list[Any]) -> list[Any]:
            with reopened(level):
                stretch = _Stretch(call, primals, level)
                _check_same(stretch.values, gist)
                own, captured = stretch.pull(cts)
            return [
                *(ct for ct, node in zip(own, nodes, strict=True) if node is not None),
                *(captured.get(node) for node in others),
            ]

        parents = [*(n for n in nodes if n is not None), *others]
        return rebuild(_outputs_of(values, parents, pull, prints, level) if parents else values)

    return checkpointed


def checkpoint_loop(step: Function, x: Any, n: int, *, snapshots: int) -> Any:
    """``step(...step(x))``, n times, storing never more than that many states for the sweep.

    ``snapshots`` counts the initial state.  The state may be nested; steps that are not
    recorded are given plain arrays.  In reverse mode ``step`` is called n + t times in all,
    t being the least possible number (``extra_steps(n, snapshots)``).

    Raises ``ValueError`` for ``snapshots`` below 1 or a negative n.

    >>> from dualad import grad
    >>> grad(lambda x: checkpoint_loop(lambda y: 2 * y, x, 10, snapshots=3), mode="reverse")(1.0)
    1024.0
    """
    if n < 0 or snapshots < 1:
        raise ValueError(
            f"checkpoint_loop: n is at least 0 and snapshots at least 1, not {n} and {snapshots}"
        )
    leaves, rebuild = flatten(x)
    leaves = [rules.lift(a) if isinstance(a, np.ndarray) else a for a in leaves]
    level = _level_for(leaves)
    if level is not None and n > 0:
        try:
            return _Loop(step, leaves, rebuild, n, snapshots, level).result()
        except _NotHere:
            pass
    for _ in range(n):
        x = step(x)
    return x


class _Loop:
    """The binomial schedule: from the last step to the first.

    A task (state, start, length, s) says: go back through that many steps from a stored state,
    with s states stored at a time, this one included.
    """

    def __init__(
        self, step: Function, leaves: list[Any], rebuild: Any, n: int, s: int, level: float
    ) -> None:
        self.level = level
        self.n, self.s = n, s
        self.primals, self.nodes, self.prints = _split(level, leaves)
        self.captured: set[Node] = set()
        self.gists: dict[int, list[tuple[complex, float]]] = {}

        def call(values: list[Any]) -> Any:
            y = step(rebuild(values))
            out, _ = flatten(y)
            if len(out) != len(values):
                raise ValueError("checkpoint_loop: step changed the structure of the state")
            return y

        self.call = call
        self.tasks: list[tuple[list[Any], int, int, int]] = []
        self.last: _Stretch | None = None
        self._begin()

    def _begin(self) -> None:
        """Run all n steps, the last of them with a record."""
        self.tasks = [(self.primals, 0, self.n, self.s)]
        self.last = self._descend()
        self.captured |= self.last.captured

    def _advance(self, state: list[Any], steps: int) -> list[Any]:
        """The state some steps on, with nothing recorded."""
        state = [_private(v) for v in state]  # a step may write to what it is given
        for _ in range(steps):
            state, _, captured = _run(self.call, state, self.level)
            self.captured |= captured
        return state

    def _descend(self) -> _Stretch:
        """Take the last task on, as far as its last step, which is recorded."""
        state, start, length, s = self.tasks.pop()
        while length > 1 and s > 1:
            left = split_at(length, s)
            self.tasks.append((state, start, left, s))
            state, start = self._advance(state, left), start + left
            self._remember(start, state)
            length, s = length - left, s - 1
        if length > 1:
            self.tasks.append((state, start, length - 1, s))
            state = self._advance(state, length - 1)
        stretch = _Stretch(self.call, state, self.level)
        self._remember(start + length, stretch.values)
        return stretch

    def _remember(self, i: int, state: list[Any]) -> None:
        """Compare state i with what it was when it was first computed."""
        if i in self.gists:
            _check_same(state, self.gists[i])
        else:
            self.gists[i] = _gist(state)

    def _pull(self, cts: list[Any]) -> list[Any]:
        others: dict[Node, Any] = {}
        with reopened(self.level):
            if self.last is None:  # swept before: what was stored is gone
                self._begin()
            stretch, self.last = self.last, None
            while stretch is not None:
                cts, captured = stretch.pull(cts)
                for node, ct in captured.items():
                    others[node] = others[node] + ct if node in others else ct
                stretch = self._descend() if self.tasks else None
        return [
            *(ct for ct, node in zip(cts, self.nodes, strict=True) if node is not None),
            *(others.get(node) for node in self.others),
        ]

    def result(self) -> Any:
        """The last state, as variables."""
        assert self.last is not None
        self.others = list(self.captured)
        parents = [*(n for n in self.nodes if n is not None), *self.others]
        values = self.last.values
        if parents:
            values = _outputs_of(values, parents, self._pull, self.prints, self.level)
        return self.last.rebuild(values)


# -------------------------------------------------------------------------- the schedule


def _repetitions(n: int, s: int) -> int:
    """The least r with C(s + r, s) >= n: how often a step is run before it is recorded."""
    r = 0
    while math.comb(s + r, s) < n:
        r += 1
    return r


def extra_steps(n: int, s: int) -> int:
    """The least number of unrecorded steps that n steps need with s stored states.

    >>> extra_steps(10, 3)
    15
    """
    r = _repetitions(n, s)
    return r * n - math.comb(s + r, s + 1)


def split_at(n: int, s: int) -> int:
    """How many of n steps to go on before the second of s states is stored, at no loss.

    A stretch is as long as its repetitions allow: C(s + r - 1, s) steps for the left one, which
    may be run r - 1 times more, C(s + r - 1, s - 1) for the right one.
    """
    r = _repetitions(n, s)
    shortest = max(1, math.comb(s + r - 2, s), n - math.comb(s + r - 1, s - 1))
    longest = min(n - 1, math.comb(s + r - 1, s), n - math.comb(s + r - 2, s - 1))
    return max(shortest, min(longest, n - 1))
