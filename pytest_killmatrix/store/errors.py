"""What can go wrong with a sidecar, as one line that says what to do."""

from __future__ import annotations

import sqlite3


class StoreError(Exception):
    """The sidecar cannot be used; the message is one line and says what to do."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file itself is broken, rather than locked, full or forbidden."""
    # CPython maps SQLITE_CORRUPT and SQLITE_NOTADB, and nothing that can be retried, to the plain base class;
    # the numeric code is only there from 3.11 on.
    return type(error) is sqlite3.DatabaseError


def is_locked(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the lock."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
