"""The summary inside pytest's own, and the report files that were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pytest_killmatrix.options import Settings
from pytest_killmatrix.oracle.lines import audit_lines
from pytest_killmatrix.oracle.reporting import report_of
from pytest_killmatrix.prepared import Written
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.json import write_json
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.terminal import render, style_of
from pytest_killmatrix.report.text import is_ascii_only
from pytest_killmatrix.report.thresholds import unmet
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader


def write_files(settings: Settings, written: Written) -> str | None:
    """Write the reports that go into files; why one could not be written, or None."""
    if settings.json is None:
        return None
    try:
        with Reader(written.sidecar, written.run) as reader:
            write_json(reader, settings.json)
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
            for failure in unmet(settings, reader.score()) if terminal.verbosity < 0 and settings.generate else ():
                terminal.write_line(failure, red=True)  # with more room it is among the notes
    except StoreError as error:
        return str(error)
    if settings.json is not None and settings.json.exists():
        terminal.write_line(f"JSON     {settings.json}")
    return None


def _write(terminal: Any, lines: Iterable[Line]) -> None:
    for text, markup in lines:
        terminal.write_line(text, **markup)
