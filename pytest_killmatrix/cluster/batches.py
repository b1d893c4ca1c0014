"""Which tasks are where: batches that are out, and what has to run again. No input or output; times are given."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_killmatrix.executor.protocol import Task

_TAKES: Final = 1.0  # seconds that a batch is to take: what is lost with a worker, and much more than Dask costs
_MOST: Final = 256  # tasks in a batch
_TOGETHER: Final = 2  # times that a batch may fail before each of its tasks runs by itself
_ALONE: Final = 3  # times that a task may fail, alone or in batches


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks that a worker was given at a time (seconds of any clock), and how often they failed before."""

    number: int
    worker: str
    tasks: tuple[Task, ...]
    failures: int
    given: float


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Tasks that wait, how often they failed, and the worker where they did last: rather not there again."""

    tasks: tuple[Task, ...]
    failures: int = 0
    worker: str | None = None


class Batches:
    """Every task waits, or is in one batch that is out, or is done: what comes of any other batch does not count."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._again: deque[_Waiting] = deque()
        self._ahead: deque[Task] = deque()  # taken from the source, to see whether it comes to its end
        self._out: dict[int, Batch] = {}
        self._pace: dict[str, float] = {}  # seconds a task
        self._free: dict[str, float] = {}  # since when a worker is at the oldest batch that it has

    def __bool__(self) -> bool:
        """Whether anything waits or is out."""
        return bool(self._again or self._ahead or self._out)

    def number(self) -> int:
        """A number that no batch has."""
        return next(self._numbers)

    def of(self, worker: str) -> int:
        """How many batches the worker has."""
        return sum(batch.worker == worker for batch in self._out.values())

    def out(self) -> int:
        """How many are out."""
        return len(self._out)

    def worker_of(self, number: int) -> str | None:
        """The worker that has this batch; None where it is not out."""
        batch = self._out.get(number)
        return batch.worker if batch is not None else None

    def add(self, task: Task) -> None:
        """Run this before what has not begun."""
        self._again.append(_Waiting((task,)))

    def give(
        self, worker: str, slots: int, source: Iterator[Task], now: float, *, single: bool, only: bool, workers: int = 1
    ) -> Batch | None:
        """The next batch for a worker that runs so many tasks at once; None where there is nothing for it to do.

        ``single`` asks for one task; what failed on a worker goes to another, unless it is the ``only`` one.
        Towards the end what is left is divided among so many ``workers``.
        """
        size = 1 if single else self.size(worker, slots)
        divided = 2 * max(workers, 1)
        self._ahead.extend(itertools.islice(source, max(size * divided - len(self._ahead), 0)))
        size = min(size, max(slots, -(-len(self._ahead) // divided)))
        tasks, failures = self._waiting(worker, size, only=only)
        if not failures:
            while self._ahead and len(tasks) < size:
                tasks.append(self._ahead.popleft())
        if not tasks:
            return None
        batch = Batch(self.number(), worker, tuple(tasks), failures, now)
        self._out[batch.number] = batch
        self._free.setdefault(worker, now)
        return batch

    def _waiting(self, worker: str, size: int, *, only: bool) -> tuple[list[Task], int]:
        """Of what waits as much as goes together: what failed takes nothing else with it."""
        tasks: list[Task] = []
        kept: deque[_Waiting] = deque()
        failures = 0
        while self._again and len(tasks) < size and not failures:
            waiting = self._again.popleft()
            if (waiting.worker == worker and not only) or (tasks and waiting.failures):
                kept.append(waiting)
                continue
            room = size - len(tasks)
            tasks.extend(waiting.tasks[:room])
            failures = waiting.failures
            if len(waiting.tasks) > room:
                kept.append(_Waiting(waiting.tasks[room:], waiting.failures, waiting.worker))
        self._again.extendleft(reversed(kept))
        return tasks, failures

    def size(self, worker: str, slots: int) -> int:
        """How many tasks a batch of this worker has."""
        pace = self._pace.get(worker)
        wanted = 2 * slots if pace is None else round(_TAKES / max(pace, _TAKES / _MOST))
        return min(max(wanted, slots), _MOST)

    def done(self, number: int, now: float) -> Batch | None:
        """A batch came back; None where it is not out: it ran elsewhere meanwhile."""
        batch = self._out.pop(number, None)
        if batch is not None:
            pace = (now - max(self._free.get(batch.worker, now), batch.given)) / len(batch.tasks)
            known = self._pace.get(batch.worker, pace)
            self._pace[batch.worker] = (pace + known) / 2
            self._free[batch.worker] = now
        return batch

    def lost(self, worker: str, number: int | None = None) -> tuple[list[Task], int]:
        """Everything that a worker has is to run again; tasks that failed too often are given up, and how often.

        It fails the batch ``number``, or else the oldest, which it was running; the others had not begun.
        """
        mine = sorted(batch.number for batch in self._out.values() if batch.worker == worker)
        self._pace.pop(worker, None)
        self._free.pop(worker, None)
        given_up: list[Task] = []
        failures = 0
        failed = number if number in mine else next(iter(mine), None)
        for one in reversed(mine):
            batch = self._out.pop(one)
            if one != failed:
                self._again.appendleft(_Waiting(batch.tasks, batch.failures))
                continue
            failures = batch.failures + 1
            if len(batch.tasks) == 1 and failures >= _ALONE:
                given_up.extend(batch.tasks)
            elif len(batch.tasks) > 1 and failures >= _TOGETHER:
                self._again.extendleft(_Waiting((task,), failures, worker) for task in reversed(batch.tasks))
            else:
                self._again.appendleft(_Waiting(batch.tasks, failures, worker))
        return given_up, failures
