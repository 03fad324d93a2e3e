"""A user's own row: one registration, and every number system differentiates the function.

What is stated is what every row of the table states: the partials of a function that acts
entry by entry, or the transpose of a linear one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualad import rules
from dualad.primitive import Elementwise, Linear, Partial, implementations, shape_of

Function = Callable[..., Any]


def primitive(
    f: Function, *, partials: Sequence[Partial] | None = None, transpose: Function | None = None
) -> Function:
    """f as a function that all number systems differentiate: the function to call from now on.

    ``partials``: f acts entry by entry, and has one partial an argument, called as
    ``p(xp, y, *args)`` with y the output and ``xp`` the namespace of the arguments (NumPy's
    names); a constant integer; or None where f is flat.  Written with ``xp``, operators and
    other primitives, partials can be differentiated again.

    ``transpose``: f is linear in its one argument, and ``transpose(ct)`` gives the argument's
    cotangent.

    Raises ``TypeError`` unless one of the two is given, and when the function that is returned
    is called with another number of arguments.

    >>> from dualad import derivative
    >>> softplus = primitive(
    ...     lambda x: np.logaddexp(0.0, x), partials=[lambda xp, y, x: 1 / (1 + xp.exp(-x))]
    ... )
    >>> derivative(softplus)(0.0)
    0.5
    >>> derivative(softplus, order=2)(0.0)
    0.25
    """
    if not callable(f):
        raise TypeError(f"primitive: f is a function, not {f!r}")
    if (partials is None) == (transpose is None):
        raise TypeError("primitive: give either partials=[...] or transpose=...")
    name = getattr(f, "__name__", type(f).__name__)
    if transpose is not None:
        return functools.wraps(f)(_linear(name, f, transpose))
    return functools.wraps(f)(_elementwise(name, f, list(partials or ())))


class _UsersElementwise(Elementwise):
    """A row that is not the library's: not in its table."""

    def enter(self) -> None:
        pass


class _UsersLinear(Linear):
    """Likewise."""

    def enter(self) -> None:
        pass


def _elementwise(name: str, f: Function, partials: list[Partial]) -> Function:
    for p in partials:
        if not (p is None or isinstance(p, int) or callable(p)):
            raise TypeError(f"primitive: a partial is a function, an integer or None, not {p!r}")
    line = (-math.inf, math.inf)
    # A ufunc gets this rule for its own, unless the library has one for it.
    function_of = f if f not in implementations else lambda *args: f(*args)
    row = _UsersElementwise(name, *partials, domain=(line,) * len(partials), function=function_of)

    def function(*args: Any) -> Any:
        if len(args) != len(partials):
            raise TypeError(f"{name} has {len(partials)} partials, but got {len(args)} arguments")
        args = tuple(map(rules.lift, args))
        y = row(*args)
        shape = np.broadcast_shapes(*map(shape_of, args))
        if shape_of(y) != shape:
            raise ValueError(
                f"{name} was registered with partials, so it acts entry by entry and gives the "
                f"shape {shape} of its arguments; it gave {shape_of(y)}"
            )
        return y

    return function


def _linear(name: str, f: Function, transpose: Function) -> Function:
    # The user's functions know nothing of directions: they are applied to one after another.

    def transposed(ct: Any, i: int, shapes: Any, *, ndim: int) -> Any:
        lead = len(shapes[0]) - ndim
        return backward(ct, ndim=len(shape_of(ct)) - lead)

    def restored(ct: Any, i: int, shapes: Any, *, ndim: int) -> Any:
        lead = len(shapes[0]) - ndim
        return forward(ct, ndim=len(shape_of(ct)) - lead)

    forward = _UsersLinear(name, _each(f), transposed, samples=())
    backward = _UsersLinear(f"{name}_transpose", _each(transpose), restored, samples=())

    def function(x: Any) -> Any:
        x = rules.lift(x)
        return forward(x, ndim=len(shape_of(x)))

    return function


def _each(f: Function) -> Function:
    """f over leading axes."""

    def over_leading_axes(x: Any, *, ndim: int) -> Any:
        shape = shape_of(x)
        lead = shape[: len(shape) - ndim]
        if not lead:
            return f(x)
        flat = x.reshape((-1, *shape[len(lead) :]))
        out = np.stack([np.asarray(f(entry)) for entry in flat])
        return out.reshape(lead + out.shape[1:])

    return over_leading_axes
