"""What every executor is to the controller: pools that run tasks, and files to share with their children."""

from __future__ import annotations

import abc
import contextlib
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pytest_killmatrix.clean.observer import FILES
from pytest_killmatrix.executor.pool import Limits, Pool, TaskResult
from pytest_killmatrix.executor.protocol import Task
from pytest_killmatrix.executor.server import LAST_WORDS
from pytest_killmatrix.executor.slots import Slot


class Runs(Protocol):
    """What the matrix is made by: a ``Pool``, or what stands for one elsewhere."""

    held_cpu: float
    zygote_cpu: float

    def run(
        self, tasks: Iterable[Task], width: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> Iterator[TaskResult]:
        """Each task's result as soon as it is complete."""
        ...

    def add(self, task: Task) -> None:
        """Run one more task."""
        ...

    def follow(self, task: Task) -> None:
        """Run one more task of the mutant whose result was given last."""
        ...


class Executor(abc.ABC):
    """Makes children; ``temporary`` is the run's directory, there from ``begin`` on.

    ``collecting`` says whether every child collects the session itself; ``at_once`` how many children run mutants at
    once, where that is not the setting; ``notes`` are for the report.
    """

    collecting: bool = False
    at_once: int | None = None
    notes: Sequence[str] = ()
    temporary: Path
    slots: Sequence[Slot] = ()

    def __init__(self) -> None:
        self._pools: list[Pool] = []

    @abc.abstractmethod
    def begin(self) -> None:
        """The suite has run, children will be wanted."""

    @abc.abstractmethod
    def pool(self, limits: Limits) -> Pool:
        """The pool that runs mutants."""

    @abc.abstractmethod
    def reach_pool(self, limits: Limits) -> Pool:
        """The pool whose children run tests alone and measure reach."""

    def matrix_pool(self, pool: Pool, proofs: Sequence[TaskResult], usable: Collection[int], tests: int) -> Runs:
        """What makes the matrix once the controls have run on ``pool``.

        ``proofs`` is what they said, ``usable`` the tests that judge and may run beside others, of so many ``tests``.
        """
        return pool

    def last_words(self) -> str | None:
        """Why the process that makes children could not go on, if it left word."""
        path = self.temporary / LAST_WORDS
        return path.read_text(encoding="utf-8").split("\n", 1)[0] if path.exists() else None

    def close(self) -> None:
        """End every process and remove every file of ours."""
        for pool in self._pools:
            pool.stop()
        self._pools.clear()
        self._release()
        for slot in self.slots:
            with contextlib.suppress(OSError):
                slot.close()
        self.slots = ()
        if hasattr(self, "temporary"):
            shutil.rmtree(self.temporary, ignore_errors=True)

    @abc.abstractmethod
    def _release(self) -> None:
        """Let go of what pools did not close."""

    def _lay_out(self, files: Sequence[str], workers: int) -> None:
        """Make the run's directory, with the list of measured files and a slot for each worker."""
        self.temporary = Path(tempfile.mkdtemp(prefix="killmatrix-"))
        (self.temporary / FILES).write_text("\0".join(files), encoding="utf-8")
        self.slots = [Slot(self.temporary / f"slot-{number}") for number in range(workers)]
