"""Authored variants in the sidecar: what was judged, with its history, and what earlier runs found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_killmatrix.model import Status
from pytest_killmatrix.oracle.model import Audit, Case, Kind, Recorded
from pytest_killmatrix.oracle.subjects import Placed
from pytest_killmatrix.store.codec import storable
from pytest_killmatrix.store.plain import from_plain, to_plain
from pytest_killmatrix.store.reader import MutantRow, Reader
from pytest_killmatrix.store.writer import Sidecar

_INSERT_CASE = "INSERT INTO variant_cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_VARIANT = "INSERT INTO variants VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_ENTRY = "INSERT INTO variant_history VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_UNJUDGED = frozenset({Status.PENDING, Status.RUN_ERROR, Status.INVALID, Status.NO_USABLE_TEST, Status.NO_COVERAGE})


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case as it was judged: its tests (indexes) and the rows of its variants, in their order."""

    file: str
    chosen_by: str
    case: Case
    tests: tuple[int, ...]
    rows: tuple[MutantRow, ...]


def add_audit(sidecar: Sidecar, run: int, audit: Audit, placed: Sequence[Placed], first: int) -> None:
    """Store the cases that are judged; the variants are the mutants from index ``first`` on. Flushes."""
    numbers: dict[str, int] = {}
    for mutant, one in enumerate(placed, first):
        if one.case.name not in numbers:
            numbers[one.case.name] = len(numbers)
            sidecar.insert(_INSERT_CASE, _case_row(run, numbers[one.case.name], audit, one))
        row = (run, mutant, numbers[one.case.name], storable(one.variant.name), one.variant.kind.value)
        sidecar.insert(_INSERT_VARIANT, (*row, one.variant.sha256))
        for number, entry in enumerate(one.variant.history):
            told = (entry.version, entry.kind.value, storable(entry.source), storable(entry.note))
            sidecar.insert(_INSERT_ENTRY, (run, mutant, number, *told, _json(to_plain(entry.repaired))))
    sidecar.flush()


def _case_row(run: int, number: int, audit: Audit, one: Placed) -> tuple[object, ...]:
    case = one.case
    return (
        run,
        number,
        storable(case.name),
        case.version,
        storable(audit.file),
        storable(audit.chosen_by),
        case.hashes.task,
        case.hashes.grader,
        case.hashes.fixtures,
        case.hashes.reference,
        _json(list(one.tests)),
        _json(to_plain(case)),
    )


def _json(value: object) -> str:
    return json.dumps(value)


def read_cases(reader: Reader) -> list[StoredCase]:
    """The cases of the reader's run."""
    rows: dict[int, list[MutantRow]] = {}
    numbers: dict[int, int] = dict(reader.query('SELECT mutant, "case" FROM variants WHERE run = ?', reader.run))
    for row in reader.variants() if numbers else ():
        rows.setdefault(numbers[row.index], []).append(row)
    found = reader.query(
        'SELECT "case", file, chosen_by, tests, record FROM variant_cases WHERE run = ? ORDER BY "case"', reader.run
    )
    return [
        StoredCase(file, chosen_by, from_plain(Case, json.loads(record)), tuple(json.loads(tests)), tuple(rows[number]))
        for number, file, chosen_by, tests, record in found
    ]


def record_of(stored: StoredCase, names: Sequence[str], origin: str) -> Recorded:
    """What a run found out about the version of a case that it judged."""
    rejected = tuple(
        (variant.name, tuple(sorted(names[cell.test] for cell in row.cells if cell.outcome.kills)))
        for variant, row in zip(stored.case.variants, stored.rows, strict=True)
        if row.status not in _UNJUDGED and len(row.cells) == len(stored.tests)
    )
    kinds: tuple[tuple[str, Kind], ...] = tuple((variant.name, variant.kind) for variant in stored.case.variants)
    tests = tuple(names[test] for test in stored.tests)
    return Recorded(stored.case.version, stored.case.hashes, kinds, rejected, tests, origin)


def earlier_runs(reader: Reader, case: Case) -> list[Recorded]:
    """What the newest complete run before the reader's found out about each version of a case, oldest version first."""
    found = reader.query(
        """
        SELECT max(c.run) FROM variant_cases c JOIN runs r ON r.run = c.run
        WHERE c.run < ? AND c.name = ? AND r.complete GROUP BY c.version ORDER BY c.version
        """,
        reader.run,
        storable(case.name),
    )
    return [record_from(reader, run, case.name) for (run,) in list(found)]


def newest_run(reader: Reader, case: Case) -> int | None:
    """The newest complete run in the reader's sidecar that judged the case in its present version, or None."""
    found = reader.query(
        """
        SELECT max(c.run) FROM variant_cases c JOIN runs r ON r.run = c.run
        WHERE c.name = ? AND c.version = ? AND r.complete
        """,
        storable(case.name),
        case.version,
    )
    run: int | None = next(iter(found))[0]
    return run


def record_from(reader: Reader, run: int, name: str) -> Recorded:
    """What a run of the reader's sidecar found out about the case of that name."""
    with Reader(reader.path, run) as other:
        names = [test.nodeid for test in other.tests()]
        same = next(one for one in read_cases(other) if one.case.name == name)
        return record_of(same, names, f"the run of {other.info.started}")
