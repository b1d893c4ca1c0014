"""Mutants that a person declared equivalent, from a YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

_KEYS: Final = ("key", "reason", "who", "when")


class EquivalentsError(Exception):
    """The file is not what it should be; the message is one line and names the place."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration: the mutant's key, why no test can notice it, who says so and since when."""

    key: str
    reason: str
    who: str
    when: str

    @property
    def described(self) -> str:
        """As the reason of a status."""
        return f"declared: {self.reason} ({self.who}, {self.when})"


def read(path: Path) -> dict[str, Declared]:
    """The declarations by key."""
    try:
        loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
        node: Any = loader.get_single_node()
        given: Any = loader.construct_document(node) if node is not None else None
    except OSError as error:
        raise EquivalentsError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark is not None else ""
        raise EquivalentsError(f"{path}{place}: not YAML: {getattr(error, 'problem', error)}") from error
    if given is None:
        return {}
    if not isinstance(given, list):
        raise EquivalentsError(f"{path}:1: give a list, each entry with key, reason, who and when")
    found: dict[str, Declared] = {}
    for entry, place in zip(given, node.value, strict=True):
        at = f"{path}:{place.start_mark.line + 1}"
        if not isinstance(entry, dict) or set(entry) != set(_KEYS) or not all(str(entry[key] or "") for key in _KEYS):
            raise EquivalentsError(f"{at}: an entry has exactly key, reason, who and when, and none of them is empty")
        declared = Declared(*(str(entry[key]) for key in _KEYS))
        if declared.key in found:
            raise EquivalentsError(f"{at}: {declared.key} is declared twice")
        found[declared.key] = declared
    return found
