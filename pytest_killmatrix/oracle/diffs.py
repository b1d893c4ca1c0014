"""Apply a unified diff, exactly: every line must be where the diff says it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DiffError(ValueError):
    """The text is no unified diff, or does not apply; ``str()`` is one line."""


@dataclass(slots=True)
class _Hunk:
    start: int  # line in the old text, from 1
    old: int
    new: int
    at: int  # line in the diff, from 1
    lines: list[tuple[str, str]] = field(default_factory=list)


def apply(text: str, diff: str) -> str:
    """The text after a diff of one file; line ends are part of lines."""
    hunks = _parse(diff)
    lines = re.split(r"(?<=\n)", text)
    if lines and not lines[-1]:
        lines.pop()
    result: list[str] = []
    done = 0
    for hunk in hunks:
        begin = hunk.start - 1 if hunk.old else hunk.start
        if not done <= begin <= len(lines):
            raise DiffError(f"the hunk at line {hunk.at} of the diff begins at line {hunk.start}, which is not there")
        result += lines[done:begin]
        done = begin
        for sign, line in hunk.lines:
            if sign != "+":
                there = lines[done] if done < len(lines) else None
                if there != line:
                    say = "the file ends" if there is None else f"the file has {_shown(there)!r}"
                    raise DiffError(f"it does not apply: it wants {_shown(line)!r} at line {done + 1}, where {say}")
                done += 1
            if sign != "-":
                result.append(line)
    return "".join(result + lines[done:])


def _parse(diff: str) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    old = new = 0  # lines that the hunk still lacks
    files = 0
    for number, line in enumerate(re.split(r"(?<=\n)", diff), 1):
        if line.startswith("\\") and hunks and hunks[-1].lines:
            sign, last = hunks[-1].lines[-1]
            hunks[-1].lines[-1] = (sign, last.removesuffix("\n").removesuffix("\r"))
        elif (old or new) and line:
            sign, rest = (line[0], line[1:]) if line.strip("\r\n") else (" ", line)
            old, new = old - (sign != "+"), new - (sign != "-")
            if sign not in " +-" or old < 0 or new < 0:
                raise DiffError(f"line {number} of the diff does not belong to its hunk")
            hunks[-1].lines.append((sign, rest))
        elif (found := _HUNK.match(line)) is not None:
            start, old, _, new = (1 if part is None else int(part) for part in found.groups())
            hunks.append(_Hunk(start, old, new, number))
        elif line.startswith("+++ "):
            files += 1
    if old or new:
        raise DiffError("its last hunk ends too early")
    if files > 1:
        raise DiffError("it changes more than one file; a variant changes its target only")
    if not hunks:
        raise DiffError("it is no unified diff: no line begins with @@")
    return hunks


def _shown(line: str) -> str:
    """A line for a message; a carriage return is seen, as it may be all that differs."""
    return line.removesuffix("\n")
