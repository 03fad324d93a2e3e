"""Nested lists, tuples and dicts of numbers and arrays: taken apart and put together."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

Rebuild = Callable[[list[Any]], Any]


def flatten(x: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of a nested structure, and the function that puts others in their place.

    Lists, tuples (named ones too) and dicts are structure; all else is a leaf.

    >>> leaves, rebuild = flatten({"a": 1.0, "b": [2.0, 3.0]})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> rebuild([10.0, 20.0, 30.0])
    {'a': 10.0, 'b': [20.0, 30.0]}
    """
    if not is_nested(x):
        return [x], only
    leaves: list[Any] = []
    shape = _skeleton(x, leaves)

    def rebuild(values: list[Any]) -> Any:
        it = iter(values)
        return _fill(shape, it)

    return leaves, rebuild


#: puts back the leaf of what is no structure
only: Rebuild = operator.itemgetter(0)


class _Leaf:
    """The place of a leaf in a skeleton."""


_LEAF = _Leaf()


def _skeleton(x: Any, leaves: list[Any]) -> Any:
    if isinstance(x, (list, tuple)):
        return _same_kind(x, [_skeleton(e, leaves) for e in x])
    if isinstance(x, dict):
        return {k: _skeleton(v, leaves) for k, v in x.items()}
    leaves.append(x)
    return _LEAF


def _fill(shape: Any, values: Any) -> Any:
    if shape is _LEAF:
        return next(values)
    if isinstance(shape, dict):
        return {k: _fill(v, values) for k, v in shape.items()}
    return _same_kind(shape, [_fill(e, values) for e in shape])


def _same_kind(like: Any, entries: list[Any]) -> Any:
    if isinstance(like, tuple):
        return type(like)(*entries) if hasattr(like, "_fields") else tuple(entries)
    return entries


def is_nested(x: Any) -> bool:
    """Whether x is structure rather than a leaf."""
    return isinstance(x, (list, tuple, dict))
