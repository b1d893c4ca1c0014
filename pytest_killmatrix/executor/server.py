"""The process that has children: obeys the controller, ends every child's whole process group, never runs a test."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.executor import orphans
from pytest_killmatrix.executor.protocol import Connection, Exited, Started, Task
from pytest_killmatrix.processes import alive

STOP: Final = "stop"
KILL: Final = "kill"
RUN: Final = "run"
BRANCH: Final = "branch"
PREPARE: Final = "prepare"
MORE: Final = "more"
LAST_WORDS: Final = "last-words"  # in the run's directory: why such a process could not go on
_PARENT_CHECK: Final = 2.0  # seconds between looks whether the controller still lives


@dataclass(slots=True)
class Server:
    """Serves one control connection; how a child comes to be is up to ``start``, which gives its process number.

    ``branch`` prepares a second server, on a connection of its own, and gives its process number; ``prepare`` is given
    what children will need; ``more`` gives the child of a slot another task, or None when there is none; ``orphaned``
    cleans up when the controller is gone; ``ended`` is told the slot of every child that has ended.
    """

    control: socket.socket
    controller: int
    start: Callable[[Task, int], int]
    branch: Callable[[], int] = lambda: 0
    prepare: Callable[[Any], None] = lambda needed: None
    more: Callable[[int, Task | None], None] = lambda slot, task: None
    orphaned: Callable[[], None] = lambda: None
    ended: Callable[[int], None] = lambda slot: None
    _wake: tuple[int, int] = field(default=(-1, -1), init=False)
    _inherited_handler: Any = field(default=signal.SIG_DFL, init=False)
    _branches: set[int] = field(default_factory=set, init=False)

    def serve(self) -> None:
        """Obey until told to stop or until the controller is gone; leaves by ``os._exit``."""
        import resource  # noqa: F401 - os.wait4 loads it, and what children know of sys.modules was noted before

        connection = Connection(self.control)
        children: dict[int, int] = {}
        wake, alarm = self._wake = os.pipe()
        for fd in self._wake:
            os.set_blocking(fd, False)
        self._inherited_handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        orphans.adopt()
        gone = False
        try:
            connection.send(os.getpid())
            while True:
                watched: list[Any] = [self.control, wake]
                ready, _, _ = select.select(watched, [], [], _PARENT_CHECK)
                if wake in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, 4096)
                self._reap(children, connection)
                if not ready and not alive(self.controller):
                    gone = True
                    break
                if self.control not in ready:
                    continue
                messages = connection.receive()
                if messages is None:
                    gone = True
                    break
                for verb, *rest in messages:
                    if verb == RUN:
                        slot, task = rest
                        pid = self.start(task, slot)
                        children[pid] = slot
                        connection.send(Started(slot, pid))
                    elif verb == KILL:
                        _kill_group(next((pid for pid, slot in children.items() if slot == rest[0]), 0))
                    elif verb == MORE:
                        self.more(*rest)
                    elif verb == PREPARE:
                        self.prepare(*rest)
                    elif verb == BRANCH:
                        self._branches.add(self.branch())
                    else:
                        self._end(children)
                        used = os.times()
                        connection.send((STOP, used.user + used.system))
                        return
        except (BrokenPipeError, ConnectionResetError):
            gone = True  # it may be before it heard of us
        finally:
            self._end(children)
            if gone:
                self.orphaned()
            os._exit(0)

    def leave(self) -> None:
        """In a process that was forked from this one: be no server any more, in a process group of one's own."""
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._inherited_handler or signal.SIG_DFL)
        for fd in self._wake:
            os.close(fd)
        self.control.close()

    def _end(self, children: dict[int, int]) -> None:
        for pid in children:
            _kill_group(pid)
        orphans.end_all(self._branches)
        children.clear()

    def _reap(self, children: dict[int, int], connection: Connection) -> None:
        before = len(children)
        for pid in list(children):
            try:
                if not _ended(pid):
                    continue
            except ChildProcessError:
                continue
            _kill_group(pid)  # while the zombie still holds the number, so it can be nobody else's group
            _, status, usage = os.wait4(pid, 0)
            slot = children.pop(pid)
            self.ended(slot)
            connection.send(Exited(slot, status, usage.ru_utime + usage.ru_stime))
        if len(children) < before:
            orphans.end_older(children, self._branches)


def _ended(pid: int) -> bool:
    """Whether a child has ended; it stays a zombie."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(pid: int) -> None:
    if pid > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
