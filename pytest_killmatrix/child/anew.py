"""A child that starts over: a fresh interpreter in which the mutant is live before pytest loads anything.

The zygote forks a child as always, and that becomes the fresh interpreter (``become``): same process number, same
group, same slot, so that the controller sees no difference. It collects the session, does its one task, and leaves.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NoReturn

import pytest

from pytest_killmatrix.activation import interpreter, marking
from pytest_killmatrix.activation.late import install_mutant
from pytest_killmatrix.child import reading, reloading
from pytest_killmatrix.child.private import Private
from pytest_killmatrix.child.recollect import Identity, identities
from pytest_killmatrix.child.records import COLLECTED, FAULT, INVALID
from pytest_killmatrix.child.verdict import Verdict, first_line
from pytest_killmatrix.child.worker import CollectErrors, Workshop
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.executor.slots import Slot
from pytest_killmatrix.model import Outcome, Phase
from pytest_killmatrix.options import OBSERVED

_CODE: Final = "import sys; sys.path.insert(0, sys.argv[2]); from pytest_killmatrix.child.anew import main; main()"


@dataclass(frozen=True, slots=True)
class Anew:
    """What every such interpreter is told: how the session was started, and the items that it had, in order."""

    sys_path: list[str]
    arguments: list[str]
    order: list[Identity]
    files: list[str]
    temporary: str
    slots: list[str]
    root: str
    environ: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Order:
    anew: Anew
    task: Task
    slot: int


def become(anew: Anew, task: Task, slot: int) -> NoReturn:
    """Leave this process's program for a fresh interpreter that does the task."""
    path = Path(anew.temporary) / f"anew-{os.getpid()}"
    path.write_bytes(pickle.dumps(_Order(anew, task, slot)))
    # not what the environment has become: imports may have changed it, and will again
    environ = {
        name: value for name, value in anew.environ.items() if not name.startswith(("COVERAGE_PROCESS", "COV_CORE"))
    }
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    package = str(Path(__file__).resolve().parents[2])
    os.execve(sys.executable, [sys.executable, *flags, "-c", _CODE, str(path), package], environ)


class _OneTask(Private):
    """The plugin of such an interpreter: runs the task instead of the suite."""

    def __init__(self, order: _Order, slot: Slot, failures: list[str]) -> None:
        self._order = order
        self._slot = slot
        self._failures = failures
        self.errors = CollectErrors()
        files = [identity[0] for identity in order.anew.order]
        wanted = {files[index] for index in order.task.order()}
        root = Path(order.anew.root)
        self._unwanted = {root / file for file in files if file not in wanted}

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        early_config.pluginmanager.register(self.errors, OBSERVED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        super().pytest_configure(config)
        config.option.continue_on_collection_errors = True

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out test files of which no test is to run (those named on the command line are not asked about)."""
        return True if collection_path in self._unwanted else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        run_here(self._order, self._slot, session, self.errors.verdicts, self._failures)
        return True


def run_here(
    order: _Order, slot: Slot, session: pytest.Session, broken: dict[str, Verdict], failures: list[str]
) -> None:
    """Do the task on the session that was just collected; never returns."""
    anew, task = order.anew, order.task
    reloading.finish(task.own)
    if failures:
        slot.write((INVALID, task.id, failures[0]))
        os._exit(0)
    slot.write((COLLECTED, task.id, *slot.marks()))

    def shorten(filename: str) -> str:
        return os.path.relpath(filename, anew.root) if filename.startswith(anew.root + os.sep) else filename

    found = dict(zip(identities(session.items), session.items, strict=True))
    gone = Verdict(Outcome.SKIPPED, Phase.COLLECT, None, "the mutant no longer generates this test")
    items = [found.get(identity, broken.get(identity[0], gone)) for identity in anew.order]
    session.items[:] = [item for item in items if isinstance(item, pytest.Item)]
    workshop = Workshop(session, [slot] * len(anew.slots), anew.files, Path(anew.temporary), shorten)
    workshop.items = items
    workshop.mutated = task.splice.path if task.splice is not None else None
    workshop.run(replace(task, swaps=(), splice=None, reload=(), own=(), recollect=(), anew=False), order.slot)


def main() -> None:
    """Entry point of the fresh interpreter."""
    path = Path(sys.argv[1])
    order: _Order = pickle.loads(path.read_bytes())
    path.unlink()
    anew, task = order.anew, order.task
    slot = Slot.attach(Path(anew.slots[order.slot]))
    slot.begin(-1)
    sys.path[:] = anew.sys_path
    failures: list[str] = []
    if task.splice is not None:
        splice = task.splice
        failures = reloading.note_failure(splice.path)
        place = (splice.path, splice.start, splice.end, splice.text, splice.sha256)
        install_mutant(*place, slot.memory.__setitem__, marking)
        interpreter.announce(interpreter.mutant(*place, anew.slots[order.slot]))
        if task.purpose is not Purpose.NOOP:
            reading.watch(splice.path, slot.note_reading)
    sys.argv = ["pytest", *anew.arguments]
    plugin = _OneTask(order, slot, failures)
    error: BaseException | None = None
    try:
        pytest.main(anew.arguments, plugins=[plugin])
    except BaseException as raised:
        error = raised
    # pytest came back without running the task: because of the mutant, or because of us
    if failures:
        slot.write((INVALID, task.id, failures[0]))
    else:
        text = f"{type(error).__name__}: {first_line(error)}" if error is not None else "pytest did not reach its tests"
        slot.write((FAULT, task.id, f"in a fresh interpreter: {text}"))
    os._exit(0)
