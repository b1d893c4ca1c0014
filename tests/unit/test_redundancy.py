"""Redundancy and set cover: against brute force, and what the words promise."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_killmatrix.analysis import cover
from pytest_killmatrix.analysis.cover import _Search, members, minimal, smallest_cover
from pytest_killmatrix.analysis.redundancy import Redundancy, killers_of, redundancy_of, subsumed_tests, unique_kills

MATRICES = st.lists(st.integers(0, 2**9 - 1), max_size=8)


def union(masks: list[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def cheapest(kills: list[int], prices: list[float]) -> float:
    """What the cheapest cover costs, by trying all."""
    everything = union(kills)
    return min(
        sum(prices[test] for test in chosen)
        for size in range(len(kills) + 1)
        for chosen in combinations(range(len(kills)), size)
        if union([kills[test] for test in chosen]) == everything
    )


def analysed(kills: list[int], asserted: list[int] | None = None, survived: int = 0) -> Redundancy:
    return redundancy_of(kills, kills if asserted is None else asserted, [9] * len(kills), [1.0] * len(kills), survived)


@given(MATRICES, st.data())
@settings(deadline=None)
def test_a_cover_is_smallest_by_count_and_by_time(kills: list[int], data: st.DataObject) -> None:
    prices = data.draw(st.lists(st.integers(0, 9), min_size=len(kills), max_size=len(kills)))
    for costs in (None, [float(price) for price in prices]):
        found = smallest_cover(kills, costs)
        assert union([kills[test] for test in found.tests]) == union(kills)
        assert found.exact
        assert found.cost == pytest.approx(cheapest(kills, [1.0] * len(kills) if costs is None else costs))
        assert found.bound == found.cost


@given(MATRICES)
@settings(max_examples=50, deadline=None)
def test_a_search_that_is_cut_short_says_its_bound(kills: list[int]) -> None:
    found = smallest_cover(kills, steps=0)
    least = cheapest(kills, [1.0] * len(kills))
    assert union([kills[test] for test in found.tests]) == union(kills)
    assert found.bound <= least + 1e-9
    assert found.cost >= least
    assert found.exact is False or found.cost == least


def test_a_hard_matrix_is_cut_short_and_says_so() -> None:
    # each test kills the three mutants of a different "line": no reduction applies
    kills = [union([1 << (test * step + step) % 31 for step in (1, 5, 11)]) for test in range(31)]
    found = smallest_cover(kills, steps=5)
    assert not found.exact
    assert 0 < found.bound < found.cost


@given(st.lists(st.integers(0, 2**8 - 1), max_size=12))
@settings(deadline=None)
def test_minimal_sets(masks: list[int]) -> None:
    expected = {
        one for one in masks if one and not any(other and other != one and other & ~one == 0 for other in masks)
    }
    assert sorted(minimal(masks)) == sorted(expected)


@given(st.integers(0, 2**70))
@settings(deadline=None)
def test_members(mask: int) -> None:
    assert sum(1 << member for member in members(mask)) == mask


@given(MATRICES)
@settings(deadline=None)
def test_unique_kills_and_subsumption(kills: list[int]) -> None:
    unique = unique_kills(kills)
    subsumed = subsumed_tests(kills, killers_of(kills))
    for test, mask in enumerate(kills):
        others = union(kills[:test] + kills[test + 1 :])
        assert unique.get(test, 0) == mask & ~others
        within = [
            other for other in range(len(kills))
            if other != test and mask & ~kills[other] == 0 and (kills[other] != mask or other < test)
        ]  # fmt: skip
        assert (test in subsumed) == bool(mask and within)
        assert test not in subsumed or subsumed[test] in within


@given(MATRICES)
@settings(deadline=None)
def test_whatever_kills_one_of_each_dominator_kills_all(kills: list[int]) -> None:
    found = analysed(kills)
    everything, killers = union(kills), killers_of(kills)
    for size in range(len(kills) + 1):
        for chosen in combinations(range(len(kills)), size):
            killed = union([kills[test] for test in chosen])
            if all(killed >> group[0] & 1 for group in found.dominators):
                assert killed == everything
    # and none of them can be left out
    masks = [killers[group[0]] for group in found.dominators]
    assert len(set(masks)) == len(masks)


def test_a_small_matrix() -> None:
    # test 0 kills 0 and 1; test 1 kills 1; test 2 kills 2 and 3; test 3 nothing; test 4 as test 1
    found = analysed([0b0011, 0b0010, 0b1100, 0, 0b0010], survived=2)
    assert found.idle == (3,)
    assert found.subsumed == {1: 0, 4: 0}
    assert found.needless == (1, 4)
    assert found.by_count.tests == (0, 2)
    assert found.alike == ((2, 3),)
    assert found.dominators == ((0,), (2, 3))
    assert found.dominator_score == (2, 4)


def test_only_assertions_count_in_the_dominator_score() -> None:
    assert analysed([0b01, 0b10], asserted=[0b01, 0], survived=1).dominator_score == (1, 2)


def test_nothing_at_all() -> None:
    found = analysed([])
    assert found.by_count.tests == ()
    assert found.dominator_score.value is None


def test_a_large_matrix_of_one_test_a_mutant_needs_no_search() -> None:
    found = smallest_cover([1 << test for test in range(3000)])
    assert found.exact
    assert len(found.tests) == 3000


def test_the_search_does_not_outrun_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover, "_DEEPEST", 2)
    kills = [union([1 << (test * step + step) % 31 for step in (1, 5, 11)]) for test in range(31)]
    assert not smallest_cover(kills).exact


@given(st.sets(st.integers(0, 400)))
def test_members_are_the_bits(numbers: set[int]) -> None:
    assert members(sum(1 << number for number in numbers)) == sorted(numbers)


@given(st.lists(st.integers(1, 2**10 - 1), min_size=1, max_size=12), st.data())
def test_the_greedy_cover_takes_the_best_each_time(kills: list[int], data: st.DataObject) -> None:
    prices = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=len(kills), max_size=len(kills)))
    everything = 0
    for mask in kills:
        everything |= mask
    numbers = members(everything)
    columns = [sum(1 << test for test, mask in enumerate(kills) if mask >> mutant & 1) for mutant in numbers]
    rows = {
        test: sum(1 << at for at, mutant in enumerate(numbers) if mask >> mutant & 1) for test, mask in enumerate(kills)
    }
    search = _Search(rows, columns, prices, 0)
    chosen: list[int] = []
    left = search.everything
    while left:
        best = max(rows, key=lambda test: ((rows[test] & left).bit_count() / (prices[test] + 1e-9), -test))
        chosen.append(best)
        left &= ~rows[best]
    for test in list(chosen):
        rest = 0
        for other in chosen:
            rest |= rows[other] if other != test else 0
        if rest == search.everything:
            chosen.remove(test)
    assert search._greedy() == chosen
