"""Outcomes of a plain pytest loop, merged per item; the parent's run and the fresh run use the same log."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_killmatrix.model import Clean


@dataclass(slots=True)
class Observed:
    """One item's outcome: the verdict over all its reports, its seconds over all phases, a first line of why."""

    clean: Clean
    seconds: float = 0.0
    message: str | None = None


class OutcomeLog:
    """Collects reports; ``observed`` is by node id."""

    def __init__(self) -> None:
        self.observed: dict[str, Observed] = {}

    def add(self, report: pytest.TestReport) -> None:
        """Take one report in; subtests count towards their test."""
        seen = self.observed.setdefault(report.nodeid, Observed(Clean.PASSED))
        if type(report).__name__ != "SubtestReport":
            seen.seconds += report.duration
        now = _outcome(report)
        if _RANK[now] > _RANK[seen.clean]:
            seen.clean = now
            if now in (Clean.FAILED, Clean.ERROR):
                seen.message = _first_line(report)


#: the strongest statement among an item's reports wins
_RANK = {
    Clean.PASSED: 0,
    Clean.XPASSED: 1,
    Clean.XFAILED: 2,
    Clean.SKIPPED: 3,
    Clean.FAILED: 4,
    Clean.ERROR: 5,
}


def _outcome(report: pytest.TestReport) -> Clean:
    if report.failed:
        return Clean.FAILED if report.when == "call" else Clean.ERROR
    if report.skipped:
        return Clean.XFAILED if hasattr(report, "wasxfail") else Clean.SKIPPED
    if hasattr(report, "wasxfail") and report.when == "call":
        return Clean.XPASSED
    return Clean.PASSED


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    text = getattr(crash, "message", None) or str(getattr(report, "longrepr", "") or "")
    line: str = text.strip().split("\n", 1)[0]
    return line[:200]
