"""The controller's side: keeps the slots busy, reads what children wrote, ends those that outstay their budget."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pytest_killmatrix.child.records import (
    CELL,
    COLLECTED,
    END,
    FAULT,
    HELD,
    INVALID,
    LEFT,
    OBSTACLE,
    REACH,
    SEEN,
    Stage,
)
from pytest_killmatrix.executor.protocol import Connection, Exited, Started, Task, cause_of_death
from pytest_killmatrix.executor.server import BRANCH, KILL, MORE, PREPARE, RUN, STOP
from pytest_killmatrix.executor.slots import COLLECTING, PREPARING, Slot
from pytest_killmatrix.model import Outcome, Phase

_TICK: Final = 0.02
_PATIENT_TIMEOUTS: Final = 3  # of one task; then its budget shrinks
_SHRUNK_FACTOR: Final = 3.0
_SHRUNK_FLOOR: Final = 0.2
_UNHURRIED: Final = 0.1  # seconds before which nobody looks what a test did with its time
_MOST_PATIENCE: Final = 10.0  # times a budget by the clock, however busy the machine
_PREPARED_WITHIN: Final = 60.0  # seconds for an interpreter that no mutant can have kept from its tests
_BUSY: Final = 0.7  # of the budget on a processor: then it is a loop, and no wait for something that the load delays

_OUTCOMES: Final = {outcome.value: outcome for outcome in Outcome}  # a call of the enumeration takes five times as long
_PHASES: Final = {phase.value: phase for phase in Phase}


@dataclass(frozen=True, slots=True)
class Found:
    """One test's outcome as a child sent it, or as its death says; ``child`` tells the processes of the task apart.

    ``beyond_doubt`` is a timeout on the full budget that neither the machine's load nor an earlier test can explain:
    that of its child's first test, which kept a processor busy for nearly all of the time. ``waited`` is one on the
    full budget that did not, so that whatever kept it waiting may have been the machine. ``ran`` are the definitions
    that ran besides those of clean runs (``child.entries``), None where that is not known.
    """

    test: int
    outcome: Outcome
    phase: Phase
    exception: str | None
    message: str | None
    raised_at: str | None
    seconds: float
    flags: tuple[str, ...]
    entered: bool
    evaluated: bool
    child: int = 0
    reason: str | None = None
    shared: bool = False
    beyond_doubt: bool = False
    waited: bool = False
    ran: tuple[int, ...] | None = None


@dataclass(slots=True)
class TaskResult:
    """Everything that came of one task, however many children it took."""

    task: Task
    found: list[Found] = field(default_factory=list)
    obstacle: str | None = None
    invalid: str | None = None
    loaded: tuple[int, ...] | None = None  # what ran beyond the clean run until the mutant could not be imported
    fault: str | None = None
    collected: tuple[bool, bool] | None = None
    reach: list[tuple[int, str, list[tuple[int, int]]]] = field(default_factory=list)
    seen: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    cpu: float = 0.0
    children: int = 0
    timeouts: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use: seconds a test (by index), seconds for collecting files again, bytes of growth."""

    budget: Callable[[int], float]
    clean: Callable[[int], float]
    collect: float
    memory: int


@dataclass(slots=True)
class _Running:
    result: TaskResult
    task: Task  # what this child does: the result's task or the rest of it
    pid: int = 0
    killed: str | None = None
    ended: bool = False
    held: bool = False  # by a child that takes more tasks
    waiting: bool = False  # done, and ready for more
    released: bool = False  # told that there is no more
    watched: tuple[int, float] | None = None  # the test that ``used`` belongs to, and when it began
    seen: float = 0.0  # since when the clock counts for that test
    used: tuple[float, float] = (0.0, 0.0)  # (on a processor, waiting for one) when that was first looked at, seconds
    busy: float = 0.0  # seconds on a processor of the test that was ended


class PoolBroken(Exception):
    """The zygote is gone."""


class Pool:
    """Runs tasks in the children of one server; ``run`` gives each task's result as soon as it is complete.

    A child that holds (``Task.hold``) takes more tasks of its mutant, by ``follow`` while its result is looked at;
    ``held_cpu`` are the CPU seconds of such children, which no result has.

    ``narrow`` says whether children that are fresh interpreters collect only the test files that they run.
    """

    def __init__(self, control: socket.socket, slots: Sequence[Slot], limits: Limits, memory_base: int = 0) -> None:
        self._connection = Connection(control)
        self._slots = slots
        self.limits = limits
        self._running: dict[int, _Running] = {}
        self._queue: deque[_Running] = deque()
        self._holder: int | None = None  # the slot whose child waits while its result is looked at
        self._following: defaultdict[int, deque[Task]] = defaultdict(deque)
        self.held_cpu = 0.0
        self._arrived: list[Any] = []  # messages that came while one was sent
        self.zygote: int = 0
        self.zygote_cpu = 0.0
        self._memory_base = memory_base
        self.narrow = True

    def run(
        self, tasks: Iterable[Task], width: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> Iterator[TaskResult]:
        """Run tasks on at most ``width`` slots at once; more may be added with ``add`` while results are taken."""
        source = iter(tasks)
        free = deque(range(min(width or len(self._slots), len(self._slots))))
        exhausted = False
        while True:
            while free:
                if self._queue:
                    running = self._queue.popleft()
                elif not exhausted and (task := next(source, None)) is not None:
                    running = _Running(TaskResult(task), task, held=task.hold)
                else:
                    exhausted = not self._queue
                    break
                slot = free.popleft()
                self._running[slot] = running
                running.result.children += 1
                self._slots[slot].works(0)  # the number of the one before may be anybody's by now
                self._send((RUN, slot, replace(running.task, narrow=self.narrow)))
            if not self._running:
                return
            ended = self._wait()
            for slot in [slot for slot, running in self._running.items() if running.waiting and slot not in ended]:
                self._holder = slot
                yield self._running[slot].result
                self._holder = None
                self._go_on(slot)
                exhausted = False
            for slot in ended:
                free.append(slot)
                running = self._running.pop(slot)
                for task in self._following.pop(slot, ()):
                    self.add(task)
                if running.released:
                    continue
                rest = self._after_death(running, slot)
                if rest is not None:
                    self._queue.appendleft(_Running(running.result, rest, held=rest.hold))
                else:
                    yield running.result
                    exhausted = False  # the caller may have added to the source
            tick()

    def add(self, task: Task) -> None:
        """Run one more task before the rest."""
        self._queue.append(_Running(TaskResult(task), task))

    def follow(self, task: Task) -> None:
        """Run one more task of the mutant whose result was given last: by the child that waits, if one does."""
        if self._holder is None:
            self.add(task)
        else:
            self._following[self._holder].append(task)

    def _go_on(self, slot: int) -> None:
        """Give a child that waits its next task, or let it go."""
        before, following = self._running[slot], self._following[slot]
        task = following.popleft() if following else None
        self._send((MORE, slot, task))
        if task is None:
            before.waiting, before.released = False, True
        else:
            self._running[slot] = running = _Running(TaskResult(task), task, pid=before.pid, held=True)
            running.result.children = 1

    def prepare(self, needed: Any) -> None:
        """Give the zygote what its children will need."""
        self._send((PREPARE, needed))

    def branch(self) -> None:
        """Have the zygote fork its second one (the pool on the other connection talks to that)."""
        self._send((BRANCH,))

    def stop(self) -> None:
        """End the zygote and its children; what it used is noted."""
        obeyed = False
        for slot in list(self._running):
            with contextlib.suppress(PoolBroken):
                self._send((KILL, slot))
        try:
            self._send((STOP,))
            deadline = time.monotonic() + 5
            messages: list[Any] | None = self._arrived
            while messages is not None and not obeyed and time.monotonic() < deadline:
                for message in messages:
                    if isinstance(message, tuple) and message[0] == STOP:
                        (_, self.zygote_cpu), obeyed = message, True
                ready = not obeyed and select.select([self._connection.socket], [], [], 0.5)[0]
                messages = self._connection.receive() if ready else []
        except PoolBroken:
            pass
        if self._running and self.zygote:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.zygote, signal.SIGKILL)
        for running in self._running.values():
            if not obeyed and running.pid:  # nobody else is left to end them
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(running.pid, signal.SIGKILL)
        self._connection.socket.close()

    # -- what happens ----------------------------------------------------------------------------------------------

    def _send(self, message: Any) -> None:
        try:
            self._arrived += self._connection.exchange(message)
        except OSError as error:
            raise PoolBroken("the process that makes the children is gone") from error

    def _wait(self) -> list[int]:
        """One tick: read the logs, look at clocks and memory, return the slots whose child has ended."""
        ready, _, _ = select.select([self._connection.socket], [], [], 0 if self._arrived else _TICK)
        messages, self._arrived = self._arrived, []
        if ready:
            more = self._connection.receive()
            if more is None:
                raise PoolBroken("the process that makes the children is gone")
            messages += more
        ended = []
        for message in messages:
            if isinstance(message, Exited):
                ended.append(message.slot)
                running = self._running[message.slot]
                if running.held:
                    self.held_cpu += message.cpu
                else:
                    running.result.cpu += message.cpu
                if running.killed is None and message.status:
                    running.killed = cause_of_death(message.status)
            elif isinstance(message, Started):
                self._running[message.slot].pid = message.pid
            elif isinstance(message, int):
                self.zygote = message
        now = time.monotonic()
        for slot, running in self._running.items():
            self._read(running, slot)
            if slot not in ended and running.killed is None:
                self._police(running, slot, now)
        return ended

    def _read(self, running: _Running, slot: int) -> None:
        for kind, task, *rest in self._slots[slot].read():
            if task != running.task.id:
                continue
            result = running.result
            if kind == CELL:
                test, outcome, phase, exception, message, raised_at, seconds, flags, *marks = rest
                entered, evaluated, shared, *ran = marks
                result.found.append(
                    Found(
                        test, _OUTCOMES[outcome], _PHASES[phase], exception, message, raised_at, seconds, flags,
                        entered, evaluated, test if result.task.apart else result.children - 1, None, shared,
                        ran=ran[0] if ran else None,
                    )
                )  # fmt: skip
            elif kind == REACH:
                result.reach.append((rest[0], rest[1], rest[2]))
            elif kind == SEEN:
                result.seen[rest[0]] = rest[1]
            elif kind == LEFT:
                result.left.add(rest[0])
            elif kind == COLLECTED:
                result.collected = (rest[0], rest[1])
            elif kind == OBSTACLE:
                result.obstacle, running.ended = rest[0], True
            elif kind == INVALID:
                result.invalid, running.ended = rest[0], True
                result.loaded = rest[1] if len(rest) > 1 else None
            elif kind == FAULT:
                result.fault, running.ended = rest[0], True
            elif kind == END:
                running.ended = True
            elif kind == HELD:
                running.ended = running.waiting = True

    def _police(self, running: _Running, slot: int, now: float) -> None:
        current = self._slots[slot].current()
        if current is not None and self._elapsed(running, slot, current, now) > self._budget(running, current[0]):
            running.killed = "timeout"
            self._send((KILL, slot))
            return
        if self.limits.memory and running.pid:
            used = resident(self._worker(running, slot) if current is not None else running.pid)
            if not self._memory_base:
                self._memory_base = resident(self.zygote)
            if used - self._memory_base > self.limits.memory:
                running.killed = "memory"
                self._send((KILL, slot))

    def _worker(self, running: _Running, slot: int) -> int:
        """The process that runs the tests: the child, or a fork of it."""
        return self._slots[slot].worker() or running.pid

    def _elapsed(self, running: _Running, slot: int, current: tuple[int, float], now: float) -> float:
        """Seconds that the test has had: those in which it waited for a processor are the machine's, not its own.

        Nor are those in which nobody looked: then this process was the one that waited.
        """
        wall = now - current[1]
        if wall < _UNHURRIED or not running.pid:
            return min(wall, _UNHURRIED)
        on, waiting = _schedule(self._worker(running, slot))
        if running.watched != current:
            running.watched, running.used, running.seen = current, (on, waiting), now - _UNHURRIED
        running.busy = on - running.used[0]
        watched = now - running.seen
        return max(watched - (waiting - running.used[1]), watched / _MOST_PATIENCE)

    def _budget(self, running: _Running, test: int) -> float:
        if test == PREPARING:
            return max(self.limits.collect, _PREPARED_WITHIN)
        if test == COLLECTING:
            return self.limits.collect
        if running.result.timeouts >= _PATIENT_TIMEOUTS:
            return max(_SHRUNK_FACTOR * self.limits.clean(test), _SHRUNK_FLOOR)
        return self.limits.budget(test)

    def _after_death(self, running: _Running, slot: int) -> Task | None:
        """Book what a death means; the tests that are still to run, if any."""
        self._read(running, slot)
        current = self._slots[slot].current()
        self._slots[slot].idle()
        if running.ended:
            return None
        result, task = running.result, running.task
        done = {found.test for found in result.found}
        if current is not None and current[0] == PREPARING:
            result.fault = f"a fresh interpreter did not come to its tests ({running.killed or 'exit status 0'})"
            return None
        if current is not None and current[0] not in done:
            test, started = current
            seconds = time.monotonic() - started
            if test == COLLECTING:
                return self._collection_died(running, slot, seconds)
            stage = Stage(self._slots[slot].stage())
            for lost in {test} & set(task.tests) | task.dependents(test):
                if lost not in done:
                    result.found.append(self._dead(running, lost, seconds, stage.phase, stage))
                    done.add(lost)
        rest = tuple(test for test in task.tests if test not in done)
        if not rest:
            return None
        if len(rest) == len(task.tests) and current is None:
            result.fault = f"the child ended before its first test ({running.killed or 'no reason given'})"
            return None
        return replace(task, tests=rest)

    def _collection_died(self, running: _Running, slot: int, seconds: float) -> Task | None:
        """Collecting again hung or died: that is the outcome of every test of those files."""
        result, task = running.result, running.task
        whole = task.splice is not None and task.splice.whole  # its marks say how far its module came
        entered, evaluated = self._slots[slot].marks() if whole else (True, True)
        recollected = set(task.tests if task.anew else task.recollected)
        for test in task.tests:
            if test in recollected:
                dead = self._dead(running, test, seconds, Phase.COLLECT)
                result.found.append(replace(dead, entered=entered, evaluated=evaluated))
        rest = tuple(test for test in task.tests if test not in recollected)
        if not rest:
            return None
        # a child without the mutant's import holds nothing that anything else could be asked of
        return replace(task, tests=rest, recollect=(), recollected=(), reload=(), own=(), renew=False, hold=False)

    def _dead(self, running: _Running, test: int, seconds: float, phase: Phase, stage: Stage | None = None) -> Found:
        result, slot_child = running.result, running.result.children - 1
        shared = stage is Stage.SHARED_TEAR_DOWN
        if running.killed == "timeout":
            reduced = result.timeouts >= _PATIENT_TIMEOUTS
            collecting = phase is Phase.COLLECT
            looped = running.busy > _BUSY * (self.limits.collect if collecting else self.limits.budget(test))
            first = not collecting and (running.task.apart or running.task.order()[0] == test)
            firm = not reduced and looped and first
            flags = ("budget_reduced",) if reduced else ()
            result.timeouts += 1
            message = f"did not end within {seconds:.1f} s"
            return Found(
                test, Outcome.TIMEOUT, phase, None, message, None, seconds, flags, True, True, slot_child, None,
                shared, firm, not reduced and not looped,
            )  # fmt: skip
        reason = "memory" if running.killed == "memory" else None
        message = "used too much memory" if reason else f"the process died ({running.killed or 'exit status 0'})"
        return Found(
            test, Outcome.CRASH, phase, None, message, None, seconds, (), True, True, slot_child, reason, shared
        )


def resident(pid: int) -> int:
    """Bytes of memory that a process uses; 0 where unknown."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _schedule(pid: int) -> tuple[float, float]:
    """Seconds that a process's main thread was on a processor, and that it waited for one; zeros where unknown."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            on, waiting, _ = file.read().split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(on) / 1e9, int(waiting) / 1e9
