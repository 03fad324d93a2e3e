"""What is done to a program before it is compiled: small passes, each from program to program.

Every one keeps the result: to the bit, but for the sign of a zero that a zero tangent gives.
An identity that changes an infinity, a NaN or a negative zero is none: ``x * 0`` stays, and so
does ``x + 0``, which turns -0 to 0; ``x + -0`` and ``x * 1`` go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Elementwise, Primitive
from dualad.program import Guard, Operation, Program, substituted
from dualad.rules.linear import is_basic

ROW = Primitive.table
Simplify = Callable[[Operation], Any]


class Zeros:
    """What a zero tangent gives whatever the partial: zeros, which add nothing to others."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def settled(self) -> Any:
        """The value, where it is needed after all."""
        return np.zeros(self.shape, self.dtype) if self.shape else self.dtype.type(0)


def operation(
    like: Operation, function: Any, args: tuple[Any, ...], params: Any = None
) -> Operation:
    """Another operation that gives what this one gives."""
    new = Operation.__new__(Operation)
    new.function = function
    new.args = args
    new.params = params or {}
    new.value = None
    new.name = ""
    new.shape, new.dtype = like.shape, like.dtype
    return new


def rewrite(program: Program, simplify: Simplify) -> Program:
    """Each operation, with what became of its operands, replaced by what ``simplify`` makes of it.

    That is an operation (itself, one before it, or a new one), or a constant.
    """
    became: dict[Operation, Any] = {op: op for op in program.inputs}
    asked: set[Any] = set()
    steps: list[Operation | Guard] = []
    there: set[Operation] = set(program.inputs)

    def current(op: Operation) -> Any:
        return became[op]

    for step in program.steps:
        if isinstance(step, Guard):
            condition = current(step.condition)
            question = (condition, step.kind, key_of(step.value))
            if isinstance(condition, Operation) and question not in asked:
                asked.add(question)
                steps.append(Guard(condition, step.kind, step.value))
            continue
        args = substituted(step.args, Operation, current)
        params = substituted(step.params, Operation, current)
        new: Any = operation(step, step.function, args, params)
        new = simplify(new)
        if isinstance(new, Operation):
            _place(new, steps, there)
        became[step] = new
    outputs = substituted(program.outputs, Operation, current)
    return Program(program.inputs, steps, outputs, program.rebuild, program.name)


def _place(op: Operation, steps: list[Any], there: set[Operation]) -> None:
    """Put an operation at the end, after those of its operands that are new as well."""
    if op in there:
        return
    for operand in op.operands():
        _place(operand, steps, there)
    steps.append(op)
    there.add(op)


# ----------------------------------------------------------------------- constant folding


def fold_constants(program: Program) -> Program:
    """Operations on constants alone are done now."""

    def simplify(op: Operation) -> Any:
        if next(op.operands(), None) is not None or _holds_zeros(op.args):
            return op
        if op.function is None or op.shape is None:
            return op.args[0] if op.function is None and op.args else op
        with np.errstate(all="ignore"):
            return op.evaluate(lambda o: None)

    return rewrite(program, simplify)


def _holds_zeros(x: Any) -> bool:
    if type(x) is tuple or type(x) is list:
        return any(map(_holds_zeros, x))
    return isinstance(x, Zeros)


# ---------------------------------------------------------------- common subexpressions


def share_common(program: Program) -> Program:
    """What is computed twice is computed once."""
    first: dict[Any, Operation] = {}

    def simplify(op: Operation) -> Any:
        return first.setdefault((op.function, key_of(op.args), key_of(op.params), op.dtype), op)

    return rewrite(program, simplify)


def key_of(x: Any) -> Any:
    """Something hashable that is equal for equal arguments (to the sign of a zero)."""
    if isinstance(x, Operation):
        return x
    if type(x) is tuple or type(x) is list:
        return (type(x), *map(key_of, x))
    if type(x) is dict:
        return tuple((k, key_of(v)) for k, v in x.items())
    if isinstance(x, slice):
        return (slice, x.start, x.stop, x.step)
    if isinstance(x, np.ndarray):
        return (x.shape, x.dtype, x.tobytes()) if x.nbytes <= 4096 else id(x)
    if isinstance(x, Zeros):
        return (Zeros, x.shape, x.dtype)
    if isinstance(x, (float, complex, np.inexact)):
        return (type(x), repr(x))
    try:
        hash(x)
    except TypeError:
        return id(x)
    return (type(x), x)


# ----------------------------------------------------------------------------- identities


def apply_identities(program: Program) -> Program:
    """Algebra that is exact in floating point."""
    return rewrite(program, _identity)


def _identity(op: Operation) -> Any:
    row = op.function
    if not isinstance(row, Primitive):
        return op
    if isinstance(row, Elementwise):
        args = list(op.args)
        for i, a in enumerate(args):  # one after the other: what one gave up, another must keep
            args[i] = _unspread(a, i, args, op.shape)
        if any(a is not b for a, b in zip(args, op.args, strict=True)):
            op = operation(op, row, tuple(args))
    rule = _RULES.get(row.name)
    return op if rule is None else rule(op)


def _unspread(a: Any, i: int, args: list[Any], wanted: Any) -> Any:
    """An operand before it was broadcast, if the others have the result's shape anyway."""
    if not isinstance(a, Operation) or not (_of(a, "broadcast_to") or _of(a, "reshape")):
        return a
    inner = a.args[0]
    shape = _shape(inner)
    others = [_shape(b) for j, b in enumerate(args) if j != i]
    if _of(a, "broadcast_to"):
        same = len(shape) == a.params["ndim"]
    else:  # axes of length one in front are what broadcasting puts there
        have = a.shape or ()
        same = have == (1,) * (len(have) - len(shape)) + shape
    if not same or _dtype(inner) != a.dtype or np.broadcast_shapes(*others, shape) != wanted:
        return a
    return _unspread(inner, i, args, wanted)


def _shape(x: Any) -> tuple[int, ...]:
    return (x.shape or ()) if isinstance(x, (Operation, Zeros)) else np.shape(x)


def _dtype(x: Any) -> Any:
    return x.dtype if isinstance(x, Operation) else getattr(x, "dtype", np.dtype(np.float64))


def _same(x: Any, op: Operation) -> bool:
    """Whether x can stand for the operation."""
    return isinstance(x, Operation) and x.shape == op.shape and x.dtype == op.dtype


def _everywhere(x: Any, value: float) -> bool:
    """Whether x is a constant with that value in every entry."""
    if isinstance(x, (Operation, Zeros, bool, np.bool_, str)):
        return False
    if isinstance(x, np.ndarray) and x.dtype.kind not in "fc":
        return False
    return bool(np.all(x == value))


def _is_zero(x: Any) -> bool:
    return isinstance(x, Zeros) or _everywhere(x, 0.0)


def _number(x: Any) -> bool:
    return type(x) is float or type(x) is int


def _of(x: Any, name: str) -> bool:
    return isinstance(x, Operation) and x.function is ROW[name]


def _product(op: Operation) -> Any:
    a, b = op.args
    for x, one in ((a, b), (b, a)):
        if _same(x, op) and _everywhere(one, 1.0):
            return x
    if op.function is ROW["scaled"]:
        if _is_zero(b):
            return Zeros(op.shape or (), op.dtype)
        return _product(operation(op, ROW["multiply"], (a, b)))
    if _of(a, "negative") and _of(b, "negative"):
        return operation(op, ROW["multiply"], (a.args[0], b.args[0]))
    for x, c in ((a, b), (b, a)):
        if _of(x, "negative") and x.shape and isinstance(c, Operation) and c.shape == ():
            opposite = operation(c, ROW["negative"], (c,))  # of one number, not of all entries
            return operation(op, ROW["multiply"], (opposite, x.args[0]))
        if not _number(c):
            continue
        if _of(x, "negative") and _same(x.args[0], x):
            return operation(op, ROW["multiply"], (x.args[0], -c))
        if _of(x, "multiply") and abs(c) >= 1 and op.dtype == np.float64:
            # 2**k (k >= 0) times x is exact, or overflows as the whole does.
            for y, d in (x.args, x.args[::-1]):
                doubles = _number(d) and d >= 1 and math.frexp(d)[0] == 0.5
                if doubles and _same(y, op) and math.isfinite(c * d):
                    return operation(op, ROW["multiply"], (y, float(c * d)))
    return op


def _sum_of_two(op: Operation) -> Any:
    a, b = op.args
    if (
        _of(a, "sum")
        and _of(a.args[0], "negative")
        and type(b) is float
        and b == 0.0
        and not _is_negative_zero(b)
    ):
        # 0 - s, which is no negative zero either
        return operation(
            op, ROW["subtract"], (b, operation(a, ROW["sum"], a.args[0].args, a.params))
        )
    for x, zero in ((a, b), (b, a)):
        if _same(x, op) and (isinstance(zero, Zeros) or _is_negative_zero(zero)):
            return x
    if isinstance(a, Zeros) and isinstance(b, Zeros):
        return Zeros(op.shape or (), op.dtype)
    if _of(b, "negative"):
        return operation(op, ROW["subtract"], (a, b.args[0]))
    if _of(a, "negative"):
        return operation(op, ROW["subtract"], (b, a.args[0]))
    return op


def _is_negative_zero(x: Any) -> bool:
    return type(x) is float and x == 0.0 and math.copysign(1.0, x) < 0


def _difference(op: Operation) -> Any:
    a, b = op.args
    zero = isinstance(b, Zeros) or (type(b) is float and b == 0.0 and math.copysign(1.0, b) > 0)
    if zero and _same(a, op):
        return a
    if isinstance(a, Zeros) and _same(b, op):
        return _negative(operation(op, ROW["negative"], (b,)))
    if _of(b, "negative"):
        return operation(op, ROW["add"], (a, b.args[0]))
    return op


def _negative(op: Operation) -> Any:
    (x,) = op.args
    if isinstance(x, Zeros):
        return x
    if _of(x, "negative"):
        return x.args[0] if isinstance(x.args[0], Operation) else op
    if _of(x, "multiply") or _of(x, "divide"):
        for i in (0, 1) if x.function is ROW["multiply"] else (0,):
            if _number(x.args[i]):
                return operation(op, x.function, (*x.args[:i], -float(x.args[i]), *x.args[i + 1 :]))
    return op


def _power(op: Operation) -> Any:
    x, exponent = op.args
    if _number(exponent) and op.dtype == np.float64 and _same(x, op):
        if exponent == 2:
            return operation(op, ROW["square"], (x,))
        if exponent == 1:
            return x
    return op


def _rearranged(op: Operation) -> Any:
    x = op.args[0]
    if isinstance(x, Zeros):
        return Zeros(op.shape or (), op.dtype)
    if _same(x, op):
        return x
    spreads = op.function is ROW["broadcast_to"]
    if not spreads and (_of(x, "reshape") or _of(x, "expand_dims")):
        before = x.args[0]
        if _same(before, op):
            return before
        if isinstance(before, Operation):
            return operation(
                op, ROW["reshape"], (before,), {"shape": op.shape, "ndim": len(_shape(before))}
            )
    if op.function is ROW["expand_dims"]:
        return operation(op, ROW["reshape"], (x,), {"shape": op.shape, "ndim": len(_shape(x))})
    return op


def _transposed(op: Operation) -> Any:
    x, perm = op.args[0], op.params["perm"]
    if isinstance(x, Zeros):
        return Zeros(op.shape or (), op.dtype)
    n = len(perm)
    if perm == tuple(range(-n, 0)) and _same(x, op):
        return x
    return op


def _picked(op: Operation) -> Any:
    x = op.args[0]
    if isinstance(x, Zeros):
        return Zeros(op.shape or (), op.dtype)
    index = op.params["index"]
    whole = _same(x, op) and all(type(i) is slice or i is Ellipsis for i in index)
    if whole and all(i is Ellipsis or i.step in (None, 1) for i in index):
        return x  # nothing is left out, so nothing is picked
    if isinstance(x, Operation) and op.size == x.size and all(_leaves_all(i) for i in index):
        return operation(op, ROW["reshape"], (x,), {"shape": op.shape, "ndim": len(_shape(x))})
    return _vector_product(op, x)


def _leaves_all(i: Any) -> bool:
    return i is None or i is Ellipsis or (type(i) is slice and i == slice(None))


def _vector_product(op: Operation, x: Any) -> Any:
    """Matrix times columns, one a direction, and the columns dropped: one product of matrices."""
    if not _of(x, "matmul") or op.params["index"] != (Ellipsis, 0) or op.dtype != np.float64:
        return op
    a, columns = x.args
    if not _of(columns, "reshape") or len(_shape(a)) != 2 or len(x.shape or ()) != 3:
        return op
    rows = columns.args[0]
    if len(_shape(rows)) != 2 or columns.shape != (*_shape(rows), 1):
        return op
    if isinstance(a, Operation):
        turned: Any = Operation.__new__(Operation)
        turned.function, turned.args, turned.params = ROW["transpose"], (a,), {"perm": (-1, -2)}
        turned.value, turned.name, turned.dtype = None, "", a.dtype
        turned.shape = _shape(a)[::-1]
    else:
        turned = np.ascontiguousarray(a.T)
    return operation(op, ROW["matmul"], (rows, turned), {"ndims": (2, 2)})


def _kept(op: Operation) -> Any:
    return op.args[0] if _same(op.args[0], op) else op


def _total(op: Operation) -> Any:
    x = op.args[0]
    if isinstance(x, Zeros):
        return Zeros(op.shape or (), op.dtype)
    return x if _same(x, op) and not op.params["axes"] else op


def _scattered(op: Operation) -> Any:
    ct = op.args[0]
    if isinstance(ct, Zeros):
        return Zeros(op.shape or (), op.dtype)
    if (
        isinstance(ct, Operation)
        and ct.size == op.size
        and all(map(_leaves_all, op.params["index"]))
    ):
        there = operation(op, ROW["reshape"], (ct,), {"shape": op.shape, "ndim": len(_shape(ct))})
        return operation(op, ROW["add"], (_rearranged(there), 0.0))  # -0 becomes 0 in a sum
    return op


def _scattered_into(op: Operation) -> Any:
    buffer, ct = op.args
    if isinstance(ct, Zeros):
        return buffer
    if isinstance(buffer, Zeros):
        ndim = op.params["ndim"]
        shape = (op.shape or ())[len(op.shape or ()) - ndim :]
        lead = len(op.shape or ()) - ndim
        return operation(
            op, ROW["scatter"], (ct,),
            {"index": op.params["index"], "shape": shape, "out_ndim": len(_shape(ct)) - lead},
        )  # fmt: skip
    return op


_RULES: dict[str, Simplify] = {
    "multiply": _product, "scaled": _product, "add": _sum_of_two, "subtract": _difference,
    "negative": _negative, "power": _power, "reshape": _rearranged, "expand_dims": _rearranged,
    "broadcast_to": _rearranged, "transpose": _transposed, "getitem": _picked, "astype": _kept,
    "real": _kept, "positive": _kept, "sum": _total, "scatter": _scattered,
    "scatter_add": _scattered_into,
}  # fmt: skip


def settle_zeros(program: Program) -> Program:
    """Zeros that did meet something else are values after all."""

    def simplify(op: Operation) -> Any:
        if not _holds_zeros(op.args):
            return op
        return operation(op, op.function, substituted(op.args, Zeros, Zeros.settled), op.params)

    settled = rewrite(program, simplify)
    settled.outputs = [y.settled() if isinstance(y, Zeros) else y for y in settled.outputs]
    return settled


# --------------------------------------------------------------------- scattered numbers


def assemble(*entries: Any, shape: tuple[int, ...]) -> Any:
    """An array of numbers computed one by one."""
    return np.array(entries, np.float64).reshape(shape)


def assemble_scatters(program: Program) -> Program:
    """A chain of numbers added into the entries of zeros: added as numbers, and put there once."""
    uses: dict[Operation, int] = {}
    for step in program.steps:
        for o in [step.condition] if isinstance(step, Guard) else step.operands():
            uses[o] = uses.get(o, 0) + 1
    for y in program.outputs:
        if isinstance(y, Operation):
            uses[y] = uses.get(y, 0) + 1
    chains: dict[Operation, list[tuple[int, Any]]] = {}
    inside: set[Operation] = set()
    for op in program.operations:
        entry = _entry(op)
        if entry is None:
            continue
        if op.function is ROW["scatter"]:
            chains[op] = [entry]
        elif isinstance(op.args[0], Operation) and op.args[0] in chains and uses[op.args[0]] == 1:
            chains[op] = [*chains.pop(op.args[0]), entry]
            inside.add(op.args[0])
    steps: list[Operation | Guard] = []
    for step in program.steps:
        if isinstance(step, Guard) or step not in chains:
            if step not in inside:
                steps.append(step)
            continue
        sums: list[Any] = [0.0] * step.size
        for i, ct in chains[step]:
            if isinstance(sums[i], float) and isinstance(ct, float):
                sums[i] += ct
                continue
            total = Operation(ROW["add"], (sums[i], ct), {}, 0.0)
            steps.append(total)
            sums[i] = total
        # The operation that others refer to stays the one it was, and does another thing.
        step.function, step.args, step.params = assemble, tuple(sums), {"shape": step.shape}
        steps.append(step)
    return Program(program.inputs, steps, program.outputs, program.rebuild, program.name)


def _entry(op: Operation) -> tuple[int, Any] | None:
    """The place and the number, if this scatters one number into a small vector."""
    if op.function is not ROW["scatter"] and op.function is not ROW["scatter_add"]:
        return None
    index, ct = op.params["index"], op.args[-1]
    if len(op.shape or ()) != 1 or op.size > 1000 or op.dtype != np.float64 or len(index) != 1:
        return None
    if type(index[0]) is not int or _shape(ct) != () or _dtype(ct) != np.float64:
        return None
    return index[0] % op.size, ct


def without_values(program: Program) -> Program:
    """The program, without the values that it was traced at: they may be large."""
    for op in (*program.inputs, *program.operations):
        op.value = None
    return program


PASSES: tuple[Callable[[Program], Program], ...] = (
    without_values, fold_constants, share_common, apply_identities, share_common, apply_identities,
    share_common, settle_zeros, fold_constants, assemble_scatters,
)  # fmt: skip


def optimised(program: Program) -> Program:
    """The program after all passes."""
    for one in PASSES:
        program = one(program)
    return program


__all__ = [
    "PASSES", "apply_identities", "assemble", "assemble_scatters", "fold_constants", "is_basic",
    "optimised", "settle_zeros", "share_common",
]  # fmt: skip
