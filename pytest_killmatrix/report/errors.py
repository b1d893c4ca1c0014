"""What can go wrong with a report."""

from __future__ import annotations

import os
from pathlib import Path


class ReportError(Exception):
    """A report cannot be written; the message is one line and says what to do."""


def file_problem(path: Path, option: str) -> str | None:
    """Why a report cannot be written to ``path``, which ``option`` named; None where it seems possible."""
    start = f"cannot write {path}: "
    if not path.parent.is_dir():
        return f"{start}no directory {path.parent}; create it, or give another {option}=PATH"
    if path.is_dir():
        return f"{start}it is a directory; give a file with {option}=PATH"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{start}the directory is read-only; give another place with {option}=PATH"
    if path.is_file() and not _may_be_report(path):
        return f"{start}there is a file that is no report of ours, not touched; give another place with {option}=PATH"
    return None


def _may_be_report(path: Path) -> bool:
    """Whether it is empty, or begins as JSON does."""
    try:
        with open(path, "rb") as file:
            return file.read(64).lstrip()[:1] in (b"", b"{")
    except OSError:
        return True  # whoever writes says what is wrong
