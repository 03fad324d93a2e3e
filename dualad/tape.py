"""The tape: reverse mode.

Running a function on ``Variable``s records, for each operation, a *node*: the nodes it
came from and, for each, the local partial (or the transpose, if the operation is
linear).  Partials are stored, not functions, so the sweep that walks the record backwards
knows no function at all: an adjoint times a partial is added to the parent's adjoint.

    y = f(x)  records  (x's node, f'(x));      the sweep does  adjoint(x) += adjoint(y) f'(x)

The record is Wengert's list: every node carries its place in the order of evaluation, and a
sweep gathers the nodes that y depends on and walks them from last to first.  Nodes are
held by the variables that came out of them and by nothing else, so a dropped result
frees its part of the record at once; and there is no recursion anywhere.
"""

from __future__ import annotations

import copy
import itertools
import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dualad import rules, scalar
from dualad.primitive import (
    Elementwise,
    Implicit,
    Linear,
    Multilinear,
    Number,
    Rule,
    Selection,
    check_open,
    evaluate_formula,
    is_paused,
    level_above,
    paused,
    quietly,
    shape_of,
    value_of,
)
from dualad.protocols import OBJECT, ArrayNumber, Operators, as_part
from dualad.tree import flatten, is_nested

_serials = itertools.count()
_recording = threading.local()


def mark() -> int:
    """The place that the record has come to: all nodes made from now on have later ones."""
    return next(_serials)


class Node:
    """One operation on the tape: its place in the order, the output's shape, its edges.

    An edge is (parent, partial, pull): the parent's cotangent is the node's times the
    partial or, where ``pull`` is not None, ``pull(cotangent)``.
    """

    __slots__ = ("__weakref__", "edges", "real", "serial", "shape")

    edges: list[tuple[Node, Any, Any]] | None

    def __init__(self, shape: tuple[int, ...], edges: list[tuple[Node, Any, Any]], real: bool = True) -> None:  # fmt: skip  # noqa: E501
        self.serial = next(_serials)
        self.shape = shape
        self.edges = edges
        self.real = real


class Leaf(Node):
    """The node of a variable that came from nowhere: here gradients arrive."""

    __slots__ = ("attached", "dtype", "grad")

    def __init__(self, shape: tuple[int, ...], real: bool, dtype: Any) -> None:
        super().__init__(shape, [], real)
        self.dtype = dtype
        self.grad: Any = None
        self.attached = False


class Bundle(Node):
    """An operation with several outputs: it waits for the cotangents of all of them."""

    __slots__ = ("outputs", "prints", "pull")

    def __init__(
        self, parents: list[Node], outputs: int, pull: Callable[..., Any], prints: list[Any]
    ) -> None:
        super().__init__((), [(p, None, None) for p in parents])
        self.outputs = outputs
        self.prints = prints
        self.pull = pull


class Slot(Node):
    """One output of a bundle."""

    __slots__ = ("index",)

    def __init__(self, bundle: Bundle, index: int, shape: tuple[int, ...], real: bool) -> None:
        super().__init__(shape, [(bundle, None, None)], real)
        self.index = index


# ------------------------------------------------------- arrays that others may write to

#: Arrays of at most so many bytes are copied into the record; larger ones are fingerprinted.
#: Of a size in between, an array is copied the first few times: that is faster, and a loop
#: that uses one array a thousand times does not fill the memory with its copies.
ALWAYS_COPIED, OFTEN_COPIED, OFTEN = 2**15, 2**18, 4

#: The number of sums of a fingerprint: a prime, so that rows and columns do not fall together.
_SUMS = 1021
_WEIGHTS = np.random.default_rng(0).integers(2**63, size=_SUMS, dtype=np.uint64) * 2 + 1

Print = tuple[Any, tuple[int, int]]  # an array and its fingerprint


def fingerprint(a: Any) -> tuple[int, int]:
    """Two numbers that change when an entry of a does: one pass over the memory, no copy.

    The entries, read as integers, are added up in ``_SUMS`` sums by their position, and those
    with random weights.  So one changed entry is always seen, and an exchange of two is unless
    their distance is a multiple of ``_SUMS``; many changes that cancel in every sum (with
    probability 2**-64 if they know nothing of each other) are missed.
    """
    words = a.ravel("K")  # no copy, if the memory is in one piece
    words = words.view(np.uint64 if words.nbytes % 8 == 0 else np.uint8)
    whole = words.size - words.size % _SUMS
    sums = np.add.reduce(words[:whole].reshape(-1, _SUMS), axis=0, dtype=np.uint64)
    rest = words[whole:]
    return int(np.dot(sums, _WEIGHTS)), int(np.dot(rest, _WEIGHTS[: rest.size]))


def keep(a: Any, prints: list[Print]) -> Any:
    """An array that somebody else holds, as the record keeps it: small a copy, large a print."""
    if not isinstance(a, np.ndarray):
        return a
    if a.nbytes <= ALWAYS_COPIED or (a.nbytes <= OFTEN_COPIED and copies_of(a) <= OFTEN):
        return a.copy()
    prints.append((a, fingerprint(a)))
    return a


def copies_of(a: Any) -> int:
    """How often an array was asked to be kept in this thread, since ``forget_copies``."""
    counts: dict[int, int] = _recording.__dict__.setdefault("copies", {})
    times = counts[id(a)] = counts.get(id(a), 0) + 1
    return times


def forget_copies() -> None:
    """Begin a new record: its copies are counted from none."""
    _recording.__dict__.pop("copies", None)


def keep_params(params: dict[str, Any], prints: list[Print]) -> dict[str, Any]:
    """Parameters with the arrays among them (an index, a condition) as the record keeps them."""
    for name, value in params.items():
        if type(value) is np.ndarray:
            params = {**params, name: keep(value, prints)}
        elif type(value) is tuple:
            for entry in value:
                if type(entry) is np.ndarray:
                    params = {**params, name: tuple(keep(e, prints) for e in value)}
                    break
    return params


def keep_args(level: float, args: tuple[Any, ...], primals: list[Any], prints: list[Print]) -> list[Any]:  # fmt: skip  # noqa: E501
    """Primals, with those that somebody else holds as the record keeps them.

    That are plain arguments, and the value of a variable made by hand, which its owner can
    reach; values computed on the way belong to the record alone.
    """
    return [
        keep(p, prints) if isinstance(p, np.ndarray) and (a is p or _by_hand(a, level)) else p
        for a, p in zip(args, primals, strict=True)
    ]


def _by_hand(a: Any, level: float) -> bool:
    return level % 1 != 0 and (type(a.node) is Leaf or a.primal.base is not None)


class Guarded(Node):
    """A node that keeps large arrays which somebody else holds, with their fingerprints."""

    __slots__ = ("prints",)
    prints: list[Print]


def check_prints(prints: Iterable[Print]) -> None:
    """Raise ``RuntimeError`` if an array was changed since it was recorded."""
    for a, before in prints:
        if fingerprint(a) != before:
            raise RuntimeError(
                f"an array of shape {a.shape} that the recorded computation used was changed "
                "before the sweep, so the gradient would be wrong; give the computation a copy, "
                "as in x * buffer.copy()"
            )


def node_for(shape: tuple[int, ...], edges: Any, real: bool, prints: list[Print]) -> Node:
    """The node of an operation, guarded if it keeps arrays of others."""
    if not prints:
        return Node(shape, edges, real)
    node = Guarded(shape, edges, real)
    node.prints = prints
    return node


class Scatter:
    """The transpose of a gather, which can also add into a buffer that the sweep owns."""

    __slots__ = ("params", "row", "shape")

    def __init__(self, row: Linear, shape: tuple[int, ...], params: dict[str, Any]) -> None:
        self.row, self.shape, self.params = row, shape, params

    def __call__(self, ct: Any, lead: tuple[int, ...]) -> Any:
        return self.row.transpose(ct, 0, (lead + self.shape,), **self.params)

    def into(self, buffer: Any, ct: Any) -> None:
        self.row.accumulate(buffer, ct, **self.params)  # type: ignore[misc]


# ---------------------------------------------------------------------------- variables


class Variable(Operators):
    """A value whose computation is recorded, for reverse mode.

    ``y.backward()`` adds dy/dx to the ``grad`` of every variable x that y was computed
    from.  Raises ``TypeError`` for what is not numeric.

    >>> x = Variable([0.0, 1.0, 2.0, 3.0])
    >>> y = 2 * np.dot(x, x)
    >>> y.backward()
    >>> x.grad
    array([ 0.,  4.,  8., 12.])
    """

    __slots__ = ("level", "node", "primal")

    primal: Any
    node: Node | None

    def __init__(self, value: Any, level: float | None = None, node: Node | None = None) -> None:
        self.primal = value
        self.node = node
        if level is not None:
            self.level = level
            return
        if isinstance(value, np.ndarray):
            value = value.copy()
        self.primal = value = as_part(value)
        self.level = level_above(2**-30, value)
        self.node = leaf_for(value)
        if shape_of(value):
            self.__class__ = VariableArray

    def parts(self) -> dict[str, Any]:
        return {"primal": self.primal}

    def content(self) -> dict[str, Any]:
        return {"primal": self.primal, "level": self.level, "node": self.node}

    def __repr__(self) -> str:
        return f"Variable({self.primal!r})"

    # A copy of a result has the result's history; a copy of a variable that gradients arrive at
    # is one of its own, with a gradient of its own, as in PyTorch.  Only the latter is pickled.

    def __deepcopy__(self, memo: Any) -> Variable:
        new: Variable = super().__deepcopy__(memo)
        if isinstance(self.node, Leaf) and self.level % 1:
            new.node = leaf_for(self.primal)
            new.node.attached = self.node.attached
            new.node.grad = copy.deepcopy(self.node.grad, memo)
        return new

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.node is not None and not isinstance(self.node, Leaf):
            raise TypeError(
                "a Variable that was computed from others cannot be pickled: its record stays "
                "here; pickle ad.stop_gradient(y), or y.detach()"
            )
        kind, args = super().__reduce_ex__(protocol)
        return kind, args, self.node and (self.node.attached, self.node.grad)

    def __setstate__(self, state: tuple[bool, Any]) -> None:
        leaf = self._leaf("unpickling")
        leaf.attached, leaf.grad = state

    # -- gradients

    @property
    def grad(self) -> Any:
        """The gradient that has arrived here: None before the first backward."""
        return self.node.grad if isinstance(self.node, Leaf) else None

    @grad.setter
    def grad(self, value: Any) -> None:
        self._leaf("grad").grad = value

    def _leaf(self, what: str) -> Leaf:
        if isinstance(self.node, Leaf):
            return self.node
        raise TypeError(f"{what}: this Variable is the result of a computation, not its start")

    def zero_grad(self) -> None:
        """Set the gradient to zeros."""
        self._leaf("zero_grad").grad = zeros_for(self.primal)

    def attach_grad(self) -> None:
        """Make room for a gradient, MXNet's way.

        The gradient is zero at first; computations are recorded inside ``record()`` only;
        each backward overwrites the gradient, and sums a head that is no scalar.
        """
        leaf = self._leaf("attach_grad")
        leaf.attached = True
        leaf.grad = zeros_for(self.primal)

    def detach(self) -> Variable:
        """The same value in a new Variable that has no history."""
        return variable(self.primal, self.level, leaf_for(self.primal))

    def backward(self, gradient: Any = None, retain_graph: bool = False) -> None:
        """Send cotangents back to every variable that this one was computed from.

        ``gradient`` is the cotangent to start with, of this variable's shape; a number needs
        none.  The record is freed unless ``retain_graph``.

        Raises ``ValueError`` for a non-scalar without ``gradient`` and ``RuntimeError`` for a
        record that has been freed.
        """
        forget_copies()
        if self.node is None:
            raise RuntimeError("backward: nothing was recorded for this Variable")
        order = schedule([self.node])
        leaves = [n for n in order if isinstance(n, Leaf)]
        if gradient is None:
            if self.shape and not any(leaf.attached for leaf in leaves):
                raise ValueError(
                    f"backward of an output of shape {self.shape}, not of a number: pass "
                    "gradient=np.ones(...) of that shape, or reduce it, as in y.sum().backward()"
                )
            if not is_real(self.primal):
                raise TypeError(
                    "backward of a complex output has no one direction to start with: pass "
                    "gradient=..., or take a real number of it, as in abs(y).backward()"
                )
            gradient = ones_for(self.primal)
        else:
            gradient = as_part(gradient)
            if shape_of(gradient) != self.shape:
                raise ValueError(
                    f"backward: gradient has shape {shape_of(gradient)}, the output {self.shape}"
                )
        arrived = sweep(order, {self.node: gradient}, leaves, ())
        for leaf in leaves:
            ct = arrived.get(leaf)
            if ct is None:
                continue
            ct = own(typed(ct, leaf))
            leaf.grad = ct if leaf.grad is None or leaf.attached else leaf.grad + ct
        if not retain_graph:
            release(order)


class VariableArray(ArrayNumber, Variable):
    """A recorded value that is an array."""

    __slots__ = ()

    def replace(self, other: Any) -> None:
        if type(self.node) is Leaf and self.level % 1:
            if other.node is not None:
                raise RuntimeError(
                    "assignment to a Variable that gradients arrive at, while it is recorded: "
                    "assign to x.copy(), or inside ad.no_grad() to change its value"
                )
            self.primal = other.primal
            return
        self.primal, self.node = other.primal, other.node

    def constant(self, value: Any) -> Variable:
        return VariableArray(value, self.level, None)


def variable(value: Any, level: float, node: Node | None) -> Variable:
    """A variable of the class that its value needs."""
    if type(value) is np.ndarray and value.ndim:
        return VariableArray(value, level, node)
    if type(value) is float or not shape_of(value):
        return Variable(value, level, node)
    return VariableArray(value, level, node)


def is_real(value: Any) -> bool:
    """Whether a value is real, so that cotangents arriving at it must be."""
    if type(value) is float:
        return True
    dtype = value.dtype if type(value) is np.ndarray else rules.dtype_of(value)
    return bool(dtype.kind != "c") and type(value) is not complex


def leaf_for(value: Any) -> Leaf:
    """A leaf for that value."""
    dtype = rules.dtype_of(value)
    return Leaf(shape_of(value), dtype.kind != "c", dtype)


def zeros_for(value: Any) -> Any:
    """Zeros of a value's shape and type, plain."""
    return np.zeros(shape_of(value), rules.dtype_of(value)) if shape_of(value) else 0.0


def ones_for(value: Any) -> Any:
    """Ones of a value's shape and type, plain; an exact number stays exact."""
    if shape_of(value):
        return np.ones(shape_of(value), rules.dtype_of(value))
    return 1 if rules.dtype_of(value).kind == "O" else 1.0


def typed(ct: Any, node: Node) -> Any:
    """An array of cotangents in the precision of the variable that it arrives at."""
    if type(node) is Leaf and type(ct) is np.ndarray and ct.dtype != node.dtype:
        return ct.astype(node.dtype)
    return ct


def own(ct: Any) -> Any:
    """A cotangent as the user gets it: writable, sharing memory with nothing.

    A number over an array is not copied, but assignment to it reaches no other.
    """
    if isinstance(ct, np.ndarray):
        return ct.copy()
    return ct.again() if isinstance(ct, ArrayNumber) else ct


# ---------------------------------------------------------------------------- the sweep


_ALL = (0, float("inf"))


def schedule(heads: Iterable[Node], within: tuple[float, float] = _ALL) -> list[Node]:
    """The nodes that the heads depend on, last evaluated first.

    Raises ``RuntimeError`` where part of the record has been freed.
    """
    low, high = within
    order = sorted(_reach(heads, low, high), key=_serial, reverse=True)
    return order if within == _ALL else [n for n in order if low <= n.serial < high]


def older_than(heads: Iterable[Node], start: float) -> set[Node]:
    """The nodes recorded before ``start`` that the heads depend on, through later ones alone."""
    return {n for n in _reach(heads, start, math.inf) if n.serial < start}


def _reach(heads: Iterable[Node], low: float, high: float) -> set[Node]:
    """The nodes that the heads depend on, and not beyond those recorded in that time."""
    seen = set(heads)
    stack = list(seen)
    while stack:
        node = stack.pop()
        if not low <= node.serial < high:
            continue
        edges = node.edges
        if edges is None:
            raise RuntimeError(
                "this record has been swept and freed: pass retain_graph=True to the first "
                "backward (persistent=True to the Tape) to sweep it again"
            )
        for parent, _, _ in edges:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return seen


_serial = operator.attrgetter("serial")


def release(order: Iterable[Node]) -> None:
    """Free the stored partials."""
    for node in order:
        if not isinstance(node, Leaf):
            node.edges = None


def sweep(
    order: list[Node], seeds: dict[Node, Any], wanted: Iterable[Node], lead: tuple[int, ...]
) -> dict[Node, Any]:
    """The cotangents of the wanted nodes, given those of some outputs.

    A zero cotangent stays zero against an infinite partial.  Since NaN survives every
    linear map, the sweep multiplies plainly and is done again with care only if a NaN
    arrives.
    """
    return quietly(_walked, order, seeds, wanted, lead)  # type: ignore[no-any-return]


def _walked(order: Any, seeds: Any, wanted: Any, lead: Any) -> dict[Node, Any]:
    arrived = walk(order, seeds, wanted, lead, strong=False)
    for ct in arrived.values():
        if rules.has_nan(ct):
            return walk(order, seeds, wanted, lead, strong=True)
    return arrived


def walk(
    order: list[Node],
    seeds: dict[Node, Any],
    wanted: Iterable[Node],
    lead: tuple[int, ...],
    strong: bool,
) -> dict[Node, Any]:
    """One walk over the nodes, from last to first."""
    adjoint: dict[Node, Any] = dict(seeds)
    owned: set[Node] = set()
    wanted = set(wanted)
    arrived: dict[Node, Any] = {}
    for node in order:
        ct = adjoint.pop(node, None)
        if ct is None:
            continue  # never reached: an adjoint that is zero in value may carry tangents
        if node in wanted:
            arrived[node] = spread(ct, node)
        if type(node) is not Node:
            if type(node) is Leaf:
                continue
            if isinstance(node, (Guarded, Bundle)):
                check_prints(node.prints)
            if isinstance(node, Bundle):
                _walk_bundle(node, ct, lead, adjoint, owned)
                continue
            if isinstance(node, Slot):
                bundle = node.edges[0][0]  # type: ignore[index]
                adjoint.setdefault(bundle, {})[node.index] = spread(ct, node)
                continue
        if type(ct) is float and node.shape:
            _walk_constant(node, ct, adjoint, owned, strong)
            continue
        for parent, partial, pull in node.edges or ():
            if pull is None:
                if type(partial) is int:
                    c = ct if partial == 1 else -ct if partial == -1 else ct * partial
                elif strong:
                    c = rules.scaled(partial, ct)
                else:
                    c = ct * partial
            elif type(pull) is Scatter:
                _scatter_into(parent, pull, ct, lead, adjoint, owned)
                continue
            elif strong and type(pull) is Transposed:
                c = pull(ct, lead, strong)
            else:
                c = pull(ct, lead)
            if not lead and parent not in adjoint and _fits(c, parent):
                adjoint[parent] = c
            else:
                add(parent, c, lead, adjoint, owned)
    for node in wanted & adjoint.keys():  # older than the record: reached, but not walked
        arrived[node] = spread(adjoint[node], node)
    return arrived


def _fits(c: Any, parent: Node) -> bool:
    """Whether a contribution can stand as it is: what ``add`` finds out for most of them."""
    if type(c) is np.ndarray:
        return bool(c.shape == parent.shape and c.dtype.kind == "f")
    return type(c) is float


def spread(ct: Any, node: Node) -> Any:
    """A cotangent in the shape of its node: one float may stand for all entries."""
    return np.full(node.shape, ct) if type(ct) is float and node.shape else ct


def _walk_constant(node: Node, ct: float, adjoint: Any, owned: set[Node], strong: bool) -> None:
    """The step for an array node whose cotangent is one float for all entries.

    Such is the cotangent of what was summed up; it is not spread over an array before it
    meets one, and 1.0 is not multiplied by.
    """
    whole: Any = None
    for parent, partial, pull in node.edges or ():
        full = type(partial) is int or type(partial) is float or shape_of(partial) == node.shape
        if pull is None and parent.shape == node.shape and full:
            c = partial if ct == 1.0 else rules.scaled(partial, ct) if strong else partial * ct
            add(parent, float(c) if type(c) is int else c, (), adjoint, owned)
            continue
        if whole is None:
            whole = spread(ct, node)
        if pull is None:
            add(parent, rules.scaled(partial, whole), (), adjoint, owned)
        elif type(pull) is Scatter:
            _scatter_into(parent, pull, whole, (), adjoint, owned)
        elif strong and type(pull) is Transposed:
            add(parent, pull(whole, (), strong), (), adjoint, owned)
        else:
            add(parent, pull(whole, ()), (), adjoint, owned)


def add(
    parent: Node, c: Any, lead: tuple[int, ...], adjoint: dict[Node, Any], owned: set[Node]
) -> None:
    """Add a contribution to a parent's adjoint: broadcasting is undone here, and only here."""
    if type(c) is not float:
        shape = lead + parent.shape
        if shape_of(c) != shape:
            c = rules.unbroadcast(c, shape, len(parent.shape))
        if parent.real and not is_real(c):
            c = rules.real(c)
    before = adjoint.get(parent)
    if before is None:
        adjoint[parent] = c
    elif parent in owned and type(c) is np.ndarray and c.dtype == before.dtype:
        np.add(before, c, out=before)
    else:
        total = adjoint[parent] = before + c
        if type(total) is np.ndarray:
            owned.add(parent)


def _scatter_into(
    parent: Node,
    pull: Scatter,
    ct: Any,
    lead: tuple[int, ...],
    adjoint: dict[Node, Any],
    owned: set[Node],
) -> None:
    """Add the transpose of a gather into a buffer of the sweep's own: no dense zeros an index."""
    buffer = adjoint.get(parent)
    if isinstance(buffer, Number) or isinstance(ct, Number):
        if buffer is None or type(buffer) is float or (parent.real and not is_real(ct)):
            add(parent, pull(ct, lead), lead, adjoint, owned)
        else:
            adjoint[parent] = rules.scatter_add(buffer, ct, **pull.params)
        return
    dtype = rules.dtype_of(ct)
    if buffer is None or parent not in owned or buffer.dtype != np.result_type(buffer.dtype, dtype):
        fresh = np.zeros(lead + parent.shape, dtype)
        buffer = fresh if buffer is None else buffer + fresh
        adjoint[parent] = buffer
        owned.add(parent)
    pull.into(buffer, ct)


def _walk_bundle(
    bundle: Bundle, cts: dict[int, Any], lead: tuple[int, ...], adjoint: Any, owned: Any
) -> None:
    given = [cts.get(i) for i in range(bundle.outputs)]
    for (parent, _, _), c in zip(bundle.edges or (), bundle.pull(given), strict=True):
        if c is not None:
            add(parent, c, lead, adjoint, owned)


class Transposed:
    """The transpose of a product in one factor, the other factors held fixed."""

    __slots__ = ("args", "i", "params", "row", "shape")

    def __init__(self, row: Multilinear, args: list[Any], i: int, params: dict[str, Any]) -> None:
        self.row, self.args, self.i, self.params = row, args, i, params
        self.shape = shape_of(args[i])
        self.args[i] = None  # the factor itself is not needed: only its shape

    def __call__(self, ct: Any, lead: tuple[int, ...], strong: bool = False) -> Any:
        i, params = self.i, self.params
        shapes = [lead + self.shape if j == i else () for j in range(len(self.args))]

        def transposed(*args: Any) -> Any:
            return self.row.transpose(args[i], i, args, shapes, **params)

        if not strong:
            return self.row.transpose(ct, i, self.args, shapes, **params)
        return rules.strong(transposed, list(self.args), i, ct, {})


# ------------------------------------------------------------- how variables read the table


_FLOATS = (float, int)
_SHORT = (np.ndarray, float, int)


def unrecorded(y: Any, level: float) -> Any:
    """A result without edges: inside a transform, an array that can still be written to."""
    if type(level) is int and (
        y.ndim and y.dtype.kind in "fc" if type(y) is np.ndarray
        else isinstance(y, Number) and shape_of(y)
    ):  # fmt: skip
        return VariableArray(y, level, None)
    return y


class VariableSystem:
    """How the tape reads each kind of primitive."""

    @staticmethod
    def split(level: float, args: tuple[Any, ...]) -> tuple[list[Any], list[Node | None]]:
        """Primals and nodes of the arguments: a node is None where nothing is recorded."""
        primals: list[Any] = []
        nodes: list[Node | None] = []
        for a in args:
            if isinstance(a, Number):
                if a.level == level:
                    primals.append(a.primal)
                    node = a.node  # type: ignore[attr-defined]
                    if type(node) is Leaf and node.attached and not is_recording():
                        node = None
                    nodes.append(node)
                    continue
                check_open(a)
            primals.append(a)
            nodes.append(None)
        return primals, nodes

    def elementwise(self, row: Elementwise) -> Rule:
        formulas: tuple[Any, ...] = row.partials
        evaluate = row.evaluate

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            # ``split``, in line: this is the path that every recorded operation takes.
            primals: list[Any] = []
            nodes: list[Node | None] = []
            nested = False
            held: list[Any] | None = None  # arrays that somebody else can write to
            for a in args:
                node = None
                if isinstance(a, Number):
                    if a.level == level:
                        node = a.node  # type: ignore[attr-defined]
                        a = a.primal
                        if type(node) is Leaf:
                            if node.attached and not is_recording():
                                node = None
                            if level % 1:
                                held = [a, *held] if held else [a]
                    else:
                        check_open(a)
                    nested = nested or isinstance(a, Number)
                elif isinstance(a, np.ndarray):
                    held = [a, *held] if held else [a]
                primals.append(a)
                nodes.append(node)
            y = row(*primals) if nested else evaluate(*primals)
            if paused and is_paused(level):
                return y
            xp = rules if nested else scalar if type(y) is float else np
            edges: list[tuple[Node, Any, Any]] = []
            prints: list[Print] = []
            for node, formula in zip(nodes, formulas, strict=True):
                if node is None or formula is None:
                    continue
                if type(formula) is int:
                    partial: Any = formula
                elif xp is np:
                    partial = quietly(formula, np, y, *primals)
                    if type(partial) is not float and not is_real(partial):
                        partial = np.conjugate(partial)
                else:
                    partial = evaluate_formula(formula, xp, y, primals)
                    if nested and not is_real(partial):
                        partial = rules.conjugate(partial)
                if isinstance(partial, np.ndarray) and (
                    (held is not None and any(partial is a for a in held))
                    or (partial.base is not None and (held is not None or level % 1))
                ):
                    partial = keep(partial, prints)
                edges.append((node, partial, None))
            if not edges:
                return y if any(nodes) else unrecorded(y, level)
            if type(y) is float:
                return Variable(y, level, Node((), edges))
            shape = shape_of(y)
            kind = VariableArray if shape else Variable
            return kind(y, level, node_for(shape, edges, is_real(y), prints))

        if len(formulas) > 2 or None in formulas:
            return rule

        # The short way, for variables of a running transform over plain floats and arrays:
        # nothing nested, nothing that somebody else can write to, nothing complex.
        function, on_floats = row.function, row.on_floats
        left, right = formulas[0], formulas[-1]

        def slope_left(xp: Any, y: Any, *values: Any) -> Any:
            return left if type(left) is int else left(xp, y, *values)

        def slope_right(xp: Any, y: Any, *values: Any) -> Any:
            return right if type(right) is int else right(xp, y, *values)

        def slopes(xp: Any, y: Any, *values: Any) -> Any:
            return slope_left(xp, y, *values), slope_right(xp, y, *values)

        def unary(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            (x,) = args
            p, node = x.primal, x.node
            if type(level) is int and node is not None and not paused:
                if type(p) is np.ndarray:
                    y = function(p)
                    if y.dtype.kind == "f":
                        d = left if type(left) is int else quietly(left, np, y, p)
                        return VariableArray(y, level, Node(y.shape, [(node, d, None)]))
                elif type(p) is float and on_floats is not None:
                    try:
                        y = on_floats(p)
                        d = slope_left(scalar, y, p)
                    except (ValueError, ArithmeticError):
                        return rule(level, args, params)
                    return Variable(y, level, Node((), [(node, d, None)]))
            return rule(level, args, params)

        if len(formulas) == 1:
            return unary
        in_silence = row.arithmetic and (callable(left) or callable(right))

        def binary(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if type(level) is not int or paused:
                return rule(level, args, params)
            p, q = args
            na: Any = None
            nb: Any = None
            if isinstance(p, Variable) and p.level == level:
                p, na = p.primal, p.node
            elif type(p) is not float and type(p) is not int:
                return rule(level, args, params)
            if isinstance(q, Variable) and q.level == level:
                q, nb = q.primal, q.node
            elif type(q) is not float and type(q) is not int:
                return rule(level, args, params)
            slope = slopes if na is not None and nb is not None else slope_left if nb is None else slope_right  # fmt: skip  # noqa: E501
            if type(p) is np.ndarray or type(q) is np.ndarray:
                if type(p) not in _SHORT or type(q) not in _SHORT:
                    return rule(level, args, params)
                y = function(p, q)
                if y.dtype.kind != "f":
                    return rule(level, args, params)
                d = quietly(slope, np, y, p, q) if in_silence else slope(np, y, p, q)
            elif on_floats is not None and type(p) in _FLOATS and type(q) in _FLOATS:
                try:
                    y = on_floats(p, q)
                    d = slope(scalar, y, p, q)
                except (ValueError, ArithmeticError):
                    return rule(level, args, params)
            else:
                return rule(level, args, params)
            if slope is slopes:
                edges = [(na, d[0], None), (nb, d[1], None)]
            elif na is not None or nb is not None:
                edges = [(nb if na is None else na, d, None)]
            else:
                return unrecorded(y, level)
            if type(y) is float:
                return Variable(y, level, Node((), edges))
            return VariableArray(y, level, Node(y.shape, edges))

        return binary

    def linear(self, row: Linear) -> Rule:
        split = self.split

        def pull_for(i: int, shapes: list[Any], params: dict[str, Any]) -> Any:
            if row.accumulate is not None:
                return Scatter(row, shapes[0], params)

            def pull(ct: Any, lead: tuple[int, ...]) -> Any:
                with_lead = [lead + s for s in shapes] if lead else shapes
                return row.transpose(ct, i, with_lead, **params)

            return pull

        evaluate, accumulate = row.evaluate, row.accumulate

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            if len(args) == 1 and type(args[0].primal) is np.ndarray and not paused:
                # One plain array: most of what is linear (sums, slices, reshapes) is this.
                x = args[0]
                p, node = x.primal, x.node
                y = evaluate(p, **params)
                if node is None or (type(node) is Leaf and node.attached and not is_recording()):
                    return unrecorded(y, level)
                prints: list[Print] = []
                params = keep_params(params, prints)
                pull: Any = (
                    Scatter(row, p.shape, params) if accumulate else pull_for(0, [p.shape], params)
                )
                edges = [(node, None, pull)]
                return variable(y, level, node_for(shape_of(y), edges, is_real(y), prints))
            primals, nodes = split(level, args)
            y = row(*primals, **params)
            if paused and is_paused(level):
                return y
            shapes = [shape_of(p) for p in primals]
            prints = []
            params = keep_params(params, prints)
            edges = [
                (node, None, pull_for(i, shapes, params))
                for i, node in enumerate(nodes)
                if node is not None
            ]
            if not edges:
                return unrecorded(y, level)
            return variable(y, level, node_for(shape_of(y), edges, is_real(y), prints))

        return rule

    def multilinear(self, row: Multilinear) -> Rule:
        split = self.split

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            primals, nodes = split(level, args)
            y = row(*primals, **params)
            if paused and is_paused(level):
                return y
            prints: list[Print] = []
            kept = keep_args(level, args, primals, prints)
            edges = [
                (node, None, Transposed(row, list(kept), i, params))
                for i, node in enumerate(nodes)
                if node is not None
            ]
            if not edges:
                return unrecorded(y, level)
            return variable(y, level, node_for(shape_of(y), edges, is_real(y), prints))

        return rule

    def selection(self, row: Selection) -> Rule:
        split = self.split

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            ((x,), (node,)) = split(level, args)
            y = row(x, **params)
            if paused and is_paused(level):
                return y
            if node is None:
                return unrecorded(y, level)
            prints: list[Print] = []
            chosen = keep_params(row.chosen(x, y, params), prints)
            edges = [(node, None, Gathered(row.gather, shape_of(x), chosen))]
            return variable(y, level, node_for(shape_of(y), edges, is_real(y), prints))

        return rule

    def implicit(self, row: Implicit) -> Rule:
        split = self.split

        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            primals, nodes = split(level, args)
            y = row(*primals, **params)
            if (paused and is_paused(level)) or not any(n is not None for n in nodes):
                return y
            needed = [n is not None for n in nodes]
            ys = y if isinstance(y, tuple) else (y,)
            prints: list[Print] = []
            kept = keep_args(level, args, primals, prints)

            def pull(cts: list[Any]) -> list[Any]:
                got = row.pull(y, kept, cts if isinstance(y, tuple) else cts[0], needed, **params)
                return [c for c, n in zip(got, needed, strict=True) if n]

            bundle = Bundle([n for n in nodes if n is not None], len(ys), pull, prints)
            out = tuple(
                variable(v, level, Slot(bundle, j, shape_of(v), is_real(v)))
                for j, v in enumerate(ys)
            )
            return out if isinstance(y, tuple) else out[0]

        return rule


class Gathered:
    """The transpose of a selection: scatter to the chosen places."""

    __slots__ = ("chosen", "row", "shape")

    def __init__(self, row: Linear, shape: tuple[int, ...], chosen: dict[str, Any]) -> None:
        self.row, self.shape, self.chosen = row, shape, chosen

    def __call__(self, ct: Any, lead: tuple[int, ...]) -> Any:
        return self.row.transpose(ct, 0, (lead + self.shape,), **self.chosen)


Variable.system = VariableSystem()
Variable.unary = {}


# ------------------------------------------------------------------- what is recorded when


def is_recording() -> bool:
    """Whether this thread is inside ``record()``, or the block of a tape."""
    return getattr(_recording, "depth", 0) > 0 or bool(_open_tapes())


@contextmanager
def record() -> Iterator[None]:
    """Record computations on Variables with an attached gradient (MXNet's way).

    >>> x = Variable([1.0, 2.0])
    >>> x.attach_grad()
    >>> with record():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    array([2., 4.])
    """
    _recording.depth = getattr(_recording, "depth", 0) + 1
    try:
        yield
    finally:
        _recording.depth -= 1


def stop_gradient(x: Any) -> Any:
    """x as a constant: the plain value of a number of any system, under all its levels.

    In a nested structure every number is replaced; what is plain already is left alone.

    >>> x = Variable(3.0)
    >>> y = stop_gradient(x) * x
    >>> y.backward()
    >>> x.grad
    3.0
    """
    if is_nested(x):
        leaves, rebuild = flatten(x)
        return rebuild([stop_gradient(leaf) for leaf in leaves])
    if isinstance(x, np.ndarray) and x.dtype == OBJECT and rules.has_number(x.tolist()):
        x = rules.lift(x)
    if not isinstance(x, Number):
        return x
    value = value_of(x)
    return value.copy() if isinstance(value, np.ndarray) else value


class Tape:
    """A record to take gradients from, TensorFlow's way.

    ``watch(x)`` gives the Variable to compute with; a Variable made or used inside is watched
    too.  ``gradient`` can be called once, any number of times if ``persistent``.  Tapes nest:
    the inner one's gradients are recorded by the outer one for what ``inner.watch(x)`` gave.

    >>> with Tape() as tape:
    ...     x = tape.watch(3.0)
    ...     y = x * x
    >>> tape.gradient(y, x)
    6.0
    """

    def __init__(self, persistent: bool = False) -> None:
        self.persistent = persistent
        self._spent = False
        self._start: float = next(_serials)
        self._stop: float = float("inf")
        self._outer: list[Tape] = []

    def __enter__(self) -> Tape:
        self._outer = list(_open_tapes())
        _open_tapes().append(self)
        self._start = next(_serials)
        self._stop = float("inf")
        self._spent = False
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stop = next(_serials)
        _open_tapes().remove(self)

    def watch(self, x: Any) -> Variable:
        """The Variable to compute with in x's place.

        A Variable stands for itself; inside a second tape it is wrapped, so that the
        gradient which this tape gives is a Variable again, for the outer tape.
        """
        return x if isinstance(x, Variable) and not self._outer else Variable(x)

    def _pull(self, xs: list[Any], seeds: dict[Node, Any], lead: tuple[int, ...]) -> list[Any]:
        for x in xs:
            if not isinstance(x, Variable):
                raise TypeError(
                    "gradient: x is a plain value, of which nothing was recorded; compute with "
                    "x = tape.watch(x) and pass that"
                )
            if not isinstance(x.primal, Number) and any(t in self._outer for t in _open_tapes()):
                raise RuntimeError(
                    "gradient inside a second tape: the outer tape could not record it; compute "
                    "with x1 = inner.watch(x), or take the gradient after the outer tape's block"
                )
        if self._spent and not self.persistent:
            raise RuntimeError(
                "this tape has been used: make it with Tape(persistent=True) to take more than "
                "one gradient from it"
            )
        self._spent = True
        order = schedule(seeds, (self._start, self._stop))
        arrived = sweep(order, seeds, [x.node for x in xs if x.node is not None], lead)
        return [own(typed(arrived.get(x.node), x.node)) for x in xs]

    def gradient(self, y: Any, x: Any) -> Any:
        """dy/dx, in the structure of x; None where y does not depend on x.

        An array y is summed, and so are several.
        """
        heads, _ = flatten(y)
        xs, rebuild = flatten(x)
        seeds: dict[Node, Any] = {}
        for head in heads:
            head = rules.lift(head)
            if isinstance(head, Variable) and head.node is not None:
                ones = ones_for(head)
                seeds[head.node] = seeds[head.node] + ones if head.node in seeds else ones
        return rebuild(self._pull(xs, seeds, ()))

    def jacobian(self, y: Any, x: Any) -> Any:
        """The derivatives of every entry of y, of shape ``y.shape + x.shape``."""
        y = rules.lift(y)
        xs, rebuild = flatten(x)
        shape = shape_of(y)
        m = math.prod(shape)
        seeds: dict[Node, Any] = {}
        if isinstance(y, Variable) and y.node is not None:
            seeds[y.node] = np.eye(m).reshape((m, *shape))
        cts = self._pull(xs, seeds, (m,))
        blocks = [
            None if ct is None else rules.reshape(ct, shape + x.shape)
            for ct, x in zip(cts, xs, strict=True)
        ]
        return rebuild([as_part(b) if b is not None and not shape_of(b) else b for b in blocks])


def _open_tapes() -> list[Tape]:
    """The tapes whose blocks this thread is in, the outermost first."""
    tapes: list[Tape] = _recording.__dict__.setdefault("tapes", [])
    return tapes
