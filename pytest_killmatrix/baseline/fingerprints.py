"""What a test is: a hash of everything on the test side that it can see, and one of its own code alone.

Two suites that run against the same source share the cells of a test whose hash is the same in both. So what cannot be
known is taken as seen: a hash may change for no reason, but may never stay where an outcome could differ.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pytest_killmatrix.baseline.syntax import parse
from pytest_killmatrix.baseline.testside import CONFTEST, Imports, Project, TestSide
from pytest_killmatrix.reuse.definitions import digest

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_OWN: Final = frozenset({"staticmethod", "classmethod", "property"})
_WORD: Final = re.compile(r"\w+")
#: what describes or wraps a test, and leaves nothing behind when a module is imported
_DESCRIBES: Final = (
    "pytest.mark.", "pytest.param", "hypothesis.", "unittest.mock.patch", "unittest.mock.sentinel", "mock.patch",
    "unittest.skip", "unittest.expectedFailure", "freezegun.freeze_time",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a collected item comes from: its file (relative to rootdir), its classes, and its function.

    ``function`` is None where it is no Python function (a doctest, a file of another plugin); ``target`` is where the
    path leads through links, if it does.
    """

    path: str
    classes: tuple[str, ...] = ()
    function: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """``whole`` is of all that a test can see and of its name, ``body`` of its own code without its name, ``around`` of
    what it can see beside that.
    """

    whole: str
    body: str
    around: str


class Fingerprints:
    """Makes them for the tests of one side; the files are read when they are asked for, each once."""

    def __init__(self, project: Project, side: TestSide, functions: Sequence[str]) -> None:
        """``functions`` are pytest's ``python_functions``."""
        self._project = project
        self._side = side
        self._functions = functions
        self._imports = Imports(project)
        self._modules: dict[str, Module | None] = {}
        self._hashes: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._spoken: dict[str, frozenset[str]] = {}
        self._everyone = frozenset(path for path in side.conftests if has_wide_effects(self._text(path)))

    def of(self, place: Place) -> Fingerprint:
        """The fingerprint of an item at this place."""
        module = self._module(place.path)
        code = module.code_of(place) if module is not None and place.function is not None else None
        if module is None or code is None:
            own, rest = self._hash(place.path), ""
        else:
            own, rest = digest(code), module.rest
        seen = (sha256 for path in (place.path, place.target) if path is not None for sha256 in self._visible(path))
        around = digest(rest, *seen)
        return Fingerprint(digest(own, around, *place.classes, place.function or ""), own, around)

    def names(self, path: str) -> tuple[str, ...]:
        """Node ids, without parameters, of the tests that stand in a file, whether or not it can be imported."""
        known = path in self._project.python
        module = self._module(path) if known else None
        return tuple("::".join((path, *name)) for name in module.tests) if module is not None else ()

    def frame(self, path: str) -> str | None:
        """What a file of the tests may do to others when it is imported, as a hash; None where it only defines.

        With the bodies of its functions, which may be handed to anybody then, but for those of its tests.
        """
        if path.endswith(".py") and not has_wide_effects(self._text(path)):
            return None
        module = self._module(path)
        return module.rest if module is not None else self._hash(path)

    def _visible(self, path: str) -> Iterator[str]:
        """Hashes of the other files that a test in this file can see, with their names."""
        if path not in self._seen:
            chain = {
                CONFTEST if str(folder) == "." else f"{folder}/{CONFTEST}" for folder in PurePosixPath(path).parents
            }
            conftests = (chain & self._side.conftests) | self._everyone
            start = {path, *conftests, *self._side.helpers}
            modules = self._imports.closure(start) & (self._side.modules | self._side.conftests) - {path}
            texts = frozenset(word for file in start for word in self._words(file))
            others = (self._side.modules | self._side.conftests) - modules - {path}
            read = {other for other in others if _is_spoken_of(other, path, texts)}
            files = {*conftests, *self._side.helpers, *self._side.data, *modules, *read}
            self._seen[path] = digest(*(f"{name}\0{self._hash(name)}" for name in sorted(files)))
        yield self._seen[path]

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            self._modules[path] = read_module(self._text(path), self._functions) if path.endswith(".py") else None
        return self._modules[path]

    def _words(self, path: str) -> frozenset[str]:
        """The words in the texts of a Python file."""
        if path not in self._spoken:
            tree = parse(self._text(path))
            texts = (
                node.value
                for node in (ast.walk(tree) if tree is not None else ())
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
            self._spoken[path] = frozenset(word for text in texts for word in _WORD.findall(text))
        return self._spoken[path]

    def _hash(self, path: str) -> str:
        """Of a Python file's syntax tree, of any other file's bytes."""
        if path not in self._hashes:
            text = self._text(path)
            tree = parse(text) if path.endswith(".py") else None
            self._hashes[path] = digest(ast.dump(tree) if tree is not None else hashlib.sha256(text).hexdigest())
        return self._hashes[path]

    def _text(self, path: str) -> bytes:
        try:
            return self._project.read(path)
        except OSError:
            return b"unreadable"


def _is_spoken_of(other: str, path: str, words: frozenset[str]) -> bool:
    """Whether texts with these words may mean another file: by its name, or by a folder beside the file ``path``.

    Test files can be what a test reads or runs; those are data, whatever their names.
    """
    place, folder = PurePosixPath(other), PurePosixPath(path).parent
    names = [place.stem] if place.name != CONFTEST else []
    if place.is_relative_to(folder):
        names += place.relative_to(folder).parts[:-1]
    return any(words.issuperset(_WORD.findall(name)) for name in names)


@dataclass(frozen=True, slots=True)
class Module:
    """A test module: the code of its tests by classes and name, and what is left without those that nothing names."""

    tests: Mapping[tuple[str, ...], str]
    rest: str

    def code_of(self, place: Place) -> str | None:
        """The code of one test without its name; None where it is not found, or there is more than one."""
        return self.tests.get((*place.classes, place.function or ""))


def read_module(text: bytes, functions: Sequence[str]) -> Module | None:
    """A module's tests and the rest of it; None where it is no Python."""
    tree = parse(text)
    if tree is None:
        return None
    found = list(_tests(tree, (), functions))
    aliases = _aliases(tree)
    names = Counter(name for name, _ in found)
    said = _mentions(tree)
    tests: dict[tuple[str, ...], str] = {}
    removed: set[int] = set()
    left: list[str] = []
    for name, node in found:
        if names[name] > 1:
            continue  # which of them pytest takes is its own business: they stay in the rest
        tests[name] = ast.dump(replace_name(node))
        named_elsewhere = said[node.name] > _mentions(node)[node.name]
        if _is_only_a_test(node, aliases) and not named_elsewhere:
            removed.add(id(node))
            left.extend(ast.dump(part) for part in _at_definition(node) if not _is_inert(part, aliases))
    _Without(removed).visit(tree)
    return Module(tests, digest(ast.dump(tree), *left))


def _tests(
    node: ast.Module | ast.ClassDef, classes: tuple[str, ...], functions: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], _Definition]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _tests(child, (*classes, child.name), functions)
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_test(child.name, functions, classes):
            yield (*classes, child.name), child


def _is_test(name: str, functions: Sequence[str], classes: Collection[str]) -> bool:
    patterns = [*functions, "test*"] if classes else functions  # unittest has its own idea
    return any(fnmatch.fnmatchcase(name, pattern) or name.startswith(pattern) for pattern in patterns)


def _mentions(tree: ast.AST) -> Counter[str]:
    """How often each name is said in a tree, be it in a text."""
    said: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            said[node.id] += 1
        elif isinstance(node, ast.Attribute):
            said[node.attr] += 1
        elif isinstance(node, ast.arg):
            said[node.arg] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said.update(set(_WORD.findall(node.value)))
    return said


def _is_only_a_test(test: _Definition, aliases: Mapping[str, str]) -> bool:
    """Whether no decorator may do anything with it but describe or wrap it, such as make it a fixture."""
    for decorator in test.decorator_list:
        origin = _origin(decorator.func if isinstance(decorator, ast.Call) else decorator, aliases)
        if not origin.startswith(_DESCRIBES):
            return False
    return True


def _at_definition(test: _Definition) -> Iterator[ast.expr]:
    """What runs when the test is defined."""
    yield from test.decorator_list
    yield from test.args.defaults
    yield from (part for part in test.args.kw_defaults if part is not None)
    arguments = [*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs]
    yield from (part for part in (test.returns, *(arg.annotation for arg in arguments)) if part is not None)


def _is_inert(node: ast.expr, aliases: Mapping[str, str]) -> bool:
    """Whether evaluating it runs no code that could leave something behind: constants, names, marks on such."""
    if isinstance(node, ast.Call):
        parts = (*node.args, *(keyword.value for keyword in node.keywords))
        return _origin(node.func, aliases).startswith(_DESCRIBES) and all(_is_inert(part, aliases) for part in parts)
    if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
        return False
    if isinstance(node, ast.Lambda):
        return True  # it is called by the test at most
    children = list(ast.iter_child_nodes(node))
    return not any(isinstance(child, ast.comprehension) for child in children) and all(
        _is_inert(child, aliases) for child in children if isinstance(child, ast.expr)
    )


def _aliases(tree: ast.Module) -> dict[str, str]:
    """What the names that the module imports at its top stand for."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found.update(
                (alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0])
                for alias in node.names
            )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    return found


def _origin(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """The dotted name of what is called, by where it was imported from; empty where that is not plain to see."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return ""
    return ".".join([aliases[node.id], *reversed(parts)])


class _Without(ast.NodeTransformer):
    """Takes some definitions out of a tree."""

    def __init__(self, removed: Collection[int]) -> None:
        self._removed = removed

    def visit(self, node: ast.AST) -> ast.AST | None:
        return None if id(node) in self._removed else self.generic_visit(node)


def replace_name(node: _Definition) -> _Definition:
    """The definition under no name."""
    copy = type(node)(**{name: getattr(node, name) for name in node._fields if hasattr(node, name)})
    copy.name = ""
    return copy


def has_wide_effects(text: bytes) -> bool:
    """Whether importing a file of the tests may touch other tests: it has hooks, or does more than define things."""
    tree = parse(text)
    return tree is None or not _only_defines(tree.body, _aliases(tree), set())


def _only_defines(body: Sequence[ast.stmt], aliases: Mapping[str, str], classes: set[str]) -> bool:
    """Whether these statements leave nothing behind but names; ``classes`` were defined so before."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name.startswith("pytest_") or not _defines(node, aliases):
                return False
        elif isinstance(node, ast.ClassDef):
            if node.keywords or not all(_is_harmless_base(base, aliases, classes) for base in node.bases):
                return False
            if not all(_only_describes(decorator, aliases) for decorator in node.decorator_list):
                return False
            if not _only_defines(node.body, aliases, classes):
                return False
            classes.add(node.name)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                return False
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not all(isinstance(target, ast.Name) for target in targets):
                return False
            if node.value is not None and not _is_inert(node.value, aliases):
                return False
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
            return False
    return True


def _defines(node: _Definition, aliases: Mapping[str, str]) -> bool:
    """Whether a definition runs nothing that could leave something behind."""
    defaults = (*node.args.defaults, *(part for part in node.args.kw_defaults if part is not None))
    return all(_is_inert(part, aliases) for part in defaults) and all(
        _only_describes(decorator, aliases) for decorator in node.decorator_list
    )


def _only_describes(decorator: ast.expr, aliases: Mapping[str, str]) -> bool:
    if isinstance(decorator, ast.Name) and decorator.id in _OWN and decorator.id not in aliases:
        return True
    called = isinstance(decorator, ast.Call)
    origin = _origin(decorator.func if isinstance(decorator, ast.Call) else decorator, aliases)
    if not origin.startswith((*_DESCRIBES, "pytest.fixture")):
        return False
    if not called:
        return True
    assert isinstance(decorator, ast.Call)
    parts = (*decorator.args, *(keyword.value for keyword in decorator.keywords))
    return all(_is_inert(part, aliases) for part in parts)


def _is_harmless_base(base: ast.expr, aliases: Mapping[str, str], classes: Collection[str]) -> bool:
    """Whether inheriting from this runs nothing."""
    if isinstance(base, ast.Name) and base.id not in aliases:
        return base.id in classes or base.id in ("object", "Exception")
    return _origin(base, aliases) in ("unittest.TestCase", "unittest.IsolatedAsyncioTestCase")
