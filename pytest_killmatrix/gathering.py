"""The mutants of a run: those of the operators and of other plugins, less those that were not asked for."""

from __future__ import annotations

import fnmatch
import tokenize
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.environment import digest_of
from pytest_killmatrix.generate import FileError, GenerationError, Spec, generate
from pytest_killmatrix.model import Build, Mutant, Replacement
from pytest_killmatrix.prepared import Prepared, Stop
from pytest_killmatrix.report.text import count

_USAGE: Final = 4
_NOTHING: Final = 5


@dataclass(slots=True)
class Gathered:
    """Mutants with their builds, the hash of each file that they are made from, and notes for the report."""

    mutants: list[Mutant] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def gather(prepared: Prepared) -> Gathered:
    """Make them, in a process of its own; Stop where that cannot be or where there are none."""
    if (given := _given_along(prepared)) is not None:
        return given
    chosen, settings = prepared.targets.mutated, prepared.settings
    spec = Spec(str(prepared.config.rootpath), list(chosen), settings.operators, _extra(prepared))
    gathered = Gathered()
    try:
        for record in generate(spec):
            if isinstance(record, FileError):
                raise Stop(f"no kill matrix: {record.path}:{record.line}: {record.message}", _USAGE)
            if record.note:
                gathered.notes.append(f"{record.path}: {record.note}")
            gathered.hashes[record.path] = record.sha256
            for mutant, build in zip(record.mutants, record.builds, strict=True):
                if _is_wanted(mutant, prepared):
                    gathered.mutants.append(mutant)
                    gathered.builds.append(build)
    except (ValueError, GenerationError) as error:
        raise Stop(f"no kill matrix: {error}", _USAGE) from error
    if not gathered.mutants and prepared.audit is None:
        wanted = f" that match {', '.join(settings.mutants)}" if settings.mutants else ""
        raise Stop(f"no kill matrix: no mutants{wanted} in {count(len(chosen), 'file')}", _NOTHING)
    return gathered


def _given_along(prepared: Prepared) -> Gathered | None:
    """What another process made of the same files for this one, if it did."""
    go = prepared.lead.go if prepared.lead is not None else None
    files = prepared.targets.files
    if go is None or not go.made or set(prepared.targets.mutated) - go.hashes.keys():
        return None
    if any(digest_of(files[name]) != go.hashes[name] for name in prepared.targets.mutated):
        return None
    return Gathered([mutant for mutant, _ in go.made], [build for _, build in go.made], dict(go.hashes))


def _is_wanted(mutant: Mutant, prepared: Prepared) -> bool:
    if prepared.lead is not None:
        return prepared.lead.meets(mutant.key)
    wanted = prepared.settings.mutants
    return not wanted or any(mutant.key == key or fnmatch.fnmatchcase(mutant.key, key) for key in wanted)


def _extra(prepared: Prepared) -> dict[str, list[tuple[str, list[Replacement]]]]:
    """Other plugins' replacements, by file and plugin."""
    implementations = prepared.config.hook.pytest_killmatrix_mutants.get_hookimpls()
    extra: dict[str, list[tuple[str, list[Replacement]]]] = {}
    for name in prepared.targets.mutated if implementations else ():
        path = prepared.targets.files[name]
        try:
            with tokenize.open(path) as file:
                source = file.read()
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue  # the generator says what is wrong with the file
        arguments: dict[str, str] = {"path": name, "source": source}
        for implementation in implementations:
            given: Any = implementation.function(*[arguments[word] for word in implementation.argnames])
            made = [_replacement(one, implementation.plugin_name) for one in given or ()]
            extra.setdefault(name, []).append((implementation.plugin_name, made))
    return extra


def _replacement(given: Any, plugin: str) -> Replacement:
    if isinstance(given, Replacement):
        return given
    try:
        return Replacement(*given)
    except TypeError:
        raise Stop(
            f"no kill matrix: plugin {plugin} gave {given!r} in pytest_killmatrix_mutants; a replacement is "
            "(operator, line, column, end_line, end_column, text)",
            _USAGE,
        ) from None
