"""Scores of one suite over one set of mutants, each with its fraction and its reference set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_killmatrix.analysis.sampling import Interval, Judged, Stratum, interval
from pytest_killmatrix.model import Status

DETECTED = (Status.KILLED, Status.CRASHED, Status.TIMEOUT)
UNDETECTED = (Status.SURVIVED, Status.SILENCED, Status.NO_USABLE_TEST, Status.NO_COVERAGE)
UNJUDGED = (
    Status.INVALID,
    Status.EQUIVALENT,
    Status.DUPLICATE,
    Status.IGNORED,
    Status.PENDING,
    Status.RUN_ERROR,
)
NO_CANDIDATE = frozenset({Status.INVALID, Status.EQUIVALENT, Status.DUPLICATE, Status.IGNORED})
"""Mutants that no test could be asked to detect; they stand in no ratio, ``reached`` included."""

STRING_ONLY = "survived_string_only"


class Ratio(NamedTuple):
    """A fraction that is kept as one; its value is None where there is nothing to divide by."""

    numerator: int
    denominator: int

    @property
    def value(self) -> float | None:
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class Score:
    """Everything a headline needs; ``counts`` has every status, and ``survived_string_only`` as a part of survived."""

    reference_set: str
    reached: Ratio
    assertion: Ratio
    detection: Ratio
    counts: dict[str, int]
    intervals: Mapping[str, Interval] = field(default_factory=dict)  # of a sample, by the name of the ratio

    @property
    def mutants(self) -> int:
        return sum(count for name, count in self.counts.items() if name != STRING_ONLY)


def score_of(judged: Iterable[tuple[Status, bool, bool]], scope: str = "all") -> Score:
    """Score mutants given as ``(status, string_only, reached)``."""
    counts = empty_counts()
    reached = candidates = 0
    for status, string_only, is_reached in judged:
        counts[status.value] += 1
        if status is Status.SURVIVED and string_only:
            counts[STRING_ONLY] += 1
        if status not in NO_CANDIDATE:
            candidates += 1
            reached += is_reached and status is not Status.NO_COVERAGE
    detected = sum(counts[status.value] for status in DETECTED)
    undetected = sum(counts[status.value] for status in UNDETECTED)
    killed, survived = counts[Status.KILLED.value], counts[Status.SURVIVED.value]
    return Score(
        reference_set=reference_set(scope, candidates),
        reached=Ratio(reached, candidates),
        assertion=Ratio(killed, killed + survived),
        detection=Ratio(detected, detected + undetected),
        counts=counts,
    )


def intervals_of(drawn: Sequence[tuple[Stratum, Status]], sample: Mapping[str, Any]) -> dict[str, Interval]:
    """The intervals of both scores, from the drawn mutants; without one where there is none."""
    sides = {
        "assertion": ({Status.KILLED}, {Status.KILLED, Status.SURVIVED}),
        "detection": ({*DETECTED}, {*DETECTED, *UNDETECTED}),
    }
    found = {
        name: interval([Judged(stratum, status in above, status in below) for stratum, status in drawn], sample)
        for name, (above, below) in sides.items()
    }
    return {name: one for name, one in found.items() if one is not None}


def empty_counts() -> dict[str, int]:
    """Every status with 0, in the order of the JSON report."""
    counts: dict[str, int] = {}
    for status in (*DETECTED, *UNDETECTED, *UNJUDGED):
        counts[status.value] = 0
        if status is Status.SURVIVED:
            counts[STRING_ONLY] = 0
    return counts


def reference_set(scope: str, candidates: int) -> str:
    """Say in words what the ratios are ratios of."""
    return (
        f"{candidates} mutants in scope {scope!r}, judged by the new suite, less invalid, equivalent, duplicate and "
        "ignored ones; assertion: killed of killed + survived; detection: killed + crashed + timeout of those + "
        "survived + silenced + no_usable_test + no_coverage; pending and run_error are in neither"
    )
