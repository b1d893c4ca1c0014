"""Writes merged shards as one run: all its tables, in one transaction, into a new sidecar or one that is there."""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.merging.checking import Joint, MergeError
from pytest_killmatrix.sharding import index_of, index_of_case, listed
from pytest_killmatrix.store import codec
from pytest_killmatrix.store.counts import count_cells
from pytest_killmatrix.store.dependence_tables import as_ranges, of_ranges
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.opening import open_for_writing, translate
from pytest_killmatrix.store.place import place_problem
from pytest_killmatrix.store.reader import Reader, connect

_RUN_MARKS: Final = ", ".join("?" * len(codec.RUN_COLUMNS.split(",")))

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The number of the merged run; ``added`` is False where it was the newest already. ``notice`` is for the user."""

    run: int
    added: bool = True
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    """Where the mutants and cases of each source, by its number, go in the merged run."""

    mutants: tuple[Mapping[int, int], ...]
    cases: tuple[Mapping[int, int], ...]


def write_joint(joint: Joint, path: Path) -> Written:
    """Add the run to the sidecar at ``path``, whose other runs stay; there is nothing to do where it is the newest.

    MergeError where a sidecar lacks mutants or has those of other shards; StoreError where ``path`` is no place for a
    sidecar, or a file of somebody else's. Nothing is written then.
    """
    problem = place_problem(path)
    if problem is not None:
        raise StoreError(problem)
    is_new = not path.exists() or (path.is_file() and not path.stat().st_size)
    if path.is_file() and not is_new:
        newest = _newest(path)
        if newest is not None and newest[1:] == (joint.info.id, joint.info.shard):
            return Written(newest[0], added=False)
    order = _order(joint)
    connection, notice = open_for_writing(path)
    try:
        if any(path.samefile(source.path) for source, _ in joint.takes):
            connection.execute("PRAGMA cache_spill = OFF")  # pages cannot be written while it is read
        run = _Joiner(connection, joint, order).write()
        connection.execute("DELETE FROM writer")
        connection.execute("COMMIT")
    except BaseException as error:
        connection.close()
        if is_new:
            path.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise translate(error, path) from error
        raise
    connection.close()
    return Written(run, notice=notice)


def _newest(path: Path) -> tuple[int, str, object] | None:
    with contextlib.closing(connect(path)) as connection:
        try:
            row = connection.execute("SELECT run, id, shard FROM runs ORDER BY run DESC LIMIT 1").fetchone()
        except sqlite3.Error as error:
            raise translate(error, path) from error
    return None if row is None else (row[0], row[1], None if row[2] is None else json.loads(row[2]))


def _order(joint: Joint) -> _Order:
    """Generated mutants by their place in the source, then authored variants by case."""
    generated: list[tuple[Row, int, int]] = []
    authored: list[tuple[Row, int, int]] = []
    cases: list[tuple[str, int, int]] = []
    for number, (source, shards) in enumerate(joint.takes):
        count, held = joint.info.shard["count"] if joint.info.shard else 1, {part["index"] for part in source.parts}
        strangers = set()
        with Reader(source.path, source.run) as reader:
            for index, key, *place, duplicate_of, case, name in reader.query(
                'SELECT m.mutant, m.key, m.path, m.start, m."end", m.operator, m.replacement, m.duplicate_of, '
                'v."case", c.name FROM mutants m LEFT JOIN variants v ON v.run = m.run AND v.mutant = m.mutant '
                'LEFT JOIN variant_cases c ON c.run = v.run AND c."case" = v."case" WHERE m.run = ?',
                source.run,
            ):
                shard = index_of(duplicate_of or key, count) if case is None else index_of_case(name, count)
                if shard not in held:
                    strangers.add(shard)
                if shard in shards and case is None:
                    generated.append(((*place, key), number, index))
                elif shard in shards:
                    authored.append(((name, index), number, index))
            found = reader.query('SELECT "case", name FROM variant_cases WHERE run = ?', source.run)
            cases += [(name, number, case) for case, name in found if index_of_case(name, count) in shards]
        if strangers:
            raise MergeError(
                f"{source.path} has mutants of {listed(sorted(strangers))} too: it was split in another way"
            )
    _refuse_lost(joint, len(generated))
    mutants: tuple[dict[int, int], ...] = tuple({} for _ in joint.takes)
    for position, (_, number, index) in enumerate([*sorted(generated), *sorted(authored)]):
        mutants[number][index] = position
    placed: tuple[dict[int, int], ...] = tuple({} for _ in joint.takes)
    for position, (_, number, case) in enumerate(sorted(cases)):
        placed[number][case] = position
    return _Order(mutants, placed)


def _refuse_lost(joint: Joint, found: int) -> None:
    info = joint.info
    wanted = info.population if info.sample is None else info.sample["mutants"]
    if info.complete and found != wanted:
        raise MergeError(f"the shards have {found:,} mutants, of {wanted:,}: they were not made of the same mutants")


class _Joiner:
    """Copies the rows of all sources under a new run number."""

    def __init__(self, connection: sqlite3.Connection, joint: Joint, order: _Order) -> None:
        self._connection = connection
        self._joint = joint
        self._order = order
        self._run = 0
        self._common: set[str | None] = set()

    def write(self) -> int:
        """The number of the run."""
        statement = f"INSERT INTO runs ({codec.RUN_COLUMNS}) VALUES ({_RUN_MARKS})"
        run = self._connection.execute(statement, codec.encode_run(self._joint.info)).lastrowid
        assert run is not None
        self._run = run
        tests = ((run, index, *codec.encode_test(test)) for index, test in enumerate(self._joint.tests))
        self._add(f"tests (run, test, {codec.TEST_COLUMNS})", tests)
        for number, (source, _) in enumerate(self._joint.takes):
            with Reader(source.path, source.run) as reader:
                mutants, tests_at = self._order.mutants[number], self._joint.places[number]
                self._mutants(reader, mutants, tests_at)
                self._cells(reader, mutants, tests_at)
                self._texts(reader)
                self._dependence(reader, mutants, tests_at)
                self._variants(reader, mutants, tests_at, self._order.cases[number])
        if self._joint.info.complete:
            count_cells(self._connection, run)
        return run

    def _add(self, table: str, rows: Iterable[Row]) -> None:
        for first in (rows := iter(rows)):
            statement = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"
            self._connection.executemany(statement, itertools.chain([first], rows))

    def _rows(self, reader: Reader, mutants: Mapping[int, int], table: str, columns: str) -> Iterator[Row]:
        """Rows about the mutants that are taken: the new numbers of run and mutant, then these columns."""
        for mutant, *rest in reader.query(f"SELECT mutant, {columns} FROM {table} WHERE run = ?", reader.run):
            if mutant in mutants:
                yield (self._run, mutants[mutant], *rest)

    def _mutants(self, reader: Reader, mutants: Mapping[int, int], tests: Sequence[int]) -> None:
        columns = f"status, reason, {codec.MUTANT_COLUMNS}"
        self._add(f"mutants (run, mutant, {columns})", self._rows(reader, mutants, "mutants", columns))
        reach = self._rows(reader, mutants, "reach", "test")
        self._add("reach", ((run, mutant, tests[test]) for run, mutant, test in reach))
        causes = self._rows(reader, mutants, "causes", "kind, tests, infected, differs, samples")
        self._add("causes", causes)

    def _cells(self, reader: Reader, mutants: Mapping[int, int], tests: Sequence[int]) -> None:
        text_of: dict[int, str] = dict(reader.query("SELECT id, text FROM strings"))
        known: dict[int, int] = {}

        def string(old: int | None) -> int | None:
            if old is not None and old not in known:
                known[old] = self._string(text_of[old])
            return None if old is None else known[old]

        cells = self._rows(
            reader,
            mutants,
            "cells",
            "test, suite, outcome, phase, micros, isolation, confirmed, flags, detailed",
        )
        self._add(
            "cells",
            (
                (run, mutant, tests[test], *middle, string(flags), detailed)
                for run, mutant, test, *middle, flags, detailed in cells
            ),
        )
        details = self._rows(reader, mutants, "details", "test, suite, exception, message, raised_at, reason")
        self._add(
            "details",
            (
                (run, mutant, tests[test], suite, string(exception), message, string(raised_at), string(reason))
                for run, mutant, test, suite, exception, message, raised_at, reason in details
            ),
        )

    def _dependence(self, reader: Reader, mutants: Mapping[int, int], tests: Sequence[int]) -> None:
        """What cells depend on, where it is the same for all shards: then later runs may keep cells of the whole."""
        ((facts,),) = reader.query("SELECT dependence FROM runs WHERE run = ?", reader.run)
        self._common.add(None if facts is None else json.dumps({**json.loads(facts), "kept": 0}))
        if len(self._common) > 1 or facts is None:
            self._connection.execute("UPDATE runs SET dependence = NULL WHERE run = ?", (self._run,))
            return
        self._connection.execute("UPDATE runs SET dependence = ? WHERE run = ?", (*self._common, self._run))
        once = "INSERT OR IGNORE INTO {} VALUES (?, ?, ?)"
        definitions = reader.query("SELECT name, sha256 FROM definitions WHERE run = ?", reader.run)
        rows: Iterable[Row] = ((self._run, *row) for row in definitions)
        self._connection.executemany(once.format("definitions"), rows)
        dependents = reader.query("SELECT test, sha256 FROM dependents WHERE run = ?", reader.run)
        rows = ((self._run, tests[test], sha256) for test, sha256 in dependents)
        self._connection.executemany(once.format("dependents"), rows)
        columns = "test, (SELECT text FROM strings WHERE id = definitions)"
        entered = self._rows(reader, mutants, "entered", columns)
        place = [*tests, -1]  # for all tests
        self._add("entered", ((run, mutant, place[test], self._string(text)) for run, mutant, test, text in entered))
        unreached = self._rows(reader, mutants, "unreached", "tests")
        self._add(
            "unreached",
            (
                (run, mutant, as_ranges(sorted(tests[test] for test in of_ranges(text))))
                for run, mutant, text in unreached
            ),
        )

    def _string(self, text: str) -> int:
        self._connection.execute("INSERT OR IGNORE INTO strings (text) VALUES (?)", (text,))
        return int(self._connection.execute("SELECT id FROM strings WHERE text = ?", (text,)).fetchone()[0])

    def _texts(self, reader: Reader) -> None:
        """The mutated files; what other shards brought is there already."""
        rows = reader.query("SELECT path, sha256 FROM files WHERE run = ?", reader.run)
        self._connection.executemany(
            "INSERT OR IGNORE INTO files VALUES (?, ?, ?)", ((self._run, path, sha256) for path, sha256 in rows)
        )
        texts = reader.query(
            "SELECT sha256, text FROM texts WHERE sha256 IN (SELECT sha256 FROM files WHERE run = ?)", reader.run
        )
        self._connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)

    def _variants(
        self, reader: Reader, mutants: Mapping[int, int], tests: Sequence[int], cases: Mapping[int, int]
    ) -> None:
        found = reader.query(
            'SELECT "case", name, version, file, chosen_by, task_sha256, grader_sha256, fixtures_sha256, '
            "reference_sha256, tests, record FROM variant_cases WHERE run = ?",
            reader.run,
        )
        self._add(
            "variant_cases",
            (
                (self._run, cases[case], *middle, json.dumps(sorted(tests[test] for test in json.loads(its))), record)
                for case, *middle, its, record in found
                if case in cases
            ),
        )
        variants = self._rows(reader, mutants, "variants", '"case", name, kind, sha256')
        self._add("variants", ((run, mutant, cases[case], *rest) for run, mutant, case, *rest in variants))
        history = self._rows(reader, mutants, "variant_history", "entry, version, kind, source, note, repaired")
        self._add("variant_history", history)
