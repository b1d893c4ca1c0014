"""A run changes nothing but the sidecar, and leaves no process and no file, even where a mutant starts processes."""

from __future__ import annotations

import subprocess

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

CODE = """\
import os, subprocess, sys, tempfile, time

def spawn(n):
    return n + 1

def write(n):
    return n + 2

def eat(n):
    return n + 3

def fork(n):
    return n + 4

def chdir(n):
    return n + 5
"""
TESTS = """\
import os, shop
HERE = os.getcwd()
def test_spawn(): shop.spawn(1)
def test_write(): assert shop.write(1) == 3
def test_eat(): assert shop.eat(1) == 4
def test_fork(): assert shop.fork(1) == 5
def test_chdir(): assert shop.chdir(1) == 6
def test_here(): assert os.getcwd() == HERE and shop.chdir(1) and shop.write(1)
"""


def git(project: Project, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=project.path, capture_output=True, text=True, check=True)
    return done.stdout


def test_nothing_is_left_and_nothing_is_changed(project: Project) -> None:
    project.write({"shop.py": CODE, "test_shop.py": TESTS, ".gitignore": ".killmatrix.sqlite*\n__pycache__\n"})
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    index = (project.path / ".git" / "index").read_bytes()
    project.cases(
        Case(name, before, after, "shop.py")
        for name, before, after in (
            ("spawn", "return n + 1", "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])"),
            ("hang", "return n + 1", "subprocess.run([sys.executable, '-c', 'import time; time.sleep(300)'])"),
            ("eat", "return n + 3", "held = b'x' * (400 << 20); time.sleep(20); return n + 3"),
            ("fork", "return n + 4", "return n + 4 if os.fork() else n + 4"),
            ("chdir", "return n + 5", "os.chdir('/'); return n + 5"),
        )
    )
    ran = project.run("--kill-matrix-memory=150", "--kill-matrix-timeout=10:2")
    assert ran.status == 0
    assert ran.outcomes("spawn") == {"test_spawn": "passed"}
    assert ran.outcomes("hang") == {"test_spawn": "timeout"}
    assert (ran.cell("eat")["outcome"], ran.cell("eat")["reason"]) == ("crash", "memory")
    assert ran.outcomes("fork") == {"test_fork": "passed"}
    assert ran.outcomes("chdir")["test_chdir"] == "passed"
    assert git(project, "status", "--porcelain") == ""
    assert (project.path / ".git" / "index").read_bytes() == index
    assert (ran.data["run"]["commit"], ran.data["run"]["dirty"]) == (git(project, "rev-parse", "HEAD").strip(), False)
    assert not list(project.path.rglob("*.tmp*"))


def test_files_that_tests_change_are_named(project: Project) -> None:
    project.write({
        "shop.py": "def value(n):\n    return n + 1\n",
        "test_shop.py": """\
            import shop
            def test_value():
                open("notes.txt", "a").write("x")
                assert shop.value(1) == 2
            """,
        "notes.txt": "x",
    })  # fmt: skip
    ran = project.execute(project.command())
    assert ran.left == []
    ran.lines.fnmatch_lines(["*files of the project changed during the run: notes.txt*"])
