"""Pure helpers for text on a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_SHORT = 8
"""Columns of unchanged beginning ("return ") that are worth keeping before a long change."""

_CONTEXT = 14
"""Columns around the change that make its right side readable."""

_WORD_TAIL = re.compile(r"^(?:…|\.\.\.)\w{0,7}(?=\W)\s*")
_WORD_HEAD = re.compile(r"(?<=\W)\s*\w{0,7}(?:…|\.\.\.)$")
"""Pieces of words that a cut left over."""

_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def is_ascii_only(encoding: str | None) -> bool:
    """Whether a stream of this encoding cannot take the signs that the report uses."""
    try:
        "→…·".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def plain(text: str, *, ascii: bool = False) -> str:
    """One line of printable text, whitespace collapsed."""
    return printable(" ".join(text.split()), ascii=ascii)


def printable(text: str, *, ascii: bool = False) -> str:
    """The text with everything that could steer a terminal, line ends included, as an escape sequence."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return text.encode("ascii", "backslashreplace").decode() if ascii else text


def cells(text: str) -> int:
    """Columns the text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, width: int, dots: str) -> str:
    """The text, its end cut to ``width`` columns."""
    if cells(text) <= width:
        return text
    return _take(text, max(width - len(dots), 0)) + dots[:width]


def fit_left(text: str, width: int, dots: str) -> str:
    """The text, its beginning cut to ``width`` columns."""
    if cells(text) <= width:
        return text
    return dots[:width] + _take(text[::-1], max(width - len(dots), 0))[::-1]


def pad(text: str, width: int) -> str:
    """The text, filled with blanks to ``width`` columns."""
    return text + " " * max(width - cells(text), 0)


def one_line_diff(original: str, replacement: str, width: int, *, ascii: bool = False) -> str:
    """``a + b → a - b`` in at most ``width`` columns: what changed, with as much around it as there is room for."""
    arrow, dots = (" -> ", "...") if ascii else (" → ", "…")
    before, after = plain(original, ascii=ascii), plain(replacement, ascii=ascii)
    if not before:
        before = "(nothing)"
    if not after:
        after = "(deleted)"
    if before == after:
        # They differ in whitespace only, so this time it must be seen.
        before, after = (printable(text, ascii=ascii) for text in (original, replacement))
    whole = before + arrow + after
    if cells(whole) <= width:
        return whole
    head, old, new, tail = _split(before, after)
    # What is common is worth showing once, so the left side gets what the right side can spare.
    budget = width - len(arrow)
    least = min(budget // 2, cells(new) + _CONTEXT)
    old_side = _around(head, old, tail, budget - least, dots)
    new_side = _around(head, new, tail, budget - cells(old_side), dots)
    # A side that was cut between words left some columns over.
    old_side = _around(head, old, tail, budget - cells(new_side), dots)
    return old_side + arrow + new_side


def percent(numerator: int, denominator: int) -> str:
    """``80.9%``; 100 and 0 only where they are true."""
    if not denominator:
        return "-"
    tenths = round(1000 * numerator / denominator)
    if numerator < denominator:
        tenths = min(tenths, 999)
    if numerator > 0:
        tenths = max(tenths, 1)
    return f"{tenths // 10}.{tenths % 10}%"


def number(value: int) -> str:
    return f"{value:,}"


def count(value: int, noun: str) -> str:
    """``1 test``, ``2 tests``, ``1,234 tests``."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(seconds: float) -> str:
    """``0.4 s``, ``42 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def flow(items: Iterable[str], width: int, *, first: str, separator: str) -> list[str]:
    """Items in as few lines as they need: ``first`` before the first line, blanks below it."""
    lines: list[str] = []
    line, empty = first, True
    for item in items:
        joined = item if empty else separator + item
        if not empty and cells(line) + cells(joined) > width:
            lines.append(line)
            line, joined = " " * cells(first), item
        line, empty = line + joined, False
    return [*lines, line]


def _take(text: str, width: int) -> str:
    taken = 0
    for position, char in enumerate(text):
        taken += cells(char)
        if taken > width:
            return text[:position]
    return text


def _split(before: str, after: str) -> tuple[str, str, str, str]:
    """Common beginning, what was there, what is there now, common end; cut between tokens."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return (
        "".join(old[:head]),
        "".join(old[head : len(old) - tail]),
        "".join(new[head : len(new) - tail]),
        "".join(old[len(old) - tail :]),
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many elements both begin with."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def _around(head: str, change: str, tail: str, width: int, dots: str) -> str:
    """The change with as much of head and tail as fits, half of the room for each."""
    if cells(head) + cells(change) + cells(tail) <= width:
        return head + change + tail
    if cells(change) >= width - 2 * len(dots):
        front = (head if cells(head) <= _SHORT else dots) + change
        if cells(front) <= width and not tail:
            return front
        end = (width - len(dots)) // 2
        return _take(front, max(width - len(dots) - end, 0)) + dots + _take((change + tail)[::-1], end)[::-1]
    room = width - cells(change)
    left = min(cells(head), max(room // 2, room - cells(tail)))
    front = fit_left(head, left, dots)
    if front != head:
        front = _WORD_TAIL.sub(dots, front)
    back = fit(tail, width - cells(front) - cells(change), dots)
    if back != tail:
        back = _WORD_HEAD.sub(dots, back)
    return front + change + back
