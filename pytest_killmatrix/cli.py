"""The ``killmatrix`` command: finds the one that was asked for; what goes wrong is said in one line."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final

from pytest_killmatrix.commands import CommandError

#: name and what the overview says of it; the module in ``commands`` has the same name
COMMANDS: Final[dict[str, str]] = {
    "report": "the summary of a run: scores, survivors, what to do next",
    "show": "one mutant: its diff, every cell, why it survived, what would kill it",
    "test": "one test: what it kills, and what only it kills",
    "delta": "what a suite gained on another: of a run with a baseline, or of two runs",
    "redundant": "tests that add nothing, and a smallest suite that keeps the kills",
    "runs": "the runs in the sidecar",
    "merge": "join the shards of one run (--kill-matrix-shard) into one sidecar",
    "export": "write a run as JSON, CSV, HTML, Markdown or mutation-testing-elements JSON",
    "sql": "one query, read only",
    "harness": "mutate an agent harness: plan, run, score",
    "variants": "authored variants: check the file, write what a solver receives, compare readers, record a version",
}
_USAGE: Final = 4
_QUESTIONS: Final = """\
Begin with one of these:
  killmatrix report                  what survived, and what to do next
  killmatrix show pricing.py:39      who killed this mutant; why did it survive?
  killmatrix test test_quote_prints  what does this test kill, and what only it?
  killmatrix redundant               which tests can go?
  killmatrix export --format html -o killmatrix.html

A mutant is named by its key, the ten digits at the end of that, its PATH:LINE,
or any part that names only one; a test by its node id, or the end of that.
`killmatrix COMMAND --help` says more.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status (4 for wrong usage, as pytest has it)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = next((word for word in words if not word.startswith("-")), None)
    parsed = _parser(asked).parse_args(words)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status: int = importlib.import_module(f"pytest_killmatrix.commands.{parsed.command}").run(parsed)
        sys.stdout.flush()
        return status
    except CommandError as error:
        print(f"killmatrix {parsed.command}: {error}", file=sys.stderr)
        return _USAGE
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.print_usage(sys.stderr)
        self.exit(_USAGE, f"{self.prog}: {message}\n")


def _parser(asked: str | None) -> argparse.ArgumentParser:
    """The parser, with the arguments of the command that was asked for: the others stay unloaded."""
    parser = _Parser(
        prog="killmatrix",
        description="Read what `pytest --kill-matrix` found out.",
        epilog=_QUESTIONS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == asked:
            importlib.import_module(f"pytest_killmatrix.commands.{name}").configure(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
