"""The plugin in the process of a trial: sends what the graders said, and ends when nobody waits for it any more.

A verdict is what this plugin wrote. A process that ended without it has none, whatever its exit status.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

RESULT: Final = "KILLMATRIX_RESULT"
LIFE: Final = "KILLMATRIX_LIFE"
_JUDGED: Final = "killmatrix_judged"


def pytest_configure(config: pytest.Config) -> None:
    """Begin, in the process that was started; workers of pytest-xdist only mark their reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reporter(Path(os.environ[RESULT])), "killmatrix-trial")
        _end_with(int(os.environ.pop(LIFE)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Mark what an oracle said, wherever it was said: an assertion in a fixture is a judgement too."""
    report = yield
    if call.excinfo is not None:
        setattr(report, _JUDGED, call.excinfo.errisinstance((AssertionError, pytest.fail.Exception)))
    return report


class Reporter:
    """Collects what became of every grader, and writes it when the session ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tests: dict[str, str] = {}
        self.messages: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot be collected."""
        if report.failed:
            self._note(report.nodeid or "collection", "error", report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an outcome; the worst phase of a test counts."""
        if report.failed:
            judged = report.when == "call" or getattr(report, _JUDGED, False)
            self._note(report.nodeid, "failed" if judged else "error", report)
        elif report.skipped:
            self.tests.setdefault(report.nodeid, "xfailed" if hasattr(report, "wasxfail") else "skipped")
        elif report.when == "call":
            self.tests.setdefault(report.nodeid, "passed")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Send it."""
        text = json.dumps({"exit": int(exitstatus), "tests": self.tests, "messages": self.messages})
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)

    def _note(self, nodeid: str, outcome: str, report: pytest.CollectReport | pytest.TestReport) -> None:
        if self.tests.get(nodeid) != "error":
            self.tests[nodeid] = outcome
        crash = getattr(report.longrepr, "reprcrash", None)
        text = getattr(crash, "message", None) or str(report.longrepr or outcome)
        self.messages.append(f"{nodeid}: {text.strip().splitlines()[0] if text.strip() else outcome}"[:300])


def _end_with(life: int) -> None:
    """End this process group as soon as the other end of a pipe is closed: whoever started the trial is gone."""
    os.set_inheritable(life, False)

    def wait() -> None:
        os.read(life, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, name="killmatrix-life", daemon=True).start()
