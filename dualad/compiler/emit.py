"""From a program to Python: numbers with ``math``, arrays with NumPy, straight down.

A number is a Python float and its operations are expressions.  An array operation is one call
of NumPy, which writes into an operand that nobody needs afterwards, where there is one.
What has no shorter form is the evaluation of its row.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualad.compiler.passes import ROW, assemble
from dualad.primitive import Elementwise, Primitive
from dualad.program import Guard, Operation, Program, substituted
from dualad.rules.linear import is_basic

FLOAT = np.dtype(np.float64)

#: arrays up to this size get constants of their own shape, which NumPy meets fastest
_SMALL = 64

#: how deep expressions are nested
_DEPTH = 20

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "scaled": "*", "divide": "/",
}  # fmt: skip
_COMPARISONS = {
    np.equal: "==", np.not_equal: "!=", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=",
}  # fmt: skip
_IN_LINE = {
    "negative": "-{0}", "square": "{0} * {0}", "reciprocal": "1.0 / {0}", "positive": "{0}",
}  # fmt: skip

#: rows whose result is a view of their argument
VIEWS = {"reshape", "transpose", "broadcast_to", "expand_dims", "real"}

#: as functions of NumPy with ``out`` the rows that are none themselves
_UFUNCS: dict[str, np.ufunc] = {"scaled": np.multiply}


class Source:
    """The text of a function, with the objects that it names."""

    def __init__(self, namespace: dict[str, Any], taken: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.namespace = namespace
        self.taken = {*taken}
        self._named: dict[Any, str] = {}

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(text)

    def bind(self, x: Any, hint: str = "c") -> str:
        """The name by which the text refers to an object."""
        key = (id(x), hint)
        if key not in self._named:
            name = hint
            while name in self.taken or self.namespace.get(name, x) is not x:
                name = f"{hint}_{len(self.namespace)}"
            self.namespace[name] = x
            self._named[key] = name
        return self._named[key]


@dataclass(frozen=True, slots=True)
class Blocked:
    """Operations that are done together, in blocks of their arrays: see blocks.py.

    ``run`` gives the results and, last, whether no NaN was found in those that are checked.
    """

    operands: tuple[Operation, ...]
    results: tuple[Operation, ...]
    checked: frozenset[Operation]
    run: Callable[..., Any]


def is_float(x: Any) -> bool:
    """Whether an operand is a Python float when the program runs."""
    if isinstance(x, Operation):
        return x.shape == () and x.dtype == FLOAT
    return type(x) is float or type(x) is int


def literal(x: Any) -> str:
    """A number as text that evaluates to it."""
    if isinstance(x, float) and not math.isfinite(x):
        return f"float('{x!r}')"
    return f"({x!r})" if x < 0 or (x == 0 and math.copysign(1.0, x) < 0) else repr(x)


class Emitter:
    """Writes the statements of one program."""

    def __init__(self, program: Program, source: Source, steps: list[Any]) -> None:
        self.program = program
        self.source = source
        self.steps = steps
        self.given = {op for step in steps if isinstance(step, Blocked) for op in step.results}
        self.names: dict[Operation, str] = {}
        self._find_uses()
        self._find_lists()
        self._count_uses()
        self._find_factors()

    # -- who uses what until when

    def _find_uses(self) -> None:
        self.base: dict[Operation, Operation] = {}
        self.last: dict[Operation, int] = {}
        self.shared: set[Operation] = set()
        for i, step in enumerate(self.steps):
            if isinstance(step, Guard):
                self.last[self.holder(step.condition)] = i
                continue
            if isinstance(step, Blocked):
                for o in (*step.operands, *step.results):
                    self.last[self.holder(o)] = i
                continue
            of = step.args[0] if step.args else None
            if isinstance(of, Operation) and self._is_view(step) and step not in self.given:
                self.base[step] = self.holder(of)
                self.shared.add(self.holder(of))
            for o in (step, *step.operands()):
                self.last[self.holder(o)] = i
            if step not in self.base and not self.owns(step):
                self.shared.update(map(self.holder, step.operands()))  # it may give a view
        for y in self.program.outputs:
            if isinstance(y, Operation):
                self.last[self.holder(y)] = len(self.steps)

    def holder(self, op: Operation) -> Operation:
        """The operation that owns the memory of a result."""
        return self.base.get(op, op)

    @staticmethod
    def _is_view(op: Operation) -> bool:
        row = op.function
        if row is operator.getitem:
            return True
        if not isinstance(row, Primitive) or op.shape == ():
            return False
        return row.name in VIEWS or (row is ROW["getitem"] and is_basic(op.params["index"]))

    def owns(self, op: Any) -> bool:
        """Whether an operand's memory belongs to the run: it was computed in it, by no view."""
        if not isinstance(op, Operation) or op in self.base:
            return False
        return op in self.given or op.function in _FRESH or ufunc_of(op) is not None

    def dies(self, op: Operation, i: int) -> bool:
        """Whether nobody needs the memory of an operand after step i."""
        return self.owns(op) and self.last[op] == i and op not in self.shared

    def _find_lists(self) -> None:
        """Vectors from which several numbers are taken: as one list, that costs a tenth."""
        taken: dict[Operation, int] = {}
        for op in self.program.operations:
            if _is_item(op) and isinstance(op.args[0], Operation):
                taken[op.args[0]] = taken.get(op.args[0], 0) + 1
        self.lists = {op for op, n in taken.items() if n >= 2 and op.size <= 8 * n}
        self.listed: set[Operation] = set()

    def _count_uses(self) -> None:
        self.uses: dict[Operation, int] = {}
        self.depth: dict[Operation, int] = {}
        for step in self.steps:
            if isinstance(step, Guard):
                operands: Any = (step.condition,)
            else:
                operands = step.operands if isinstance(step, Blocked) else step.operands()
            twice = isinstance(step, Operation) and step.label == "square"
            for o in operands:
                self.uses[o] = self.uses.get(o, 0) + (2 if twice else 1)
        for y in self.program.outputs:
            if isinstance(y, Operation):
                self.uses[y] = self.uses.get(y, 0) + 1

    def _find_factors(self) -> None:
        """Products of short vectors of which only the sum is needed."""
        self.factors = {
            op for op in self.program.operations
            if op.label in ("multiply", "square") and self.uses.get(op) == 1 and op.dtype == FLOAT
            and len(op.shape or ()) == 1 and op.size <= _SMALL
            and all(isinstance(a, Operation) and a.shape == op.shape for a in op.args)
        }  # fmt: skip
        summed = {
            op.args[0] for op in self.program.operations
            if op.label == "sum" and op.shape == () and not op.params["keepdims"]
        }  # fmt: skip
        self.factors &= summed
        for i, step in enumerate(self.steps):  # a factor is read where the sum is, not before
            if isinstance(step, Operation) and step.label == "sum" and step.args[0] in self.factors:
                for factor in step.args[0].operands():
                    held = self.holder(factor)
                    self.last[held] = max(self.last[held], i)

    def in_line(self, op: Operation) -> bool:
        """Whether a number that is used once is written where it is used."""
        below = max((self.depth.get(o, 0) for o in op.operands()), default=0)
        self.depth[op] = below + 1 if self.uses.get(op) == 1 and below < _DEPTH else 0
        return self.depth[op] > 0

    # -- statements

    def emit(self, fail: str) -> list[str]:
        """All statements, with ``fail`` where a guard does not hold; gives the outputs' text."""
        for op in self.program.inputs:
            self.names[op] = op.name
        for i, step in enumerate(self.steps):
            if isinstance(step, Guard):
                self.guard(step, fail)
            elif isinstance(step, Blocked):
                self.blocked(step)
            else:
                self.operation(step, i)
        return self.outputs()

    def blocked(self, step: Blocked) -> None:
        """Call a region, which says in the end whether it has seen no NaN."""
        for op in step.results:
            self.names[op] = op.name
        operands = ", ".join(map(self.text, step.operands))
        results = "".join(f"{op.name}, " for op in step.results)
        self.source.line(f"{results}sure = {self.source.bind(step.run, 'region')}({operands})")
        if step.checked:
            self.source.line("if not sure: return UNSURE")

    def guard(self, guard: Guard, fail: str) -> None:
        """Leave where another branch would be taken."""
        name = self.text(guard.condition)
        if guard.kind == "bool":
            test = f"not {name}" if guard.value else name
        elif guard.kind == "int":
            test = f"{name} != {guard.value}"
        elif guard.kind == "shape":
            test = f"{name}.shape != {guard.value}"
        else:
            equal = self.source.bind(np.array_equal, "array_equal")
            test = f"not {equal}({name}, {self.text(guard.value)})"
        self.source.line(f"if {test}: {fail}")

    def text(self, x: Any) -> str:
        """An operand, as the statements write it."""
        if isinstance(x, Operation):
            return self.names[x]
        if type(x) is float or type(x) is int:
            return literal(x)
        if x is None or type(x) is bool or type(x) is str:
            return repr(x)
        if type(x) in (tuple, list) and any(True for _ in _operations(x)):
            entries = ", ".join(map(self.text, x))
            return f"[{entries}]" if type(x) is list else f"({entries},)"
        return self.source.bind(x)

    def operation(self, op: Operation, i: int) -> None:
        """The statement for one operation."""
        if op in self.factors:
            return
        name = self.names[op] = op.name
        expression = self.on_floats(op) if self._all_floats(op) else None
        if expression is not None and self.in_line(op):
            self.names[op] = f"({expression})"
            return
        if expression is None:
            expression = self.on_arrays(op, i)
            if expression is None:
                return
            if op.shape == () and op.dtype == FLOAT and not _is_item(op):
                expression = f"float({expression})"
        self.source.line(f"{name} = {expression}")

    @staticmethod
    def _all_floats(op: Operation) -> bool:
        return op.shape == () and all(map(is_float, op.args))

    def on_floats(self, op: Operation) -> str | None:
        """The expression for an operation on numbers."""
        row, args = op.function, [self.text(a) for a in op.args]
        if row in _COMPARISONS and len(args) == 2:
            return f"{args[0]} {_COMPARISONS[row]} {args[1]}"
        if not isinstance(row, Primitive) or op.dtype != FLOAT:
            return None
        if row is ROW["where"]:
            condition = op.params["condition"]
            if isinstance(condition, Operation) and condition.shape == ():
                return f"{args[0]} if {self.text(condition)} else {args[1]}"
            return None
        if not isinstance(row, Elementwise):
            return None
        if row is not ROW["ldexp"]:  # whose second argument is an integer
            args = [
                literal(float(a)) if type(a) is int and abs(a) < 2**53 else t
                for a, t in zip(op.args, args, strict=True)
            ]
        if row.name in _INFIX:
            return f"{args[0]} {_INFIX[row.name]} {args[1]}"
        if row.name in _IN_LINE:
            return _IN_LINE[row.name].format(*args)
        if row.on_floats is None:
            return None
        return f"{self.source.bind(row.on_floats, row.name)}({', '.join(args)})"

    def on_arrays(self, op: Operation, i: int) -> str | None:
        """The expression for any other operation; None if it wrote its statements itself."""
        row = op.function
        if row is None:
            return self.text(op.args[0])
        if row is operator.getitem:
            return f"{self.text(op.args[0])}[{op.args[1]}]"
        if row is assemble:
            entries = ", ".join(self.text(a) for a in op.args)
            return f"{self.source.bind(np.array, 'array')}(({entries},))"
        ufunc = ufunc_of(op)
        if ufunc is not None:
            return self.ufunc(op, ufunc, i)
        if isinstance(row, Primitive):
            special = _SPECIAL.get(row.name)
            if special is not None:
                expression = special(self, op, i)
                if expression != "":
                    return expression
        return self.general(op)

    def ufunc(self, op: Operation, ufunc: np.ufunc, i: int) -> str:
        """A ufunc, into the memory of an operand that dies here."""
        args = [self.operand(a, op) for a in op.args]
        if op.shape:
            for a in op.args:
                if self.dies(a, i) and a.shape == op.shape and a.dtype == op.dtype:
                    args.append(into(ufunc, self.text(a)))
                    break
        return f"{self.source.bind(ufunc, ufunc.__name__)}({', '.join(args)})"

    def operand(self, a: Any, op: Operation) -> str:
        """An operand of a ufunc on arrays: a number as an array made once, NumPy's quickest way."""
        if op.label == "power":
            return self.text(a)  # NumPy has ways of its own for some exponents
        if (type(a) is float or type(a) is int) and op.shape and op.dtype is not None:
            kinds: list[Any] = [b.dtype for b in op.args if isinstance(b, Operation) and b.shape]
            if kinds and kinds[0].kind == "f" and op.dtype == kinds[0]:
                shape = op.shape if op.size <= _SMALL else ()
                return self.constant(float(a), shape, op.dtype)
        return self.text(a)

    def constant(self, value: float, shape: tuple[int, ...], dtype: Any) -> str:
        """An array with that value everywhere."""
        key = f"{value!r}{shape}{dtype}"
        held = self.source._named.get((key, "full"))
        if held is None:
            held = self.source.bind(np.full(shape, value, dtype))
            self.source._named[key, "full"] = held
        return held

    def general(self, op: Operation) -> str:
        """A row by its own evaluation, a function of NumPy by a call."""
        function = op.function
        if isinstance(function, Primitive):
            function = function.evaluate
        fixed = {k: v for k, v in op.params.items() if not any(True for _ in _operations(v))}
        rest = [f"{k}={self.text(v)}" for k, v in op.params.items() if k not in fixed]
        if fixed:
            function = functools.partial(function, **fixed)
        args = [*map(self.text, op.args), *rest]
        return f"{self.source.bind(function, 'f' + op.name)}({', '.join(args)})"

    def outputs(self) -> list[str]:
        """The outputs' text: nothing that is shared, every array writable and of its own."""
        given: set[Operation] = set()
        texts = []
        for y in self.program.outputs:
            if not isinstance(y, Operation):
                text = self.text(y)
                texts.append(f"{text}.copy()" if isinstance(y, np.ndarray) else text)
                continue
            holder, text = self.holder(y), self.text(y)
            own = self.owns(holder)
            if y.shape and (holder in given or not own or not self._writable(y)):
                text = f"{text}.copy()"
            given.add(holder)
            texts.append(text)
        return texts

    def _writable(self, y: Operation) -> bool:
        while y in self.base and y not in self.given:
            if y.function is ROW["broadcast_to"]:
                return False
            y = y.args[0]
        return y in self.given or y.function in _FRESH or ufunc_of(y) is not None


def into(ufunc: np.ufunc, out: str) -> str:
    """``out`` as an argument: by position, which is quicker, where NumPy does not mind."""
    return f"out={out}" if ufunc in (np.maximum, np.minimum) else out


def _operations(x: Any) -> Any:
    from_tuple = type(x) in (tuple, list)
    if isinstance(x, Operation):
        yield x
    elif from_tuple:
        for e in x:
            yield from _operations(e)


def ufunc_of(op: Operation) -> np.ufunc | None:
    """The ufunc that an operation is, if it is one."""
    if isinstance(op.function, np.ufunc):
        return op.function if op.function.nout == 1 and not op.params else None
    if not isinstance(op.function, Elementwise):
        return None
    function = _UFUNCS.get(op.function.name, op.function.function)
    return function if isinstance(function, np.ufunc) else None


def _is_item(op: Operation) -> bool:
    """Whether this takes one number out of a vector."""
    if op.function is not ROW["getitem"] or op.shape != () or op.dtype != FLOAT:
        return False
    index = op.params["index"]
    x = op.args[0]
    shape = x.shape if isinstance(x, Operation) else np.shape(x)
    ndim = len(shape or ())
    return len(index) == 1 == ndim and type(index[0]) is int


# ------------------------------------------------------------- rows that have a short form


def _getitem(e: Emitter, op: Operation, i: int) -> str:
    x, index = op.args[0], op.params["index"]
    if _is_item(op):
        if x not in e.lists:
            return f"{e.text(x)}.item({index[0]})"
        if x not in e.listed:
            e.listed.add(x)
            e.source.line(f"{e.text(x)}_ = {e.text(x)}.tolist()")
        e.source.line(f"{e.names[op]} = {e.text(x)}_[{index[0]}]")
        return None  # type: ignore[return-value]
    shape = x.shape if isinstance(x, Operation) else np.shape(x)
    lead = len(shape or ()) - op.params["ndim"]
    full = (slice(None),) * lead + index
    if any(True for _ in _operations(full)):
        return f"{e.text(x)}[{e.text(full)}]"
    return f"{e.text(x)}[{e.source.bind(full[0] if len(full) == 1 else full)}]"


def _reshape(e: Emitter, op: Operation, i: int) -> str:
    return f"{_array(e, op.args[0])}.reshape({op.shape})" if op.shape else ""


def _array(e: Emitter, x: Any) -> str:
    """An operand as an array, were it a number."""
    if is_float(x):
        return f"{e.source.bind(np.array, 'array')}({e.text(x)})"
    return e.text(x)


def _broadcast(e: Emitter, op: Operation, i: int) -> str:
    x, ndim = op.args[0], op.params["ndim"]
    if not isinstance(x, Operation) or len(x.shape or ()) != ndim:
        return ""
    if op.size <= 4096 and op.dtype == FLOAT:  # np.broadcast_to takes 4 us
        zero = e.constant(-0.0, op.shape or (), op.dtype)
        return f"{e.source.bind(np.add, 'add')}({e.text(x)}, {zero})"
    return ""


def _transpose(e: Emitter, op: Operation, i: int) -> str:
    perm = op.params["perm"]
    shape = op.shape or ()
    lead = len(shape) - len(perm)
    if lead == 0 and perm == tuple(range(-1, -len(perm) - 1, -1)):
        return f"{e.text(op.args[0])}.T"
    axes = (*range(lead), *(p + len(shape) for p in perm))
    return f"{e.text(op.args[0])}.transpose({axes})"


def _reduction(name: str) -> Callable[[Emitter, Operation, int], str]:
    ufunc = {"sum": np.add, "max": np.maximum, "min": np.minimum}[name]

    def emit(e: Emitter, op: Operation, i: int) -> str:
        x, axes, keep = op.args[0], op.params["axes"], op.params["keepdims"]
        if not isinstance(x, Operation) or not x.shape:
            return ""
        reduce = e.source.bind(ufunc.reduce, f"{name}_")
        if len(axes) == len(x.shape) == 1 and not keep:
            if name == "sum" and x.dtype == FLOAT and x.size <= _SMALL:  # a third of the time
                if x in e.factors:
                    return f"{e.text(x.args[0])}.dot({e.text(x.args[-1])})"
                return f"{e.text(x)}.dot({e.constant(1.0, x.shape, FLOAT)})"
            return f"{reduce}({e.text(x)})"
        axis = axes[0] if len(axes) == 1 else axes
        return f"{reduce}({e.text(x)}, {axis}, None, None, {bool(keep)})"

    return emit


def _matmul(e: Emitter, op: Operation, i: int) -> str:
    a, b = op.args
    na, nb = op.params["ndims"]
    shapes = [x.shape if isinstance(x, Operation) else np.shape(x) for x in (a, b)]
    da, db = (len(s or ()) for s in shapes)
    if max(da, db) > 2 or not all(isinstance(x, (Operation, np.ndarray)) for x in (a, b)):
        return ""
    if db > nb and nb == 1:  # the directions of a vector's tangent are rows
        if na != 2:
            return "" if na != 1 else f"{e.text(b)}.dot({e.text(a)})"
        turned = (
            e.source.bind(np.ascontiguousarray(a.T))
            if isinstance(a, np.ndarray)
            else f"{e.text(a)}.T"
        )
        return f"{e.text(b)}.dot({turned})"
    if (da > na and na != 1) or db > nb:
        return ""
    return f"{e.text(a)}.dot({e.text(b)})"


def _scatter(e: Emitter, op: Operation, i: int) -> str | None:
    (ct,), index = op.args, op.params["index"]
    name = e.names[op]
    lead = len(op.shape or ()) - len(op.params["shape"])
    zeros = e.source.bind(np.zeros, "zeros")
    dtype = "" if op.dtype == FLOAT else f", {e.source.bind(op.dtype)}"
    if any(True for _ in _operations(index)):
        return ""
    e.source.line(f"{name} = {zeros}({op.shape}{dtype})")
    _add_into(e, name, op, ct, (slice(None),) * lead + index, first=True)
    return None


def _scatter_add(e: Emitter, op: Operation, i: int) -> str | None:
    buffer, ct = op.args
    index = op.params["index"]
    if any(True for _ in _operations(index)):
        return ""
    name = e.names[op]
    lead = len(op.shape or ()) - op.params["ndim"]
    own = isinstance(buffer, Operation) and e.dies(buffer, i) and buffer.dtype == op.dtype
    e.source.line(f"{name} = {e.text(buffer)}" + ("" if own else ".copy()"))
    _add_into(e, name, op, ct, (slice(None),) * lead + index, first=False)
    return None


def _add_into(e: Emitter, name: str, op: Operation, ct: Any, index: Any, first: bool) -> None:
    """``name[index] += ct``; into zeros, ``ct + 0.0``, so that -0 becomes 0 as in a sum."""
    at = e.source.bind(index[0] if len(index) == 1 else index)
    shape = ct.shape if isinstance(ct, Operation) else np.shape(ct)
    if not is_basic(index):
        e.source.line(f"{e.source.bind(np.add.at, 'add_at')}({name}, {at}, {e.text(ct)})")
        return
    view = np.broadcast_to(np.empty(()), op.shape or ())[index]
    if not view.ndim:
        e.source.line(f"{name}[{at}] += {e.text(ct)}")
        return
    add = e.source.bind(np.add, "add")
    if first and view.shape == shape:
        zero = e.constant(0.0, view.shape if view.size <= _SMALL else (), op.dtype)
        e.source.line(f"{add}({e.text(ct)}, {zero}, {name}[{at}])")
        return
    e.source.line(f"{name}_ = {name}[{at}]")
    e.source.line(f"{add}({name}_, {e.text(ct)}, {name}_)")


def _where(e: Emitter, op: Operation, i: int) -> str:
    shapes = [x.shape if isinstance(x, Operation) else np.shape(x) for x in op.args]
    if [len(s or ()) for s in shapes] != list(op.params["ndims"]) or not op.shape:
        return ""
    condition = e.text(op.params["condition"])
    args = [
        e.operand(a, op) if is_float(a) and not isinstance(a, Operation) else e.text(a)
        for a in op.args
    ]
    return f"{e.source.bind(np.where, 'where')}({condition}, {', '.join(args)})"


_SPECIAL: dict[str, Callable[[Emitter, Operation, int], str | None]] = {
    "getitem": _getitem, "reshape": _reshape, "broadcast_to": _broadcast, "transpose": _transpose,
    "sum": _reduction("sum"), "max": _reduction("max"), "min": _reduction("min"),
    "matmul": _matmul, "scatter": _scatter, "scatter_add": _scatter_add, "where": _where,
}  # fmt: skip

#: what gives an array of its own, that can be written to
_FRESH = {
    assemble, *(ROW[n] for n in ("matmul", "scatter", "scatter_add", "sum", "max", "min", "where",
                              "concatenate")),
}  # fmt: skip

__all__ = ["Emitter", "Source", "is_float", "substituted", "ufunc_of"]
