"""A run that ends before its time: what was finished is kept, nothing stays behind, the next run goes on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

MUTANTS = 12


@pytest.fixture
def slow(project: Project) -> Project:
    numbers = range(100, 100 + MUTANTS)
    code = "import time\n" + "".join(f"def f{n}(x):\n    return x + {n}\n" for n in numbers)
    tests = "import pytest, shop\n"
    tests += f"@pytest.mark.parametrize('n', range(100, {100 + MUTANTS}))\n"
    tests += "def test_f(n):\n    assert getattr(shop, f'f{n}')(1) == n + 1\n"
    tests += "def test_more():\n    assert shop.f100(1) == 101\n"
    project.write({"shop.py": code, "test_shop.py": tests})
    return project.cases(Case(f"f{n}", f"x + {n}", f"time.sleep(0.4) or x - {n}", "shop.py") for n in numbers)


def judged(project: Project) -> int:
    """Mutants in the sidecar that have cells; what is not committed yet is not seen."""
    if not project.sidecar.exists():
        return 0
    connection = sqlite3.connect(f"file:{project.sidecar}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(DISTINCT mutant) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def start_and_wait(project: Project, *arguments: str) -> subprocess.Popen[bytes]:
    """A run in the middle of its matrix."""
    process = project.start(project.command("--kill-matrix-workers=1", *arguments))
    deadline = time.monotonic() + 90
    while not judged(project) and time.monotonic() < deadline:
        assert process.poll() is None, (project.outside / "screen").read_text()
        time.sleep(0.05)
    return process


def check_resumed(project: Project) -> None:
    """The same command goes on, and has everything in the end."""
    before = judged(project)
    assert 0 < before < MUTANTS
    ran = project.run("--kill-matrix-workers=1")
    assert ran.status == 0
    ran.lines.fnmatch_lines(["*resumed: * mutants were judged before the interruption*"])
    assert set(ran.statuses().values()) == {"killed"}
    assert len(ran.data["mutants"]) == MUTANTS
    assert ran.data["run"]["complete"] is True
    assert all(len(mutant["cells"]) in (1, 2) for mutant in ran.data["mutants"])


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_to_the_controller(slow: Project, name: str) -> None:
    before = slow.snapshot()
    process = start_and_wait(slow)
    process.send_signal(getattr(signal, name))
    ran = slow.finish(process, 30)
    assert ran.status == 2, ran.screen
    assert ran.left == []
    assert slow.changes(before) == []
    ran.lines.fnmatch_lines(["*interrupted*same command*"])
    if name == "SIGINT":
        check_resumed(slow)
    else:
        assert 0 < judged(slow) < MUTANTS


def test_reports_inside_the_project_keep_nothing_from_going_on(slow: Project) -> None:
    reports = ["--kill-matrix-json=report.json", "--kill-matrix-markdown=reports.md"]
    process = start_and_wait(slow, *reports)
    process.send_signal(signal.SIGINT)
    ran = slow.finish(process, 30)
    assert ran.status == 2, ran.screen
    assert (slow.path / "report.json").exists()
    again = slow.execute(slow.command("--kill-matrix-workers=1", *reports))
    again.lines.fnmatch_lines(["*resumed: * mutants were judged before the interruption*"])
    assert "changed during the run" not in again.screen


def test_ctrl_c_on_the_terminal_reaches_the_whole_process_group(slow: Project) -> None:
    process = start_and_wait(slow)
    os.killpg(process.pid, signal.SIGINT)
    ran = slow.finish(process, 30)
    assert (ran.status, ran.left) == (2, []), ran.screen


@pytest.mark.parametrize("name", ["SIGKILL", "SIGQUIT", "SIGHUP"])
def test_killed_hard(slow: Project, name: str) -> None:
    process = start_and_wait(slow)
    process.send_signal(getattr(signal, name))
    process.wait(10)
    deadline = time.monotonic() + 15
    while slow.left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert slow.left() == []
    assert list(slow.temporary.iterdir()) == []
    check_resumed(slow)


def test_interrupted_while_the_suite_runs(slow: Project) -> None:
    wait = "import os, time\ndef test_wait():\n    open(os.environ['STARTED'], 'w'); time.sleep(60)\n"
    slow.write({"test_wait.py": wait})
    mark = slow.outside / "started"
    process = slow.start(slow.command(), env={"STARTED": str(mark)})
    deadline = time.monotonic() + 60
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    ran = slow.finish(process, 30)
    assert (ran.status, ran.left) == (2, []), ran.screen
    assert not ran.report.exists()


def test_a_changed_file_starts_again(slow: Project) -> None:
    process = start_and_wait(slow)
    process.send_signal(signal.SIGINT)
    slow.finish(process, 30)
    slow.write({"test_new.py": "def test_new(): pass\n"})
    ran = slow.run("--kill-matrix-workers=2")
    assert "resumed" not in ran.screen
    assert set(ran.statuses().values()) == {"killed"}


def test_killed_hard_and_edited_then(slow: Project) -> None:
    process = start_and_wait(slow)
    process.kill()
    process.wait(10)
    before = judged(slow)
    assert 0 < before < MUTANTS
    text = (slow.path / "shop.py").read_text(encoding="utf-8")
    last = f"def f{99 + MUTANTS}(x):\n"
    slow.write({"shop.py": text.replace(last, f"{last}    x += 0\n")})
    ran = slow.run("--kill-matrix-workers=2", "-v")
    assert "resumed" not in ran.screen
    assert set(ran.statuses().values()) == {"killed"}
    ran.lines.fnmatch_lines(["* kept of run 1: nothing changed that * depend* on*"])
    cells = [cell for mutant in ran.data["mutants"] for cell in mutant["cells"]]
    other = slow.outside / "fresh.sqlite"
    fresh = slow.run("--kill-matrix-workers=2", "--kill-matrix-fresh", f"--kill-matrix-db={other}")
    assert [(cell["test"], cell["outcome"]) for cell in cells] == [
        (cell["test"], cell["outcome"]) for mutant in fresh.data["mutants"] for cell in mutant["cells"]
    ]
