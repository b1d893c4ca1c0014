"""The clean runs in order: pytest's own loop, a fresh interpreter, each test alone; who may judge, who reaches what."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pytest_killmatrix.analysis.projection import Costs
from pytest_killmatrix.clean import rerun
from pytest_killmatrix.clean.alone import AloneResult, run_alone
from pytest_killmatrix.clean.fresh import FreshResult, FreshSpec
from pytest_killmatrix.clean.judging import clean_tests, exclude_differing
from pytest_killmatrix.clean.observer import alone_context, test_context
from pytest_killmatrix.clean.tracing import Measured, read_children, read_forks
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.executor.pool import Limits
from pytest_killmatrix.model import Clean, Excluded, Test
from pytest_killmatrix.prepared import Prepared, Stop
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.report.narrator import Narrator
from pytest_killmatrix.targets import twins

_CHILD: Final = 0.015  # CPU seconds of a forked child that runs next to nothing, until that is measured
_OUR_FAULT: Final = 3
_USAGE: Final = 4
_FRESH_PATIENCE: Final = 30.0  # times the first run's wall time, beside a minute


class CleanRuns:
    """After ``run``: the tests with what keeps them from judging, reach, and the pool with its limits.

    ``needs`` are the predecessors of order-dependent tests, ``unsafe`` the tests that cannot run beside others, ``cpu``
    is in seconds, ``notes`` are for the report.
    """

    def __init__(self, prepared: Prepared, executor: Executor, narrator: Narrator, task_ids: Iterator[int]) -> None:
        self.prepared = prepared
        self.settings = prepared.settings
        self.executor = executor
        self.narrator = narrator
        self._ids = task_ids
        self.reach = ReachMap()
        self.cpu = prepared.loop_cpu
        self.notes: list[str] = []
        self.costs = Costs(_CHILD, prepared.collected_cpu)

    def run(self) -> None:
        """The suite in a fresh interpreter, then each test alone: outcomes that must agree, and who reaches what."""
        self.narrator.say("clean run in a fresh interpreter")
        prepared = self.prepared
        self.tests: list[Test] = clean_tests(prepared.items, prepared.identities, prepared.outcomes.observed)
        self.tests += [
            Test(name, name, Clean.UNCOLLECTABLE, excluded=Excluded.UNCOLLECTABLE, message=why)
            for name, why in prepared.uncollectable
        ]
        for number in range(max(self.settings.clean_runs - 1, 1)):
            fresh = self._fresh(number, run_tests=self.settings.clean_runs > 1 or not self.settings.alone)
            if self.settings.clean_runs > 1:
                exclude_differing(self.tests, fresh.outcomes)
            for path, context, arcs in fresh.arcs():
                self.reach.add(path, context, arcs)
        alone_seconds: dict[int, float] = {}

        def clean_seconds(test: int) -> float:
            # in the loop a shared fixture is set up by its first test, in a child by any
            return max(self.tests[test].seconds, alone_seconds.get(test, 0.0))

        limits = Limits(
            lambda test: self.settings.budget(clean_seconds(test)),
            clean_seconds,
            max(self.settings.factor * prepared.collected_in, 5.0),
            self.settings.memory,
        )
        self.pool = self.executor.pool(limits)
        self.pool.narrow = not self.executor.collecting  # unless runs alone show that less will do
        alone = self._alone(limits) if self.settings.alone else AloneResult()
        for others in (read_children(self.executor.temporary), read_forks(self.executor.temporary)):
            self._add_reach(others)
        self._check_loaded()
        alone_seconds.update(alone.seconds)
        if not self.settings.alone:
            slowest = max((test.seconds for test in self.tests), default=0.0)
            alone_seconds.update((index, slowest) for index in prepared.wide)
        self.needs, self.leaving = alone.needs, alone.leaving
        self.unsafe = set(alone.unsafe)
        for index, (why, message) in alone.excluded.items():
            self.tests[index].excluded, self.tests[index].message = why, message
        for index in alone.needs:
            self.tests[index].needs_predecessors = True

    def _check_loaded(self) -> None:
        """Where the tests import another copy of a file, its mutants never live; that is not a lack of coverage."""
        files = self.prepared.targets.files
        ran = self.reach.files()
        unloaded = {name: path for name, path in files.items() if str(path) not in ran}
        elsewhere = twins(unloaded, sys.modules)
        if not elsewhere:
            return
        name, other = next(iter(elsewhere.items()))
        if len(unloaded) == len(files):
            raise Stop(
                f"no kill matrix: the tests never load {name}, they import {other} instead; install the project in "
                "editable mode (pip install -e .), or put its source first on the path (pytest's pythonpath option)",
                _USAGE,
            )
        more = f" (and {len(elsewhere) - 1} more like it)" if len(elsewhere) > 1 else ""
        self.notes.append(f"{name} is never loaded: the tests import {other} instead{more}")

    def _add_reach(self, measured: Measured) -> None:
        for path, contexts in measured.items():
            for context, arcs in contexts.items():
                self.reach.add(path, context, arcs)

    def _fresh(self, number: int, *, run_tests: bool) -> FreshResult:
        prepared = self.prepared
        spec = FreshSpec(
            prepared.sys_path,
            rerun.arguments(prepared.config),
            prepared.identities,
            [item.nodeid for item in prepared.items],
            [str(path) for path in prepared.targets.files.values()],
            str(self.executor.temporary),
            run_tests,
        )
        running = rerun.start(prepared.config, spec, number)
        try:
            wall = sum(test.seconds for test in self.tests) + prepared.collected_in
            result = running.wait(60 + _FRESH_PATIENCE * wall, self.narrator.tick)
        except rerun.FreshRunFailed as error:
            raise Stop(f"no kill matrix: {error}", _OUR_FAULT) from error
        finally:
            running.kill()
        self.cpu += running.cpu
        return result

    def _alone(self, limits: Limits) -> AloneResult:
        reach_pool = self.executor.reach_pool(
            Limits(lambda test: 10 * limits.budget(test), limits.clean, limits.collect, limits.memory)
        )
        lead = self.prepared.lead
        wanted = lead.wanted if lead is not None else lambda test: True  # others are there for the sake of their order
        usable = sum(1 for index, test in enumerate(self.tests) if test.excluded is None and wanted(index))
        self.narrator.say("each test alone", usable)
        result = run_alone(
            reach_pool,
            self.tests,
            self._predecessors,
            self._ids,
            self.narrator.tick,
            self.narrator.advance,
            self._reached_alone,
            wanted=wanted,
            collecting=self.executor.collecting,
        )
        self.pool.narrow = reach_pool.narrow
        reach_pool.stop()
        self.cpu += result.cpu + reach_pool.zygote_cpu
        if result.seconds and not self.executor.collecting:
            empty = (result.cpu - sum(result.seconds.values())) / len(result.seconds)
            self.costs = replace(self.costs, child=min(max(empty, _CHILD / 2), 4 * _CHILD))
        return result

    def _reached_alone(self, test: int, path: str, arcs: list[tuple[int, int]]) -> None:
        self.reach.add(path, test_context(test), arcs)
        self.reach.add(path, alone_context(test), arcs)

    def _predecessors(self, index: int) -> tuple[int, ...]:
        """The tests of the same file that run before this one."""
        file = self.tests[index].path
        return tuple(
            other for other in range(index) if self.tests[other].path == file and self.tests[other].excluded is None
        )
