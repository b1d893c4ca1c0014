"""Which contexts (tests, files being collected, everything else) execute a mutant's lines.

Contexts are bits of integers, and lines that the same contexts execute share one integer: a line costs a bit for each
context at most, whatever executes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_killmatrix.analysis.cover import members
from pytest_killmatrix.model import Mutant


class ReachMap:
    """Executed lines and function entries by file; contexts are strings (``clean.observer``)."""

    def __init__(self) -> None:
        self._names: list[str] = []  # contexts by the number of their bit
        self._numbers: dict[str, int] = {}
        self._lines: dict[str, dict[int, int]] = {}
        self._entries: dict[str, dict[int, int]] = {}
        self._latest: tuple[int, frozenset[str]] = (0, frozenset())

    def add(self, path: str, context: str, arcs: Iterable[tuple[int, int]]) -> None:
        """Take in the arcs that one context executed in the file at ``path``; a negative start is a function entry."""
        executed: set[int] = set()
        entered: set[int] = set()
        for start, end in arcs:
            if start < 0:
                entered.add(-start)
            else:
                executed.add(start)
            if end > 0:
                executed.add(end)
        bit = 1 << self._number(context)
        _mark(self._lines.setdefault(path, {}), executed, bit)
        _mark(self._entries.setdefault(path, {}), entered, bit)

    def files(self) -> frozenset[str]:
        """Paths of the files of which anything ran at all."""
        return frozenset(path for path, lines in self._lines.items() if lines)

    def tests_of(self, path: str) -> set[int]:
        """The tests that run anything of a file."""
        return {int(context[2:]) for context in self.anywhere(path) if context.startswith("t:")}

    def anywhere(self, path: str) -> frozenset[str]:
        """Every context that executes anything of a file."""
        found = 0
        for contexts in self._lines.get(path, {}).values():
            found |= contexts
        return self._named(found)

    def entered(self, path: str, first: int, last: int) -> frozenset[str]:
        """The contexts that entered a function of a file that begins on one of these lines."""
        found = 0
        for line, contexts in self._entries.get(path, {}).items():
            if first <= line <= last:
                found |= contexts
        return self._named(found)

    def contexts(self, path: str, mutant: Mutant) -> frozenset[str]:
        """Every context that may evaluate the mutated node of ``mutant`` in the file at ``path``.

        One object for mutants that come one after another and are executed by the same contexts.
        """
        lines = self._lines.get(path, {})
        found = 0
        for line in range(mutant.first_line, mutant.last_line + 1):
            found |= lines.get(line, 0)
        if mutant.entry_line is not None:
            found &= self._entries.get(path, {}).get(mutant.entry_line, 0)
        if found != self._latest[0]:
            self._latest = found, self._named(found)
        return self._latest[1]

    def _number(self, context: str) -> int:
        number = self._numbers.setdefault(context, len(self._names))
        if number == len(self._names):
            self._names.append(context)
        return number

    def _named(self, contexts: int) -> frozenset[str]:
        return frozenset(self._names[number] for number in members(contexts))


def _mark(lines: dict[int, int], executed: Iterable[int], bit: int) -> None:
    """Add a context's bit to these lines; what was one integer before is one afterwards."""
    made: dict[int, tuple[int, int]] = {}  # by identity, which lasts as the integer is held here too
    for line in executed:
        before = lines.get(line, 0)
        pair = made.get(id(before))
        if pair is None:
            made[id(before)] = pair = before, before | bit
        lines[line] = pair[1]
