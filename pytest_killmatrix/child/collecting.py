"""Plugins that watch while a child collects: what is left out, what stays the same, what could not be collected."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_killmatrix.child.verdict import Verdict, first_line
from pytest_killmatrix.model import Outcome, Phase


class SameDirectories:
    """While files are collected again, their directories are the ones of the first time.

    Since pytest 9.1 the fixtures of a conftest belong to its directory's node, and a new one would not have them.
    """

    def __init__(self, items: Sequence[pytest.Item]) -> None:
        self._known = {
            node.path: node for item in items for node in item.listchain() if isinstance(node, pytest.Directory)
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report: pytest.CollectReport = yield
        if report.passed and isinstance(collector, pytest.Directory):
            report.result = [
                self._known.get(node.path, node) if isinstance(node, pytest.Directory) else node
                for node in report.result or ()
            ]
        return report


class Ignored:
    """Files that are not collected."""

    def __init__(self, paths: Collection[Path]) -> None:
        self._paths = paths

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path in self._paths else None


class CollectErrors:
    """Notes why a file could not be collected, by file or directory; the empty name stands for all."""

    def __init__(self, verdicts: dict[str, Verdict] | None = None) -> None:
        self.verdicts = verdicts or {}

    def verdict(self, file: str) -> Verdict:
        """What to say of a test of this file that was not collected."""
        for name in (file, *(str(folder) for folder in PurePosixPath(file).parents), ""):
            if name in self.verdicts:
                return self.verdicts[name]
        return Verdict(Outcome.SKIPPED, Phase.COLLECT, None, "the mutant no longer generates this test")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        if report.failed:
            call = getattr(report, "call", None)
            error = call.excinfo.value if call is not None and call.excinfo is not None else None
            self.verdicts.setdefault(collector.nodeid.split("::", 1)[0], broken(error))
        return report


def broken(error: BaseException | None) -> Verdict:
    """The verdict on every test of what could not be collected because of this."""
    if isinstance(error, (SystemExit, KeyboardInterrupt, pytest.exit.Exception)):
        return Verdict(Outcome.CRASH, Phase.COLLECT, type(error).__name__, first_line(error))
    cause = getattr(error, "__cause__", None) or error
    name = type(cause).__name__ if cause is not None else None
    message = first_line(cause) if cause is not None else "cannot be collected"
    return Verdict(Outcome.EXCEPTION, Phase.COLLECT, name, message)
