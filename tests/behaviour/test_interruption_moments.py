"""A run ended in any of its phases: nothing survives it, and the next one comes to what it would have come to."""

from __future__ import annotations

import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

NUMBERS = range(100, 105)
NOTE = """\
import os, time

def note(kind=None):
    '''Says to the test outside what is going on: a fresh interpreter has a hash seed, a child is no session leader.'''
    if kind is None:
        own = os.getsid(0) == os.getpid()
        kind = "child" if not own else "fresh" if "PYTHONHASHSEED" in os.environ else "suite"
    with open(os.environ["NOTES"], "a") as file:
        file.write(kind + "\\n")
    time.sleep(0.1)
    return 0
"""
TESTS = """\
import note, shop

def test_note(): note.note(); assert shop.f104(0) == 104
def test_before(): assert all(getattr(shop, f"f{n}")(0) == n for n in range(100, 105))
def test_numbers(): assert [getattr(shop, f"f{n}")(1) for n in range(100, 105)] == [n + 1 for n in range(100, 105)]
def test_hang(): assert shop.hang(1) == 10
"""
#: (what is noted, how often before it is time), signal
MOMENTS = {
    "suite": ("suite", 1, "SIGTERM"),
    "fresh": ("fresh", 1, "SIGINT"),
    "alone": ("child", 1, "SIGKILL"),
    "controls": ("child", 2, "SIGINT"),
    "rows": ("f102", 1, "SIGKILL"),
    "confirmations": ("f101", 2, "SIGTERM"),
    "first timeout": ("hang", 1, "SIGINT"),
    "recheck": ("hang", 2, "SIGKILL"),
}
WORDS = ("--kill-matrix-workers=1", "--mutate=shop.py", "--kill-matrix-timeout=10:1", "-p", "no:asyncio")


def made(project: Project) -> Project:
    code = "import time, note\n" + "".join(f"def f{n}(x):\n    return x + {n}\n" for n in NUMBERS)
    project.write({
        "shop.py": code + "def hang(x):\n    return x + 9\n", "note.py": NOTE, "test_shop.py": TESTS,
    })  # fmt: skip
    project.cases(Case(f"f{n}", f"x + {n}", f"note.note('f{n}') or x + {n} + (x > 0)", "shop.py") for n in NUMBERS)
    return project.cases([Case("hang", "x + 9", "note.note('hang') or time.sleep(60)", "shop.py")])


def environment(project: Project) -> dict[str, str]:
    return {"NOTES": str(project.outside / "notes")}


@pytest.fixture(scope="module")
def uninterrupted(new_project: Callable[[], Project]) -> dict[tuple[str, str], tuple[Any, ...]]:
    project = made(new_project())
    ran = project.run(*WORDS, env=environment(project), timeout=300)
    assert ran.status == 0, ran.screen
    assert Counter(ran.statuses().values()) == {"killed": len(NUMBERS), "timeout": 1}
    return ran.cells()


def interrupt(project: Project, name: str, due: Callable[[], bool]) -> set[str]:
    """Start a run and end it when it is time; the mutants that were judged, none if it came to its end before."""
    before = project.snapshot()
    process = project.start(project.command(*WORDS), env=environment(project))
    deadline = time.monotonic() + 90
    while not due() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    process.wait(60)
    deadline = time.monotonic() + 20
    while project.left() and time.monotonic() < deadline:  # whoever was killed cannot wait for its children
        time.sleep(0.05)
    assert project.left() == []
    assert project.changes(before) == []
    if not project.sidecar.exists():
        return set()
    with sqlite3.connect(project.sidecar) as sidecar:
        assert sidecar.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = sidecar.execute("SELECT DISTINCT mutant FROM cells JOIN runs USING (run) WHERE NOT complete").fetchall()
    return {str(row[0]) for row in rows}


def check(project: Project, judged: set[str], expected: dict[tuple[str, str], tuple[Any, ...]]) -> None:
    """The next run has everything, and did not begin again where something was judged."""
    ran = project.run(*WORDS, env=environment(project), timeout=300)
    assert ran.status == 0, ran.screen
    assert ran.data["run"]["complete"] is True
    assert {key: cell[:1] for key, cell in ran.cells().items()} == {key: cell[:1] for key, cell in expected.items()}
    assert ("judged before the interruption" in " ".join(ran.screen.split())) == bool(judged)


@pytest.mark.parametrize("moment", MOMENTS)
def test_ended_in_any_phase(
    project: Project, moment: str, uninterrupted: dict[tuple[str, str], tuple[Any, ...]]
) -> None:
    kind, times, name = MOMENTS[moment]
    notes = made(project).outside / "notes"

    def due() -> bool:
        return notes.exists() and notes.read_text().split().count(kind) >= times

    judged = interrupt(project, name, due)
    assert notes.read_text().split().count(kind) >= times
    check(project, judged, uninterrupted)


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_a_random_moment(
    project: Project, seed: int, uninterrupted: dict[tuple[str, str], tuple[Any, ...]]
) -> None:
    at = time.monotonic() + random.Random(seed).uniform(0.5, 8)
    judged = interrupt(made(project), "SIGKILL", lambda: time.monotonic() > at)
    check(project, judged, uninterrupted)
