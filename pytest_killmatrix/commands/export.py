"""``killmatrix export``: a run as a file for other programs, a browser or a pull request."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Generator
from pathlib import Path

from pytest_killmatrix.commands.common import add_sidecar, translated
from pytest_killmatrix.reading.find import find_sidecar
from pytest_killmatrix.report.files import FORMATS, Format, write_chunks
from pytest_killmatrix.store.reader import Reader, connect, has_harness_runs_only


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        required=True,
        help="json: everything; csv: a row for each cell; stryker: for the viewers of mutation-testing-elements; "
        "html: one page to look at; markdown: a summary",
    )
    parser.add_argument("-o", "--output", metavar="PATH", type=Path, help="write there (default: standard output)")
    add_sidecar(parser)


def run(arguments: argparse.Namespace) -> int:
    made = FORMATS[arguments.format]
    with translated():
        path = find_sidecar(arguments.db)
        if made.harness_maker is not None and arguments.run is None and _harness_only(path):
            _put(made.harness_chunks(path), made, arguments.output)
            return 0
        with Reader(path, arguments.run) as reader:
            _put(made.chunks(reader), made, arguments.output)
    return 0


def _harness_only(path: Path) -> bool:
    with contextlib.closing(connect(path)) as connection:
        return has_harness_runs_only(connection, path)


def _put(chunks: Generator[str, None, None], made: Format, output: Path | None) -> None:
    if output is not None:
        write_chunks(chunks, output, made, "--output")
        return
    sys.stdout.flush()
    with contextlib.closing(chunks):  # before the sidecar is, also where whoever reads has seen enough
        for chunk in chunks:  # a file in UTF-8, whatever the terminal speaks
            sys.stdout.buffer.write(chunk.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
