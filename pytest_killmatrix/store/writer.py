"""The one writer of a sidecar: buffers in memory, writes in one transaction a flush.

Nothing is written outside ``flush``, so a process forked in between inherits no half-done transaction, and a killed
controller loses what was buffered and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from pytest_killmatrix.model import Cause, Cell, Mutant, RunInfo, Status, Test
from pytest_killmatrix.store import codec
from pytest_killmatrix.store.counts import count_cells
from pytest_killmatrix.store.dependence_tables import OF_RUN as DEPENDENT
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.opening import open_for_writing, translate
from pytest_killmatrix.store.schema import SUITES
from pytest_killmatrix.store.survivors import Survivors
from pytest_killmatrix.store.variant_tables import OF_RUN

BUFFER = 20_000
"""Buffered rows that make the writer flush by itself."""

STRING_CACHE = 50_000

_RUN_MARKS = ", ".join("?" * 21)
_INSERT_RUN = f"INSERT INTO runs ({codec.RUN_COLUMNS}) VALUES ({_RUN_MARKS})"
_UPDATE_RUN = f"UPDATE runs SET ({codec.RUN_COLUMNS}) = ({_RUN_MARKS}) WHERE run = ?"
_INSERT_TEST = f"INSERT OR REPLACE INTO tests (run, test, {codec.TEST_COLUMNS}) VALUES ({', '.join('?' * 12)})"
_INSERT_MUTANT = (
    f"INSERT INTO mutants (run, mutant, status, reason, {codec.MUTANT_COLUMNS}) VALUES ({', '.join('?' * 24)}) "
    "ON CONFLICT (run, mutant) DO NOTHING"
)
_INSERT_REACH = "INSERT OR IGNORE INTO reach VALUES (?, ?, ?)"
_INSERT_CELL = "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_DETAILS = "INSERT OR REPLACE INTO details VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_STRING = "INSERT OR IGNORE INTO strings VALUES (?, ?)"
_INSERT_TEXT = "INSERT OR IGNORE INTO texts VALUES (?, ?)"
_INSERT_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?)"
_INSERT_CAUSE = "INSERT OR REPLACE INTO causes VALUES (?, ?, ?, ?, ?, ?, ?)"
_SET_STATUS = "UPDATE mutants SET status = ?, reason = ? WHERE run = ? AND mutant = ?"
_OF_RUN = ("runs", "tests", "mutants", "reach", "cells", "details", "files", "causes", *OF_RUN, *DEPENDENT)


@dataclass(slots=True)
class _Epoch:
    """Rows that are buffered, grouped by statement: what is deleted goes before everything else.

    ``met`` are the mutants (run, number) with cells or reach among them: what is deleted of these starts a new epoch.
    """

    deleted: dict[str, list[codec.Row]] = field(default_factory=dict)
    added: dict[str, list[codec.Row]] = field(default_factory=dict)
    met: set[tuple[int, int]] = field(default_factory=set)


class Sidecar:
    """A sidecar that this process, and no other, writes; to be used by one thread.

    ``notice`` is a line for the user when the file had to be replaced, else None.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, notice: str | None = None) -> None:
        self.path = path
        self.notice = notice
        self._connection = connection
        self._owner = os.getpid()
        self._epochs = [_Epoch()]
        self._buffered = 0
        self._strings: dict[str, int] = {}
        self._next_string: int = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM strings").fetchone()[0]

    @classmethod
    def open(cls, path: Path | str) -> Sidecar:
        """Open or create the sidecar at ``path`` and keep other writers out; ``StoreError`` says why not."""
        path = Path(path)
        connection, notice = open_for_writing(path)
        return cls(path, connection, notice)

    def __enter__(self) -> Sidecar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is buffered and let go of the file."""
        if os.getpid() != self._owner:
            return  # a forked child must not touch the parent's connection
        try:
            self.flush()
            self._connection.execute("DELETE FROM writer")
            self._connection.execute("COMMIT")
        except sqlite3.ProgrammingError:
            pass  # closed before
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        finally:
            self._connection.close()

    def begin_run(self, info: RunInfo) -> int:
        """Store a new run, and return its number in this file."""
        with self._transaction():
            cursor = self._connection.execute(_INSERT_RUN, codec.encode_run(info))
        run = cursor.lastrowid
        assert run is not None
        return run

    def update_run(self, run: int, info: RunInfo) -> None:
        """Replace what is stored about the run, and flush."""
        self._add(_UPDATE_RUN, (*codec.encode_run(info), run))
        self.flush()

    def finish_run(self, run: int, info: RunInfo) -> None:
        """Mark the run complete: there is nothing left to resume."""
        info.complete = True
        self.update_run(run, info)
        with self._transaction():
            count_cells(self._connection, run)

    def add_tests(self, run: int, tests: Sequence[Test]) -> None:
        """Store the run's tests; the index of each is its position. Flushes."""
        for index, test in enumerate(tests):
            self._add(_INSERT_TEST, (run, index, *codec.encode_test(test)))
        self.flush()

    def add_mutants(self, run: int, mutants: Sequence[Mutant]) -> None:
        """Store the run's mutants; the index of each is its position. Flushes.

        A mutant with a verdict has that as its status; one that is stored already keeps its own.
        """
        for index, mutant in enumerate(mutants):
            row = codec.encode_mutant(mutant)
            verdict = None if mutant.verdict is None else mutant.verdict.value
            reason = None if mutant.verdict is None or mutant.reason is None else codec.storable(mutant.reason)
            self._add(_INSERT_MUTANT, (run, index, verdict, reason, *row))
        self.flush()

    def ask(self, statement: str, row: codec.Row) -> sqlite3.Cursor:
        """Rows of earlier runs, for another module of ``store``; of this one what was flushed."""
        return self._connection.execute(statement, row)

    def insert(self, statement: str, row: codec.Row) -> None:
        """Add a row to a table that another module of ``store`` knows."""
        self._add(statement, row)

    def add_reach(self, run: int, mutant: int, tests: Iterable[int]) -> None:
        """These tests reach the mutant, excluded ones included; adds to what is known."""
        self._add_of(run, mutant, _INSERT_REACH, [(run, mutant, test) for test in tests])

    def store(
        self,
        run: int,
        mutant: int,
        status: Status,
        reason: str | None,
        cells: Sequence[Cell],
        reached_by: Iterable[int],
    ) -> None:
        """Store all that came of a mutant, in place of what an interrupted run, or an earlier verdict, left of it.

        A test with a cell is known to reach it by that, and not stored a second time.
        """
        self.drop_cells(run, mutant)
        judged = {cell.test for cell in cells if cell.suite == SUITES[0]}
        self.add_reach(run, mutant, (test for test in reached_by if test not in judged))
        self._add_cells(run, mutant, cells)
        self.set_status(run, mutant, status, reason)

    def add_cell(self, run: int, cell: Cell) -> None:
        """Store a cell, in place of an earlier one of the same mutant, test and suite."""
        self._add_cells(run, cell.mutant, (cell,))

    def _add_cells(self, run: int, mutant: int, cells: Iterable[Cell]) -> None:
        rows = [codec.encode_cell(run, cell, self.intern) for cell in cells]
        self._add_of(run, mutant, _INSERT_DETAILS, [details for _, details in rows if details is not None])
        self._add_of(run, mutant, _INSERT_CELL, [row for row, _ in rows])

    def drop_cells(self, run: int, mutant: int) -> None:
        """Forget all outcomes of the mutant, because they are about to be produced again."""
        for table in ("cells", "details"):
            self._delete(run, mutant, f"DELETE FROM {table} WHERE run = ? AND mutant = ?", (run, mutant))

    def drop_cell(self, run: int, mutant: int, test: int) -> None:
        """The test turned out not to reach the mutant: forget the outcome and the reach."""
        for table in ("cells", "details", "reach"):
            which = f"DELETE FROM {table} WHERE run = ? AND mutant = ? AND test = ?"
            self._delete(run, mutant, which, (run, mutant, test))

    def set_status(self, run: int, mutant: int, status: Status, reason: str | None = None) -> None:
        """Store the verdict on a mutant."""
        text = None if reason is None else codec.storable(reason)
        self._add(_SET_STATUS, (status.value, text, run, mutant))

    def add_file(self, run: int, path: str, sha256: str, text: str) -> None:
        """Keep the text of a file that was mutated."""
        self._add(_INSERT_TEXT, (sha256, codec.storable(text)))
        self._add(_INSERT_FILE, (run, codec.storable(path), sha256))

    def set_cause(self, run: int, mutant: int, cause: Cause) -> None:
        """Store why the mutant survived."""
        self._add(_INSERT_CAUSE, (run, mutant, *codec.encode_cause(cause)))

    def survivors(self, run: int, below: int | None = None) -> Survivors:
        """The mutants of the run that survived and the tests that passed under each; none from number ``below`` on."""
        self.flush()
        return Survivors(self._connection, run, below)

    def find_resumable(self, fingerprint: str) -> int | None:
        """The newest run with this fingerprint, if it was interrupted; none older than a complete one."""
        row = self._query(
            "SELECT run, complete FROM runs WHERE fingerprint = ? ORDER BY run DESC LIMIT 1", (fingerprint,)
        ).fetchone()
        return None if row is None or row[1] else int(row[0])

    def resume_run(self, run: int) -> int:
        """Make an interrupted run the newest, since it goes on now; its number from here on."""
        newest = int(self._query("SELECT max(run) FROM runs", ()).fetchone()[0])
        if run == newest:
            return run
        with self._transaction():
            for table in (
                "runs",
                "tests",
                "mutants",
                "reach",
                "cells",
                "details",
                "files",
                "causes",
                *OF_RUN,
                *DEPENDENT,
            ):
                self._connection.execute(f"UPDATE {table} SET run = ? WHERE run = ?", (newest + 1, run))
        return newest + 1

    def finished_mutants(self, run: int) -> dict[int, Status]:
        """Mutants of the run that have a status other than pending."""
        rows = self._query("SELECT mutant, status FROM mutants WHERE run = ? AND status IS NOT NULL", (run,))
        return {index: Status(status) for index, status in rows if status != Status.PENDING.value}

    def info_of(self, run: int) -> RunInfo:
        """What is stored about a run."""
        row = self._query(f"SELECT {codec.RUN_COLUMNS} FROM runs WHERE run = ?", (run,)).fetchone()
        if row is None:
            raise StoreError(f"the sidecar {self.path} has no run {run}")
        return codec.decode_run(row)

    def cells_of(self, run: int) -> Iterator[Cell]:
        """All cells of the run, by mutant and test."""
        rows = self._query(f"{codec.CELL_SELECT} WHERE c.run = ? ORDER BY c.run, c.mutant, c.test, c.suite", (run,))
        return (codec.decode_cell(row) for row in rows)

    def flush(self) -> None:
        """Make everything durable that was added so far; what could not be written stays buffered."""
        if not self._buffered:
            return
        with self._transaction():
            for epoch in self._epochs:
                for statement, rows in (*epoch.deleted.items(), *epoch.added.items()):
                    self._connection.executemany(statement, rows)
        self._epochs = [_Epoch()]
        self._buffered = 0
        if len(self._strings) > STRING_CACHE:
            self._strings.clear()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit what is done inside, and take the write lock again."""
        if os.getpid() != self._owner:
            raise StoreError(f"the sidecar {self.path} was opened by another process, its parent")
        try:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute("BEGIN IMMEDIATE")
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
                raise translate(error, self.path) from error
            raise

    def _add(self, statement: str, row: codec.Row) -> None:
        self._epochs[-1].added.setdefault(statement, []).append(row)
        self._count(1)

    def _add_of(self, run: int, mutant: int, statement: str, rows: list[codec.Row]) -> None:
        """Add rows of the tables that are deleted from."""
        if rows:
            epoch = self._epochs[-1]
            epoch.met.add((run, mutant))
            epoch.added.setdefault(statement, []).extend(rows)
            self._count(len(rows))

    def _delete(self, run: int, mutant: int, statement: str, row: codec.Row) -> None:
        if (run, mutant) in self._epochs[-1].met:
            self._epochs.append(_Epoch())
        self._epochs[-1].deleted.setdefault(statement, []).append(row)
        self._count(1)

    def _count(self, rows: int) -> None:
        self._buffered += rows
        if self._buffered >= BUFFER:
            self.flush()

    def _query(self, statement: str, row: codec.Row) -> sqlite3.Cursor:
        self.flush()
        return self._connection.execute(statement, row)

    def intern(self, text: str) -> int:
        """The number of a text that many rows share (table ``strings``)."""
        known = self._strings.get(text)
        if known is None:
            stored = codec.storable(text)
            row = self._connection.execute("SELECT id FROM strings WHERE text = ?", (stored,)).fetchone()
            if row is not None:
                known = int(row[0])
            elif (known := self._strings.get(stored)) is None:
                known = self._next_string
                self._next_string += 1
                self._add(_INSERT_STRING, (known, stored))
            self._strings[text] = self._strings[stored] = known
        return known
