"""What the cells of this run depend on: from the project's files, the test side of today, and the clean runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix import __version__, environment
from pytest_killmatrix.baseline.syntax import parse
from pytest_killmatrix.baseline.today import Today
from pytest_killmatrix.child.entries import Watch
from pytest_killmatrix.clean.observer import ALONE, END
from pytest_killmatrix.model import Excluded, Test
from pytest_killmatrix.prepared import Prepared
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.reuse.definitions import Parts, digest, parts_of
from pytest_killmatrix.reuse.dependence import Dependence

#: pytest's options that choose tests or only change what is shown; of the others any may change an outcome
_HARMLESS: Final = frozenset(
    {
        "file_or_dir", "keyword", "markexpr", "deselect", "verbose", "quiet", "no_header", "no_summary", "reportchars",
        "color", "code_highlight", "tbstyle", "fulltrace", "durations", "durations_min", "lf", "failedfirst",
        "newfirst",
        "last_failed_no_failures", "stepwise", "stepwise_skip", "stepwise_reset", "cacheshow", "cacheclear", "xmlpath",
        "junitprefix", "pastebin", "numprocesses", "maxprocesses", "dist", "tx", "maxfail", "version", "help",
        "collectonly", "basetemp", "pluginmanager",
    }
)  # fmt: skip
_OURS: Final = "killmatrix_"
#: settings of ours that may change what a cell says; the others choose mutants or say where things go
_DECIDING: Final = ("isolation", "executor", "static", "timeout", "memory", "clean_runs", "alone", "test_side")


@dataclass(frozen=True, slots=True)
class Now:
    """``names`` are the definitions by their number in ``watch``, as ``path::name``."""

    dependence: Dependence
    names: Sequence[str]
    watch: Watch


def look(
    prepared: Prepared,
    hashes: Mapping[str, str],
    facts: Mapping[str, object],
    tests: Sequence[Test],
    reach: ReachMap,
    needs: Mapping[int, Sequence[int]],
    leaving: Collection[int] = (),
) -> Now | None:
    """``hashes`` are of the project's files, ``facts`` what the environment is; None where not all is known.

    ``leaving`` are the tests that leave something behind in mutated modules: those after them depend on them.
    """
    today = prepared.today
    if today is None:
        return None
    targets = {name: str(path) for name, path in prepared.targets.files.items()}
    taken: dict[str, Parts] = {}
    texts: list[str] = []
    for name, path in sorted(targets.items()):
        source = Path(path).read_bytes()
        tree = parse(source)
        if tree is None:
            return None
        taken[name] = parts_of(tree)
        texts.append(f"{name}\0{hashlib.sha256(source).hexdigest()}")
    names = [f"{name}::{inner}" for name, parts in taken.items() for inner in parts.definitions]
    numbers = {name: number for number, name in enumerate(names)}
    definitions = {f"{name}::{inner}": sha for name, parts in taken.items() for inner, sha in parts.definitions.items()}
    always, clean = _who_ran(taken, targets, reach, numbers, len(tests))
    everywhere = [f"{names[number]}\0{definitions[names[number]]}" for number in _bits(always)]
    loaded = sorted(name for name, path in targets.items() if path in prepared.loaded)
    common = digest(
        *_settings(prepared, facts),
        *_other_files(prepared, today, hashes, targets),
        *(f"{name}\0{parts.frame}" for name, parts in sorted(taken.items())),
        *loaded,
        *everywhere,
        *_frames(today),
    )
    fingerprints = {known.nodeid: known.fingerprint.whole for known in today.known}
    keys: list[str | None] = []
    left = ""  # what tests so far may have left behind
    for index, test in enumerate(tests):
        before = [fingerprints.get(tests[other].nodeid) for other in needs.get(index, ())]
        own = fingerprints.get(test.nodeid)
        if own is None or None in before or test.excluded is Excluded.UNCOLLECTABLE:
            keys.append(None)
            left = digest(left, test.nodeid, "unknown") if index in leaving else left
            continue
        ran = (f"{names[number]}\0{definitions[names[number]]}" for number in _bits(clean[index] & ~always))
        key = digest(own, *map(str, before), *ran)
        keys.append(digest(key, left))
        if index in leaving:
            left = digest(left, test.nodeid, key)
    watch = Watch(
        {
            path: {inner: numbers[f"{name}::{inner}"] for inner in taken[name].definitions}
            for name, path in targets.items()
        },
        always,
        clean,
    )
    return Now(Dependence(common, digest(*texts), keys, definitions), names, watch)


def _who_ran(
    taken: Mapping[str, Parts], targets: Mapping[str, str], reach: ReachMap, numbers: Mapping[str, int], tests: int
) -> tuple[int, list[int]]:
    """Bit masks of definitions: those that ran outside of tests, and by test those that ran in its clean runs."""
    always, clean = 0, [0] * tests
    for name, parts in taken.items():
        for first, last, inner in parts.spans:
            bit = 1 << numbers[f"{name}::{inner}"]
            for context in reach.entered(targets[name], first, last):
                if context.startswith(("t:", ALONE)):
                    clean[int(context[2:])] |= bit
                elif context != END:
                    always |= bit
    return always, clean


def _bits(mask: int) -> list[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def _settings(prepared: Prepared, facts: Mapping[str, object]) -> Iterable[str]:
    """Options and environment as texts; where the project is does not matter, a checkout is anywhere."""
    root = json.dumps(str(prepared.config.rootpath))[1:-1]
    for part in (_options(prepared), facts):
        yield json.dumps(part, sort_keys=True, default=str).replace(root, "")


def _options(prepared: Prepared) -> dict[str, object]:
    """What may decide of options, ours and pytest's."""
    option: dict[str, Any] = vars(prepared.config.option)
    given = {
        name: value if _is_plain(value) else type(value).__name__
        for name, value in option.items()
        if name not in _HARMLESS and not name.startswith(_OURS)
    }
    deciding = prepared.settings.deciding()
    return {
        "version": __version__,
        "ours": {name: deciding[name] for name in _DECIDING},
        "targets": sorted(prepared.targets.files),
        "pytest": given,
    }


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    return value is None or isinstance(value, (str, int, float, bool, Path))


def _other_files(
    prepared: Prepared, today: Today, hashes: Mapping[str, str], targets: Collection[str]
) -> Iterable[str]:
    """All files but those that are looked at more closely, and those that git ignores and this very run wrote."""
    python = {path for path in today.side.files if path.endswith(".py")}
    root = prepared.config.rootpath
    for name, sha256 in sorted(hashes.items()):
        is_output = name not in today.project.files or name.rpartition("/")[2].startswith(".")
        if name in targets or name in python or (is_output and _is_newer(root / name, prepared.began)):
            continue
        yield f"{name}\0{sha256}"
    yield from (f"{name}\0{where}" for name, where in sorted(environment.linked_folders(root).items()))


def _is_newer(path: Path, moment: float) -> bool:
    try:
        return path.stat().st_mtime >= moment
    except OSError:
        return False


def _frames(today: Today) -> Iterable[str]:
    """What importing the files of the tests may do to everybody."""
    for path in sorted(today.side.modules | today.side.helpers | today.side.conftests):
        frame = today.maker.frame(path)
        if frame is not None:
            yield f"{path}\0{frame}"
