"""A mutant as a diff of its lines, with the lines around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pytest_killmatrix.model import Mutant

CONTEXT: Final = 3
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class DiffLine(NamedTuple):
    """One line: " ", "-" or "+", its number (None for an added one), and its text."""

    sign: str
    number: int | None
    text: str


def split_lines(text: str) -> list[str]:
    """The lines of Python source, without their ends."""
    return _LINE_END.split(text)


def diff_lines(mutant: Mutant, text: str | None, context: int = CONTEXT) -> list[DiffLine]:
    """The diff; without the file's text, or where that does not fit, only of what was replaced."""
    lines = split_lines(text) if text is not None else []
    if not _fits(mutant, lines):
        old = split_lines(mutant.original)
        return [
            *(DiffLine("-", mutant.line + offset, line) for offset, line in enumerate(old)),
            *(DiffLine("+", None, line) for line in split_lines(mutant.replacement)),
        ]
    return list(_in_context(mutant, lines, context))


def _fits(mutant: Mutant, lines: Sequence[str]) -> bool:
    """Whether the mutant's original is where it says it is."""
    if mutant.end_line > len(lines):
        return False
    covered = list(lines[mutant.line - 1 : mutant.end_line])
    covered[-1] = covered[-1][: mutant.end_column]
    covered[0] = covered[0][mutant.column :]
    return covered == split_lines(mutant.original)


def _in_context(mutant: Mutant, lines: Sequence[str], context: int) -> Iterator[DiffLine]:
    first, last = mutant.line - 1, mutant.end_line
    for number in range(max(0, first - context), first):
        yield DiffLine(" ", number + 1, lines[number])
    old = list(lines[first:last])
    new = split_lines(old[0][: mutant.column] + mutant.replacement + old[-1][mutant.end_column :])
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        yield DiffLine(" ", first + head + 1, old[head])
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    for offset in range(head, len(old) - tail):
        yield DiffLine("-", first + offset + 1, old[offset])
    added = new[head : len(new) - tail]
    for line in added if any(line.strip() for line in added) else ():  # what becomes nothing leaves no empty line
        yield DiffLine("+", None, line)
    for number in range(last - tail, min(len(lines), last + context)):
        yield DiffLine(" ", number + 1, lines[number])
