"""``--kill-matrix-sandbox=copy``: the user's tree is never touched, and the cells are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

COPY = "--kill-matrix-sandbox=copy"

CODE = """\
import os, pathlib, shutil, subprocess, sys
HERE = pathlib.Path(__file__).parent

def read(n):
    return int((HERE / "data.txt").read_text()) + n

def ask(n):
    code = f"import shop.core; print(shop.core.read({n}))"
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))

def plain(n):
    return n * 2

TABLE = {1: "one"}
"""
TESTS = """\
import os, pathlib, subprocess, sys
import pytest
import shop.core

DATA = pathlib.Path(__file__).parent / "expected.txt"

def test_read(): assert shop.core.read(1) == int(DATA.read_text())
def test_relative(): assert pathlib.Path("tests/expected.txt").read_text() == "42" and shop.core.plain(2) == 4
def test_ask(): assert shop.core.ask(1) == 42
def test_cwd():
    code = "import pathlib; print(pathlib.Path('tests/expected.txt').read_text())"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=os.getcwd(), text=True).strip() == "42"
    assert shop.core.plain(1) == 2
def test_table(): assert shop.core.TABLE == {1: "one"}
def test_written(tmp_path):
    (tmp_path / "a").write_text("a")
    assert shop.core.plain(3) == 6
"""
CASES = [
    Case("read", "+ n", "- n", "{}shop/core.py"),
    Case("plain", "n * 2", "n + 2", "{}shop/core.py"),
    Case("table", '"one"', '"two"', "{}shop/core.py"),
]


def fill(project: Project, source: str = "", ini: str = "pythonpath = .") -> Project:
    files = {"shop/__init__.py": "", "shop/core.py": CODE, "shop/data.txt": "41"}
    project.write({source + name: text for name, text in files.items()})
    project.write({"tests/test_core.py": TESTS, "tests/expected.txt": "42", "pytest.ini": f"[pytest]\n{ini}\n"})
    return project


def cases(source: str = "") -> list[Case]:
    return [Case(case.name, case.before, case.after, case.path.format(source)) for case in CASES]


def in_copy(project: Project, *arguments: str, env: dict[str, str] | None = None, status: int = 0) -> Run:
    """A run in a copy, after which the tree is what it was, and nothing is left."""
    ran = project.run(COPY, *arguments, env=env)
    assert ran.status == status, ran.screen
    return ran


def same_cells(project: Project, *arguments: str, env: dict[str, str] | None = None) -> Run:
    plain = project.run(*arguments, "--kill-matrix-fresh", env=env)
    assert plain.status == 0, plain.screen
    cells, keys = plain.cells(), plain.data["mutants"]
    copied = in_copy(project, *arguments, "--kill-matrix-fresh", env=env)
    assert copied.cells() == cells
    for mutant, other in zip(copied.data["mutants"], keys, strict=True):
        assert {**mutant, "cells": None} == {**other, "cells": None}
    assert copied.data["run"]["commit"] == plain.data["run"]["commit"]
    assert "killmatrix-sandbox-" not in copied.report.read_text(encoding="utf-8")
    return copied


def test_the_users_tree_is_not_touched(project: Project) -> None:
    fill(project).cases(
        [
            Case("delete", "return n * 2", "shutil.rmtree(HERE); return n * 2", "shop/core.py"),
            Case("overwrite", "return n * 2", "(HERE / '__init__.py').write_text('1/0'); return n * 2", "shop/core.py"),
            Case("cwd", "return n * 2", "open('left', 'w').write('x'); return n * 2", "shop/core.py"),
            Case("up", "return n * 2", "shutil.rmtree(HERE.parent / 'tests'); return n * 2", "shop/core.py"),
        ]
    )
    before = project.snapshot()
    ran = in_copy(project)
    assert project.snapshot() == before
    assert project.sidecar.exists()
    assert set(ran.statuses()) == {"delete", "overwrite", "cwd", "up"}
    ran.lines.fnmatch_lines(["*tests and mutants ran in a disposable copy of the project*"])
    ran.lines.fnmatch_lines(["*files of the project changed during the run*"])


@pytest.mark.parametrize(("source", "ini"), [("", "pythonpath = ."), ("src/", "pythonpath = src")])
def test_cells_are_the_same(project: Project, source: str, ini: str) -> None:
    fill(project, source, ini).cases(cases(source))
    environment = {"PYTHONPATH": f"{project.path / source}{os.pathsep}{Path(__file__).parent / 'plugin'}"}
    ran = same_cells(project, env=environment)
    assert ran.statuses() == {"read": "killed", "plain": "killed", "table": "killed"}


def test_from_a_folder_below_and_with_absolute_words(project: Project) -> None:
    fill(project).cases(cases())
    project.write({"tests/conftest.py": "def pytest_addoption(parser): parser.addoption('--own', required=True)\n"})
    words = [
        "--own=1", f"--mutate={project.path / 'shop'}", "--rootdir", str(project.path), "-c",
        str(project.path / "pytest.ini"), f"{project.path / 'tests' / 'test_core.py'}::test_read",
        "test_core.py::test_table",
    ]  # fmt: skip
    command = project.command(COPY, *words)
    before = project.snapshot()
    ran = project.execute(["sh", "-c", 'cd tests && exec "$@"', "sh", *command])
    assert ran.status == 0, ran.screen
    assert (ran.left, project.changes(before)) == ([], [])
    assert ran.statuses() == {"read": "killed", "plain": "no_coverage", "table": "killed"}
    assert [test["nodeid"].rpartition("::")[2] for test in ran.data["tests"]] == ["test_read", "test_table"]
    assert project.sidecar.exists()


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], str]:
    """Installs a project in editable mode: a path entry, or setuptools' finder; gives the interpreter."""

    def install(root: Path, kind: str) -> str:
        place = tmp_path_factory.mktemp("venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", place], check=True)
        python = place / "bin" / "python"
        ask = "import site; print(site.getsitepackages()[0])"
        site = Path(subprocess.check_output([python, "-c", ask], text=True).strip())
        ours = "\n".join(path for path in sys.path if path.endswith("site-packages"))
        (site / "base.pth").write_text(f"{ours}\n{Path(__file__).parents[2]}\n")
        if kind == "path":
            (site / "shop.pth").write_text(f"{root / 'src'}\n")
        else:
            (site / "__editable___shop_finder.py").write_text(FINDER.format(path=str(root / "src" / "shop")))
            (site / "shop.pth").write_text("import __editable___shop_finder; __editable___shop_finder.install()\n")
        return str(python)

    return install


FINDER = """\
import sys
from importlib.util import spec_from_file_location
MAPPING = {{"shop": {path!r}}}
class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            place = MAPPING[fullname]
            return spec_from_file_location(fullname, place + "/__init__.py", submodule_search_locations=[place])
def install():
    sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize("kind", ["path", "finder"])
def test_an_editable_installation(project: Project, venv: Callable[[Path, str], str], kind: str) -> None:
    fill(project, "src/", "").cases(cases("src/"))
    python = venv(project.path, kind)
    before = project.snapshot()
    ran = project.execute([python, *project.command(COPY)[1:]])
    assert ran.status == 0, ran.screen
    assert (ran.left, project.changes(before)) == ([], [])
    assert ran.statuses() == {"read": "killed", "plain": "killed", "table": "killed"}
    assert "passed" in ran.outcomes("table").values() or ran.outcomes("table")["test_table"] == "assertion"


def test_modules_from_the_users_tree_are_refused(project: Project) -> None:
    fill(project, "src/", "")
    project.write({"conftest.py": f"import sys\nsys.path.insert(0, {str(project.path / 'src')!r})\n"})
    ran = in_copy(project, status=4)
    ran.lines.fnmatch_lines(["*--kill-matrix-sandbox=copy: the tests import shop*, and not its copy; install*"])
    assert not project.sidecar.exists()


def test_an_interrupted_run_resumes_in_another_copy(project: Project) -> None:
    fill(project).cases(cases())
    project.write({
        "tests/test_slow.py": """\
            import os, time, shop.core
            def test_slow():
                assert shop.core.plain(2) in (4, time.sleep(float(os.environ.get("SLOW", "0"))))
        """
    })  # fmt: skip
    before = project.snapshot()
    process = project.start(project.command(COPY, "--kill-matrix-workers=1"), env={"SLOW": "0"})
    deadline = time.monotonic() + 60
    while process.poll() is None and not project.sidecar.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    ran = project.finish(process)
    assert (ran.left, project.changes(before)) == ([], [])
    again = in_copy(project)
    assert again.statuses() == {"read": "killed", "plain": "killed", "table": "killed"}


def test_a_killed_run_leaves_nothing(project: Project) -> None:
    fill(project).cases(cases())
    project.write({"tests/test_slow.py": "import time\ndef test_slow(): time.sleep(60)\n"})
    before = project.snapshot()
    process = project.start(project.command(COPY))
    deadline = time.monotonic() + 60
    while not project.directories() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1.5)
    process.kill()
    process.wait()
    while project.left() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert project.left() == []
    assert project.changes(before) == []


def test_an_abandoned_copy_is_removed_by_the_next_run(project: Project) -> None:
    fill(project).cases(cases()[:1])
    stale = project.temporary / "killmatrix-sandbox-stale"
    (stale / "project").mkdir(parents=True)
    done = subprocess.Popen(["true"])
    done.wait()
    (stale / "owner").write_text(str(done.pid))
    in_copy(project)
    assert not stale.exists()


def test_what_git_ignores_stays_but_not_code(project: Project) -> None:
    fill(project).cases(cases()[:1])
    (project.path / "tests" / "test_files.py").write_text(
        "import os\n"
        "def test_files():\n"
        "    assert sorted(os.listdir('generated')) == ['made.py'] and not os.path.exists('.git')\n"
        "    assert os.path.realpath('inside') == os.path.realpath('shop/data.txt')\n"
        "    assert os.readlink('absolute') == os.path.abspath('shop/data.txt')\n"
        "    assert os.path.exists('outside') and os.stat('shop/data.txt').st_nlink == 1\n"
    )
    project.write({".gitignore": "generated/\n", "generated/made.py": "", "generated/huge.bin": ""})
    os.symlink("shop/data.txt", project.path / "inside")
    os.symlink(project.path / "shop" / "data.txt", project.path / "absolute")
    os.symlink("../outside", project.path / "outside")
    subprocess.run(["git", "init", "-q"], cwd=project.path, check=True)
    ran = in_copy(project)
    assert ran.test("test_files")["clean"] == "passed", ran.screen


@pytest.mark.parametrize("words", [["--kill-matrix-sandbox=move"], ["-o", "kill_matrix_sandbox=move"]])
def test_another_value_is_refused(project: Project, words: list[str]) -> None:
    fill(project)
    ran = project.run(*words)
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*--kill-matrix-sandbox=move: choose one of off, copy"])


def test_without_a_kill_matrix_there_is_no_copy(project: Project) -> None:
    fill(project, ini="pythonpath = .\nkill_matrix_sandbox = copy")
    ran = project.plain()
    assert ran.status == 0
    assert f"rootdir: {project.path}" in ran.screen


def test_from_a_program_it_is_refused(project: Project) -> None:
    fill(project)
    code = f"import pytest, sys; sys.exit(pytest.main(['--kill-matrix', '{COPY}']))"
    ran = project.execute([sys.executable, "-c", code])
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*pytest has to be started as a command*"])
