"""Forks the zygote from the parent, before the parent runs its first test."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import socket
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from pytest_killmatrix import patterns
from pytest_killmatrix.child import hygiene
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.executor.pool import Limits, Pool
from pytest_killmatrix.executor.server import LAST_WORDS
from pytest_killmatrix.executor.slots import Slot
from pytest_killmatrix.executor.zygote import Zygote
from pytest_killmatrix.surroundings import Surroundings


class Forked(Executor):
    """Children are forked from a zygote, which was forked from this process before its first test."""

    def __init__(
        self, files: Sequence[str], workers: int, control: socket.socket, branch_control: socket.socket
    ) -> None:
        super().__init__()
        self._lay_out(files, workers)
        self._control = control
        self._branch_control = branch_control
        self._main: Pool | None = None

    def begin(self) -> None:
        """Nothing: the zygote waits already."""

    def pool(self, limits: Limits) -> Pool:
        """The pool that runs mutants."""
        self._main = Pool(self._control, self.slots, limits)
        self._main.prepare(patterns.known())  # a list; ``child.entries.Watch`` comes later
        self._pools.append(self._main)
        return self._main

    def reach_pool(self, limits: Limits) -> Pool:
        """The pool of the zygote's second one, whose tracer is warm; ``pool`` must have been called."""
        assert self._main is not None
        self._main.branch()
        pool = Pool(self._branch_control, self.slots, limits)
        self._pools.append(pool)
        return pool

    def _release(self) -> None:
        for connection in (self._control, self._branch_control):
            connection.close()


def launch(
    session: pytest.Session, files: list[str], workers: int, shorten: Callable[[str], str], sys_path: list[str]
) -> Forked:
    """Fork the zygote; returns in the parent only."""
    ours, theirs = socket.socketpair()
    branch_ours, branch_theirs = socket.socketpair()
    forked = Forked(files, workers, ours, branch_ours)
    parent = os.getpid()
    restore_random = hygiene.random_state()  # CPython reseeds in a process that was forked
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
            restore_random()
            _serve(session, forked.slots, files, forked.temporary, shorten, sys_path, theirs, branch_theirs, parent)
        finally:
            os._exit(70)
    os.waitpid(pid, 0)
    theirs.close()
    branch_theirs.close()
    return forked


def _serve(
    session: pytest.Session,
    slots: Sequence[Slot],
    files: list[str],
    temporary: Path,
    shorten: Callable[[str], str],
    sys_path: list[str],
    control: socket.socket,
    branch_control: socket.socket,
    parent: int,
) -> None:
    from pytest_killmatrix.child.anew import become, describe, leave_word
    from pytest_killmatrix.child.entries import Watch
    from pytest_killmatrix.child.worker import Workshop
    from pytest_killmatrix.clean.rerun import arguments
    from pytest_killmatrix.executor.fresh import start_of

    try:
        environ = Surroundings.of(session.config).environ
        anew = describe(session.config, arguments(session.config), session.items, files, sys_path, environ)
        leave_word(anew, temporary, slots)
        workshop = Workshop(session, slots, files, temporary, shorten)
        workshop.scratch.prepare(len(slots))
        workshop.start_over = functools.partial(become, start_of(environ, temporary))
    except BaseException as error:
        (temporary / LAST_WORDS).write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        raise
    gc.collect()
    gc.freeze()  # the collector would touch, and so copy, every page it shares with the parent

    def prepare(needed: Iterable[patterns.Pattern] | Watch | None) -> None:
        if needed is None or isinstance(needed, Watch):
            workshop.watch_entries(needed)
        else:
            patterns.compile_all(needed)
        gc.collect()
        gc.freeze()

    def branch() -> Callable[..., None]:
        from pytest_killmatrix.clean.alone import reach_of

        workshop.reach = reach_of(files, temporary)
        workshop.look_at_state()
        gc.collect()
        gc.freeze()
        return workshop.run

    Zygote(
        control,
        workshop.run,
        parent,
        branch,
        branch_control,
        lambda: shutil.rmtree(temporary, ignore_errors=True),
        workshop.scratch.empty,
        prepare,
    ).serve()
