"""Forks the zygote from the parent, before the parent runs its first test."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_killmatrix.clean.observer import FILES
from pytest_killmatrix.executor.pool import Limits, Pool
from pytest_killmatrix.executor.slots import Slot
from pytest_killmatrix.executor.zygote import Zygote
from pytest_killmatrix.options import Surroundings

LAST_WORDS = "last-words"  # of a zygote that could not begin


@dataclass(slots=True)
class Launched:
    """The zygotes' connections and the memory shared with their children."""

    temporary: Path
    slots: list[Slot]
    control: socket.socket
    branch_control: socket.socket
    pools: list[Pool] = field(default_factory=list)

    def last_words(self) -> str | None:
        """Why the zygote could not begin, if it left word."""
        path = self.temporary / LAST_WORDS
        return path.read_text(encoding="utf-8").split("\n", 1)[0] if path.exists() else None

    def pool(self, limits: Limits) -> Pool:
        """The pool that runs mutants."""
        pool = Pool(self.control, self.slots, limits)
        self.pools.append(pool)
        return pool

    def reach_pool(self, limits: Limits) -> Pool:
        """The pool whose children measure reach; ``Pool.branch`` must have been called."""
        pool = Pool(self.branch_control, self.slots, limits)
        self.pools.append(pool)
        return pool

    def close(self) -> None:
        """End every process and remove every file of ours."""
        for pool in self.pools:
            pool.stop()
        for connection in (self.control, self.branch_control):
            connection.close()
        for slot in self.slots:
            with contextlib.suppress(OSError):
                slot.close()
        shutil.rmtree(self.temporary, ignore_errors=True)


def fork_obstacle() -> str | None:
    """Why this process cannot be forked safely now, or None."""
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if others:
        return f"a thread is running when the tests are about to start ({others[0]})"
    try:
        for name in os.listdir("/proc/self/fd"):
            number = int(name)
            if number < 3:
                continue
            with contextlib.suppress(OSError):
                kind = os.readlink(f"/proc/self/fd/{name}")
                if "eventpoll" in kind:
                    return "an event loop is open when the tests are about to start (epoll)"
                if kind.startswith("socket:") and _connected(number):
                    return "a connected socket is open when the tests are about to start"
    except OSError:
        pass  # no /proc: only threads can be seen
    return None


def _connected(fd: int) -> bool:
    duplicate = socket.socket(fileno=os.dup(fd))
    try:
        duplicate.getpeername()
    except OSError:
        return False
    else:
        return True
    finally:
        duplicate.close()


def launch(
    session: pytest.Session, files: list[str], workers: int, shorten: Callable[[str], str], sys_path: list[str]
) -> Launched:
    """Fork the zygote; returns in the parent only."""
    temporary = Path(tempfile.mkdtemp(prefix="killmatrix-"))
    (temporary / FILES).write_text("\0".join(files), encoding="utf-8")
    slots = [Slot(temporary / f"slot-{number}") for number in range(workers)]
    ours, theirs = socket.socketpair()
    branch_ours, branch_theirs = socket.socketpair()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        # forked twice, so that the zygote is nobody's child: a test that waits for any child must not find it
        if os.fork():
            os._exit(0)
        try:
            os.setpgid(0, 0)
            ours.close()
            branch_ours.close()
            _serve(session, slots, files, temporary, shorten, sys_path, theirs, branch_theirs, parent)
        finally:
            os._exit(70)
    os.waitpid(pid, 0)
    theirs.close()
    branch_theirs.close()
    return Launched(temporary, slots, ours, branch_ours)


def _serve(
    session: pytest.Session,
    slots: list[Slot],
    files: list[str],
    temporary: Path,
    shorten: Callable[[str], str],
    sys_path: list[str],
    control: socket.socket,
    branch_control: socket.socket,
    parent: int,
) -> None:
    from pytest_killmatrix.child.anew import Anew, become
    from pytest_killmatrix.child.worker import Workshop
    from pytest_killmatrix.clean.rerun import arguments

    try:
        workshop = Workshop(session, slots, files, temporary, shorten)
        anew = Anew(
            sys_path, arguments(session.config), workshop.identities, files, str(temporary),
            [str(slot.path) for slot in slots], str(session.config.rootpath),
            Surroundings.of(session.config).environ,
        )  # fmt: skip
        workshop.scratch.prepare(len(slots))
        workshop.start_over = functools.partial(become, anew)
    except BaseException as error:
        (temporary / LAST_WORDS).write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        raise
    gc.collect()
    gc.freeze()  # the collector would touch, and so copy, every page it shares with the parent

    def branch() -> Callable[..., None]:
        from pytest_killmatrix.clean.alone import reach_of

        workshop.reach = reach_of(files, temporary)
        gc.collect()
        gc.freeze()
        return workshop.run

    Zygote(
        control,
        slots,
        workshop.run,
        parent,
        branch,
        branch_control,
        lambda: shutil.rmtree(temporary, ignore_errors=True),
        workshop.scratch.empty,
    ).serve()
