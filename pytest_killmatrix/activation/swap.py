"""Live swap: every live function that runs the original code runs the mutant's from now on.

Functions are found through ``gc``, so decorators, closures, registries and caches that hold them need no special case.
"""

from __future__ import annotations

import gc
import marshal
import os
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_killmatrix.executor.protocol import Swap

Install = Callable[[types.CodeType], types.CodeType]


@dataclass(frozen=True, slots=True)
class NotLive:
    """Why swapping cannot make a mutant live."""

    reason: str


class LiveFunctions:
    """The live functions of the files under mutation, by file, first line and name."""

    def __init__(self, files: Iterable[str]) -> None:
        resolved = {name: name for name in files}
        self._index: dict[tuple[str, int, str], list[weakref.ref[types.FunctionType]]] = {}
        self._unnoted: dict[int, types.CodeType] = {}  # the code that stood for this one, by its identity
        self._noting: list[tuple[weakref.ref[types.FunctionType], types.CodeType]] = []
        known: dict[str, str | None] = {}
        for thing in gc.get_objects():
            if type(thing) is not types.FunctionType:
                continue
            code = thing.__code__
            filename = code.co_filename
            if filename not in known:
                known[filename] = resolved.get(os.path.realpath(filename))
            path = known[filename]
            if path is not None:
                key = (path, code.co_firstlineno, code.co_name)
                self._index.setdefault(key, []).append(weakref.ref(thing))

    def swap(self, swaps: Sequence[Swap], install: Install) -> NotLive | None:
        """Make every swap; ``install`` prepares a mutant's code (marks). All or nothing is changed."""
        changes: list[tuple[types.FunctionType, types.CodeType]] = []
        for swap in swaps:
            original: types.CodeType = marshal.loads(swap.original)
            mutant: types.CodeType | None = None
            for reference in self._index.get((swap.path, swap.line, original.co_name), ()):
                function = reference()
                if function is None:
                    continue
                live = self._unnoted.get(id(function.__code__), function.__code__)
                if live != original:
                    if _place(live) != _place(original):
                        continue  # another function that starts on this line
                    return NotLive("its code was not compiled from the source as it stands")
                if mutant is None:
                    mutant = renamed(install(marshal.loads(swap.mutant)), live.co_filename)
                if mutant.co_freevars != live.co_freevars:
                    return NotLive("free variables differ")
                changes.append((function, mutant))
        for function, mutant in changes:
            function.__code__ = mutant
        return None

    def note_entries(self, pairs: Iterable[tuple[str, types.CodeType, types.CodeType]]) -> bool:
        """Have functions run code that notes when they are entered; whether each that should took it.

        Of each pair the second does what the first does, and notes it; with the file that both are of.
        """
        whole = True
        for path, original, noting in pairs:
            for reference in self._index.get((path, original.co_firstlineno, original.co_name), ()):
                function = reference()
                if function is None or _place(function.__code__) != _place(original):
                    continue
                live = function.__code__
                if live != original or noting.co_freevars != live.co_freevars:
                    whole = False
                    continue
                function.__code__ = code = renamed(noting, live.co_filename)
                self._unnoted[id(code)] = live
                self._noting.append((reference, code))
        return whole

    def forget_entries(self) -> None:
        """Undo ``note_entries``."""
        for reference, code in self._noting:
            function = reference()
            if function is not None and function.__code__ is code:
                function.__code__ = self._unnoted[id(code)]
        self._noting.clear()
        self._unnoted.clear()


def _place(code: types.CodeType) -> tuple[int | None, int | None] | None:
    """Line and column where a function's own code begins; None where the interpreter does not know (3.10)."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return None
    return next(((line, column) for line, _, column, _ in positions() if column), None)


def renamed(code: types.CodeType, filename: str) -> types.CodeType:
    """The same code, nested code included, under another file name."""
    if code.co_filename == filename:
        return code
    constants = tuple(
        renamed(constant, filename) if isinstance(constant, types.CodeType) else constant for constant in code.co_consts
    )
    return code.replace(co_filename=filename, co_consts=constants)
