"""From the user's tree to the copy: the words of a command line, and the environment."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: other plugins' files that the user wants to keep
_KEPT: Final = frozenset(
    {"--junitxml", "--junit-xml", "--log-file", "--basetemp", "--report-log", "--html", "--json-report-file"}
)
_SPLIT: Final = ("PYTHONPATH", "PATH")


@dataclass(frozen=True, slots=True)
class Places:
    """The user's tree, its copy, and the directory in which the command was given; all absolute."""

    root: Path
    copy: Path
    cwd: Path

    @property
    def new_cwd(self) -> Path:
        """Where the command runs in the copy; elsewhere it runs where it was given."""
        return self.mapped(self.cwd) or self.cwd

    def mapped(self, path: Path) -> Path | None:
        """The copy of a path; None for one that is not in the project or was not copied."""
        if not path.is_relative_to(self.root):
            return None
        place = self.copy / path.relative_to(self.root)
        return place if os.path.lexists(place) else None

    # -- the command line ------------------------------------------------------------------------------------------

    def arguments(self, words: Sequence[str], kept: Iterable[str]) -> list[str]:
        """The words for the copy; what the options in ``kept`` name stays in the user's tree."""
        keep = _KEPT | frozenset(kept)
        result: list[str] = []
        before = ""
        for word in words:
            name, equals, value = word.partition("=")
            if before in keep and not word.startswith("-"):
                result.append(str(self.cwd / word))
            elif equals and name in keep:
                result.append(f"{name}={self.cwd / value}")
            elif equals and name.startswith("-"):
                result.append(f"{name}={self._word(value)}")
            else:
                result.append(self._word(word))
            before = word
        return result

    def _word(self, word: str) -> str:
        path, colons, node = word.partition("::")
        if not path or path.startswith("-"):
            return word
        place = Path(os.path.normpath(self.cwd / path))
        if not (os.path.isabs(path) or os.path.lexists(place)):
            return word  # no path, as far as one can see
        found = self.mapped(place)
        if found is None:
            text = path if place.is_relative_to(self.root) and not os.path.isabs(path) else str(place)
        elif os.path.isabs(path) or not self.cwd.is_relative_to(self.root):
            # relative where that can be: the words are part of what a resumed run is known by
            text = os.path.relpath(place, self.cwd) if self.cwd.is_relative_to(self.root) else str(found)
        else:
            text = path
        return text + colons + node

    # -- the environment -------------------------------------------------------------------------------------------

    def environment(self, environ: Mapping[str, str], imported_from: Iterable[Path]) -> dict[str, str]:
        """The environment for the copy; ``imported_from`` are folders that modules of the project come from."""
        new = {name: self._value(name, value) for name, value in environ.items()}
        given = [place for place in new.get("PYTHONPATH", "").split(os.pathsep) if place]
        more = [str(place) for place in imported_from if str(place) not in given]
        if given or more:
            new["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*given, *more]))
        return new

    def _value(self, name: str, value: str) -> str:
        if name == "PYTEST_ADDOPTS":
            return shlex.join(self.arguments(shlex.split(value), ()))
        if name in _SPLIT or os.pathsep in value:
            return os.pathsep.join(map(self._absolute, value.split(os.pathsep)))
        return self._absolute(value)

    def _absolute(self, text: str) -> str:
        found = self.mapped(Path(os.path.normpath(text))) if os.path.isabs(text) else None
        return str(found) if found is not None else text

    def imported_from(self, path: Sequence[str], finders: Sequence[Any]) -> Iterator[Path]:
        """The copies of the folders that an installation adds to the path, or maps packages to."""
        for text in path:
            found = self.mapped(Path(os.path.realpath(text))) if os.path.isabs(text) else None
            if found is not None:
                yield found
        for finder in finders:
            module = sys.modules.get(getattr(finder, "__module__", None) or type(finder).__module__)
            mapping = getattr(module, "MAPPING", None)  # setuptools' editable installations
            for name, text in mapping.items() if isinstance(mapping, dict) else ():
                found = self.mapped(Path(os.path.realpath(text)))
                if found is not None and found.name.removesuffix(".py") == name.rpartition(".")[2]:
                    yield found.parents[name.count(".")]
