"""Which files of a project belong to its tests: pure functions over a listing of the project."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from pytest_killmatrix.baseline.syntax import parse
from pytest_killmatrix.report.text import count

Read = Callable[[str], bytes]
CONFTEST: Final = "conftest.py"
_INIT: Final = "__init__.py"
_CACHES: Final = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".git"})


@dataclass(frozen=True, slots=True)
class TestSide:
    """The files of the tests, by path relative to the project's root (POSIX).

    ``modules`` are those that pytest collects, ``conftests`` and ``helpers`` the other Python files, ``data`` the rest.
    """

    modules: frozenset[str] = frozenset()
    conftests: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()

    __test__ = False  # not a pytest class, whatever its name

    @property
    def files(self) -> frozenset[str]:
        """All of them."""
        return self.modules | self.conftests | self.helpers | self.data

    def described(self) -> str:
        """In a few words: topmost folders, and files that are in none of these."""
        folders: set[str] = set()
        for path in sorted(self.files):
            top = PurePosixPath(path).parts[0]
            folders.add(f"{top}/" if "/" in path else path)
        names = sorted(folders)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return f"{count(len(self.files), 'file')} in {', '.join(names[:5])}{more}" if names else "no file"


@dataclass(frozen=True, slots=True)
class Project:
    """What the test side is looked for in.

    ``files`` are the project's, relative to its root (POSIX); ``patterns`` are pytest's ``python_files``; ``mutated``
    are the files under mutation; ``collected`` test files that the patterns do not name; ``globs`` say what belongs to
    the tests where a person said so; ``documents`` are the patterns of texts with doctests.
    """

    files: frozenset[str]
    read: Read
    patterns: Sequence[str]
    mutated: frozenset[str]
    collected: frozenset[str] = frozenset()
    globs: Sequence[str] = ()
    documents: Sequence[str] = ()
    python: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        kept = frozenset(path for path in self.files if _CACHES.isdisjoint(PurePosixPath(path).parts))
        object.__setattr__(self, "files", kept)
        object.__setattr__(self, "python", frozenset(path for path in kept if path.endswith(".py")))


def find(project: Project) -> TestSide:
    """The test side: what pytest collects, conftests, whole folders of nothing else, and what these import.

    A folder is taken whole, data files included, where each of its Python files is a test file, a conftest, an
    ``__init__.py`` or a module that only such files import. Outside of those, a module that they import is taken where
    nothing under mutation imports it.
    """
    tests = frozenset(path for path in project.python - project.mutated if _is_test(path, project))
    conftests = frozenset(path for path in project.python - project.mutated if path.rpartition("/")[2] == CONFTEST)
    if project.globs:
        files = frozenset(path for path in project.files - project.mutated if _matches(path, project.globs))
        return _sorted_out(files, tests, conftests)
    imports = Imports(project)
    files = tests | conftests
    whole: list[str] = []
    for folder in _candidates(files):
        if not any(_within(folder, taken) for taken in whole) and _is_whole(folder, files, imports):
            whole.append(folder)
    files |= frozenset(path for path in project.files for folder in whole if _within(path, folder))
    texts = _documents(project) - files  # in a folder of tests they may be data besides
    return _sorted_out(files | _imported(files, imports) | texts, tests | texts, conftests)


def _documents(project: Project) -> frozenset[str]:
    """Texts whose doctests are tests; those in Python files belong to the source."""
    return frozenset(
        path
        for path in project.files - project.python
        if path in project.collected
        or any(fnmatch.fnmatch(path.rpartition("/")[2], glob) for glob in project.documents)
    )


def _sorted_out(files: frozenset[str], tests: frozenset[str], conftests: frozenset[str]) -> TestSide:
    python = frozenset(path for path in files if path.endswith(".py"))
    return TestSide(
        files & tests - conftests,
        files & conftests,
        python - tests - conftests,
        files - python - tests,
    )


def _is_test(path: str, project: Project) -> bool:
    name = path.rpartition("/")[2]
    if path in project.collected:
        return True
    return any(
        fnmatch.fnmatch(path if "/" in pattern else name, f"*/{pattern}" if "/" in pattern else pattern)
        for pattern in project.patterns
    )


def _matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a person's glob names the file or a folder that it is in; ``*`` goes beyond slashes."""
    places = [path, *(str(folder) for folder in PurePosixPath(path).parents)]
    return any(fnmatch.fnmatchcase(place, glob.rstrip("/")) for glob in globs for place in places)


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _candidates(tests: Collection[str]) -> list[str]:
    """Every folder with a test file somewhere below it, topmost first; never the root."""
    folders = {str(folder) for path in tests for folder in PurePosixPath(path).parents if str(folder) != "."}
    return sorted(folders, key=lambda folder: (folder.count("/"), folder))


def _is_whole(folder: str, tests: Collection[str], imports: Imports) -> bool:
    project = imports.project
    below = [path for path in project.python if _within(path, folder)]
    if any(path in project.mutated for path in below):
        return False
    others = [path for path in below if path not in tests and path.rpartition("/")[2] != _INIT]
    outside = project.python - frozenset(tests) - frozenset(below)
    return not any(imports.imported_by(path, outside) for path in others)


def _imported(files: frozenset[str], imports: Imports) -> frozenset[str]:
    """Modules beside the folders of the tests that only tests import."""
    roots = _roots(imports.project)
    product = imports.closure(imports.project.mutated)
    found: set[str] = set()
    for path in imports.closure(frozenset(path for path in files if path.endswith(".py"))) - files - product:
        if not any(path == root or _within(path, root) for root in roots):
            found.add(path)
    return frozenset(found)


def _roots(project: Project) -> frozenset[str]:
    """What the files under mutation are part of: their topmost package, or ``src``."""
    roots = set()
    for path in project.mutated:
        root = path
        for folder in PurePosixPath(path).parents:
            if str(folder) == "." or f"{folder}/{_INIT}" not in project.files:
                break
            root = str(folder)
        roots.add("src" if root.startswith("src/") else root)
    return frozenset(roots)


class Imports:
    """Which files of a project import which, as far as their text tells."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._by_stem: dict[str, list[str]] = {}
        for path in project.python:
            parts = PurePosixPath(path).with_suffix("").parts
            stem = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
            self._by_stem.setdefault(stem, []).append(path)
        self._found: dict[str, frozenset[str]] = {}

    def of(self, path: str) -> frozenset[str]:
        """The project's files that this one imports, packages on the way included."""
        if path not in self._found:
            names = imported_names(self.project.read(path))
            self._found[path] = frozenset(
                target for level, name in names for target in self._resolve(path, level, name)
            ) - {path}
        return self._found[path]

    def imported_by(self, path: str, others: Iterable[str]) -> bool:
        """Whether one of the others imports it."""
        parts = PurePosixPath(path).with_suffix("").parts
        stem = (parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]).encode()
        return any(stem in self.project.read(other) and path in self.of(other) for other in others)

    def closure(self, start: Iterable[str]) -> frozenset[str]:
        """All that these import, and what that imports, and so on."""
        found: set[str] = set()
        todo = [path for path in start if path in self.project.python]
        while todo:
            for target in self.of(todo.pop()):
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return frozenset(found)

    def _resolve(self, importer: str, level: int, name: str) -> Iterator[str]:
        """Files that ``name`` may be: below the root, ``src``, or a folder above the importer."""
        above = list(PurePosixPath(importer).parents)
        bases = above[level - 1 : level] if level else [*above, PurePosixPath("src")]
        parts = name.split(".") if name else []
        for base in bases:
            for length in range(len(parts), 0, -1):
                place = base.joinpath(*parts[:length])
                for candidate in (f"{place}.py", f"{place}/{_INIT}"):
                    if candidate in self.project.python:
                        yield candidate
            if level and (package := str(base / _INIT)) in self.project.python:
                yield package


@lru_cache(maxsize=4096)
def imported_names(source: bytes) -> frozenset[tuple[int, str]]:
    """(level, dotted name) of everything that a file imports by a statement, or names in ``pytest_plugins``."""
    found: set[tuple[int, str]] = set()
    tree = parse(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            found.update((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = f"{node.module}." if node.module else ""
            found.update((node.level, f"{base}{alias.name}".removesuffix(".*")) for alias in node.names)
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytest_plugins" for target in node.targets
        ):
            texts = [child.value for child in ast.walk(node.value) if isinstance(child, ast.Constant)]
            found.update((0, text) for text in texts if isinstance(text, str))
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "importorskip", "__import__"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add((0, first.value))
    return frozenset(found)


def _called(call: ast.Call) -> str:
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
