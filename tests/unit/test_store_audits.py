"""Authored variants in the sidecar: an older file gets their tables, and no list or score of mutants has them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from oracle_samples import CITED, case, variant
from store_samples import assertion, make_info, make_mutant

from pytest_killmatrix.model import Cell, Outcome, Status, Test
from pytest_killmatrix.oracle.model import Audit, Case, Entry, Kind
from pytest_killmatrix.oracle.reporting import report_of
from pytest_killmatrix.oracle.subjects import Placed, mutant_of
from pytest_killmatrix.store import schema
from pytest_killmatrix.store.audits import add_audit, newest_run, read_cases
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

HISTORY = (Entry(1, Kind.READING, "me", "open"), Entry(2, Kind.MUTATION, "me"))
CASE = case([variant("reference", Kind.REFERENCE), variant("mutation", Kind.MUTATION, CITED, HISTORY)], version=2)


def add_run(path: Path, of: Case) -> None:
    """A complete run with one generated mutant that survives, and a case with two variants."""
    placed = [Placed(of, one, (0, 1)) for one in of.variants]
    with Sidecar.open(path) as sidecar:
        info = make_info(population=1)
        run = sidecar.begin_run(info)
        sidecar.add_tests(run, [Test("t::a"), Test("t::b")])
        sidecar.add_mutants(run, [make_mutant(0), *map(mutant_of, placed)])
        add_audit(sidecar, run, Audit("variants.yaml", "somebody", (of,)), placed, 1)
        for cell in (Cell(0, 0, Outcome.PASSED), *(Cell(1, test, Outcome.PASSED) for test in (0, 1)),
                     Cell(2, 0, Outcome.PASSED), assertion(2, 1)):  # fmt: skip
            sidecar.add_cell(run, cell)
        for mutant, status in enumerate((Status.SURVIVED, Status.SURVIVED, Status.KILLED)):
            sidecar.set_status(run, mutant, status)
        sidecar.finish_run(run, info)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    add_run(path, CASE)
    return path


def test_only_versions_that_were_before_are_compared(mixed: Path) -> None:
    def said() -> list[str]:
        with Reader(mixed) as reader:
            report = report_of(reader)
        assert report is not None
        return [one.text for one in report.cases[0].findings if "the run of" in one.text]

    assert said() == []
    add_run(mixed, case([CASE.variants[0], variant("mutation", Kind.DEGENERATE)], version=3))
    (lost,) = [text for text in said() if "does not say so" in text]
    assert "was told that mutation is mutation in version 2" in lost
    add_run(mixed, CASE)
    assert [text for text in said() if "version 3" in text] == []


def test_what_is_said_of_mutants_leaves_variants_out(mixed: Path) -> None:
    with Reader(mixed) as reader:
        assert [row.index for row in reader.mutants()] == [0]
        assert [row.index for row in reader.variants()] == [1, 2]
        assert reader.cell_count() == 1
        assert reader.judges() == 1
        assert (reader.score().mutants, tuple(reader.score().assertion)) == (1, (0, 1))


def test_cases_come_back_as_they_were(mixed: Path) -> None:
    with Reader(mixed) as reader:
        (stored,) = read_cases(reader)
        assert (stored.case, stored.tests, stored.chosen_by) == (CASE, (0, 1), "somebody")
        report = report_of(reader)
        assert newest_run(reader, CASE) == reader.run
    assert report is not None
    assert tuple(report.totals.mutations) == (1, 1)
    assert report.cases[0].judged.variants[1].rejectors == ["t::b"]


def test_an_older_file_gets_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as old:
        for statement in schema.MIGRATIONS[0]:
            old.execute(statement)
        old.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        old.execute("PRAGMA user_version = 1")
    old.close()
    with Sidecar.open(path) as sidecar:
        sidecar.begin_run(make_info())
    with Reader(path) as reader:
        assert report_of(reader) is None


def test_a_resumed_run_keeps_its_cases(mixed: Path) -> None:
    with Sidecar.open(mixed) as sidecar:
        first = 1
        sidecar.begin_run(make_info())
        assert sidecar.resume_run(first) == 3
    with Reader(mixed) as reader:
        assert reader.run == 3
        assert len(read_cases(reader)) == 1
