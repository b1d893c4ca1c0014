"""Where the parts of a Markdown text begin and end: by line, with the text as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_PARAGRAPH: Final = re.compile(r" {0,3}([-*+>|]|\d+[.)])(\s|$)| {4}|\t")


@dataclass(frozen=True, slots=True)
class Part:
    """A run of lines, ``first`` to ``last`` (exclusive, from 0), and what it is called."""

    title: str
    first: int
    last: int

    def dropped_from(self, text: str) -> str:
        """The text without it."""
        lines = text.splitlines(keepends=True)
        return "".join(lines[: self.first] + lines[self.last :])


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str


def blocks(text: str) -> list[Part]:
    """The blocks of instructions: each begins at a heading and ends at the next; elsewhere each line is one."""
    lines = text.splitlines()
    headings = list(_headings(lines))
    begin = headings[0].line if headings else len(lines)
    start = _after_front_matter(lines)
    found = [Part(lines[line].strip(), line, line + 1) for line in range(start, begin) if lines[line].strip()]
    ends = [*(heading.line for heading in headings[1:]), len(lines)]
    found += [Part(heading.title, heading.line, end) for heading, end in zip(headings, ends, strict=False)]
    return found


def sections(text: str) -> list[Part]:
    """The sections: each begins at a heading and ends at the next one of its level or above it."""
    lines = text.splitlines()
    headings = list(_headings(lines))
    return [
        Part(
            heading.title,
            heading.line,
            next((other.line for other in headings[place + 1 :] if other.level <= heading.level), len(lines)),
        )
        for place, heading in enumerate(headings)
    ]


def _headings(lines: list[str]) -> Iterator[_Heading]:
    fence = ""
    start = _after_front_matter(lines)
    for number in range(start, len(lines)):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(mark[1][0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        atx = _ATX.match(line)
        if atx:
            yield _Heading(number, len(atx[1]), (atx[2] or "").strip())
            continue
        under = _UNDERLINE.match(lines[number + 1]) if number + 1 < len(lines) else None
        before = lines[number - 1] if number > start else ""
        # Only a paragraph of one line is taken for a heading: of a longer one nobody thinks as a title.
        if under and line.strip() and not _NO_PARAGRAPH.match(line) and not before.strip() and "|" not in line:
            yield _Heading(number, 1 if under[1][0] == "=" else 2, line.strip())


def _after_front_matter(lines: list[str]) -> int:
    """The first line after a YAML block between two ``---`` at the very top; it has no headings."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((number + 1 for number in range(1, len(lines)) if lines[number].rstrip() in ("---", "...")), 0)
