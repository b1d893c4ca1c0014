"""Places in a syntax tree: paths to them, and what stands around them."""

from __future__ import annotations

import ast
from typing import Final

from pytest_killmatrix.activation import marking

Path = tuple[tuple[str, int | None], ...]
"""Steps down a tree: the field, and the position in it where the field is a list."""

_DECIDERS: Final = (ast.If, ast.While, ast.IfExp, ast.Assert)
_NAME: Final = 40  # characters of an expression's text


def in_message(tree: ast.Module, path: Path) -> bool:
    """Whether the place is inside what a raise, an assert or a warning says."""
    for length in range(len(path) - 1, -1, -1):
        node, below = node_at(tree, path[:length]), path[length:]
        if isinstance(node, ast.Raise):
            return isinstance(node.exc, ast.Call) and below[:2][0] == ("exc", None) and _is_argument(below[1:])
        if isinstance(node, ast.Assert):
            return below[0] == ("msg", None)
        if isinstance(node, ast.Call) and _warns(node.func):
            return below[0] == ("args", 0) or (below[0][0] == "keywords" and _keyword(node, below) == "message")
        if isinstance(node, ast.stmt | ast.Lambda):
            return False
    return False


def _is_argument(below: Path) -> bool:
    return bool(below) and below[0][0] in ("args", "keywords")


def _keyword(node: ast.Call, below: Path) -> str | None:
    position = below[0][1]
    return node.keywords[position].arg if position is not None and position < len(node.keywords) else None


def _warns(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "warnings" and function.attr == "warn"
    return isinstance(function, ast.Name) and function.id == "warn"


def decides(tree: ast.Module, path: Path) -> bool:
    """Whether only the truth of the expression counts."""
    while path:
        parent = node_at(tree, path[:-1])
        if isinstance(parent, _DECIDERS):
            return path[-1] == ("test", None)
        if not isinstance(parent, ast.BoolOp) and not (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        ):
            return False
        path = path[:-1]
    return False


def wrappable(tree: ast.Module, path: Path) -> bool:
    """Whether the expression at the path may be replaced by a call."""
    if not path:
        return False
    steps = tuple(
        marking.Step(node, *step)
        for at, step in enumerate(path)
        if isinstance(node := node_at(tree, path[:at]), ast.AST)
    )
    return len(steps) == len(path) and marking.may_wrap(steps, node_at(tree, path))


def is_simple(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Constant)


def short(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _NAME else text[: _NAME - 1] + "…"


def node_at(tree: ast.AST, path: Path) -> object:
    """What is at the end of a path; None where there is nothing."""
    node: object = tree
    for name, position in path:
        node = getattr(node, name, None)
        if position is not None:
            if not isinstance(node, list) or position >= len(node):
                return None
            node = node[position]
    return node
