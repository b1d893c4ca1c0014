"""Report files: each format with its mark, written whole or not at all, and never over a file that is no report."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_killmatrix.report.errors import BEGINNINGS, ReportError, file_problem
from pytest_killmatrix.store.reader import Reader

Chunks = Callable[[Reader], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of report: how a file of it begins, and the function that gives its text in pieces."""

    name: str
    begins: str
    maker: str

    def chunks(self, reader: Reader) -> Iterator[str]:
        """The report on the reader's run; what makes it is loaded now."""
        module, _, function = self.maker.partition(":")
        make: Chunks = getattr(importlib.import_module(f"pytest_killmatrix.report.{module}"), function)
        return make(reader)


FORMATS: Final = {
    name: Format(name, BEGINNINGS[name], maker)
    for name, maker in {
        "json": "json:json_chunks",
        "csv": "table:csv_chunks",
        "stryker": "stryker:stryker_chunks",
        "html": "html:html_chunks",
        "markdown": "markdown:markdown_chunks",
    }.items()
}


def write_report(reader: Reader, path: Path, made: Format, option: str) -> None:
    """Write a report to ``path``, which ``option`` named; what was there stays until the new file is whole."""
    problem = file_problem(path, option, made.begins)
    if problem is not None:
        raise ReportError(problem)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        # A lone surrogate (a file name that is not valid UTF-8) becomes an escape, in JSON its own.
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(made.chunks(reader))
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}; give another place with {option}=PATH") from error
    finally:
        temporary.unlink(missing_ok=True)
