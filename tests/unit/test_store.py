from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_samples import FINGERPRINT, assertion, make_info, make_mutant

from pytest_killmatrix.model import Cell, Clean, Excluded, Isolation, Outcome, Phase, Status, Test
from pytest_killmatrix.store import schema
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import BUFFER, Sidecar

ROOT = Path(__file__).parents[2]

texts = st.text(max_size=20)
cells = st.builds(
    Cell,
    mutant=st.integers(0, 3),
    test=st.integers(0, 3),
    outcome=st.sampled_from(Outcome),
    phase=st.sampled_from(Phase),
    exception=st.none() | texts,
    message=st.none() | texts,
    raised_at=st.none() | texts,
    seconds=st.integers(0, 10**9).map(lambda micros: micros / 1e6),
    isolation=st.sampled_from(Isolation),
    confirmed=st.none() | st.booleans(),
    reason=st.none() | texts,
    flags=st.lists(texts, max_size=3).map(tuple),
    suite=st.sampled_from(schema.SUITES),
)


def by_key(cell: Cell) -> tuple[int, int, str]:
    return cell.mutant, cell.test, cell.suite


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=st.lists(cells, max_size=12))
def test_cells_come_back_as_they_were_and_the_last_one_counts(tmp_path: Path, stored: list[Cell]) -> None:
    path = tmp_path / "round.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        for cell in stored:
            sidecar.add_cell(run, cell)
        expected = {by_key(cell): cell for cell in stored}
        assert {by_key(cell): cell for cell in sidecar.cells_of(run)} == expected
    with Reader(path) as reader:
        assert {by_key(c): c for mutant in range(4) for c in reader.cells(mutant)} == expected


def test_a_whole_run_comes_back(tmp_path: Path) -> None:
    info = make_info(commit="abc", dirty=True, options={"x": [1]}, cpu={"swap": 1.5}, notes=["a"], hash_seed=None)
    tests = [
        Test("tests/test_a.py::test_x[é-::-\n]", "tests/test_a.py", seconds=0.5),
        Test("t::y", clean=Clean.FAILED, excluded=Excluded.FAILED, parallel_safe=False, message="boom"),
        Test("t::z", needs_predecessors=True, suite=("old", "new"), change="unchanged"),
    ]
    mutants = [
        make_mutant(0, original="'é\x00'", replacement=""),
        make_mutant(1, verdict=Status.DUPLICATE, reason="same code", duplicate_of="k", static=True, entry_line=3),
        make_mutant(2, string_only=True),
    ]
    with Sidecar.open(tmp_path / "a.sqlite") as sidecar:
        run = sidecar.begin_run(info)
        sidecar.add_tests(run, tests)
        sidecar.add_mutants(run, mutants)
        sidecar.add_reach(run, 0, [2, 1, 0])
        sidecar.add_reach(run, 0, [1])
        sidecar.add_cell(run, assertion(0, 0))
        sidecar.add_cell(run, Cell(0, 2, Outcome.PASSED))
        sidecar.set_status(run, 0, Status.KILLED)
        sidecar.finish_run(run, info)
    with Reader(tmp_path / "a.sqlite") as reader:
        assert reader.info == info
        assert reader.info.complete
        assert reader.tests() == tests
        rows = list(reader.mutants())
        assert [row.mutant for row in rows] == mutants
        assert [row.status for row in rows] == [Status.KILLED, Status.DUPLICATE, Status.PENDING]
        assert [row.reason for row in rows] == [None, "same code", "interrupted"]
        assert rows[0].reached_by == [0, 1, 2]
        assert rows[0].cells == [assertion(0, 0), Cell(0, 2, Outcome.PASSED)]
        assert reader.cell_count() == 2
        assert [row.cells for row in reader.mutants(cells=False)] == [[], [], []]
        assert reader.counts()["killed"] == 1
        assert list(reader.score().counts) == list(reader.counts())


def test_lone_surrogates_are_spelled_out(tmp_path: Path) -> None:
    with Sidecar.open(tmp_path / "a.sqlite") as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_tests(run, [Test("t::\udc80")])
        sidecar.add_cell(run, assertion(0, 0, message="bad \udcff", exception="E\udcff"))
        (cell,) = sidecar.cells_of(run)
    assert (cell.message, cell.exception) == ("bad \\udcff", "E\\udcff")


def test_a_mutant_is_stored_at_once_and_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_tests(run, [Test(f"t::{index}") for index in range(6)])
        sidecar.add_mutants(run, [make_mutant(0), make_mutant(1), make_mutant(2)])
        kills, passes = assertion(0, 1), Cell(0, 2, Outcome.PASSED)
        old = Cell(0, 5, Outcome.PASSED, suite="old")
        sidecar.store(run, 0, Status.RUN_ERROR, "first", [kills, Cell(0, 4, Outcome.ERROR, message="gone")], [1, 4])
        sidecar.store(run, 1, Status.SURVIVED, None, [Cell(1, 2, Outcome.PASSED)], [2])
        sidecar.store(run, 0, Status.KILLED, None, [kills, passes, old], [1, 2, 3, 5])
        sidecar.store(run, 2, Status.NO_COVERAGE, "line_reached", [], [])
        assert list(sidecar.cells_of(run)) == [kills, passes, old, Cell(1, 2, Outcome.PASSED)]
        sidecar.finish_run(run, make_info())
    with Reader(path) as reader:
        rows = list(reader.mutants())
        assert [(row.status, row.reason, row.reached_by) for row in rows] == [
            (Status.KILLED, None, [1, 2, 3, 5]),
            (Status.SURVIVED, None, [2]),
            (Status.NO_COVERAGE, "line_reached", []),
        ]
        # those with a cell of the judging suite are not said to reach it a second time
        assert list(reader.query("SELECT mutant, test FROM reach")) == [(0, 3), (0, 5)]
        assert list(reader.query("SELECT count(*) FROM details")) == [(1,)]
        assert reader.reach_counts({Status.KILLED, Status.NO_COVERAGE}) == {0: 4, 2: 0}
        assert sorted(reader.tests_of(0)) == [1, 2, 3, 5]
        assert [row.index for row in reader.mutants(plain_kills=False)] == [1, 2]


def test_counts_of_a_complete_run_are_kept_and_made_anew_where_they_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    tests = [Test(f"t::{index}") for index in range(4)]
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_tests(run, tests)
        sidecar.add_mutants(run, [make_mutant(0), make_mutant(1)])
        sidecar.store(run, 0, Status.KILLED, None, [assertion(0, 1), Cell(0, 3, Outcome.PASSED, suite="old")], [1])
        sidecar.store(run, 1, Status.KILLED, None, [assertion(1, 1), Cell(1, 0, Outcome.PASSED)], [0, 1])
        sidecar.flush()
        with Reader(path) as reader:
            assert (reader.cell_counts(), reader.cell_count(), reader.judges()) == ({0: 1, 1: 2}, 3, 2)
        sidecar.finish_run(run, make_info())
    with Reader(path) as reader:
        assert list(reader.query("SELECT cells FROM tests ORDER BY test")) == [(1,), (2,), (0,), (0,)]
        assert reader.cell_counts() == {0: 1, 1: 2}
    with Sidecar.open(path) as sidecar:
        sidecar.add_tests(run, tests)  # which forgets them
    with Reader(path) as reader:
        assert next(reader.query("SELECT count(cells) FROM tests"))[0] == 0
        assert reader.cell_counts() == {0: 1, 1: 2}


def test_dropping_and_replacing(tmp_path: Path) -> None:
    with Sidecar.open(tmp_path / "a.sqlite") as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_mutants(run, [make_mutant(0), make_mutant(1)])
        sidecar.add_reach(run, 0, [0, 1])
        sidecar.add_cell(run, assertion(0, 0))
        sidecar.add_cell(run, assertion(0, 1))
        sidecar.drop_cells(run, 0)
        sidecar.add_cell(run, Cell(0, 0, Outcome.PASSED))
        sidecar.add_cell(run, assertion(0, 1))
        sidecar.add_cell(run, Cell(0, 1, Outcome.PASSED))
        sidecar.add_cell(run, assertion(1, 1))
        assert list(sidecar.cells_of(run)) == [
            Cell(0, 0, Outcome.PASSED),
            Cell(0, 1, Outcome.PASSED),
            assertion(1, 1),
        ]
        sidecar.drop_cell(run, 0, 1)
        assert list(sidecar.cells_of(run)) == [Cell(0, 0, Outcome.PASSED), assertion(1, 1)]
    with Reader(tmp_path / "a.sqlite") as reader:
        assert next(reader.mutants()).reached_by == [0]


def test_resuming(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        old, new = sidecar.begin_run(make_info(id="1")), sidecar.begin_run(make_info(id="2"))
        sidecar.begin_run(make_info(fingerprint="other"))
        mutants = [make_mutant(n) for n in range(3)] + [make_mutant(3, verdict=Status.INVALID)]
        sidecar.add_mutants(new, mutants)
        sidecar.set_status(new, 0, Status.SURVIVED)
        sidecar.set_status(new, 1, Status.PENDING, "static")
    with Sidecar.open(path) as sidecar:
        assert sidecar.find_resumable("nothing like it") is None
        assert sidecar.find_resumable(FINGERPRINT) == new
        expected = {0: Status.SURVIVED, 3: Status.INVALID}
        assert sidecar.finished_mutants(new) == expected
        sidecar.add_mutants(new, mutants)  # again, by a run that resumes: verdicts stay
        assert sidecar.finished_mutants(new) == expected
        assert sidecar.info_of(new).id == "2"
        newest = sidecar.resume_run(new)
        assert newest == 4
        assert sidecar.finished_mutants(newest) == expected
        assert sidecar.resume_run(newest) == newest
        sidecar.finish_run(newest, make_info(id="2"))
        assert sidecar.find_resumable(FINGERPRINT) is None  # the older one is not what anybody waits for
    with Reader(path) as reader:
        assert reader.info.id == "2"
        assert [number for number, _ in reader.runs()] == [1, 3, 4]
        assert len(list(reader.mutants())) == 4
    with Reader(path, run=old) as reader:
        assert reader.info.id == "1"
    with pytest.raises(StoreError, match="no run 9"):
        Reader(path, run=9)


@contextlib.contextmanager
def running(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A second process, with the sample runs at hand; entered once it has printed ``ready``."""
    prelude = f"import sys, os, time\nsys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
    prelude += "from store_samples import *\n"
    with subprocess.Popen(
        [sys.executable, "-c", prelude + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


HOLD = f"""
sidecar = Sidecar.open(sys.argv[1])
run = sidecar.begin_run(make_info())
for number in range({BUFFER + 1000}):
    sidecar.add_cell(run, Cell(number, 0, Outcome.PASSED))
print("ready", flush=True)
sys.stdin.read()
"""


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with running(HOLD, path) as other:
        with pytest.raises(
            StoreError, match=rf"another run \(process {other.pid}\) is using .*: wait .*--kill-matrix-db"
        ):
            Sidecar.open(path)
        with Reader(path) as reader:  # reading is free
            assert reader.cell_count() == BUFFER
        other.send_signal(signal.SIGKILL)
        other.wait()
        with Sidecar.open(path) as sidecar:  # and so is writing, once it is dead, however it died
            assert sidecar.notice is None
            assert len(list(sidecar.cells_of(1))) == BUFFER  # nothing lost but the buffer
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sqlite"]


def test_a_busy_writer_never_lets_another_in(tmp_path: Path) -> None:
    code = """
sidecar = Sidecar.open(sys.argv[1])
print("ready", flush=True)
run = sidecar.begin_run(make_info())
end = time.monotonic() + 20
number = 0
while time.monotonic() < end:
    sidecar.add_cell(run, Cell(number, 0, Outcome.PASSED))
    number += 1
    sidecar.flush()
"""
    path = tmp_path / "a.sqlite"
    with running(code, path) as other:
        for _ in range(3):
            with pytest.raises(StoreError, match="another run"):
                Sidecar.open(path)
        assert other.poll() is None


def test_a_forked_child_neither_keeps_nor_breaks_the_lock(tmp_path: Path) -> None:
    code = """
sidecar = Sidecar.open(sys.argv[1])
run = sidecar.begin_run(make_info())
sidecar.add_cell(run, Cell(0, 0, Outcome.PASSED))
pid = os.fork()
if pid == 0:
    sidecar.close()
    del sidecar  # SQLite closes its connection here
    if os.fork() == 0:
        sys.stdin.read()  # a grandchild that outlives both
    os._exit(0)
os.waitpid(pid, 0)
sidecar.flush()
print("ready", flush=True)
sys.stdin.read()
"""
    path = tmp_path / "a.sqlite"
    with running(code, path) as other:
        with pytest.raises(StoreError, match="another run"):
            Sidecar.open(path)
        with Reader(path) as reader:
            assert reader.cell_count() == 1
        other.kill()
        other.wait()
        Sidecar.open(path).close()  # the grandchild is alive and holds nothing


def test_a_stale_process_number_of_somebody_alive_does_not_lock_out(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    Sidecar.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO writer VALUES (?)", (os.getppid(),))
    Sidecar.open(path).close()


def test_killed_while_it_writes_loses_only_what_was_buffered(tmp_path: Path) -> None:
    code = """
sidecar = Sidecar.open(sys.argv[1])
run = sidecar.begin_run(make_info())
print("ready", flush=True)
number = 0
while True:
    sidecar.add_cell(run, assertion(number, 0, message=f"assert {number}"))
    number += 1
    if number % 500 == 0:
        sidecar.flush()
        print(number, flush=True)
"""
    path = tmp_path / "a.sqlite"
    with running(code, path) as other:
        time.sleep(0.7)
        other.kill()
        printed, _ = other.communicate()
    durable = int(printed.splitlines()[-1])
    with Sidecar.open(path) as sidecar:
        assert sidecar.notice is None
        stored = list(sidecar.cells_of(1))
        assert len(stored) in (durable, durable + 500)
        assert [cell.message for cell in stored] == [f"assert {n}" for n in range(len(stored))]


def test_a_damaged_file_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    for number, content in ((1, b"SQLite format 3\x00" * 100), (2, b"SQLite format 3\x00" + b"\xff" * 5000)):
        path.write_bytes(content)
        with Sidecar.open(path) as sidecar:
            assert sidecar.notice is not None
            assert "\n" not in sidecar.notice
            assert f"moved to a.sqlite.damaged-{number}" in sidecar.notice
            sidecar.begin_run(make_info())
        assert (tmp_path / f"a.sqlite.damaged-{number}").read_bytes() == content
        with Reader(path) as reader:
            assert reader.run == 1


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"print(1)\n")
    with pytest.raises(StoreError, match="no database, not touched; give another place with --kill-matrix-db=PATH"):
        Sidecar.open(path)
    assert [found.read_bytes() for found in tmp_path.iterdir()] == [b"print(1)\n"]


def test_a_truncated_or_scribbled_file_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        for number in range(20000):
            sidecar.add_cell(run, Cell(number, 0, Outcome.PASSED))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:40960] + b"\xa5" * 8192 + whole[49152:]):
        path.write_bytes(content)
        with Sidecar.open(path) as sidecar:
            assert sidecar.notice is not None


def test_a_reader_names_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match="is damaged"):
        Reader(path)


def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    Sidecar.open(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes(), path.stat().st_mtime_ns
    for open_it in (Sidecar.open, Reader):
        with pytest.raises(StoreError, match=rf"has schema version {schema.VERSION + 1}.*knows up to {schema.VERSION}"):
            open_it(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["a.sqlite"]


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE precious (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Sidecar.open(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_a_new_sidecar(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.touch()
    with Sidecar.open(path) as sidecar:
        assert sidecar.notice is None
    with pytest.raises(StoreError, match="no run yet"):
        Reader(path)


def test_places_that_will_not_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, message in (
        (tmp_path / "nowhere" / "a.sqlite", "no directory"),
        (tmp_path / "file" / "a.sqlite", "not a directory"),
        (tmp_path, "not a regular file"),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            Sidecar.open(place)
        assert "--kill-matrix-db" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(StoreError, match="there is no sidecar"):
        Reader(tmp_path / "a.sqlite")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that other users can reach, unlike ``tmp_path``."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextlib.contextmanager
def no_privileges() -> Iterator[None]:
    """Permissions mean nothing to root, so be somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(65534)
    except OSError:
        pytest.skip("cannot become an unprivileged user")
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_directory(open_folder: Path) -> None:
    path = open_folder / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_mutants(run, [make_mutant(0)])
    path.chmod(0o666)
    open_folder.chmod(0o555)
    with no_privileges():
        for place in (path, open_folder / "new.sqlite"):
            with pytest.raises(StoreError, match=r"the directory is read-only; .*--kill-matrix-db"):
                Sidecar.open(place)
        with Reader(path) as reader:
            assert len(list(reader.mutants())) == 1


def test_a_read_only_file(open_folder: Path) -> None:
    path = open_folder / "a.sqlite"
    Sidecar.open(path).close()
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with no_privileges(), pytest.raises(StoreError, match="the file is read-only"):
        Sidecar.open(path)


def test_a_failed_flush_keeps_the_cells(tmp_path: Path) -> None:
    with Sidecar.open(tmp_path / "a.sqlite") as sidecar:
        run = sidecar.begin_run(make_info())
        pages: Any = sidecar._connection.execute("PRAGMA page_count").fetchone()[0]
        sidecar._connection.execute(f"PRAGMA max_page_count = {pages}")  # as good as a full disk
        for number in range(900):
            sidecar.add_cell(run, assertion(number, 0, message=f"{number}" * 20))
        with pytest.raises(StoreError, match="full; free some space"):
            sidecar.flush()
        sidecar._connection.execute("PRAGMA max_page_count = 100000")
        sidecar.flush()
        assert len(list(sidecar.cells_of(run))) == 900


def test_a_passed_cell_is_small(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        for mutant in range(100):
            for test in range(500):
                sidecar.add_cell(run, Cell(mutant, test, Outcome.PASSED, seconds=0.0017))
    assert path.stat().st_size / 50_000 < 40


def test_the_matrix_view_has_names(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_tests(run, [Test("t::x")])
        sidecar.add_mutants(run, [make_mutant(0)])
        sidecar.add_cell(run, assertion(0, 0, flags=("provisional",), suite="old", phase=Phase.SETUP))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        row = connection.execute("SELECT test, suite, outcome, phase, exception, flags, seconds FROM matrix").fetchone()
    assert row == ("t::x", "old", "assertion", "setup", "AssertionError", '["provisional"]', 0.001)


def test_every_enum_member_has_a_code() -> None:
    assert set(schema.OUTCOMES) == set(Outcome)
    assert set(schema.PHASES) == set(Phase)
    assert set(schema.ISOLATIONS) == set(Isolation)
    assert len(schema.MIGRATIONS) == schema.VERSION


def test_the_reference_page_is_up_to_date() -> None:
    page = ROOT / "docs" / "reference" / "schema.md"
    assert page.read_text(encoding="utf-8") == schema.markdown() + "\n"
