"""Which definitions of the files under mutation run under a mutant that did not run in the test's clean run.

A cell holds as long as what its test ran stays what it was, and under a mutant a test may run more than on clean code.
Every definition is replaced, where children begin, by one that first stores a byte in private memory: counting entries
by a profiler takes as long again as the tests themselves.
"""

from __future__ import annotations

import _posixsubprocess
import ast
import importlib.machinery
import mmap
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.activation import marking
from pytest_killmatrix.activation.swap import LiveFunctions, renamed
from pytest_killmatrix.child.reading import is_harmless
from pytest_killmatrix.reuse import definitions

#: what makes another process, which notes nothing here
_PROCESSES: Final = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "subprocess.Popen", "pty.spawn"}
)


@dataclass(frozen=True, slots=True)
class Watch:
    """What to note: ``numbers`` of definitions by file (resolved) and name, and bit masks of those that need no word.

    ``always`` are those that run whatever the test, ``clean`` by test those that its clean run ran.
    """

    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    always: int = 0
    clean: Sequence[int] = ()


class Entries:
    """Notes entries in this process and in those that are forked from it, each for itself."""

    def __init__(self, watch: Watch, live: LiveFunctions) -> None:
        self._watch = watch
        self._live = live
        size = sum(len(names) for names in watch.numbers.values())
        self._memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._modules: dict[str, types.CodeType] = {}  # by file, of the whole module
        self._ours: dict[int, types.CodeType] = {}  # by identity: modules whose definitions note
        self._files: dict[str, str | None] = {}  # by file name as code has it: the file under mutation, if it is one
        self._more: frozenset[int] = frozenset()
        self._blind = False  # something ran that does not note
        self._opaque = False  # something never does
        self._spawn: Any = getattr(_posixsubprocess, "fork_exec", None)
        self._load = importlib.machinery.SourceFileLoader.get_code
        pairs: list[tuple[str, types.CodeType, types.CodeType]] = []
        for path in watch.numbers:
            pairs += self._compile(path)
        if not live.note_entries(pairs):
            self._opaque = True

    def start(self) -> None:
        """From now on every import of a file under mutation gives definitions that note."""
        load, loader = self._load, importlib.machinery.SourceFileLoader
        entries = self

        def get_code(self: Any, fullname: str) -> Any:
            filename = self.get_filename(fullname)
            path = entries.file_of(filename)
            return load(self, fullname) if path is None else entries.module(path, filename)

        loader.get_code = get_code  # type: ignore[method-assign]
        sys.addaudithook(self._audit)
        self._watch_spawning()

    def stop(self) -> None:
        """Note nothing any more, and know nothing."""
        importlib.machinery.SourceFileLoader.get_code = self._load  # type: ignore[method-assign]
        if self._spawn is not None:
            sys.modules["_posixsubprocess"].fork_exec = self._spawn  # type: ignore[attr-defined]
        self._live.forget_entries()
        self._opaque = True

    def _watch_spawning(self) -> None:
        """``multiprocessing`` starts interpreters by a function that no audit event tells of."""
        if self._spawn is None:
            return
        entries, spawn = self, self._spawn

        def fork_exec(*arguments: Any) -> Any:
            entries._blind = True
            return spawn(*arguments)

        sys.modules["_posixsubprocess"].fork_exec = fork_exec  # type: ignore[attr-defined]

    def module(self, path: str, filename: str) -> types.CodeType:
        """The code of a whole module, whose definitions note."""
        code = renamed(self._modules[path], filename)
        self._ours[id(code)] = code
        return code

    def marks(self, path: str) -> Marks:
        """What ``activation.late`` is given for a mutant of this file, instead of ``activation.marking``."""
        return Marks(self._watch.numbers[path], self._memory, self._ours)

    def begin(self) -> None:
        """The mutant is about to be made live: whatever was noted has nothing to do with it."""
        for _ in self._take(0):
            pass
        self._more, self._blind = frozenset(), False

    def loaded(self) -> tuple[int, ...] | None:
        """What ran while the mutant was imported, and before the first test; all tests depend on it."""
        return self._note(self._watch.always)

    def ran(self, test: int) -> tuple[int, ...] | None:
        """What ran so far in this process beyond the clean runs of its tests, this one's being the last.

        Tests may leave something behind, be it a fixture that they share or a global. None where it is not known.
        """
        return self._note(self._watch.always | (self._watch.clean[test] if test < len(self._watch.clean) else 0))

    def _note(self, known: int) -> tuple[int, ...] | None:
        self._more = self._more.union(self._take(known))
        return self.so_far()

    def so_far(self) -> tuple[int, ...] | None:
        """The same without a look at what is new."""
        return None if self._blind or self._opaque else tuple(sorted(self._more))

    def fork(self, fork: Callable[[], int]) -> int:
        """A fork that no test asks for: both processes know what this one did."""
        before = self._blind
        pid = fork()
        self._blind = before
        return pid

    def file_of(self, filename: str) -> str | None:
        """The file under mutation that a file name means."""
        if filename not in self._files:
            path = os.path.realpath(filename)
            found = path if path in self._modules else None
            if not os.path.isabs(filename):
                return found  # what it means depends on where the process is
            self._files[filename] = found
        return self._files[filename]

    def _take(self, known: int) -> Iterator[int]:
        memory = self._memory
        at = memory.find(b"\1")
        while at >= 0:
            memory[at] = 0
            if not known >> at & 1:
                yield at
            at = memory.find(b"\1", at + 1)

    def _compile(self, path: str) -> Iterator[tuple[str, types.CodeType, types.CodeType]]:
        try:
            with open(path, "rb") as file:
                source = file.read()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                original = compile(source, path, "exec", dont_inherit=True)
                tree = definitions.mark(ast.parse(source), self._watch.numbers[path])
                noting = definitions.install(compile(tree, path, "exec", dont_inherit=True), self._memory)
        except (OSError, SyntaxError, ValueError, KeyError, RecursionError):
            self._opaque = True  # another file than was looked at: nothing is known of what it runs
            return
        self._modules[path] = noting
        yield from ((path, *pair) for pair in _functions(original, noting))

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Of every audited event of the process: whether something runs, or is read, that does not note."""
        if event == "exec":
            code = arguments[0]
            if type(code) is types.CodeType and self.file_of(code.co_filename) and id(code) not in self._ours:
                self._blind = True
        elif event == "open":
            self._look_at_opened(*arguments)
        elif event in _PROCESSES:
            self._blind = True

    def _look_at_opened(self, name: object = None, mode: object = None, flags: object = 0) -> None:
        if type(name) is bytes:
            name = os.fsdecode(name)
        if type(name) is str and name.endswith(".py") and self.file_of(name) is not None:
            reads = isinstance(flags, int) and not flags & os.O_WRONLY
            if not (reads and is_harmless(sys._getframe(2))):
                self._blind = True


class Marks:
    """The module ``activation.marking`` for a mutant whose other definitions note that they were entered."""

    def __init__(self, numbers: Mapping[str, int], memory: Any, ours: dict[int, types.CodeType]) -> None:
        self._numbers = numbers
        self._memory = memory
        self._ours = ours

    def mark(self, original: ast.Module, mutated: ast.Module) -> ast.Module:
        """Both marks, and a note in every definition."""
        return definitions.mark(marking.mark(original, mutated), self._numbers)

    def mark_whole(self, tree: ast.Module) -> ast.Module:
        """The marks alone: another implementation has definitions of its own."""
        return marking.mark_whole(tree)

    def install(self, code: types.CodeType, mark: Any) -> types.CodeType:
        """Marks and notes put in place."""
        installed = definitions.install(marking.install(code, mark), self._memory)
        self._ours[id(installed)] = installed
        return installed


def _functions(original: types.CodeType, noting: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """The functions of two compilations of a module that differ in nothing else, side by side."""
    inner = [constant for constant in original.co_consts if isinstance(constant, types.CodeType)]
    others = [constant for constant in noting.co_consts if isinstance(constant, types.CodeType)]
    for one, other in zip(inner, others, strict=True):
        yield one, other
        yield from _functions(one, other)
