"""The delta of a run, where it has one."""

from __future__ import annotations

import json
from typing import Any

from pytest_killmatrix.store.reader import Reader


def delta_of(reader: Reader) -> dict[str, Any] | None:
    """The object that the JSON report calls ``delta``; None without a baseline, and in files that keep none."""
    columns = {row[1] for row in reader.query("PRAGMA table_info(runs)")}
    if "delta" not in columns:
        return None
    text = next(reader.query("SELECT delta FROM runs WHERE run = ?", reader.run))[0]
    if not text:
        return None
    found: dict[str, Any] = json.loads(text)
    return found
