"""What a test leaves behind in the modules under mutation: noticed, as far as it can be without running their code."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any, Final

_PLAIN: Final = frozenset({int, float, complex, str, bytes, bool, type(None)})
_DEEP: Final = 2  # containers in containers
_MOST: Final = 1_000  # items of a container that are looked at
_CACHED: Final = type(functools.lru_cache(lambda: None))


def state_of(modules: Iterable[types.ModuleType]) -> tuple[Any, ...]:
    """Something that compares unequal once a global, a class attribute, a container or a cache of theirs changed."""
    return tuple(_names(vars(module), module.__name__, _DEEP) for module in modules)


def _names(namespace: Any, owner: str, depth: int) -> tuple[Any, ...]:
    return tuple(
        (name, _describe(value, owner, depth))
        for name, value in list(namespace.items())
        if not (name.startswith("__") and name.endswith("__"))
    )


def _describe(value: Any, owner: str, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return kind, repr(value) if kind in (float, complex) else value
    if depth and kind in (list, tuple, set, frozenset, dict):
        items = list(value.items() if kind is dict else value)[:_MOST]
        inner = [_describe(item, owner, depth - (kind is not tuple)) for item in items]
        if kind is tuple:
            return tuple(inner)
        return id(value), len(value), frozenset(inner) if kind in (set, frozenset) else tuple(inner)
    if kind is _CACHED:
        return id(value), value.cache_info().currsize
    if depth and kind is types.FunctionType and vars(value):
        return id(value), _names(vars(value), owner, depth - 1)
    if depth and isinstance(value, type) and vars(value).get("__module__") == owner:
        return id(value), _names(vars(value), owner, depth - 1)
    if depth and vars(kind).get("__module__") == owner:
        try:
            held = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return id(value)
        return (id(value), _names(held, owner, depth - 1)) if type(held) is dict else id(value)
    return id(value)
