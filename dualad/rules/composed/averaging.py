"""The mean, which is a sum over a count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualad.primitive import implements, shape_of, value_of
from dualad.rules.lifting import as_array
from dualad.rules.linear import axes_from_end
from dualad.rules.linear import sum as total


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    """The mean over axes."""
    a = as_array(a)
    shape = shape_of(a)
    if where is True:
        count: Any = math.prod(shape[i] for i in axes_from_end(axis, len(shape)))
    else:
        count = np.sum(np.broadcast_to(value_of(where), shape), axis=axis, keepdims=keepdims)
    return total(a, axis, dtype, None, keepdims, where=where) / count


__all__ = ["mean"]
