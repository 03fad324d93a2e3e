"""Primitives: what a differentiable function states once, for every number system.

A *primitive* is a function with a rule.  Its *kind* says what the rule is: local
partials (elementwise), a transpose (linear, multilinear), a choice made on the primal
(selection), or the equation that tangents solve (implicit).  A *number system* (dual
numbers, hyper-duals, the tape, tracers) reads a kind through one method of its own, once
a primitive, and the closure that comes back is kept: so a row is written once and costs
no interpretation afterwards.

Nesting needs one idea more.  Each transform opens a fresh *level*; every number carries
the level it belongs to, and the highest level among the arguments interprets an
operation, to which all lower numbers are constants.  That is the whole cure for
perturbation confusion.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

import numpy as np

from dualad import scalar

Array = Any  # a float, an array or a number of any system: what primitives act on
Rule = Callable[[float, tuple[Any, ...], dict[str, Any]], Any]

OBJECT = np.dtype(object)


class NotDifferentiableError(TypeError):
    """A function was given a number that it cannot differentiate."""


class LevelError(RuntimeError):
    """A number was used outside the transform that it belongs to."""


# --------------------------------------------------------------------------- levels

_levels = itertools.count(1)
_thread = threading.local()

#: (thread, level) of each ``no_grad`` that is being run: numbers of lower levels are constants
#: in that thread.  Almost always empty, so that the fast paths pay one test of a global for it.
paused: list[tuple[int, float]] = []


def _open_levels() -> set[float]:
    try:
        levels: set[float] = _thread.levels
    except AttributeError:
        levels = _thread.levels = set()
    return levels


def open_level() -> float:
    """Open a level, higher than all before it; whoever does must close it, whatever happens."""
    level = next(_levels)
    _open_levels().add(level)
    return level


def close_level(level: float) -> None:
    """Close a level: its numbers are refused from now on."""
    _thread.levels.discard(level)


class new_level:  # a context manager, written out since a generator costs 1 us
    """A level that is open inside ``with``, and closed whatever happens."""

    __slots__ = ("level",)

    def __enter__(self) -> float:
        self.level = open_level()
        return self.level

    def __exit__(self, *exc: object) -> None:
        close_level(self.level)


class reopened:
    """A level that is open again inside ``with``, for a sweep that runs f once more."""

    __slots__ = ("level", "was_open")

    def __init__(self, level: float) -> None:
        self.level = int(level)
        self.was_open = self.level in _open_levels()

    def __enter__(self) -> None:
        _open_levels().add(self.level)

    def __exit__(self, *exc: object) -> None:
        if not self.was_open:
            close_level(self.level)


def check_open(number: Number) -> None:
    """Refuse a number whose transform has returned (levels of numbers made by hand stay)."""
    level = int(number.level)  # a number made by hand inside a transform belongs to that one
    if level and level not in _open_levels():
        raise LevelError(
            f"a {type(number).__name__} of a transform that has already returned (or that "
            "runs in another thread) was used in another computation; return it from the "
            "function that is differentiated, or pass on its plain value with "
            "ad.stop_gradient before the transform ends"
        )


def level_above(step: float, *parts: Any) -> float:
    """The level of a number made by hand: a small step above the numbers it is made of.

    Each system has a step of its own, so that a ``Dual`` and a ``Variable`` made side by
    side never claim the same level.
    """
    return max((p.level for p in parts if isinstance(p, Number)), default=0) + step


def is_paused(level: float) -> bool:
    """Whether numbers of that level are constants, this thread being inside ``no_grad``.

    A transform that is opened inside ``no_grad`` has a level of its own, and differentiates.
    """
    me = threading.get_ident()
    return any(thread == me and level < floor for thread, floor in tuple(paused))


@contextmanager
def no_grad() -> Iterator[None]:
    """Results computed inside are constants, in every number system.

    >>> import dualad as ad
    >>> x = ad.Variable(3.0)
    >>> with no_grad():
    ...     y = x * x
    >>> y
    9.0
    """
    entry = (threading.get_ident(), float(next(_levels)))
    paused.append(entry)
    try:
        yield
    finally:
        paused.remove(entry)


# ------------------------------------------------- what NumPy's functions stand for

#: NumPy function -> the function that answers for it when an argument is a number
implementations: dict[Callable[..., Any], Callable[..., Any]] = {}


def implements(*numpy_functions: Callable[..., Any]) -> Callable[[Any], Any]:
    """Register the decorated function as the answer to those of NumPy."""

    def register(function: Any) -> Any:
        for f in numpy_functions:
            implementations[f] = function
        return function

    return register


# -------------------------------------------------------------------------- numbers


class Number:
    """What all number systems share: a primal, a level, and a system that reads rows."""

    __slots__ = ()
    system: ClassVar[System]
    #: whether ``value_of`` looks through: not if looking is itself to be recorded (a tracer)
    transparent: ClassVar[bool] = True
    primal: Any
    level: float


class System(Protocol):
    """How a number system reads each kind of primitive: one method a kind.

    Each method takes a primitive and gives the closure that applies it: called with the
    level that interprets, the arguments and the parameters.
    """

    def elementwise(self, row: Elementwise) -> Rule: ...
    def linear(self, row: Linear) -> Rule: ...
    def multilinear(self, row: Multilinear) -> Rule: ...
    def selection(self, row: Selection) -> Rule: ...
    def implicit(self, row: Implicit) -> Rule: ...


def outermost(args: tuple[Any, ...]) -> Number | None:
    """The argument of the highest level, or None if none is a number."""
    top: Number | None = None
    for a in args:
        if isinstance(a, Number):
            if top is None or a.level > top.level:
                top = a
            elif a.level == top.level and a.system is not top.system:
                raise LevelError(
                    f"a {type(a).__name__} and a {type(top).__name__} of the same level "
                    "cannot be combined; use one number system, or a transform for the inner one"
                )
    return top


def value_of(x: Any) -> Any:
    """The plain value under all levels; or the tracer there, which records what looks at it."""
    while isinstance(x, Number) and x.transparent:
        x = x.primal
    return x


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a float, an array or a number."""
    if type(x) is float:
        return ()
    try:
        shape: tuple[int, ...] = x.shape
    except AttributeError:
        return np.shape(x)
    return shape


def lead_of(x: Any, ndim: int) -> tuple[int, ...]:
    """The leading direction axes of x: what its shape has before the last ndim axes."""
    if type(x) is float:
        return ()
    shape = shape_of(x)
    return shape[: len(shape) - ndim]


#: filled by rules.lifting: makes one number of an object array that holds numbers
lifters: list[Callable[[Any], Any]] = []

#: the traces that are being recorded, in any thread: while there are none, parameters are plain
traces: list[Any] = []


def opaque_in(x: Any) -> Iterator[Any]:
    """The tracers in a nested parameter: a condition, an index, weights."""
    if isinstance(x, Number):
        if not x.transparent:
            yield x
    elif type(x) is tuple or type(x) is list:
        for e in x:
            yield from opaque_in(e)
    elif type(x) is dict:
        for e in x.values():
            yield from opaque_in(e)


# ----------------------------------------------------------------- quiet evaluation


class _Quiet(threading.local):
    """A thread's context in which NumPy warns of nothing, and whether the thread is inside it."""

    def __init__(self) -> None:
        self.context = contextvars.Context()
        self.context.run(np.seterr, all="ignore")
        self.entered = False


_quiet = _Quiet()


def quietly(function: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """``function(*args, **params)`` with NumPy's floating-point warnings off.

    A partial may be infinite where the function itself is not; the user must see no
    warning that the plain function does not give.  ``np.errstate`` would cost a
    microsecond an operation; running inside a ready-made context costs a tenth.
    """
    quiet = _quiet
    if quiet.entered:  # a context cannot be entered twice: inside, warnings are off already
        return function(*args, **params)
    quiet.entered = True
    try:
        return quiet.context.run(function, *args, **params)
    finally:
        quiet.entered = False


# ----------------------------------------------------------------------- primitives


class Primitive:
    """A function with a rule; calling it applies the rule of the outermost argument."""

    kind: ClassVar[str]
    #: every primitive by name: what the tests loop over
    table: ClassVar[dict[str, Primitive]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = name
        self.bound: dict[System, Rule] = {}
        self.enter()

    def enter(self) -> None:
        """Enter the row in the table."""
        Primitive.table[self.name] = self

    def __repr__(self) -> str:
        return f"<{self.kind} primitive {self.name}>"

    def evaluate(self, *args: Any, **params: Any) -> Any:
        """The function on plain values."""
        raise NotImplementedError

    def bind(self, system: System) -> Rule:
        """This row as a closure of that system, made on first use."""
        rule: Rule = getattr(system, self.kind)(self)
        self.bound[system] = rule
        return rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        top: Number | None = None
        for a in args:  # ``outermost``, in line but for ties between systems
            if isinstance(a, Number):
                if top is None:
                    top = a
                elif a.level >= top.level:
                    top = outermost(args)
            elif type(a) is not float and (
                a.dtype is OBJECT if type(a) is np.ndarray else type(a) is list or type(a) is tuple
            ):
                lifted = tuple(map(lifters[0], args))  # numbers may be inside, of any level
                if any(new is not old for new, old in zip(lifted, args, strict=True)):
                    return self(*lifted, **params)
        if top is None:
            if params and traces:
                top = outermost(tuple(opaque_in(params)))
            if top is None:
                return self.evaluate(*args, **params)
        rule = self.bound.get(top.system) or self.bind(top.system)
        return rule(top.level, args, params)


Partial = Callable[..., Any] | int | None


class Elementwise(Primitive):
    """A function that acts entry by entry, with one local partial an argument.

    A partial is a callable ``(xp, y, *args)`` with ``y`` the output and ``xp`` the
    namespace of its arguments (``math``'s functions under NumPy's names for floats, NumPy
    for arrays, the rules themselves for numbers), or a constant integer, or None where
    the function is flat.  ``second`` may hold the second partials, row by row of the upper
    triangle (for two arguments: aa, ab, bb); where it is None they are derived.

    ``domain`` has an interval an argument, from which tests draw; ``special`` maps points
    to the partials expected there; ``ulps`` bounds the error of the partials.
    ``arithmetic`` is False where the partials compute nothing (a product's are its factors).
    """

    kind = "elementwise"

    def __init__(
        self,
        name: str,
        *partials: Partial,
        second: tuple[Partial, ...] | None = None,
        domain: tuple[tuple[float, float], ...],
        special: dict[tuple[float, ...], tuple[float, ...]] | None = None,
        ulps: float = 2,
        function: Callable[..., Any] | None = None,
        arithmetic: bool = True,
    ) -> None:
        super().__init__(name)
        self.partials = partials
        self.arithmetic = arithmetic
        self.second = second
        self.domain = domain
        self.special = special or {}
        self.ulps = ulps
        self.function: Callable[..., Any] = function or getattr(np, name)
        if isinstance(self.function, np.ufunc):
            implementations[self.function] = self
        self.on_floats: Callable[..., Any] | None = (
            getattr(scalar, name, None) if function is None else None
        )

    def evaluate(self, *args: Any, **params: Any) -> Any:
        for a in args:
            if type(a) is not float and type(a) is not int:
                break
        else:
            if self.on_floats is not None:
                try:
                    return self.on_floats(*args)
                except (ValueError, ArithmeticError):
                    return plain(self.function(*map(np.float64, args)))
        y = self.function(*args)
        return float(y) if type(y) is np.float64 else y

    def partial(self, i: int, xp: Any, y: Any, args: list[Any]) -> Any:
        """The local partial in argument i, at these arguments of the namespace xp."""
        formula = self.partials[i]
        if not callable(formula):
            return formula
        return evaluate_formula(formula, xp, y, args)


def evaluate_formula(formula: Callable[..., Any], xp: Any, y: Any, args: list[Any]) -> Any:
    """A formula of a row; where Python refuses the floats (1 / 0.0), NumPy answers."""
    if xp is scalar:
        try:
            return formula(xp, y, *args)
        except (ValueError, ArithmeticError):
            return plain(quietly(formula, np, np.float64(y), *map(np.float64, args)))
    try:
        return quietly(formula, xp, y, *args)
    except ZeroDivisionError:  # floats beside nested numbers
        wide = [np.float64(a) if type(a) is float else a for a in args]
        return quietly(formula, xp, np.float64(y) if type(y) is float else y, *wide)


def plain(y: Any) -> Any:
    """y, with a float64 scalar as a Python float: one of NumPy's would slow all that follows."""
    return float(y) if type(y) is np.float64 else y


class Linear(Primitive):
    """A function linear in all its arguments together, with its transpose.

    ``function(*args, **params)`` must be indifferent to leading axes: given arguments
    that all have extra axes in front, it acts on each slice.  So parameters count axes
    from the end.  ``transpose(ct, i, shapes, **params)`` gives the cotangent of argument
    i; ct may have leading axes, and ``shapes`` (of all the arguments) then have them too.
    For complex values the transpose is the adjoint in the real inner product.

    ``accumulate(buffer, ct, **params)``, where it exists, adds the transpose into a buffer
    in place.  ``samples`` are (shapes, params) pairs that the tests draw arguments for.
    """

    kind = "linear"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        transpose: Callable[..., Any],
        *,
        samples: tuple[tuple[tuple[tuple[int, ...], ...], dict[str, Any]], ...],
        accumulate: Callable[..., None] | None = None,
    ) -> None:
        super().__init__(name)
        self.function = function
        self.transpose = transpose
        self.accumulate = accumulate
        self.samples = samples

    def evaluate(self, *args: Any, **params: Any) -> Any:
        return plain(self.function(*args, **params))


class Multilinear(Primitive):
    """A function linear in each argument by itself (a product), with a transpose for each.

    ``function(*args, ndims=..., **params)``: ``ndims`` are the numbers of axes that the
    arguments have; one of them may come with leading axes beyond that.
    ``transpose(ct, i, args, shapes, ndims=..., **params)`` gives the cotangent of
    argument i, of shape ``shapes[i]``; ct may have leading axes, and ``shapes[i]`` then has
    them too.
    """

    kind = "multilinear"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        transpose: Callable[..., Any],
        *,
        samples: tuple[tuple[tuple[tuple[int, ...], ...], dict[str, Any]], ...],
    ) -> None:
        super().__init__(name)
        self.function = function
        self.transpose = transpose
        self.samples = samples

    def evaluate(self, *args: Any, **params: Any) -> Any:
        return plain(self.function(*args, **params))


class Selection(Primitive):
    """A function that picks among its argument's entries, by looking at the primal.

    ``choose(value, y, **params)`` looks at the plain value and gives the parameters of the
    linear primitive ``gather`` that then acts on tangents (and whose transpose scatters
    cotangents).
    """

    kind = "selection"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        choose: Callable[..., dict[str, Any]],
        gather: Linear,
        *,
        samples: tuple[tuple[tuple[tuple[int, ...], ...], dict[str, Any]], ...],
    ) -> None:
        super().__init__(name)
        self.function = function
        self.choose = choose
        self.gather = gather
        self.samples = samples

    def evaluate(self, *args: Any, **params: Any) -> Any:
        return plain(self.function(*args, **params))

    def chosen(self, x: Any, y: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of the gather, chosen on plain values."""
        return self.choose(value_of(x), value_of(y), **params)


class Implicit(Primitive):
    """A function defined by equations (a solution, a factorisation), with one or more outputs.

    ``function(*args, **params)`` works on stacks ``(..., n, n)`` and gives an array, or a
    tuple of them.  ``push(y, args, tangents, **params)`` gives the tangents of the outputs;
    a tangent is None where the argument is constant, and may have leading axes.
    ``pull(y, args, cotangents, needed, **params)`` gives one cotangent an argument where
    ``needed``; a cotangent is None where the output was not used.  Both are written with
    primitives, so that they can be differentiated again.
    """

    kind = "implicit"

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        push: Callable[..., Any],
        pull: Callable[..., Any],
        *,
        samples: tuple[Any, ...],
    ) -> None:
        super().__init__(name)
        self.function = function
        self.push = push
        self.pull = pull
        self.samples = samples

    def evaluate(self, *args: Any, **params: Any) -> Any:
        y = self.function(*args, **params)
        return tuple(map(plain, y)) if isinstance(y, tuple) else plain(y)
