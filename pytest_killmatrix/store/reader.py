"""Read one run of a sidecar, without ever writing: works in a read-only directory and while a run is going on."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from pytest_killmatrix.analysis.sampling import Interval
from pytest_killmatrix.analysis.score import Score, intervals_of, score_of
from pytest_killmatrix.model import Cause, Cell, Mutant, RunInfo, Status, Test
from pytest_killmatrix.sharding import missing
from pytest_killmatrix.store import codec
from pytest_killmatrix.store.counts import COUNTED
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.opening import check_version, translate
from pytest_killmatrix.store.schema import VERSION
from pytest_killmatrix.store.variant_tables import NOT_AUTHORED

NOT_JUDGED = "interrupted"
"""Reason of a mutant that the run did not come to."""


@dataclass(frozen=True, slots=True)
class MutantRow:
    """A mutant with everything the run found out about it; tests are indexes into ``Reader.tests()``."""

    mutant: Mutant
    index: int
    status: Status
    reason: str | None
    reached_by: list[int] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)


class Reader:
    """One run of the sidecar at ``path``: the newest, or the one with that number."""

    def __init__(self, path: Path | str, run: int | None = None) -> None:
        self.path = Path(path)
        self._connection = connect(self.path)
        try:
            self.run, self.info = self._find(run)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def runs(self) -> list[tuple[int, RunInfo]]:
        """All runs in the file, oldest first."""
        rows = self._rows(f"SELECT run, {codec.RUN_COLUMNS} FROM runs ORDER BY run")
        return [(row[0], codec.decode_run(row[1:])) for row in rows]

    def with_kept_cells(self) -> set[int]:
        """The runs that took cells over from earlier ones."""
        rows = self._rows("SELECT run, dependence FROM runs WHERE dependence IS NOT NULL")
        return {run for run, text in rows if json.loads(text)["kept"]}

    def ask(self, statement: str, row: codec.Row) -> sqlite3.Cursor:
        """Rows of a table that another module of ``store`` knows."""
        return self._connection.execute(statement, row)

    def tests(self) -> list[Test]:
        """The run's tests; cells and reach refer to positions in this list."""
        rows = self._rows(f"SELECT {codec.TEST_COLUMNS} FROM tests WHERE run = ? ORDER BY test", self.run)
        return [codec.decode_test(row) for row in rows]

    def tests_of(self, mutant: int) -> dict[int, Test]:
        """The tests that have to do with one mutant, by number."""
        rows = self._rows(
            f"""
            SELECT test, {codec.TEST_COLUMNS} FROM tests WHERE run = ?1 AND test IN (
                SELECT test FROM cells WHERE run = ?1 AND mutant = ?2
                UNION SELECT test FROM reach WHERE run = ?1 AND mutant = ?2)
            """,
            self.run,
            mutant,
        )
        return {test: codec.decode_test(row) for test, *row in rows}

    def mutants(self, *, cells: bool = True, reach: bool = True, plain_kills: bool = True) -> Iterator[MutantRow]:
        """The run's mutants in order, one at a time; without cells, or the tests that reach them, where those are not
        needed; without those that were killed by an assertion, of which there is nothing to say, unless
        ``plain_kills``.
        """
        which = NOT_AUTHORED.format("m")
        if not plain_kills:
            which += f" AND NOT (status IS '{Status.KILLED.value}' AND reason IS NULL)"
        return self._mutants(which, cells, reach)

    def variants(self) -> Iterator[MutantRow]:
        """The run's authored variants in order, which are in no other list and in no score."""
        return self._mutants("NOT " + NOT_AUTHORED.format("m"), True, True)

    def has_variants(self) -> bool:
        """Whether the run judged authored variants."""
        return bool(next(self._rows("SELECT EXISTS (SELECT 1 FROM variant_cases WHERE run = ?)", self.run))[0])

    def _mutants(self, which: str, cells: bool, reach: bool) -> Iterator[MutantRow]:
        rows = self._rows(
            f"SELECT mutant, status, reason, {codec.MUTANT_COLUMNS} FROM mutants m WHERE run = ? AND {which} "
            "ORDER BY mutant",
            self.run,
        )
        return (self._mutant_row(row, cells, reach) for row in rows)

    def mutant(self, index: int) -> MutantRow:
        """One mutant with its cells."""
        statement = f"SELECT mutant, status, reason, {codec.MUTANT_COLUMNS} FROM mutants WHERE run = ? AND mutant = ?"
        return self._mutant_row(next(self._rows(statement, self.run, index)), True, True)

    def _mutant_row(self, row: codec.Row, cells: bool, reach: bool) -> MutantRow:
        index, status, reason, *columns = row
        return MutantRow(
            codec.decode_mutant(columns),
            index,
            _status(status),
            NOT_JUDGED if status is None else reason,
            self.reached_by(index) if reach else [],
            self.cells(index) if cells else [],
        )

    def cells(self, mutant: int) -> list[Cell]:
        """The cells of one mutant, by test."""
        rows = self._rows(
            f"{codec.CELL_SELECT} WHERE c.run = ? AND c.mutant = ? ORDER BY c.test, c.suite", self.run, mutant
        )
        return [codec.decode_cell(row) for row in rows]

    def cell_counts(self) -> dict[int, int]:
        """How many cells each test has that has any, of generated mutants and the new suite.

        As counted when the run was complete; all are looked at where it is not, or where it is older than counting.
        """
        counted: dict[int, int | None] = dict(self._rows("SELECT test, cells FROM tests WHERE run = ?", self.run))
        if not self.info.complete or None in counted.values():
            counted = dict(self._rows(COUNTED, self.run))
        return {test: number for test, number in counted.items() if number}

    def cell_count(self) -> int:
        return sum(self.cell_counts().values())

    def judges(self) -> int:
        """Tests that have at least one cell."""
        return len(self.cell_counts())

    def score(self) -> Score:
        """Both scores, their fractions and the counts of all statuses."""
        rows = self._rows(
            f"""
            SELECT m.status, m.string_only,
                   EXISTS (SELECT 1 FROM cells c WHERE c.run = m.run AND c.mutant = m.mutant AND c.suite = 0)
                   OR EXISTS (SELECT 1 FROM reach r WHERE r.run = m.run AND r.mutant = m.mutant) AS reached,
                   count(*)
            FROM mutants m WHERE m.run = ? AND {NOT_AUTHORED.format("m")} GROUP BY 1, 2, 3
            """,
            self.run,
        )
        score = score_of(
            (
                judged
                for status, string_only, reached, number in rows
                for judged in itertools.repeat((_status(status), bool(string_only), bool(reached)), number)
            ),
            self.info.scope,
        )
        return replace(score, intervals=self._intervals())

    def _intervals(self) -> dict[str, Interval]:
        """Of the scores, where the run is one over a sample and has all that was drawn."""
        sample, shard = self.info.sample, self.info.shard
        if sample is None or (shard is not None and missing(shard)):
            return {}
        rows = self._rows(
            f"SELECT path, operator, status FROM mutants m WHERE run = ? AND verdict IS NULL AND "
            f"{NOT_AUTHORED.format('m')}",
            self.run,
        )
        drawn = [((path, name), Status.PENDING if status is None else Status(status)) for path, name, status in rows]
        return intervals_of(drawn, sample)

    def counts(self) -> dict[str, int]:
        """How many mutants have which status, in the JSON report's words and order."""
        return self.score().counts

    def text_of(self, path: str) -> str | None:
        """The text of a mutated file as it was in the run; None for a run from before texts were kept."""
        rows = self.query(
            "SELECT t.text FROM files f JOIN texts t ON t.sha256 = f.sha256 WHERE f.run = ? AND f.path = ?",
            self.run,
            path,
        )
        return next((row[0] for row in rows), None)

    def causes(self, mutant: int | None = None) -> dict[int, Cause]:
        """Why mutants survived, by index, for those of which it can be told: of all, or of this one."""
        rows = self.query(
            "SELECT mutant, kind, tests, infected, differs, samples FROM causes "
            f"WHERE run = ?{'' if mutant is None else ' AND mutant = ?'}",
            self.run,
            *(() if mutant is None else (mutant,)),
        )
        return {row[0]: codec.decode_cause(row[1:]) for row in rows}

    def reached_by(self, mutant: int) -> list[int]:
        """The tests that reach one mutant."""
        rows = self._rows(
            """
            SELECT test FROM reach WHERE run = ? AND mutant = ?
            UNION SELECT test FROM cells WHERE run = ? AND mutant = ? AND suite = 0 ORDER BY 1
            """,
            self.run,
            mutant,
            self.run,
            mutant,
        )
        return [row[0] for row in rows]

    def reach_counts(self, statuses: Collection[Status]) -> dict[int, int]:
        """How many tests reach each mutant of these statuses."""
        rows = self._rows(
            f"""
            SELECT mutant, (SELECT count(*) FROM (
                SELECT test FROM cells c WHERE c.run = m.run AND c.mutant = m.mutant AND c.suite = 0
                UNION SELECT test FROM reach r WHERE r.run = m.run AND r.mutant = m.mutant))
            FROM mutants m WHERE run = ? AND status IN ({", ".join("?" * len(statuses))})
            """,
            self.run,
            *(status.value for status in statuses),
        )
        return dict(rows)

    def _find(self, run: int | None) -> tuple[int, RunInfo]:
        where = "ORDER BY run DESC LIMIT 1" if run is None else "WHERE run = ?"
        row = next(
            self._rows(f"SELECT run, {codec.RUN_COLUMNS} FROM runs {where}", *(() if run is None else (run,))), None
        )
        if row is None:
            if has_harness_runs_only(self._connection, self.path):
                raise StoreError(
                    f"the sidecar {self.path} has harness runs only: judge them with killmatrix harness score, or look "
                    "at them with killmatrix export --format html"
                )
            what = "no run yet" if run is None else f"no run {run}"
            raise StoreError(f"the sidecar {self.path} has {what}; make one with pytest --kill-matrix")
        return row[0], codec.decode_run(row[1:])

    def query(self, statement: str, *values: object) -> Iterator[codec.Row]:
        """The rows of a statement that reads."""
        return self._rows(statement, *values)

    def _rows(self, statement: str, *values: Any) -> Iterator[codec.Row]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error


def _status(stored: str | None) -> Status:
    return Status.PENDING if stored is None else Status(stored)


def has_harness_runs_only(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the sidecar at ``path`` has harness runs, and none of code."""
    of = "SELECT EXISTS (SELECT 1 FROM harness_runs) AND NOT EXISTS (SELECT 1 FROM runs)"
    try:
        return bool(connection.execute(of).fetchone()[0])
    except sqlite3.Error as error:
        raise translate(error, path) from error


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the sidecar at ``path`` that cannot write."""
    if not path.is_file():
        raise StoreError(f"there is no sidecar {path}; make one with pytest --kill-matrix, or give the right path")
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, isolation_level=None)
    try:
        version = check_version(connection, path)
        if version < VERSION:
            raise StoreError(
                f"the sidecar {path} has the older schema version {version}; the next pytest --kill-matrix upgrades it"
            )
    except sqlite3.Error as error:
        connection.close()
        raise translate(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection
