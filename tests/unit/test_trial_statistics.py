"""Statistics of repeated trials, checked against scipy, published values, and by writing out every resample."""

from __future__ import annotations

from itertools import product
from math import comb
from statistics import fmean

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_killmatrix.analysis.bootstrap import Count, Interval, mean_difference, rate_difference
from pytest_killmatrix.analysis.candidates import best, candidates, is_mutant
from pytest_killmatrix.analysis.power import detectable_difference, false_kill_rate, smallest_change
from pytest_killmatrix.analysis.trials import holm, holm_levels, pass_k, wilson

relaxed = settings(deadline=None)  # no test is about time
counts = st.integers(1, 3).flatmap(lambda n: st.builds(Count, st.integers(0, n), st.just(n)))
few = st.integers(1, 2).flatmap(lambda n: st.builds(Count, st.integers(0, n), st.just(n)))
pairs = st.lists(st.tuples(counts, counts), min_size=1, max_size=3)
shares = st.lists(st.floats(0, 1), min_size=1, max_size=12)


# -- pass^k -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given_counts", "k", "expected"), [
    ([Count(2, 4)], 2, 1 / 6),
    ([Count(4, 4), Count(2, 4)], 2, (1 + 1 / 6) / 2),
    ([Count(3, 5)], 1, 0.6),
    ([Count(0, 2), Count(2, 2)], 2, 0.5),
    ([Count(1, 1), Count(1, 2)], 2, 0.0),  # one trial says nothing about two
    ([Count(1, 1)], 2, None),
    ([], 1, None),
])  # fmt: skip
def test_pass_k(given_counts: list[Count], k: int, expected: float | None) -> None:
    assert pass_k(given_counts, k) == (None if expected is None else pytest.approx(expected))


@relaxed
@given(n=st.integers(1, 8), k=st.integers(1, 8), p=st.floats(0, 1))
def test_pass_k_is_unbiased_where_the_power_of_the_rate_is_not(n: int, k: int, p: float) -> None:
    k = min(k, n)
    chances = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    assert sum(chance * (pass_k([Count(c, n)], k) or 0) for c, chance in enumerate(chances)) == pytest.approx(p**k)
    biased = sum(chance * (c / n) ** k for c, chance in enumerate(chances))
    assert biased >= p**k - 1e-12


def test_pass_k_of_no_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1"):
        pass_k([Count(1, 1)], 0)


# -- Wilson -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("successes", "trials", "low", "high"), [
    (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
])  # fmt: skip
def test_wilson_as_published(successes: int, trials: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, method 3."""
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@relaxed
@given(trials=st.integers(1, 60), share=st.floats(0, 1), level=st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_scipys(trials: int, share: float, level: float) -> None:
    successes = round(share * trials)
    found = scipy.stats.binomtest(successes, trials).proportion_ci(level, "wilson")
    assert wilson(successes, trials, level) == pytest.approx((found.low, found.high), abs=1e-9)


def test_wilson_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


# -- Holm -------------------------------------------------------------------------------------------------------------


def test_holm_as_published() -> None:
    """The usual example of four hypotheses: 0.005, 0.01, 0.03, 0.04 at 0.05."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def holm_rejects(ps: list[float], alpha: float) -> list[bool]:
    """Holm's procedure step by step."""
    rejected = [False] * len(ps)
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        if ps[index] > alpha / (len(ps) - rank):
            break
        rejected[index] = True
    return rejected


@relaxed
@given(ps=shares)
def test_holm_and_its_levels_reject_what_the_procedure_rejects(ps: list[float]) -> None:
    expected = holm_rejects(ps, 0.05)
    adjusted = holm(ps)
    sure = [abs(p - 0.05) > 1e-9 for p in adjusted]  # rounding may decide the others
    by_p = [p <= 0.05 for p in adjusted]
    by_level = [p <= 1 - level + 1e-12 for p, level in zip(ps, holm_levels(ps), strict=True)]
    assert [a for a, s in zip(by_p, sure, strict=True) if s] == [e for e, s in zip(expected, sure, strict=True) if s]
    assert [a for a, s in zip(by_level, sure, strict=True) if s] == [
        e for e, s in zip(expected, sure, strict=True) if s
    ]
    assert all(a >= p for a, p in zip(adjusted, ps, strict=True))


# -- the paired bootstrap ---------------------------------------------------------------------------------------------


def written_out(given_pairs: list[tuple[Count, Count]], nested: bool) -> dict[float, float]:
    """The distribution of the mean difference, by going through every resample."""
    found: dict[float, float] = {}
    for tasks in product(given_pairs, repeat=len(given_pairs)):
        sides = [list(product(range(n), repeat=n)) if nested else [tuple(range(n))] for pair in tasks for _, n in pair]
        weight = 1 / len(given_pairs) ** len(given_pairs)
        for side in sides:
            weight /= len(side)
        for draw in product(*sides):
            rates = [
                fmean(index < count.successes for index in indexes)
                for count, indexes in zip((count for pair in tasks for count in pair), draw, strict=True)
            ]
            mean = round(fmean(after - before for before, after in zip(rates[::2], rates[1::2], strict=True)), 9)
            found[mean] = found.get(mean, 0.0) + weight
    return found


@pytest.mark.parametrize("nested", [True, False])
@settings(max_examples=20, deadline=None)
@given(given_pairs=st.lists(st.tuples(few, few), min_size=1, max_size=2))
def test_the_exact_distribution_is_that_of_all_resamples(given_pairs: list[tuple[Count, Count]], nested: bool) -> None:
    found = rate_difference(given_pairs, nested=nested)
    assert found.resamples is None
    merged: dict[float, float] = {}
    for value, mass in zip(found.values, found.masses, strict=True):
        merged[round(value, 9) + 0.0] = merged.get(round(value, 9) + 0.0, 0.0) + mass
    expected = {value + 0.0: mass for value, mass in written_out(given_pairs, nested).items() if mass > 1e-15}
    assert merged == pytest.approx(expected)


TWENTY = [(Count(b, 3), Count(m, 3)) for b, m in zip([3, 2, 3, 1, 2, 3, 0, 3, 2, 3] * 2, [1, 2, 2, 0] * 5, strict=True)]


def test_tasks_alone_are_resampled_as_scipy_does() -> None:
    differences = [after.successes / 3 - before.successes / 3 for before, after in TWENTY]
    theirs = scipy.stats.bootstrap(
        (differences,), fmean, n_resamples=20_000, method="percentile", vectorized=False, random_state=1
    )
    ours = rate_difference(TWENTY, nested=False)
    low, high, _ = ours.interval()
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)
    mean = sum(value * mass for value, mass in zip(ours.values, ours.masses, strict=True))
    spread = sum((value - mean) ** 2 * mass for value, mass in zip(ours.values, ours.masses, strict=True)) ** 0.5
    assert mean == pytest.approx(fmean(differences))
    assert spread == pytest.approx(theirs.standard_error, rel=0.03)


def test_measured_values_are_resampled_as_scipy_does() -> None:
    values = [0.1, 0.4, 0.35, 0.9, 0.2, 0.7, 0.33, 0.5, 0.61, 0.05]
    theirs = scipy.stats.bootstrap(
        (values,), fmean, n_resamples=10_000, method="percentile", vectorized=False, random_state=1
    )
    low, high, _ = mean_difference([([0.0], [value]) for value in values], resamples=10_000).interval()
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)


def test_what_is_too_big_to_be_exact_is_simulated_with_a_seed() -> None:
    odd = [(Count(b, 7), Count(m, n)) for b, m, n in [(6, 4, 11), (7, 9, 13), (5, 3, 9), (2, 2, 10)] * 5]
    simulated, again, other = (rate_difference(odd, seed=seed) for seed in (1, 1, 2))
    assert simulated.resamples is not None
    assert simulated == again != other
    even = [(Count(b, 8), Count(m, 8)) for b, m in [(7, 3), (8, 6), (5, 3), (2, 2)] * 5]
    exact = rate_difference(even)
    assert exact.resamples is None
    assert fmean(simulated.values) == pytest.approx(simulated.observed, abs=0.01)


@relaxed
@given(given_pairs=pairs, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_an_interval_excludes_zero_exactly_where_p_is_small_enough(
    given_pairs: list[tuple[Count, Count]], level: float
) -> None:
    found = rate_difference(given_pairs)
    if abs(found.p - (1 - level)) > 1e-9:
        assert found.interval(level).excludes_zero == (found.p <= 1 - level)
    interval = found.interval(level)
    assert interval.low <= found.observed + 1e-9
    assert interval.high >= found.observed - 1e-9


@relaxed
@given(given_pairs=pairs)
def test_changing_sides_changes_the_sign(given_pairs: list[tuple[Count, Count]]) -> None:
    one, other = rate_difference(given_pairs), rate_difference([(m, b) for b, m in given_pairs])
    assert one.observed == pytest.approx(-other.observed)
    assert one.p == pytest.approx(other.p)
    assert one.interval().low == pytest.approx(-other.interval().high)


def test_identical_deterministic_variants_do_not_differ() -> None:
    found = rate_difference([(Count(2, 2), Count(2, 2))] * 8)
    assert (found.p, found.interval()) == (1.0, Interval(0.0, 0.0, 0.95))


def test_nothing_to_compare_is_refused() -> None:
    for compare in (rate_difference, mean_difference):
        with pytest.raises(ValueError, match="no task"):
            compare([])


# -- what tasks and trials can show -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("tasks", "expected"), [(1, 0.45), (8, 0.10), (50, 0.05)])
def test_the_false_kill_rates_that_were_measured(tasks: int, expected: float) -> None:
    """Of identical harnesses with two trials, when tasks alone are resampled."""
    assert false_kill_rate(tasks, 2, nested=False) == pytest.approx(expected, abs=0.035)


def test_resampling_trials_too_is_careful() -> None:
    for tasks in (1, 8, 20):
        assert false_kill_rate(tasks, 2, experiments=300) < 0.12
    assert false_kill_rate(8, 2, seed=1, experiments=50) == false_kill_rate(8, 2, seed=1, experiments=50)


@pytest.mark.parametrize("nested", [True, False])
def test_the_normal_interval_for_many_tasks_is_close_to_the_exact_one(nested: bool) -> None:
    many, fewer = (false_kill_rate(tasks, 2, nested=nested, experiments=400) for tasks in (100, 30))
    assert many == pytest.approx(fewer, abs=0.05)


@pytest.mark.parametrize(("tasks", "changed"), [(8, 3), (10, 4), (20, 4), (50, 4)])
def test_the_smallest_change_is_where_the_interval_begins_to_exclude_zero(tasks: int, changed: int) -> None:
    assert smallest_change(tasks) == changed / tasks
    for number in (changed - 1, changed):
        variants = [(Count(2, 2), Count(0 if task < number else 2, 2)) for task in range(tasks)]
        assert rate_difference(variants).interval().excludes_zero == (number == changed)


def test_the_detectable_difference_is_the_formula_for_two_proportions() -> None:
    z = scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)
    found = detectable_difference([Count(500, 1000)] * 50, 4)
    assert found == pytest.approx(z * (2 * 0.25 / 200) ** 0.5, rel=1e-3)
    assert detectable_difference([Count(2, 2)] * 8, 2) > 0.3  # not free of noise because two trials were


# -- mutants are never promoted ---------------------------------------------------------------------------------------

names = st.sampled_from(["base", "careful", "mutant-drop-skill-pdf", "Mutant-noop-control", "mutant-", "mutants"])


@relaxed
@given(rates=st.dictionaries(names, st.floats(0, 1)))
def test_no_mutant_is_ever_the_best_variant(rates: dict[str, float]) -> None:
    found = best(rates)
    allowed = {name: rate for name, rate in rates.items() if not name.lower().startswith("mutant-")}
    assert candidates(rates) == [name for name in rates if name in allowed]
    assert (found is None) == (not allowed)
    assert found is None or (not is_mutant(found) and allowed[found] == max(allowed.values()))
