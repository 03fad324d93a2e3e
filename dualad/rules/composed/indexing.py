"""Taking entries by index, mask or choice, and writing them back.

Reading functions are gathers.  Writing ones (``put``, ``copyto``, ``fill_diagonal`` ...) let
NumPy write the entries' numbers instead: the target then becomes the gather that says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dualad.primitive import Number, implements, shape_of, value_of
from dualad.rules.composed.gathering import drawn, gathered, moved, numbered
from dualad.rules.composed.joining import as_number
from dualad.rules.lifting import OBJECT, as_array, dtype_of, existing, plainly
from dualad.rules.linear import astype, broadcast_to, concatenate, getitem, reshape
from dualad.rules.linear import where as either

# ------------------------------------------------------------------------------- reading


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Entries at indices along an axis."""
    return moved(np.take, a, plainly(indices), axis, mode=mode)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along an axis for which a condition holds."""
    chosen = plainly(condition)
    return moved(lambda n: np.compress(chosen, n, axis), a)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The entries for which a condition holds."""
    chosen = plainly(condition)
    return moved(lambda n: np.extract(chosen, n), arr)


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Entry by entry, the array that an index names."""
    chosen = plainly(a)
    if not isinstance(choices, (list, tuple)):
        choices = list(as_array(choices))
    return drawn(lambda *ns: np.choose(chosen, ns, mode=mode), *choices)  # type: ignore[call-overload]


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Entry by entry, the first choice whose condition holds."""
    conditions = [np.asarray(plainly(c)) for c in condlist]
    return drawn(lambda *ns: np.select(conditions, ns[:-1], ns[-1]), *choicelist, default)


# ------------------------------------------------------------------------------- writing


def written(
    what: str, change: Callable[..., Any], target: Any, source: Any, renew: Any = None
) -> None:
    """Write into a target: ``change(target, source)`` does it, on the numbers of entries.

    Or ``renew(target, source)`` gives the new target; needed where a condition decides, which
    may be traced.
    """
    if isinstance(target, np.ndarray) and target.dtype == OBJECT:
        change(target, np.asarray(source, dtype=object))
        return
    source = as_array(source)
    if not isinstance(target, Number):
        if isinstance(source, Number) and target.dtype.kind in "fc":
            raise TypeError(
                f"{what} of a number into a float array would lose the derivative; make the array "
                "with np.zeros_like(x), np.zeros(n, like=x) or x.copy()"
            )
        change(target, value_of(source))
        return
    if not shape_of(target):
        raise TypeError(f"{what} into a scalar number: it has no entries to replace")
    source = astype(as_number(source, target), dtype_of(target))
    new = renew(target, source) if renew else drawn(_in_place(change), target, source)
    target.assign(new)  # type: ignore[attr-defined]


def _in_place(change: Callable[..., Any]) -> Callable[..., Any]:
    def changed(target: Any, source: Any) -> Any:
        change(target, source)
        return target

    return changed


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """``a.flat[ind] = v``."""
    places = plainly(ind)
    written("np.put", lambda n, s: np.put(n, places, s, mode=mode), a, v)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """``arr[mask] = vals``, in order and repeated."""
    chosen = plainly(mask)

    def renewed(a: Any, s: Any) -> Any:
        count = np.cumsum(np.reshape(chosen, (-1,)) != 0)
        values = getitem(reshape(s, (-1,)), ((count - 1) % s.size,))
        return either(np.reshape(chosen, shape_of(a)), reshape(values, shape_of(a)), a)

    written("np.place", lambda n, s: np.place(n, chosen, s), arr, vals, renewed)


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """``a[mask] = values[mask]``, repeated."""
    chosen = plainly(mask)
    written(
        "np.putmask", lambda n, s: np.putmask(n, chosen, s), a, values,
        lambda t, s: either(np.reshape(chosen, shape_of(t)), moved(np.resize, s, shape_of(t)), t),
    )  # fmt: skip


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """``dst[...] = src``, where a condition holds."""
    chosen = plainly(where)
    written(
        "np.copyto", lambda n, s: np.copyto(n, s, "unsafe", where=chosen), dst, src,
        lambda t, s: broadcast_to(either(chosen, s, t), shape_of(t)),
    )  # fmt: skip


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write entries at an index array along an axis."""
    places = plainly(indices)
    written("np.put_along_axis", lambda n, s: np.put_along_axis(n, places, s, axis), arr, values)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write the main diagonal."""
    written("np.fill_diagonal", lambda n, s: np.fill_diagonal(n, s, wrap), a, val)


# ------------------------------------------------------------------------- sets of values


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Any = None, *, equal_nan: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """The distinct values in ascending order; of equal entries, the first carries the slope."""
    a = as_array(ar)
    value = value_of(a)
    _, index, inverse, counts = np.unique(
        value, return_index=True, return_inverse=True, return_counts=True, axis=axis,
        equal_nan=equal_nan,
    )  # fmt: skip
    distinct = moved(np.take, a, index, axis)
    extra = [x for x, wanted in ((index, return_index), (inverse, return_inverse),
                                 (counts, return_counts)) if wanted]  # fmt: skip
    return (distinct, *extra) if extra else distinct


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` gives."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` gives."""

    values: Any
    inverse_indices: Any


@implements(*existing("unique_all"))
def unique_all(x: Any, /) -> Any:
    """The distinct values, where they come first, which each entry is, and how many there are."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


@implements(*existing("unique_counts"))
def unique_counts(x: Any, /) -> Any:
    """The distinct values and how many there are of each."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(*existing("unique_inverse"))
def unique_inverse(x: Any, /) -> Any:
    """The distinct values and which of them each entry is."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(*existing("unique_values"))
def unique_values(x: Any, /, **kwargs: Any) -> Any:
    """The distinct values."""
    return unique(x, equal_nan=False)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """The values in either of two arrays."""
    return unique(concatenate([ar1, ar2], None))


@implements(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The values in both of two arrays: as entries of the first."""
    a = as_array(ar1)
    _, first, second = np.intersect1d(
        value_of(a), plainly(ar2), assume_unique=assume_unique, return_indices=True
    )
    y = gathered(reshape(a, (-1,)), first)
    return (y, first, second) if return_indices else y


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The values of the first array that are not in the second."""
    a = reshape(as_array(ar1), (-1,)) if assume_unique else unique(ar1)
    return getitem(a, (np.isin(value_of(a), plainly(ar2), invert=True),))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The values in one of two arrays, not in both."""
    a, b = (reshape(as_array(x), (-1,)) for x in (ar1, ar2))
    only_a = ~np.isin(value_of(a), value_of(b))
    only_b = ~np.isin(value_of(b), value_of(a))
    return unique(concatenate([getitem(a, (only_a,)), getitem(b, (only_b,))]))


# ------------------------------------------------------------------------ complex order


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """Entries in ascending order, as complex numbers."""
    a = as_array(a)
    index = np.argsort(value_of(a), axis=-1, kind="stable")
    y = gathered(reshape(a, (-1,)), np.take_along_axis(numbered(shape_of(a)), index, -1))
    kind = dtype_of(a)
    return y if kind.kind == "c" else astype(y, "G" if kind.char == "g" else "D")


__all__ = [
    "choose", "compress", "copyto", "extract", "fill_diagonal", "intersect1d",
    "place", "put", "put_along_axis", "putmask", "select", "setdiff1d", "take", "unique", "written",
]  # fmt: skip
