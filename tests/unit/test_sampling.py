"""A sample of mutants: reproducible, in proportion, with the same chance for each; its intervals keep their promise."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import make_mutant

from pytest_killmatrix import settings
from pytest_killmatrix.analysis.sampling import Judged, draw, interval
from pytest_killmatrix.analysis.score import intervals_of
from pytest_killmatrix.model import Mutant, Status


def population(sizes: dict[tuple[str, str], int]) -> list[Mutant]:
    strata = [stratum for stratum, size in sizes.items() for _ in range(size)]
    return [make_mutant(number, path=path, operator=operator) for number, (path, operator) in enumerate(strata)]


MANY = population({(f"{file}.py", f"op{op}"): 3 + 7 * op + 5 * file for file in range(4) for op in range(6)})


def drawn(mutants: list[Mutant], kept: list[bool]) -> list[Mutant]:
    return [mutant for mutant, keep in zip(mutants, kept, strict=True) if keep]


def test_it_is_reproducible_and_does_not_depend_on_the_order() -> None:
    first, sample = draw(MANY, 10, True, 3)
    mixed = random.Random(1).sample(MANY, len(MANY))
    again, same = draw(mixed, 10, True, 3)
    assert {mutant.key for mutant in drawn(MANY, first)} == {mutant.key for mutant in drawn(mixed, again)}
    assert sample == same
    assert draw(MANY, 10, True, 4)[0] != first


def test_it_is_in_proportion() -> None:
    kept, sample = draw(MANY, 120, False, 0)
    sizes = Counter((mutant.path, mutant.operator) for mutant in drawn(MANY, kept))
    for entry in sample["strata"]:
        assert sizes[entry["path"], entry["operator"]] == entry["size"]
        assert abs(entry["size"] - entry["frame"] * 120 / len(MANY)) < 1
    assert (sum(kept), sample["size"], sample["frame"]) == (120, 120, len(MANY))


@given(st.lists(st.integers(1, 9), max_size=12), st.integers(1, 60), st.integers(0, 5))
def test_as_many_as_were_asked_for(sizes: list[int], amount: int, seed: int) -> None:
    mutants = population({("a.py", f"op{number}"): size for number, size in enumerate(sizes)})
    kept, sample = draw(mutants, amount, False, seed)
    assert sum(kept) == sample["size"] == min(amount, len(mutants))
    assert all(0 <= entry["size"] <= entry["frame"] for entry in sample["strata"])


def test_every_mutant_has_the_same_chance() -> None:
    """Also those of strata that are too small for one of their own."""
    mutants = population({("a.py", f"op{number}"): 1 + 4 * (number % 2) for number in range(20)})
    times: Counter[str] = Counter()
    for seed in range(3000):
        kept, _ = draw(mutants, 10, True, seed)
        times.update("small" if int(mutant.operator[2:]) % 2 == 0 else "large" for mutant in drawn(mutants, kept))
    assert times["small"] / 10 == pytest.approx(300, rel=0.1)
    assert times["large"] / 50 == pytest.approx(300, rel=0.1)


def test_what_needs_no_run_is_not_drawn_and_duplicates_follow() -> None:
    first, second = make_mutant(0), make_mutant(1)
    known = [make_mutant(2, verdict=Status.EQUIVALENT), make_mutant(3, verdict=Status.INVALID)]
    twins = [make_mutant(number, verdict=Status.DUPLICATE, duplicate_of=first.key) for number in (4, 5)]
    for seed in range(8):
        kept, sample = draw([first, second, *known, *twins], 1, False, seed)
        assert kept in ([True, False, False, False, True, True], [False, True, False, False, False, False])
        assert (sample["frame"], sample["size"], sample["mutants"]) == (2, 1, sum(kept))


def test_a_census_has_no_interval_and_nothing_has_none() -> None:
    _, sample = draw(MANY, 100, True, 0)
    assert intervals_of([((mutant.path, mutant.operator), Status.KILLED) for mutant in MANY], sample) == {}
    kept, sample = draw(MANY, 5, True, 0)
    pending = [((mutant.path, mutant.operator), Status.PENDING) for mutant in drawn(MANY, kept)]
    assert intervals_of(pending, sample) == {}


def test_all_killed_is_not_certain() -> None:
    kept, sample = draw(MANY, 20, False, 0)
    found = intervals_of([((m.path, m.operator), Status.KILLED) for m in drawn(MANY, kept)], sample)["assertion"]
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert 0.8 < found.low < 0.9
    assert (found.level, found.unit, found.population) == (0.95, "mutant", len(MANY))


@pytest.mark.parametrize("amount", [15, 60, 300])
def test_the_intervals_hold_the_truth_as_often_as_they_say(amount: int) -> None:
    """Strata that differ, mutants that stand in no ratio, samples with fewer than one mutant a stratum."""
    chance = random.Random(7)
    kinds = {}
    for mutant in MANY:
        share = 0.35 + 0.1 * int(mutant.operator[2:])
        kinds[mutant.key] = (chance.random() < share, chance.random() < 0.9)
    truth = sum(a and b for a, b in kinds.values()) / sum(b for _, b in kinds.values())
    hits, total, estimates = 0, 400, []
    for seed in range(total):
        kept, sample = draw(MANY, amount, False, seed)
        judged = [
            Judged((mutant.path, mutant.operator), all(kinds[mutant.key]), kinds[mutant.key][1])
            for mutant in drawn(MANY, kept)
        ]
        found = interval(judged, sample)
        assert found is not None
        hits += found.low <= truth <= found.high
        estimates.append(found.estimate)
    assert hits / total >= 0.93
    assert sum(estimates) / total == pytest.approx(truth, abs=0.02)


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "x", "0%", "101%", "%", "nan", "inf", "10%%", "1e999"])
def test_no_such_sample(given: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"^--mutation-sample={given}: give a number"):
        settings.sample(given)


@pytest.mark.parametrize("given", ["-1", "1.5", "x", "101%", "%", "nan", "nan%", "inf", "10%%", "1e999"])
def test_no_such_gain(given: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"^--mutation-min-gain={given}: give a number"):
        settings.gain(given, "all")


def test_what_is_a_gain() -> None:
    asked: list[Any] = [settings.gain(text, "all") for text in (None, "", "0", "7", "0%", "12.5%")]
    assert asked == [None, None, (0, False), (7, False), (0, True), (12.5, True)]


def test_what_is_a_sample() -> None:
    asked: list[Any] = [settings.sample(text) for text in (None, "", "7", "12.5%", "100%")]
    assert asked == [None, None, (7, False), (12.5, True), (100, True)]
