"""Every child has a temporary directory of its own, and no verdict depends on it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

CODE = """\
import os, shutil, subprocess, sys, tempfile

def leave(n):
    return n + 1

def wipe(n):
    return n + 2

def child(n):
    return n + 3
"""
TESTS = """\
import os, subprocess, sys, tempfile
import code_

def test_leave(): assert code_.leave(1) == 2
def test_wipe():
    with tempfile.NamedTemporaryFile() as file:
        assert os.path.dirname(file.name) == tempfile.gettempdir() == os.environ.get("TMPDIR", tempfile.gettempdir())
        assert code_.wipe(1) == 3 and os.path.exists(file.name)
def test_child():
    ask = "import tempfile; print(tempfile.gettempdir(), end='')"
    assert subprocess.check_output([sys.executable, "-c", ask], text=True) == tempfile.gettempdir()
    assert code_.child(1) == 4
def test_socket():
    import socket
    with socket.socket(socket.AF_UNIX) as one, tempfile.TemporaryDirectory() as folder:
        one.bind(os.path.join(folder, "a" * 30))
def test_base(tmp_path): assert tmp_path.is_dir() and code_.leave(2) == 3
"""


@pytest.fixture
def short() -> Iterator[Path]:
    """A temporary directory with a short path; where sockets would not fit, children keep the user's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_what_a_mutant_does_to_temporary_files_is_its_own_matter(project: Project, short: Path) -> None:
    project.write({"code_.py": CODE, "test_code.py": TESTS}).cases(
        [
            Case("leave", "n + 1", "open(tempfile.mkstemp('.left')[1], 'wb').write(b'x' * 1000) and n + 1", "code_.py"),
            Case("killed", "n + 1", "tempfile.mkdtemp('.left') and sys.exit(1)", "code_.py"),
            Case("wipe", "return n + 2", "shutil.rmtree(tempfile.gettempdir()); return n + 2", "code_.py"),
            Case("child", "n + 3", "subprocess.check_call(['mktemp', '-d']) or n + 3", "code_.py"),
        ]
    )
    (short / "precious").write_text("the user's")
    ran = project.run("--kill-matrix-workers=2", env={"TMPDIR": str(short)})
    # before 3.12 closing the file is what fails last
    wiped = "killed" if sys.version_info >= (3, 12) else "crashed"
    assert ran.statuses() == {"leave": "survived", "killed": "crashed", "wipe": wiped, "child": "survived"}
    assert {test["excluded"] for test in ran.data["tests"]} == {None}
    assert [path.name for path in short.iterdir() if not path.name.startswith("pytest-of-")] == ["precious"]


@pytest.mark.parametrize("value", ["tempfile.gettempdir()", "pathlib.Path(tempfile.gettempdir(), 'x')"])
def test_a_project_that_holds_the_directory_keeps_it(project: Project, short: Path, value: str) -> None:
    project.write({
        "code_.py": f"import pathlib, tempfile\nPLACE = {value}\ndef place(n):\n    return PLACE, n + 1\n",
        "test_code.py": f"import pathlib, tempfile, code_\ndef test(): assert code_.place(1) == ({value}, 2)\n",
    }).cases([Case("m", "n + 1", "n + 2", "code_.py")])  # fmt: skip
    ran = project.run(env={"TMPDIR": str(short)})
    assert ran.statuses() == {"m": "killed"}
    assert ran.test("test")["excluded"] is None
    ran.lines.fnmatch_lines(["*code_.PLACE holds the temporary directory since its import: children share it"])
