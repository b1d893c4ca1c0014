"""The status of a mutant: one total function whose answers are disjoint."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_killmatrix.model import Outcome, Status

VERDICTS = frozenset({Status.IGNORED, Status.INVALID, Status.EQUIVALENT, Status.DUPLICATE})
"""Statuses that are known before any test runs, strongest of all."""


def status_of(
    verdict: Status | None,
    outcomes: Iterable[Outcome],
    *,
    missing: bool,
    reached: bool,
    only_excluded: bool = False,
) -> Status:
    """Judge one mutant; the first match wins, in the order of ``model.Status``.

    :param verdict: what is known without running it (``Mutant.verdict``): one of ``VERDICTS``, or None.
    :param outcomes: the outcomes of its cells of the suite that judges, in any order.
    :param missing: a cell that ought to exist does not: interrupted, or the mutant's route is not supported yet.
    :param reached: at least one test reaches it, excluded tests included.
    :param only_excluded: every test that reaches it is excluded.
    """
    if verdict is not None:
        if verdict not in VERDICTS:
            raise ValueError(f"{verdict.value} is decided by cells, it cannot be a mutant's verdict")
        return verdict
    seen = frozenset(outcomes)
    if Outcome.ASSERTION in seen:
        return Status.KILLED
    if Outcome.EXCEPTION in seen or Outcome.CRASH in seen:
        return Status.CRASHED
    if Outcome.TIMEOUT in seen:
        return Status.TIMEOUT
    if Outcome.ERROR in seen:
        return Status.RUN_ERROR
    if missing:
        return Status.PENDING
    if seen == {Outcome.SKIPPED}:
        return Status.SILENCED
    if only_excluded:
        return Status.NO_USABLE_TEST
    if seen:
        return Status.SURVIVED
    # A usable test reaches it and nobody recorded an outcome: that is a missing cell, whatever the caller believes.
    # Calling it survived or not covered would be a verdict without evidence.
    return Status.PENDING if reached else Status.NO_COVERAGE
