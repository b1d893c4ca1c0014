"""Python texts as trees; those of an old commit need not be Python at all."""

from __future__ import annotations

import ast
import warnings


def parse(text: bytes) -> ast.Module | None:
    """The text's tree, None where it has none; what Python would warn of is not this program's business."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
