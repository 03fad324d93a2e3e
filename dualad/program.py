"""Programs: a computation, recorded while it runs.

Running a function on ``Tracer``s records each operation that reaches a plain value: a name, the
row, the names it came from.  A tracer carries the real value along, so Python's control flow
runs as written, and each branch taken on a traced value is recorded too, as a *guard*: the
program holds for arguments that pass its guards.

A tracer is one more number system over the same rows, of a level below every transform that
the function opens.  So ``trace(grad(f))`` records the derivative itself, not f: what dual
numbers and the tape do arrives here as operations on their parts.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualad import rules
from dualad.primitive import (
    Elementwise,
    Implicit,
    LevelError,
    Linear,
    Multilinear,
    NotDifferentiableError,
    Number,
    Primitive,
    Rule,
    Selection,
    check_open,
    evaluate_formula,
    implementations,
    new_level,
    plain,
    quietly,
    shape_of,
    traces,
    value_of,
)
from dualad.protocols import ArrayNumber, Operators, namespace_of
from dualad.rules import creations
from dualad.rules.lifting import lift
from dualad.rules.linear import is_basic
from dualad.rules.plain import plain_functions, refused_functions
from dualad.tree import flatten

#: functions whose answer depends on shapes and types alone, which a program takes as given
_STATIC = {
    np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast,
    np.common_type, np.min_scalar_type,
}  # fmt: skip

#: functions that write to an argument: there is no value to record
_WRITERS = {
    np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, np.save, np.savez,
    np.savetxt, np.savez_compressed,
}  # fmt: skip


class GuardError(RuntimeError):
    """A program was called with arguments that take another branch than it was traced for."""


# ----------------------------------------------------------------------- what is recorded


class Operation:
    """One step of a program: a row (or a function of NumPy) and what it is applied to.

    Arguments and parameters are operations, constants, or nested tuples and lists of them.
    ``function`` is None for an input and for a constant.
    """

    __slots__ = ("args", "dtype", "function", "name", "params", "shape", "value")

    def __init__(self, function: Any, args: tuple[Any, ...], params: dict[str, Any], value: Any) -> None:  # fmt: skip  # noqa: E501
        self.function = function
        self.args = args
        self.params = params
        self.value = value
        self.name = ""
        self.shape = np.shape(value) if not isinstance(value, (tuple, list)) else None
        self.dtype = rules.dtype_of(value) if self.shape is not None else None

    @property
    def row(self) -> Primitive | None:
        """The primitive, if it is one."""
        return self.function if isinstance(self.function, Primitive) else None

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape or ())

    @property
    def label(self) -> str:
        """The name of what is done here."""
        if self.function is None:
            return "constant" if self.args else "input"
        return name_of(self.function)

    def operands(self) -> Iterator[Operation]:
        """The operations that this one reads, each as often as it does."""
        yield from operations_in(self.args)
        yield from operations_in(self.params)

    def evaluate(self, value: Callable[[Operation], Any]) -> Any:
        """The result, given the values of other operations."""
        if self.function is None:
            return self.args[0]
        args = substituted(self.args, Operation, value)
        params = substituted(self.params, Operation, value)
        function = self.function.evaluate if self.row else self.function
        return function(*args, **params)

    def __repr__(self) -> str:
        return f"<{self.name or 'operation'}: {self.label}>"


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A value that decided something while the program was traced: a branch, an index, a shape."""

    condition: Operation
    kind: str  # "bool", "int", "array" or "shape"
    value: Any

    def holds(self, value: Any) -> bool:
        """Whether the same would be decided for this value of the condition."""
        if self.kind == "bool":
            return bool(value) is self.value
        if self.kind == "int":
            return bool(operator.index(value) == self.value)
        if self.kind == "shape":
            return bool(np.shape(value) == self.value)
        return bool(np.array_equal(value, self.value))


def name_of(function: Any) -> str:
    """The name of a row, a function of NumPy or a method of a ufunc."""
    if isinstance(function, Primitive):
        return function.name
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{function.__name__}"
    return str(getattr(function, "__name__", function))


def substituted(x: Any, kind: type, leaf: Callable[[Any], Any]) -> Any:
    """A nested argument with everything of that kind replaced."""
    if isinstance(x, kind):
        return leaf(x)
    if type(x) is tuple:
        return tuple(substituted(e, kind, leaf) for e in x)
    if type(x) is list:
        return [substituted(e, kind, leaf) for e in x]
    if type(x) is dict:
        return {k: substituted(e, kind, leaf) for k, e in x.items()}
    return x


def operations_in(x: Any) -> Iterator[Operation]:
    """The operations in a nested argument."""
    if isinstance(x, Operation):
        yield x
    elif type(x) is tuple or type(x) is list:
        for e in x:
            yield from operations_in(e)
    elif type(x) is dict:
        for e in x.values():
            yield from operations_in(e)


# -------------------------------------------------------------------------------- tracers


class Recording:
    """A program while it is being traced."""

    def __init__(self, level: float, written_out: frozenset[str] = frozenset()) -> None:
        self.level = level
        self.written_out = written_out
        self.steps: list[Operation | Guard] = []
        #: functions that are being carried out by the table's answer for them
        self.busy: set[Any] = set()

    def tracer(self, value: Any, operation: Operation) -> Any:
        """The number that stands for an operation's result."""
        kind = TracerArray if shape_of(value) else Tracer
        return kind(value, operation, self)

    def input(self, value: Any) -> Any:
        """A traced argument of the program."""
        if isinstance(value, np.ndarray):
            value = value.copy()  # its owner may write to it
        return self.tracer(value, Operation(None, (), {}, value))

    def constant(self, value: Any) -> Any:
        """A plain value as a number of this program."""
        return self._step(Operation(None, (value,), {}, value), value)

    def _step(self, operation: Operation, value: Any) -> Any:
        self.steps.append(operation)
        return self.tracer(value, operation)

    def apply(self, function: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Evaluate a row or a function of NumPy on the values along, and record it."""
        args = self._settled(args)
        params = self._settled(params)
        opened = isinstance(function, Elementwise) and function.name in self.written_out
        if opened and any(isinstance(a, TracerArray) for a in args):
            return function.function(*args)
        evaluate = function.evaluate if isinstance(function, Primitive) else function
        y = evaluate(*substituted(args, Tracer, _primal), **substituted(params, Tracer, _primal))
        if function in _STATIC:
            return y
        named = substituted(args, Tracer, _operation), substituted(params, Tracer, _operation)
        return self._result(y, Operation(function, *named, _scalar(y)))

    def _result(self, y: Any, operation: Operation) -> Any:
        if isinstance(y, (tuple, list)):
            self.steps.append(operation)
            items = [
                self._result(e, Operation(operator.getitem, (operation, i), {}, _scalar(e)))
                for i, e in enumerate(y)
            ]
            kind: Any = type(y)
            return kind(*items) if hasattr(y, "_fields") else kind(items)
        if operation.dtype is None or operation.dtype.kind not in "fcbiu":
            raise NotDifferentiableError(
                f"{operation.label} gives {type(y).__name__}, which a program cannot hold"
            )
        return self._step(operation, _scalar(y))

    def guard(self, number: Tracer, kind: str, value: Any) -> Any:
        """Record what a traced value decided."""
        check_open(number)
        self.steps.append(Guard(number.operation, kind, value))
        return value

    def _settled(self, x: Any) -> Any:
        """An argument as it is recorded: numbers of this program, and plain values."""
        if isinstance(x, Number):
            if not isinstance(x, Tracer) or x.recording is not self:
                raise LevelError(
                    f"a {type(x).__name__} of another computation was used in a program that is "
                    "being traced"
                )
            check_open(x)
            return x
        if type(x) is tuple or type(x) is list:
            return type(x)(map(self._settled, x))
        if type(x) is dict:
            return {k: self._index(v) if k == "index" else self._settled(v) for k, v in x.items()}
        if type(x) is slice:
            return slice(*(operator.index(e) if isinstance(e, Tracer) else e
                           for e in (x.start, x.stop, x.step)))  # fmt: skip
        return lift(x) if type(x) is np.ndarray and x.dtype == object else x

    def _index(self, index: Any) -> Any:
        """An index, in which a mask decides a shape: so it is guarded, and plain."""
        if isinstance(index, Tracer):
            masks = index.shape and rules.dtype_of(index).kind == "b"
            return np.asarray(index) if masks else self._settled(index)
        if type(index) is tuple:
            return tuple(map(self._index, index))
        return self._settled(index)


def _primal(number: Tracer) -> Any:
    return number.primal


def _operation(number: Tracer) -> Operation:
    return number.operation


def _scalar(y: Any) -> Any:
    """y, with a 0-d array as a scalar and NumPy's float64 as a float."""
    return plain(y[()]) if type(y) is np.ndarray and not y.ndim else plain(y)


class Tracer(Operators):
    """A value while a function is traced: whatever looks at it is recorded."""

    __slots__ = ("level", "operation", "primal", "recording")
    transparent = False

    primal: Any
    operation: Operation
    recording: Recording

    def __init__(self, value: Any, operation: Operation, recording: Recording) -> None:
        self.primal = value
        self.operation = operation
        self.recording = recording
        self.level = recording.level

    def parts(self) -> dict[str, Any]:
        return {"primal": self.primal}

    def content(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Tracer.__slots__}

    def __deepcopy__(self, memo: Any) -> Any:
        return self.again()

    # -- NumPy's protocols: what has no row is recorded as the function that it is

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Number) and x.transparent for x in inputs):
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        call = method == "__call__"
        function = ufunc if call else getattr(ufunc, method)
        row = implementations.get(ufunc)
        if call and not kwargs and isinstance(row, Primitive):
            return row(*inputs)
        looks = ufunc in plain_functions or ufunc in refused_functions or row is None
        if method == "at" or not (looks or function in self.recording.busy):
            answer = super().__array_ufunc__
            return self._carried_out(function, answer, (ufunc, method, *inputs), kwargs)
        return self._recorded(function, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        answer = super().__array_function__
        looks = func in plain_functions or func in refused_functions or func in _STATIC
        known = func in implementations or func in creations
        if func in _WRITERS or (known and not looks and func not in self.recording.busy):
            return self._carried_out(func, answer, (func, types, args, kwargs), {})
        return self._recorded(func, args, kwargs)

    def _carried_out(self, function: Any, answer: Any, args: Any, kwargs: Any) -> Any:
        """The table's answer; where it looks at values with the same function, it is recorded."""
        busy = self.recording.busy
        busy.add(function)
        try:
            return answer(*args, **kwargs)
        finally:
            busy.discard(function)

    def _recorded(self, function: Any, args: Any, kwargs: Any) -> Any:
        if function in _WRITERS or kwargs.get("out") is not None:
            raise NotDifferentiableError(
                f"np.{name_of(function)} writes to an argument, which a program cannot record; "
                "assign instead, as in x[index] = value"
            )
        y = self.recording.apply(
            function, tuple(map(_seen, args)), {k: _seen(v) for k, v in kwargs.items()}
        )
        for e in y if isinstance(y, (tuple, list)) else (y,):
            if isinstance(e, TracerArray) and not isinstance(function, np.ufunc):
                self.recording.guard(e, "shape", e.shape)
        return y

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if rules.dtype_of(self).kind in "biu":  # an index or a mask: it decides what is done
            value = np.array(self.primal)
            self.recording.guard(self, "array", value)
            return value if dtype is None else value.astype(dtype)
        return super().__array__(dtype, copy)

    # -- comparisons, recorded; and what Python decides by

    def __eq__(self, other: Any) -> Any:
        return np.equal(self, _seen(other))

    def __ne__(self, other: Any) -> Any:
        return np.not_equal(self, _seen(other))

    def __lt__(self, other: Any) -> Any:
        return np.less(self, _seen(other))

    def __le__(self, other: Any) -> Any:
        return np.less_equal(self, _seen(other))

    def __gt__(self, other: Any) -> Any:
        return np.greater(self, _seen(other))

    def __ge__(self, other: Any) -> Any:
        return np.greater_equal(self, _seen(other))

    def __and__(self, other: Any) -> Any:
        return np.bitwise_and(self, other)

    def __or__(self, other: Any) -> Any:
        return np.bitwise_or(self, other)

    def __xor__(self, other: Any) -> Any:
        return np.bitwise_xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return np.invert(self)

    def __lshift__(self, other: Any) -> Any:
        return np.left_shift(self, other)

    def __rshift__(self, other: Any) -> Any:
        return np.right_shift(self, other)

    def __bool__(self) -> bool:
        return bool(self.recording.guard(self, "bool", bool(self.primal)))

    def __index__(self) -> int:
        return int(self.recording.guard(self, "int", operator.index(self.primal)))

    def __int__(self) -> int:
        if rules.dtype_of(self).kind in "biu":
            return operator.index(self)
        whole = np.trunc(self).astype(np.int64)
        return operator.index(whole)

    def __round__(self, ndigits: int | None = None) -> Any:
        places = {} if ndigits is None else {"decimals": ndigits}
        y = self.recording.apply(np.round, (self,), places)
        return y if ndigits is not None else int(y)

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self == _seen(item)))


class TracerArray(ArrayNumber, Tracer):
    """A traced array."""

    __slots__ = ()
    __contains__ = Tracer.__contains__

    def replace(self, other: Any) -> None:
        """Take over what another number of this program stands for."""
        self.primal, self.operation = other.primal, other.operation

    def constant(self, value: Any) -> Any:
        """A plain value as a number of this program."""
        return self.recording.constant(np.array(value))


def _seen(x: Any) -> Any:
    """What a function that looks at values gets: no number above a tracer."""
    if type(x) is tuple or type(x) is list:
        return type(x)(map(_seen, x))
    return value_of(lift(x)) if isinstance(x, (Number, np.ndarray)) else x


class TracerSystem:
    """How tracers read each kind of primitive: all alike, the row is recorded."""

    def _record(self, row: Primitive) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            for x in (*args, *params.values()):
                if isinstance(x, Tracer):
                    return x.recording.apply(row, args, params)
            return next(_tracers((args, params))).recording.apply(row, args, params)

        return rule

    def elementwise(self, row: Elementwise) -> Rule:
        return self._record(row)

    def linear(self, row: Linear) -> Rule:
        return self._record(row)

    def multilinear(self, row: Multilinear) -> Rule:
        return self._record(row)

    def selection(self, row: Selection) -> Rule:
        return self._record(row)

    def implicit(self, row: Implicit) -> Rule:
        return self._record(row)


def _tracers(x: Any) -> Iterator[Tracer]:
    if isinstance(x, Tracer):
        yield x
    elif type(x) in (tuple, list, dict):
        for e in x.values() if type(x) is dict else x:
            yield from _tracers(e)


Tracer.system = TracerSystem()
Tracer.unary = {}


# --------------------------------------------------------------------------------- counts


@dataclass(frozen=True, slots=True)
class Count:
    """How many of each kind of operation a program does, one an entry of an array."""

    moves: int = 0
    additions: int = 0
    multiplications: int = 0
    divisions: int = 0
    nonlinear: int = 0

    @property
    def flops(self) -> int:
        """All but the moves."""
        return self.additions + self.multiplications + self.divisions + self.nonlinear

    def __add__(self, other: Count) -> Count:
        return Count(
            self.moves + other.moves,
            self.additions + other.additions,
            self.multiplications + other.multiplications,
            self.divisions + other.divisions,
            self.nonlinear + other.nonlinear,
        )


_ADDITIONS = {"add", "subtract"}
_PRODUCTS = {"multiply", "scaled"}
_DIVISIONS = {"divide", "reciprocal"}
_FREE = {"negative", "positive"}
#: rearrangements: entries are moved, nothing is computed
_MOVES = {
    "astype", "broadcast_to", "concatenate", "conjugate", "expand_dims", "getitem", "imag",
    "put_along_axis", "real", "reshape", "scatter", "setitem", "take_along_axis", "transpose",
    "where",
}  # fmt: skip
_COMPARISONS = {
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
    np.logical_or, np.logical_not, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    np.invert, np.isfinite, np.isnan, np.isinf, np.signbit, np.any, np.all, np.where,
    operator.getitem,
}  # fmt: skip


def count_of(operation: Operation) -> Count:
    """What one operation costs."""
    if operation.function is None:
        return Count()
    operands = list(operation.operands())
    if operation.label in _PRODUCTS and any(map(_is_one, operation.args)):
        return Count()
    if operation.label == "divide" and _is_one(operation.args[1]):
        return Count()
    moves = operation.size + sum(o.size for o in operands)
    additions, multiplications, divisions, nonlinear = _flops(operation, operands)
    return Count(moves, additions, multiplications, divisions, nonlinear)


def _is_one(x: Any) -> bool:
    return not isinstance(x, Operation) and np.ndim(x) == 0 and bool(x == 1)


def _flops(op: Operation, operands: list[Operation]) -> tuple[int, int, int, int]:
    n, name = op.size, op.label
    taken = sum(o.size for o in operands)
    if op.row is None:
        return (0, 0, 0, 0) if op.function in _COMPARISONS else (0, 0, 0, n)
    if name in _ADDITIONS:
        return n, 0, 0, 0
    if name in _PRODUCTS or name == "square" or (name == "power" and _is_two(op.args[1])):
        return 0, n, 0, 0
    if name in _DIVISIONS:
        return 0, 0, n, 0
    if name in _FREE or name in _MOVES:
        return 0, 0, 0, 0
    if name in ("sum", "cumsum"):
        return taken - n if name == "sum" else taken - taken // max(_length(op), 1), 0, 0, 0
    if name == "scatter_add":
        return math.prod(_shape(op.args[1])), 0, 0, 0
    if name == "share":
        weights = math.prod(_shape(op.params["weights"]))
        return weights - n, weights, 0, 0
    if name in ("matmul", "einsum"):
        terms = _products(op)
        return terms - n, terms * (len(op.args) - 1), 0, 0
    if name in ("max", "min"):
        return 0, 0, 0, taken - n
    if name in ("solve", "inv", "det"):
        return _elimination(op)
    return 0, 0, 0, max(n, taken if op.shape is None else n)


def _is_two(x: Any) -> bool:
    return not isinstance(x, Operation) and np.ndim(x) == 0 and x == 2


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape or () if isinstance(x, Operation) else np.shape(x)


def _length(op: Operation) -> int:
    return int(_shape(op.args[0])[op.params["axis"]])


def _products(op: Operation) -> int:
    """The number of terms that a product of arrays sums over."""
    if op.label == "matmul":
        return op.size * _shape(op.args[0])[-1]
    lengths: dict[str, int] = {}
    lead: tuple[int, ...] = ()
    for term, x in zip(op.params["terms"], op.args, strict=True):
        shape = _shape(x)
        lead = lead or shape[: len(shape) - len(term)]
        lengths.update(zip(term, shape[len(shape) - len(term) :], strict=True))
    return math.prod(lengths.values()) * math.prod(lead)


def _elimination(op: Operation) -> tuple[int, int, int, int]:
    """Gaussian elimination of n x n matrices, with m right-hand sides."""
    shape = _shape(op.args[0])
    n = shape[-1]
    stack = math.prod((op.shape or ())[: len(op.shape or ()) - (0 if op.label == "det" else 2)])
    m = {"solve": (op.shape or (1,))[-1], "inv": n, "det": 0}[op.label]
    updates = sum(k * k for k in range(n)) + m * n * (n - 1)
    divisions = n * (n - 1) // 2 + m * n
    pivots = n - 1 if op.label == "det" else 0
    return stack * updates, stack * (updates + pivots), stack * divisions, 0


# ------------------------------------------------------------------------------- programs


class Program:
    """A recorded computation: callable, countable, printable.

    ``operations`` and ``guards`` are in order of evaluation; what no output and no guard needs
    is left out.  ``constants`` are the arrays that came from outside.
    """

    def __init__(
        self,
        inputs: list[Operation],
        steps: Iterable[Operation | Guard],
        outputs: list[Any],
        rebuild: Callable[[list[Any]], Any],
        name: str = "program",
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.rebuild = rebuild
        self.name = name
        #: the arrays from outside that any step has met, needed or not
        self.met: list[Any] = []
        self.steps = live(steps, outputs)
        self._name_steps()

    def _name_steps(self) -> None:
        taken = {op.name for op in self.inputs}
        number = 0
        for op in self.operations:
            number += 1
            while f"v{number}" in taken:
                number += 1
            op.name = f"v{number}"

    @property
    def operations(self) -> list[Operation]:
        """The operations, in order of evaluation."""
        return [s for s in self.steps if isinstance(s, Operation)]

    @property
    def guards(self) -> list[Guard]:
        """What traced values decided."""
        return [s for s in self.steps if isinstance(s, Guard)]

    @property
    def constants(self) -> list[Any]:
        """The arrays that came from outside, each once."""
        found: dict[int, Any] = {}
        for op in self.operations:
            for x in arrays_in((op.args, op.params)):
                found[id(x)] = x
        return list(found.values())

    def __call__(self, *args: Any) -> Any:
        """Run the program on other arguments of the same structure.

        Raises ``GuardError`` where they would have taken another branch.
        """
        leaves = [_as_traced(x) for x in flatten(args)[0] if is_traced(x)]
        if [np.shape(x) for x in leaves] != [op.shape for op in self.inputs]:
            raise ValueError(
                f"this program was traced with arguments of shapes "
                f"{', '.join(str(op.shape) for op in self.inputs)}; trace it again for others"
            )
        values: dict[Operation, Any] = dict(zip(self.inputs, leaves, strict=True))
        with np.errstate(all="ignore"):
            for step in self.steps:
                if isinstance(step, Operation):
                    y = step.evaluate(values.__getitem__)
                    values[step] = y if isinstance(y, (tuple, list)) else _scalar(y)
                elif not step.holds(values[step.condition]):
                    raise GuardError(
                        f"these arguments take another branch at {step.condition.name} "
                        f"({step.condition.label}): trace the function again, or use ad.compile"
                    )
        outputs = substituted(self.outputs, Operation, values.__getitem__)
        return self.rebuild(list(map(_fresh, outputs)))

    def count(self) -> Count:
        """How many additions, multiplications, divisions, nonlinear calls and moves it does."""
        return sum(map(count_of, self.operations), Count())

    def peak_bytes(self) -> int:
        """The most memory that its own arrays take at once, each living until its last use.

        Views take none; arguments and constants are the caller's.
        """
        last: dict[Operation, int] = {}
        holders: dict[Operation, Operation] = {}
        steps = self.operations
        for i, op in enumerate(steps):
            base = _base_of(op)
            holders[op] = holders.get(base, base) if base is not None else op
            for o in (op, *op.operands()):
                last[holders.get(o, o)] = i
        for op in operations_in(self.outputs):
            last[holders.get(op, op)] = len(steps)
        ends: dict[int, list[Operation]] = {}
        for op, i in last.items():
            ends.setdefault(i, []).append(op)
        now = peak = 0
        owned = {op for op in steps if holders[op] is op and op.function is not None}
        for i, op in enumerate(steps):
            if op in owned:
                now += _bytes_of(op)
                peak = max(peak, now)
            now -= sum(_bytes_of(o) for o in ends.get(i, ()) if o in owned)
        return peak

    @property
    def source(self) -> str:
        """The program as NumPy source."""
        lines = [f"def {self.name}({', '.join(op.name for op in self.inputs)}):"]
        for step in self.steps:
            if isinstance(step, Guard):
                lines.append(f"    assert {_guard_text(step)}")
            else:
                lines.append(f"    {step.name} = {formula(step)}")
        outputs = [y.name if isinstance(y, Operation) else _text(y) for y in self.outputs]
        text = _structure_text(self.rebuild([_Bare(t) for t in outputs]))
        return "\n".join([*lines, f"    return {text}"]) + "\n"

    def graph(self) -> Graph:
        """The dependency graph at the point that was traced: values, formulas, local partials."""
        return graph_of(self)

    def __repr__(self) -> str:
        return (
            f"<Program {self.name}: {len(self.inputs)} inputs, {len(self.operations)} operations, "
            f"{len(self.guards)} guards>"
        )


class _Bare(str):
    """A name that prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _structure_text(x: Any) -> str:
    return repr(x)


def _guard_text(guard: Guard) -> str:
    name = guard.condition.name
    if guard.kind == "bool":
        return name if guard.value else f"not {name}"
    if guard.kind == "shape":
        return f"{name}.shape == {guard.value}"
    if guard.kind == "int":
        return f"{name} == {guard.value}"
    return f"np.array_equal({name}, {_text(guard.value)})"


def live(steps: Iterable[Operation | Guard], outputs: list[Any]) -> list[Operation | Guard]:
    """The steps that an output or a guard needs."""
    needed = set(operations_in(outputs))
    kept: list[Operation | Guard] = []
    for step in reversed(list(steps)):
        if isinstance(step, Guard):
            needed.add(step.condition)
        elif step in needed:
            needed.update(step.operands())
        else:
            continue
        kept.append(step)
    return kept[::-1]


def arrays_in(x: Any) -> Iterator[Any]:
    """The arrays in a nested argument."""
    if isinstance(x, np.ndarray):
        yield x
    elif type(x) is tuple or type(x) is list:
        for e in x:
            yield from arrays_in(e)
    elif type(x) is dict:
        for e in x.values():
            yield from arrays_in(e)


def _bytes_of(op: Operation) -> int:
    return op.size * op.dtype.itemsize if op.shape and op.dtype else 0


_VIEWS = {"reshape", "transpose", "broadcast_to", "expand_dims", "real", "imag"}


def _base_of(op: Operation) -> Operation | None:
    """The operation whose memory this one's result is a view of."""
    of = op.args[0] if op.args else None
    if not isinstance(of, Operation):
        return None
    if op.label in _VIEWS or op.function is operator.getitem:
        return of
    return of if op.label == "getitem" and is_basic(op.params["index"]) else None


def _fresh(y: Any) -> Any:
    """An output that shares memory with nothing and can be written to."""
    return y.copy() if isinstance(y, np.ndarray) else y


# --------------------------------------------------------------------------------- source

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "scaled": "*", "divide": "/", "power": "**",
    "floor_divide": "//", "remainder": "%", "equal": "==", "not_equal": "!=", "less": "<",
    "less_equal": "<=", "greater": ">", "greater_equal": ">=", "bitwise_and": "&",
    "bitwise_or": "|",
}  # fmt: skip


def formula(op: Operation) -> str:
    """What an operation does, as it would be written with NumPy."""
    if op.function is None:
        return _text(op.args[0]) if op.args else op.name
    args = [_text(a) for a in op.args]
    name = op.label
    if name in _INFIX and len(args) == 2:
        return f"{args[0]} {_INFIX[name]} {args[1]}"
    if name == "negative":
        return f"-{args[0]}"
    if op.function is operator.getitem:
        return f"{args[0]}[{args[1]}]"
    if name == "getitem":
        lead = len(_shape(op.args[0])) - op.params["ndim"]
        index = (slice(None),) * lead + op.params["index"]
        return f"{args[0]}[{', '.join(map(_index_text, index))}]"
    if name in ("reshape", "broadcast_to"):
        return f"np.{name}({args[0]}, {op.shape})"
    if name in ("sum", "max", "min"):
        axes, keep = op.params["axes"], op.params["keepdims"]
        everything = len(axes) == len(_shape(op.args[0])) and not keep
        options = "" if everything else f", axis={axes}" + (", keepdims=True" if keep else "")
        return f"np.{name}({args[0]}{options})"
    if name == "where":
        return f"np.where({_text(op.params['condition'])}, {', '.join(args)})"
    if name == "matmul":
        return f"{args[0]} @ {args[1]}"
    if name == "einsum":
        return f"np.einsum('{','.join(op.params['terms'])}->{op.params['out']}', {', '.join(args)})"
    args += [
        f"index=[{', '.join(map(_index_text, v))}]" if k == "index" and type(v) is tuple
        else f"{k}={_text(v)}"
        for k, v in op.params.items()
    ]  # fmt: skip
    module = "np." if hasattr(np, name.split(".")[0]) else ""
    return f"{module}{name}({', '.join(args)})"


def _text(x: Any) -> str:
    if isinstance(x, Operation):
        return x.name
    if type(x) is tuple:
        return f"({', '.join(map(_text, x))}{',' if len(x) == 1 else ''})"
    if type(x) is list:
        return f"[{', '.join(map(_text, x))}]"
    if isinstance(x, np.ndarray):
        if x.size > 8:
            return f"<{x.dtype} array of shape {x.shape}>"
        return f"np.array({x.tolist()})"
    if isinstance(x, slice):
        return repr(x)
    return f"({x!r})" if isinstance(x, (int, float)) and (x < 0 or x != x) else repr(x)


def _index_text(i: Any) -> str:
    if not isinstance(i, slice):
        return "..." if i is Ellipsis else _text(i)
    start, stop, step = ("" if e is None else str(e) for e in (i.start, i.stop, i.step))
    return f"{start}:{stop}" + (f":{step}" if step else "")


# ---------------------------------------------------------------------------------- graph


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A value of the dependency graph: its name, the formula that gives it, what it is."""

    name: str
    formula: str
    value: Any


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependence: the result changes by ``partial`` times what the argument changes by.

    The partial is None where the operation is not elementwise.
    """

    source: str
    target: str
    partial: Any


@dataclass(frozen=True, slots=True)
class Graph:
    """The dependency graph of a program at the point that it was traced at."""

    nodes: list[GraphNode]
    edges: list[Edge]
    inputs: list[str]
    outputs: list[str]


def graph_of(program: Program) -> Graph:
    """The dependency graph of a program."""
    everything = [*program.inputs, *program.operations]
    nodes = [GraphNode(op.name, formula(op), op.value) for op in everything]
    edges = []
    for op in program.operations:
        for i, a in enumerate(op.args):
            if isinstance(a, Operation):
                edges.append(Edge(a.name, op.name, _partial(op, i)))
    outputs = [y.name for y in program.outputs if isinstance(y, Operation)]
    return Graph(nodes, edges, [op.name for op in program.inputs], outputs)


def _partial(op: Operation, i: int) -> Any:
    """The local partial in argument i, at the values that were traced."""
    row = op.row
    if not isinstance(row, Elementwise) or row.partials[i] is None:
        return 0.0 if isinstance(row, Elementwise) else None
    args = [a.value if isinstance(a, Operation) else a for a in op.args]
    args = [float(a) if type(a) is int else a for a in args]
    constant = row.partials[i]
    if not callable(constant):
        return float(constant or 0)
    return plain(quietly(evaluate_formula, constant, namespace_of(args), op.value, args))


# -------------------------------------------------------------------------------- tracing


def is_traced(x: Any) -> bool:
    """Whether an argument is an input of the program: a number or a numeric array."""
    if isinstance(x, (bool, np.bool_)):
        return False
    return isinstance(x, (float, int, complex, np.number)) or (
        isinstance(x, np.ndarray) and x.dtype.kind in "fcbiu"
    )


def _as_traced(x: Any) -> Any:
    return _scalar(x) if isinstance(x, np.ndarray) else plain(x)


def record(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    traced: Callable[[Any], bool] = is_traced,
    written_out: frozenset[str] = frozenset(),
) -> Program:
    """Run f once on tracers; what it did, as a program.

    Rows in ``written_out`` are recorded as the operations that they are made of.
    """
    leaves, rebuild = flatten((args, kwargs))
    with new_level() as level, np.errstate(all="ignore"):
        recording = Recording(level, written_out)
        traces.append(recording)
        try:
            tracers = [recording.input(_as_traced(x)) if traced(x) else x for x in leaves]
            args, kwargs = rebuild(list(tracers))
            results, rebuild_out = flatten(f(*args, **kwargs))
            results = [lift(y) for y in results]
        finally:
            traces.remove(recording)
        outputs = []
        for y in results:
            if isinstance(y, Number):
                check_open(y)
                if not isinstance(y, Tracer):
                    raise LevelError(f"the function that is traced returned a {type(y).__name__}")
                y = y.operation
            outputs.append(y)
    inputs = [t.operation for t in tracers if isinstance(t, Tracer)]
    _name_inputs(f, inputs, args, kwargs)
    name = getattr(f, "__name__", "")
    name = name if name.isidentifier() else "f"
    program = Program(inputs, recording.steps, outputs, rebuild_out, name)
    for step in recording.steps:
        if isinstance(step, Operation):
            program.met += arrays_in((step.args, step.params))
    return program


def _name_inputs(
    f: Any, inputs: list[Operation], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    try:
        names = [*inspect.signature(f).bind(*args, **kwargs).arguments]
    except (TypeError, ValueError):
        names = []
    names = [n if len(names) > i else "" for i, n in enumerate(names)]
    number = 0
    for i, a in enumerate((*args, *kwargs.values())):
        mine = [leaf.operation for leaf in flatten(a)[0] if isinstance(leaf, Tracer)]
        base = names[i] if i < len(names) and len(names) == len(args) + len(kwargs) else ""
        for j, op in enumerate(mine):
            op.name = (base and (base if len(mine) == 1 else f"{base}{j}")) or f"x{number}"
            number += 1


def trace(f: Callable[..., Any]) -> Callable[..., Program]:
    """The function that runs f once at its arguments and gives the program that f is there.

    >>> program = trace(lambda x: np.sin(x) * x)(2.0)
    >>> print(program.source)
    def f(x):
        v1 = np.sin(x)
        v2 = v1 * x
        return v2
    <BLANKLINE>
    >>> program.count().flops
    2
    """
    if not callable(f):
        raise TypeError(f"trace takes a function, not a {type(f).__name__}")

    def traced(*args: Any, **kwargs: Any) -> Program:
        return record(f, args, kwargs)

    return traced
