"""The plan of a run: every mutant's route and tests, from what the clean runs and the controls found out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pytest_killmatrix.jobs import Subjects
from pytest_killmatrix.model import Build, Mutant, Test
from pytest_killmatrix.oracle.subjects import Placed
from pytest_killmatrix.oracle.subjects import plan as plan_variant
from pytest_killmatrix.plan import OtherWays, Planned, Planner, narrowed
from pytest_killmatrix.prepared import Prepared
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.source import encoding_of
from pytest_killmatrix.static import StaticWays


class Population(NamedTuple):
    """Mutants and how they were built; the first ``generated`` ones are generated, the others ``variants``."""

    mutants: list[Mutant]
    builds: list[Build]
    generated: int
    variants: list[Placed]


class Planning:
    """Made again where the controls refuse something.

    ``not_twice`` are the test files that cannot be collected again in the same process, ``refusals`` the files whose
    mutants need another way, by how often. ``file_tests`` are the items of each test file, ``ways`` how code that runs
    at import is judged, by file.
    """

    def __init__(self, prepared: Prepared, tests: Sequence[Test], reach: ReachMap, static: StaticWays) -> None:
        self._prepared = prepared
        self._tests = tests
        self._reach = reach
        self._static = static
        self.paths = {name: str(path) for name, path in prepared.targets.files.items()}
        self.file_tests: dict[str, list[int]] = {}
        for index, item in enumerate(prepared.items):
            self.file_tests.setdefault(item.nodeid.split("::", 1)[0], []).append(index)
        self.again(frozenset(), Counter())

    def again(self, not_twice: Collection[str], refusals: Counter[str]) -> None:
        """Settle how code is judged, given what was refused."""
        self.not_twice = not_twice
        self.ways = {
            name: self._static.way(path, self._tests, self.file_tests, self._reach, refusals)
            for name, path in self.paths.items()
        }
        self._planner = Planner(self._tests, self.file_tests, self._prepared.followers, not_twice)

    def plan(self, population: Population) -> list[Planned]:
        """The plan of these."""
        prepared, (mutants, builds, generated, variants) = self._prepared, population
        plan = [
            self._planner.plan(
                index,
                mutant,
                build,
                self._reach.contexts(self.paths[mutant.path], mutant),
                self.paths[mutant.path] in prepared.loaded,
                self.ways[mutant.path],
            )
            for index, (mutant, build) in enumerate(zip(mutants[:generated], builds[:generated], strict=True))
        ]
        for index, placed in enumerate(variants, generated):
            contexts, way = self._reach.anywhere(placed.case.target_path), self.ways[placed.case.target]
            plan.append(plan_variant(index, placed, contexts, self._tests, prepared.followers, way, self.not_twice))
        return plan if prepared.lead is None else [narrowed(planned, prepared.lead.wanted) for planned in plan]

    def other_ways(self, plan: Sequence[Planned], mutants: Sequence[Mutant], controlled: Collection[str]) -> OtherWays:
        """The static route of mutants that are swapped, in the files for which that was controlled."""
        ways = {path: way for path, way in self.ways.items() if path in controlled}
        return OtherWays(plan, self._planner, lambda planned: ways.get(mutants[planned.mutant].path))

    def subjects(
        self,
        population: Population,
        hashes: Mapping[str, str],
        needs: Mapping[int, tuple[int, ...]],
        unsafe: Collection[int],
    ) -> Subjects:
        """What the matrix is made over."""
        prepared = self._prepared
        return Subjects(
            population.mutants,
            population.builds,
            self.paths,
            hashes,
            {name: encoding_of(path.read_bytes()) for name, path in prepared.targets.files.items()},
            needs,
            unsafe,
            prepared.wide,
            self.file_tests,
            [item.nodeid for item in prepared.items],
        )
