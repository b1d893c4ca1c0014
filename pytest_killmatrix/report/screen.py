"""The summary inside pytest's own, and the report files that were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.oracle.lines import audit_lines
from pytest_killmatrix.oracle.reporting import report_of
from pytest_killmatrix.prepared import Written
from pytest_killmatrix.report.delta import render as render_delta
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.files import FORMATS, write_report
from pytest_killmatrix.report.github import to_github
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.terminal import render, style_of
from pytest_killmatrix.report.text import is_ascii_only
from pytest_killmatrix.report.thresholds import unmet, unmet_gains
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader

_NAMES: Final = {"json": "JSON", "html": "HTML", "markdown": "Markdown", "stryker": "Stryker"}


def write_files(settings: Settings, written: Written, root: Path) -> str | None:
    """Write the reports that go into files; why one could not be written, or None. ``root`` is the project's."""
    try:
        with Reader(written.sidecar, written.run) as reader:
            for name, option, path in settings.reports():
                write_report(reader, path, FORMATS[name], option)
            if settings.github:
                to_github(reader, root)
    except (ReportError, StoreError) as error:
        return str(error)
    return None


def show(config: pytest.Config, terminal: Any, settings: Settings, written: Written) -> str | None:
    """Print the report; why it could not be read, or None."""
    writer: Any = config.get_terminal_writer()
    encoding = getattr(getattr(writer, "_file", None), "encoding", None)
    try:
        with Reader(written.sidecar, written.run) as reader:
            room = {"width": writer.fullwidth, "verbosity": terminal.verbosity, "ascii": is_ascii_only(encoding)}
            audit = report_of(reader)
            lines = audit_lines(audit, style_of(**room), terminal.verbosity) if audit is not None else None
            if settings.generate or lines is None:
                terminal.section("kill matrix", sep="=")
                _write(terminal, render(reader, **room, qualified_by=audit.qualified_by if audit is not None else ()))
            if lines is not None:
                terminal.section("authored variants", sep="=")
                _write(terminal, lines if settings.generate else render(reader, **room, instead=lines))
            failures = (
                unmet(settings.fail_under, reader.score()) if settings.generate and settings.shard is None else []
            )
            if reader.info.delta is not None:
                delta = reader.info.delta
                terminal.section(f"delta since {delta['baseline']}", sep="=")
                mutants = {row.mutant.key: row.mutant for row in reader.mutants(cells=False, reach=False)}
                _write(terminal, render_delta(delta, mutants, style_of(**room), terminal.verbosity < 0))
                failures += unmet_gains(settings, delta)
            for failure in failures:
                terminal.write_line(failure, red=True)
    except StoreError as error:
        return str(error)
    for name, _, path in settings.reports():
        if path.exists():
            terminal.write_line(f"{_NAMES.get(name, name):8} {path}")
    return None


def _write(terminal: Any, lines: Iterable[Line]) -> None:
    for text, markup in lines:
        terminal.write_line(text, **markup)
