"""Small projects for behaviour tests: written to a directory, run in a process of their own, looked at afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parent / "behaviour" / "plugin"
MARKER = "KILLMATRIX_TEST_PROJECT"
KILLS = frozenset({"assertion", "exception", "crash", "timeout"})
_NOT_PASSED_ON = ("PYTEST", "COV", "TOX", "PYTHONHASHSEED", "PYTHONPATH", "PYTHONWARNINGS")
_CACHES = ("__pycache__", ".pytest_cache", ".git")


@dataclass(frozen=True)
class Case:
    """A mutant picked by hand: ``before``, which occurs once in the file, becomes ``after``."""

    name: str
    before: str
    after: str
    path: str = "code.py"


@dataclass
class Run:
    """What a run of pytest did: its exit status, its screen, and the JSON report where there is one."""

    status: int
    screen: str
    seconds: float
    report: Path
    left: list[str] = field(default_factory=list)

    @property
    def lines(self) -> pytest.LineMatcher:
        """The screen, to match lines against."""
        return pytest.LineMatcher(self.screen.splitlines())

    @property
    def data(self) -> dict[str, Any]:
        """The JSON report."""
        assert self.report.exists(), f"no report, exit status {self.status}\n{self.screen}"
        found: dict[str, Any] = json.loads(self.report.read_text(encoding="utf-8"))
        return found

    def mutant(self, name: str) -> dict[str, Any]:
        """The one mutant of the case of this name."""
        found = [mutant for mutant in self.data["mutants"] if mutant["operator"] == f"case:{name}"]
        assert len(found) == 1, (name, [mutant["operator"] for mutant in self.data["mutants"]])
        return dict(found[0])

    def statuses(self) -> dict[str, str]:
        """The status of every case by its name."""
        return {mutant["operator"].removeprefix("case:"): mutant["status"] for mutant in self.data["mutants"]}

    def outcomes(self, name: str) -> dict[str, str]:
        """The outcomes of one case's cells, by the tests' names without their file."""
        return {_short(cell["test"]): cell["outcome"] for cell in self.mutant(name)["cells"]}

    def cell(self, name: str) -> dict[str, Any]:
        """The one cell of a case."""
        cells = self.mutant(name)["cells"]
        assert len(cells) == 1, cells
        return dict(cells[0])

    def cells(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        """All that every cell says, except how long it took and how often it ran; by mutant and test."""
        return {
            (mutant["key"], cell["test"]): (
                cell["outcome"], cell["phase"], cell["exception"], cell["message"], cell["raised_at"], cell["reason"],
                *cell["flags"],
            )
            for mutant in self.data["mutants"]
            for cell in mutant["cells"]
        }  # fmt: skip

    def test(self, name: str) -> dict[str, Any]:
        """The one test whose node id ends with this."""
        found = [test for test in self.data["tests"] if test["nodeid"].endswith(name)]
        assert len(found) == 1, (name, [test["nodeid"] for test in self.data["tests"]])
        return dict(found[0])


class Project:
    """A directory with a project in it, and a temporary directory that its runs have for themselves."""

    def __init__(self, base: Path) -> None:
        self.path = base / "project"
        self.temporary = base / "temporary"
        self.outside = base / "outside"
        for folder in (self.path, self.temporary, self.outside):
            folder.mkdir()
        self.report = self.outside / "report.json"
        self._cases: list[Case] = []
        self.write({"pytest.ini": "[pytest]\n"})

    def write(self, files: Mapping[str, str]) -> Project:
        """Write files, their text dedented."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def cases(self, cases: Iterable[Case]) -> Project:
        """Add mutants."""
        self._cases.extend(cases)
        return self

    @property
    def sidecar(self) -> Path:
        """Where the results are."""
        return self.path / ".killmatrix.sqlite"

    def command(self, *arguments: str) -> list[str]:
        """The command of a run; with hand-picked mutants, only these are made."""
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly"]
        if self._cases:
            words += ["-p", "killmatrix_cases", "--mutation-operators=case:*"]
        return [*words, "--kill-matrix", f"--kill-matrix-json={self.report}", *arguments]

    def start(
        self, command: Sequence[str], env: Mapping[str, str] | None = None, screen: str = "screen"
    ) -> subprocess.Popen[bytes]:
        """Start a command in the project; its screen goes to a file, which an orphan cannot keep us waiting for."""
        listing = self.outside / "cases.json"
        listing.write_text(json.dumps([vars(case) for case in self._cases]), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
        environment |= {
            "PYTHONPATH": str(PLUGIN),
            "PYTHONDONTWRITEBYTECODE": "1",
            "KILLMATRIX_CASES": str(listing),
            "TMPDIR": str(self.temporary),
            MARKER: str(self.path.parent),
            "COLUMNS": "120",
        }
        with open(self.outside / screen, "wb") as output:
            return subprocess.Popen(
                list(command),
                cwd=self.path,
                env=environment | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_heed_signals,
            )

    def finish(self, process: subprocess.Popen[bytes], timeout: float = 120, screen: str = "screen") -> Run:
        """Wait for a started command; nothing of it may be left."""
        started = time.monotonic()
        try:
            process.wait(timeout)
        finally:
            left = self.left()
            self.end_all()
        seconds = time.monotonic() - started
        text = (self.outside / screen).read_text(encoding="utf-8", errors="replace")
        return Run(process.returncode, text, seconds, self.report, left)

    def execute(self, command: Sequence[str], timeout: float = 120, env: Mapping[str, str] | None = None) -> Run:
        """Run a command to its end."""
        self.report.unlink(missing_ok=True)
        return self.finish(self.start(command, env), timeout)

    def run(self, *arguments: str, timeout: float = 120, env: Mapping[str, str] | None = None) -> Run:
        """Make a kill matrix; no process, no temporary directory and no changed file may be left."""
        before = self.snapshot()
        ran = self.execute(self.command(*arguments), timeout, env)
        assert ran.left == [], ran.screen
        assert self.changes(before) == [], ran.screen
        return ran

    def plain(self, *arguments: str, env: Mapping[str, str] | None = None) -> Run:
        """Run pytest without a kill matrix."""
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly"]
        return self.execute([*words, *arguments], env=env)

    # -- what is left ----------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """Every file of the project but caches and sidecars."""
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in self.path.rglob("*")
            if path.is_file() and not any(part in _CACHES for part in path.parts) and ".killmatrix" not in path.name
        }

    def changes(self, before: Mapping[str, bytes]) -> list[str]:
        """Names of the files that were changed, removed or added since a snapshot."""
        after = self.snapshot()
        return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))

    def processes(self) -> list[int]:
        """Living processes that carry this project's environment."""
        mark, found = f"{MARKER}={self.path.parent}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state = (place / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if mark in (place / "environ").read_bytes().split(b"\0") and state != "Z":
                    found.append(int(place.name))
        return found

    def directories(self) -> list[str]:
        """Temporary directories of ours."""
        return sorted(path.name for path in self.temporary.glob("killmatrix-*"))

    def left(self) -> list[str]:
        """Processes and directories that a run ought to have ended and removed."""
        return [f"process {number}" for number in self.processes()] + self.directories()

    def end_all(self) -> None:
        """End what a failed test would leave."""
        for number in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _heed_signals() -> None:
    """A shell that runs us in the background, or nohup, has these ignored, and that is inherited."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _short(nodeid: str) -> str:
    return nodeid.split("::", 1)[-1]
