"""Which contexts (tests, files being collected, everything else) execute a mutant's lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pytest_killmatrix.model import Mutant


class ReachMap:
    """Executed lines and function entries by file; contexts are strings (``clean.observer``)."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._entries: dict[str, dict[int, set[str]]] = {}

    def add(self, path: str, context: str, arcs: Iterable[tuple[int, int]]) -> None:
        """Take in the arcs that one context executed in the file at ``path``; a negative start is a function entry."""
        lines = self._lines.setdefault(path, {})
        entries = self._entries.setdefault(path, {})
        executed: set[int] = set()
        for start, end in arcs:
            if start < 0:
                entries.setdefault(-start, set()).add(context)
            else:
                executed.add(start)
            if end > 0:
                executed.add(end)
        for line in executed:
            lines.setdefault(line, set()).add(context)

    def files(self) -> frozenset[str]:
        """Paths of the files of which anything ran at all."""
        return frozenset(path for path, lines in self._lines.items() if lines)

    def tests_of(self, path: str) -> set[int]:
        """The tests that run anything of a file."""
        contexts = set().union(*self._lines.get(path, {}).values())
        return {int(context[2:]) for context in contexts if context.startswith("t:")}

    def anywhere(self, path: str) -> set[str]:
        """Every context that executes anything of a file."""
        return set().union(*self._lines.get(path, {}).values())

    def entries(self, path: str) -> Mapping[int, Collection[str]]:
        """The contexts that entered a function of a file, by the line on which the function begins."""
        return self._entries.get(path, {})

    def contexts(self, path: str, mutant: Mutant) -> set[str]:
        """Every context that may evaluate the mutated node of ``mutant`` in the file at ``path``."""
        lines = self._lines.get(path, {})
        found: set[str] = set()
        for line in range(mutant.first_line, mutant.last_line + 1):
            found |= lines.get(line, set())
        if mutant.entry_line is not None:
            found &= self._entries.get(path, {}).get(mutant.entry_line, set())
        return found
