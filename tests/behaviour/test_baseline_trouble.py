"""``--mutation-baseline`` with what is wrong, missing, in the way, or declared."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from projects import Project, Run
from repositories import GAINED, NEW_TEST, OLD_TEST, SHOP, Repository, delta, gained


@pytest.mark.lengthy
def test_an_old_conftest_that_cannot_be_loaded(repository: Repository) -> None:
    repository.commit(
        {"shop.py": SHOP + "    OLD = 1\n", "conftest.py": "from shop import OLD\n", "test_shop.py": OLD_TEST}
    )
    repository.write({"shop.py": SHOP, "conftest.py": ""})
    ran = repository.run("--mutation-scope=all", status=4)
    ran.lines.fnmatch_lines(["*no delta: the tests of HEAD cannot be collected with today's source: *OLD*"])


@pytest.mark.parametrize("where", ["collected", "come to their end"])
@pytest.mark.lengthy
def test_an_old_suite_that_hangs(repository: Repository, where: str) -> None:
    """While it is imported, or while it runs on today's source."""
    hurry = "import pytest_killmatrix.making as making\nmaking._AT_LEAST, making._PATIENCE = 2, 0\n"
    hang = "import time, shop\n{}def test_old(): time.sleep({}); shop.price(1, True)\n"
    repository.commit({"shop.py": SHOP, "conftest.py": hurry, "test_shop.py": OLD_TEST})
    old = hang.format("time.sleep(900)\n", 0) if where == "collected" else hang.format("", 900)
    repository.commit({"test_old.py": old})
    repository.write({"test_old.py": None})
    ran = repository.run("--mutation-scope=all", status=4)
    ran.lines.fnmatch_lines([f"*no delta: the tests of HEAD *{where}*within 2 s*"])


BASELINE = "--mutation-baseline=HEAD"
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no such ref": (("--mutation-baseline=nowhere",), "*nowhere is no commit that this repository has; git fetch *"),
    "an option for a ref": (("--mutation-baseline=-x",), "*'-x' is no git ref; give a branch*"),
    "no such branch to leave": (("--mutation-baseline=merge-base:nowhere",), "*nowhere is no commit *"),
    "a scope without a baseline": (("--mutation-scope=changed",), "*=changed: what changed is known with*"),
    "a share of what the tests choose": (
        (BASELINE, "--mutation-scope=covered", "--mutation-min-gain=20%"), "*the new tests choose*",
    ),
    "a gain that is no number": ((BASELINE, "--mutation-min-gain=some"), "*give a number of mutants*"),
    "the tests of the last run": ((BASELINE, "--lf", "-p", "cacheprovider"), "*--lf selects by the last run*"),
    "equivalents that are no list": ((BASELINE, "--mutation-equivalents=pytest.ini"), "*pytest.ini:1: an entry has*"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.lengthy
def test_bad_input(repository: Repository, name: str) -> None:
    arguments, message = REFUSED[name]
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    ran = repository.project.run(*arguments)
    assert ran.status == 4
    ran.lines.fnmatch_lines([message])
    assert not repository.project.sidecar.exists()


def test_a_temporary_directory_inside_the_repository(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST, ".gitignore": "tmp\n"})
    (repository.project.path / "tmp").mkdir()
    ran = repository.run(status=4, env={"TMPDIR": str(repository.project.path / "tmp")})
    ran.lines.fnmatch_lines(["*no delta: the temporary directory * is inside the repository; set TMPDIR*"])


@pytest.mark.lengthy
def test_in_a_sandbox(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    ran = repository.run("--mutation-scope=all", "--kill-matrix-sandbox=copy")
    assert set(gained(ran)) >= set(GAINED), ran.screen


def test_outside_git(new_project: Callable[[], Project]) -> None:
    project = new_project().write({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    ran = project.run("--mutation-baseline=main", env={"GIT_CEILING_DIRECTORIES": str(project.path.parent)})
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*is in no git repository, so there is nothing to compare with*"])


@pytest.mark.lengthy
def test_a_repository_that_git_will_not_touch(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    (repository.top / ".git" / "config").write_text("[core", encoding="utf-8")
    ran = repository.project.run("--mutation-baseline=HEAD")
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*git cannot look into *: *bad config*"])


def test_a_shallow_clone_says_what_to_fetch(repository: Repository, new_project: Callable[[], Project]) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST}).git("branch", "before")
    repository.commit({"test_shop.py": OLD_TEST + NEW_TEST})
    project = new_project()
    (project.path / "pytest.ini").unlink()
    words = ["git", "clone", "-q", "--depth=1", "--single-branch", f"file://{repository.top}", str(project.path)]
    subprocess.run(words, check=True, capture_output=True)
    ran = project.run("--mutation-baseline=before")
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*before is no commit that this repository has; this clone is shallow: git fetch *"])


@pytest.mark.lengthy
def test_where_the_branch_left(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST}).git("checkout", "-q", "-b", "topic")
    repository.commit({"test_shop.py": OLD_TEST + NEW_TEST}).git("checkout", "-q", "main")
    repository.commit({"test_other.py": "def test_other(): pass\n"}).git("checkout", "-q", "topic")
    facts = delta(repository.run("--mutation-scope=all", ref="merge-base:main"))
    assert facts["tests"]["added"] == ["test_shop.py::test_vip"]
    assert facts["tests"]["removed"] == []


@pytest.mark.lengthy
def test_a_killed_run_leaves_nothing(repository: Repository) -> None:
    slow = "import time, shop\ndef test_slow(): time.sleep(0.3); assert shop.price(1, True) == 4\n"
    repository.commit({"shop.py": SHOP, "test_shop.py": slow})
    repository.write({"test_shop.py": slow.replace("0.3", "0.2")})
    project = repository.project
    process = project.start(project.command("--mutation-baseline=HEAD", "--mutation-scope=all"))
    try:
        _wait(lambda: bool(list(project.temporary.glob("killmatrix-sandbox-*/old.sqlite"))))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _wait(lambda: not project.left())
    finally:
        project.end_all()
    assert Path(project.path / "test_shop.py").exists()


def _wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def _made(ran: Run) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The mutants and the delta, before another run takes the place of this one's report."""
    return ran.data["mutants"], delta(ran)


@pytest.mark.lengthy
def test_declared_equivalents_leave_the_headroom(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    mutants, before = _made(repository.run("--mutation-scope=all"))
    alive = next(mutant["key"] for mutant in mutants if mutant["status"] == "survived")
    entry = "- {{key: '{}', reason: same, who: me, when: 2026-01-01}}\n"
    repository.write({"equivalents.yaml": entry.format(alive)})
    declared, after = _made(repository.run("--mutation-scope=all", "--mutation-equivalents=equivalents.yaml"))
    assert after["headroom"] == before["headroom"] - 1
    (mutant,) = [mutant for mutant in declared if mutant["key"] == alive]
    assert (mutant["status"], mutant["reason"]) == ("equivalent", "declared: same (me, 2026-01-01)")
    killed = next(mutant["key"] for mutant in mutants if mutant["status"] == "killed")
    repository.write({"equivalents.yaml": entry.format(killed)})
    third = repository.run("--mutation-scope=all", "--mutation-equivalents=equivalents.yaml", status=4)
    assert f"{killed} is declared equivalent, and a test notices it" in " ".join(third.screen.split())
