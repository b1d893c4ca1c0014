"""A cell as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_killmatrix.model import Cell


def cell_object(cell: Cell, names: Sequence[str] | Mapping[int, str]) -> dict[str, object]:
    return {
        "test": names[cell.test],
        "suite": cell.suite,
        "outcome": cell.outcome.value,
        "phase": cell.phase.value,
        "exception": cell.exception,
        "message": cell.message,
        "seconds": cell.seconds,
        "isolation": cell.isolation.value,
        "confirmed": cell.confirmed,
        "raised_at": cell.raised_at,
        "reason": cell.reason,
        "flags": list(cell.flags),
    }
