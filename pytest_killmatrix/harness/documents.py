"""General operators on YAML texts: drop an item of a list, drop a key.

The text is cut where the item stands, so that comments and layout stay; where what is left is not the same data less
that item, the data is written anew.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from pytest_killmatrix.harness.reading import HarnessError, parse_yaml

_Path = tuple[str | int, ...]
_ITEM: Final = re.compile(r"\s*-\s+|\s*-$")


@dataclass(frozen=True, slots=True)
class Cut:
    """One thing dropped from a YAML text: ``path`` leads to it, ``text`` is what is left."""

    path: _Path
    label: str
    text: str


def keys_dropped(text: str, what: str) -> list[Cut]:
    """The text without each of its keys in turn, outer ones first."""
    return _cuts(text, what, yaml.MappingNode)


def items_dropped(text: str, what: str) -> list[Cut]:
    """The text without each item of its lists in turn, outer ones first."""
    return _cuts(text, what, yaml.SequenceNode)


def _cuts(text: str, what: str, kind: type[yaml.CollectionNode]) -> list[Cut]:
    data = parse_yaml(text, what)
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        raise HarnessError(f"{what}: more than one YAML document; split it") from None
    found = [] if root is None else list(_places(root, ()))
    found.sort(key=lambda place: len(place.path))
    return [
        Cut(place.path, place.label, _without(text, data, place)) for place in found if isinstance(place.parent, kind)
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    path: _Path
    label: str
    parent: yaml.Node
    start: yaml.Node
    end: yaml.Node


def _places(node: yaml.Node, path: _Path) -> Iterator[_Place]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:str":
                name = (*path, key.value)
                yield _Place(name, ".".join(str(part) for part in name), node, key, value)
                yield from _places(value, name)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = value.value if isinstance(value, yaml.ScalarNode) else str(index + 1)
            yield _Place((*path, index), ".".join(str(part) for part in (*path, here)), node, value, value)
            yield from _places(value, (*path, index))


def _without(text: str, data: Any, place: _Place) -> str:
    wanted = _dropped(data, place.path)
    for cut in (_cut_lines(text, place), _cut_inline(text, place), _emptied(text, place)):
        if cut is not None and _says(cut, wanted):
            return cut
    return yaml.safe_dump(wanted, sort_keys=False, allow_unicode=True)


def _says(text: str, data: Any) -> bool:
    try:
        return bool(yaml.safe_load(text) == data)
    except yaml.YAMLError:
        return False


def _dropped(data: Any, path: _Path) -> Any:
    result = copy.deepcopy(data)
    holder = result
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    return result


def _cut_lines(text: str, place: _Place) -> str | None:
    """Whole lines, from the one it begins in to the one before the next thing."""
    lines = text.splitlines(keepends=True)
    first, last = place.start.start_mark.line, place.end.end_mark.line
    if place.end.end_mark.column > 0 and lines[last][: place.end.end_mark.column].strip():
        last += 1  # it ends within its last line
    while last > first + 1 and not lines[last - 1].strip():
        last -= 1
    before = lines[first][: place.start.start_mark.column]
    if before.strip() and not _ITEM.fullmatch(before):
        return None
    return "".join(lines[:first] + lines[last:])


def _cut_inline(text: str, place: _Place) -> str | None:
    """Within ``[a, b]`` or ``{a: 1, b: 2}``, with the comma after it or else the one before it."""
    start, end = place.start.start_mark.index, place.end.end_mark.index
    after = re.match(r"\s*,\s*", text[end:])
    if after:
        return text[:start] + text[end + after.end() :]
    before = re.search(r"\s*,\s*$", text[:start])
    return text[: before.start() if before else start] + text[end:]


def _emptied(text: str, place: _Place) -> str | None:
    """The only thing in its collection: an empty one instead."""
    if len(place.parent.value) > 1:
        return None
    empty = "[]" if isinstance(place.parent, yaml.SequenceNode) else "{}"
    before = text[: place.parent.start_mark.index].rstrip()
    return f"{before} {empty}\n{text[place.parent.end_mark.index :].lstrip(chr(10))}"
