"""A run as bit sets: for each test the mutants it kills, and for each mutant its killers. One pass over the kills."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_killmatrix.model import Outcome, Test
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.schema import OUTCOMES, SUITES
from pytest_killmatrix.store.variant_tables import NOT_AUTHORED

_KILLING = tuple(code for code, outcome in enumerate(OUTCOMES) if outcome.kills)
_ASSERTION = OUTCOMES.index(Outcome.ASSERTION)
_NEW = SUITES.index("new")


@dataclass(slots=True)
class Kills:
    """Who kills what, by the suite that judges.

    ``by_test[t]`` has bit m set where test t kills mutant m, ``asserted[t]`` where it does by an assertion;
    ``cells[t]`` is the number of mutants that the test met.
    """

    tests: list[Test]
    by_test: list[int] = field(default_factory=list)
    asserted: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)


def read_kills(reader: Reader) -> Kills:
    """All kills of the run."""
    tests = reader.tests()
    kills: list[list[int]] = [[] for _ in tests]
    asserted: list[list[int]] = [[] for _ in tests]
    marks = ", ".join("?" * len(_KILLING))
    killing = f"outcome IN ({marks})"
    if reader.has_variants():
        killing += f" AND {NOT_AUTHORED.format('c')}"
    for mutant, test, outcome in reader.query(
        f"SELECT mutant, test, outcome FROM cells c WHERE run = ? AND suite = ? AND {killing}",
        reader.run,
        _NEW,
        *_KILLING,
    ):
        kills[test].append(mutant)
        if outcome == _ASSERTION:
            asserted[test].append(mutant)
    counted = reader.cell_counts()
    cells = [counted.get(test, 0) for test in range(len(tests))]
    return Kills(tests, [bits(one) for one in kills], [bits(one) for one in asserted], cells)


def bits(numbers: list[int]) -> int:
    """The set of these numbers as the bits of an integer."""
    if not numbers:
        return 0
    array = bytearray((max(numbers) >> 3) + 1)
    for number in numbers:
        array[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(array, "little")
