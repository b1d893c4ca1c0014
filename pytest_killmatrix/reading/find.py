"""The sidecar, mutant or test that a person means, by as little as names it; else what would have been near."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pytest_killmatrix.model import SIDECAR_NAME
from pytest_killmatrix.store.reader import Reader

_PLACE: Final = re.compile(r"(?P<path>.+):(?P<line>\d+)")
_GLOB: Final = re.compile(r"[*?]")
_NEAR: Final = 3
_CUTOFF: Final = 0.5


class NotFoundError(Exception):
    """Nothing, or more than one thing, has that name; the message is one line and says what is near."""


class Named(NamedTuple):
    """A mutant by its number in the run, its key and its place."""

    number: int
    key: str
    path: str
    line: int


def find_sidecar(given: str | None, start: Path | None = None) -> Path:
    """The sidecar that was named, else the one in this directory or in the nearest one above that has one."""
    if given is not None:
        return Path(given).expanduser()
    here = Path.cwd() if start is None else start
    for folder in (here, *here.parents):
        if (folder / SIDECAR_NAME).is_file():
            return folder / SIDECAR_NAME
    raise NotFoundError(
        f"there is no {SIDECAR_NAME} in {here} or above it; make one with pytest --kill-matrix, or give --db PATH"
    )


def find_mutants(reader: Reader, word: str) -> list[Named]:
    """The mutants that ``word`` names, one at least.

    That is a key, the end of one (its ten hexadecimal digits will do), ``path:line``, a glob on the key, or a part of
    it.
    """
    place = _PLACE.fullmatch(word)
    named = _exact(reader, word, place) or _all(reader)
    tests: tuple[Callable[[Named], bool], ...] = (
        lambda mutant: mutant.key == word,
        lambda mutant: mutant.key.rpartition("::")[2] == word,
        lambda mutant: (
            place is not None
            and mutant.line == int(place["line"])
            and (mutant.path == place["path"] or mutant.path.endswith("/" + place["path"]))
        ),
        lambda mutant: bool(_GLOB.search(word)) and fnmatch.fnmatchcase(mutant.key, word),
        lambda mutant: word in mutant.key,
    )
    for matches in tests:
        if found := [mutant for mutant in named if matches(mutant)]:
            return found
    raise NotFoundError(_none("mutant", word, [mutant.key for mutant in named], lambda key: key.rpartition("::")[2]))


def _all(reader: Reader) -> list[Named]:
    rows = reader.query("SELECT mutant, key, path, line FROM mutants WHERE run = ? ORDER BY mutant", reader.run)
    return [Named(*row) for row in rows]


def _exact(reader: Reader, word: str, place: re.Match[str] | None) -> list[Named]:
    """Those with this key, or end of one, or in this place, found without looking at all names here."""
    path, line = (place["path"], int(place["line"])) if place is not None else (None, None)
    end, below = f"::{word}" if "::" not in word else None, f"/{path}"
    rows = reader.query(
        "SELECT mutant, key, path, line FROM mutants WHERE run = ? AND (key = ? OR substr(key, ?) = ? "
        "OR (line = ? AND (path = ? OR substr(path, ?) = ?))) ORDER BY mutant",
        reader.run,
        *(word, -len(end or ""), end, line, path, -len(below), below),
    )
    return [Named(*row) for row in rows]


def find_test(reader: Reader, word: str) -> list[int]:
    """The numbers of the test that ``word`` names: its node id, the end or a part of it, or a glob.

    More than one where the test changed since a baseline: these have one node id.
    """
    rows = reader.query("SELECT test, nodeid FROM tests WHERE run = ? ORDER BY test", reader.run)
    named = [(int(index), str(nodeid)) for index, nodeid in rows]
    tests: tuple[Callable[[str], bool], ...] = (
        lambda nodeid: nodeid == word,
        lambda nodeid: nodeid.endswith(("::" + word, "/" + word)),
        lambda nodeid: nodeid.endswith(word),
        lambda nodeid: bool(_GLOB.search(word)) and fnmatch.fnmatchcase(nodeid, word),
        lambda nodeid: word in nodeid,
    )
    for matches in tests:
        found = [(index, nodeid) for index, nodeid in named if matches(nodeid)]
        if len({nodeid for _, nodeid in found}) == 1:
            return [index for index, _ in found]
        if found:
            raise NotFoundError(_several("tests", word, list(dict.fromkeys(nodeid for _, nodeid in found))))
    raise NotFoundError(_none("test", word, [nodeid for _, nodeid in named], lambda nodeid: nodeid.rpartition("::")[2]))


def near(word: str, names: Iterable[str], short: Callable[[str], str]) -> list[str]:
    """The names that are most like ``word``, as a whole or by their short form."""
    by_short: dict[str, list[str]] = {}
    whole = list(dict.fromkeys(names))
    for name in whole:
        by_short.setdefault(short(name), []).append(name)
    likely = difflib.get_close_matches(word, whole, _NEAR, _CUTOFF) if "::" in word or "/" in word else []
    if not likely:
        shorts = difflib.get_close_matches(short(word), by_short, _NEAR, _CUTOFF)
        likely = [name for one in shorts for name in by_short[one]]
    return likely[:_NEAR]


def _several(what: str, word: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NEAR])
    more = f" and {len(names) - _NEAR:,} more" if len(names) > _NEAR else ""
    return f"{word!r} names {len(names):,} {what}: {shown}{more}; give more of the one you mean"


def _none(what: str, word: str, names: Sequence[str], short: Callable[[str], str]) -> str:
    likely = near(word, names, short)
    if likely:
        return f"no {what} {word!r}; did you mean {' or '.join(likely)}?"
    example = f", for example {names[0]}" if names else ""
    return f"no {what} {word!r} among the {len(names):,} of this run{example}"
