"""Functions that only move entries about.

What such a function does to an array it does to the numbers of the entries as well: run on
``arange(size)``, it answers with the place that each entry comes from, and one gather
does the rest.  So NumPy itself defines what ``roll``, ``tile``, ``insert`` or ``put`` mean,
with all their parameters, and the derivative is that of indexing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import Number, shape_of
from dualad.rules.lifting import as_array, dtype_of
from dualad.rules.linear import astype, concatenate, getitem_row, reshape


def numbered(shape: tuple[int, ...], start: int = 0) -> Any:
    """The entries of an array of that shape, numbered in order."""
    return np.arange(start, start + math.prod(shape)).reshape(shape)


def gathered(flat: Any, places: Any) -> Any:
    """The entries of a flat array at these places, in their shape."""
    return getitem_row(flat, index=(np.asarray(places),), ndim=1)


def moved(function: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> Any:
    """``function(a, *args, **kwargs)``, for a function that only moves entries."""
    a = as_array(a)
    return gathered(reshape(a, (-1,)), function(numbered(shape_of(a)), *args, **kwargs))


def moved_among_zeros(function: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> Any:
    """The same for a function that puts zeros between the entries."""
    a = as_array(a)
    # Numbered from 1, so that 0 is left for the zero: the last of the flat entries.
    places = function(numbered(shape_of(a), 1), *args, **kwargs) - 1
    return gathered(flat_of(a, 0), places)


def drawn(function: Callable[..., Any], *sources: Any) -> Any:
    """``function(*sources)``, for a function that moves entries of several arrays into one."""
    xs = [as_array(s) for s in sources]
    places, start = [], 0
    for x in xs:
        places.append(numbered(shape_of(x), start))
        start += places[-1].size
    return gathered(flat_of(*xs), function(*places))


def flat_of(*xs: Any) -> Any:
    """All entries in one axis; a Python scalar takes the type of the others, as in NumPy."""
    dtype = common_dtype(*xs)
    return concatenate([reshape(_typed(x, dtype), (-1,)) for x in xs])


def common_dtype(*xs: Any) -> Any:
    """The dtype that NumPy would give a mixture of these: Python scalars are weak."""
    parts = [x if type(x) in (bool, int, float, complex) else dtype_of(x) for x in xs]
    return np.result_type(*parts)


def _typed(x: Any, dtype: Any) -> Any:
    if isinstance(x, Number):
        return x if dtype_of(x) == dtype else astype(x, dtype)
    return np.asarray(x, dtype if type(x) in (bool, int, float, complex) else None)
