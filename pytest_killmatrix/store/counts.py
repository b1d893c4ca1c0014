"""How many cells each test of a complete run has: counted once, when the run is complete, as it takes a look at all."""

from __future__ import annotations

import sqlite3
from typing import Final

from pytest_killmatrix.store.variant_tables import NOT_AUTHORED

COUNTS: Final = (
    "ALTER TABLE tests ADD COLUMN cells INTEGER "
    "/* of generated mutants and the new suite, counted when the run was complete; NULL: not counted */",
)

COUNTED: Final = (
    f"SELECT test, count(*) FROM cells c WHERE run = ? AND suite = 0 AND {NOT_AUTHORED.format('c')} GROUP BY test"
)
"""Tests with a cell, and how many, by looking at all."""


def count_cells(connection: sqlite3.Connection, run: int) -> None:
    """Store the counts, inside the caller's transaction."""
    counted = connection.execute(COUNTED, (run,)).fetchall()
    connection.execute("UPDATE tests SET cells = 0 WHERE run = ?", (run,))
    connection.executemany(
        "UPDATE tests SET cells = ? WHERE run = ? AND test = ?", ((number, run, test) for test, number in counted)
    )
