"""The server that forks: holds the collected session, and every child begins as a copy of it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_killmatrix.executor.protocol import Task, quiet_fork, send_order
from pytest_killmatrix.executor.server import Server


@dataclass(slots=True)
class Zygote:
    """``launch`` runs a task in a child (task, slot, descriptor of further tasks) and never returns to its caller.

    ``branch`` prepares a second zygote (the one that measures reach) in a process forked from this one; ``prepare`` is
    given what children will need; ``ended`` is told the slot of every child that has ended.
    """

    control: socket.socket
    launch: Callable[..., None]
    controller: int
    branch: Callable[[], Callable[..., None]] | None = None
    branch_control: socket.socket | None = None
    orphaned: Callable[[], None] = lambda: None
    ended: Callable[[int], None] = lambda slot: None
    prepare: Callable[[Any], None] = lambda needed: None
    _server: Server = field(init=False)
    _orders: dict[int, int] = field(default_factory=dict, init=False)  # by slot, where its child reads further tasks

    def serve(self) -> None:
        """Obey until told to stop or until the controller is gone; leaves by ``os._exit``."""
        self._server = Server(
            self.control,
            self.controller,
            self._fork,
            branch=self._fork_branch,
            prepare=self.prepare,
            more=self._more,
            orphaned=self.orphaned,
            ended=self._ended,
        )
        self._server.serve()

    def _fork(self, task: Task, slot: int) -> int:
        orders = -1
        if task.hold:
            orders, self._orders[slot] = os.pipe()
        pid = quiet_fork()
        if pid:
            if task.hold:
                os.close(orders)
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)  # both sides do it, so that neither can come too late
            return pid
        try:
            self._server.leave()
            for fd in self._orders.values():
                os.close(fd)
            self.launch(task, slot, orders)
        finally:
            os._exit(70)

    def _more(self, slot: int, task: Task | None) -> None:
        if slot in self._orders:
            with contextlib.suppress(BrokenPipeError):
                send_order(self._orders[slot], task)

    def _ended(self, slot: int) -> None:
        if slot in self._orders:
            os.close(self._orders.pop(slot))
        self.ended(slot)

    def _fork_branch(self) -> int:
        if self.branch is None or self.branch_control is None:
            return 0
        if pid := quiet_fork():
            self.branch_control.close()
            return pid
        try:
            self._server.leave()
            Zygote(self.branch_control, self.branch(), self.controller, ended=self.ended).serve()
        finally:
            os._exit(70)
