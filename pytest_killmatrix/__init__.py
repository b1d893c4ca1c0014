"""Mutation testing that keeps who killed what: see README.md and docs/.

PYTEST_DONT_REWRITE: the fresh interpreter loads this package before pytest, which would warn that it comes too late.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_killmatrix.model import Replacement

if TYPE_CHECKING:
    from pytest_killmatrix.notebook import Results

__version__ = "0.1.0"

__all__ = ["Replacement", "__version__", "open"]


def open(path: str | os.PathLike[str] | None = None, run: int | None = None) -> Results:
    """The results in a sidecar, as tables: see ``pytest_killmatrix.notebook.Results``."""
    from pytest_killmatrix.notebook import Results

    return Results(path, run)
