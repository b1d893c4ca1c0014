"""YAML with line numbers: every value knows its line, and everything that is wrong is collected, one line each."""

from __future__ import annotations

import contextlib
import enum
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

import yaml

_Choice = TypeVar("_Choice", bound=enum.Enum)
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


class Bad(Exception):
    """What is being read cannot be gone on with; the problem is noted already."""


class Document:
    """One YAML file, and what is wrong with it, by line."""

    def __init__(self, path: Path, name: str) -> None:
        """``name`` is what the file is called in messages."""
        self.path = path
        self.name = name
        self._problems: list[tuple[int, str]] = []

    @property
    def problems(self) -> list[str]:
        """All that was noted, in the order of lines."""
        found = dict.fromkeys(sorted(self._problems))
        return [f"{self.name}:{line}: {message}" if line else f"{self.name}: {message}" for line, message in found]

    def add(self, line: int, message: str) -> None:
        """Note a problem."""
        self._problems.append((line, " ".join(message.split())))

    def fail(self, line: int, message: str) -> Bad:
        """Note a problem that ends the reading of this part; to be raised."""
        self.add(line, message)
        return Bad(message)

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """What is bad inside is noted, and the rest of the file is read all the same."""
        with contextlib.suppress(Bad):
            yield

    def load(self) -> yaml.Node:
        """The file's one document."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise self.fail(0, f"cannot be read: {error.strerror or error}") from None
        try:
            node = yaml.compose(data.decode("utf-8"), Loader=yaml.SafeLoader)
        except UnicodeDecodeError:
            raise self.fail(0, "is no UTF-8 text") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = 0 if mark is None else mark.line + 1
            raise self.fail(line, f"is no YAML: {error.problem or error.context}") from None
        except yaml.YAMLError as error:
            raise self.fail(0, f"is no YAML: {error}") from None
        if node is None:
            raise self.fail(0, "is empty")
        return node

    # -- values ----------------------------------------------------------------------------------------------------

    def mapping(
        self, node: yaml.Node, what: str, required: Collection[str], optional: Collection[str] = ()
    ) -> dict[str, yaml.Node]:
        """The values by key; unknown, missing and repeated keys are problems."""
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(line_of(node), f"{what} is {kind_of(node)}; give keys: {', '.join(required)}")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            word = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if word not in required and word not in optional:
                known = ", ".join([*required, *optional])
                self.add(line_of(key), f"{what} has the unknown key {word!r}; known are {known}")
            elif word in found:
                self.add(line_of(key), f"{what} has {word!r} twice")
            else:
                found[word] = value
        missing = [word for word in required if word not in found]
        if missing:
            raise self.fail(line_of(node), f"{what} lacks {', '.join(missing)}")
        return found

    def pairs(self, node: yaml.Node, what: str) -> list[tuple[yaml.Node, yaml.Node]]:
        """Keys and values of a mapping whose keys are the user's own; repeated keys are problems."""
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(line_of(node), f"{what} is {kind_of(node)}; give keys with values")
        seen: set[str] = set()
        for key, _ in node.value:
            word = self.text(key, f"a key of {what}")
            if word in seen:
                self.add(line_of(key), f"{what} has {word!r} twice")
            seen.add(word)
        return list(node.value)

    def items(self, node: yaml.Node, what: str, *, least: int = 0) -> list[yaml.Node]:
        """The items of a list; a single value is a list of one."""
        if isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:null":
            return [node]
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(line_of(node), f"{what} is {kind_of(node)}; give a list")
        if len(node.value) < least:
            raise self.fail(line_of(node), f"{what} is empty; name at least one")
        return list(node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        """A text that is not empty."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.fail(line_of(node), f"{what} is {kind_of(node)}; give a text")
        value: str = node.value
        if node.tag == "tag:yaml.org,2002:null" or not value.strip():
            raise self.fail(line_of(node), f"{what} is empty; give a text")
        return value

    def whole(self, node: yaml.Node, what: str, least: int = 1) -> int:
        """A whole number from ``least`` up."""
        value = node.value if isinstance(node, yaml.ScalarNode) else ""
        if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) >= least):
            raise self.fail(line_of(node), f"{what} is {value or kind_of(node)!r}; give a whole number from {least} up")
        return int(value)

    def flag(self, node: yaml.Node, what: str) -> bool:
        """True or false."""
        value = node.value.lower() if isinstance(node, yaml.ScalarNode) else ""
        if value not in (*_TRUE, *_FALSE):
            raise self.fail(line_of(node), f"{what} is {value or kind_of(node)!r}; give true or false")
        return value in _TRUE

    def choice(self, node: yaml.Node, what: str, choices: type[_Choice]) -> _Choice:
        """One of an enum's values."""
        value = self.text(node, what)
        try:
            return choices(value)
        except ValueError:
            known = ", ".join(str(member.value) for member in choices)
            raise self.fail(line_of(node), f"{what} is {value!r}; choose one of {known}") from None

    # -- files -----------------------------------------------------------------------------------------------------

    def file(self, node: yaml.Node, what: str) -> Path:
        """An existing file, named relative to the document's directory; absolute, not resolved."""
        name = self.text(node, what)
        path = Path(os.path.normpath(self.path.parent / name))
        if not path.is_file():
            say = "is a directory; name its files" if path.is_dir() else "does not exist"
            raise self.fail(line_of(node), f"{what}: {name} {say} (paths are relative to {self.name})")
        return path

    def bytes_of(self, path: Path, node: yaml.Node, what: str) -> bytes:
        """What is in a file."""
        try:
            return path.read_bytes()
        except OSError as error:
            raise self.fail(line_of(node), f"{what}: {path.name} cannot be read: {error.strerror or error}") from None


def line_of(node: yaml.Node) -> int:
    """The line that a value begins on, from 1."""
    return int(node.start_mark.line) + 1


def kind_of(node: yaml.Node) -> str:
    """What a value is, for people."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "empty" if node.tag == "tag:yaml.org,2002:null" else "a single value"
