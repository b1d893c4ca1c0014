"""The process that forks: holds the collected session, never runs a test, ends every child's whole process group."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.executor.protocol import Connection, Exited, Started, Task
from pytest_killmatrix.executor.slots import Slot

STOP: Final = "stop"
KILL: Final = "kill"
RUN: Final = "run"
BRANCH: Final = "branch"
_PARENT_CHECK: Final = 2.0  # seconds between looks whether the controller still lives


@dataclass(slots=True)
class Zygote:
    """Serves one control connection; ``launch`` runs a task in a fresh child and never returns to its caller.

    ``branch`` prepares a second zygote (the one that measures reach) in a process forked from this one; ``ended`` is
    told the slot of every child that has ended.
    """

    control: socket.socket
    slots: list[Slot]
    launch: Callable[[Task, int], None]
    controller: int
    branch: Callable[[], Callable[[Task, int], None]] | None = None
    branch_control: socket.socket | None = None
    orphaned: Callable[[], None] = lambda: None
    ended: Callable[[int], None] = lambda slot: None
    _inherited_handler: Any = field(default=signal.SIG_DFL, init=False)

    def serve(self) -> None:
        """Obey until told to stop or until the controller is gone; leaves by ``os._exit``."""
        connection = Connection(self.control)
        children: dict[int, int] = {}
        wake, alarm = os.pipe()
        for fd in (wake, alarm):
            os.set_blocking(fd, False)
        self._inherited_handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        try:
            connection.send(os.getpid())
            while True:
                watched: list[Any] = [self.control, wake]
                ready, _, _ = select.select(watched, [], [], _PARENT_CHECK)
                if wake in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, 4096)
                self._reap(children, connection)
                if not ready and not _alive(self.controller):
                    self.orphaned()
                    break
                if self.control not in ready:
                    continue
                messages = connection.receive()
                if messages is None:
                    self.orphaned()
                    break
                for verb, *rest in messages:
                    if verb == RUN:
                        slot, task = rest
                        pid = self._fork(slot, task, (wake, alarm))
                        children[pid] = slot
                        connection.send(Started(slot, pid))
                    elif verb == KILL:
                        _kill_group(next((pid for pid, slot in children.items() if slot == rest[0]), 0))
                    elif verb == BRANCH:
                        self._fork_branch((wake, alarm))
                    else:
                        usage = resource.getrusage(resource.RUSAGE_SELF)
                        connection.send((STOP, usage.ru_utime + usage.ru_stime))
                        return
        except (BrokenPipeError, ConnectionResetError):
            pass  # the controller is gone: nothing left to do but to end the children
        finally:
            for pid in children:
                _kill_group(pid)
            os._exit(0)

    def _fork(self, slot: int, task: Task, private: tuple[int, int]) -> int:
        pid = _quiet_fork()
        if pid:
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)  # both sides do it, so that neither can come too late
            return pid
        try:
            self._become_child(private)
            self.launch(task, slot)
        finally:
            os._exit(70)

    def _fork_branch(self, private: tuple[int, int]) -> None:
        if self.branch is None or self.branch_control is None:
            return
        if _quiet_fork():
            self.branch_control.close()
            return
        try:
            self._become_child(private)
            branch = self.branch()
            Zygote(self.branch_control, self.slots, branch, self.controller, ended=self.ended).serve()
        finally:
            os._exit(70)

    def _become_child(self, private: tuple[int, int]) -> None:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, self._inherited_handler or signal.SIG_DFL)
        for fd in private:
            os.close(fd)
        self.control.close()

    def _reap(self, children: dict[int, int], connection: Connection) -> None:
        for pid in list(children):
            try:
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                    continue
            except ChildProcessError:
                continue
            _kill_group(pid)  # while the zombie still holds the number, so it can be nobody else's group
            _, status, usage = os.wait4(pid, 0)
            slot = children.pop(pid)
            self.ended(slot)
            cpu = usage.ru_utime + usage.ru_stime
            connection.send(Exited(slot, status, cpu))


def _quiet_fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.12 warns where other threads live, fatal under -W error
        return os.fork()


def _kill_group(pid: int) -> None:
    if pid > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
