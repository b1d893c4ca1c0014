"""The matrix as CSV: a row for each cell, and one without a test for each mutant that has none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from pytest_killmatrix.store.reader import Reader

COLUMNS = (
    "mutant", "path", "line", "definition", "operator", "status", "test", "suite", "outcome", "phase", "seconds",
    "isolation", "confirmed", "exception", "message", "raised_at", "reason", "flags",
)  # fmt: skip


def csv_chunks(reader: Reader) -> Iterator[str]:
    """The lines, the header first."""
    names = [test.nodeid for test in reader.tests()]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in reader.mutants(reach=False):
        mutant = row.mutant
        start = (mutant.key, mutant.path, mutant.line, mutant.definition, mutant.operator, row.status.value)
        if not row.cells:
            writer.writerow((*start, *("" for _ in COLUMNS[len(start) :])))
        for cell in row.cells:
            confirmed = "" if cell.confirmed is None else int(cell.confirmed)
            writer.writerow((
                *start, names[cell.test], cell.suite, cell.outcome.value, cell.phase.value, f"{cell.seconds:.6f}",
                cell.isolation.value, confirmed, cell.exception, cell.message, cell.raised_at, cell.reason,
                " ".join(cell.flags),
            ))  # fmt: skip
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()
