"""The session that a Dask worker holds: an interpreter in which pytest has collected the project, and then runs tasks.

``python -c "from pytest_killmatrix.cluster.held import main; main()" PACKAGE FOLDER READ WRITE`` with a pickled
``Told`` in the folder. It says the CPU seconds that it took to be ready, or in words why it cannot be; then it is given
batches, and says what came of each. It ends when there is nobody any more who could give it one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.child import hygiene
from pytest_killmatrix.child.anew import describe
from pytest_killmatrix.child.private import Private
from pytest_killmatrix.child.recollect import pair
from pytest_killmatrix.clean.rerun import arguments
from pytest_killmatrix.cluster import project
from pytest_killmatrix.cluster.moving import Moving
from pytest_killmatrix.cluster.remote import SPEC, Told
from pytest_killmatrix.environment import own_cpu
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.executor.choice import fork_obstacle
from pytest_killmatrix.executor.fresh import forget_seed
from pytest_killmatrix.executor.pool import Limits, Pool
from pytest_killmatrix.options import NUMBERS, OBSERVED
from pytest_killmatrix.rewritten import Rewritten
from pytest_killmatrix.sandbox import disposal
from pytest_killmatrix.sandbox.inside import Inside
from pytest_killmatrix.surroundings import Surroundings

_LOOK: Final = 1.0  # seconds between looks whether the worker lives


class _Errors:
    """Marks the process as one that makes no matrix of its own, and notes what could not be collected."""

    def __init__(self) -> None:
        self.first: str | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.first is None:
            words = str(report.longrepr).strip().rsplit("\n", 1)[-1][:200]
            self.first = f"{report.nodeid} cannot be collected: {words}"


class _Holding(Private):
    """The plugin of the process: holds the session instead of running the suite."""

    def __init__(self, told: Told, line: Line) -> None:
        self._told = told
        self._line = line
        self._parent = os.getppid()
        self._sys_path = list(sys.path)
        self.errors = _Errors()
        self.reached = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        early_config.pluginmanager.register(self.errors, OBSERVED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        super().pytest_configure(config)
        config.option.continue_on_collection_errors = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.reached = True
        problem = self._problem(session)
        if problem is not None:
            self._line.say(problem)
        else:
            self._serve(session)
        return True

    def _problem(self, session: pytest.Session) -> str | None:
        """Why this is not the controller's session, if it is not; its items get the controller's order."""
        snapshot = self._told.snapshot
        found = pair(snapshot.order, snapshot.names, session.items)
        missing = next(
            (name for one, name in zip(snapshot.order, snapshot.names, strict=True) if one not in found), None
        )
        if missing is not None:
            return self.errors.first or f"{missing} is not collected there"
        if len(session.items) != len(snapshot.order):
            known = set(snapshot.names)
            other = next((item.nodeid for item in session.items if item.nodeid not in known), "a test")
            return f"{other} is collected there, and not here"
        session.items[:] = [found[one] for one in snapshot.order]
        for name, file in snapshot.modules.items():
            origin = getattr(sys.modules.get(name), "__file__", None)
            place = os.path.join(self._told.root, file)
            if isinstance(origin, str) and os.path.realpath(origin) != os.path.realpath(place):
                return f"{name} is imported from {origin}, and not from the project ({place})"
        other_files = project.changed(self._told.root, snapshot.manifest)
        if other_files:
            return f"{other_files[0]} is another file there"
        obstacle = fork_obstacle() if snapshot.forks else None
        return f"{obstacle}, so it cannot be forked there" if obstacle is not None else None

    def _serve(self, session: pytest.Session) -> None:
        told, terms = self._told, self._told.terms
        moving = Moving(told.snapshot.root, told.root)
        hygiene.load_random(told.snapshot.random)
        rewritten = Rewritten.of(session.config)
        rewritten.close()
        executor = self._executor(session, [moving.path(file) for file in told.snapshot.files])
        try:
            executor.begin()
            rewritten.save(executor.temporary)
            pool = executor.pool(
                Limits(terms.budgets.__getitem__, terms.clean.__getitem__, terms.collect, terms.memory)
            )
            pool.narrow = terms.narrow
            if told.snapshot.forks:
                pool.prepare(terms.patterns)
            self._line.say(own_cpu())
            self._obey(pool, moving)
        finally:
            executor.close()

    def _obey(self, pool: Pool, moving: Moving) -> None:
        while (tasks := self._hear()) is not None:
            results = pool.run([moving.task(task) for task in tasks], tick=self._check)
            self._line.say([moving.brought(result) for result in results])

    def _executor(self, session: pytest.Session, files: list[str]) -> Executor:
        # not before it is known which: one imports what platforms without fork lack
        told, config = self._told, session.config
        if told.snapshot.forks:
            from pytest_killmatrix.executor.launch import launch

            root = str(config.rootpath) + os.sep
            return launch(session, files, told.seat.slots, lambda name: name.removeprefix(root), self._sys_path)
        from pytest_killmatrix.executor.spawn import Spawned

        environ = Surroundings.of(config).environ
        anew = describe(config, arguments(config), session.items, files, self._sys_path, environ)
        return Spawned(anew, told.seat.slots, config.invocation_params.dir)

    def _hear(self) -> Any:
        """The next batch; None when there will be none."""
        try:
            while not self._line.heard(_LOOK):
                self._check()
        except LineBroken:
            return None
        return self._line.next()

    def _check(self) -> None:
        """LineBroken where nobody is left who would take what is found."""
        if os.getppid() != self._parent:
            raise LineBroken
        self._line.heard(0)


def main() -> None:
    """Entry point of the process."""
    folder, descriptors = Path(sys.argv[2]), (int(sys.argv[3]), int(sys.argv[4]))
    parent = os.getppid()
    watcher = disposal.watch(folder)
    inside = Inside(folder, folder, watcher)
    try:
        told: Told = pickle.loads((folder / SPEC).read_bytes())
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        line = Line(*descriptors)
        sys.path[:] = _path(told)
        forget_seed(told.snapshot.environ)
        seat = told.seat
        os.environ[NUMBERS] = f"{seat.first}:{seat.total}"
        random.seed(0)  # what imports draw, they draw in each of these interpreters alike
        sys.argv = ["pytest", *told.arguments]
        plugin = _Holding(told, line)
        plugin._parent = parent
        with contextlib.suppress(LineBroken):
            status = int(pytest.main(list(told.arguments), plugins=[plugin]))
            if not plugin.reached:
                line.say(
                    plugin.errors.first or f"pytest ended before its first test (exit status {status}){_screen(folder)}"
                )
    finally:
        sys.stdout.flush()
        inside.leave(os.getpid())
        os._exit(0)  # threads of the project need not agree


def _path(told: Told) -> list[str]:
    """The project's folders in the order that they have at the controller, then what this interpreter has itself."""
    ours = [os.path.normpath(os.path.join(told.root, folder)) for folder in told.snapshot.folders]
    # the first two are where we are found, which is the last place to look for anything else, and that of ``-c``
    return list(dict.fromkeys([*ours, *(entry for entry in sys.path[1:] if entry), sys.path[0]]))


def _screen(folder: Path) -> str:
    sys.stdout.flush()
    text = (folder / "screen").read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:200]}" if lines else ""
