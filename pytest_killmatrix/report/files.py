"""Report files: each format with its mark, written whole or not at all, and never over a file that is no report."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.report.errors import BEGINNINGS, ReportError, file_problem
from pytest_killmatrix.store.reader import Reader

Chunks = Callable[[Reader], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of report: how a file of it begins, and the function that gives its text in pieces."""

    name: str
    begins: str
    maker: str
    harness_maker: str | None = None
    """What makes it of a sidecar without a run of code, in the formats that show harness runs."""

    def chunks(self, reader: Reader) -> Generator[str, None, None]:
        """The report on the reader's run; what makes it is loaded now."""
        make: Chunks = _loaded(self.maker)
        yield from make(reader)

    def harness_chunks(self, path: Path) -> Generator[str, None, None]:
        """The report on the harness runs alone of the sidecar at ``path``."""
        assert self.harness_maker is not None
        make: Callable[[Path], Iterator[str]] = _loaded(self.harness_maker)
        yield from make(path)


def _loaded(maker: str) -> Any:
    module, _, function = maker.partition(":")
    return getattr(importlib.import_module(f"pytest_killmatrix.report.{module}"), function)


FORMATS: Final = {
    name: Format(name, BEGINNINGS[name], *makers)
    for name, makers in {
        "json": ("json:json_chunks", "json:harness_json_chunks"),
        "csv": ("table:csv_chunks",),
        "stryker": ("stryker:stryker_chunks",),
        "html": ("html:html_chunks", "html:harness_html_chunks"),
        "markdown": ("markdown:markdown_chunks",),
    }.items()
}


def write_report(reader: Reader, path: Path, made: Format, option: str) -> None:
    """Write a report to ``path``, which ``option`` named; what was there stays until the new file is whole."""
    write_chunks(made.chunks(reader), path, made, option)


def write_chunks(chunks: Generator[str, None, None], path: Path, made: Format, option: str) -> None:
    """Write a report that comes in pieces, as ``write_report`` does; nothing is read for it afterwards."""
    problem = file_problem(path, option, made.begins)
    if problem is not None:
        raise ReportError(problem)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        # A lone surrogate (a file name that is not valid UTF-8) becomes an escape, in JSON its own.
        with (
            contextlib.closing(chunks),
            temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
        ):
            file.writelines(chunks)
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror}; give another place with {option}=PATH") from error
    finally:
        temporary.unlink(missing_ok=True)
