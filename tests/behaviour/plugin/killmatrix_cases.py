"""A plugin for the projects under test: hands over the mutants that a behaviour test picked by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from pytest_killmatrix import Replacement


def pytest_killmatrix_mutants(path: str, source: str) -> Iterator[Replacement]:
    for case in json.loads(Path(os.environ["KILLMATRIX_CASES"]).read_text(encoding="utf-8")):
        if case["path"] != path:
            continue
        before = case["before"]
        assert source.count(before) == 1, (path, before, source.count(before))
        start = source.index(before)
        end = start + len(before)
        yield Replacement(f"case:{case['name']}", *_position(source, start), *_position(source, end), case["after"])


def _position(source: str, index: int) -> tuple[int, int]:
    line = source.count("\n", 0, index) + 1
    return line, index - (source.rfind("\n", 0, index) + 1)
