"""``killmatrix export``: a run as a file for other programs, a browser or a pull request."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_killmatrix.commands.common import add_sidecar, reading
from pytest_killmatrix.report.files import FORMATS, write_report


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
    with reading(arguments) as reader:
        if arguments.output is not None:
            write_report(reader, arguments.output, made, "--output")
        else:
            sys.stdout.flush()
            for chunk in made.chunks(reader):  # a file in UTF-8, whatever the terminal speaks
                sys.stdout.buffer.write(chunk.encode("utf-8", "backslashreplace"))
            sys.stdout.buffer.flush()
    return 0
