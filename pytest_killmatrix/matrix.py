"""Runs the plan: rows, then whatever has to be run again before a cell may be believed."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from pytest_killmatrix.executor.base import Runs
from pytest_killmatrix.executor.pool import Found, TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.finishing import Finisher
from pytest_killmatrix.jobs import Done, Job, Kind, Subjects, Trust
from pytest_killmatrix.model import Outcome, Phase, Status
from pytest_killmatrix.plan import Planned, narrowed
from pytest_killmatrix.rows import (
    Row,
    RowReading,
    agrees,
    chunks,
    doubtful_timeouts,
    keep_all,
    read_row,
    some,
    to_confirm,
)
from pytest_killmatrix.tasks import Tasks

_ASK_AT_LEAST: Final = 20  # kills of a file that are run again before a sample has to do
_MOST_SPLIT: Final = 100  # tests of a survivor that are split, where more than that leave state behind
_HOLD_AT_LEAST: Final = 8  # rows of a file whose children hold what they imported, whatever becomes of it
_HOLD_ONE_IN: Final = 3  # rows of which one has to have something run again, for it to go on so
_WAITING: Final = 50_000  # cells of mutants that wait for a stretch with one child at a time; then there is one


class Matrix:
    """Feeds the pool and turns results into ``Done``; ``cpu`` is by phase, in seconds."""

    def __init__(
        self,
        pool: Runs,
        subjects: Subjects,
        isolate: bool,
        provisional: bool,
        lean: bool,
        task_ids: Iterator[int],
        *,
        forks: bool,
    ) -> None:
        """``forks`` says whether a child may be forked once more."""
        self._pool = pool
        self._subjects = subjects
        self._isolate = isolate
        self._finisher = Finisher(subjects, provisional=provisional)
        self._tasks = Tasks(subjects, task_ids, lean=lean, forks=forks)
        self._forks = forks
        self._jobs: dict[int, tuple[Job, Kind]] = {}
        self._serial: list[Job] = []
        self._recheck: list[Job] = []
        self._waiting = 0  # cells that these two hold
        self._fallen: list[Planned] = []
        self._trust: defaultdict[str, Trust] = defaultdict(Trust)
        self._went: dict[int, Planned] = {}  # how each mutant was judged in the end
        self.cpu = {"swap": 0.0, "collection": 0.0, "static": 0.0, "confirm": 0.0}

    def run(
        self, plan: Sequence[Planned], tick: Callable[[], None], advance: Callable[[Planned], None]
    ) -> Iterator[Done]:
        """Run every mutant of the plan that has tests, the widest stretch in parallel; each result once it is final."""
        runnable = [planned for planned in plan if planned.status is None]
        for planned in runnable:
            if not planned.tests:  # all of it is kept
                advance(planned)
                yield self._done(Job(planned))
        left = deque(planned for planned in runnable if planned.tests)
        while left:
            self._waiting = 0
            yield from self._stretch(left, tick, advance)
            yield from self._recheck_timeouts(tick)
        yield from self._doubt_again(tick)
        yield from self._recheck_timeouts(tick)
        if self._fallen:
            fallen, self._fallen = self._fallen, []
            yield from self.run(fallen, tick, lambda planned: None)

    def _stretch(
        self, left: deque[Planned], tick: Callable[[], None], advance: Callable[[Planned], None]
    ) -> Iterator[Done]:
        """Run what is left, or as much of it as may wait for its last word; then the tests that run by themselves."""
        self._serial = []
        for result in self._pool.run(self._rows(left), tick=tick):
            job = self._take(result)
            if not job.outstanding:
                if not job.counted:
                    advance(job.planned)
                job.counted = True
                yield from self._settle(job)
        serial = itertools.chain.from_iterable(self._serial_tasks(job) for job in self._serial)
        for result in self._pool.run(serial, width=1, tick=tick):
            job = self._take(result)
            if not job.outstanding:
                yield from self._settle(job)

    # -- tasks -----------------------------------------------------------------------------------------------------

    def _rows(self, left: deque[Planned]) -> Iterator[Task]:
        while left and self._waiting < _WAITING:
            planned = left.popleft()
            together, apart = chunks(planned.tests, self._subjects.unsafe)
            job = Job(planned, apart)
            if planned.reload is not None:
                self._trust_in(job).rows += 1
            if apart:
                self._serial.append(job)
                self._waiting += len(planned.tests)
            if not together:
                continue
            yield from self._row_tasks(job, together, Kind.ROW, alone=self._isolate)

    def _serial_tasks(self, job: Job) -> Iterator[Task]:
        return self._row_tasks(job, job.apart, Kind.ROW, alone=self._isolate or bool(job.isolated))

    def _row_tasks(self, job: Job, tests: Sequence[int], kind: Kind, *, alone: bool) -> Iterator[Task]:
        apart = alone and self._forks and job.planned.reload is not None
        groups = self._tasks.groups(job.planned, tests) if alone else [tuple(tests)]
        job.outstanding += len(groups)
        for group in groups:
            yield self._task(job, group, kind, Purpose.ROW, marked=True, apart=apart)

    def _task(
        self, job: Job, tests: tuple[int, ...], kind: Kind, purpose: Purpose, *, marked: bool, apart: bool = False
    ) -> Task:
        hold = kind is Kind.ROW and len(tests) > 1 and not apart and self._holds(job)
        task = self._tasks.make(job, tests, kind, purpose, marked=marked, apart=apart, hold=hold)
        self._jobs[task.id] = (job, kind)
        return task

    # -- results ---------------------------------------------------------------------------------------------------

    def _take(self, result: TaskResult) -> Job:
        job, kind = self._jobs.pop(result.task.id)
        job.outstanding -= 1
        self.cpu[job.planned.route.value if kind is Kind.ROW else "confirm"] += result.cpu
        if result.invalid is not None:
            job.invalid, job.loaded = result.invalid, result.loaded
        elif result.obstacle is not None:
            job.not_live = result.obstacle
        elif result.fault is not None:
            self._fault(job, result, kind)
        elif kind is Kind.REVERSE:
            self._reverse(job, result)
        elif kind is Kind.SPLIT:
            for found in result.found:
                job.note(found)
            self._isolate_job(job, [found.test for found in result.found if found.outcome.kills])
        elif kind in (Kind.ROW, Kind.ISOLATE, Kind.RESOLVE, Kind.RETRY):
            self._row(job, result, kind)
        else:
            self._alone(job, result)
        return job

    def _fault(self, job: Job, result: TaskResult, kind: Kind) -> None:
        if kind is not Kind.RETRY:
            job.outstanding += 1
            self._pool.add(self._task(job, result.task.tests, Kind.RETRY, Purpose.CONFIRM, marked=True))
            return
        job.error = result.fault
        for test in result.task.tests:
            message = (result.fault or "").strip().rsplit("\n", 1)[-1]
            job.cells[test] = Found(
                test, Outcome.ERROR, Phase.CALL, None, message, None, 0.0, (), False, False
            )  # fmt: skip

    def _row(self, job: Job, result: TaskResult, kind: Kind) -> None:
        single = result.task.apart or len(result.task.tests) == 1
        static = job.planned.reload is not None or self._subjects.mutants[job.planned.mutant].static
        quiet = job.planned.reload is not None and not result.task.own
        row = Row(
            (True, True) if quiet else result.collected,
            # what an import evaluates, every test of that process has met
            result.task.tests if job.planned.reload is not None else result.task.recollected,
            () if single else self._subjects.wide,
            () if static else frozenset(job.planned.alone),
            result.task.apart,
            job.planned.strangers,
        )
        for found in result.found:
            job.note(found)
        reading = read_row(result.found, row)
        if job.planned.whole:
            keep_all(reading, result.found, row.collected)
        if result.collected is not None and not result.collected[0] and not static:
            job.not_live = "something hides it while its test file is collected again"
            return
        if single:
            job.absent |= reading.absent
        job.entered |= reading.entered
        job.evaluated |= reading.evaluated
        for test in reading.unreached:
            job.cells.pop(test, None)
        job.unreached |= reading.unreached
        job.provisional.update(reading.shaken)
        for test, cell in reading.cells.items():
            if kind is Kind.ISOLATE and test in job.confirmed:
                continue  # the plain mutant, alone, has said its word already
            job.cells[test] = cell
            if single:
                job.alone.add(test)
        failed = any(cell.outcome is Outcome.ERROR for cell in reading.cells.values())
        if kind is not Kind.ISOLATE and (not single or (failed and kind is Kind.ROW)):
            self._follow_up(job, reading, kind)

    def _follow_up(self, job: Job, reading: RowReading, kind: Kind) -> None:
        if reading.shared_fixture_broke:
            self._isolate_job(job, self._part_of(job, next(iter(reading.cells))))
            return
        # together first: where none of them evaluates the mutant, one child settles it for all
        groups = [(test,) for test in reading.uncertain] if kind is Kind.RESOLVE else [tuple(reading.uncertain)]
        for group in groups if reading.uncertain else ():
            job.outstanding += 1
            self._pool.add(self._task(job, group, Kind.RESOLVE, Purpose.CONFIRM, marked=True))
        mutant = self._subjects.mutants[job.planned.mutant]
        trust = self._trust_in(job)
        chosen, believed = to_confirm(mutant.key, reading, thorough=trust.refuted or trust.asked < _ASK_AT_LEAST)
        if believed is not None:
            trust.believed.append((job.planned, reading.cells[believed]))
        trust.asked += len(set(chosen) & set(reading.provisional))
        self._confirm(job, chosen)

    def _confirm(self, job: Job, tests: Sequence[int]) -> None:
        """Run these again, each alone, with the plain mutant."""
        apart = self._forks and job.planned.reload is not None
        for group in self._tasks.groups(job.planned, tests):
            job.outstanding += 1
            self._again(job, self._task(job, group, Kind.CONFIRM, Purpose.CONFIRM, marked=False, apart=apart))

    def _isolate_job(self, job: Job, tests: Collection[int]) -> None:
        """Run a part of a row again, one child a test: what its tests said of each other's ruins is not to be kept."""
        again = [test for test in job.planned.tests if test in tests and test not in job.isolated]
        job.isolated.update(again)
        for task in self._row_tasks(job, again, Kind.ISOLATE, alone=True):
            self._again(job, task)

    def _alone(self, job: Job, result: TaskResult) -> None:
        for found in result.found:
            job.note(found)
            before = job.cells.get(found.test)
            if found.test in job.isolated or before is None:
                continue
            job.confirmed[found.test] = agrees(before, found)
            job.cells[found.test] = found
            job.alone.add(found.test)
            if before.outcome.kills and not found.outcome.kills:
                self._trust_in(job).refuted = True
            if not job.confirmed[found.test] and before.outcome is not Outcome.ERROR:
                self._isolate_job(job, self._part_of(job, found.test))

    def _part_of(self, job: Job, test: int) -> Collection[int]:
        """The tests that ran in the same row as this one."""
        together, apart = chunks(job.planned.tests, self._subjects.unsafe)
        return apart if test in apart else together

    # -- settling --------------------------------------------------------------------------------------------------

    def _settle(self, job: Job) -> Iterator[Done]:
        if not job.lost and any(test not in job.cells and test not in job.unreached for test in job.apart):
            return  # comes back when its serial part has run
        if self._turn_round(job):
            return
        if doubtful_timeouts(job.cells):
            self._recheck.append(job)
            self._waiting += len(job.cells)
            return
        done = self._done(job)
        if done.status is Status.PENDING and job.planned.reload is None and (other := self._other_way(job)) is not None:
            self._fallen.append(other)
        else:
            yield done

    def _other_way(self, job: Job) -> Planned | None:
        """A mutant that a swap did not bring to life may live where its module is imported again."""
        readers = self._subjects.code_readers
        if job.not_live is None and job.error is None and not readers.isdisjoint(job.cells):
            return None  # it lives, and its tests look at code objects
        other, kept = self._subjects.static.get(job.planned.mutant), self._finisher.kept(job)
        return narrowed(other, lambda test: test not in kept.bonds, reach=False) if other is not None else None

    def _turn_round(self, job: Job) -> bool:
        """Run a survivor's tests once more in reverse: what one test left behind may have healed a later one."""
        passed = tuple(test for test, cell in job.cells.items() if cell.outcome is Outcome.PASSED)
        together = tuple(sorted(set(passed) - set(job.apart) - set(self._subjects.needs)))
        killed = any(outcome.kills for outcome in self._finisher.outcomes(job))
        if job.reversed or killed or job.isolated or self._isolate or len(together) < 2 or job.lost:
            return False
        job.reversed = True
        job.outstanding += 1
        self._again(job, self._task(job, together[::-1], Kind.REVERSE, Purpose.CONFIRM, marked=True))
        return True

    def _trust_in(self, job: Job) -> Trust:
        return self._trust[self._subjects.mutants[job.planned.mutant].path]

    def _holds(self, job: Job) -> bool:
        """Whether it pays that a row's child keeps what it imported and collected: at the cost of a fork."""
        if job.planned.reload is None or job.planned.anew or not self._forks:
            return False
        trust = self._trust_in(job)
        return trust.again * _HOLD_ONE_IN >= trust.rows - _HOLD_AT_LEAST

    def _again(self, job: Job, task: Task) -> None:
        """Run more of the mutant whose result is being looked at: where its child still holds what it imported, there.

        Not what must not find the mutated module loaded.
        """
        if job.planned.reload is not None and not job.again:
            job.again = True
            self._trust_in(job).again += 1
        if task.reload and task.own:
            self._pool.follow(task)
        else:
            self._pool.add(task)

    def _reverse(self, job: Job, result: TaskResult) -> None:
        """Those that failed in this order run alone.

        Where tests leave state behind, which may heal in any order, no test keeps its word but one that nothing was
        left to: the row runs once more, and a new process goes on with it where a test left something.
        """
        kills = [found.test for found in result.found if found.outcome.kills]
        if not result.left:
            self._confirm(job, kills)
            return
        self._isolate_job(job, kills)
        others = sorted(set(result.task.tests) - set(kills))[1:]  # the first had nobody before it in the row
        if len(result.left) > _MOST_SPLIT:
            others = some(self._subjects.mutants[job.planned.mutant].key, others, _MOST_SPLIT)
        apart = self._forks and job.planned.reload is not None
        for group in self._tasks.groups(job.planned, others) if apart else [tuple(others)] if others else []:
            job.outstanding += 1
            self._again(job, self._task(job, group, Kind.SPLIT, Purpose.CONFIRM, marked=True, apart=apart))

    def _recheck_timeouts(self, tick: Callable[[], None]) -> Iterator[Done]:
        """A timeout that may not be the mutant's must happen again, alone, nothing beside it, on its full budget."""
        waiting, self._recheck = self._recheck, []
        self._recheck_decided(waiting, tick)
        for job in waiting:
            for test in doubtful_timeouts(job.cells):
                if job.confirmed.get(test) and job.cells[test].outcome is Outcome.TIMEOUT:
                    break
                self._recheck_these([(job, test)], 1, tick)
                if job.cells.get(test) is not None and job.cells[test].outcome is Outcome.TIMEOUT:
                    break
            if self._turn_round(job):
                for result in self._pool.run((), tick=tick):
                    self._take(result)
            yield self._done(job)

    def _recheck_decided(self, waiting: Sequence[Job], tick: Callable[[], None]) -> None:
        """Where something else decides the status, those that waited may wait again beside each other."""
        left = [
            (job, [test for test in doubtful_timeouts(job.cells) if test not in self._subjects.unsafe])
            for job in waiting
            if any(cell.outcome.kills and cell.outcome is not Outcome.TIMEOUT for cell in job.cells.values())
        ]
        while left := [(job, tests) for job, tests in left if tests]:
            self._recheck_these([(job, tests[0]) for job, tests in left], None, tick)
            left = [
                (job, tests[1:])
                for job, tests in left
                if (cell := job.cells.get(tests[0])) is None or cell.outcome is not Outcome.TIMEOUT
            ]

    def _recheck_these(self, cells: Sequence[tuple[Job, int]], width: int | None, tick: Callable[[], None]) -> None:
        """Run these timeouts again; of one that does not happen it is found out besides who evaluates the mutant."""
        tasks = [self._task(job, (test,), Kind.RECHECK, Purpose.CONFIRM, marked=False) for job, test in cells]
        quiet: list[tuple[Job, int]] = []
        for result in self._pool.run(tasks, width=width, tick=tick):
            job, _ = self._jobs.pop(result.task.id)
            self.cpu["confirm"] += result.cpu
            for found in result.found:
                job.note(found)
                job.confirmed[found.test] = agrees(job.cells[found.test], found)
                job.cells[found.test] = found
                job.alone.add(found.test)
                if not found.outcome.kills:
                    quiet.append((job, found.test))
        for job, _ in quiet:
            job.outstanding += 1
        again = [self._task(job, (test,), Kind.RESOLVE, Purpose.CONFIRM, marked=True) for job, test in quiet]
        for result in self._pool.run(again, width=width, tick=tick):
            self._take(result)

    def _doubt_again(self, tick: Callable[[], None]) -> Iterator[Done]:
        """Where one kill of a file did not happen alone, none of it is believed: each that decides is run again.

        One that does not happen alone either has all tests of its mutant run anew, each alone.
        """
        doubted = [pair for trust in self._trust.values() if trust.refuted for pair in trust.believed]
        for trust in self._trust.values():
            trust.believed = []
        beside = [pair for pair in doubted if pair[1].test not in self._subjects.unsafe]
        serial = [pair for pair in doubted if pair[1].test in self._subjects.unsafe]
        fallen: list[Planned] = []
        for pairs, width in ((beside, None), (serial, 1)):
            for result in self._pool.run((self._doubted(*pair) for pair in pairs), width=width, tick=tick):
                job, _ = self._jobs.pop(result.task.id)
                self.cpu["confirm"] += result.cpu
                if not any(agrees(job.cells[found.test], found) for found in result.found):
                    fallen.append(job.planned)
        for planned in fallen:
            job = Job(planned, reversed=True, isolated=set(planned.tests))
            tasks = self._row_tasks(job, planned.tests, Kind.ISOLATE, alone=True)
            _, apart = chunks(planned.tests, self._subjects.unsafe)
            for result in self._pool.run(tasks, width=1 if apart else None, tick=tick):
                self._take(result)
            if doubtful_timeouts(job.cells):
                self._recheck.append(job)
            else:
                yield self._done(job)

    def again(
        self, plan: Sequence[Planned], cells: Mapping[int, Sequence[int]], tick: Callable[[], None]
    ) -> dict[tuple[int, int], tuple[Found, Outcome]]:
        """Run cells once more, each alone: what the test says under the mutant, and its outcome under no change.

        ``cells`` are tests by mutant; a cell that gives no verdict any more is left out.
        """
        tasks: list[tuple[Task, bool]] = []
        noops: dict[tuple[str, bool, bool, int], Task] = {}
        for mutant, tests in cells.items():
            planned = self._went.get(mutant, plan[mutant])
            job, name = Job(planned), self._subjects.mutants[mutant].path
            apart = self._forks and planned.reload is not None
            for group in self._tasks.groups(job.planned, tests):
                for part in chunks(group, self._subjects.unsafe):
                    if part:
                        task = self._task(job, part, Kind.CONFIRM, Purpose.CONFIRM, marked=False, apart=apart)
                        tasks.append((task, part[0] in self._subjects.unsafe))
            for test in tests:
                way = (name, planned.reload is not None, planned.anew, test)
                if way not in noops:
                    task = self._task(job, (test,), Kind.CONFIRM, Purpose.CONFIRM, marked=False, apart=False)
                    noops[way] = self._tasks.unchanged(task, name)
        said: dict[tuple[int, int], Found] = {}
        quiet: dict[int, Found] = {}
        every = [*tasks, *((task, test in self._subjects.unsafe) for (*_, test), task in noops.items())]
        for serial in (False, True):
            some = (task for task, alone in every if alone is serial)
            for result in self._pool.run(some, width=1 if serial else None, tick=tick):
                job, _ = self._jobs.pop(result.task.id)
                self.cpu["confirm"] += result.cpu
                for found in result.found:
                    if result.task.purpose is Purpose.NOOP:
                        quiet[result.task.id] = found
                    else:
                        said[job.planned.mutant, found.test] = found
        outcomes = {way: quiet[task.id].outcome if task.id in quiet else Outcome.ERROR for way, task in noops.items()}
        return {
            (mutant, test): (
                found,
                outcomes[self._subjects.mutants[mutant].path, went.reload is not None, went.anew, test],
            )
            for (mutant, test), found in said.items()
            for went in [self._went.get(mutant, plan[mutant])]
        }

    def _doubted(self, planned: Planned, kill: Found) -> Task:
        job = Job(planned, reversed=True, cells={kill.test: kill})
        apart = self._forks and planned.reload is not None
        return self._task(job, (kill.test,), Kind.CONFIRM, Purpose.CONFIRM, marked=False, apart=apart)

    def _done(self, job: Job) -> Done:
        self._went[job.planned.mutant] = job.planned
        return self._finisher.done(job)
