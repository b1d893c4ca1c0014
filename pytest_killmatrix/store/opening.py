"""Open a sidecar for writing: create, upgrade, claim, or refuse with a line that says what to do.

The guard against two runs at once is SQLite's own RESERVED lock, held by a transaction that is open all the time (it
lets readers read). It dies with the process however that ends, leaves no lock file behind, and, being a POSIX lock,
is not inherited by forked children, who may outlive a killed controller. ``flock`` on the same file would do neither
the last nor work where the system lets ``flock`` and ``fcntl`` locks conflict (BSD, macOS, network file systems).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from pytest_killmatrix.processes import alive
from pytest_killmatrix.store.errors import StoreError, is_damage, is_locked
from pytest_killmatrix.store.place import DB_OPTION, place_problem
from pytest_killmatrix.store.schema import APPLICATION_ID, VERSION, migrate

CLAIM_SECONDS = 1.0
"""How long to wait for another process that is just committing."""

COMMIT_SECONDS = 15.0
"""How long a commit waits for readers."""

SMALL = 64 * 2**20
"""Bytes up to which a file is checked page by page at each start (about 0.3 s); a bigger one after a crash only."""


def open_for_writing(path: Path) -> tuple[sqlite3.Connection, str | None]:
    """A connection that holds the write lock, and a notice for the user if the file had to be replaced."""
    problem = place_problem(path)
    if problem is not None:
        raise StoreError(problem)
    try:
        return _open(path), None
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise translate(error, path) from error
        aside = move_aside(path)
        notice = f"{path} was damaged ({error}): moved to {aside.name}, a new sidecar was begun"
    try:
        return _open(path), notice
    except sqlite3.Error as error:
        raise translate(error, path) from error


def move_aside(path: Path) -> Path:
    """Rename a damaged file, its journal with it, to the first free ``<name>.damaged-N``."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.rename(aside)
    journal = path.with_name(path.name + "-journal")
    if journal.exists():
        # Left where it is, it would be rolled back into the new file.
        journal.rename(aside.with_name(aside.name + "-journal"))
    return aside


def translate(error: sqlite3.Error, path: Path) -> StoreError:
    """SQLite's error as a line that says what to do."""
    if is_damage(error):
        return StoreError(f"the sidecar {path} is damaged ({error}); the next run moves it aside and begins a new one")
    if is_locked(error):
        return StoreError(f"the sidecar {path} is locked by another process; wait for it, or give {DB_OPTION}")
    if "full" in str(error):
        return StoreError(f"cannot write the sidecar {path}: {error}; free some space, then run again to resume")
    return StoreError(f"cannot use the sidecar {path}: {error}; give another place with {DB_OPTION}")


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The file's schema version; refuses a newer file and another program's database, changing neither."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (tables or version or application):
        raise StoreError(f"{path} is a database of another program, not touched; give another place with {DB_OPTION}")
    if version > VERSION:
        raise StoreError(
            f"the sidecar {path} has schema version {version}, this pytest-killmatrix knows up to {VERSION}: upgrade "
            f"pytest-killmatrix, or give another place with {DB_OPTION} (the file was not touched)"
        )
    return version


def is_sidecar(path: Path) -> bool:
    """Whether the file is a sidecar, as its first bytes have it (SQLite keeps the ``application_id`` at byte 68)."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
    return False


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=CLAIM_SECONDS, isolation_level=None)
    try:
        _claim(connection, path)
        version = check_version(connection, path)
        if version and (path.stat().st_size <= SMALL or _writer(connection) is not None):
            _check_health(connection)
        migrate(connection, version)
        connection.execute("DELETE FROM writer")
        connection.execute("INSERT INTO writer VALUES (?)", (os.getpid(),))
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA busy_timeout = {int(COMMIT_SECONDS * 1000)}")
        connection.execute("BEGIN IMMEDIATE")
    except BaseException:
        connection.close()
        raise
    return connection


def _claim(connection: sqlite3.Connection, path: Path) -> None:
    """Take the write lock, or say who has it."""
    for attempt in range(4):
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
            raise _taken(path, _writer(connection)) from error
        pid = _writer(connection)
        if attempt == 3 or pid is None or pid == os.getpid() or not alive(pid):
            return
        # A writer lets go for an instant at each commit. If it is alive it takes the lock back now; if that process
        # number merely belongs to somebody else by now, the lock stays free.
        connection.execute("ROLLBACK")
        time.sleep(0.1)


def _taken(path: Path, pid: int | None) -> StoreError:
    who = "another run" if pid is None else f"another run (process {pid})"
    return StoreError(
        f"{who} is using the sidecar {path}: wait until it ends, or give this run its own with {DB_OPTION}"
    )


def _writer(connection: sqlite3.Connection) -> int | None:
    try:
        row = connection.execute("SELECT pid FROM writer").fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else int(row[0])


def _check_health(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(" ".join(str(verdict).split()))
