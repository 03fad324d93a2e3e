"""Compilation: a function that is traced once for each kind of argument, then run as a program.

``compile(fn)`` gives a function that answers as fn does.  Its first call at arguments of a
new kind (structure, shapes, types) traces fn, optimises the program and writes it as a
Python function; later calls check the kind, then run that.  Where a guard fails, the function
is traced again and both programs are kept.

Two things are left to fn itself.  A program multiplies plainly, so where a NaN comes out, fn
is asked, which keeps a zero tangent zero; and so is it where ``math`` raises.  And what cannot
be traced is fn's for good, with one warning.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.compiler import jit
from dualad.compiler.blocks import layers
from dualad.compiler.emit import FLOAT, Blocked, Emitter, Source
from dualad.compiler.passes import optimised
from dualad.primitive import Number, quietly
from dualad.program import Operation, Program, arrays_in, is_traced, record
from dualad.tree import flatten

#: programs kept for one kind of arguments, and kinds for one function
MAX_PROGRAMS, MAX_KINDS = 32, 64

#: rows that are recorded as the operations that they are made of
WRITTEN_OUT = frozenset({"sech_squared", "lorentzian", "one_minus_square"})

MISS = object()  # a guard did not hold
UNSURE = object()  # a NaN came out, or ``math`` raised


#: names in the code that is written, which no argument may have
_OURS = {
    "answer", "compiled", "float", "MISS", "ndarray", "program", "quietly", "sure", "type",
    "UNSURE", "Exception",
}  # fmt: skip


class CompileWarning(UserWarning):
    """A function is run as it is, since it cannot be compiled."""


# ------------------------------------------------------------------- kinds of arguments


def kind_of(x: Any, leaves: list[Any]) -> Any:
    """What decides which programs fit an argument; its leaves are collected on the way."""
    kind = type(x)
    if kind is float:
        leaves.append(x)
        return float
    if kind is np.ndarray and x.dtype.kind in "fcbiu":
        leaves.append(x)
        return x.dtype, x.shape
    if kind is tuple or kind is list:
        return kind, *[kind_of(e, leaves) for e in x]
    if kind is dict:
        return dict, *[(k, kind_of(v, leaves)) for k, v in x.items()]
    if isinstance(x, (tuple, list, dict)):  # a subclass: a named tuple, an ordered dict
        entries = x.items() if isinstance(x, dict) else enumerate(x)
        return kind, *[(k, kind_of(v, leaves)) for k, v in entries]
    leaves.append(x)
    if isinstance(x, np.ndarray):
        raise TypeError("a subclass of arrays, or an array of objects")
    if is_input(x):
        return kind
    hash(x)  # a TypeError: an argument that nothing is known of
    return kind, x


def is_input(x: Any) -> bool:
    """Whether an argument is an input of programs; whole numbers and bools are part of the kind."""
    return is_traced(x) and not isinstance(x, (int, np.integer))


# -------------------------------------------------------------------------- one program


class Variant:
    """A program for one kind of arguments, as a Python function of its inputs."""

    def __init__(self, program: Program, mask: list[bool], outside: list[Any]) -> None:
        self.mask = mask
        self.program = program
        self.namespace: dict[str, Any] = {"MISS": MISS, "UNSURE": UNSURE}
        for op in program.inputs:
            if op.name.endswith("_") or op.name in _OURS:
                op.name += "in"
        source = Source(self.namespace, [op.name for op in (*program.inputs, *program.operations)])
        for a in outside:
            sample = sample_of(a)
            seen = source.bind(sample.tobytes(), "seen")
            source.line(f"if {source.bind(sample, 'sample')}.tobytes() != {seen}: return MISS")
        self.steps = layers(program)
        emitter = Emitter(program, source, self.steps)
        outputs = emitter.emit("return MISS")
        self.numbers = all(op.shape == () for op in (*program.inputs, *program.operations))
        self.single = len(outputs) == 1 and program.rebuild([MISS]) is MISS
        self.body = [*source.lines, *self._results(outputs, source)]
        names = ", ".join(op.name for op in program.inputs)
        text = "\n    ".join([f"def program({names}):", *self.body])
        exec(text, self.namespace)
        self.source = text
        self.run: Callable[..., Any] = self.namespace["program"]

    def _results(self, outputs: list[str], source: Source) -> list[str]:
        """The statements that check the outputs for NaN and return them."""
        lines, names = [], []
        checked = {op for step in self.steps if isinstance(step, Blocked) for op in step.checked}
        for i, (y, text) in enumerate(zip(self.program.outputs, outputs, strict=True)):
            name = f"y{i}_"
            lines.append(f"{name} = {text}")
            names.append(name)
            if not isinstance(y, Operation) or y.dtype is None or y.dtype.kind not in "fc":
                continue
            if y in checked:
                continue
            if not y.shape:
                lines.append(f"if {name} != {name}: return UNSURE")
            elif y.size:
                flat = name if len(y.shape) == 1 else f"{name}.ravel('K')"
                if y.size <= 8192:  # beyond, BLAS starts threads for it
                    lines += [f"f_ = {flat}", "s_ = f_.dot(f_)"]
                else:  # to NumPy, NaN is the least of all
                    lines += [f"s_ = {source.bind(np.minimum.reduce, 'least')}({name}, None)"]
                lines += ["if s_ != s_: return UNSURE"]
        if self.single:
            return [*lines, f"return {names[0]}"]
        rebuild = source.bind(self.program.rebuild, "rebuild")
        return [*lines, f"return {rebuild}([{', '.join(names)}])"]

    def use_machine_code(self, leaves: list[Any]) -> None:
        """Run a program of numbers as machine code from now on, if it can be."""
        kinds = [op.dtype for op in (*self.program.inputs, *self.program.operations)]
        outputs = self.program.outputs
        if not self.numbers or any(k not in (FLOAT, np.dtype(bool)) for k in kinds):
            return
        if not all(isinstance(y, Operation) and y.dtype == FLOAT for y in outputs):
            return
        fast = jit.machine_code(
            self.program, [x for x, m in zip(leaves, self.mask, strict=True) if m]
        )
        if fast is None:
            return
        rebuild = self.program.rebuild

        def run(*inputs: Any) -> Any:
            held, *ys = fast(*inputs)
            if not held:
                return MISS
            return UNSURE if any(y != y for y in ys) else rebuild(ys)

        self.run = run
        self.numbers = False  # its statements are not to be repeated in the caller

    def __call__(self, leaves: list[Any]) -> Any:
        inputs = [x for x, m in zip(leaves, self.mask, strict=True) if m]
        try:
            return quietly(self.run, *inputs)
        except Exception:  # whatever it is, the function says it better
            return UNSURE


# ------------------------------------------------------------- arrays from elsewhere


def outside(program: Program) -> list[Any]:
    """The constant arrays that somebody else holds too, and so may change."""
    ours: dict[int, int] = {}  # references to an array that are the program's
    for a in [*program.met, *arrays_in([(op.args, op.params) for op in program.operations])]:
        ours[id(a)] = ours.get(id(a), 0) + 1
    views: dict[int, set[int]] = {}
    for a in program.met:
        views.setdefault(id(a.base), set()).add(id(a))
    a = None  # or it would be one more reference
    held = [
        (a.base is not None and sys.getrefcount(a.base) - len(views[id(a.base)]) > 1)
        or sys.getrefcount(a) - ours[id(a)] > 2  # the variable, and getrefcount's argument
        for a in program.met
    ]  # fmt: skip
    found = {id(a): a for a, h in zip(program.met, held, strict=True) if h and a.size}
    return list(found.values())


def sample_of(a: Any) -> Any:
    """Some entries of an array (all of a small one), as a view: most changes show there."""
    flat = a.reshape(-1)
    if not np.shares_memory(flat, a):  # it is not in one piece
        flat = a[tuple(slice(0, 8) for _ in a.shape)]
        return flat
    return flat[:: flat.nbytes // 512 | 1]


# --------------------------------------------------------------------- the function given


class Compiled:
    """What stands behind a compiled function: its programs by kind, and the function itself."""

    def __init__(self, fn: Callable[..., Any], backend: str) -> None:
        self.fn = fn
        self.backend = backend
        self.kinds: dict[Any, list[Variant]] = {}
        self.given_up: set[Any] = set()
        self.warned = False
        namespace: dict[str, Any] = {"answer": self.answer, "__name__": __name__}
        exec("def compiled(*args, **kwargs): return answer(args, kwargs)", namespace)
        self.entry: types.FunctionType = namespace["compiled"]

    def answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer for any arguments: a program's, or that of the function itself."""
        leaves: list[Any] = []
        try:
            kind = (kind_of(args, leaves), kind_of(kwargs, leaves) if kwargs else None)
        except TypeError:
            return self.fn(*args, **kwargs)
        if any(isinstance(x, Number) for x in leaves):
            return self.fn(*args, **kwargs)  # it is being differentiated, or traced itself
        if kind in self.given_up:
            return self.fn(*args, **kwargs)
        variants = self.kinds.get(kind, ())
        for variant in variants:
            y = variant(leaves)
            if y is UNSURE:
                return self.fn(*args, **kwargs)
            if y is not MISS:
                return y
        if len(variants) >= MAX_PROGRAMS or len(self.kinds) >= MAX_KINDS:
            return self._give_up(kind, args, kwargs, "its branches differ from call to call")
        return self._trace(kind, leaves, args, kwargs)

    def _trace(self, kind: Any, leaves: list[Any], args: Any, kwargs: Any) -> Any:
        try:
            program = record(self.fn, args, kwargs, is_input, WRITTEN_OUT)
            traced = [y.value if isinstance(y, Operation) else y for y in program.outputs]
            held = outside(program)
            variant = Variant(optimised(program), [is_input(x) for x in leaves], held)
        except Exception as error:  # the function's own errors come again, from itself
            return self._give_up(kind, args, kwargs, f"{type(error).__name__}: {error}")
        if self.backend == "numba":
            variant.use_machine_code(leaves)
        y = variant(leaves)
        if y is UNSURE or y is MISS:
            y = self.fn(*args, **kwargs)
        elif not _agree(flatten(y)[0], traced):
            return self._give_up(kind, args, kwargs, "the program gave another answer")
        self.kinds.setdefault(kind, []).insert(0, variant)
        self._specialise(variant, args, kwargs)
        return y

    def _give_up(self, kind: Any, args: Any, kwargs: Any, why: str) -> Any:
        y = self.fn(*args, **kwargs)
        self.given_up.add(kind)
        if not self.warned:
            self.warned = True
            name = getattr(self.fn, "__name__", "the function")
            warnings.warn(
                f"compile: {name} runs uncompiled for such arguments ({why})", CompileWarning, 4
            )
        return y

    def _specialise(self, variant: Variant, args: tuple[Any, ...], kwargs: Any) -> None:
        """Put the check for this kind, and the way to its program, into the function itself.

        The function's code is replaced: one more call, or a look into a dictionary, would
        cost a scalar derivative half its time again.
        """
        if kwargs or not all(type(a) is float or type(a) is np.ndarray for a in args):
            return
        names = [op.name for op in variant.program.inputs]
        exact = len(names) > 0 and names == _exact_names(self.fn)
        namespace = self.entry.__globals__
        tests = []
        for name, a in zip(names, args, strict=True):
            if type(a) is float:
                tests.append(f"type({name}) is float")
            else:
                namespace[f"dtype_{name}"] = a.dtype
                namespace[f"shape_{name}"] = a.shape
                tests.append(f"type({name}) is ndarray and {name}.dtype is dtype_{name}")
                tests.append(f"{name}.shape == shape_{name}")
        given = "".join(f"{n}, " for n in names)
        if exact:
            lines = [f"def compiled({given}):"]
            rest = f"return answer(({given}), {{}})"
        else:
            tests.append("not rest_ and not kwargs_")
            defaults = "".join(f"{n}=absent_, " for n in names)
            lines = [f"def compiled({defaults}{'/, ' if names else ''}*rest_, **kwargs_):"]
            rest = f"return answer(present_(({given}*rest_)), kwargs_)"
        lines.append(f"  if {' and '.join(tests)}:")
        if variant.numbers:
            namespace.update(variant.namespace)
            failed = rest
            lines.append("    try:")
            for line in variant.body:
                line = line.replace("return MISS", failed).replace("return UNSURE", failed)
                lines.append("      " + line)
            lines.append("    except Exception: pass")
        else:
            namespace["program_"] = variant.run
            lines.append("    try:")
            lines.append(f"      y_ = quietly(program_, {given})")
            lines.append("      if y_ is not MISS and y_ is not UNSURE: return y_")
            lines.append("    except Exception: pass")
        lines.append(f"  {rest}")
        namespace.update(
            absent_=_ABSENT, present_=_present, ndarray=np.ndarray, quietly=quietly, MISS=MISS,
            UNSURE=UNSURE,
        )  # fmt: skip
        scratch: dict[str, Any] = {"absent_": _ABSENT}
        exec("\n".join(lines), scratch)
        self.entry.__defaults__ = scratch["compiled"].__defaults__
        self.entry.__code__ = scratch["compiled"].__code__


def _exact_names(fn: Any) -> list[str] | None:
    """The parameters of a function that is called by position or name, with nothing left out.

    Of a derivative made here, those are the function's that it is of.  Other wrappers may take
    what they do not show.
    """
    while hasattr(fn, "__wrapped__"):
        if not getattr(fn, "__globals__", {}).get("__name__", "").startswith("dualad."):
            return None
        fn = fn.__wrapped__
    if not isinstance(fn, types.FunctionType):
        return None
    parameters = inspect.signature(fn).parameters.values()
    plain = all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters)
    return [p.name for p in parameters] if plain else None


_ABSENT = object()


def _present(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments that were given."""
    return tuple(a for a in args if a is not _ABSENT)


def _agree(got: list[Any], traced: list[Any]) -> bool:
    """Whether a program's answer is the one that was seen while it was traced."""
    for a, b in zip(got, traced, strict=True):
        if isinstance(b, (str, type(None))):
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return False
        if a.dtype.kind in "fc":
            finite = np.abs(b[np.isfinite(b)])
            scale = float(np.max(finite, initial=0.0))
            tolerance = (1e-10 if b.dtype.itemsize >= 8 else 1e-3) * scale
            if not np.allclose(a, b, rtol=1e-8, atol=tolerance, equal_nan=True):
                return False
        elif not np.array_equal(a, b):
            return False
    return True


def compile(fn: Callable[..., Any], backend: str = "auto") -> Callable[..., Any]:
    """The same function, faster: traced at its first call, then run as an optimised program.

    ``fn`` is any function that the library can run: f, ``grad(f)``, ``hessian(f)``, a step of an
    iteration.  Numbers and arrays among the arguments are the program's inputs; whole
    numbers, bools and strings choose the program.  Control flow is followed: where a branch
    would be taken differently, the function is traced again.

    What fn takes from elsewhere (a global, a closure) is a constant of the program, and so is
    a random number drawn inside; what fn prints, it prints while it is traced.  Pass what
    changes as an argument.  An array from elsewhere that is written to is noticed (by some of
    its entries, where it is large), and fn is traced again.  fn's arguments are its own: what it
    writes to them does not reach the caller's arrays.

    ``backend`` is ``"auto"`` (Python and NumPy), or ``"numba"``, with which programs of numbers
    become machine code: that takes a second, and pays where they are long and called often.

    >>> compiled = compile(lambda x: x * x + 1.0)
    >>> compiled(2.0), compiled(3.0)
    (5.0, 10.0)
    """
    if not callable(fn):
        raise TypeError(f"compile takes a function and returns one, not a {type(fn).__name__}")
    if backend not in ("auto", "numba"):
        raise ValueError(f"compile: unknown backend {backend!r}; they are 'auto' and 'numba'")
    if backend == "numba":
        jit.require()
    compiled = Compiled(fn, backend)
    entry = compiled.entry
    functools.update_wrapper(entry, fn)
    entry.behind = compiled  # type: ignore[attr-defined]
    return entry


__all__ = ["FLOAT", "CompileWarning", "compile"]
