"""Lines with markup on a stream: colours on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.text import is_ascii_only

_CODES: Final[Mapping[str, str]] = {
    "bold": "1", "light": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36",
}  # fmt: skip
PIPE_WIDTH: Final = 100
"""Columns of what nobody looks at on a terminal."""


class Output:
    """Where a command prints: how wide it is, which signs and whether colours may be used."""

    def __init__(self, stream: TextIO | None = None, colour: str = "auto") -> None:
        self.stream = sys.stdout if stream is None else stream
        terminal = self.stream.isatty()
        allowed = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.coloured = colour == "always" or (colour == "auto" and allowed)
        self.width = shutil.get_terminal_size((80, 24)).columns if terminal else _columns()
        self.ascii = is_ascii_only(self.stream.encoding)

    def write(self, lines: Iterable[Line]) -> None:
        """Print lines of ``(text, markup)``."""
        for text, markup in lines:
            self.line(text, **markup)

    def line(self, text: str = "", **markup: bool) -> None:
        codes = [_CODES[name] for name, wanted in markup.items() if wanted]
        if self.coloured and codes and text:
            text = f"\033[{';'.join(codes)}m{text}\033[0m"
        self.stream.write(text + "\n")


def _columns() -> int:
    """What ``COLUMNS`` says, as for pytest's own lines in a pipe."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        return PIPE_WIDTH
