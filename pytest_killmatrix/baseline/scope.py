"""Which lines of the source changed, and which mutants stand in them: pure functions."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_killmatrix.baseline.syntax import parse
from pytest_killmatrix.model import Mutant, Outcome

AUTO: Final = "auto"
CHANGED: Final = "changed"
COVERED: Final = "covered"
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Said:
    """What a test said when it ran alone once more: under the mutant, and under a change of nothing."""

    outcome: Outcome
    noop: Outcome


#: runs cells of a suite again: tests by mutant, both by index -> what each said
RunAgain = Callable[[Mapping[int, Sequence[int]]], Mapping[tuple[int, int], Said]]


def differs(old: bytes | None, new: bytes) -> bool:
    """Whether a file says something else now, comments and layout aside."""
    if old is None:
        return True
    before, now = parse(old), parse(new)
    if before is None or now is None:
        return old != new
    return ast.dump(before) != ast.dump(now)


def changed_lines(old: bytes | None, new: bytes) -> frozenset[int]:
    """Lines of ``new`` (from 1) that stand in a statement which is not in ``old``, or beside one that is gone.

    A statement counts as a whole: its lines belong together. Where lines were only taken out of a function, its
    statements before and after the gap count.
    """
    tree = parse(new)
    lines = new.splitlines()
    if tree is None or old is None:
        return frozenset(range(1, len(lines) + 1))
    touched: set[int] = set()
    owners = _owners(tree, len(lines))
    for kind, _, _, start, end in difflib.SequenceMatcher(None, old.splitlines(), lines, autojunk=False).get_opcodes():
        if kind in ("replace", "insert"):
            touched.update(number for number in range(start + 1, end + 1) if lines[number - 1].strip())
        elif kind == "delete":
            before, after = _beside(lines, start)
            if before and after and owners[before] == owners[after] != 0:
                touched.update((before, after))
    for first, last in _spans(tree):
        if not touched.isdisjoint(range(first, last + 1)):
            touched.update(range(first, last + 1))
    return frozenset(touched)


def in_scope(mutants: Sequence[Mutant], lines: Mapping[str, Collection[int]]) -> list[bool]:
    """For each mutant whether it changes something in one of these lines of its file."""
    return [
        any(line in lines.get(mutant.path, ()) for line in range(mutant.line, mutant.end_line + 1))
        for mutant in mutants
    ]


def _beside(lines: list[bytes], gap: int) -> tuple[int, int]:
    """The nearest lines with anything in them before and after a gap; 0 where there is none."""
    before = next((number for number in range(gap, 0, -1) if lines[number - 1].strip()), 0)
    after = next((number for number in range(gap + 1, len(lines) + 1) if lines[number - 1].strip()), 0)
    return before, after


def _spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of every statement; of one that holds others, those of its head."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            first, last = _lines_of(node)
            body = [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))]
            inner = [_lines_of(child)[0] for child in body]
            yield first, max(first, min(last, *(line - 1 for line in inner))) if inner else last


def _lines_of(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> tuple[int, int]:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, max(child.end_lineno or child.lineno for child in node.body)
    decorators: Iterable[ast.expr] = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first, node.end_lineno or node.lineno


def _owners(tree: ast.Module, count: int) -> list[int]:
    """For each line the innermost function that it is in, by that function's first line; 0 at the top."""
    owners = [0] * (count + 2)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for node in sorted(functions, key=lambda node: node.lineno):
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            owners[line] = node.lineno
    return owners
