"""Slopes that do not exist: NaNs that remember why, and refuse to be read.

The eigenvectors of a repeated eigenvalue may point anywhere in a plane, so they have no
derivative; the eigenvalues beside them may.  Whether that matters is known only when the
answer is read, so such a slope is a number of its own: it takes part in whatever follows,
ends where the NaNs are masked or sliced away, and raises when it would be given to the user.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dualad import rules
from dualad.primitive import NotDifferentiableError, Primitive, Rule, shape_of
from dualad.protocols import ArrayNumber, Operators


class Undetermined(ArrayNumber):
    """An array with NaNs in it, and the reason."""

    __slots__ = ("level", "primal", "reason")

    def __init__(self, primal: Any, reason: str) -> None:
        self.primal = primal
        self.reason = reason
        self.level = 2.0**40 + 0.5  # above every transform, and of none

    def parts(self) -> dict[str, Any]:
        return {"primal": self.primal}

    def __repr__(self) -> str:
        return f"Undetermined(shape={shape_of(self.primal)}, {self.reason!r})"

    def replace(self, other: Any) -> None:
        self.primal, self.reason = other.primal, other.reason

    def constant(self, value: Any) -> Undetermined:
        return Undetermined(value, self.reason)

    def refuse(self) -> NoReturn:
        """Raise the reason."""
        raise NotDifferentiableError(self.reason)

    def again(self) -> NoReturn:
        self.refuse()

    def __bool__(self) -> bool:
        self.refuse()

    def __float__(self) -> float:
        self.refuse()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.refuse()


def determined(x: Any) -> Any:
    """x, unless it is a slope that does not exist: then the reason is raised."""
    if isinstance(x, Undetermined):
        x.refuse()
    return x


def undetermined(x: Any, reason: str) -> Any:
    """x itself where it has no NaN, else x as a slope that does not exist."""
    if isinstance(x, tuple):
        return tuple(undetermined(v, reason) for v in x)
    if not isinstance(x, Operators):
        return Undetermined(x, reason) if rules.has_nan(x) else x
    if not isinstance(x, Undetermined) and rules.has_nan(x):
        # In the parts of a number, so that its own transform meets them.
        x = x.again()
        for name, part in x.parts().items():
            setattr(x, name, undetermined(part, reason))
    return x


class UndeterminedSystem:
    """Every kind of primitive is evaluated on the NaNs as it stands."""

    def elementwise(self, row: Primitive) -> Rule:
        def rule(level: float, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            reason = next(a.reason for a in args if isinstance(a, Undetermined))
            plain = (a.primal if isinstance(a, Undetermined) else a for a in args)
            return undetermined(row(*plain, **params), reason)

        return rule

    linear = multilinear = selection = implicit = elementwise


Undetermined.system = UndeterminedSystem()
Undetermined.unary = {}
rules.undetermined_hook.append(undetermined)
