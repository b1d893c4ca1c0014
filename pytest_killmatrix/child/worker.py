"""One child, top to bottom: become private, make the mutant live, run the tests, write a record for each."""

from __future__ import annotations

import os
import sys
import time
import traceback
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
from _pytest.warnings import catch_warnings_for_item

from pytest_killmatrix.activation import interpreter, marking
from pytest_killmatrix.activation.late import install_mutant
from pytest_killmatrix.activation.probe import Probe
from pytest_killmatrix.activation.swap import LiveFunctions
from pytest_killmatrix.child import hygiene, lean, reading, reloading, renewing, shortcuts
from pytest_killmatrix.child.collecting import CollectErrors, Ignored, SameDirectories, broken
from pytest_killmatrix.child.entries import Entries, Watch
from pytest_killmatrix.child.expectations import Expectations
from pytest_killmatrix.child.lean import LeanRunner
from pytest_killmatrix.child.recollect import Identity, identities
from pytest_killmatrix.child.records import (
    CELL,
    COLLECTED,
    END,
    FAULT,
    HELD,
    INVALID,
    LEFT,
    OBSTACLE,
    REACH,
    READ,
    SEEN,
    UNOBSERVED,
    Stage,
)
from pytest_killmatrix.child.running import FullRunner, SessionEnded
from pytest_killmatrix.child.scratch import Scratch, holder_of
from pytest_killmatrix.child.state import state_of
from pytest_killmatrix.child.verdict import Judge, Verdict, internal_error
from pytest_killmatrix.executor.protocol import (
    Purpose,
    Task,
    cause_of_death,
    die_alike,
    quiet_fork,
    receive_order,
    wait_for,
)
from pytest_killmatrix.executor.slots import COLLECTING, Slot
from pytest_killmatrix.model import Outcome, Phase

_INTERNAL_ERROR: Final = 3  # pytest's own exit status
_UNFINISHED: Final = 75  # others are still to run, in another child


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
        self.captured = hygiene.begin_capture(self.config)
        hygiene.settle_hypothesis(session.items)
        shortcuts.install(session)
        self.identities: Sequence[Identity] = identities(session.items)
        self.restore_random = hygiene.random_state()
        self.scratch = Scratch(temporary, holder_of(self.config.rootpath, sys.modules.values()))
        self.live = LiveFunctions(files)
        expectations = Expectations()
        expectations.install()
        self.targets = targets = frozenset(files)
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
        self.probe: Probe | None = None
        self.entries: Entries | None = None
        self.mutated: str | None = None  # the file, in a child that knows it
        self._loaded: tuple[int, list[types.ModuleType]] = (0, [])  # modules there were, the mutated ones of them
        self._mutated_at: dict[str, bool] = {}  # by a module's ``__file__``
        self._untouched: tuple[Any, ...] | None = None  # the state of the modules under mutation before any test
        self.doing = 0  # the task's number

    def watch_entries(self, watch: Watch | None) -> None:
        """Have children note which definitions run, or, without ``watch``, note nothing any more."""
        if self.entries is not None:
            self.entries.stop()
        self.entries = Entries(watch, self.live) if watch is not None else None
        if self.entries is not None:
            self.entries.start()

    def run(
        self,
        task: Task,
        slot_number: int,
        orders: int = -1,
        leave: Callable[[int], None] = os._exit,
        process: Callable[[], int] = os.getpid,
    ) -> None:
        """Do one task, and those that come from the descriptor ``orders``; leaves by ``os._exit``."""
        slot = self.slots[slot_number]
        owner = process()
        self.doing = task.id
        private = self.temporary / f"child-{owner}"
        try:
            if task.anew and self.start_over is not None:
                self.start_over(task, slot_number)
            hygiene.enter(self.config, self.captured, slot_number, len(self.slots), private)
            self.scratch.enter(slot_number)
            self.restore_random()
            items: Sequence[pytest.Item | Verdict] = self.items
            if self.entries is not None:
                self.entries.begin()
            if obstacle := self._activate(task, slot):
                slot.write((OBSTACLE, task.id, obstacle))
                return
            if task.recollect or task.reload:
                slot.begin(COLLECTING)
                paths = renewing.drop(self.config) if task.renew else []
                if task.reload and (why := reloading.start(task.reload, task.own, task.splice)):
                    slot.write((INVALID, task.id, why, self.entries.loaded() if self.entries is not None else None))
                    return
                if task.renew:
                    items = self._renew(task, paths)
                elif task.recollect:
                    items = self._recollect(task)
                if task.own:
                    reloading.finish(task.reload)
                slot.write((COLLECTED, task.id, *slot.marks()))
            if self.entries is not None:
                self.entries.loaded()
            if task.hold:
                self._hold(task, items, slot, orders)
                return
            if task.apart:
                self._run_apart(task, items, slot)
            else:
                self._run_all(task, items, slot, owner)
            slot.write((END, task.id))
        except BaseException:
            if process() == owner:
                slot.write((FAULT, self.doing, "".join(traceback.format_exception(*sys.exc_info()))[-4000:]))
        finally:
            leave(0)

    def _activate(self, task: Task, slot: Slot) -> str | None:
        if task.splice is not None:
            splice = task.splice
            place = (splice.path, splice.start, splice.end, splice.text, splice.sha256, splice.whole)
            marks: Any = marking if self.entries is None else self.entries.marks(splice.path)
            install_mutant(*place, slot.memory.__setitem__, marks if splice.marked else None)
            interpreter.announce(interpreter.mutant(*place, str(slot.path)))
            if task.purpose is not Purpose.NOOP:
                self.mutated = splice.path
                reading.watch(splice.path, slot.note_reading)
        mark = slot.memory.__setitem__
        if task.purpose is Purpose.PROBE:
            self.probe = probe = Probe(task.sites)
            for swap in task.swaps:  # where one cannot be made live nothing is seen, and nothing said
                self.live.swap((swap,), lambda code: marking.install(code, probe))
            sys.addaudithook(probe.audit)
            return None
        if task.purpose is Purpose.NOOP:
            if self.entries is not None and not task.marked:
                return None  # the functions are swapped already, for some that note that they run
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
        slot.works(owner)
        order = [(index, items[index]) for index in task.order()]
        wanted = frozenset(task.tests)
        self.runner.note = self.lean_runner.note = slot.note
        run = self._runner(task, items)
        state: tuple[Any, ...] | None = None
        if task.watch:
            state = self._state() if self.mutated is not None or self._untouched is None else self._untouched
        for position, (index, item) in enumerate(order):
            if isinstance(item, Verdict):
                if index in wanted:
                    ran = self.entries.so_far() if self.entries is not None else None
                    slot.write((CELL, task.id, index, *flat(item, 0.0), False, True, False, ran))
                continue
            following = (other for _, other in order[position + 1 :] if isinstance(other, pytest.Item))
            if self.mutated is not None:
                reading.forget(self.mutated)
            slot.begin(index)
            measure = self.reach if task.reach and index in wanted else None
            if measure is not None:
                measure.start(index)
            if self.probe is not None:
                self.probe.take()  # what came before is no test's
            started = clock()
            ended = False
            try:
                verdict = run(item, next(following, None))
            except SessionEnded as end:
                stage, ended = Stage(slot.stage()), True
                verdict = replace(end.verdict, phase=stage.phase, shared=stage is Stage.SHARED_TEAR_DOWN)
            except Exception as error:
                verdict, ended = internal_error(error, Stage(slot.stage()).phase), True
            seconds = clock() - started
            if process() != owner:
                leave(0)  # a child that the test forked came back through its frames
            entered, evaluated = slot.marks()
            ran = self.entries.ran(index) if self.entries is not None else None
            if past := slot.memory[interpreter.UNOBSERVED]:
                flag = READ if past == interpreter.AS_TEXT else UNOBSERVED
                verdict = replace(verdict, flags=(*verdict.flags, flag))
            if index in wanted:
                cell = (index, *flat(verdict, seconds), entered, evaluated, verdict.shared, ran)
                slot.write((CELL, task.id, *cell))
                if measure is not None:
                    for path, arcs in measure.stop():
                        slot.write((REACH, task.id, index, path, arcs))
            if self.probe is not None:
                slot.write((SEEN, task.id, index, self.probe.take()))
            slot.idle()
            if task.watch and (now := self._state()) != state:
                state = now
                slot.write((LEFT, task.id, index))
                ended = ended or task.split
            if ended:
                leave(_UNFINISHED)  # without a word about the rest of the row, which runs in another child

    def _hold(self, task: Task, items: Sequence[pytest.Item | Verdict], slot: Slot, orders: int) -> None:
        """The row in a fork of this process, then whatever else the controller wants to know of the same mutant."""
        marks = slot.marks()
        slot.idle()  # collected: whoever dies from here on does not die of that
        order: Task | None = task
        while order is not None:
            if order is not task:
                self.doing = order.id
                slot.write((COLLECTED, order.id, *marks))
            if order.apart:
                self._run_apart(order, items, slot)
            else:
                self._run_forked(order, items, slot)
            slot.write((HELD, order.id))
            order = receive_order(orders)

    def _run_forked(self, task: Task, items: Sequence[pytest.Item | Verdict], slot: Slot) -> None:
        """All tests in one fork of this process; where that dies, so does this one, and the controller knows why."""
        status = self._in_a_fork(task, items, slot)
        if status or slot.current() is not None:
            die_alike(status)

    def _run_apart(self, task: Task, items: Sequence[pytest.Item | Verdict], slot: Slot) -> None:
        """Each test in a fork of this process, which runs none; or what is split, in as few as that takes."""
        if task.split:
            self._run_split(task, items, slot)
            return
        for test in task.tests:
            before = slot.written()
            status = self._in_a_fork(replace(task, tests=(test,), apart=False), items, slot)
            slot.idle()
            if slot.written() == before:
                died = Verdict(Outcome.CRASH, message=f"the process died ({cause_of_death(status)})")
                slot.write((CELL, task.id, test, *flat(died, 0.0), True, True, False))

    def _run_split(self, task: Task, items: Sequence[pytest.Item | Verdict], slot: Slot) -> None:
        """The tests in a fork of this process until one of them leaves something, the others in the next."""
        left = task.tests
        while left:
            slot.begin(COLLECTING)  # no test has started yet
            slot.idle()
            status = self._in_a_fork(replace(task, tests=left, apart=False), items, slot)
            latest = slot.latest()
            if slot.current() is not None:
                died = Verdict(Outcome.CRASH, message=f"the process died ({cause_of_death(status)})")
                slot.write((CELL, task.id, latest, *flat(died, 0.0), True, True, False))
                slot.idle()
            if not status or latest not in left:
                break
            left = left[left.index(latest) + 1 :]

    def _in_a_fork(
        self,
        task: Task,
        items: Sequence[pytest.Item | Verdict],
        slot: Slot,
        leave: Callable[[int], None] = os._exit,  # bound early: an import or a test may replace them
        process: Callable[[], int] = os.getpid,
    ) -> int:
        """Run a task's tests in a fork of this process; its wait status."""
        pid = quiet_fork() if self.entries is None else self.entries.fork(quiet_fork)
        if pid == 0:
            try:
                self.restore_random()
                self._run_all(task, items, slot, process())
            except BaseException:
                slot.write((FAULT, task.id, traceback.format_exc()[-4000:]))
            finally:
                leave(0)
        return wait_for(pid)

    def look_at_state(self) -> None:
        """Find the modules under mutation, and what they hold, while nothing has run: or every child would have to."""
        self._untouched = self._state()

    def _state(self) -> tuple[Any, ...]:
        """Of the mutated file's modules; without a mutant, of all files under mutation."""
        watched = self.targets if self.mutated is None else frozenset((self.mutated,))
        count, before = self._loaded
        if len(sys.modules) == count and all(sys.modules.get(module.__name__) is module for module in before):
            return state_of(before)
        found = []
        for module in list(sys.modules.values()):
            origin = getattr(module, "__file__", None) if isinstance(module, types.ModuleType) else None
            if isinstance(origin, str):
                if origin not in self._mutated_at:
                    self._mutated_at[origin] = os.path.realpath(origin) in watched
                if self._mutated_at[origin]:
                    found.append(module)
        self._loaded = len(sys.modules), found
        return state_of(found)

    def _runner(
        self, task: Task, items: Sequence[pytest.Item | Verdict]
    ) -> Callable[[pytest.Item, pytest.Item | None], Verdict]:
        """Runs an item by the lean path where that is allowed, else by the full one."""
        if not task.lean or self.lean_obstacle is not None:
            return self.runner.run
        eligible = self.lean_items
        if task.recollect or task.renew:
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
        self._forget(task.recollect, task.reload)
        paths = [str(self.config.rootpath / name) for name in task.recollect]
        return self._collect(self.session, paths, task.recollect)

    def _forget(self, files: Collection[str], but: Collection[str]) -> None:
        """Take these test files' modules away, so that they run again; but not those that just did."""
        places = {str(self.config.rootpath / name) for name in files}
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) in places and name not in but:
                del sys.modules[name]

    def _renew(self, task: Task, conftests: Sequence[Path]) -> list[pytest.Item | Verdict]:
        """Collect once more in a new session, with conftests loaded again: the files of the tests that are to run."""
        shortcuts.forget(self.session)
        everything = {identity[0] for identity in self.identities}
        wanted = everything.intersection(task.collect) if task.narrow and task.collect else everything
        few = 2 * len(wanted) < len(everything)  # pytest reads a directory anew for each file of it that is named
        paths = [str(self.config.rootpath / name) for name in sorted(wanted)] if few else None
        self._forget(everything, task.reload)
        try:
            renewing.load(self.config, conftests)
        except BaseException as error:  # plain pytest would not get as far as its first test
            return self._replace(everything, {}, CollectErrors({"": broken(error)}))
        session = renewing.new_session(self.session)
        others = frozenset() if few else frozenset(self.config.rootpath / name for name in everything - wanted)
        items = self._collect(session, paths, wanted, others)
        shortcuts.keep_hook_proxies(session)
        return items

    def _collect(
        self,
        session: pytest.Session,
        arguments: list[str] | None,
        files: Collection[str],
        but: Collection[Path] = (),
        leave: Callable[[int], None] = os._exit,
    ) -> list[pytest.Item | Verdict]:
        """Collect in this session, ``but`` not these; the items of all other files stay what they are."""
        errors = CollectErrors()
        watching: list[object] = [errors]
        if session is self.session:
            watching.append(SameDirectories(self.session.items))
        if but:
            watching.append(Ignored(but))
        for plugin in watching:
            self.config.pluginmanager.register(plugin)
        try:
            with catch_warnings_for_item(self.config, self.config.hook, "collect", None):
                collected = session.perform_collect(arguments)
        except (SystemExit, KeyboardInterrupt, pytest.exit.Exception) as error:
            return self._replace(files, {}, CollectErrors({"": broken(error)}))
        except Exception as error:
            internal_error(error, Phase.COLLECT)
            leave(_INTERNAL_ERROR)  # nothing can be trusted to run here any more
        finally:
            for plugin in watching:
                self.config.pluginmanager.unregister(plugin)
        items = [item for item in collected if isinstance(item, pytest.Item)]
        hygiene.settle_hypothesis(items)
        return self._replace(files, dict(zip(identities(items), items, strict=True)), errors)

    def _replace(
        self, files: Collection[str], found: Mapping[Identity, pytest.Item], errors: CollectErrors
    ) -> list[pytest.Item | Verdict]:
        return [
            found.get(identity) or errors.verdict(identity[0]) if identity[0] in files else item
            for item, identity in zip(self.items, self.identities, strict=True)
        ]


def with_mark(code: types.CodeType, mark: Callable[[int, int], None]) -> types.CodeType:
    """The same code that holds a mark it never calls: equal to nothing else, as a marked mutant is."""
    return code.replace(co_consts=(*code.co_consts, mark))


def flat(verdict: Verdict, seconds: float) -> tuple[Any, ...]:
    """The part of a cell's record that the verdict makes."""
    return (
        verdict.outcome.value,
        verdict.phase.value,
        verdict.exception,
        verdict.message,
        verdict.raised_at,
        seconds,
        verdict.flags,
    )
