"""The controller's side: gives batches to the workers, takes what comes back, and has lost ones run again."""

from __future__ import annotations

import enum
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.cluster.batches import Batches
from pytest_killmatrix.cluster.messages import Begin, Broken, Open, Opened, Ran, Run, Seat, Snapshot, Terms, Workers
from pytest_killmatrix.cluster.moving import taken
from pytest_killmatrix.cluster.proofs import Proof, refuted
from pytest_killmatrix.executor.pool import TaskResult
from pytest_killmatrix.executor.protocol import Task
from pytest_killmatrix.prepared import Stop

_TICK: Final = 0.05
_AHEAD: Final = 2  # batches that a worker has: one that runs, one that waits
_ATTEMPTS: Final = 3  # to open a session on a worker, or to have it do anything, where others can
_RETURNS_WITHIN: Final = 15.0  # seconds for a worker to come (back) when there is none
_INTERRUPTED: Final = 2
_USAGE: Final = 4


class _State(enum.Enum):
    OPENING = enum.auto()
    PROVING = enum.auto()
    READY = enum.auto()
    REFUSED = enum.auto()


@dataclass(slots=True)
class _Worker:
    slots: int
    seat: Seat
    state: _State = _State.OPENING
    attempts: int = 0  # to open a session
    losses: int = 0  # sessions that ended since the last batch that came back
    proving: int = 0  # the number of the batch of its controls
    why: str = ""


class ClusterPool:
    """Runs tasks like a ``Pool``, on the workers of a cluster; ``line`` leads to the broker.

    Every worker first runs the controls (``proofs``). ``notes`` are for the report.
    """

    def __init__(self, line: Line, address: str, snapshot: Snapshot, terms: Terms, proofs: Sequence[Proof]) -> None:
        self._line = line
        self._address = address
        self._snapshot = snapshot
        self._terms = terms
        self._proofs = proofs
        self._batches = Batches()
        self._workers: dict[str, _Worker] = {}
        self._results: deque[TaskResult] = deque()
        self._began = False
        self._none_since: float | None = None
        self._seats = 0
        self._served: set[str] = set()
        self._left_out: dict[str, str] = {}
        self._lost = 0
        self.held_cpu = 0.0
        self.zygote_cpu = 0.0

    @property
    def notes(self) -> list[str]:
        """For the report."""
        if not self._began:
            return []
        count = len(self._served)
        notes = [f"the matrix ran on {count} worker{'s' * (count != 1)} of the Dask cluster at {self._address}"]
        if self._lost:
            notes.append(f"{self._lost} worker(s) were lost or started over; what they had not answered ran again")
        notes.extend(f"the worker at {worker} was left out: {why}" for worker, why in self._left_out.items())
        return notes

    def run(
        self, tasks: Iterable[Task], width: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> Iterator[TaskResult]:
        """Run tasks, with a ``width`` one after the other on the whole cluster; more may be added meanwhile."""
        source = iter(tasks)
        while True:
            while self._results:
                yield self._results.popleft()
            if not self._batches:
                first = next(source, None)
                if first is None:
                    return
                self._batches.add(first)
            self._begin()
            self._give(source, single=width is not None)
            self._listen()
            self._look_around()
            tick()

    def add(self, task: Task) -> None:
        """Run one more task before the rest."""
        self._batches.add(task)

    #: no session holds a mutant, so it is like any other
    follow = add

    # -- workers ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._began:
            self._began = True
            self._say(Begin(self._snapshot.matter, self._snapshot.root))

    def _give(self, source: Iterator[Task], *, single: bool) -> None:
        """Keep every worker busy; a task that may have nothing beside it has nothing beside it anywhere."""
        ready = [(name, worker) for name, worker in self._workers.items() if worker.state is _State.READY]
        workers = sum(worker.state is not _State.REFUSED for worker in self._workers.values())
        for turn in range(_AHEAD):
            for name, worker in ready:
                if self._batches.of(name) > turn:
                    continue
                if single and self._batches.out():
                    return
                only, now = len(ready) == 1, time.monotonic()
                batch = self._batches.give(name, worker.slots, source, now, single=single, only=only, workers=workers)
                if batch is None:
                    continue
                self._say(Run(batch.number, name, self._snapshot.key, pickle.dumps(batch.tasks)))

    def _look_around(self) -> None:
        """Stop where nobody is left who could go on."""
        if any(worker.state is not _State.REFUSED for worker in self._workers.values()):
            self._none_since = None
            return
        now = time.monotonic()
        self._none_since = self._none_since or now
        if self._workers and not self._served:
            name, worker = next(iter(self._workers.items()))
            raise Stop(f"no mutant was run: the worker at {name} cannot be used: {worker.why}", _USAGE)
        if now - self._none_since > _RETURNS_WITHIN:
            self._stop(f"all workers of the Dask cluster at {self._address} are gone")

    def _stop(self, why: str) -> None:
        raise Stop(f"interrupted: {why}; what was finished is kept, the same command goes on", _INTERRUPTED)

    def _open(self, name: str) -> None:
        worker, snapshot = self._workers[name], self._snapshot
        worker.state, worker.attempts = _State.OPENING, worker.attempts + 1
        place = None if snapshot.unpack else (snapshot.root, snapshot.cwd, snapshot.manifest)
        self._say(Open(name, snapshot.key, place, pickle.dumps((snapshot, self._terms, worker.seat))))

    def _refuse(self, name: str, why: str) -> None:
        worker = self._workers[name]
        worker.state, worker.why = _State.REFUSED, why
        self._left_out[name] = why

    # -- what the broker says --------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """One tick: take everything that was said."""
        try:
            heard = self._line.heard(_TICK)
            while heard:
                self._take(self._line.next())
                heard = self._line.heard(0)
        except LineBroken:
            self._stop("the process that speaks with the Dask scheduler is gone")

    def _take(self, message: Any) -> None:
        if isinstance(message, Workers):
            self._meet(message)
        elif isinstance(message, Opened):
            self._opened(message)
        elif isinstance(message, Ran):
            self._ran(message)
        elif isinstance(message, Broken):
            self._stop(message.why)

    def _meet(self, message: Workers) -> None:
        if message.differ and not self._workers:
            name, why = next(iter(message.differ.items()))
            raise Stop(
                f"no mutant was run: the worker at {name} is not like this interpreter: {why}; install the same there",
                _USAGE,
            )
        for name in [name for name in self._workers if name not in message.threads]:
            worker = self._workers.pop(name)
            self._left_out.pop(name, None)
            if worker.state is _State.READY:
                self._lose(name)
        total = max(self._seats, sum(message.threads.values()))
        for name, threads in message.threads.items():
            if name in self._workers:
                continue
            slots = max(1, threads)
            self._workers[name] = _Worker(slots, Seat(slots, self._seats, max(total, self._seats + slots)))
            self._seats += slots
            if name in message.differ:
                self._refuse(name, message.differ[name])
            else:
                self._open(name)

    def _opened(self, message: Opened) -> None:
        worker = self._workers.get(message.worker)
        if worker is None or worker.state is not _State.OPENING:
            return
        self.zygote_cpu += message.cpu
        if message.why is None:
            self._prove(message.worker, worker)
        elif message.again and worker.attempts < _ATTEMPTS:
            self._open(message.worker)
        else:
            self._refuse(message.worker, message.why)

    def _prove(self, name: str, worker: _Worker) -> None:
        worker.state, worker.proving = _State.PROVING, self._batches.number()
        tasks = tuple(proof.task for proof in self._proofs)
        self._say(Run(worker.proving, name, self._snapshot.key, pickle.dumps(tasks)))

    def _ran(self, message: Ran) -> None:
        for name, worker in self._workers.items():
            if worker.state is _State.PROVING and worker.proving == message.batch:
                self._proved(name, worker, message)
                return
        if message.why is not None:
            self._failed(message)
            return
        batch = self._batches.done(message.batch, time.monotonic())
        if batch is not None:
            self._workers[batch.worker].losses = 0
            self._served.add(batch.worker)
            self._results.extend(_results(batch.tasks, message.brought).values())

    def _proved(self, name: str, worker: _Worker, message: Ran) -> None:
        if message.why is not None:
            if worker.attempts < _ATTEMPTS:
                self._open(name)
            else:
                self._refuse(name, message.why)
            return
        results = _results([proof.task for proof in self._proofs], message.brought)
        self.zygote_cpu += sum(result.cpu for result in results.values())
        why = refuted(self._proofs, results, self._snapshot.names)
        if why is None:
            worker.state, worker.attempts = _State.READY, 0
        else:
            self._refuse(name, why)

    def _failed(self, message: Ran) -> None:
        """A session ended under a batch."""
        name = self._batches.worker_of(message.batch)
        if name is None or name not in self._workers:
            return
        self._lose(name, message.batch, message.why)
        worker = self._workers[name]
        worker.losses += 1
        others = any(other.state is _State.READY for other in self._workers.values() if other is not worker)
        if worker.losses < _ATTEMPTS or not others:
            self._open(name)
        else:
            self._refuse(name, f"its sessions end: {message.why}")

    def _lose(self, name: str, number: int | None = None, why: str | None = None) -> None:
        self._lost += 1
        given_up, times = self._batches.lost(name, number)
        for task in given_up:
            reason = f"{times} sessions on the cluster ended with it, the last one because {why or 'its worker went'}"
            self._results.append(TaskResult(task, fault=reason))

    def _say(self, message: Any) -> None:
        with suppress(LineBroken):  # what it said last is still to be heard
            self._line.say(message)


def _results(tasks: Sequence[Task], brought: bytes) -> Mapping[int, TaskResult]:
    """The results of these tasks, by number; one without an answer is a fault."""
    found = {one.task: one for one in pickle.loads(brought)}
    return {
        task.id: taken(task, found[task.id]) if task.id in found else TaskResult(task, fault="it gave no answer")
        for task in tasks
    }
