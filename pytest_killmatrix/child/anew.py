"""A child that starts over: a fresh interpreter that collects the session, does one task, and leaves.

The mutant is live before pytest loads anything (``Task.anew``), or is made live once the session is collected, as in a
forked child. A child of the zygote becomes such an interpreter (``become``), with the same process number, group and
slot, so that the controller sees no difference; the spawner starts them directly.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_killmatrix.activation import interpreter, marking
from pytest_killmatrix.activation.late import install_mutant
from pytest_killmatrix.child import hygiene, reading, reloading
from pytest_killmatrix.child.collecting import CollectErrors, broken
from pytest_killmatrix.child.private import Private
from pytest_killmatrix.child.recollect import Identity, identities, pair
from pytest_killmatrix.child.records import CELL, COLLECTED, END, FAULT, INVALID
from pytest_killmatrix.child.verdict import Verdict, first_line
from pytest_killmatrix.child.worker import Workshop, flat
from pytest_killmatrix.executor.fresh import SESSION, Order, Start, forget_seed
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.executor.slots import COLLECTING, PREPARING, Slot
from pytest_killmatrix.model import Outcome, Phase
from pytest_killmatrix.options import OBSERVED
from pytest_killmatrix.rewritten import Rewritten


@dataclass(frozen=True, slots=True)
class Anew:
    """What every such interpreter is told: how the session was started, and the items that it had, in order.

    ``random`` are the states of the random generators when the session was collected, pickled.
    """

    sys_path: list[str]
    arguments: list[str]
    order: list[Identity]
    names: list[str]
    files: list[str]
    temporary: str
    slots: list[str]
    root: str
    environ: dict[str, str]
    random: bytes


def describe(
    config: pytest.Config,
    arguments: list[str],
    items: Sequence[pytest.Item],
    files: list[str],
    sys_path: list[str],
    environ: dict[str, str],
) -> Anew:
    """This session; the run's directory and slots are not known yet."""
    return Anew(
        sys_path, arguments, identities(items), [item.nodeid for item in items], files, "", [],
        str(config.rootpath), environ, hygiene.save_random(),
    )  # fmt: skip


def leave_word(anew: Anew, temporary: Path, slots: Sequence[Slot]) -> None:
    """Put it where the interpreters find it."""
    told = replace(anew, temporary=str(temporary), slots=[str(slot.path) for slot in slots])
    (temporary / SESSION).write_bytes(pickle.dumps(told))


def become(start: Start, task: Task, slot: int) -> NoReturn:
    """Leave this process's program for a fresh interpreter that does the task."""
    words = start.words(task, slot)
    os.execve(words[0], words, start.environ)


class _OneTask(Private):
    """The plugin of such an interpreter: runs the task instead of the suite."""

    def __init__(self, anew: Anew, order: Order, slot: Slot, failures: list[str]) -> None:
        self._anew = anew
        self._order = order
        self._slot = slot
        self._failures = failures
        self.errors = CollectErrors()
        self.conftest_failure: BaseException | None = None
        self.internal_error: str | None = None
        files = [identity[0] for identity in anew.order]
        wanted = {files[index] for index in order.task.order()}
        root = Path(anew.root)
        self._unwanted = {root / file for file in files if file not in wanted} if order.task.narrow else set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        early_config.pluginmanager.register(self.errors, OBSERVED)
        manager: Any = early_config.pluginmanager
        load = manager._importconftest

        def _importconftest(*where: Any, **how: Any) -> Any:
            try:
                return load(*where, **how)
            except BaseException as error:
                self.conftest_failure = self.conftest_failure or error
                raise

        manager._importconftest = _importconftest

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        super().pytest_configure(config)
        config.option.continue_on_collection_errors = True

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """A hook of the project's, or pytest itself, raised."""
        self.internal_error = f"{type(excinfo.value).__name__}: {first_line(excinfo.value)}"

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out test files of which no test is to run (those named on the command line are not asked about)."""
        return True if collection_path in self._unwanted else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        run_here(self._anew, self._order, self._slot, session, self.errors, self._failures)
        return True


def run_here(
    anew: Anew, order: Order, slot: Slot, session: pytest.Session, errors: CollectErrors, failures: list[str]
) -> None:
    """Do the task on the session that was just collected; never returns."""
    task = order.task
    if task.anew:
        reloading.finish(task.own)
        if failures:
            slot.write((INVALID, task.id, failures[0]))
            os._exit(0)
        if task.recollect or task.own:
            slot.write((COLLECTED, task.id, *slot.marks()))
        task = replace(task, swaps=(), splice=None, reload=(), own=(), recollect=(), renew=False, anew=False)

    def shorten(filename: str) -> str:
        return os.path.relpath(filename, anew.root) if filename.startswith(anew.root + os.sep) else filename

    found = pair(anew.order, anew.names, session.items)
    items = [found.get(identity) or errors.verdict(identity[0]) for identity in anew.order]
    session.items[:] = [item for item in items if isinstance(item, pytest.Item)]
    hygiene.load_random(anew.random)
    workshop = Workshop(session, [slot] * len(anew.slots), anew.files, Path(anew.temporary), shorten)
    workshop.items, workshop.identities = items, anew.order
    splice = order.task.splice
    workshop.mutated = splice.path if splice is not None and order.task.purpose is not Purpose.NOOP else None
    if task.reach:
        from pytest_killmatrix.clean.alone import reach_of

        workshop.reach = reach_of(anew.files, Path(anew.temporary), warm=False)
    workshop.run(task, order.slot)


def _mutant_ran(task: Task, slot: Slot) -> bool:
    """Whether mutated code has run in this process, as far as its marks can tell; a plain mutant has none."""
    if not task.anew or task.splice is None or task.purpose not in (Purpose.ROW, Purpose.CONFIRM):
        return False
    return any(slot.marks()) or not task.splice.marked


def _book(slot: Slot, task: Task, verdict: Verdict) -> None:
    """What kept pytest from its tests is the outcome of each."""
    for test in task.tests:
        slot.write((CELL, task.id, test, *flat(verdict, 0.0), False, True, False))
    slot.write((END, task.id))


def main() -> None:
    """Entry point of the fresh interpreter."""
    path = Path(sys.argv[1])
    order: Order = pickle.loads(path.read_bytes())
    anew: Anew = pickle.loads(path.with_name(SESSION).read_bytes())
    path.unlink()
    task = order.task
    slot = Slot.attach(Path(anew.slots[order.slot]))
    slot.begin(COLLECTING if task.anew and (task.own or task.recollect) else PREPARING)
    sys.path[:] = anew.sys_path
    Rewritten.load(Path(anew.temporary)).install()
    forget_seed(anew.environ)
    random.seed(0)  # what imports draw, they draw in each of these interpreters alike
    failures: list[str] = []
    if task.anew and task.splice is not None:
        splice = task.splice
        if task.own:
            failures = reloading.note_failure(splice.path)
        place = (splice.path, splice.start, splice.end, splice.text, splice.sha256, splice.whole)
        install_mutant(*place, slot.memory.__setitem__, marking if splice.marked else None)
        interpreter.announce(interpreter.mutant(*place, anew.slots[order.slot]))
        if task.purpose is not Purpose.NOOP:
            reading.watch(splice.path, slot.note_reading)
    sys.argv = ["pytest", *anew.arguments]
    plugin = _OneTask(anew, order, slot, failures)
    error: BaseException | None = None
    status: int | None = None
    try:
        status = int(pytest.main(anew.arguments, plugins=[plugin]))
    except BaseException as raised:
        error = raised
    # pytest came back without running the task: because of the mutant, or because of us
    if failures:
        slot.write((INVALID, task.id, failures[0]))
    elif plugin.conftest_failure is not None:
        _book(slot, task, broken(plugin.conftest_failure))
    elif _mutant_ran(task, slot):
        # unmutated, such an interpreter comes to its tests: the controls have shown it
        ended = f"pytest ended before its first test (exit status {status})"
        text = f"{type(error).__name__}: {first_line(error)}" if error is not None else plugin.internal_error or ended
        _book(slot, task, Verdict(Outcome.CRASH, Phase.COLLECT, None, text))
    else:
        text = f"{type(error).__name__}: {first_line(error)}" if error is not None else "pytest did not reach its tests"
        slot.write((FAULT, task.id, f"in a fresh interpreter: {text}"))
    os._exit(0)
