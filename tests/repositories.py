"""Projects in git, for tests of baselines; and the shop that they are about."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any

from projects import Project, Run

SHOP = """\
    def price(count, vip):
        total = count * 7
        if vip:
            total = total - 3
        return total

    def label(name):
        return name.strip().upper()
    """
OLD_TEST = """\
    from shop import label, price
    def test_price(): assert price(2, False) == 14
    def test_smoke(): price(1, True); label("a")
    """
NEW_TEST = "\n    def test_vip(): assert price(2, True) == 11\n"
GAINED = {"total - 3": "assertion", "3": "assertion", "total = total - 3": "assertion"}


class Repository:
    """A project in git: ``commit`` what is there now."""

    def __init__(self, project: Project, below: str = "") -> None:
        self.project = project
        self.top = project.path
        if below:
            project.path = project.path / below
            project.path.mkdir(parents=True)
            project.write({"pytest.ini": "[pytest]\n"})
            (self.top / "pytest.ini").unlink()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.com")
        self.git("config", "user.name", "A")

    def git(self, *words: str) -> str:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ["GIT_OPTIONAL_LOCKS"] = "0"
        done = subprocess.run(["git", *words], cwd=self.top, env=environ, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self, files: Mapping[str, str | None]) -> Repository:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")
        return self

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            if text is None:
                (self.project.path / name).unlink()
            else:
                self.project.write({name: text})

    def state(self) -> tuple[str, ...]:
        """Everything that git could tell changed."""
        index = (self.top / ".git" / "index").read_bytes().hex()
        commands = (["status", "--porcelain"], ["stash", "list"], ["worktree", "list"], ["branch", "-a"])
        told = "".join(self.git(*words) for words in commands)
        return (index, *(line for line in told.splitlines() if ".killmatrix.sqlite" not in line))

    def run(self, *arguments: str, ref: str = "HEAD", status: int = 0, env: Mapping[str, str] | None = None) -> Run:
        before = self.state()
        ran = self.project.run(f"--mutation-baseline={ref}", *arguments, env=env)
        assert ran.status == status, ran.screen
        assert self.state() == before
        return ran


def delta(ran: Run) -> dict[str, Any]:
    found: dict[str, Any] = ran.data["delta"]
    return found


def gained(ran: Run) -> dict[str, str]:
    """How each gained mutant was, by its original text."""
    mutants = {mutant["key"]: mutant["original"] for mutant in ran.data["mutants"]}
    return {mutants[gain["mutant"]]: gain["by"] for gain in delta(ran)["gained"]}
