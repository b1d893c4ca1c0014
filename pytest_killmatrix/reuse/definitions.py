"""A module as the cells depend on it: its definitions, and what is left of it without their bodies.

A definition is a function that the module or a class of it defines, with all that is nested in it. What is nested can
only run after the definition did.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Final

from pytest_killmatrix.activation import marking

Function = ast.FunctionDef | ast.AsyncFunctionDef
PLACEHOLDER: Final = "\0killmatrix:entry\0"


@dataclass(frozen=True, slots=True)
class Parts:
    """A module's ``definitions``, hashes by qualified name, and a hash of its ``frame``: what runs when it is imported.

    Definitions of one name share a hash. ``spans`` are (first line, last line, name), decorators included.
    """

    definitions: Mapping[str, str]
    frame: str
    spans: tuple[tuple[int, int, str], ...]


def parts_of(tree: ast.Module) -> Parts:
    """Take a module apart; the tree loses the bodies of its definitions (in place)."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    spans: list[tuple[int, int, str]] = []
    for name, node in find(tree):
        texts[name].append(ast.dump(node))
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        spans.append((first, node.end_lineno or first, name))
    empty(tree)
    return Parts({name: digest(*parts) for name, parts in texts.items()}, digest(ast.dump(tree)), tuple(spans))


def empty(tree: ast.Module) -> None:
    """Take the bodies of all definitions away (in place), but not what can be seen of them from outside."""
    for _, node in find(tree):
        seen: list[ast.expr] = [ast.Constant(ast.get_docstring(node, clean=False))]
        if any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node)):
            seen.append(ast.Constant("a generator"))
        node.body = [ast.Expr(part) for part in seen]


def find(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """(qualified name, node) of every definition, in the order of the text."""
    yield from _within(tree, "")


def outermost(prefix: str, name: str, definitions: Mapping[str, object]) -> str | None:
    """The definition that a qualified name lies in, itself included, with the prefix; None for code run at import."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        if (candidate := prefix + ".".join(parts[:length])) in definitions:
            return candidate
    return None


def mark(tree: ast.Module, numbers: Mapping[str, int]) -> ast.Module:
    """Have each definition note first that it was entered, by a store into ``PLACEHOLDER`` (in place)."""
    for name, node in find(tree):
        if name not in numbers:
            continue
        place = 1 if ast.get_docstring(node, clean=False) is not None else 0
        anchor = node.body[min(place, len(node.body) - 1)]
        where = ast.Subscript(ast.Constant(PLACEHOLDER), ast.Constant(numbers[name]), ast.Store())
        store = ast.Assign([where], ast.Constant(1))
        for part in ast.walk(store):
            if "lineno" in part._attributes:
                ast.copy_location(part, anchor)
        node.body.insert(place, store)
    return tree


def install(code: CodeType, memory: object) -> CodeType:
    """The code with the placeholder, in nested code too, replaced by where to note."""
    return marking.install(code, memory, PLACEHOLDER)


def digest(*parts: str) -> str:
    """One hash over texts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode("utf-8", "surrogatepass"))
        found.update(b"\0")
    return found.hexdigest()


def _within(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _within(child, f"{prefix}{child.name}.")
        elif isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield from _within(child, prefix)
