"""Frozen dataclasses to and from what JSON can hold, by their type hints."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from typing import Any, TypeVar

_Made = TypeVar("_Made")


def to_plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, enums as their values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[_Made], value: Any) -> _Made:
    """What ``to_plain`` made such a value from; what it does not know (a newer field) is left out."""
    made: _Made = _made(kind, value)
    return made


def _made(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        wanted = next(one for one in arguments if one is not type(None))
        return None if value is None else _made(wanted, value)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return tuple(_made(arguments[0], item) for item in value)
        return tuple(_made(one, item) for one, item in zip(arguments, value, strict=True))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _made(hints[name], item) for name, item in value.items() if name in hints})
    return kind(value) if isinstance(kind, type) and issubclass(kind, enum.Enum) else value
