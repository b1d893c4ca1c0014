"""The old suite beside the new one, from its tree to the delta; ``making`` calls it step by step."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.analysis import delta as deltas
from pytest_killmatrix.analysis.delta import GAINED, Meeting, Suited, side_of
from pytest_killmatrix.analysis.score import NO_CANDIDATE
from pytest_killmatrix.analysis.status import status_of
from pytest_killmatrix.baseline import changes as changing
from pytest_killmatrix.baseline.changes import Changes, Known
from pytest_killmatrix.baseline.old import Collected, Go
from pytest_killmatrix.baseline.repository import RefError
from pytest_killmatrix.baseline.scope import (
    ALL,
    AUTO,
    CHANGED,
    COVERED,
    RunAgain,
    Said,
    changed_lines,
    differs,
    in_scope,
)
from pytest_killmatrix.baseline.suite import Basis, OldSuite, OldSuiteFailed
from pytest_killmatrix.clean.observer import file_context, test_context
from pytest_killmatrix.model import Build, Cell, Clean, Excluded, Isolation, Mutant, Outcome, Status, Test
from pytest_killmatrix.prepared import Stop
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

OLD: Final = "old"
NEW: Final = "new"
_USAGE: Final = 4
_NOTHING: Final = 5
_GIVEN_ALONG: Final = 5_000  # mutants that are handed to the old suite compiled; more of them it makes itself
_UNKNOWN: Final = frozenset({Status.RUN_ERROR, Status.PENDING})


class NothingInScope(Exception):
    """No mutant is left; the message is one line and says what to do."""


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """What is wrong with the baseline ends the run; what was stored is kept."""
    try:
        yield
    except NothingInScope as error:
        raise Stop(f"no kill matrix: {error}", _NOTHING) from error
    except (OldSuiteFailed, RefError, OSError) as error:
        raise Stop(f"no delta: {error}", _USAGE) from error


@dataclass(slots=True)
class Met:
    """One mutant and the cells of both suites, by index in the common list of tests; shared cells stand in both."""

    index: int
    key: str
    judged: bool
    unknown: set[str]
    new: dict[int, Cell]
    old: dict[int, Cell]
    excluded: frozenset[int] = frozenset()
    status: Status = Status.PENDING
    reason: str | None = None
    refuted: str | None = None
    retold: set[int] = field(default_factory=set)  # tests of the new suite that ran once more
    revised: bool = False  # running again changed what a test of the new suite says

    def meeting(self) -> Meeting:
        """As the pure functions take it."""
        return Meeting(
            self.key,
            {test: cell.outcome for test, cell in self.new.items()},
            {test: cell.outcome for test, cell in self.old.items()},
            frozenset(self.unknown),
            self.judged,
            self.refuted,
            self.excluded,
        )


@dataclass(slots=True)
class Comparison:
    """The old suite of one run, and what is known of it so far."""

    basis: Basis
    suite: OldSuite
    known: Sequence[Known]
    scope: str
    notes: list[str] = field(default_factory=list)
    changes: Changes = field(default_factory=lambda: Changes([], []))
    collected: Collected = field(default_factory=lambda: Collected([], []))
    cpu: float = 0.0
    faults: list[str] = field(default_factory=list)
    common: list[Test] = field(default_factory=list)
    _place: dict[int, int] = field(default_factory=dict)  # of each old test in the common list
    _ran: list[int] = field(default_factory=list)  # the old tests that ran by themselves
    _asked: set[int] = field(default_factory=set)  # old tests whose pair judges nothing, though it is the same
    _sidecar: Path = Path()
    _chosen: bool = False  # nobody asked for the scope

    def start(self) -> None:
        """Lay the old tree out and have its tests collected meanwhile."""
        self.notes += self.suite.start()
        self.notes.insert(
            0, f"tests: {self.basis.side.described()}; at {self.basis.ref}: {self.suite.old.side.described()}"
        )

    def collect(self, patience: float) -> None:
        """Learn what the old suite has, and what became of it; within so many seconds."""
        self.collected = self.suite.collected(patience)
        self.changes = changing.compare(self.known, self.collected.tests)
        if not self.collected.tests:
            self.notes.append(
                f"of what was selected, {self.basis.ref} has no test: whatever today's tests notice is called gained"
            )

    # -- scope -----------------------------------------------------------------------------------------------------

    def in_changed_lines(self, mutants: Sequence[Mutant], files: Mapping[str, Path]) -> list[bool]:
        """For each mutant whether it is in scope, where that is one of lines; settles what ``auto`` means."""
        if self.scope not in (AUTO, CHANGED):
            return [True] * len(mutants)
        now = {name: path.read_bytes() for name, path in files.items()}
        before = {name: self.basis.repository.text(self.basis.commit, name) for name in files}
        if self.scope == AUTO:
            self._chosen = True
            self.scope = CHANGED if any(differs(before[name], text) for name, text in now.items()) else COVERED
        if self.scope != CHANGED:
            return [True] * len(mutants)
        kept = in_scope(mutants, {name: changed_lines(before[name], text) for name, text in now.items()})
        if not any(kept):
            raise NothingInScope(
                f"no mutant stands in a line of source that changed since {self.basis.ref}; "
                "--mutation-scope=covered or =all takes others"
            )
        return kept

    def reached_by_contributors(
        self, mutants: Sequence[Mutant], tests: Sequence[Test], reach: ReachMap, paths: Mapping[str, str]
    ) -> list[bool]:
        """For each mutant whether it is in scope, where that is one of what added and changed tests reach.

        Where nobody asked for that and tests were taken out, all are: what those reached may be lost.
        """
        if self.scope == COVERED and self._chosen and changing.REMOVED in self.changes.old:
            self.scope = ALL
            self.notes.append("tests were removed, so every mutant is in scope: what they noticed may be lost")
        if self.scope != COVERED:
            return [True] * len(mutants)
        mine = {test_context(index) for index in self.contributors()}
        mine |= {file_context(tests[index].path) for index in self.contributors()}
        kept = [not mine.isdisjoint(reach.contexts(paths[mutant.path], mutant)) for mutant in mutants]
        if not any(kept):
            raise NothingInScope(
                f"no test that was added or changed since {self.basis.ref} reaches anything under mutation; "
                "--mutation-scope=all takes every mutant"
            )
        return kept

    def contributors(self) -> frozenset[int]:
        """The new suite's tests that are not just what they were, by index."""
        return frozenset(index for index, change in enumerate(self.changes.new) if change != changing.UNCHANGED)

    # -- the old suite's matrix ------------------------------------------------------------------------------------

    def run(
        self,
        made: Sequence[tuple[Mutant, Build]],
        hashes: Mapping[str, str],
        unsteady: Collection[int],
        excluded: Collection[int],
        patience: float,
    ) -> None:
        """Have the tests that are not the same run against these mutants, made of files that have these hashes.

        ``unsteady`` new tests need others that ran before, ``excluded`` ones did not pass as they should: in the old
        suite, among others, they may. ``patience`` is for ``OldSuite.made``.
        """
        changes = self.changes
        files = {
            self.collected.tests[index].nodeid.partition("::")[0]
            for index, change in enumerate(changes.old)
            if change != changing.UNCHANGED
        } | {self.known[index].nodeid.partition("::")[0] for index in self.contributors()}
        changes.demand(
            index
            for index, other in changes.pairs.items()
            if other in unsteady and self.collected.tests[index].nodeid.partition("::")[0] in files
        )
        tests = frozenset(index for index in range(len(changes.old)) if index not in changes.shared)
        if tests or self.contributors():
            self._asked = {index for index in changes.shared if changes.pairs[index] in excluded}
            tests |= self._asked
        # what spoils a test may be in any file
        keys = frozenset(mutant.key for mutant, _ in made)
        given = tuple(made) if len(made) <= _GIVEN_ALONG else ()
        self.suite.go(Go(tests, keys, bool(self._asked), given, hashes) if tests else None)
        if tests:
            self._sidecar = self.suite.made(patience)
        self._ran = sorted(tests)

    def tests(self, new: Sequence[Test]) -> list[Test]:
        """The common list: the new suite's, marked, then the old suite's that are not the same."""
        changes, common = self.changes, list(new)
        ran = self._old_tests()
        changes.demand(index for index in self._asked if ran[index].excluded is None)
        for index, change in enumerate(changes.new):
            both = change == changing.UNCHANGED
            common[index] = replace(common[index], suite=(OLD, NEW) if both else (NEW,), change=change)
        self._place.clear()
        for index, change in enumerate(changes.old):
            if change == changing.UNCHANGED:
                self._place[index] = changes.pairs[index]
                continue
            self._place[index] = len(common)
            known = self.collected.tests[index]
            same = index in changes.shared
            test = replace(common[changes.pairs[index]], nodeid=known.nodeid) if same else ran[index]
            common.append(replace(test, suite=(OLD,), change=change))
        now = {test.path for test in new}
        for name, why, _ in self.collected.uncollectable:
            lost = Test(name, name, Clean.UNCOLLECTABLE, excluded=Excluded.UNCOLLECTABLE, message=why, suite=(OLD,))
            common.append(replace(lost, change=changing.CHANGED if name in now else changing.REMOVED))
        self.common = common
        return common

    def _old_tests(self) -> dict[int, Test]:
        """What the old suite's own run says of its tests, by index of what was collected."""
        if not self._ran:
            return {}
        with Reader(self._sidecar) as reader:
            found = reader.tests()
            self.cpu = reader.info.cpu.get("total", 0.0)
            self.faults = [*reader.info.noop_kills]
            self.faults += [
                f"route {route}" for route, state in reader.info.routes.items() if state.startswith("failed")
            ]
        names: defaultdict[str, list[Test]] = defaultdict(list)
        for test in found:
            names[test.nodeid].append(test)
        missing = Test("", clean=Clean.SKIPPED, excluded=Excluded.SKIPPED, message="did not run")
        return {
            index: (names[name] or [replace(missing, nodeid=name, path=name.partition("::")[0])])[0]
            for index in self._ran
            for name in [self.collected.tests[index].nodeid]
        }

    # -- the delta -------------------------------------------------------------------------------------------------

    def meet(self, reader: Reader, again: RunAgain) -> tuple[dict[str, Any], list[Met]]:
        """The delta of the run that ``reader`` has, and every mutant with the cells of both suites.

        Whatever would be called gained or lost is run again first.
        """
        met = list(self._met(reader))
        self._confirm(met, again)
        tests = self._suited()
        found = deltas.compare((one.meeting() for one in met), tests)
        facts = deltas.as_json(
            found, tests, baseline=self.basis.ref, commit=self.basis.commit, scope=self.scope, score_ref=None
        )
        facts["confirmed"] = True
        return facts, met

    def score_at_ref(self) -> dict[str, Any]:
        """What the ref's tests assert of the mutants of its own source."""
        suite = self.suite.at_ref()
        try:
            suite.start()
            ratio = suite.score()
            self.cpu += suite.cpu
        finally:
            suite.close()
        return deltas.ratio_object(ratio)

    def store(self, sidecar: Sidecar, run: int, one: Met) -> None:
        """Write what confirming changed, and the cells of the old suite that are not shared."""
        for test in sorted(one.retold):
            sidecar.add_cell(run, one.new[test])
        for cell in one.old.values():
            if cell.suite == OLD:
                sidecar.add_cell(run, cell)
        if one.revised:
            status = status_of(None, [cell.outcome for cell in one.new.values()], missing=False, reached=True)
            sidecar.set_status(run, one.index, status, one.reason if status is one.status else None)

    def _suited(self) -> list[Suited]:
        gone = {index for index, test in enumerate(self.common) if test.excluded is not None and test.suite == (OLD,)}
        excluded = {self.common[index].nodeid.partition("[")[0] for index in gone}
        excluded.update(name for _, _, names in self.collected.uncollectable for name in names)
        pairs = {self._place[index]: other for index, other in self.changes.pairs.items()}
        replaced = {pairs[index] for index in gone & pairs.keys()}
        return [
            Suited(
                test.nodeid,
                test.suite,
                test.change,
                None if test.excluded is None else test.excluded.value,
                self.common[pairs[index]].nodeid if test.change == changing.RENAMED and index in pairs else None,
                index in replaced or test.nodeid.partition("[")[0] in excluded,
            )
            for index, test in enumerate(self.common)
        ]

    def _met(self, reader: Reader) -> Iterator[Met]:
        cells, statuses, excluded = self._old_cells()
        both = {self.changes.pairs[index]: index for index in self.changes.shared}
        for row in reader.mutants():
            key = row.mutant.key
            new = {cell.test: cell for cell in row.cells if cell.suite == NEW}
            old = dict(cells.get(key, {}))
            for test, cell in new.items():
                if test in both:
                    place = self._place[both[test]]
                    old[place] = cell if place == test else replace(cell, test=place, suite=OLD)
            unknown = set()
            if row.status in _UNKNOWN or any(cell.outcome is Outcome.ERROR for cell in new.values()):
                unknown |= {NEW, OLD} if both else {NEW}
            # a mutant that the other process was told to make, and did not
            missing = bool(self._ran) and row.status not in NO_CANDIDATE and key not in statuses
            if missing or statuses.get(key) in _UNKNOWN or any(cell.outcome is Outcome.ERROR for cell in old.values()):
                unknown.add(OLD)
            reached = frozenset(
                test
                for test in row.reached_by
                if self.common[test].excluded is not None and OLD in self.common[test].suite
            )
            yield Met(
                row.index,
                key,
                row.status not in NO_CANDIDATE,
                unknown,
                new,
                old,
                reached | excluded.get(key, frozenset()),
                row.status,
                row.reason,
            )

    def _old_cells(self) -> tuple[dict[str, dict[int, Cell]], dict[str, Status], dict[str, frozenset[int]]]:
        """By mutant: the cells of the old suite's own run, its status there, the excluded tests that reach it."""
        cells: dict[str, dict[int, Cell]] = {}
        statuses: dict[str, Status] = {}
        excluded: dict[str, frozenset[int]] = {}
        if not self._ran:
            return cells, statuses, excluded
        by_name = {self.collected.tests[index].nodeid: self._place[index] for index in self._ran}
        with Reader(self._sidecar) as reader:
            places = [by_name.get(test.nodeid) for test in reader.tests()]
            for row in reader.mutants():
                statuses[row.mutant.key] = row.status
                found = ((places[cell.test], cell) for cell in row.cells)
                cells[row.mutant.key] = {
                    place: replace(cell, mutant=row.index, test=place, suite=OLD)
                    for place, cell in found
                    if place is not None
                }
                reached = (places[test] for test in row.reached_by)
                excluded[row.mutant.key] = frozenset(
                    place for place in reached if place is not None and self.common[place].excluded is not None
                )
        return cells, statuses, excluded

    def _confirm(self, met: Sequence[Met], again: RunAgain) -> None:
        """Run the cells that a gain or a loss rests on again, each alone, under the mutant and under no change."""
        doubted = {one.key: (one, side) for one in met if (side := side_of(one.meeting())) is not None}
        sources = {self._place[index]: self.changes.pairs[index] for index in self.changes.shared}
        copies: defaultdict[int, set[int]] = defaultdict(set)
        for place, source in sources.items():
            copies[source].add(place)
        here: defaultdict[int, list[int]] = defaultdict(list)
        there: defaultdict[str, list[str]] = defaultdict(list)
        places: dict[tuple[str, str], int] = {}
        for key, (one, side) in doubted.items():
            kills, reaches = (one.new, one.old) if side == GAINED else (one.old, one.new)
            for test in sorted({test for test, cell in kills.items() if cell.outcome.kills} | set(reaches)):
                if NEW in self.common[test].suite or test in sources:
                    here[one.index].append(sources.get(test, test))
                else:
                    name = self.common[test].nodeid
                    there[key].append(name)
                    places[key, name] = test
        said = again(here)
        for one, _ in doubted.values():
            for test in here[one.index]:
                self._take(one, {test} | copies[test], said.get((one.index, test)))
        answers = {(answer.mutant, answer.test): answer for answer in (self.suite.again(there) if there else ())}
        for (key, name), place in places.items():
            answer = answers.get((key, name))
            self._take(doubted[key][0], {place}, Said(answer.outcome, answer.noop) if answer is not None else None)
        for one, side in doubted.values():
            if one.refuted is None and side_of(one.meeting()) != side:
                one.refuted = "run again, each test alone, the suites no longer differ"

    def _take(self, one: Met, places: Collection[int], found: Said | None) -> None:
        if found is None or found.outcome is Outcome.ERROR:
            one.refuted = f"{self.common[min(places)].nodeid} could not be run again alone"
            return
        for test in places:
            if found.noop is not Outcome.PASSED:
                one.refuted = f"{self.common[test].nodeid} does not pass alone under a change that changes nothing"
            for cells in (one.new, one.old):
                cell = cells.get(test)
                if cell is not None:
                    agreed = cell.outcome.kills == found.outcome.kills
                    if cells is one.new:
                        one.retold.add(test)
                        one.revised |= cell.outcome is not found.outcome
                    cells[test] = replace(cell, outcome=found.outcome, isolation=Isolation.ALONE, confirmed=agreed)
