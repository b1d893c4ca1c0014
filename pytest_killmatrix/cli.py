"""The ``killmatrix`` command: finds the one that was asked for; what goes wrong is said in one line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from pytest_killmatrix.commands import CommandError

#: name and what the overview says of it; the module in ``commands`` has the same name
COMMANDS: Final[dict[str, str]] = {
    "variants": "authored variants: check the file, write what a solver receives, compare readers, record a version",
}
_USAGE: Final = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status (4 for wrong usage, as pytest has it)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = next((word for word in words if not word.startswith("-")), None)
    parsed = _parser(asked).parse_args(words)
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
    parser = _Parser(prog="killmatrix", description="Read what `pytest --kill-matrix` found out.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name == asked:
            importlib.import_module(f"pytest_killmatrix.commands.{name}").configure(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
