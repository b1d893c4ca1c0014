"""Cells of earlier runs that still hold are taken over instead of being run again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_killmatrix.executor.pool import Pool
from pytest_killmatrix.jobs import Done
from pytest_killmatrix.model import Mutant, Status, Test
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.prepared import Prepared
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.report.text import count
from pytest_killmatrix.reuse.dependence import Bond, Changes, Kept
from pytest_killmatrix.reuse.now import Now, look
from pytest_killmatrix.store import dependence as store
from pytest_killmatrix.store.dependence import Asked
from pytest_killmatrix.store.writer import Sidecar

_NOTHING: Final = Kept()
_HELD: Final = 64  # mutants whose cells are held, as long as they are judged


@dataclass(slots=True)
class Reuse:
    """What is kept of earlier runs in one run.

    Cells are read when they are wanted, and not held: there may be millions.
    """

    now: Now
    leaving: Sequence[int] = ()  # tests that leave something behind
    cells: int = 0
    runs: set[int] = field(default_factory=set)
    _pasts: list[Changes] = field(default_factory=list)
    _planned: dict[int, tuple[Planned, str, str | None]] = field(
        default_factory=dict
    )  # of those with something kept; key, definition
    _left: dict[int, tuple[int, ...]] = field(default_factory=dict)  # their tests that have to run
    _recent: OrderedDict[int, Kept] = field(default_factory=OrderedDict)
    _sidecar: Asked | None = None

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        hashes: Mapping[str, str],
        facts: Mapping[str, object],
        tests: Sequence[Test],
        reach: ReachMap,
        needs: Mapping[int, Sequence[int]],
        leaving: Collection[int],
    ) -> Reuse | None:
        """None where too little is known of what cells depend on, as in the process of an old suite."""
        if prepared.settings.isolation == "test":
            leaving = ()  # nobody comes after them
        now = look(prepared, hashes, facts, tests, reach, needs, leaving)
        return None if now is None else cls(now, sorted(leaving))

    def watch(self, pool: Pool) -> None:
        """From now on children note what later runs have to know of their cells."""
        pool.prepare(self.now.watch)

    def watch_nothing(self, pool: Pool) -> None:
        """They note nothing any more: cells of this run hold only as long as no mutated file changes."""
        pool.prepare(None)

    def begin(self, sidecar: Sidecar, run: int) -> None:
        """Store what all cells of the run depend on."""
        store.write(sidecar, run, self.now.dependence, self.cells)

    def find(
        self, sidecar: Asked, run: int | None, plan: Sequence[Planned], mutants: Sequence[Mutant], tests: Sequence[Test]
    ) -> None:
        """Look in the sidecar for what still holds of the plan's mutants; what was found before is forgotten."""
        dependence, names = self.now.dependence, [test.nodeid for test in tests]
        self._sidecar = sidecar
        self._pasts = [Changes(past, dependence, names) for past in store.pasts(sidecar, run, dependence)]
        self.cells = 0
        for known in (self._planned, self._left, self._recent, self.runs):
            known.clear()
        for planned in plan if self._pasts else ():
            if planned.status is not None or planned.whole:
                continue
            mutant = mutants[planned.mutant]
            holder = dependence.holder(mutant)
            kept = self._load(planned, mutant.key, holder)
            if kept.bonds or kept.invalid is not None:
                self._planned[planned.mutant] = planned, mutant.key, holder
                left = self._left[planned.mutant] = self._with_leaving(kept.left(planned.tests), planned)
                self.cells += len(kept.cells.keys() - set(left))

    def _load(self, planned: Planned, key: str, holder: str | None) -> Kept:
        """What is kept of a mutant, newest runs first."""
        kept = Kept()
        for changes in self._pasts:
            if changes.changed(holder) or kept.covers(planned.tests):
                continue
            row = store.row_of(self._sidecar, changes.past, key) if self._sidecar is not None else None
            before = len(kept.bonds)
            if row is not None:
                changes.keep(kept, planned, row)
            if kept.invalid is not None or len(kept.bonds) > before:
                self.runs.add(changes.past.run)
        return kept

    def _with_leaving(self, left: tuple[int, ...], planned: Planned) -> tuple[int, ...]:
        """Tests that have to run come after those that leave something behind, as in any row."""
        if not left or not self.leaving:
            return left
        before = {test for test in self.leaving if test < left[-1]} & set(planned.tests)
        return tuple(sorted({*left, *before}))

    def get(self, mutant: int) -> Kept:
        """What is kept of a mutant."""
        if mutant not in self._planned:
            return _NOTHING
        if mutant not in self._recent:
            self._recent[mutant] = self._load(*self._planned[mutant])
            while len(self._recent) > _HELD:
                self._recent.popitem(last=False)
        return self._recent[mutant]

    def without(self, planned: Planned) -> Planned:
        """The same for those of its tests that have to run."""
        left = self._left.get(planned.mutant)
        return planned if left is None else replace(planned, tests=left)

    def notes(self) -> list[str]:
        """For the report."""
        if not self._planned:
            return []
        runs = ", ".join(map(str, sorted(self.runs)))
        whole = f"run{'s' if len(self.runs) > 1 else ''} {runs}"
        return [f"{count(self.cells, 'cell')} kept of {whole}: nothing changed that they depend on"]

    def bonds(self, done: Done) -> dict[int, Bond]:
        """By test of the mutant, what ran besides the clean runs."""
        kept = self.get(done.mutant)
        return {**kept.bonds, **{test: self.named(ran) for test, ran in done.ran.items()}}

    def named(self, numbers: Sequence[int] | None) -> Bond:
        """Definitions by name."""
        return None if numbers is None else tuple(self.now.names[number] for number in numbers)

    def write(self, sidecar: Sidecar, run: int, done: Done) -> None:
        """Store beside a mutant's cells what they depend on."""
        kept = self.get(done.mutant)
        if done.status is Status.INVALID:
            bond = self.named(done.loaded) if kept.invalid is None else kept.loaded
            store.write_invalid(sidecar, run, done.mutant, bond)
            return
        store.write_row(sidecar, run, done.mutant, self.bonds(done), {*kept.unreached, *done.unreached})
        if kept.cause is not None and done.status is Status.SURVIVED:
            sidecar.set_cause(run, done.mutant, kept.cause)
