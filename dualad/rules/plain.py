"""Functions that see the primal only, and those that are refused.

A comparison, a shape, the place of a maximum are flat wherever they have a slope at all:
such a function is given the plain values under the numbers, and its result is plain.  A
function that would need a derivative nobody has written is refused, with what to write
instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualad.primitive import NotDifferentiableError, implementations, plain
from dualad.rules.lifting import existing, plainly

#: functions and ufuncs of NumPy that see the primal and give a plain result
plain_functions: set[Any] = set()

#: function of NumPy -> why it is refused, and what to write instead
refused_functions: dict[Any, str] = {}


def see_primal(*functions: Any) -> None:
    """Register functions of NumPy as plain by nature."""
    for function in functions:
        plain_functions.add(function)
        implementations[function] = _on_values(function)


def _on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    def on_values(*args: Any, **kwargs: Any) -> Any:
        return plain(function(*map(plainly, args), **{k: plainly(v) for k, v in kwargs.items()}))

    on_values.__name__ = getattr(function, "__name__", "function")
    return on_values


def refuse(reason: str, *functions: Any) -> None:
    """Register functions of NumPy as refused, for a reason."""
    for function in functions:
        refused_functions[function] = reason
        implementations[function] = _refusal(function, reason)


def _refusal(function: Any, reason: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NotDifferentiableError(f"{name_of(function)} is not differentiated: {reason}")

    return refused


def name_of(function: Any) -> str:
    """A function's name as users write it."""
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return f"{module}.{getattr(function, '__name__', function)}"


see_primal(
    # comparisons and predicates
    *existing(
        "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and",
        "logical_or", "logical_xor", "logical_not", "isfinite", "isnan", "isinf", "signbit",
        "isneginf", "isposinf", "isreal", "iscomplex", "isrealobj", "iscomplexobj", "isclose",
        "allclose", "array_equal", "array_equiv", "all", "any", "isin", "in1d",
    ),
    # places and counts
    *existing(
        "argmax", "argmin", "nanargmax", "nanargmin", "argsort", "argpartition", "argwhere",
        "nonzero", "flatnonzero", "count_nonzero", "searchsorted", "digitize", "lexsort",
        "tril_indices_from", "triu_indices_from", "diag_indices_from", "mask_indices",
    ),
    # steps: flat between the jumps
    *existing("round", "around", "fix"),
    # shapes and types
    *existing(
        "shape", "ndim", "size", "result_type", "can_cast", "min_scalar_type", "common_type",
        "einsum_path",
    ),
    # text
    *existing("array2string", "array_repr", "array_str"),
    *existing("matrix_rank", module=np.linalg),
)  # fmt: skip

_WHOLE = "it acts on integers, which have no derivative; pass it integers, not numbers"
refuse(
    _WHOLE,
    *existing(
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_count", "invert", "left_shift",
        "right_shift", "gcd", "lcm", "packbits", "unpackbits", "ravel_multi_index",
        "unravel_index",
    ),
)  # fmt: skip
refuse(
    "it writes plain values, and the derivative would be lost; write ad.stop_gradient(x) for x",
    *existing("save", "savetxt", "savez", "savez_compressed"),
)
refuse(
    "numbers share no memory that could be compared; ask about the arrays they were made of",
    *existing("shares_memory", "may_share_memory"),
)
refuse(
    "counts are plain, and edges move with the sample; count with ad.stop_gradient(sample), or "
    "use np.histogram along one axis",
    *existing("histogram2d", "histogramdd"),
)
refuse(
    "dates have no derivative",
    *existing(
        "busday_count", "busday_offset", "is_busday", "datetime_as_string", "isnat",
        "datetime_data",
    ),
)  # fmt: skip

__all__ = [
    "existing", "name_of", "plain_functions", "refuse", "refused_functions", "see_primal",
]  # fmt: skip
