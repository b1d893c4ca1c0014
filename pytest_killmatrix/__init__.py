"""Mutation testing that keeps who killed what: see README.md and docs/.

PYTEST_DONT_REWRITE: the fresh interpreter loads this package before pytest, which would warn that it comes too late.
"""

from __future__ import annotations

from pytest_killmatrix.model import Replacement

__version__ = "0.1.0"

__all__ = ["Replacement", "__version__"]
