"""Hooks that other plugins may implement."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_killmatrix.model import Replacement


@pytest.hookspec
def pytest_killmatrix_mutants(  # type: ignore[empty-body]
    path: str, source: str
) -> Iterable[Replacement | tuple[str, int, int, int, int, str]]:
    """Mutants of ``path`` (relative to rootdir, POSIX) beside the catalogue's.

    Each is a :class:`pytest_killmatrix.Replacement` or a tuple ``(operator, line, column, end_line, end_column,
    text)``: lines from 1, columns from 0 in code points, end exclusive. They are always made, also where the catalogue
    leaves the source alone; ``--mutation-operators`` selects them by their operator's name.
    """
