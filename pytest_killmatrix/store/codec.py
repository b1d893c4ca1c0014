"""Records of ``model`` to and from rows of the sidecar."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from pytest_killmatrix.model import Cause, CauseKind, Cell, Clean, Excluded, Mutant, RunInfo, Sample, Status, Test
from pytest_killmatrix.store.schema import ISOLATIONS, OUTCOMES, PHASES, SUITES

Row = tuple[Any, ...]
Intern = Callable[[str], int]

RUN_COLUMNS = (
    'id, started, seconds, "commit", dirty, baseline, scope, python, platform, hash_seed, complete, population, '
    "fingerprint, options, cpu, noop_kills, routes, notes, delta, shard, sample"
)
TEST_COLUMNS = "nodeid, path, clean, seconds, excluded, parallel_safe, needs_predecessors, message, suite, change"
MUTANT_COLUMNS = (
    'key, path, line, "column", end_line, end_column, definition, operator, original, replacement, start, "end", '
    "static, string_only, first_line, last_line, entry_line, verdict, verdict_reason, duplicate_of"
)
CELL_SELECT = """\
SELECT c.mutant, c.test, c.outcome, c.phase, e.text, d.message, a.text, c.micros, c.isolation, c.confirmed, r.text,
       f.text, c.suite
FROM cells c
LEFT JOIN details d ON c.detailed AND d.run = c.run AND d.mutant = c.mutant AND d.test = c.test AND d.suite = c.suite
LEFT JOIN strings e ON e.id = d.exception
LEFT JOIN strings a ON a.id = d.raised_at
LEFT JOIN strings r ON r.id = d.reason
LEFT JOIN strings f ON f.id = c.flags
"""

# by value: an enum's own hash is a call of Python code, four times a cell
_OUTCOME_CODES = {outcome.value: code for code, outcome in enumerate(OUTCOMES)}
_PHASE_CODES = {phase.value: code for code, phase in enumerate(PHASES)}
_ISOLATION_CODES = {isolation.value: code for code, isolation in enumerate(ISOLATIONS)}
_SUITE_CODES = {suite: code for code, suite in enumerate(SUITES)}


def storable(text: str) -> str:
    """The text itself, or a readable spelling where it holds lone surrogates, which SQLite and JSON cannot carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _optional(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _json(value: object) -> str:
    return json.dumps(value, default=str)


def encode_run(info: RunInfo) -> Row:
    return (
        storable(info.id),
        info.started,
        info.seconds,
        _optional(info.commit),
        int(info.dirty),
        _optional(info.baseline),
        storable(info.scope),
        storable(info.python),
        storable(info.platform),
        info.hash_seed,
        int(info.complete),
        info.population,
        info.fingerprint,
        _json(info.options),
        _json(info.cpu),
        _json(info.noop_kills),
        _json(info.routes),
        _json(info.notes),
        *(None if value is None else _json(value) for value in (info.delta, info.shard, info.sample)),
    )


def decode_run(row: Sequence[Any]) -> RunInfo:
    plain = list(row[:13])
    plain[4], plain[10] = bool(plain[4]), bool(plain[10])
    return RunInfo(*plain, *(None if text is None else json.loads(text) for text in row[13:]))


def encode_test(test: Test) -> Row:
    return (
        storable(test.nodeid),
        storable(test.path),
        test.clean.value,
        test.seconds,
        None if test.excluded is None else test.excluded.value,
        int(test.parallel_safe),
        int(test.needs_predecessors),
        _optional(test.message),
        _json(test.suite),
        test.change,
    )


@functools.lru_cache(maxsize=16)
def _suites(text: str) -> tuple[str, ...]:
    """There are as many of these as tests, and two or three different ones."""
    return tuple(json.loads(text))


def decode_test(row: Sequence[Any]) -> Test:
    nodeid, path, clean, seconds, excluded, parallel_safe, needs_predecessors, message, suite, change = row
    return Test(
        nodeid=nodeid,
        path=path,
        clean=Clean(clean),
        seconds=seconds,
        excluded=None if excluded is None else Excluded(excluded),
        parallel_safe=bool(parallel_safe),
        needs_predecessors=bool(needs_predecessors),
        message=message,
        suite=_suites(suite),
        change=change,
    )


def encode_mutant(mutant: Mutant) -> Row:
    return (
        storable(mutant.key),
        storable(mutant.path),
        mutant.line,
        mutant.column,
        mutant.end_line,
        mutant.end_column,
        storable(mutant.definition),
        storable(mutant.operator),
        storable(mutant.original),
        storable(mutant.replacement),
        mutant.start,
        mutant.end,
        int(mutant.static),
        int(mutant.string_only),
        mutant.first_line,
        mutant.last_line,
        mutant.entry_line,
        None if mutant.verdict is None else mutant.verdict.value,
        _optional(mutant.reason),
        _optional(mutant.duplicate_of),
    )


def decode_mutant(row: Sequence[Any]) -> Mutant:
    plain = list(row)
    plain[12], plain[13] = bool(plain[12]), bool(plain[13])
    plain[17] = None if plain[17] is None else Status(plain[17])
    return Mutant(*plain)


@functools.lru_cache(maxsize=64)  # there are few flags, and many cells
def _flags_text(flags: tuple[str, ...]) -> str:
    return _json(flags)


@functools.lru_cache(maxsize=64)
def _flags_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def encode_cell(run: int, cell: Cell, intern: Intern) -> tuple[Row, Row | None]:
    """The row for ``cells``, and the one for ``details`` if the cell has any."""
    suite = _SUITE_CODES[cell.suite]
    details: Row | None = None
    if not (cell.exception is None and cell.message is None and cell.raised_at is None and cell.reason is None):
        details = (
            run,
            cell.mutant,
            cell.test,
            suite,
            None if cell.exception is None else intern(cell.exception),
            _optional(cell.message),
            None if cell.raised_at is None else intern(cell.raised_at),
            None if cell.reason is None else intern(cell.reason),
        )
    row = (
        run,
        cell.mutant,
        cell.test,
        suite,
        _OUTCOME_CODES[cell.outcome._value_],
        _PHASE_CODES[cell.phase._value_],
        round(cell.seconds * 1e6),
        _ISOLATION_CODES[cell.isolation._value_],
        cell.confirmed,
        intern(_flags_text(cell.flags)) if cell.flags else None,
        details is not None,
    )
    return row, details


def decode_cell(row: Sequence[Any]) -> Cell:
    """A row of ``CELL_SELECT``."""
    mutant, test, outcome, phase, exception, message, raised_at, micros, isolation, confirmed, reason, flags, suite = (
        row
    )
    return Cell(
        mutant,
        test,
        OUTCOMES[outcome],
        PHASES[phase],
        exception,
        message,
        raised_at,
        micros / 1e6,
        ISOLATIONS[isolation],
        None if confirmed is None else bool(confirmed),
        reason,
        _flags_of(flags) if flags else (),
        SUITES[suite],
    )


def encode_cause(cause: Cause) -> Row:
    return (
        cause.kind.value,
        cause.tests,
        cause.infected,
        _optional(cause.differs),
        storable(_json([sample._asdict() for sample in cause.samples])),
    )


def decode_cause(row: Sequence[Any]) -> Cause:
    kind, tests, infected, differs, samples = row
    return Cause(CauseKind(kind), tests, infected, differs, tuple(Sample(**sample) for sample in json.loads(samples)))
