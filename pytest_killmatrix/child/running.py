"""Runs one item by pytest's own protocol, every hook included, and merges its reports into one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_killmatrix.child.expectations import Expectations
from pytest_killmatrix.child.recollect import ends_shared, shared_set_up_failed, shared_tear_down
from pytest_killmatrix.child.records import Stage
from pytest_killmatrix.child.verdict import Judge, Verdict
from pytest_killmatrix.model import Outcome, Phase


class SessionEnded(Exception):
    """The test ended the whole session (``pytest.exit``, KeyboardInterrupt): no further test can run in this child."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class FullRunner:
    """A plugin of the child: catches what the protocol reports, leaves out what it costs to format a failure."""

    def __init__(self, judge: Judge, expectations: Expectations) -> None:
        self._judge = judge
        self._expectations = expectations
        self._excinfo: pytest.ExceptionInfo[BaseException] | None = None
        self._reports: list[tuple[pytest.TestReport, BaseException | None]] = []
        self._shared = False
        self.note: Callable[[int], None] = lambda stage: None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> Verdict:
        """The verdict on one item; raises SessionEnded where the item ended pytest's session."""
        self._reports = []
        self._shared = False
        self._expectations.clear()
        item.session.shouldstop = item.session.shouldfail = False
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        except (KeyboardInterrupt, pytest.exit.Exception) as error:
            verdict = self._judge.judge(error, Phase.CALL)
            raise SessionEnded(
                Verdict(Outcome.CRASH, verdict.phase, verdict.exception, verdict.message, verdict.raised_at)
            ) from error
        return self._merge()

    # -- hooks -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.note(Stage.SET_UP)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        self.note(Stage.CALL)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        self.note(Stage.SHARED_TEAR_DOWN if ends_shared(item, nextitem) else Stage.TEAR_DOWN)

    @pytest.hookimpl
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """pytest's report without its text: formatting a traceback costs eighty times what a small test does."""
        self._excinfo = excinfo = call.excinfo
        outcome: Any = "passed"
        longrepr: Any = None
        if excinfo is not None:
            if call.when == "setup":
                self._shared = shared_set_up_failed(item)
            elif call.when == "teardown":
                self._shared = shared_tear_down(item)
            skipped = isinstance(excinfo.value, pytest.skip.Exception)
            outcome = "skipped" if skipped else "failed"
            longrepr = (str(item.path), 0, "skipped") if skipped else "failed"
        return pytest.TestReport(
            item.nodeid,
            item.location,
            dict.fromkeys(item.keywords, 1),
            outcome,
            longrepr,
            call.when,  # type: ignore[arg-type]
            duration=call.duration,
            start=call.start,
            stop=call.stop,
            user_properties=item.user_properties,
        )

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report and what raised, subtests' included."""
        self._reports.append((report, self._excinfo.value if self._excinfo is not None else None))
        self._excinfo = None

    # -- merging ---------------------------------------------------------------------------------------------------

    def _merge(self) -> Verdict:
        skipped: Verdict | None = None
        flags: tuple[str, ...] = ()
        for report, error in self._reports:
            phase = Phase(report.when)
            if report.failed:
                return self._failure(report, error, phase)
            if report.skipped and not hasattr(report, "wasxfail"):
                skipped = skipped or Verdict(Outcome.SKIPPED, phase, None, str(error) if error else None)
            elif report.passed and hasattr(report, "wasxfail") and report.when == "call":
                flags = ("xpassed",)
        if not self._reports:
            return Verdict(Outcome.ERROR, Phase.SETUP, None, "pytest reported nothing for this item")
        return skipped or Verdict(Outcome.PASSED, flags=flags)

    def _failure(self, report: pytest.TestReport, error: BaseException | None, phase: Phase) -> Verdict:
        if error is not None:
            verdict = self._judge.judge(error, phase)
            return replace(verdict, shared=self._shared)
        # a strict xfail that passed, subtests that failed: pytest decided, nothing was raised
        text = report.longrepr if isinstance(report.longrepr, str) else str(report.outcome)
        return Verdict(Outcome.ASSERTION, phase, None, text.split("\n", 1)[0])
