"""The process of one trial: in a directory of its own, judged by what it sent, ended with all it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.harness import fixtures, inside
from pytest_killmatrix.harness.dataplane import Outcome, TrialRecord
from pytest_killmatrix.harness.planfile import Plan
from pytest_killmatrix.harness.spans import COST, INPUT_TOKENS, OUTPUT_TOKENS, read_spans, total
from pytest_killmatrix.harness.suite import Task
from pytest_killmatrix.harness.variants import Variant, digest
from pytest_killmatrix.sandbox import disposal

_NOT_PASSED_ON: Final = ("PYTEST_XDIST", "PYTEST_CURRENT_TEST", "KILLMATRIX_")
_MAIN: Final = "import sys, pytest; sys.path[0] = sys.argv.pop(1); sys.exit(pytest.console_main())"
_EXITS: Final = {2: "pytest was interrupted", 3: "pytest failed itself", 4: "pytest refused its arguments",
                 5: "no grader was selected"}  # fmt: skip
_TAIL: Final = 4096


@dataclass(frozen=True, slots=True)
class Job:
    """One trial to run."""

    variant: Variant
    task: Task
    trial: int
    attempt: int = 1

    @property
    def label(self) -> str:
        return f"{self.variant.name} {self.task.name} {self.trial}"


class Running:
    """A trial that runs: a process in a session of its own, and its folder below ``temporary``."""

    def __init__(self, job: Job, plan: Plan, temporary: Path, life: int) -> None:
        self.job = job
        self._folder = temporary / f"{job.variant.name}.{job.task.name}.{job.trial}.{job.attempt}"
        self._timeout = plan.timeout
        environment = self._prepare(plan)
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._begun = time.monotonic()
        with open(self._folder / "output", "wb") as output:
            self.process = subprocess.Popen(
                _command(job.task, plan.root, self._folder),
                cwd=self._folder / "work", env={**environment, inside.LIFE: str(life)}, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(life,),
            )  # fmt: skip

    def finished(self) -> bool:
        """Whether it has ended or its time is up."""
        return self.process.poll() is not None or time.monotonic() - self._begun > self._timeout

    def end(self) -> None:
        """End the process and its group, whatever it does, and remove its folder."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        disposal.remove(self._folder)

    def conclude(self) -> TrialRecord:
        """What the trial came to; ends it."""
        ended = self.process.poll()
        seconds = time.monotonic() - self._begun
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        try:
            outcome, reason, tests = self._verdict(ended)
            spans, bad = read_spans(self._folder / "spans.jsonl")
        finally:
            self.end()
        job = self.job
        number = {
            name: None if (value := total(spans, name)) is None else int(value)
            for name in (INPUT_TOKENS, OUTPUT_TOKENS)
        }
        return TrialRecord(
            harness=job.variant.harness, variant=job.variant.name, variant_fingerprint=job.variant.fingerprint,
            task=job.task.name, task_fingerprint=job.task.fingerprint, trial=job.trial, outcome=outcome, reason=reason,
            attempts=job.attempt, started=self._started, seconds=round(seconds, 3), cost_usd=total(spans, COST),
            input_tokens=number[INPUT_TOKENS], output_tokens=number[OUTPUT_TOKENS], tests=tests, bad_spans=bad,
            spans=spans,
        )  # fmt: skip

    def _prepare(self, plan: Plan) -> dict[str, str]:
        """Make the folder; the environment of the process."""
        job, folder = self.job, self._folder
        for name in ("work", "tmp"):
            (folder / name).mkdir(parents=True)
        spans, variant, trial = folder / "spans.jsonl", folder / "variant.json", folder / "trial.json"
        spans.touch()
        variant.write_text(json.dumps(job.variant.as_dict(), indent=1), encoding="utf-8")
        task = {**job.task.as_dict(), "files": [str((plan.root / name).resolve()) for name in job.task.files]}
        about = {
            "harness": plan.harness, "variant": str(variant), "task": task, "trial": job.trial, "seed": seed_of(job),
            "directory": str(folder / "work"), "spans": str(spans),
        }  # fmt: skip
        trial.write_text(json.dumps(about, indent=1), encoding="utf-8")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_PASSED_ON)}
        return {
            **inherited,
            fixtures.VARIANT: str(variant),
            fixtures.TRIAL: str(trial),
            fixtures.SPANS: str(spans),
            inside.RESULT: str(folder / "result.json"),
            "TMPDIR": str(folder / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _verdict(self, status: int | None) -> tuple[Outcome, str | None, Mapping[str, str]]:
        declared = self._folder / fixtures.FAULT
        if declared.exists():
            return Outcome.FAULT, declared.read_text(encoding="utf-8") or "declared by a grader", {}
        try:  # what was sent counts, also where the process would not end, or died, after it
            return judge(json.loads((self._folder / "result.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            pass
        if status is None:
            return Outcome.FAULT, f"not finished after {self._timeout:g} s", {}
        return Outcome.FAULT, f"died without a verdict (exit status {status}): {self._last_words()}", {}

    def _last_words(self) -> str:
        """The last line that was printed."""
        with open(self._folder / "output", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "it printed nothing")


def judge(result: Mapping[str, Any]) -> tuple[Outcome, str | None, Mapping[str, str]]:
    """The outcome of a trial from what became of its graders: ``exit``, ``tests`` (by node id) and ``messages``.

    A grader that fails judges. One that cannot judge (an error in a fixture, a file that cannot be collected) makes
    the trial a fault, as does a trial in which no grader passed or failed.
    """
    tests: Mapping[str, str] = result["tests"]
    found = set(tests.values())
    because = "; ".join(result["messages"]) or None
    if "error" in found:
        return Outcome.FAULT, f"a grader could not judge: {because}", tests
    if result["exit"] not in (0, 1):
        return Outcome.FAULT, because or _EXITS.get(result["exit"], f"pytest's exit status {result['exit']}"), tests
    if "failed" in found:
        return Outcome.UNRESOLVED, because, tests
    if "passed" not in found:
        return Outcome.FAULT, "no grader passed or failed: all were skipped", tests
    return Outcome.RESOLVED, None, tests


def seed_of(job: Job) -> int:
    """A number below 2**31, other for every trial and the same when it is run again."""
    return int(digest([job.variant.name, job.variant.fingerprint, job.task.name, job.trial]), 16) % 2**31


def _command(task: Task, root: Path, folder: Path) -> list[str]:
    words = [sys.executable, "-c", _MAIN, str(root), "-p", "killmatrix", "-p", "pytest_killmatrix.harness.inside"]
    # The current directory is elsewhere, so pytest would not find conftests between it and the tests by itself.
    words += [f"--rootdir={root}", "-p", "no:cacheprovider", f"--basetemp={folder / 'tmp' / 'pytest'}"]
    for option, value in (("-k", task.keyword), ("-m", task.marks)):
        if value is not None:
            words += [option, value]
    return [*words, *(_absolute(test, root) for test in task.tests)]


def _absolute(test: str, root: Path) -> str:
    path, separator, rest = test.partition("::")
    return f"{(root / path).resolve()}{separator}{rest}"
