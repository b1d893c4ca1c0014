"""What can go wrong with a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

BEGINNINGS: Final = {
    "json": "{",
    "csv": "mutant,",
    "stryker": "{",
    "html": "<!doctype html><!-- pytest-killmatrix",
    "markdown": "<!-- pytest-killmatrix",
}
"""How a report of each format begins: a file that begins otherwise is none, and is left alone."""


class ReportError(Exception):
    """A report cannot be written; the message is one line and says what to do."""


def file_problem(path: Path, option: str, begins: str = "{") -> str | None:
    """Why a report cannot be written to ``path``, which ``option`` named; None where it seems possible.

    A file that is there may be replaced if it is empty or ``begins`` as reports of its kind do.
    """
    start = f"cannot write {path}: "
    if not path.parent.is_dir():
        return f"{start}no directory {path.parent}; create it, or give another {option}=PATH"
    if path.is_dir():
        return f"{start}it is a directory; give a file with {option}=PATH"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{start}the directory is read-only; give another place with {option}=PATH"
    if path.is_file() and not _may_be_report(path, begins.encode()):
        return f"{start}there is a file that is no report of ours, not touched; give another place with {option}=PATH"
    return None


def _may_be_report(path: Path, begins: bytes) -> bool:
    """Whether it is empty, or begins as a report does."""
    try:
        with open(path, "rb") as file:
            start = file.read(256).lstrip()
    except OSError:
        return True  # whoever writes says what is wrong
    return not start or start.startswith(begins)
