"""What the cells of a run depend on, and which cells of an earlier run still hold: pure functions.

A cell holds where nothing changed that its test could see: what all tests see, the test itself, what its clean run ran,
the mutated definition, and what ran under the mutant besides. All of it is compared by hashes of syntax trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_killmatrix.model import Cause, Cell, Mutant, Outcome, Status
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.reuse.definitions import outermost

Bond = tuple[str, ...] | None
"""Definitions that ran beside those of the clean run, as ``path::name``; None: unknown, so it may be any."""

_NEVER: Final = frozenset({Status.PENDING, Status.RUN_ERROR})
_LINE_REACHED: Final = "line_reached"


@dataclass(frozen=True, slots=True)
class Dependence:
    """``common`` is a hash of what all tests see, ``targets`` one of the mutated files whole.

    ``tests`` are hashes by index, of the test and of all that its clean run ran; None where it is not known.
    ``definitions`` are hashes by ``path::name``.
    """

    common: str
    targets: str
    tests: Sequence[str | None]
    definitions: Mapping[str, str]

    def holder(self, mutant: Mutant) -> str | None:
        """The definition that a mutant is in, as ``path::name``; None for code that runs at import."""
        return outermost(f"{mutant.path}::", mutant.definition, self.definitions)


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier run: its number, what its cells depended on, and the numbers of its tests and mutants.

    ``tests`` are (number, hash) by node id, ``mutants`` numbers by key.
    """

    run: int
    targets: str
    definitions: Mapping[str, str]
    tests: Mapping[str, tuple[int, str]]
    mutants: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """What an earlier run found out about a mutant, in that run's numbers; ``usual`` is the bond of all other tests."""

    status: Status
    reason: str | None
    cells: Mapping[int, Cell]
    unreached: Collection[int]
    bonds: Mapping[int, Bond]
    usual: Bond
    cause: Cause | None = None


@dataclass(slots=True)
class Kept:
    """What need not be run again of one mutant, in this run's numbers; ``invalid`` says why it cannot be imported.

    ``bonds`` are of the cells and of the ``unreached`` tests, ``loaded`` of the import that failed.
    """

    cells: dict[int, Cell] = field(default_factory=dict)
    unreached: set[int] = field(default_factory=set)
    bonds: dict[int, Bond] = field(default_factory=dict)
    invalid: str | None = None
    loaded: Bond = ()
    cause: Cause | None = None

    def left(self, tests: Iterable[int]) -> tuple[int, ...]:
        """Those of the tests that have to run."""
        return () if self.invalid is not None else tuple(test for test in tests if test not in self.bonds)

    def covers(self, tests: Iterable[int]) -> bool:
        """Whether none of these tests has to run."""
        return self.invalid is not None or all(test in self.bonds for test in tests)


class Changes:
    """What changed between an earlier run and this one."""

    def __init__(self, past: Past, now: Dependence, names: Sequence[str]) -> None:
        """``names`` are the node ids of this run's tests; those that are not unique are never taken for the same."""
        self.past = past
        self._now = now
        self._anything = past.targets != now.targets
        self._definitions = {
            name
            for name in past.definitions.keys() | now.definitions.keys()
            if past.definitions.get(name) != now.definitions.get(name)
        }
        unique = {name for name, count in Counter(names).items() if count == 1}
        self._before: dict[int, int] = {}  # tests that are what they were: from this run's number to that one's
        for index, (name, key) in enumerate(zip(names, now.tests, strict=False)):
            then = past.tests.get(name)
            if key is not None and then is not None and then[1] == key and name in unique:
                self._before[index] = then[0]

    def concern(self, bond: Bond) -> bool:
        """Whether something changed that ran."""
        return self._anything if bond is None else not self._definitions.isdisjoint(bond)

    def changed(self, definition: str | None) -> bool:
        """Whether this definition did."""
        return definition is not None and definition in self._definitions

    def keep(self, kept: Kept, planned: Planned, row: Row) -> None:
        """Add what still holds of a mutant's row to what is kept of newer runs."""
        if row.status in _NEVER or kept.covers(planned.tests):
            return
        if row.status is Status.INVALID:
            if not kept.bonds and not self.concern(row.usual):
                kept.invalid, kept.loaded = row.reason, row.usual
            return
        nowhere = row.status is Status.NO_COVERAGE and row.reason == _LINE_REACHED
        for test in planned.tests:
            then = self._before.get(test)
            if then is None or test in kept.bonds:
                continue
            bond = row.bonds.get(then, row.usual)
            if self.concern(bond):
                continue
            cell = row.cells.get(then)
            if cell is not None and cell.outcome is not Outcome.ERROR:
                kept.cells[test] = replace(cell, mutant=planned.mutant, test=test)
            elif cell is None and (nowhere or then in row.unreached):
                kept.unreached.add(test)
            else:
                continue
            kept.bonds[test] = bond
        kept.cause = kept.cause or row.cause
