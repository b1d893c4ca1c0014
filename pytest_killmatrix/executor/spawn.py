"""The executor without a fork: every task in a fresh interpreter, which a spawner process starts."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

from pytest_killmatrix.child.anew import Anew, leave_word
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.executor.fresh import PACKAGE, start_of
from pytest_killmatrix.executor.pool import Limits, Pool, resident
from pytest_killmatrix.executor.spawner import CODE, START


class Spawned(Executor):
    """Children are fresh interpreters; nothing of this begins before the suite has run."""

    collecting = True

    def __init__(self, anew: Anew, workers: int, cwd: Path) -> None:
        """``anew`` is the session as it was collected, ``cwd`` the directory that it was started in."""
        super().__init__()
        self._anew = anew
        self._workers = workers
        self._cwd = cwd
        self._size = resident(os.getpid())  # that of a session in which no test has run
        self._spawners: list[subprocess.Popen[bytes]] = []
        self._control: socket.socket | None = None

    def begin(self) -> None:
        """Start the spawner, which removes the run's directory should this process be killed."""
        self._lay_out(self._anew.files, self._workers)
        leave_word(self._anew, self.temporary, self.slots)
        (self.temporary / START).write_bytes(pickle.dumps(start_of(self._anew.environ, self.temporary)))
        self._control = self._spawner()

    def pool(self, limits: Limits) -> Pool:
        """The pool that runs mutants."""
        assert self._control is not None
        pool = Pool(self._control, self.slots, limits, self._size)
        self._pools.append(pool)
        return pool

    def reach_pool(self, limits: Limits) -> Pool:
        """The pool of a second spawner; its tasks bring their own tracer."""
        pool = Pool(self._spawner(), self.slots, limits, self._size)
        self._pools.append(pool)
        return pool

    def _spawner(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            words = [str(self.temporary), str(os.getpid()), str(theirs.fileno()), PACKAGE, str(self._workers)]
            self._spawners.append(
                subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", CODE, *words],
                    cwd=self._cwd,
                    env=self._anew.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            )
        return ours

    def _release(self) -> None:
        if self._control is not None:
            self._control.close()
        for process in self._spawners:
            process.wait()
