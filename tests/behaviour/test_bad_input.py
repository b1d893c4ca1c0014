"""Bad input: one clear line that says what to do, the right exit status, and nothing lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

FILES = {
    "shop.py": "def value(n):\n    return n + 1\n",
    "test_shop.py": "import shop\n\ndef test_value(): assert shop.value(1) == 2\n",
}


@pytest.fixture
def small(project: Project) -> Project:
    return project.write(FILES)


def message(ran: Run) -> str:
    """The one line that says what is wrong."""
    found = [line for line in ran.screen.splitlines() if line.startswith(("ERROR: ", "killmatrix: "))]
    assert len(found) == 1, ran.screen
    assert "Traceback" not in ran.screen
    return found[0]


def refused(ran: Run, *words: str) -> None:
    """Exit status 4, one line with these words, no report."""
    line = message(ran)
    assert all(word in line for word in words), line
    assert ran.status == 4
    assert not ran.report.exists()


@pytest.mark.parametrize(("argument", "words"), [
    ("--kill-matrix-workers=none", ["whole number"]),
    ("--kill-matrix-workers=0", ["whole number"]),
    ("--kill-matrix-workers=99999999999999999999", ["at most 256"]),
    ("--kill-matrix-timeout=0", ["FACTOR"]),
    ("--kill-matrix-timeout=2:nan", ["FACTOR"]),
    ("--kill-matrix-memory=-1", ["whole number"]),
    ("--kill-matrix-clean-runs=0", ["whole number"]),
    ("--kill-matrix-isolation=row", ["mutant, test"]),
    ("--kill-matrix-static=none", ["all, reach, skip"]),
    ("--kill-matrix-fail-under=101", ["percentage"]),
    ("--kill-matrix-fail-under=speed:50", ["assertion:PCT"]),
])  # fmt: skip
def test_bad_values(small: Project, argument: str, words: list[str]) -> None:
    ran = small.run(argument)
    refused(ran, argument.split("=")[0], argument.split("=")[1], *words)
    assert not small.sidecar.exists()


def test_a_path_that_does_not_exist(small: Project) -> None:
    ran = small.run("--mutate=nowhere.py")
    refused(ran, "--mutate=nowhere.py", "no such file")


def test_a_path_that_is_no_python_file(small: Project) -> None:
    ran = small.run("--mutate=pytest.ini")
    refused(ran, "--mutate=pytest.ini", "not a Python file")


def test_a_path_of_tests(small: Project) -> None:
    refused(small.run("--mutate=test_shop.py"), "--mutate=test_shop.py", "name the code")


def test_an_unknown_operator(small: Project) -> None:
    ran = small.run("--mutation-operators=swap_everything")
    refused(ran, "swap_everything")
    assert "1 passed" not in ran.screen  # nobody waits for a suite to hear of a typing error


def test_a_syntax_error_in_a_target(small: Project) -> None:
    small.write({"broken.py": "def value(:\n"})
    ran = small.run("--mutate=broken.py", "--mutate=shop.py")
    refused(ran, "broken.py:1")
    ran.lines.fnmatch_lines(["*1 passed*"])


def test_no_mutant_of_that_key(small: Project) -> None:
    ran = small.run("--mutants=shop.py::other::*")
    assert ran.status == 5
    assert "shop.py::other::*" in message(ran)


@pytest.mark.parametrize(("place", "words"), [("nowhere/report.json", ["nowhere", "create it"]), (".", ["directory"])])
def test_a_place_where_no_report_can_be(small: Project, place: str, words: list[str]) -> None:
    ran = small.run(f"--kill-matrix-json={place}")
    refused(ran, "--kill-matrix-json", *words)
    assert "1 passed" not in ran.screen


def test_a_report_whose_directory_vanishes_loses_nothing(small: Project) -> None:
    (small.path / "reports").mkdir()
    small.write({"test_vanish.py": "import os\n\ndef test_it(): os.path.isdir('reports') and os.rmdir('reports')\n"})
    ran = small.run("--kill-matrix-json=reports/report.json")
    assert "reports" in message(ran)
    ran.lines.fnmatch_lines(["assertion score*"])
    assert small.sidecar.exists()


def test_options_that_do_nothing_alone(small: Project) -> None:
    ran = small.plain("--mutate=shop.py")
    assert ran.status == 4
    assert "--mutate does nothing without --kill-matrix" in message(ran)
    small.write({"pytest.ini": "[pytest]\naddopts = --mutate=shop.py\n"})
    assert small.plain().status == 0  # what the project wants once somebody asks for a matrix


def test_a_replacement_outside_the_file_names_its_plugin(small: Project) -> None:
    small.write({"conftest.py": """\
        def pytest_killmatrix_mutants(path, source):
            return [("mine", 100, 0, 100, 1, "x")]
        """})  # fmt: skip
    ran = small.run()
    refused(ran, "conftest.py", "mine")


def test_replacements_may_be_tuples(small: Project) -> None:
    small.write({"conftest.py": """\
        def pytest_killmatrix_mutants(path, source):
            return [("case:tuple", 2, 11, 2, 16, "n + 2")]
        """})  # fmt: skip
    ran = small.run("--mutation-operators=case:*")
    assert ran.statuses() == {"tuple": "killed"}


# -- the sidecar -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "words"), [
    ("nowhere/a.sqlite", ["nowhere", "create it"]), ("shop.py/a.sqlite", ["not a directory"]), (".", ["not a regular"]),
])  # fmt: skip
def test_a_place_where_no_sidecar_can_be(small: Project, place: str, words: list[str]) -> None:
    ran = small.run(f"--kill-matrix-db={place}")
    refused(ran, "--kill-matrix-db", *words)
    assert "1 passed" not in ran.screen


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(small: Project) -> None:
    folder = small.outside / "read-only"
    folder.mkdir(mode=0o500)
    refused(small.run(f"--kill-matrix-db={folder}/a.sqlite"), "read-only", "--kill-matrix-db")


@pytest.mark.parametrize("option", ["--kill-matrix-db", "--kill-matrix-json"])
def test_a_file_of_the_users_is_left_alone(small: Project, option: str) -> None:
    before = (small.path / "shop.py").read_bytes()
    refused(small.run(f"{option}=shop.py"), "not touched", option)
    assert (small.path / "shop.py").read_bytes() == before
    assert not list(small.path.glob("shop.py.*"))


def test_another_programs_database(small: Project) -> None:
    with sqlite3.connect(small.sidecar) as other:
        other.execute("CREATE TABLE theirs (value)")
    other.close()
    before = small.sidecar.read_bytes()
    refused(small.run(), "another program", "--kill-matrix-db")
    assert small.sidecar.read_bytes() == before


def test_a_newer_schema_is_left_alone(small: Project) -> None:
    assert small.run().status == 0
    with sqlite3.connect(small.sidecar) as newer:
        newer.execute("PRAGMA user_version = 999")
    newer.close()
    before = small.sidecar.read_bytes()
    refused(small.run(), "999", "upgrade")
    assert small.sidecar.read_bytes() == before


def test_a_damaged_sidecar_is_moved_aside(small: Project) -> None:
    damaged = b"SQLite format 3\0" + b"rubbish" * 1000
    small.sidecar.write_bytes(damaged)
    ran = small.run()
    assert ran.status == 0
    words = " ".join(ran.screen.split())  # the note may be wrapped anywhere between words
    assert ".killmatrix.sqlite was damaged" in words
    assert ".killmatrix.sqlite.damaged-1" in words
    aside = small.sidecar.with_name(small.sidecar.name + ".damaged-1")
    assert aside.read_bytes() == damaged
    with sqlite3.connect(small.sidecar) as fresh:
        assert fresh.execute("SELECT complete FROM runs").fetchall() == [(1,)]
    fresh.close()


def test_two_runs_at_once(small: Project) -> None:
    small.cases([
        Case(f"case{n}", "return n + 1", f"import time; time.sleep(0.7); return n + {n}", "shop.py")
        for n in range(2, 7)
    ])  # fmt: skip
    first = small.start(small.command("--kill-matrix-workers=1"), screen="first")
    deadline = time.monotonic() + 60
    while not small.sidecar.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    second = small.start([*small.command(), f"--kill-matrix-json={small.outside}/other.json"], screen="second")
    second.wait(60)
    assert second.returncode == 4
    screen = (small.outside / "second").read_text()
    assert f"another run (process {first.pid}) is using the sidecar" in screen
    assert small.processes(), "the first run was disturbed"
    ran = small.finish(first, screen="first")
    assert (ran.status, ran.left) == (0, [])
    assert set(ran.statuses().values()) == {"killed"}


def test_the_options_are_in_the_help(small: Project) -> None:
    done = subprocess.run([*small.command(), "--help"], cwd=small.path, capture_output=True, text=True, check=True)
    assert "--kill-matrix-timeout" in done.stdout
