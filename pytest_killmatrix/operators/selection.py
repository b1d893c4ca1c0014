"""Which operators run: what ``--mutation-operators`` means."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

_GLOB = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Selection:
    """An ordered list of rules; the last one that matches a name decides."""

    rules: tuple[tuple[bool, str], ...]
    groups: Mapping[str, frozenset[str]]
    otherwise: bool

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        chosen = self.otherwise
        for wanted, pattern in self.rules:
            if name in self.groups.get(pattern, ()) or fnmatch.fnmatchcase(name, pattern):
                chosen = wanted
        return chosen

    def without(self, names: Sequence[str]) -> Selection:
        """The same selection, less these names."""
        return replace(self, rules=(*self.rules, *((False, name) for name in names)))


def select(text: str, groups: Mapping[str, Sequence[str]]) -> Selection:
    """Read a comma list of names, groups, globs and ``-name``; nothing, or only ``-name`` items, starts from all.

    ValueError names an item that is neither in the catalogue nor a glob nor a third party's ``prefix:name``.
    """
    names = [name for group in groups.values() for name in group]
    rules: list[tuple[bool, str]] = []
    for item in (part.strip() for part in text.split(",")):
        if not item:
            continue
        wanted = not item.startswith("-")
        pattern = item if wanted else item[1:].strip()
        if pattern == "all":
            pattern = "*"
        if not _known(pattern, groups, names.__contains__):
            choices = ", ".join([*groups, *sorted(set(names))])
            raise ValueError(
                f"unknown mutation operator {pattern!r}: choose from {choices}, a glob, or a plugin's prefix:name"
            )
        rules.append((wanted, pattern))
    return Selection(
        rules=tuple(rules),
        groups={group: frozenset(members) for group, members in groups.items()},
        otherwise=not any(wanted for wanted, _ in rules),
    )


def _known(pattern: str, groups: Mapping[str, Sequence[str]], is_name: Callable[[str], bool]) -> bool:
    return pattern in groups or is_name(pattern) or ":" in pattern or not _GLOB.isdisjoint(pattern)
