"""How plain NumPy code reaches the rules: operators, NumPy's protocols, array methods.

Nothing here knows a derivative, or a number system.  Every operator, ufunc, function and
method ends in a rule, and a rule is read by the system of its outermost argument.
"""

from __future__ import annotations

import copy
import math
import numbers
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from dualad import rules, scalar
from dualad.primitive import (
    LevelError,
    Linear,
    NotDifferentiableError,
    Number,
    implementations,
    plain,
    shape_of,
    value_of,
)

OBJECT = np.dtype(object)


def as_part(x: Any, like: Any = None) -> Any:
    """A part of a number (a primal, a tangent) as numbers hold it: the one door in.

    NumPy scalars and 0-d arrays become Python floats (other precisions stay scalars),
    integers and bools become float64, lists become arrays.  Raises ``TypeError`` for
    what is not numeric.
    """
    if type(x) is float:
        return x
    if isinstance(x, Number):
        return x if x.transparent or rules.dtype_of(x).kind in "fcO" else rules.astype(x, float)
    if type(x) is np.ndarray and x.ndim and x.dtype.kind == "f":
        return x
    if isinstance(x, (bool, int, np.bool_, np.integer)):
        return float(x)
    if type(x) is complex or not isinstance(x, (np.ndarray, np.generic, list, tuple)):
        if hasattr(x, "__add__") and hasattr(x, "__mul__") and not isinstance(x, str):
            return x  # an exact number: Fraction, Decimal, complex
        raise TypeError(
            f"a number was wanted, or an array or a nested list of numbers, not {x!r} "
            f"of type {type(x).__name__}"
        )
    x = rules.asarray(x)
    if isinstance(x, Number):
        return x
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if x.dtype.kind not in "fc":
        raise TypeError(
            f"a number was wanted, or an array of numbers, not an array of dtype {x.dtype}"
        )
    return x if x.ndim else plain(x[()])


def namespace_of(values: Any) -> Any:
    """The namespace in which a row's formulas are evaluated for these arguments."""
    on_floats = True
    for v in values:
        if type(v) is not float:
            if isinstance(v, Number):
                return rules
            on_floats = False
    return scalar if on_floats else np


def _lost(what: str, instead: str) -> NoReturn:
    raise TypeError(f"{what} would lose the derivative; {instead}")


class Operators(Number):
    """Python's operators, NumPy's protocols and the methods of a scalar.

    Entry-wise comparison sees primals only.  What cannot carry a derivative raises.
    """

    # The last two are of arrays only; they stand here so that a scalar and an array number
    # have one layout, and a constructor can choose between them.
    __slots__ = ("__weakref__", "_source", "_square", "_views")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    #: per system: ufunc of one argument -> its bound rule
    unary: dict[Any, Any]

    # -- arithmetic

    def __add__(self, other: Any) -> Any:
        return rules.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return rules.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return rules.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return rules.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return rules.product(self, other) if other is self else rules.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return rules.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return rules.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return rules.divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return rules.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return rules.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return rules.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return rules.remainder(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise TypeError("pow() with a modulus has no derivative")
        return rules.raised(self, other)

    def __rpow__(self, other: Any) -> Any:
        return rules.power(other, self)

    def __matmul__(self, other: Any) -> Any:
        return rules.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return rules.matmul(other, self)

    def __neg__(self) -> Any:
        return rules.negative(self)

    def __pos__(self) -> Any:
        return rules.positive(self)

    def __abs__(self) -> Any:
        return rules.absolute(self)

    # -- comparison, on the primal

    def __eq__(self, other: Any) -> Any:
        return value_of(self) == value_of(other)

    def __ne__(self, other: Any) -> Any:
        return value_of(self) != value_of(other)

    def __lt__(self, other: Any) -> Any:
        return value_of(self) < value_of(other)

    def __le__(self, other: Any) -> Any:
        return value_of(self) <= value_of(other)

    def __gt__(self, other: Any) -> Any:
        return value_of(self) > value_of(other)

    def __ge__(self, other: Any) -> Any:
        return value_of(self) >= value_of(other)

    def __bool__(self) -> bool:
        return bool(value_of(self))

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(value_of(self), ndigits)

    # What NumPy's loops over object arrays call for floor, ceil and trunc, which are flat.

    def __floor__(self) -> Any:
        return math.floor(value_of(self))

    def __ceil__(self) -> Any:
        return math.ceil(value_of(self))

    def __trunc__(self) -> Any:
        return math.trunc(value_of(self))

    # -- conversions that would drop the derivative

    def __float__(self) -> float:
        _lost(
            f"float() of a {type(self).__name__} (or a function of math, or assignment into a "
            "float array)",
            "write np.sin for math.sin, np.linalg and np.fft for scipy.linalg and scipy.fft, "
            "np.zeros_like(x) or np.zeros(n, like=x) for np.zeros(n), np.asarray(x) for "
            "np.asarray(x, float), or ad.stop_gradient(x) if the plain value is meant",
        )

    def __int__(self) -> int:
        _lost(f"int() of a {type(self).__name__}", "write int(ad.stop_gradient(x))")

    def __complex__(self) -> complex:
        _lost(f"complex() of a {type(self).__name__}", "write x + 0j")

    def __index__(self) -> int:
        raise TypeError(
            f"a {type(self).__name__} is no integer: an index, a size or an axis has no "
            "derivative; write int(ad.stop_gradient(x))"
        )

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__":
            rule = self.unary.get(ufunc)
            if rule is not None:
                return rule(self.level, inputs, kwargs)
            row = implementations.get(ufunc)
            if len(inputs) == 1 and row in rules.elementwise_rows:
                self.unary[ufunc] = row.bound.get(self.system) or row.bind(self.system)
            if row is not None:
                return row(*inputs)
        return rules.call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        make = rules.creations.get(func)
        if make is not None:  # these are called for their like= alone, which NumPy has taken away
            return make(self, *args, **kwargs)
        return rules.call_function(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) != OBJECT:
            _lost(
                f"np.asarray(x, dtype={np.dtype(dtype)}) of a {type(self).__name__} (or assignment "
                "into such an array)",
                "write np.asarray(x) or x.astype(float), which keep it; make an array to "
                "assign into with np.zeros_like(x) or np.zeros(n, like=x)",
            )
        if copy is not None and not copy:
            raise ValueError(
                f"np.array(x, copy=False) of a {type(self).__name__}, which has no memory that "
                "NumPy could show; use x itself"
            )
        return rules.as_object_array(self)

    # -- attributes and methods of NumPy's scalars and arrays

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.primal)

    @property
    def ndim(self) -> int:
        return len(shape_of(self.primal))

    @property
    def size(self) -> int:
        return int(np.prod(shape_of(self.primal), dtype=np.intp))

    @property
    def dtype(self) -> Any:
        return rules.scalar_dtype(rules.dtype_of(self.primal))

    # -- copies

    def content(self) -> dict[str, Any]:
        """What makes up this number, by the names of its slots."""
        return {"level": self.level, **self.parts()}

    def again(self) -> Any:
        """Another number with the same content: assignment to one does not reach the other."""
        new = object.__new__(type(self))
        for name, value in self.content().items():
            setattr(new, name, value)
        return new

    def __copy__(self) -> Any:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Any:
        new = self.again()
        for name, part in self.parts().items():
            setattr(new, name, copy.deepcopy(part, memo))
        return new

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.level >= 1:
            raise TypeError(
                f"a {type(self).__name__} of a running transform cannot be pickled: it has no "
                "meaning elsewhere; pickle ad.stop_gradient(x), or differentiate over there"
            )
        kind = next(c for c in type(self).__mro__ if not issubclass(c, ArrayNumber))
        return kind, tuple(self.parts().values())

    # -- text

    def parts(self) -> dict[str, Any]:
        """The parts by name, as the constructor takes them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        parts = ", ".join(f"{k}={v!r}" for k, v in self.parts().items())
        return f"{type(self).__name__.removesuffix('Array')}({parts})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        parts = ", ".join(f"{k}={_text(v, spec)}" for k, v in self.parts().items())
        return f"{type(self).__name__.removesuffix('Array')}({parts})"


def _text(part: Any, spec: str) -> str:
    """A part in the format asked for; of k directions, and of an array, each entry by itself."""
    if isinstance(part, np.ndarray):
        return np.array2string(part, separator=", ", formatter={"all": lambda e: format(e, spec)})
    return format(part, spec)


def _refusing(reason: str) -> property:
    def refuse(self: Any) -> NoReturn:
        raise NotDifferentiableError(reason)

    return property(refuse)


# Methods and attributes of arrays are functions of NumPy under the same name.  They are set
# on the class one by one: a __getattr__ would make every attribute of a number slow.
for _name, _method in rules.methods.items():
    setattr(Operators, _name, _method)
for _name, _attribute in rules.attributes.items():
    setattr(Operators, _name, property(_attribute))
for _name, _reason in rules.refused_attributes.items():
    setattr(Operators, _name, _refusing(_reason))


class ArrayNumber(Operators):
    """What a number over an array has beyond a scalar: length, items, iteration, assignment.

    Assignment is a rule too: the number becomes the one with those entries replaced.
    Views follow, as NumPy's do: a basic index, a reshape or a transpose of a number
    remembers where it came from, an assignment to the view is one to its base, and after
    an assignment to the base its living views are made again.
    """

    __slots__ = ()

    _source: Any
    _views: Any

    @property
    def dtype(self) -> Any:
        return rules.dtype_of(self.primal)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(value_of(self) == value_of(item)))

    def __getitem__(self, index: Any) -> Any:
        return rules.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.assign(rules.setitem(self, index, value))

    def assign(self, new: Any) -> None:
        """Become another number of the same shape, with the base and all living views."""
        assign(self, new)

    def replace(self, other: Any) -> None:
        """Take over the content of another number of this level."""
        raise NotImplementedError

    def constant(self, value: Any) -> Any:
        """A number of this level with that value and no slope."""
        raise NotImplementedError

    def __iadd__(self, other: Any) -> Any:
        return self._in_place(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._in_place(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._in_place(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place(self / other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._in_place(self // other)

    def __imod__(self, other: Any) -> Any:
        return self._in_place(self % other)

    def __ipow__(self, other: Any) -> Any:  # type: ignore[misc, override]
        return self._in_place(self**other)

    def __imatmul__(self, other: Any) -> Any:
        return self._in_place(self @ other)

    def _in_place(self, new: Any) -> Any:
        """What ``x += b`` does to an array: every name and view of it sees the new entries."""
        if shape_of(new) != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the "
                f"broadcast shape {shape_of(new)}"
            )
        self.assign(rules.linear.cast(new, self.dtype))
        return self


for _name, _setter in rules.setters.items():
    setattr(ArrayNumber, _name, property(rules.attributes[_name], _setter))


class _Scalars(type):
    """The scalar numbers; arrays of numbers are derived from them, but are none."""

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, Operators) and not issubclass(kind, ArrayNumber)


class ScalarNumber(metaclass=_Scalars):
    """What Python and NumPy ask for when they ask for a number: ``np.isscalar(x)``."""


numbers.Number.register(ScalarNumber)


# ---------------------------------------------------------------------- views of numbers


def note_view(view: Any, base: Any, row: Linear, params: dict[str, Any]) -> None:
    """Remember that view shows entries of base, so that assignment to either reaches both."""
    if not (isinstance(view, ArrayNumber) and isinstance(base, ArrayNumber)):
        return
    view._source = (base, row, params)
    try:
        base._views.append(weakref.ref(view))
    except AttributeError:
        base._views = [weakref.ref(view)]


def assign(number: ArrayNumber, new: Any) -> None:
    """``number[...] = new``, with the base of a view and with all living views."""
    _take_over(number, new)
    source = getattr(number, "_source", None)
    if source is not None:
        base, row, params = source
        if row is rules.getitem_row:
            assign(base, rules.setitem(base, params["index"], number))
        elif row is rules.linear.real_row:
            assign(base, number + 1j * rules.imag(base))
        elif row is rules.linear.imag_row:
            assign(base, rules.real(base) + 1j * number)
        else:  # a rearrangement: its transpose puts every entry back
            assign(base, row.transpose(number, 0, (base.shape,), **params))
        return
    _refresh_views(number)


def _take_over(number: ArrayNumber, new: Any) -> None:
    if isinstance(new, Number) and new.level > number.level:
        raise LevelError(
            "a number of an inner transform cannot be assigned into an array of an outer one; make "
            "the array inside the function that is differentiated, or write y = y + ... "
            "for y += ..."
        )
    if not (isinstance(new, Number) and new.level == number.level):
        new = number.constant(new)
    number.replace(new)
    if hasattr(number, "_square"):
        del number._square


def _refresh_views(base: ArrayNumber) -> None:
    """Make the living views of base again, and the views of those."""
    for reference in getattr(base, "_views", ()):
        view = reference()
        if view is not None:
            _, row, params = view._source
            _take_over(view, row(base, **params))
            _refresh_views(view)


rules.view_hook.append(note_view)
