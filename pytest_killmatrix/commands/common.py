"""What the reading commands share: their options, and the run that they read."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from pytest_killmatrix.commands import CommandError
from pytest_killmatrix.model import SIDECAR_NAME
from pytest_killmatrix.reading.find import NotFoundError, find_sidecar
from pytest_killmatrix.report.colour import Output
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.text import is_ascii_only
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader


def add_sidecar(parser: argparse.ArgumentParser, *, run: bool = True) -> None:
    """The options that say what is read."""
    parser.add_argument(
        "--db", metavar="PATH", help=f"the sidecar (default: {SIDECAR_NAME} here or in a directory above)"
    )
    if run:
        parser.add_argument(
            "--run", metavar="N", type=int, help="the run, by its number in `killmatrix runs` (default: the newest)"
        )


def add_output(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """The options that say how it is shown."""
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours: on a terminal (auto), always or never; NO_COLOR is respected (default: auto)",
    )


@contextlib.contextmanager
def reading(arguments: argparse.Namespace) -> Iterator[Reader]:
    """The run that was asked for; whatever is wrong is a ``CommandError``."""
    with translated(), Reader(find_sidecar(arguments.db), getattr(arguments, "run", None)) as reader:
        yield reader


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors of the parts below as errors of the command."""
    try:
        yield
    except (StoreError, ReportError, NotFoundError) as error:
        raise CommandError(str(error)) from error


def output(arguments: argparse.Namespace) -> Output:
    return Output(colour=arguments.color)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=is_ascii_only(sys.stdout.encoding), default=str))
