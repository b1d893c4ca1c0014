"""Which installed distributions have to be the same on every worker."""

from __future__ import annotations

import importlib.metadata
import os
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

#: what holds the session, whatever the project is
ALWAYS: Final = frozenset({"pytest", "pluggy", "pytest-killmatrix"})


def listed(*more: frozenset[str]) -> tuple[str, ...]:
    """All that matter, in the order in which they are looked at."""
    return (*sorted(ALWAYS), *sorted(frozenset[str]().union(*more) - ALWAYS))


def plugins() -> frozenset[str]:
    """The distributions with plugins of pytest's, which it loads by itself."""
    return frozenset(
        _normal(distribution.metadata["Name"])
        for distribution in importlib.metadata.distributions()
        if any(entry.group == "pytest11" for entry in distribution.entry_points)
    )


def loaded(modules: Mapping[str, types.ModuleType], root: Path) -> frozenset[str]:
    """The distributions of which a module is loaded: not the project itself, which travels."""
    inside = f"{root}{os.sep}"
    owners = importlib.metadata.packages_distributions()
    found: set[str] = set()
    for name, module in modules.items():
        origin: Any = getattr(module, "__file__", None)
        if isinstance(origin, str) and not _own(os.path.realpath(origin), inside):
            found.update(_normal(owner) for owner in owners.get(name.partition(".")[0], ()))
    return frozenset(found)


def _own(origin: str, inside: str) -> bool:
    """Whether a file is the project's; an environment that lies in the project is not."""
    return origin.startswith(inside) and f"{os.sep}site-packages{os.sep}" not in origin


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
