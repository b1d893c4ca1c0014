from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.analysis.score import STRING_ONLY, Ratio, empty_counts, score_of
from pytest_killmatrix.model import Status

NAMES = (
    "killed crashed timeout survived survived_string_only silenced no_usable_test no_coverage "
    "invalid equivalent duplicate ignored pending run_error"
)


def test_the_published_case() -> None:
    judged = [(Status.KILLED, False, True)] * 237
    judged += [(Status.SURVIVED, False, True)] * 48
    judged += [(Status.SURVIVED, True, True)] * 8
    judged += [(Status.CRASHED, False, True)] * 49
    score = score_of(judged)
    assert score.mutants == 342
    assert score.assertion == Ratio(237, 237 + 48 + 8)
    assert score.assertion.value == pytest.approx(0.809, abs=0.0005)
    assert score.detection == Ratio(237 + 49, 342)
    assert score.counts["survived"] == 56
    assert score.counts[STRING_ONLY] == 8


def test_no_ratio_without_a_denominator() -> None:
    score = score_of([])
    assert score.assertion.value is None
    assert score.detection.value is None
    assert score.reached == Ratio(0, 0)


def test_crashes_and_timeouts_are_on_neither_side_of_the_assertion_score() -> None:
    base = [(Status.KILLED, False, True), (Status.SURVIVED, False, True)]
    more = [*base, (Status.CRASHED, False, True), (Status.TIMEOUT, False, True)]
    assert score_of(more).assertion == score_of(base).assertion == Ratio(1, 2)
    assert score_of(more).detection == Ratio(3, 4)


def test_what_no_test_could_detect_is_in_no_ratio() -> None:
    out = [Status.IGNORED, Status.INVALID, Status.EQUIVALENT, Status.DUPLICATE]
    score = score_of([(status, False, True) for status in out])
    assert (score.assertion, score.detection, score.reached) == (Ratio(0, 0), Ratio(0, 0), Ratio(0, 0))
    assert score.mutants == 4


def test_a_line_that_is_reached_does_not_make_a_mutant_reached() -> None:
    score = score_of([(Status.NO_COVERAGE, False, True), (Status.PENDING, False, False), (Status.KILLED, False, True)])
    assert score.reached == Ratio(1, 3)


def test_counts_have_the_json_reports_names_and_order() -> None:
    assert list(empty_counts()) == NAMES.split()


def test_the_reference_set_is_in_words() -> None:
    words = score_of([(Status.KILLED, False, True)], scope="changed").reference_set
    assert "1 mutants in scope 'changed'" in words
    assert "killed + survived" in words


@given(st.lists(st.tuples(st.sampled_from(Status), st.booleans(), st.booleans())))
def test_counts_add_up(judged: list[tuple[Status, bool, bool]]) -> None:
    score = score_of(judged)
    assert score.mutants == len(judged)
    assert score.counts[STRING_ONLY] <= score.counts["survived"]
    for ratio in (score.assertion, score.detection, score.reached):
        assert 0 <= ratio.numerator <= ratio.denominator
        assert ratio.value is None or 0 <= ratio.value <= 1
