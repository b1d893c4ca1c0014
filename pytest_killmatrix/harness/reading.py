"""Reads YAML and JSON that people write: what is wrong is said in one line, with the place and what would do."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml


class HarnessError(Exception):
    """Something about a harness, its plan or its results will not do; the message is one line and says what would."""


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice: one of the two would be lost."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
    loader.flatten_mapping(node)
    return dict(loader.construct_mapping(node, deep=True))


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_text(path: Path, what: str) -> str:
    """The text of a file that the user named."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise HarnessError(f"there is no {what} {path}; give the path of one") from None
    except UnicodeDecodeError:
        raise HarnessError(f"the {what} {path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise HarnessError(f"cannot read the {what} {path}: {error.strerror}") from None


def parse_yaml(text: str, what: str) -> Any:
    """The data of a YAML text; ``what`` names it in errors."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        place = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise HarnessError(f"{what}{place}: {one_line(error.problem or error.context or 'is not YAML')}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise HarnessError(f"{what} is not YAML: {one_line(str(error))}") from None


def read_fields(path: Path, what: str) -> Fields:
    """The mapping at the top of a YAML file."""
    data = parse_yaml(read_text(path, what), f"{what} {path}")
    return Fields(data, f"{what} {path}")


def read_json(path: Path, what: str) -> Any:
    """The data of a JSON file."""
    try:
        return json.loads(read_text(path, what))
    except (ValueError, RecursionError) as error:
        raise HarnessError(f"{what} {path} is not JSON: {one_line(str(error))}") from None


def one_line(text: str) -> str:
    return " ".join(text.split())


class Fields:
    """A mapping of which every key has to be asked for: what is left at the end is unknown, and refused."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise HarnessError(f"{where}: a mapping of keys to values is needed, not {_kind(data)}")
        strange = next((key for key in data if not isinstance(key, str)), None)
        if strange is not None:
            raise HarnessError(f"{where}: the key {strange!r} is no text; put it in quotes")
        self.where = where
        self._data = dict(data)
        self._asked: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def error(self, key: str, problem: str) -> HarnessError:
        return HarnessError(f"{self.where}: {key}: {problem}")

    def any(self, key: str, default: Any = None) -> Any:
        """Whatever the key has."""
        self._asked.append(key)
        return self._data.get(key, default)

    def needed(self, key: str) -> Any:
        if self._data.get(key) is None:
            raise HarnessError(f"{self.where}: the key {key!r} is missing")
        return self.any(key)

    def text(self, key: str, default: str | None = None) -> str | None:
        """Text, or a number written without quotes."""
        value = self.any(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.error(key, f"text is needed, not {_kind(value)}")
        return str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single one may stand alone."""
        value = self.any(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, bool) or not isinstance(item, (str, int, float)):
                raise self.error(key, f"a list of texts is needed, not {_kind(item)} in it")
        return tuple(str(item) for item in items)

    def number(self, key: str, default: float | None = None, *, above: float | None = None) -> float | None:
        """A number, 0 or more; more than ``above`` where that is given."""
        value = self.any(key)
        if value is None:
            return default
        good = not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= value < float("inf")
        if not good or (above is not None and value <= above):
            wanted = "a number, 0 or more" if above is None else f"a number above {above:g}"
            raise self.error(key, f"{wanted}, is needed, not {value!r}")
        return float(value)

    def whole(self, key: str, default: int | None = None, *, least: int = 1) -> int | None:
        value = self.any(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"a whole number, {least} or more, is needed, not {value!r}")
        return value

    def mappings(self, key: str) -> Iterator[Fields]:
        """A list of mappings."""
        value = self.any(key)
        if value is None:
            return
        if not isinstance(value, list):
            raise self.error(key, f"a list is needed, not {_kind(value)}")
        for number, item in enumerate(value, 1):
            yield Fields(item, f"{self.where}: {key} {number}")

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                close = difflib.get_close_matches(key, self._asked, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(set(self._asked)))}"
                raise HarnessError(f"{self.where}: unknown key {key!r}; {hint}")


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return {dict: "a mapping", list: "a list", bool: "true or false", str: "text", int: "a number"}.get(
        type(value), f"a {type(value).__name__}"
    )


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all; what was there stays until then."""
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise HarnessError(f"cannot write {path}: {error.strerror}; give another place") from None
    finally:
        temporary.unlink(missing_ok=True)
