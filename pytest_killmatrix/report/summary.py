"""What the summary of a run says, gathered in one pass over the mutants; memory grows with what it lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pytest_killmatrix.analysis.score import Score
from pytest_killmatrix.model import Cause, Mutant, RunInfo, Status, Test
from pytest_killmatrix.store.reader import Reader

LISTED = frozenset({Status.SURVIVED, Status.SILENCED, Status.NO_USABLE_TEST, Status.TIMEOUT, Status.RUN_ERROR})


@dataclass(frozen=True, slots=True)
class Listed:
    """A mutant that is worth a line of its own."""

    mutant: Mutant
    tests: int
    reason: str | None
    index: int = 0


@dataclass(slots=True)
class Summary:
    """The facts of the terminal report, before they are put into words."""

    info: RunInfo
    score: Score
    cells: int
    judges: int
    excluded: list[Test]
    serial: list[Test]
    listed: dict[Status, list[Listed]] = field(default_factory=dict)
    string_only: list[Listed] = field(default_factory=list)
    uncovered: Counter[tuple[str, str]] = field(default_factory=Counter)
    crashed: Counter[str] = field(default_factory=Counter)
    causes: dict[int, Cause] = field(default_factory=dict)
    reasons: dict[Status, Counter[str]] = field(default_factory=dict)

    def of(self, status: Status) -> list[Listed]:
        return self.listed.get(status, [])


def summarize(reader: Reader) -> Summary:
    """Read the run once and keep what the report shows."""
    tests, counts = reader.tests(), reader.cell_counts()
    summary = Summary(
        info=reader.info,
        score=reader.score(),
        cells=sum(counts.values()),
        judges=len(counts),
        excluded=[test for test in tests if test.excluded is not None],
        causes=reader.causes(),
        serial=[test for test in tests if not test.parallel_safe],
    )
    reached = reader.reach_counts(LISTED)
    for row in reader.mutants(cells=False, reach=False, plain_kills=False):
        mutant, status = row.mutant, row.status
        if row.reason:
            summary.reasons.setdefault(status, Counter())[row.reason] += 1
        if status is Status.NO_COVERAGE:
            summary.uncovered[mutant.path, mutant.definition] += 1
        elif status is Status.CRASHED:
            summary.crashed[mutant.path] += 1
        elif status in LISTED:
            entry = Listed(mutant, reached[row.index], row.reason, row.index)
            if status is Status.SURVIVED and mutant.string_only:
                summary.string_only.append(entry)
            else:
                summary.listed.setdefault(status, []).append(entry)
    return summary
