"""One child, top to bottom: become private, make the mutant live, run the tests, write a record for each."""

from __future__ import annotations

import os
import sys
import time
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_killmatrix.activation import interpreter, marking
from pytest_killmatrix.activation.late import install_mutant
from pytest_killmatrix.activation.swap import LiveFunctions
from pytest_killmatrix.child import hygiene, lean, reading, reloading
from pytest_killmatrix.child.expectations import Expectations
from pytest_killmatrix.child.lean import LeanRunner
from pytest_killmatrix.child.recollect import identities
from pytest_killmatrix.child.records import CELL, COLLECTED, END, FAULT, INVALID, OBSTACLE, REACH, READ, UNOBSERVED
from pytest_killmatrix.child.running import FullRunner, SessionEnded
from pytest_killmatrix.child.scratch import Scratch, holder_of
from pytest_killmatrix.child.verdict import Judge, Verdict, first_line
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.executor.slots import Slot
from pytest_killmatrix.model import Outcome, Phase


@dataclass(frozen=True, slots=True)
class Reach:
    """Measures what a test executes; the alone runs use it (``clean.alone.reach_of``)."""

    start: Callable[[int], None]
    stop: Callable[[], list[tuple[str, list[tuple[int, int]]]]]


class Workshop:
    """What every child inherits from the zygote: the collected session and the ways to run it."""

    def __init__(
        self,
        session: pytest.Session,
        slots: Sequence[Slot],
        files: Sequence[str],
        temporary: Path,
        shorten: Callable[[str], str],
    ) -> None:
        self.session = session
        self.config = session.config
        self.items: Sequence[pytest.Item | Verdict] = list(session.items)
        self.slots = slots
        self.temporary = temporary
        hygiene.detach(self.config)
        hygiene.settle_hypothesis(session.items)
        self.identities = identities(session.items)
        self.restore_random = hygiene.random_state()
        self.scratch = Scratch(temporary, holder_of(self.config.rootpath, sys.modules.values()))
        self.live = LiveFunctions(files)
        expectations = Expectations()
        expectations.install()
        targets = frozenset(files)
        known: dict[str, bool] = {}

        def is_product(filename: str) -> bool:
            if filename not in known:
                known[filename] = os.path.realpath(filename) in targets
            return known[filename]

        judge = Judge(is_product, expectations.unmet, shorten)
        self.runner = FullRunner(judge, expectations)
        self.config.pluginmanager.register(self.runner, "killmatrix-runner")
        self.lean_runner = LeanRunner(self.config, judge, expectations)
        self.lean_obstacle = lean.obstacle(self.config)
        self.lean_items = frozenset(id(item) for item in session.items if lean.eligible(item))
        self.start_over: Callable[[Task, int], NoReturn] | None = None
        self.reach: Reach | None = None
        self.mutated: str | None = None  # the file, in a child that knows it

    def run(
        self,
        task: Task,
        slot_number: int,
        leave: Callable[[int], None] = os._exit,
        process: Callable[[], int] = os.getpid,
    ) -> None:
        """Do one task; returns only to leave by ``os._exit``."""
        slot = self.slots[slot_number]
        owner = process()
        private = self.temporary / f"child-{owner}"
        try:
            if task.anew and self.start_over is not None:
                self.start_over(task, slot_number)
            hygiene.enter(self.config, slot_number, len(self.slots), private)
            self.scratch.enter(slot_number)
            self.restore_random()
            items: Sequence[pytest.Item | Verdict] = self.items
            if obstacle := self._activate(task, slot):
                slot.write((OBSTACLE, task.id, obstacle))
                return
            if task.recollect or task.reload:
                slot.begin(-1)
                if task.reload and (why := reloading.start(task.reload, task.own, task.splice)):
                    slot.write((INVALID, task.id, why))
                    return
                if task.recollect:
                    items = self._recollect(task)
                reloading.finish(task.reload)
                slot.write((COLLECTED, task.id, *slot.marks()))
            self._run_all(task, items, slot, owner)
        except BaseException:
            if process() == owner:
                slot.write((FAULT, task.id, "".join(traceback.format_exception(*sys.exc_info()))[-4000:]))
        finally:
            leave(0)

    def _activate(self, task: Task, slot: Slot) -> str | None:
        if task.splice is not None:
            splice = task.splice
            place = (splice.path, splice.start, splice.end, splice.text, splice.sha256)
            install_mutant(*place, slot.memory.__setitem__, marking)
            interpreter.announce(interpreter.mutant(*place, str(slot.path)))
            if task.purpose is not Purpose.NOOP:
                self.mutated = splice.path
                reading.watch(splice.path, slot.note_reading)
        mark = slot.memory.__setitem__
        if task.purpose is Purpose.NOOP:
            for swap in task.swaps:  # one that cannot be made live is a matter of its own mutants, not of the control
                self.live.swap((swap,), (lambda code: with_mark(code, mark)) if task.marked else (lambda code: code))
            return None
        not_live = self.live.swap(task.swaps, lambda code: marking.install(code, mark))
        return not_live.reason if not_live is not None else None

    def _run_all(
        self,
        task: Task,
        items: Sequence[pytest.Item | Verdict],
        slot: Slot,
        owner: int,
        clock: Callable[[], float] = time.perf_counter,  # bound early: tests replace these
        leave: Callable[[int], None] = os._exit,
        process: Callable[[], int] = os.getpid,
    ) -> None:
        order = [(index, items[index]) for index in task.order()]
        wanted = frozenset(task.tests)
        run = self._runner(task, items)
        for position, (index, item) in enumerate(order):
            if isinstance(item, Verdict):
                if index in wanted:
                    slot.write((CELL, task.id, index, *_flat(item, 0.0), False, True, False))
                continue
            following = (other for _, other in order[position + 1 :] if isinstance(other, pytest.Item))
            if self.mutated is not None:
                reading.forget(self.mutated)
            slot.begin(index)
            measure = self.reach if task.reach and index in wanted else None
            if measure is not None:
                measure.start(index)
            started = clock()
            ended = False
            try:
                verdict = run(item, next(following, None))
            except SessionEnded as end:
                verdict, ended = end.verdict, True
            seconds = clock() - started
            if process() != owner:
                leave(0)  # a child that the test forked came back through its frames
            entered, evaluated = slot.marks()
            if past := slot.memory[interpreter.UNOBSERVED]:
                flag = READ if past == interpreter.AS_TEXT else UNOBSERVED
                verdict = replace(verdict, flags=(*verdict.flags, flag))
            if index in wanted:
                slot.write((CELL, task.id, index, *_flat(verdict, seconds), entered, evaluated, verdict.shared))
                if measure is not None:
                    for path, arcs in measure.stop():
                        slot.write((REACH, task.id, index, path, arcs))
            slot.idle()
            if ended:
                return
        slot.write((END, task.id))

    def _runner(
        self, task: Task, items: Sequence[pytest.Item | Verdict]
    ) -> Callable[[pytest.Item, pytest.Item | None], Verdict]:
        """Runs an item by the lean path where that is allowed, else by the full one."""
        if not task.lean or self.lean_obstacle is not None:
            return self.runner.run
        eligible = self.lean_items
        if task.recollect:
            eligible = frozenset(id(item) for item in items if isinstance(item, pytest.Item) and lean.eligible(item))
        self.lean_runner.enter()

        def run(item: pytest.Item, nextitem: pytest.Item | None) -> Verdict:
            if id(item) in eligible and isinstance(item, pytest.Function):
                return self.lean_runner.run(item, nextitem)
            self.lean_runner.leave()
            return self.runner.run(item, nextitem)

        return run

    def _recollect(self, task: Task) -> list[pytest.Item | Verdict]:
        """Collect some test files again; where a test is gone or its file cannot be imported, a verdict stands in."""
        files = {str(self.config.rootpath / name): name for name in task.recollect}
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) in files and getattr(module, "__name__", "") not in task.reload:
                sys.modules.pop(getattr(module, "__name__", ""), None)
        errors = CollectErrors()
        self.config.pluginmanager.register(errors, "killmatrix-collect-errors")
        try:
            collected = self.session.perform_collect([str(path) for path in files])
        except (SystemExit, KeyboardInterrupt, pytest.exit.Exception) as error:
            died = Verdict(Outcome.CRASH, Phase.COLLECT, type(error).__name__, first_line(error))
            return self._replace(files, {}, dict.fromkeys(task.recollect, died))
        finally:
            self.config.pluginmanager.unregister(errors)
        items = [item for item in collected if isinstance(item, pytest.Item)]
        hygiene.settle_hypothesis(items)
        return self._replace(files, dict(zip(identities(items), items, strict=True)), errors.verdicts)

    def _replace(
        self, files: dict[str, str], found: dict[Any, pytest.Item], broken: dict[str, Verdict]
    ) -> list[pytest.Item | Verdict]:
        names = set(files.values())
        gone = Verdict(Outcome.SKIPPED, Phase.COLLECT, None, "the mutant no longer generates this test")
        result: list[pytest.Item | Verdict] = []
        for item, identity in zip(self.items, self.identities, strict=True):
            file = identity[0]
            result.append(found.get(identity, broken.get(file, gone)) if file in names else item)
        return result


class CollectErrors:
    """Notes why a file could not be collected, by file."""

    def __init__(self) -> None:
        self.verdicts: dict[str, Verdict] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        if report.failed:
            call = getattr(report, "call", None)
            error = call.excinfo.value if call is not None and call.excinfo is not None else None
            cause = getattr(error, "__cause__", None) or error
            name = type(cause).__name__ if cause is not None else None
            message = first_line(cause) if cause is not None else "cannot be collected"
            file = collector.nodeid.split("::", 1)[0]
            self.verdicts.setdefault(file, Verdict(Outcome.EXCEPTION, Phase.COLLECT, name, message))
        return report


def with_mark(code: types.CodeType, mark: Callable[[int, int], None]) -> types.CodeType:
    """The same code that holds a mark it never calls: equal to nothing else, as a marked mutant is."""
    return code.replace(co_consts=(*code.co_consts, mark))


def _flat(verdict: Verdict, seconds: float) -> tuple[Any, ...]:
    return (
        verdict.outcome.value,
        verdict.phase.value,
        verdict.exception,
        verdict.message,
        verdict.raised_at,
        seconds,
        verdict.flags,
    )
