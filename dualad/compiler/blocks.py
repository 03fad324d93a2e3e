"""Large arrays in pieces: a run of operations is done on one cache-sized block after another.

NumPy writes each intermediate result to memory and reads it back.  Of operations that act row
by row (along the first axis), a *region* is made: one function that does all of them to a
block of rows, in buffers that stay in the cache.  Blocks go to two threads, which NumPy lets
run at once.  What leaves a region is written to an array in full, summed up over the blocks
(in their order, whatever thread did them), or scattered into slices of a longer array.

A program becomes layers: operations on anything, then a region, then operations that need its
results, then a region.  A block never waits for another one.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dualad.compiler.emit import FLOAT, Blocked, Source, into, literal, ufunc_of
from dualad.compiler.passes import ROW
from dualad.primitive import Elementwise
from dualad.program import Guard, Operation, Program

#: results with fewer entries are left as they are
LARGE = 2**16

#: what the buffers of a block take together, of a cache of a megabyte; and its fewest rows
CACHE, ROWS = 2**20, 16

_REDUCTIONS: dict[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}
#: recomputed rather than kept, where two regions need them
_CHEAP = {"add", "subtract", "multiply", "negative", "square"}


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _load() -> float:
    """How many processes wanted a processor in the last minute."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


_lock = threading.Lock()
_helper: list[ThreadPoolExecutor] = []


def helper() -> ThreadPoolExecutor | None:
    """The second thread, started when it is first wanted; None where no processor is free.

    Two threads hand Python's lock to one another after every operation: on a machine that is
    busy each hand-over waits for the other thread's turn, and one thread alone is faster.
    """
    processors = _processors()
    if processors < 2 or _load() > processors + 0.5:
        return None
    with _lock:
        if not _helper:
            _helper.append(
                ThreadPoolExecutor(1, "dualad", initializer=np.seterr, initargs=("ignore",))
            )
    return _helper[0]


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_helper.clear)


# --------------------------------------------------------------------------- what is a row


def rows_of(program: Program) -> int:
    """The number of rows of the largest results: the axis along which blocks are cut."""
    weight: dict[int, int] = {}
    for op in program.operations:
        if op.shape and op.size >= LARGE and op.shape[0] >= 16:
            weight[op.shape[0]] = weight.get(op.shape[0], 0) + op.size
    return max(weight, key=lambda n: weight[n], default=0)


def _shape(x: Any) -> tuple[int, ...]:
    return (x.shape or ()) if isinstance(x, Operation) else np.shape(x)


def _is_rows(x: Any, n: int) -> bool:
    shape = _shape(x)
    return bool(shape) and shape[0] == n


class Step:
    """How one operation acts by rows: which operands are cut into blocks, and what comes out."""

    __slots__ = ("cut", "kind")

    def __init__(self, kind: str, cut: tuple[Any, ...]) -> None:
        self.kind = kind  # "rows", "total" or "scatter"
        self.cut = {x for x in cut if isinstance(x, Operation)}  # the operands that are cut


def by_rows(op: Operation, n: int) -> Step | None:
    """How an operation acts by rows of n; None if it does not."""
    shape: tuple[int, ...] = op.shape or ()
    row = op.function
    if row is ROW["scatter"] or row is ROW["scatter_add"]:
        return Step("scatter", (op.args[-1],)) if _slice_of(op, n) is not None else None
    if ufunc_of(op) is not None or isinstance(row, Elementwise) or row is ROW["where"]:
        if not _is_rows(op, n) or any(
            v for k, v in op.params.items() if k not in ("condition", "ndims")
        ):
            return None
        operands = (*op.args, *([op.params["condition"]] if "condition" in op.params else ()))
        if row is ROW["where"] and [len(_shape(a)) for a in op.args] != list(op.params["ndims"]):
            return None
        return Step(
            "rows", tuple(a for a in operands if len(_shape(a)) == len(shape) and _is_rows(a, n))
        )
    x = op.args[0] if op.args else None
    if not isinstance(x, Operation) or not _is_rows(x, n):
        return None
    if row in (ROW["sum"], ROW["max"], ROW["min"]):
        ndim = len(_shape(x))
        if -ndim not in op.params["axes"]:
            return Step("rows", (x,)) if _is_rows(op, n) and op.params["axes"] else None
        return Step("total", (x,)) if op.dtype == FLOAT else None
    if row is ROW["reshape"]:
        return Step("rows", (x,)) if _is_rows(op, n) else None
    return None


def _slice_of(op: Operation, n: int) -> int | None:
    """Where the slice begins, if n rows are scattered into a slice of a longer array."""
    index, ct = op.params["index"], op.args[-1]
    shape: tuple[int, ...] = op.shape or ()
    if len(index) != 1 or type(index[0]) is not slice or not _is_rows(ct, n):
        return None
    ndim = op.params["ndim"] if "ndim" in op.params else len(op.params["shape"])
    start, stop, step = index[0].indices(shape[0])
    if ndim != len(shape) or step != 1 or stop - start != n or _shape(ct)[1:] != shape[1:]:
        return None
    return start if shape[0] - n < 1000 and op.dtype == FLOAT else None


# -------------------------------------------------------------------------------- regions


class Region:
    """Operations that are done to one block of rows after another."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.operations: list[Operation] = []
        self.outputs: list[Operation] = []  # results that others need in full
        self.totals: list[Operation] = []  # reductions over the rows
        self.scatters: dict[Operation, list[tuple[int, Any]]] = {}  # result -> (offset, rows)
        self.cut: list[Operation] = []  # operands from outside, cut into blocks
        self.whole: list[Operation] = []  # operands from outside, as they are
        self.check: set[Operation] = set()  # results in which NaN is looked for

    @property
    def results(self) -> list[Operation]:
        """What the region gives, in the order in which it is given."""
        return [*self.outputs, *self.scatters, *self.totals]


def layers(program: Program) -> list[Any]:
    """The steps of a program, with regions among them; the steps alone where nothing is large."""
    n = rows_of(program)
    if not n:
        return list(program.steps)
    return _Layering(program, n).layers


class _Layering:
    """Gives every operation a place: ``2 k`` before region k, ``2 k + 1`` in region k."""

    def __init__(self, program: Program, n: int) -> None:
        self.program, self.n = program, n
        self.chain: dict[Operation, list[Operation]] = {}
        self.uses: dict[Operation, list[Any]] = {}
        for step in program.steps:
            for o in [step.condition] if isinstance(step, Guard) else step.operands():
                self.uses.setdefault(o, []).append(step)
        for y in program.outputs:
            if isinstance(y, Operation):
                self.uses.setdefault(y, []).append(None)
        self.step: dict[Operation, Step] = {}
        for op in program.operations:
            how = by_rows(op, n)
            if how is not None and (how.kind != "scatter" or self._continues(op)):
                self.step[op] = how
        self.place: dict[Any, int] = dict.fromkeys(program.inputs, 0)
        for step_ in program.steps:
            self._put(step_)
        self._sink()
        self.layers = self._assembled()

    def _continues(self, op: Operation) -> bool:
        """Whether a scatter begins a chain, or goes on with one whose result nobody else needs."""
        if op.function is ROW["scatter"]:
            self.chain[op] = [op]
            return True
        before = op.args[0]
        if before in self.chain and len(self.uses[before]) == 1:
            self.chain[op] = [*self.chain.pop(before), op]
            return True
        return False

    def _put(self, step: Any) -> None:
        operands = [step.condition] if isinstance(step, Guard) else list(step.operands())
        how = None if isinstance(step, Guard) else self.step.get(step)
        place = 0
        for o in operands:
            before = self.place[o]
            if before % 2 == 0:
                place = max(place, before)
            elif how is None:
                place = max(place, before + 1)
            else:
                along = self.step[o].kind == "rows" and o in how.cut
                chained = how.kind == "scatter" and self.step[o].kind == "scatter"
                place = max(place, before if along or chained else before + 1)
        if how is not None:
            place |= 1
        self.place[step] = place
        if how is not None and how.kind == "scatter":
            for o in self._links(step):
                self.place[o] = place

    def _links(self, op: Operation) -> Iterator[Operation]:
        """The scatters before this one in its chain."""
        for links in self.chain.values():
            if op in links:
                yield from links[: links.index(op)]

    def _sink(self) -> None:
        """Put what only a later region needs into that region: then it is never in memory."""
        for op in reversed(self.program.operations):
            how = self.step.get(op)
            if how is None or how.kind != "rows":
                continue
            users = self.uses.get(op, [])
            if not users or None in users:
                continue
            first = min(self.place[u] for u in users)
            kept = [o for o in op.operands() if self.place.get(o, 0) % 2 and not self._again(o)]
            if len(set(kept)) > 1:
                continue  # more would be kept than is saved
            along = all(u in self.step and op in self.step[u].cut for u in users)
            if first % 2 and along and first > self.place[op]:
                self.place[op] = first

    def _assembled(self) -> list[Any]:
        places: dict[int, list[Any]] = {}
        for step in self.program.steps:
            places.setdefault(self.place[step], []).append(step)
        # A region to which nothing large is left is none.
        self.regions = {
            k for k, here in places.items() if k % 2 and max(o.size for o in here) >= LARGE
        }
        out: list[Any] = []
        for k in sorted(places):
            if k not in self.regions:
                out += places[k]
                continue
            region = self._region(places[k], k)
            checked = frozenset(region.check.intersection((*region.outputs, *region.scatters)))
            operands = (*region.cut, *region.whole)
            out.append(Blocked(operands, tuple(region.results), checked, Runner(region)))
        return out

    def _region(self, here: list[Operation], k: int) -> Region:
        region = Region(self.n)
        for op in here:
            self._take(region, op, k, set(here))
        for op in here:
            how = self.step[op]
            if how.kind == "total":
                region.totals.append(op)
            elif how.kind == "scatter":
                if op in self.chain:
                    region.scatters[op] = [
                        (_slice_of(link, self.n) or 0, link.args[-1]) for link in self.chain[op]
                    ]
            elif any(u is None or not self._inside(op, u, k) for u in self.uses.get(op, [])):
                region.outputs.append(op)
        for y in self.program.outputs:
            if isinstance(y, Operation) and y.dtype == FLOAT:
                region.check.add(y)
        return region

    def _inside(self, op: Operation, user: Any, k: int) -> bool:
        """Whether a user has the rows at hand: it is in this region, or computes them again."""
        if user not in self.step or op not in self.step[user].cut:
            return False
        return self.place[user] == k or (self.place[user] in self.regions and self._again(op))

    def _again(self, op: Operation) -> bool:
        """Whether rows are computed again, in every region that needs them."""
        if op.label not in _CHEAP:
            return False
        return not any(self.place.get(o, 0) % 2 for o in op.operands())

    def _take(self, region: Region, op: Operation, k: int, here: set[Operation]) -> None:
        """Add an operation to a region, after the cheap ones that are computed again."""
        how = self.step[op]
        for o in op.operands():
            if o in here or o in region.operations:
                continue
            if o in how.cut and o in self.step and self.place[o] % 2 and self._again(o):
                self._take(region, o, k, here)
                continue
            if how.kind == "scatter" and o is op.args[0] and len(op.args) == 2:
                continue
            into = region.cut if o in how.cut else region.whole
            if o not in into:
                into.append(o)
        region.operations.append(op)


# ------------------------------------------------------------------------------ their code


class Runner:
    """A region as a function of the arrays that it needs: gives its results in full."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.offsets = [o for links in region.scatters.values() for o, _ in links] or [0]
        self.low, self.high = min(self.offsets), max(self.offsets)
        self.halo = self.high - self.low
        self.end = max([region.n, *(_shape(op)[0] for op in region.scatters)])
        self.local = threading.local()
        self.namespace: dict[str, Any] = {}
        self.function = self._written()

    def buffers(self) -> list[Any]:
        """This thread's buffers, made once."""
        try:
            made: list[Any] = self.local.buffers
        except AttributeError:
            rows = self.block + self.halo
            made = self.local.buffers = [
                np.empty((rows, *rest), dtype) for rest, dtype in self.slots
            ]
        return made

    def __call__(self, *operands: Any) -> Any:
        region = self.region
        out = [np.empty(op.shape or (), op.dtype) for op in (*region.outputs, *region.scatters)]
        parts: list[Any] = [None] * len(self.starts)
        blocks = iter(range(len(self.starts)))

        def work() -> None:
            buffers = self.buffers()
            for i in blocks:
                parts[i] = self.function(self.starts[i], operands, out, buffers)

        pool = helper() if len(self.starts) > 1 else None
        other = pool.submit(work) if pool is not None else None
        try:
            work()
        finally:
            if other is not None and not other.cancel():
                other.result()
        totals = [self._combined(op, [p[j] for p in parts]) for j, op in enumerate(region.totals)]
        return (*out, *totals, all(p[-1] == p[-1] for p in parts))

    @staticmethod
    def _combined(op: Operation, parts: list[Any]) -> Any:
        total = _REDUCTIONS[op.label].reduce(np.array(parts), axis=0)
        return float(total) if op.shape == () else total

    # -- the function of one block

    def _written(self) -> Any:
        region = self.region
        source = Source(self.namespace)
        names: dict[Any, str] = {}
        for j, op in enumerate(region.cut):
            names[op] = f"r{j}"
            source.line(f"r{j} = operands[{j}][lo:hi]")
        for j, op in enumerate(region.whole):
            names[op, "whole"] = f"w{j}"
            source.line(f"w{j} = operands[{len(region.cut) + j}]")
        written = {op: f"out[{j}]" for j, op in enumerate((*region.outputs, *region.scatters))}
        writer = _Writer(self, source, names, written)
        writer.write()
        self.slots = writer.slots
        row = sum(math.prod(rest) * dtype.itemsize for rest, dtype in self.slots)
        row += 8 * len(region.scatters) + sum(op.size // region.n * 8 for op in region.outputs)
        self.block = max(ROWS, CACHE // max(row, 8))
        self.starts = range(0, self.end, self.block)
        head = [
            "def block(start, operands, out, buffers):",
            f"    stop = min(start + {self.block}, {self.end})",
            f"    lo = max(0, start - {self.high})",
            f"    hi = min({region.n}, stop - {self.low})",
            "    rows = hi - lo",
            *(f"    b{j} = buffers[{j}][:rows]" for j in range(len(self.slots))),
        ]
        if self.halo:  # rows that two blocks compute belong to one of them
            head.append(f"    last = stop if stop < {self.end} else {region.n}")
            head.append(f"    own = slice(min(start, {region.n}) - lo, last - lo)")
        text = "\n    ".join(["\n".join(head), *source.lines])
        exec(text, self.namespace)
        self.source = text
        return self.namespace["block"]


class _Writer:
    """Writes the statements of a block, handing out buffers as results are born and die."""

    def __init__(self, runner: Runner, source: Source, names: Any, written: Any) -> None:
        self.region, self.source = runner.region, source
        self.halo = runner.halo
        self.names, self.written = names, written
        self.slots: list[tuple[tuple[int, ...], Any]] = []
        self.free: list[int] = []
        self.slot: dict[Operation, int] = {}
        self.root: dict[Operation, Operation] = {}
        self.last: dict[Operation, int] = {}
        ops = self.region.operations
        for i, op in enumerate(ops):
            if op.function is ROW["reshape"]:
                of = op.args[0]
                self.root[op] = self.root.get(of, of)
            for o in op.operands():
                self.last[self.root.get(o, o)] = i
        for links in self.region.scatters.values():
            for _, ct in links:
                self.last[self.root.get(ct, ct)] = len(ops)

    def text(self, x: Any) -> str:
        """An operand: a block or a constant."""
        if isinstance(x, Operation):
            return str(self.names[x])
        if type(x) is float or type(x) is int:
            return self.source.bind(np.array(float(x)))
        return self.source.bind(x)

    def operand(self, x: Any, op: Operation) -> str:
        """An operand of an operation by rows."""
        if (
            isinstance(x, np.ndarray)
            and x.ndim == len(op.shape or ())
            and _is_rows(x, self.region.n)
        ):
            return f"{self.source.bind(x)}[lo:hi]"
        kinds: list[Any] = [b.dtype for b in op.args if isinstance(b, Operation) and b.shape]
        number = (type(x) is float or type(x) is int) and op.label != "power"
        if number and kinds and kinds[0].kind == "f":
            return self.source.bind(np.array(x, kinds[0]))
        if isinstance(x, Operation) and not (
            len(x.shape or ()) == len(op.shape or ()) and _is_rows(x, self.region.n)
        ):
            return str(self.names[x, "whole"])
        return literal(x) if isinstance(x, (float, int)) else self.text(x)

    def write(self) -> None:
        """All statements, and what the block gives back."""
        checks: list[str] = []
        totals: list[str] = []
        for i, op in enumerate(self.region.operations):
            name = self.names.setdefault(op, f"t{i}")
            kind = "scatter" if op.function in (ROW["scatter"], ROW["scatter_add"]) else "rows"
            if op in self.region.totals:
                totals.append(self.total(op))
            elif kind == "rows":
                self.rows(op, i, name)
                if op in self.region.check and op in self.written:
                    checks.append(self.least(name))
            self.release(i)
        for op, links in self.region.scatters.items():
            checks += self.scatter(op, links)
        check = " + ".join(checks) if checks else "0.0"
        self.source.line(f"return ({''.join(t + ', ' for t in totals)}{check},)")

    def least(self, name: str) -> str:
        """A number that is NaN if an entry is: to NumPy, NaN is the least of all.

        A product with itself would tell as well, but BLAS starts threads for it.
        """
        return f"{self.source.bind(np.minimum.reduce, 'least')}({name}, None)"

    def release(self, i: int) -> None:
        """The buffers of what is not needed after step i are free."""
        for op, slot in list(self.slot.items()):
            if self.last.get(op, -1) <= i:
                del self.slot[op]
                self.free.append(slot)

    def target(self, op: Operation, i: int) -> str:
        """Where an operation writes: an output, the buffer of an operand that dies, a free one."""
        if op in self.written:
            return f"{self.written[op]}[lo:hi]"
        rest = ((op.shape or ())[1:], op.dtype)
        for a in op.args:
            if (
                isinstance(a, Operation)
                and a in self.slot
                and self.last[a] == i
                and a not in self.root.values()
                and self.slots[self.slot[a]] == rest
                and a.shape == op.shape
            ):
                self.slot[op] = self.slot.pop(a)
                return f"b{self.slot[op]}"
        for slot in self.free:
            if self.slots[slot] == rest:
                self.free.remove(slot)
                break
        else:
            slot = len(self.slots)
            self.slots.append(rest)
        self.slot[op] = slot
        return f"b{slot}"

    def rows(self, op: Operation, i: int, name: str) -> None:
        """A result by rows."""
        rest = (op.shape or ())[1:]
        ufunc = ufunc_of(op)
        if op.function is ROW["reshape"]:
            expression = (
                f"{self.text(op.args[0])}.reshape((rows, {''.join(f'{r}, ' for r in rest)}))"
            )
        elif op.label in _REDUCTIONS:
            reduce = self.source.bind(_REDUCTIONS[op.label].reduce, op.label + "_")
            axes, keep = op.params["axes"], op.params["keepdims"]
            shape = _shape(op.args[0])
            if op.label == "sum" and axes == (-1,) and op.dtype == FLOAT and shape[-1] <= 64:
                # NumPy sums short lanes one by one; a product with ones does not.
                ones = self.source.bind(np.ones(shape[-1]))
                flat = f"{self.text(op.args[0])}.reshape((-1, {shape[-1]}))"
                tail = "".join(f"{r}, " for r in rest)
                self.source.line(f"{name} = {flat}.dot({ones}).reshape((rows, {tail}))")
                if op in self.written:
                    self.source.line(f"{self.written[op]}[lo:hi] = {name}")
                return
            out = self.target(op, i)
            expression = f"{reduce}({self.text(op.args[0])}, {axes}, None, {out}, {bool(keep)})"
        elif ufunc is not None:
            args = [self.operand(a, op) for a in op.args]
            args.append(into(ufunc, self.target(op, i)))
            expression = f"{self.source.bind(ufunc, ufunc.__name__)}({', '.join(args)})"
        else:
            args = [self.operand(a, op) for a in op.args]
            if op.function is ROW["where"]:
                args.insert(0, self.operand(op.params["condition"], op))
                function: Any = self.source.bind(np.where, "where")
            else:
                function = self.source.bind(op.function.evaluate, op.label)
            expression = f"{function}({', '.join(args)})"
            self.source.line(f"{name} = {expression}")
            if op in self.written:
                self.source.line(f"{self.written[op]}[lo:hi] = {name}")
            return
        self.source.line(f"{name} = {expression}")
        if op in self.written and op.function is ROW["reshape"]:
            self.source.line(f"{self.written[op]}[lo:hi] = {name}")

    def total(self, op: Operation) -> str:
        """The part of a reduction over the rows that is this block's."""
        x = op.args[0]
        own = f"{self.text(x)}[own]" if self.halo else self.text(x)
        name = f"s{len(self.names)}_{len(self.source.lines)}"
        reduce = self.source.bind(_REDUCTIONS[op.label].reduce, op.label + "_")
        axes, keep = op.params["axes"], bool(op.params["keepdims"])
        empty = ""
        if op.label != "sum" and self.halo:
            empty = ", -float('inf')" if op.label == "max" else ", float('inf')"
        self.source.line(f"{name} = {reduce}({own}, {axes}, None, None, {keep}{empty})")
        return name

    def scatter(self, op: Operation, links: list[tuple[int, Any]]) -> list[str]:
        """This block's piece of an array that rows are scattered into: zeros, then every slice."""
        source, n = self.source, self.region.n
        add = source.bind(np.add, "add")
        source.line(f"g = {self.written[op]}[start:stop]")
        first = True
        for offset, ct in links:
            source.line(f"a = min(max(start, {offset}), stop)")
            source.line(f"z = max(min(stop, {n + offset}), a)")
            source.line("p = g[a - start:z - start]")
            rows = f"{self.operand_of_scatter(ct)}[a - {offset} - lo:z - {offset} - lo]"
            if first:  # zeros and the first slice at once
                source.line("if a > start: g[:a - start] = 0.0")
                source.line("if z < stop: g[z - start:] = 0.0")
                first = False
                source.line(f"{add}({rows}, {source.bind(np.array(0.0))}, p)")
            else:
                source.line(f"{add}(p, {rows}, p)")
        if op not in self.region.check:
            return []
        name = f"q{len(source.lines)}"
        source.line(f"{name} = {self.least('g')}")
        return [name]

    def operand_of_scatter(self, ct: Any) -> str:
        """Rows to scatter, from lo on."""
        if isinstance(ct, np.ndarray):
            return f"{self.source.bind(ct)}[lo:hi]"
        return self.text(ct)


__all__ = ["CACHE", "LARGE", "Region", "Runner", "layers"]
