"""What a full kill matrix says about tests and mutants that add nothing: always with respect to these mutants.

Sets are integers: bit m of a test's set is set where the test kills mutant m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_killmatrix.analysis.cover import Cover, members, minimal, smallest_cover
from pytest_killmatrix.analysis.score import Ratio


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Tests and mutants by number.

    ``idle`` kill nothing. ``subsumed`` kill nothing beyond what one other test kills, which is named; of tests that
    kill the same, all but the first. ``needless`` kill no mutant that no other test kills: each can go, not all of
    them. ``by_count`` and ``by_time`` are smallest sets that keep every kill. ``alike`` are groups of mutants that the
    same tests kill. ``dominators`` are groups of mutants (of which one is enough): whatever kills one of each kills
    all that is killed (dynamic subsumption); ``dominator_score`` counts each such group once.
    """

    judges: tuple[int, ...]
    idle: tuple[int, ...]
    subsumed: dict[int, int]
    needless: tuple[int, ...]
    unique: dict[int, int]
    by_count: Cover
    by_time: Cover
    alike: tuple[tuple[int, ...], ...]
    dominators: tuple[tuple[int, ...], ...]
    dominator_score: Ratio


def redundancy_of(
    kills: Sequence[int], asserted: Sequence[int], cells: Sequence[int], seconds: Sequence[float], survived: int
) -> Redundancy:
    """Analyse a matrix.

    :param kills: for each test the mutants it kills, as bits; ``asserted`` those it kills by an assertion.
    :param cells: for each test how many mutants it met.
    :param seconds: for each test its duration on unmutated code.
    :param survived: mutants that every test passed under.
    """
    judges = tuple(test for test, number in enumerate(cells) if number)
    killers = killers_of(kills)
    unique = unique_kills(kills)
    groups: dict[int, list[int]] = {}
    for mutant, mask in killers.items():
        groups.setdefault(mask, []).append(mutant)
    noticed = 0
    for mask in asserted:
        noticed |= mask
    dominators = tuple(tuple(groups[mask]) for mask in minimal(groups))
    by_assertion = sum(any(noticed >> mutant & 1 for mutant in group) for group in dominators)
    return Redundancy(
        judges=judges,
        idle=tuple(test for test in judges if not kills[test]),
        subsumed=subsumed_tests(kills, killers),
        needless=tuple(test for test in judges if kills[test] and not unique.get(test)),
        unique=unique,
        by_count=smallest_cover(kills),
        by_time=smallest_cover(kills, seconds),
        alike=tuple(tuple(group) for group in groups.values() if len(group) > 1),
        dominators=tuple(sorted(dominators)),
        dominator_score=Ratio(by_assertion, by_assertion + survived),
    )


def killers_of(kills: Sequence[int]) -> dict[int, int]:
    """For each mutant that is killed its killers, as bits, in the order of the mutants."""
    lists: dict[int, list[int]] = {}
    for test, mask in enumerate(kills):
        for mutant in members(mask):
            lists.setdefault(mutant, []).append(test)
    size = (len(kills) >> 3) + 1
    found = {}
    for mutant in sorted(lists):
        array = bytearray(size)
        for test in lists[mutant]:
            array[test >> 3] |= 1 << (test & 7)
        found[mutant] = int.from_bytes(array, "little")
    return found


def unique_kills(kills: Sequence[int]) -> dict[int, int]:
    """For each test that has any, the mutants that only it kills, as bits."""
    once, more = 0, 0
    for mask in kills:
        more |= once & mask
        once |= mask
    once &= ~more
    return {test: mask & once for test, mask in enumerate(kills) if mask & once}


def subsumed_tests(kills: Sequence[int], killers: dict[int, int]) -> dict[int, int]:
    """Tests whose kills one other test has all of, and that one; of equal ones the first stays."""
    found: dict[int, int] = {}
    for test, mask in enumerate(kills):
        if not mask:
            continue
        rarest = min(members(mask), key=lambda mutant: killers[mutant].bit_count())
        for other in members(killers[rarest]):
            larger = kills[other]
            if other != test and mask & ~larger == 0 and (larger != mask or other < test):
                found[test] = other
                break
    return found
