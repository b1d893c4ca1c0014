"""``killmatrix harness run``: the trials of a plan, each a process; what is there already is not run again."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.executor import orphans
from pytest_killmatrix.harness.dataplane import Outcome, RunSet, TrialRecord
from pytest_killmatrix.harness.planfile import Plan, read_plan
from pytest_killmatrix.harness.process import Job, Running
from pytest_killmatrix.harness.projection import Projection, project
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.suite import check_name, selection_fingerprint
from pytest_killmatrix.sandbox import disposal

MAX_USD: Final = 40.0
_ATTEMPTS: Final = 2
_POLL: Final = 0.02
_PREFIX: Final = "killmatrix-harness-"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked for; ``max_usd`` is None where nobody gave it, ``only`` are globs on variants."""

    plan: Path
    data: Path
    run_set: str | None
    max_usd: float | None
    workers: int
    dry_run: bool
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended: ``over_budget`` and ``interrupted`` where trials were left for that."""

    run_set: RunSet
    plan: Plan
    faults: int
    left: int
    over_budget: bool = False
    interrupted: bool = False


def run_command(asked: Asked, say: Say) -> Ran | None:
    """Project, then run what is left of the plan; None after ``--dry-run``."""
    plan = read_plan(asked.plan)
    _check_graders(plan)
    run_set = RunSet(asked.data / check_name(asked.run_set or plan.run_set, "--set"))
    jobs, total, recorded = remaining(plan, run_set, asked.only)
    projection = project(
        [job.task.name for job in jobs], total, recorded, asked.workers, cost_usd=plan.cost_usd, minutes=plan.minutes
    )
    limit = MAX_USD if asked.max_usd is None else asked.max_usd
    say(f"run set {run_set.folder}: harness {plan.harness}")
    for line in projection.lines():
        say(line)
    problem = refusal(projection, limit, explicit=asked.max_usd is not None)
    if asked.dry_run:
        say(f"would be refused: {problem}" if problem else "nothing was run (--dry-run)")
        return None
    if problem:
        raise HarnessError(problem)
    if projection.usd is None:
        say("warning: what a trial costs is unknown until one has recorded it; give cost_usd in the suite file")
    with run_set.claimed(plan.harness):
        return _run(plan, run_set, jobs, limit, asked.workers, say)


def refusal(projection: Projection, limit: float, *, explicit: bool) -> str | None:
    """Why the projected cost is too high; unknown is too high where a limit was asked for."""
    if projection.usd is None and explicit:
        return (
            "what a trial costs is unknown, so --max-usd cannot be kept: give cost_usd in the suite file and plan "
            "again, or run the base alone without --max-usd (--only base)"
        )
    if projection.usd is not None and projection.usd > limit:
        return (
            f"the projected cost ${projection.usd:,.2f} is above the limit ${limit:,.2f}: give --max-usd "
            f"{ceil(projection.usd)} or more, or plan with fewer mutants (--max), tasks or trials (--n)"
        )
    return None


def remaining(plan: Plan, run_set: RunSet, only: Sequence[str] = ()) -> tuple[list[Job], int, list[TrialRecord]]:
    """The trials that have no verdict yet, the number of all, and the judged trials of the base."""
    records = {record.key: record for record in run_set.records()} if run_set.exists() else {}
    check_match(plan, run_set, list(records.values()))
    variants = [v for v in plan.variants if not only or any(fnmatch.fnmatchcase(v.name, glob) for glob in only)]
    if not variants:
        raise HarnessError(
            f"--only {' '.join(only)} matches no variant; there are {', '.join(v.name for v in plan.variants)}"
        )
    controls = {mutant.name for mutant in plan.controls}
    variants.sort(key=lambda variant: (variant.name != plan.base, variant.name not in controls))
    jobs = [Job(v, task, trial) for v in variants for task in plan.tasks for trial in range(1, plan.trials + 1)]
    left = [
        job
        for job in jobs
        if (found := records.get((job.variant.name, job.task.name, job.trial))) is None or not found.judged
    ]
    base = [record for record in records.values() if record.variant == plan.base and record.judged]
    return left, len(jobs), base


def check_match(plan: Plan, run_set: RunSet, records: Sequence[TrialRecord]) -> None:
    """Refuse a run set whose trials are not those of the plan."""
    advice = f"give another run set, or the plan that {run_set.name} was made with"
    if run_set.exists() and run_set.harness() != plan.harness:
        raise HarnessError(
            f"the run set {run_set.name} is of the harness {run_set.harness()!r}, the plan is for {plan.harness!r}: "
            f"results of different harnesses are never pooled; {advice}"
        )
    variants = {variant.name: variant.fingerprint for variant in plan.variants}
    tasks = {task.name: task.fingerprint for task in plan.tasks}
    for record in records:
        if record.harness != plan.harness:
            raise HarnessError(f"the run set {run_set.name} has trials of the harness {record.harness!r}; {advice}")
        if variants.get(record.variant, record.variant_fingerprint) != record.variant_fingerprint:
            raise HarnessError(
                f"the run set {run_set.name} does not match the plan: its {record.variant!r} is another; {advice}"
            )
        if tasks.get(record.task, record.task_fingerprint) != record.task_fingerprint:
            raise HarnessError(
                f"the run set {run_set.name} does not match the plan: its task {record.task!r} is another; {advice}"
            )


def _check_graders(plan: Plan) -> None:
    for task in plan.tasks:
        if selection_fingerprint(task, plan.root) != task.fingerprint:
            raise HarnessError(
                f"the graders or files of the task {task.name!r} changed since the plan was made: plan again, so that "
                "all variants meet the same ones"
            )


def _run(plan: Plan, run_set: RunSet, jobs: list[Job], limit: float, workers: int, say: Say) -> Ran:
    if not jobs:
        say("every trial is there already")
        return Ran(run_set, plan, 0, 0)
    schedule = _Schedule(plan, run_set, jobs, limit, say)
    try:
        with _ending_on_signals(), _temporary() as temporary:
            schedule.work(temporary, workers)
    except KeyboardInterrupt:
        say(f"interrupted: {len(schedule.records)} trials are kept; the same command goes on from there")
        return Ran(run_set, plan, schedule.faults, schedule.left, interrupted=True)
    return Ran(run_set, plan, schedule.faults, schedule.left, over_budget=schedule.over_budget)


class _Schedule:
    """Which trials wait, which run, and what they came to."""

    def __init__(self, plan: Plan, run_set: RunSet, jobs: list[Job], limit: float, say: Say) -> None:
        self.plan = plan
        self.run_set = run_set
        self.waiting = list(reversed(jobs))
        self.records: list[TrialRecord] = []
        self._limit = limit
        self._say = say
        self._number = len(jobs)
        self._running: list[Running] = []
        self._spent = 0.0

    @property
    def faults(self) -> int:
        return sum(not record.judged for record in self.records)

    @property
    def left(self) -> int:
        return self._number - len(self.records)

    @property
    def over_budget(self) -> bool:
        return self._spent > self._limit

    def work(self, temporary: Path, workers: int) -> None:
        """Run everything, or until the limit is passed; whatever happens, nothing that was started goes on."""
        life, ours = os.pipe()
        try:
            while self._running or (self.waiting and not self.over_budget):
                while self.waiting and len(self._running) < workers and not self.over_budget:
                    self._running.append(Running(self.waiting.pop(), self.plan, temporary, life))
                done = [running for running in self._running if running.finished()]
                for running in done:
                    self._conclude(running)
                    self._running.remove(running)
                if not done:
                    time.sleep(_POLL)
        finally:
            for running in self._running:
                running.end()
            os.close(ours)
            os.close(life)
            orphans.end_all(())
        if self.over_budget and self.waiting:
            self._say(
                f"stopped: ${self._spent:,.2f} were spent, the limit is ${self._limit:,.2f}; {len(self.waiting)} "
                "trials are left: give a higher --max-usd to go on"
            )

    def _conclude(self, running: Running) -> None:
        record = running.conclude()
        orphans.end_older((other.process.pid for other in self._running if other is not running), ())
        self._spent += record.cost_usd or (self.plan.cost_usd or 0.0 if record.cost_usd is None else 0.0)
        if not record.judged and record.attempts < _ATTEMPTS:
            self._say(f"fault, once more: {running.job.label}: {record.reason}")
            self.waiting.append(replace(running.job, attempt=record.attempts + 1))
            return
        self.run_set.write(record)
        self.records.append(record)
        self._say(self._line(record))

    def _line(self, record: TrialRecord) -> str:
        cost = "" if record.cost_usd is None else f" ${record.cost_usd:.2f}"
        why = f"  {record.reason}" if record.outcome is Outcome.FAULT else ""
        trace = f"  {record.bad_spans} lines of its trace are no JSON objects" if record.bad_spans else ""
        place = f"{len(self.records):>{len(str(self._number))}}/{self._number}"
        return (
            f"{place} {record.outcome.value:<10} {record.variant} {record.task} {record.trial}  "
            f"{record.seconds:.1f} s{cost}{why}{trace}"
        )


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """A directory for the trials, which somebody removes even if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    watcher = None
    try:
        watcher = disposal.watch(folder)
        orphans.adopt()
        yield folder
    finally:
        disposal.remove(folder)
        if watcher is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(watcher, signal.SIGKILL)


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end a run as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
