from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.analysis.status import VERDICTS, status_of
from pytest_killmatrix.model import Outcome, Status

outcome_lists = st.lists(st.sampled_from(Outcome), max_size=6)
verdicts = st.none() | st.sampled_from(sorted(VERDICTS))
flags = st.booleans()


def conditions(
    verdict: Status | None, outcomes: list[Outcome], missing: bool, reached: bool, only_excluded: bool
) -> list[tuple[Status, bool]]:
    """The design's table, written a second time: every condition on its own, in order."""
    return [
        *((status, verdict is status) for status in (Status.IGNORED, Status.INVALID, Status.EQUIVALENT)),
        (Status.DUPLICATE, verdict is Status.DUPLICATE),
        (Status.KILLED, any(o is Outcome.ASSERTION for o in outcomes)),
        (Status.CRASHED, any(o in (Outcome.EXCEPTION, Outcome.CRASH) for o in outcomes)),
        (Status.TIMEOUT, any(o is Outcome.TIMEOUT for o in outcomes)),
        (Status.RUN_ERROR, any(o is Outcome.ERROR for o in outcomes)),
        (Status.PENDING, missing),
        (
            Status.SILENCED,
            not any(o is Outcome.PASSED for o in outcomes) and any(o is Outcome.SKIPPED for o in outcomes),
        ),
        (Status.NO_USABLE_TEST, only_excluded),
        (Status.SURVIVED, any(o is Outcome.PASSED for o in outcomes)),
        (Status.NO_COVERAGE, not outcomes and not reached),
        (Status.PENDING, True),
    ]


@given(verdicts, outcome_lists, flags, flags, flags)
def test_the_first_condition_that_holds_decides(
    verdict: Status | None, outcomes: list[Outcome], missing: bool, reached: bool, only_excluded: bool
) -> None:
    status = status_of(verdict, outcomes, missing=missing, reached=reached, only_excluded=only_excluded)
    table = conditions(verdict, outcomes, missing, reached, only_excluded)
    assert status is next(answer for answer, holds in table if holds)


@given(verdicts, outcome_lists, flags, flags, flags, st.randoms())
def test_the_order_of_cells_does_not_matter(
    verdict: Status | None,
    outcomes: list[Outcome],
    missing: bool,
    reached: bool,
    only_excluded: bool,
    random: object,
) -> None:
    def judge(cells: list[Outcome]) -> Status:
        return status_of(verdict, iter(cells), missing=missing, reached=reached, only_excluded=only_excluded)

    shuffled = list(outcomes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert judge(outcomes) is judge(shuffled) is judge(outcomes * 2)


def test_every_status_can_be_reached() -> None:
    found = {status_of(verdict, [], missing=False, reached=False) for verdict in VERDICTS}
    found |= {status_of(None, [outcome], missing=False, reached=True) for outcome in Outcome}
    found.add(status_of(None, [], missing=True, reached=True))
    found.add(status_of(None, [], missing=False, reached=True, only_excluded=True))
    found.add(status_of(None, [], missing=False, reached=False))
    assert found == set(Status)


def test_a_reached_mutant_without_any_cell_is_never_a_verdict() -> None:
    assert status_of(None, [], missing=False, reached=True) is Status.PENDING


def test_a_skip_beside_a_pass_is_a_survivor() -> None:
    assert status_of(None, [Outcome.SKIPPED, Outcome.PASSED], missing=False, reached=True) is Status.SURVIVED


@pytest.mark.parametrize("status", sorted(set(Status) - VERDICTS))
def test_what_only_cells_can_decide_is_no_verdict(status: Status) -> None:
    with pytest.raises(ValueError, match=status.value):
        status_of(status, [], missing=False, reached=False)
