"""The report in the format of mutation-testing-elements (schema version 2), for its viewers and dashboards.

Its score is our detection score: what crashed is ``Killed``, what nobody could judge stands in no ratio.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pytest_killmatrix import __version__
from pytest_killmatrix.model import Cause, Mutant, Status, Test
from pytest_killmatrix.report.source_diff import split_lines
from pytest_killmatrix.report.why import TITLES, reason
from pytest_killmatrix.store.reader import MutantRow, Reader

SCHEMA_VERSION: Final = "2.0"
THRESHOLDS: Final = {"high": 80, "low": 60}
_STATUSES: Final = {
    Status.KILLED: "Killed",
    Status.CRASHED: "Killed",
    Status.TIMEOUT: "Timeout",
    Status.SURVIVED: "Survived",
    Status.SILENCED: "Survived",
    Status.NO_USABLE_TEST: "Survived",
    Status.NO_COVERAGE: "NoCoverage",
    Status.INVALID: "CompileError",
    Status.EQUIVALENT: "Ignored",
    Status.DUPLICATE: "Ignored",
    Status.IGNORED: "Ignored",
    Status.PENDING: "Pending",
    Status.RUN_ERROR: "RuntimeError",
}
_PLAIN: Final = frozenset({Status.SURVIVED, Status.NO_COVERAGE})
_REASONS: Final = 5


def stryker_chunks(reader: Reader) -> Iterator[str]:
    """The document in pieces; memory grows with one file's mutants."""
    tests = reader.tests()
    causes = reader.causes()
    yield '{\n"schemaVersion": ' + _dump(SCHEMA_VERSION)
    yield ',\n"thresholds": ' + _dump(THRESHOLDS)
    yield ',\n"framework": ' + _dump({"name": "pytest-killmatrix", "version": __version__})
    yield ',\n"performance": ' + _dump(_performance(reader.info.cpu))
    yield ',\n"testFiles": ' + _dump(_test_files(tests))
    yield ',\n"files": {'
    paths = [
        row[0] for row in reader.query("SELECT DISTINCT path FROM mutants WHERE run = ? ORDER BY path", reader.run)
    ]
    for number, path in enumerate(paths):
        yield ("" if number == 0 else ",") + "\n" + _dump(path) + ": "
        yield from _file(reader, path, tests, causes)
    yield "\n}\n}\n"


def _file(reader: Reader, path: str, tests: Sequence[Test], causes: dict[int, Cause]) -> Iterator[str]:
    source = reader.text_of(path) or ""
    lines = split_lines(source)
    yield f'{{"language": "python", "source": {_dump(source)}, "mutants": ['
    indexes = [row[0] for row in reader.query(
        "SELECT mutant FROM mutants WHERE run = ? AND path = ? ORDER BY mutant", reader.run, path
    )]  # fmt: skip
    for number, index in enumerate(indexes):
        yield ("" if number == 0 else ",") + "\n"
        yield _dump(_mutant(reader.mutant(index), lines, tests, causes.get(index)))
    yield "]}"


def _mutant(row: MutantRow, lines: Sequence[str], tests: Sequence[Test], cause: Cause | None) -> dict[str, Any]:
    mutant = row.mutant
    judged = [cell for cell in row.cells if cell.suite == "new"]
    killed_by = list(dict.fromkeys(tests[cell.test].nodeid for cell in judged if cell.outcome.kills))
    made: dict[str, Any] = {
        "id": mutant.key,
        "mutatorName": mutant.operator,
        "description": f"{mutant.definition}: {mutant.original}",
        "replacement": mutant.replacement,
        "location": _location(mutant, lines),
        "status": _STATUSES[row.status],
        "static": mutant.static,
        "coveredBy": list(dict.fromkeys(tests[test].nodeid for test in row.reached_by if "new" in tests[test].suite)),
        "killedBy": killed_by,
        "testsCompleted": len(judged),
        "duration": round(1000 * sum(cell.seconds for cell in judged), 3),
    }
    why = _reason(row, tests, cause)
    if why:
        made["statusReason"] = why
    return made


def _reason(row: MutantRow, tests: Sequence[Test], cause: Cause | None) -> str:
    lines = [row.status.value] if row.status not in _PLAIN and row.status is not Status.KILLED else []
    if row.reason:
        lines.append(row.reason)
    if row.mutant.duplicate_of:
        lines.append(f"same code as {row.mutant.duplicate_of}")
    if cause is not None:
        lines.append(f"{TITLES[cause.kind]} ({reason(cause)})")
    kills = [cell for cell in row.cells if cell.outcome.kills and cell.suite == "new"]
    for cell in kills[:_REASONS]:
        said = ": ".join(part for part in (cell.exception, cell.message) if part)
        lines.append(f"{tests[cell.test].nodeid}: {said or cell.outcome.value}")
    if len(kills) > _REASONS:
        lines.append(f"and {len(kills) - _REASONS:,} more tests")
    return "\n".join(lines)


def _location(mutant: Mutant, lines: Sequence[str]) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": mutant.line, "column": _column(lines, mutant.line, mutant.column)},
        "end": {"line": mutant.end_line, "column": _column(lines, mutant.end_line, mutant.end_column)},
    }


def _column(lines: Sequence[str], line: int, column: int) -> int:
    """From 1 and in UTF-16 units, as the viewers, which are JavaScript, count."""
    before = lines[line - 1][:column] if line <= len(lines) else ""
    return column + 1 + sum(ord(char) > 0xFFFF for char in before)


def _test_files(tests: Sequence[Test]) -> dict[str, Any]:
    files: dict[str, dict[str, Any]] = {}
    known: set[str] = set()
    for test in tests:
        if "new" not in test.suite or test.nodeid in known:
            continue
        known.add(test.nodeid)
        path, _, name = test.nodeid.partition("::")
        files.setdefault(path, {"tests": []})["tests"].append({"id": test.nodeid, "name": name or path})
    return files


def _performance(cpu: dict[str, float]) -> dict[str, float]:
    """In milliseconds of processor time."""
    mutation = sum(seconds for phase, seconds in cpu.items() if phase not in ("clean", "generate", "total"))
    return {
        "setup": round(1000 * cpu.get("generate", 0.0)),
        "initialRun": round(1000 * cpu.get("clean", 0.0)),
        "mutation": round(1000 * mutation),
    }


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
