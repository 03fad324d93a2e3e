"""The mean, which is a sum over a count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of
from dualad.rules.elementwise import divide
from dualad.rules.lifting import as_array, dtype_of, plainly
from dualad.rules.linear import axes_from_end
from dualad.rules.linear import sum as total


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean over axes."""
    a, where = as_array(a), plainly(where)
    y = total(a, axis, dtype, None, keepdims, where=where)
    return over_count(y, counted(shape_of(a), axis, where, keepdims))


def counted(shape: tuple[int, ...], axis: Any, mask: Any, keepdims: Any) -> Any:
    """How many entries a reduction over axes takes together; an array if there is a mask."""
    if mask is True:
        return math.prod(shape[i] for i in axes_from_end(axis, len(shape)))
    return np.sum(np.broadcast_to(mask, shape), axis=axis, keepdims=bool(keepdims))


def over_count(y: Any, count: Any) -> Any:
    """y over a count, in y's own precision."""
    return divide(y, count if isinstance(count, (int, float)) else count.astype(dtype_of(y)))


__all__ = ["counted", "mean", "over_count"]
