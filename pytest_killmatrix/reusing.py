"""Cells of earlier runs that still hold are taken over instead of being run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_killmatrix.executor.pool import Pool
from pytest_killmatrix.jobs import Done
from pytest_killmatrix.model import Mutant, Status, Test
from pytest_killmatrix.plan import Planned, narrowed
from pytest_killmatrix.prepared import Prepared
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.report.text import count
from pytest_killmatrix.reuse.dependence import Bond, Changes, Kept
from pytest_killmatrix.reuse.now import Now, look
from pytest_killmatrix.store import dependence as store
from pytest_killmatrix.store.writer import Sidecar

_NOTHING = Kept()


@dataclass(slots=True)
class Reuse:
    """What is kept of earlier runs in one run; ``kept`` is by mutant."""

    now: Now
    kept: dict[int, Kept] = field(default_factory=dict)
    runs: set[int] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        hashes: Mapping[str, str],
        facts: Mapping[str, object],
        tests: Sequence[Test],
        reach: ReachMap,
        needs: Mapping[int, Sequence[int]],
    ) -> Reuse | None:
        """None where too little is known of what cells depend on, as in the process of an old suite."""
        now = look(prepared, hashes, facts, tests, reach, needs)
        return None if now is None else cls(now)

    def watch(self, pool: Pool) -> None:
        """From now on children note what later runs have to know of their cells."""
        pool.prepare(self.now.watch)

    def watch_nothing(self, pool: Pool) -> None:
        """They note nothing any more: cells of this run hold only as long as no mutated file changes."""
        pool.prepare(None)

    def begin(self, sidecar: Sidecar, run: int) -> None:
        """Store what all cells of the run depend on."""
        store.write(sidecar, run, self.now.dependence, self.cells())

    def find(
        self, sidecar: Sidecar, run: int, plan: Sequence[Planned], mutants: Sequence[Mutant], tests: Sequence[Test]
    ) -> None:
        """Look in the sidecar for what still holds of the plan's mutants."""
        dependence, names = self.now.dependence, [test.nodeid for test in tests]
        wanted = [planned for planned in plan if planned.status is None and not planned.whole]
        for past in store.pasts(sidecar, run, dependence):
            changes = Changes(past, dependence, names)
            left = []
            for planned in wanted:
                mutant = mutants[planned.mutant]
                kept = self.kept.get(planned.mutant, Kept())
                row = None
                if not changes.changed(dependence.holder(mutant)):
                    row = store.row_of(sidecar, past, mutant.key)
                if row is not None:
                    before = len(kept.bonds)
                    changes.keep(kept, planned, row)
                    if kept.invalid is not None or len(kept.bonds) > before:
                        self.kept[planned.mutant] = kept
                        self.runs.add(past.run)
                if not kept.covers(planned.tests):
                    left.append(planned)
            wanted = left

    def without(self, planned: Planned) -> Planned:
        """The same for those of its tests that have to run."""
        kept = self.kept.get(planned.mutant)
        if kept is None:
            return planned
        return narrowed(planned, lambda test: kept.invalid is None and test not in kept.bonds, reach=False)

    def prune(self, plan: Sequence[Planned]) -> None:
        """Keep nothing of tests that are no longer in the plan."""
        for planned in plan:
            if (kept := self.kept.get(planned.mutant)) is not None:
                kept.prune(planned.tests)

    def cells(self) -> int:
        """How many cells are kept."""
        return sum(len(kept.cells) for kept in self.kept.values())

    def notes(self) -> list[str]:
        """For the report."""
        if not self.kept:
            return []
        runs = ", ".join(map(str, sorted(self.runs)))
        whole = f"run{'s' if len(self.runs) > 1 else ''} {runs}"
        return [f"{count(self.cells(), 'cell')} kept of {whole}: nothing changed that they depend on"]

    def bonds(self, done: Done) -> dict[int, Bond]:
        """By test of the mutant, what ran besides the clean runs."""
        kept = self.kept.get(done.mutant, _NOTHING)
        return {**kept.bonds, **{test: self.named(ran) for test, ran in done.ran.items()}}

    def named(self, numbers: Sequence[int] | None) -> Bond:
        """Definitions by name."""
        return None if numbers is None else tuple(self.now.names[number] for number in numbers)

    def write(self, sidecar: Sidecar, run: int, done: Done) -> None:
        """Store beside a mutant's cells what they depend on."""
        kept = self.kept.get(done.mutant, _NOTHING)
        if done.status is Status.INVALID:
            bond = self.named(done.loaded) if kept.invalid is None else kept.loaded
            store.write_invalid(sidecar, run, done.mutant, bond)
            return
        store.write_row(sidecar, run, done.mutant, self.bonds(done), {*kept.unreached, *done.unreached})
        if kept.cause is not None and done.status is Status.SURVIVED:
            sidecar.set_cause(run, done.mutant, kept.cause)
