"""The summary inside pytest's own, and the report files that were asked for."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_killmatrix import options
from pytest_killmatrix.prepared import Written


def show(config: pytest.Config, terminal: Any, written: Written | None, message: str | None) -> None:
    """Print the report on what was written, and why there is none or only a part of one."""
    if written is not None:
        from pytest_killmatrix.report.errors import ReportError
        from pytest_killmatrix.store.errors import StoreError

        try:
            _report(config, terminal, written)
        except (ReportError, StoreError) as error:
            message = str(error)
    if message is not None:
        terminal.ensure_newline()
        terminal.write_line(f"killmatrix: {message}", red=True)


def _report(config: pytest.Config, terminal: Any, written: Written) -> None:
    from pytest_killmatrix.report.json import write_json
    from pytest_killmatrix.report.terminal import render
    from pytest_killmatrix.report.text import is_ascii_only
    from pytest_killmatrix.store.reader import Reader

    settings = options.read(config)
    writer: Any = config.get_terminal_writer()
    encoding = getattr(getattr(writer, "_file", None), "encoding", None) or "ascii"
    with Reader(written.sidecar, written.run) as reader:
        terminal.section("kill matrix", sep="=")
        for text, markup in render(
            reader, width=writer.fullwidth, verbosity=terminal.verbosity, ascii=is_ascii_only(encoding)
        ):
            terminal.write_line(text, **markup)
        if settings.json is not None:
            write_json(reader, settings.json)
            terminal.write_line(f"JSON: {settings.json}")
