"""The transforms: from a function to its derivative.

Everything is made of two: ``jvp`` pushes tangents forward through dual numbers, ``vjp`` pulls
cotangents back along a tape.  A gradient is one pullback, a Jacobian is n tangents or m
cotangents at once, a Hessian is the Jacobian of a gradient, in whatever modes; because
each opens a level of its own they nest in any order.

Arguments and results may be numbers, arrays, or nested lists, tuples and dicts of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualad import modes, rules
from dualad.dual import Dual, dual
from dualad.hyperdual import HyperDual, hyperdual
from dualad.primitive import (
    Number,
    check_open,
    close_level,
    new_level,
    open_level,
    shape_of,
    value_of,
)
from dualad.protocols import as_part
from dualad.tape import (
    Variable,
    check_prints,
    forget_copies,
    keep,
    leaf_for,
    own,
    schedule,
    sweep,
    variable,
)
from dualad.tree import flatten, is_nested, only
from dualad.undetermined import determined

Function = Callable[..., Any]


# ------------------------------------------------------------------ arguments and results


def _leaves(x: Any, what: str) -> tuple[list[Any], Any]:
    """The leaves of an argument as parts of numbers, and how to put such leaves back."""
    leaves, rebuild = flatten(x)
    parts = []
    for leaf in leaves:
        try:
            parts.append(as_part(leaf))
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from None
    return parts, rebuild


def _outputs(y: Any, name: str) -> tuple[list[Any], Any]:
    """The leaves of what f returned, lifted; what is no number raises."""
    if isinstance(y, Number):
        return [y], only
    leaves, rebuild = flatten(y)
    out = []
    for leaf in leaves:
        if isinstance(leaf, Number):
            out.append(leaf)
            continue
        if leaf is None:
            raise TypeError(f"{name}: f returned None; does it end in a return statement?")
        try:
            value = rules.lift(leaf)
            if not isinstance(value, Number):
                value = np.asarray(value)
                if value.dtype.kind not in "fcbiu":
                    raise TypeError(value.dtype)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}: f returned {leaf!r} of type {type(leaf).__name__}, not a number or an "
                "array of numbers"
            ) from None
        out.append(value)
    return out, rebuild


#: how NumPy says that its code for floats has met an object array
_OBJECT_ERRORS = (
    "dtype('O')", "not supported for the input types", "has no callable",
    "Error setting single item of array", "bject arrays are not supported", "not inexact",
)  # fmt: skip


def _called(f: Function, args: Sequence[Any]) -> Any:
    """f of numbers; where NumPy hides our advice behind an error of its own, ours is raised."""
    try:
        return f(*args)
    except ValueError as error:
        # z[0] = x, for a float array z: NumPy says "setting an array element with a sequence".
        if isinstance(error.__cause__, TypeError) and "lose the derivative" in str(error.__cause__):
            raise TypeError(str(error.__cause__)) from error
        _advise(error)
        raise
    except TypeError as error:
        _advise(error)
        raise


def _advise(error: Exception) -> None:
    """Say what to write for what NumPy has in C for floats alone: np.linalg.inv(np.array(...))."""
    if any(sign in str(error) for sign in _OBJECT_ERRORS):
        raise TypeError(
            f"{error}. If that was an object array of numbers, which NumPy makes of "
            "np.array([...]) and np.asarray(x): write np.stack([...]), np.array([...], like=x) "
            "or x itself, which reach the rules; if it was a float array that a number was put "
            "into, make it with np.zeros_like(x) or np.zeros(n, like=x)"
        ) from error


def _argnums(argnums: int | Sequence[int], args: tuple[Any, ...], name: str) -> tuple[int, ...]:
    chosen = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    for i in chosen:
        if not -len(args) <= i < len(args):
            raise ValueError(
                f"{name}: argnums={argnums} names argument {i}, but f was called with {len(args)}"
            )
    return tuple(int(i) % len(args) for i in chosen)


def _closed(f: Function, args: tuple[Any, ...], chosen: tuple[int, ...], kwargs: Any) -> Function:
    """f as a function of the chosen arguments alone."""
    if chosen == (0,) and len(args) == 1 and not kwargs:
        return f

    def g(*some: Any) -> Any:
        full = list(args)
        for i, a in zip(chosen, some, strict=True):
            full[i] = a
        return f(*full, **kwargs)

    return g


def _mode(mode: str, allowed: tuple[str, ...], name: str) -> str:
    if mode not in allowed:
        raise ValueError(f"{name}: unknown mode {mode!r}; the modes are {', '.join(allowed)}")
    return mode


def _check_callable(f: Any, name: str) -> None:
    if not callable(f):
        raise TypeError(
            f"{name} takes a function and returns one: write {name}(f)(x), not {name} of a "
            f"{type(f).__name__}"
        )


# ------------------------------------------------------------------------- forward: jvp


def _push(f: Function, parts: list[list[Any]], rebuilds: list[Any], tangents: list[list[Any]], name: str) -> Any:  # fmt: skip  # noqa: E501
    """Run f on dual numbers; the leaves of its values and tangents, and their structure."""
    with new_level() as level:
        args = []
        for leaves, rebuild, ts in zip(parts, rebuilds, tangents, strict=True):
            args.append(rebuild([
                p if t is None else dual(p, t, level) for p, t in zip(leaves, ts, strict=True)
            ]))  # fmt: skip
        ys, rebuild_out = _outputs(_called(f, args), name)
        values, slopes = [], []
        for y in ys:
            if isinstance(y, Dual) and y.level == level:
                values.append(y.primal)
                slopes.append(y.tangent)
            else:
                if isinstance(y, Number):
                    check_open(y)
                values.append(_plain(y))
                slopes.append(None)
    return values, slopes, rebuild_out


def _plain(y: Any) -> Any:
    """A result that is no number, as results are given: a 0-d array as a scalar."""
    if isinstance(y, Number) or y.ndim:
        return y
    return as_part(y[()]) if y.dtype.kind == "f" else y[()]


def _zeros(y: Any, lead: tuple[int, ...] = ()) -> Any:
    shape = lead + shape_of(y)
    dtype = rules.dtype_of(y)
    return np.zeros(shape, dtype if dtype.kind in "fc" else float) if shape else 0.0


def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of f and its derivative along a direction: one pushforward.

    ``primals`` and ``tangents`` are tuples, one entry an argument, of the same shapes.
    Raises ``ValueError`` where a tangent does not fit its primal.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    _check_callable(f, "jvp")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents are tuples, one entry an argument of f")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals but {len(tangents)} tangents")
    parts, rebuilds, ts = [], [], []
    for p, t in zip(primals, tangents, strict=True):
        leaves, rebuild = _leaves(p, "jvp")
        slopes, _ = _leaves(t, "jvp")
        if len(slopes) != len(leaves):
            raise ValueError("jvp: a tangent has the structure of its primal")
        for a, b in zip(leaves, slopes, strict=True):
            if shape_of(a) != shape_of(b):
                raise ValueError(
                    "jvp: a tangent has the shape of its primal; got "
                    f"{shape_of(b)} for {shape_of(a)}"
                )
        parts.append(leaves)
        rebuilds.append(rebuild)
        ts.append(slopes)
    values, slopes, rebuild = _push(f, parts, rebuilds, ts, "jvp")
    slopes = [_zeros(v) if s is None else own(s) for v, s in zip(values, slopes, strict=True)]
    values = [own(v) for v in values]  # f may return its argument as it is
    return rebuild(values), rebuild(slopes)


# ------------------------------------------------------------------------- reverse: vjp


class _Record:
    """A recorded run of f: its values, and pullbacks from them to the arguments."""

    def __init__(self, f: Function, parts: list[list[Any]], rebuilds: list[Any], name: str) -> None:
        prints: list[Any] = []  # f may hold the caller's array, and write to it
        forget_copies()
        parts = [[keep(p, prints) for p in group] for group in parts]
        with new_level() as level:
            self.leaves = [[leaf_for(p) for p in group] for group in parts]
            args = [
                rebuild([variable(p, level, n) for p, n in zip(group, nodes, strict=True)])
                for group, nodes, rebuild in zip(parts, self.leaves, rebuilds, strict=True)
            ]
            ys, self.rebuild = _outputs(_called(f, args), name)
            self.nodes = []
            self.values = []
            for y in ys:
                if isinstance(y, Variable) and y.level == level:
                    self.nodes.append(y.node)
                    self.values.append(y.primal)
                else:
                    if isinstance(y, Number):
                        check_open(y)
                    self.nodes.append(None)
                    self.values.append(_plain(y))
        self.parts = parts
        check_prints(prints)
        self.order = schedule([n for n in self.nodes if n is not None])

    def pull(self, cts: list[Any], lead: tuple[int, ...] = ()) -> list[list[Any]]:
        """The cotangents of the arguments' leaves, given those of the values."""
        seeds: dict[Any, Any] = {}
        for node, ct in zip(self.nodes, cts, strict=True):
            if node is not None:
                seeds[node] = seeds[node] + ct if node in seeds else ct
        wanted = [n for group in self.leaves for n in group]
        arrived = sweep(self.order, seeds, wanted, lead)
        return [
            [
                _typed(own(arrived[n]), p) if n in arrived else _zeros(p, lead)
                for p, n in zip(group, nodes, strict=True)
            ]
            for group, nodes in zip(self.parts, self.leaves, strict=True)
        ]


def _typed(ct: Any, p: Any) -> Any:
    """A cotangent in the precision of its argument."""
    if type(p) is np.ndarray and type(ct) is np.ndarray and ct.dtype != p.dtype:
        return ct.astype(p.dtype)
    return ct


def vjp(f: Function, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of f, and the pullback: from a cotangent of it to those of the arguments.

    The pullback may be called any number of times; it gives a tuple, one entry an argument.

    >>> y, pullback = vjp(lambda a, b: a * b, 3.0, 4.0)
    >>> pullback(1.0)
    (4.0, 3.0)
    """
    _check_callable(f, "vjp")
    parts, rebuilds = [], []
    for p in primals:
        leaves, rebuild = _leaves(p, "vjp")
        parts.append([own(a) for a in leaves])
        rebuilds.append(rebuild)
    record = _Record(f, parts, rebuilds, "vjp")

    def pullback(ct: Any) -> tuple[Any, ...]:
        cts, _ = _leaves(ct, "pullback")
        for c, y in zip(cts, record.values, strict=True):
            if shape_of(c) != shape_of(y):
                raise ValueError(
                    f"pullback: a cotangent has the shape of its output; got {shape_of(c)} for "
                    f"{shape_of(y)}"
                )
        pulled = record.pull(cts)
        return tuple(r(group) for r, group in zip(rebuilds, pulled, strict=True))

    return record.rebuild([own(v) for v in record.values]), pullback


# --------------------------------------------------------------------------- gradients


def _scalar_output(ys: list[Any], name: str) -> Any:
    if len(ys) != 1 or shape_of(ys[0]) != ():
        shapes = ", ".join(str(shape_of(y)) for y in ys)
        raise TypeError(
            f"{name} is of a function that gives one number; f gave an output of shape {shapes}: "
            "use ad.jacobian, or reduce the output, as in np.sum(f(x))"
        )
    (y,) = ys
    if type(y) is not float and rules.dtype_of(y).kind not in "fiu":
        raise TypeError(
            f"{name} is of a real-valued function; f gave a value of dtype {rules.dtype_of(y)}"
        )
    return y


def value_and_grad(f: Function, argnums: int | Sequence[int] = 0, mode: str = "auto") -> Function:
    """The function that gives (f(*args), its gradient) at once.

    >>> value_and_grad(lambda x: x[0] * x[1])(np.array([3.0, 4.0]))
    (12.0, array([4., 3.]))
    """
    _check_callable(f, "value_and_grad")
    _mode(mode, ("forward", "reverse", "auto"), "grad")

    @functools.wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and argnums == 0 and mode != "forward":
            x = args[0]
            if type(x) is np.ndarray and x.dtype.kind == "f" and (x.size > 1 or mode == "reverse"):
                return _gradient_of_array(f, x)
        chosen = _argnums(argnums, args, "grad")
        g = _closed(f, args, chosen, kwargs)
        parts, rebuilds = [], []
        for i in chosen:
            leaves, rebuild = _leaves(args[i], "grad")
            parts.append(leaves)
            rebuilds.append(rebuild)
        size = sum(math.prod(shape_of(p)) for group in parts for p in group)
        how = mode
        if mode == "auto":
            real = all(_is_real(p) for group in parts for p in group)
            how = "forward" if size == 1 and real else "reverse"
        if how == "forward":
            value, cts = _forward_gradient(g, parts, rebuilds, size)
        else:
            record = _Record(g, parts, rebuilds, "grad")
            value = _scalar_output(record.values, "grad")
            cts = record.pull([1.0])
        answer = tuple(r(group) for r, group in zip(rebuilds, cts, strict=True))
        return value, answer[0] if isinstance(argnums, (int, np.integer)) else answer

    return value_and_gradient


def _gradient_of_array(f: Function, x: Any) -> Any:
    """Value and gradient by the tape, for the commonest argument: one array of floats."""
    record = _Record(f, [[x]], [only], "grad")
    value = _scalar_output(record.values, "grad")
    ((ct,),) = record.pull([1.0])
    return value, ct


def _is_real(p: Any) -> bool:
    return bool(rules.dtype_of(p).kind != "c")


def _forward_gradient(f: Function, parts: list[list[Any]], rebuilds: list[Any], n: int) -> Any:
    if not all(_is_real(p) for group in parts for p in group):
        raise TypeError(
            "grad: at a complex point the gradient needs reverse mode; use mode='reverse', or "
            "ad.jvp for one direction"
        )
    flat = [p for group in parts for p in group]
    rows = []
    value: Any = None
    for start, stop in _chunks(n, None, n) or [(0, 0)]:
        seeds = _basis(flat, start, stop)
        values, slopes, _ = _push(f, parts, rebuilds, _regroup(seeds, parts), "grad")
        value = _scalar_output(values, "grad")
        rows.append(_zeros(value, (stop - start,)) if slopes[0] is None else slopes[0])
    total = rows[0] if len(rows) == 1 else rules.concatenate(rows)
    return value, _regroup(_split(total, flat), parts)


def grad(f: Function, argnums: int | Sequence[int] = 0, mode: str = "auto") -> Function:
    """The gradient of a function that gives one number, in the structure of the argument.

    ``argnums`` says which arguments: a number, or a tuple for a tuple of gradients.
    Raises ``TypeError`` if f does not give one real number.

    >>> grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    _check_callable(f, "grad")
    both = value_and_grad(f, argnums, mode)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return gradient


# -------------------------------------------------------------------- directions in chunks


def _chunks(n: int, chunk: int | None, cost: int) -> list[tuple[int, int]]:
    """How n directions are cut: as asked, or so that a number stays below some megabytes."""
    if chunk is None:
        chunk = max(1, min(n, modes.WIDEST // max(cost, 1)))
    if chunk < 1:
        raise ValueError(f"chunk is a positive number of directions, not {chunk}")
    return [(i, min(i + chunk, n)) for i in range(0, n, chunk)]


def _basis(parts: list[Any], start: int, stop: int) -> list[Any]:
    """The unit directions start to stop of the flattened leaves, one array a leaf."""
    k = stop - start
    out, offset = [], 0
    for p in parts:
        shape = shape_of(p)
        size = math.prod(shape)
        dtype = rules.dtype_of(p)
        e = np.zeros((k, size), dtype if dtype.kind in "fc" else float)
        low, high = max(start, offset), min(stop, offset + size)
        if low < high:
            e[np.arange(low - start, high - start), np.arange(low - offset, high - offset)] = 1
        out.append(e.reshape((k, *shape)))
        offset += size
    return out


def _split(rows: Any, parts: list[Any]) -> list[Any]:
    """Entries along the first axis, cut up and shaped like the leaves."""
    out, offset = [], 0
    tail = shape_of(rows)[1:]
    for p in parts:
        shape = shape_of(p)
        size = math.prod(shape)
        piece = rows[offset : offset + size]
        piece = rules.reshape(piece, shape + tail)
        out.append(as_part(piece) if not shape + tail else own(piece))
        offset += size
    return out


def _regroup(flat: list[Any], like: list[list[Any]]) -> list[list[Any]]:
    it = iter(flat)
    return [[next(it) for _ in group] for group in like]


# ---------------------------------------------------------------------------- Jacobians


def jacobian(
    f: Function,
    argnums: int | Sequence[int] = 0,
    mode: str = "auto",
    chunk: int | None = None,
    executor: Any = None,
) -> Function:
    """The Jacobian: of shape ``out.shape + x.shape`` for each output and argument.

    ``chunk`` bounds how many directions go through at once.  ``executor`` is any of
    ``concurrent.futures`` (threads, processes, a Dask client's ``get_executor()``) that the
    chunks are handed to; the same chunk gives the same digits whatever the executor.
    Processes need an f that pickles: one defined at the top of a module.  A worker that dies
    is an error.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    _check_callable(f, "jacobian")
    _mode(mode, ("forward", "reverse", "auto"), "jacobian")

    chosen_modes: dict[Any, str] = {}

    @functools.wraps(f)
    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        chosen = _argnums(argnums, args, "jacobian")
        g = _closed(f, args, chosen, kwargs)
        parts, rebuilds = [], []
        for i in chosen:
            leaves, rebuild = _leaves(args[i], "jacobian")
            parts.append(leaves)
            rebuilds.append(rebuild)
        flat = [p for group in parts for p in group]
        n = sum(math.prod(shape_of(p)) for p in flat)
        record = None
        how = mode
        if mode == "auto":
            shapes = tuple(shape_of(p) for p in flat)
            how = "forward" if n <= _FEW else chosen_modes.get(shapes, "")
            if not how:
                # The record tells the structure; which mode suits it is kept for later calls.
                record = _Record(g, parts, rebuilds, "jacobian")
                m = sum(math.prod(shape_of(y)) for y in record.values)
                how = modes.choose(modes.Structure.of(n, m, record.order))
                chosen_modes[shapes] = how
        if executor is not None:
            call = (f, args, kwargs, chosen)
            outputs = record.values if record else []
            if how == "reverse" and record is None:
                outputs, _ = _outputs(g(*(args[i] for i in chosen)), "jacobian")
            blocks, rebuild_out = _jacobian_elsewhere(executor, call, how, flat, outputs, chunk)
        elif how == "forward":
            blocks, rebuild_out = _jacobian_forward(g, parts, rebuilds, flat, n, chunk)
        else:
            record = record or _Record(g, parts, rebuilds, "jacobian")
            blocks, rebuild_out = _jacobian_reverse(record, flat, chunk), record.rebuild
        out = []
        for block in blocks:  # one an output leaf: a list over the flat argument leaves
            answer = tuple(r(gr) for r, gr in zip(rebuilds, _regroup(block, parts), strict=True))
            out.append(answer[0] if isinstance(argnums, (int, np.integer)) else answer)
        return rebuild_out(out)

    return jacobian_of_f


#: Of so few inputs a Jacobian is taken forward without asking: a record costs as much.
_FEW = 4


def _jacobian_forward(
    f: Function, parts: Any, rebuilds: Any, flat: list[Any], n: int, chunk: int | None
) -> Any:
    columns: list[list[Any]] = []
    rebuild_out: Any = None
    for start, stop in _chunks(n, chunk, n) or [(0, 0)]:
        pushed, rebuild_out = _pushed_basis(f, parts, rebuilds, flat, start, stop)
        columns.append(pushed)
    return _forward_blocks(columns, flat), rebuild_out


def _pushed_basis(
    f: Function, parts: Any, rebuilds: Any, flat: list[Any], start: int, stop: int
) -> tuple[list[Any], Any]:
    """The tangents of each output along the unit directions start to stop."""
    basis = _basis(flat, start, stop)
    lead = (stop - start,)

    def pushed(seeds: list[Any]) -> tuple[list[Any], Any]:
        if lead == (1,):
            # One direction needs no axis, so a number goes with a plain tangent, which is five
            # times as fast.  What the direction does not touch is a number all the same: f may
            # make arrays like it, and write to them.
            seeds = [e[0] if e.ndim > 1 else e[0].item() for e in seeds]
        values, slopes, rebuild_out = _push(f, parts, rebuilds, _regroup(seeds, parts), "jacobian")
        if lead == (1,):
            slopes = [s if s is None else rules.reshape(s, (1, *shape_of(s))) for s in slopes]
        pairs = zip(values, slopes, strict=True)
        return [_zeros(v, lead) if s is None else s for v, s in pairs], rebuild_out

    tangents, rebuild_out = pushed(basis)
    if all(map(_is_real, flat)):
        return tangents, rebuild_out
    turned, _ = pushed([0 * e if _is_real(e) else 1j * e for e in basis])
    # Rows of real arguments were not turned: they have nothing to hold against.
    complex_rows = sum(np.reshape(e, (lead[0], -1)).any(axis=1) for e in basis if not _is_real(e))
    out = []
    for t, u in zip(tangents, turned, strict=True):
        if _is_real(t):
            out.append(t + 1j * u)
        else:
            mask = np.reshape(complex_rows, lead + (1,) * (len(shape_of(t)) - 1))
            _check_holomorphic(rules.where(mask, u - 1j * t, 0), t)
            out.append(t)
    return out, rebuild_out


def _check_holomorphic(excess: Any, slope: Any) -> None:
    """Refuse where turning the argument does not turn the output by as much."""
    excess, slope = np.abs(value_of(excess)), np.abs(value_of(slope))
    if np.any(excess > 1e-6 * np.max(slope, initial=0)):
        raise TypeError(
            "jacobian: at a complex point, a complex output must be a holomorphic function (one "
            "without conj, real, imag or abs); use ad.jvp or ad.vjp, which take a direction, or "
            "give real and imaginary parts as arguments of their own"
        )


def _forward_blocks(columns: list[list[Any]], flat: list[Any]) -> list[list[Any]]:
    """The blocks of the Jacobian, from the tangents of each output, chunk by chunk."""
    blocks = []
    for j in range(len(columns[0])):
        rows = columns[0][j] if len(columns) == 1 else rules.concatenate([c[j] for c in columns])
        out_ndim = len(shape_of(rows)) - 1
        block = []
        for piece, p in zip(_split_rows(rows, flat), flat, strict=True):
            x_ndim = len(shape_of(p))
            order = (*range(x_ndim, x_ndim + out_ndim), *range(x_ndim))
            piece = rules.transpose(piece, order) if out_ndim and x_ndim else piece
            block.append(_finished(piece))
        blocks.append(block)
    return blocks


def _split_rows(rows: Any, flat: list[Any]) -> list[Any]:
    out, offset = [], 0
    tail = shape_of(rows)[1:]
    for p in flat:
        size = math.prod(shape_of(p))
        out.append(rules.reshape(rows[offset : offset + size], shape_of(p) + tail))
        offset += size
    return out


def _finished(x: Any) -> Any:
    """A block as the user gets it: a number where it has no axes, else an array of its own."""
    if isinstance(x, Number):
        return determined(x)
    return as_part(x) if not shape_of(x) else np.array(x)


def _jacobian_reverse(record: _Record, flat: list[Any], chunk: int | None) -> list[list[Any]]:
    blocks = []
    n = sum(math.prod(shape_of(p)) for p in flat)
    for j, y in enumerate(record.values):
        cuts = _chunks(math.prod(shape_of(y)), chunk, n) or [(0, 0)]
        rows = [_pulled_basis(record, j, start, stop) for start, stop in cuts]
        blocks.append(_reverse_block(rows, y, flat))
    return blocks


def _pulled_basis(record: _Record, j: int, start: int, stop: int) -> list[Any]:
    """The cotangents of the arguments' leaves, for the entries start to stop of output j."""
    k = stop - start
    (*_, y) = record.values
    if k == 1 and len(record.values) == 1 and not shape_of(y) and _is_real(y):
        # One number as output needs no axis either.
        cts = [c for group in record.pull([1.0]) for c in group]
        return [rules.reshape(c, (1, *shape_of(c))) for c in cts]

    def pulled(turn: complex) -> list[Any]:
        cts = [_zeros(v, (k,)) for v in record.values]
        (cts[j],) = (turn * e for e in _basis([record.values[j]], start, stop))
        return [c for group in record.pull(cts, (k,)) for c in group]

    once = pulled(1)
    if _is_real(record.values[j]):
        return once
    rows = []
    for c, d in zip(once, pulled(1j), strict=True):  # a pullback is the adjoint
        if _is_real(c):
            rows.append(c + 1j * d)
        else:
            _check_holomorphic(d - 1j * c, c)
            rows.append(rules.conjugate(c))
    return rows


def _reverse_block(rows: list[list[Any]], y: Any, flat: list[Any]) -> list[Any]:
    """The blocks of one output's Jacobian, from the cotangents of its entries, chunk by chunk."""
    block = []
    for i, p in enumerate(flat):
        whole = rows[0][i] if len(rows) == 1 else rules.concatenate([r[i] for r in rows])
        block.append(_finished(rules.reshape(whole, shape_of(y) + shape_of(p))))
    return block


# ------------------------------------------------------------------- Jacobians elsewhere

#: How many chunks an executor gets if the user does not say: not the number of its workers, so
#: that the digits do not depend on it.
_JOBS = 8

_Call = tuple[Function, tuple[Any, ...], dict[str, Any], tuple[int, ...]]


def _jacobian_elsewhere(
    executor: Any, call: _Call, how: str, flat: list[Any], outputs: list[Any], chunk: int | None
) -> Any:
    """The blocks of the Jacobian whose chunks an executor works on."""
    n = sum(math.prod(shape_of(p)) for p in flat)

    def cuts(size: int) -> list[tuple[int, int]]:
        few = max(1, min(-(-size // _JOBS), modes.WIDEST // max(n, 1)))
        return _chunks(size, few if chunk is None else chunk, n) or [(0, 0)]

    if how == "forward":
        futures = [executor.submit(_forward_job, call, *cut) for cut in cuts(n)]
    else:
        places = [(j, *cut) for j, y in enumerate(outputs) for cut in cuts(math.prod(shape_of(y)))]
        futures = [executor.submit(_reverse_job, call, *place) for place in places]
    try:
        results = [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    _, rebuild_out = flatten(results[0][0] if how == "forward" else results[0][1])
    if how == "forward":
        return _forward_blocks([flatten(pushed)[0] for pushed, _ in results], flat), rebuild_out
    blocks = []
    for j, y in enumerate(outputs):
        rows = [pulled for (i, *_), (pulled, _) in zip(places, results, strict=True) if i == j]
        blocks.append(_reverse_block(rows, y, flat))
    return blocks, rebuild_out


def _opened(call: _Call) -> tuple[Function, list[list[Any]], list[Any]]:
    f, args, kwargs, chosen = call
    opened = [_leaves(args[i], "jacobian") for i in chosen]
    g = _closed(f, args, chosen, kwargs)
    return g, [parts for parts, _ in opened], [rebuild for _, rebuild in opened]


def _forward_job(call: _Call, start: int, stop: int) -> tuple[Any, None]:
    """The tangents along some directions, in the structure of the output."""
    g, parts, rebuilds = _opened(call)
    flat = [p for group in parts for p in group]
    pushed, rebuild_out = _pushed_basis(g, parts, rebuilds, flat, start, stop)
    return rebuild_out(pushed), None


def _reverse_job(call: _Call, j: int, start: int, stop: int) -> tuple[list[Any], Any]:
    """The cotangents for some entries of output j, and the structure of the output."""
    g, parts, rebuilds = _opened(call)
    record = _Record(g, parts, rebuilds, "jacobian")
    return _pulled_basis(record, j, start, stop), record.rebuild([0.0] * len(record.values))


# ------------------------------------------------------------------------ one number in


def derivative(f: Function, order: int = 1) -> Function:
    """The derivative of a function of a number, of any order.

    At an array, f must act entry by entry, and the derivative at each entry is given.

    Raises ``ValueError`` for an order below 0, and where f at an array changes the shape.

    >>> derivative(np.sin)(0.0)
    1.0
    >>> derivative(lambda x: x**3, order=2)(2.0)
    12.0
    """
    _check_callable(f, "derivative")
    if not isinstance(order, (int, np.integer)) or order < 0:
        raise ValueError(f"derivative: order is a whole number from 0, not {order!r}")
    if order == 0:
        return f
    if order == 2:
        return _second(f)
    if order > 2:
        return derivative(_second(f), order - 2)

    @functools.wraps(f)
    def first_derivative(x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is not float:
            x = _one_point(x)
        level = open_level()
        try:
            number = Dual(x, 1.0, level) if type(x) is float else dual(x, _ones(x), level)
            y = f(number, *args, **kwargs)
            if type(y) is Dual and y.level == level and type(x) is float:
                t = y.tangent
                return t if type(t) is float else determined(t)
            return _entries(y, x, level, "tangent")
        finally:
            close_level(level)

    return first_derivative


def _second(f: Function) -> Function:
    @functools.wraps(f)
    def second_derivative(x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is not float:
            x = _one_point(x)
        one = _ones(x)
        level = open_level()
        try:
            y = f(hyperdual(x, one, one, 0 * one, level), *args, **kwargs)
            if type(y) is HyperDual and y.level == level and type(x) is float:
                t = y.mixed
                return t if type(t) is float else determined(t)
            return _entries(y, x, level, "mixed")
        finally:
            close_level(level)

    return second_derivative


def _one_point(x: Any) -> Any:
    (part,), _ = _leaves(rules.as_array(x) if is_nested(x) else x, "derivative")
    return part


def _ones(x: Any) -> Any:
    """Seeds of one in the shape of x; of an exact number an integer, so that slopes are exact."""
    if shape_of(x):
        return np.ones(shape_of(x), rules.dtype_of(x))
    return 1 if rules.dtype_of(x).kind == "O" else 1.0


def _entries(y: Any, x: Any, level: float, part: str) -> Any:
    """That part of each output of f, which must have the shape of x."""
    ys, rebuild = _outputs(y, "derivative")
    out = []
    for v in ys:
        if shape_of(x) and shape_of(v) != shape_of(x):
            raise ValueError(
                f"derivative at an array of shape {shape_of(x)} is of a function that acts entry "
                f"by entry; f gave the shape {shape_of(v)}: use ad.grad or ad.jacobian"
            )
        if isinstance(v, Number) and v.level == level:
            out.append(own(getattr(v, part)))
        else:
            if isinstance(v, Number):
                check_open(v)
            out.append(_zeros(v))
    return rebuild(out)


# ------------------------------------------------------------------------- second order


def hvp(f: Function, x: Any, v: Any) -> Any:
    """The Hessian of f times v: the derivative of the gradient along v, forward over reverse.

    >>> hvp(lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([4., 2.])
    """
    return jvp(grad(f, mode="reverse"), (x,), (v,))[1]


def hessian(
    f: Function, argnums: int | Sequence[int] = 0, mode: str = "auto", chunk: int | None = None
) -> Function:
    """The Hessian of a function that gives one number: of shape ``x.shape + x.shape``.

    Modes: ``hyperdual`` (forward twice, no tape), ``forward`` (forward over reverse),
    ``reverse`` (reverse over reverse), ``auto``.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    _check_callable(f, "hessian")
    _mode(mode, ("hyperdual", "forward", "reverse", "auto"), "hessian")

    @functools.wraps(f)
    def hessian_of_f(*args: Any, **kwargs: Any) -> Any:
        chosen = _argnums(argnums, args, "hessian")
        single = isinstance(argnums, (int, np.integer))
        g = _closed(f, args, chosen, kwargs)
        points = tuple(args[i] for i in chosen)
        if not all(map(_is_real, _leaves(list(points), "hessian")[0])):
            raise TypeError("hessian: give real and imaginary parts as arguments of their own")
        if mode == "hyperdual":
            return _hessian_hyperdual(g, points, single, chunk)
        every = 0 if single else tuple(range(len(points)))
        outer = "reverse" if mode == "reverse" else "forward"
        return jacobian(grad(g, every, "reverse"), every, outer, chunk)(*points)

    return hessian_of_f


def _hessian_hyperdual(
    f: Function, points: tuple[Any, ...], single: bool, chunk: int | None
) -> Any:
    """One evaluation a pair of chunks of directions: k (k + 1) / 2 for k chunks."""
    parts, rebuilds = [], []
    for p in points:
        leaves, rebuild = _leaves(p, "hessian")
        parts.append(leaves)
        rebuilds.append(rebuild)
    flat = [p for group in parts for p in group]
    n = sum(math.prod(shape_of(p)) for p in flat)
    total = np.zeros((n, n), np.result_type(*map(rules.dtype_of, flat)) if flat else float)
    pieces: dict[tuple[int, int], Any] = {}
    cuts = _chunks(n, modes.pair_width(n) if chunk is None else chunk, n)
    value: Any = None
    for i, (a, b) in enumerate(cuts):
        first = _basis(flat, a, b)
        for c, d in cuts[i:]:
            second = _basis(flat, c, d)
            with new_level() as level:
                seeds = [
                    hyperdual(p, s, t, np.zeros((b - a, d - c, *shape_of(p))), level)
                    for p, s, t in zip(flat, first, second, strict=True)
                ]
                args = [r(g) for r, g in zip(rebuilds, _regroup(seeds, parts), strict=True)]
                ys, _ = _outputs(_called(f, args), "hessian")
                value = _scalar_output(ys, "hessian")
                at_level = isinstance(value, HyperDual) and value.level == level
                pieces[a, c] = value.mixed if at_level else np.zeros((b - a, d - c))
    if any(isinstance(piece, Number) for piece in pieces.values()):
        total = _assembled(pieces, cuts)
    else:
        for (a, c), piece in pieces.items():
            total[a : a + piece.shape[0], c : c + piece.shape[1]] = piece
            total[c : c + piece.shape[1], a : a + piece.shape[0]] = piece.T

    def in_place(blocks: list[Any]) -> Any:
        built = [r(g) for r, g in zip(rebuilds, _regroup(blocks, parts), strict=True)]
        return built[0] if single else tuple(built)

    blocks = []
    offset = 0
    for p in flat:
        size = math.prod(shape_of(p))
        rows = rules.transpose(total[offset : offset + size])
        block = [
            _finished(
                rules.reshape(
                    rules.transpose(rules.reshape(q, (math.prod(shape_of(o)), size))),
                    shape_of(p) + shape_of(o),
                )
            )
            for q, o in zip(_split_rows(rows, flat), flat, strict=True)
        ]
        blocks.append(in_place(block))
        offset += size
    return in_place(blocks)


def _assembled(pieces: dict[tuple[int, int], Any], cuts: list[tuple[int, int]]) -> Any:
    """The symmetric matrix of pieces that are numbers themselves."""
    rows = []
    for a, _ in cuts:
        row = [pieces[a, c] if (a, c) in pieces else rules.transpose(pieces[c, a]) for c, _ in cuts]
        rows.append(rules.concatenate(row, 1))
    return rules.concatenate(rows, 0)


__all__ = [
    "derivative", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp",
]  # fmt: skip
