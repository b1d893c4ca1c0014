"""A sidecar of the first version: upgraded by the next run, read as it is after that."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from store_samples import Plot, make_info

from pytest_killmatrix.model import Cause, CauseKind, Sample, Status
from pytest_killmatrix.report.files import FORMATS
from pytest_killmatrix.store import schema
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """As version 1 wrote it."""
    plot = Plot(3)
    plot.add(Status.KILLED)
    plot.add(Status.SURVIVED)
    path = plot.write(tmp_path / "a.sqlite", make_info())
    connection = sqlite3.connect(path)
    for ddl in reversed([ddl for statements in schema.MIGRATIONS[1:] for ddl in statements]):
        words = ddl.split()
        if words[0] == "CREATE":
            connection.execute(f"DROP {words[1]} {words[2]}")
        else:
            assert words[:2] == ["ALTER", "TABLE"]
            connection.execute(f"ALTER TABLE {words[2]} DROP COLUMN {words[5]}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    return path


def test_it_is_upgraded_and_loses_nothing(old: Path) -> None:
    with Sidecar.open(old) as sidecar:
        assert sidecar.notice is None
    with Reader(old) as reader:
        assert reader.score().assertion == (1, 2)
        assert reader.cell_count() == 6
        assert reader.causes() == {}
        assert reader.text_of("src/words.py") is None
        for made in FORMATS.values():
            assert "".join(made.chunks(reader))


def test_texts_are_kept_once_and_causes_come_back(old: Path) -> None:
    cause = Cause(CauseKind.NOT_NOTICED, 3, 2, "a == b", (Sample("a=1", "1", "2"),))
    with Sidecar.open(old) as sidecar:
        second = sidecar.begin_run(make_info(id="second"))
        for run in (1, second):
            sidecar.add_file(run, "src/words.py", "f" * 64, "é = 1\r\n")
        sidecar.set_cause(1, 1, cause)
        assert sidecar.survivors(1) == {1: [0, 1, 2]}
    with Reader(old, 1) as reader:
        assert reader.text_of("src/words.py") == "é = 1\r\n"
        assert reader.causes() == {1: cause}
        assert next(reader.query("SELECT count(*) FROM texts"))[0] == 1


def test_an_interrupted_run_takes_its_texts_and_causes_along(tmp_path: Path) -> None:
    plot = Plot(3)
    plot.add(Status.SURVIVED)
    path = plot.write(tmp_path / "a.sqlite", make_info(), finish=False)
    with Sidecar.open(path) as sidecar:
        sidecar.add_file(1, "src/words.py", "f" * 64, "x")
        sidecar.set_cause(1, 0, Cause(CauseKind.MESSAGE, 3))
        sidecar.begin_run(make_info(id="second", fingerprint="other"))
        run = sidecar.resume_run(1)
    with Reader(path, run) as reader:
        assert reader.text_of("src/words.py") == "x"
        assert reader.causes() == {0: Cause(CauseKind.MESSAGE, 3)}
