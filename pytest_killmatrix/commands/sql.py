"""``killmatrix sql``: one query, read only."""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
import sys
from collections.abc import Sequence
from typing import Any

from pytest_killmatrix.commands import CommandError
from pytest_killmatrix.commands.common import add_sidecar, translated
from pytest_killmatrix.reading.find import find_sidecar
from pytest_killmatrix.report.text import cells, pad, printable
from pytest_killmatrix.store.reader import connect

_WIDEST = 60
_READING = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", help='a SELECT; the view "matrix" has a row for each cell (docs/reference/schema.md has it all)'
    )
    add_sidecar(parser, run=False)
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), help="default: a table on a terminal, CSV in a pipe"
    )


def run(arguments: argparse.Namespace) -> int:
    with translated():
        connection = connect(find_sidecar(arguments.db))
    try:
        connection.set_authorizer(_authorize)
        cursor = connection.execute(arguments.query)
        names = [column[0] for column in cursor.description or ()]
        _print(arguments.format or ("table" if sys.stdout.isatty() else "csv"), names, cursor)
    except (sqlite3.Error, sqlite3.Warning) as error:
        hint = "; only reading is allowed" if "authoriz" in str(error) or "prohibited" in str(error) else ""
        raise CommandError(f"SQLite says: {error}{hint}") from error
    finally:
        connection.close()
    return 0


def _authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """Nothing but reading; of pragmas only those that tell what a table looks like."""
    if action in _READING and second != "load_extension":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in ("table_info", "table_list", "user_version") and not second:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "table_info":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _print(form: str, names: Sequence[str], rows: sqlite3.Cursor) -> None:
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    elif form == "json":
        records = [dict(zip(names, row, strict=True)) for row in rows]
        print(json.dumps(records, indent=2, ensure_ascii=False, default=str))
    else:
        _table(names, [[_shown(value) for value in row] for row in rows])


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [min(_WIDEST, max(cells(value) for value in column)) for column in zip(names, *rows, strict=True)]
    for line in (names, ["-" * width for width in widths], *rows):
        print("  ".join(pad(value, width) for value, width in zip(line, widths, strict=True)).rstrip())


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return printable(f"{value:.6g}" if isinstance(value, float) else str(value))
