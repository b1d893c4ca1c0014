"""How far independent readers of the same tests agree: pure functions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.oracle.model import Judgment, Reading


@dataclass(frozen=True, slots=True)
class Pair:
    """Two readers: the tests on which they agree, of those that both judged, and Cohen's kappa.

    ``kappa`` is None where chance alone would make them agree (each gives one answer only), or nothing is common.
    """

    one: str
    other: str
    agreement: Ratio
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Round:
    """The readings of one text in one round that came to judgments, compared."""

    number: int
    text: str
    readings: tuple[Reading, ...]
    pairs: tuple[Pair, ...]
    disputed: tuple[str, ...]
    judged_once: tuple[str, ...]


def cohens_kappa(answers: Sequence[tuple[bool, bool]]) -> float | None:
    """Agreement beyond chance of two raters, from their pairs of answers.

    (observed - expected) / (1 - expected), expected from each rater's own shares.
    """
    if not answers:
        return None
    total = len(answers)
    observed = sum(one == other for one, other in answers) / total
    share_one = sum(one for one, _ in answers) / total
    share_other = sum(other for _, other in answers) / total
    expected = share_one * share_other + (1 - share_one) * (1 - share_other)
    return None if expected == 1 else (observed - expected) / (1 - expected)


def compare(readings: Sequence[Reading]) -> list[Round]:
    """Rounds in order; failed readings are in none, and those of another text are another comparison."""
    groups: dict[tuple[int, str], list[Reading]] = {}
    for reading in readings:
        if reading.failed is None:
            groups.setdefault((reading.round, reading.text), []).append(reading)
    return [
        _round(number, text, group) for (number, text), group in sorted(groups.items(), key=lambda item: item[0][0])
    ]


def _round(number: int, text: str, readings: Sequence[Reading]) -> Round:
    said = [{one.test: one.derivable for one in reading.judgments} for reading in readings]
    pairs = []
    for (left, one), (right, other) in itertools.combinations(list(zip(readings, said, strict=True)), 2):
        answers = [(one[test], other[test]) for test in one if test in other]
        agreement = Ratio(sum(a == b for a, b in answers), len(answers))
        pairs.append(Pair(left.reader, right.reader, agreement, cohens_kappa(answers)))
    tests = list(dict.fromkeys(test for judgments in said for test in judgments))
    answers_of = {test: [judgments[test] for judgments in said if test in judgments] for test in tests}
    return Round(
        number,
        text,
        tuple(readings),
        tuple(pairs),
        tuple(test for test in tests if len(set(answers_of[test])) > 1),
        tuple(test for test in tests if len(answers_of[test]) == 1 and len(readings) > 1),
    )


def doubtful(readings: Sequence[Reading]) -> list[tuple[Reading, Judgment]]:
    """The judgments of which their reader was not sure; failed readings keep theirs."""
    return [(reading, one) for reading in readings for one in reading.judgments if one.confidence != "high"]
