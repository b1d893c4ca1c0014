"""What an interpreter is, and how two of them differ; the standard library only.

Workers get ``gather`` by value, so that it also answers where this package is missing.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any


def gather() -> dict[str, Any]:
    """Python, platform, and the version of every installed distribution by its normalized name."""
    installed: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            # the first one on the path is the one that is imported
            installed.setdefault(re.sub(r"[-_.]+", "-", name).lower(), distribution.version)
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform}-{platform.machine()}",
        "installed": installed,
    }


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], matter: Iterable[str]) -> list[str]:
    """In words how a worker's interpreter differs from this one; what has to agree is in ``matter``."""
    found = [f"{theirs[what]} instead of {ours[what]}" for what in ("python", "platform") if theirs[what] != ours[what]]
    for name in matter:
        here, there = ours["installed"].get(name), theirs["installed"].get(name)
        if here != there:
            found.append(f"{name} {there} instead of {here}" if here and there else _only(name, here, there))
    return found


def _only(name: str, here: str | None, there: str | None) -> str:
    return f"no {name} (here {here})" if here else f"{name} {there}, which is not here"
