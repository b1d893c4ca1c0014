"""Why a mutant survived: said where everything was seen, and nothing else said."""

from __future__ import annotations

import pytest
from store_samples import make_mutant

from pytest_killmatrix.analysis.causes import Seen, cause_of
from pytest_killmatrix.model import Cause, CauseKind, Mutant, Sample, Status
from pytest_killmatrix.report.why import need, reason, samples, why_object

A, B = Sample("a=1, b=2", "True", "True"), Sample("a=2, b=2", "False", "True")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({1: Seen(3, 0, 0, (A,)), 2: Seen(1, 0, 0)}, Cause(CauseKind.NOT_INFECTED, 2, 0, "a == b", (A,))),
        ({1: Seen(3, 0, 0, (A,)), 2: Seen(1, 1, 0, (B,))}, Cause(CauseKind.NOT_NOTICED, 2, 1, "a == b", (B,))),
        ({1: Seen(3, 1, 9, (B,))}, Cause(CauseKind.NOT_NOTICED, 1, 1, "a == b", (B,))),
        ({1: Seen(3, 0, 1), 2: Seen(1, 0, 0)}, None),  # once it could not be told
        ({1: Seen(3, 0, 0)}, None),  # test 2 was not seen
        ({1: Seen(3, 0, 0), 2: Seen(0, 0, 0)}, None),  # nor did it evaluate anything
        ({}, None),
    ],
)
def test_what_can_be_told(seen: dict[int, Seen], expected: Cause | None) -> None:
    assert cause_of([1, 2], seen, differs="a == b") == expected


def test_no_test_no_cause() -> None:
    assert cause_of([], {}) is None


def test_a_message_is_one_whatever_was_seen() -> None:
    assert cause_of([1, 2], {1: Seen(1, 1, 0)}, in_message=True) == Cause(CauseKind.MESSAGE, 2)


@pytest.mark.parametrize(("infected", "kind"), [(0, CauseKind.DEFAULT), (1, None)])
def test_a_dropped_argument(infected: int, kind: CauseKind | None) -> None:
    cause = cause_of([1], {1: Seen(2, infected, 0)}, dropped=True)
    assert (cause.kind if cause else None) is kind


def test_samples_come_from_as_many_tests_as_there_are() -> None:
    many = [Sample(f"a={n}", "1", "1") for n in range(6)]
    cause = cause_of([1, 2], {1: Seen(3, 0, 0, tuple(many[:3])), 2: Seen(3, 0, 0, tuple(many[3:]))})
    assert cause is not None
    assert cause.samples == (many[0], many[3], many[1])


def test_words() -> None:
    weak = Cause(CauseKind.NOT_INFECTED, 41, 0, "a == b", (A,))
    assert reason(weak) == "41 tests reach it, none has a == b"
    assert samples(weak) == ["a=1, b=2: True either way"]
    blind = Cause(CauseKind.NOT_NOTICED, 33, 29, "a == b", (B,))
    assert reason(blind) == "the value differs (a == b) in 29 of 33 tests, nothing fails"
    assert samples(blind) == ["a=2, b=2: False, not True"]
    made = why_object(blind)
    assert made is not None
    assert made["kind"] == "not_noticed"
    assert why_object(None) is None


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("kind", [None, *CauseKind])
def test_what_a_killing_test_needs(status: Status, kind: CauseKind | None) -> None:
    mutant: Mutant = make_mutant()
    words = need(mutant, status, None if kind is None else Cause(kind, 2), 2)
    alive = {
        Status.SURVIVED, Status.NO_COVERAGE, Status.SILENCED, Status.NO_USABLE_TEST, Status.CRASHED, Status.TIMEOUT,
    }  # fmt: skip
    assert (words is not None) == (status in alive)
    assert words is None or "\n" not in words
