"""Whether a sidecar can be where the user wants it; standard library's lightest, since it is asked before the suite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

DB_OPTION: Final = "--kill-matrix-db=PATH"
_MAGIC: Final = b"SQLite format 3\0"


def place_problem(path: Path) -> str | None:
    """What SQLite would only call "unable to open database file", in words that say what to do; None if all is well."""
    folder = path.parent
    start = f"cannot write the sidecar {path}: "
    if not folder.exists():
        return f"{start}no directory {folder}; create it, or give {DB_OPTION}"
    if not folder.is_dir():
        return f"{start}{folder} is not a directory; give {DB_OPTION}"
    if path.exists() and not path.is_file():
        return f"{start}not a regular file; give {DB_OPTION}"
    if not allowed(folder, os.W_OK | os.X_OK):
        return f"{start}the directory is read-only; give a writable place with {DB_OPTION}"
    if path.exists() and not allowed(path, os.R_OK | os.W_OK):
        return f"{start}the file is read-only; make it writable, or give {DB_OPTION}"
    if path.exists() and not _may_be_database(path):
        return f"{start}there is a file that is no database, not touched; give another place with {DB_OPTION}"
    return None


def _may_be_database(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) in (b"", _MAGIC)


def allowed(path: Path, mode: int) -> bool:
    """Whether this process's effective user may do that (``os.access`` modes)."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)
