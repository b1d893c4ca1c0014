"""Which loaded modules have to be imported again when one of them becomes another: all that imports connect with it.

Found in their source (imports, module names in strings) and in what they hold. A value that came by neither, such as a
number fetched through a computed name, is not seen; the static route's noop and the docs say so.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Reload:
    """What has to be imported again for one file.

    ``own`` are the names that the file itself is loaded under, ``modules`` the names of everything to drop (in the
    order of loading, ``own`` included, without conftests), ``files`` the resolved paths behind them, those of conftests
    too, ``holders`` the names of what holds something of theirs and cannot be imported again: plugins, modules from
    outside of the project, conftests where pytest would have to be started again for them.
    """

    own: tuple[str, ...]
    modules: tuple[str, ...]
    files: frozenset[str]
    holders: tuple[str, ...]


@dataclass(slots=True)
class _Node:
    path: str
    imports: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


#: names in a source that speak of state of the process, which no import takes back; which aspect of it
#: (``surroundings``)
_TRACES: Final = {
    "__builtins__": "builtins", "builtins": "builtins", "addHandler": "logging", "addLevelName": "logging",
    "basicConfig": "logging", "dictConfig": "logging", "atexit": "atexit", "copyreg": "copyreg", "environ": "environ",
    "putenv": "environ", "filterwarnings": "warnings", "simplefilter": "warnings", "meta_path": "finders",
    "path_hooks": "finders", "setlocale": "locale", "setrecursionlimit": "recursion",
}  # fmt: skip


class ImportGraph:
    """Who took what from whom, among the modules that were loaded when the session forked."""

    def __init__(
        self,
        modules: Mapping[str, types.ModuleType],
        in_project: Callable[[str], bool],
        plugins: Iterable[types.ModuleType] = (),
        conftests: Iterable[types.ModuleType] = (),
    ) -> None:
        """``in_project`` judges resolved paths; ``plugins`` are held by pytest and cannot be imported again.

        ``conftests`` can; they are known by their names, or by their paths where another has taken the name.
        """
        named = {id(module): name for name, module in modules.items()}
        again = {named.get(id(module), str(module.__file__)): module for module in conftests}
        self.conftests = {name: os.path.realpath(str(module.__file__)) for name, module in again.items()}
        modules = {**modules, **again}
        self._modules = modules
        self._nodes: dict[str, _Node] = {}
        outside: list[types.ModuleType] = [*plugins]
        fixed = {id(plugin) for plugin in outside}
        for name, module in modules.items():
            origin = getattr(module, "__file__", None)
            path = os.path.realpath(origin) if isinstance(origin, str) else ""
            if id(module) not in fixed and path.endswith(".py") and in_project(path):
                self._nodes[name] = _Node(path)
            elif id(module) not in fixed:
                outside.append(module)
        for name, node in self._nodes.items():
            self._read(name, modules[name], node)
        self._group = self._connect()
        self._outside: dict[str, set[str]] = {}
        for module in outside:
            self._look_into(module, in_project)

    def reload(self, path: str) -> Reload:
        """What a new version of the file at ``path`` (resolved) asks for."""
        own = tuple(name for name, node in self._nodes.items() if node.path == path)
        groups = {self._group[name] for name in own}
        found = {name for name, group in self._group.items() if group in groups}
        holders = tuple(sorted(name for name, held in self._outside.items() if not held.isdisjoint(found)))
        return Reload(
            own,
            tuple(name for name in self._nodes if name in found and name not in self.conftests),
            frozenset(self._nodes[name].path for name in found),
            holders,
        )

    def _connect(self) -> dict[str, str]:
        """A group for each module: all that imports connect, in whichever direction.

        Who took something has the old value; who was written into has the old entry; and a package that is imported
        again does not find its old submodules as attributes.
        """
        leader = {name: name for name in self._nodes}

        def find(name: str) -> str:
            while leader[name] != name:
                leader[name] = leader[leader[name]]
                name = leader[name]
            return name

        for name, node in self._nodes.items():
            for other in (*node.imports, name.rpartition(".")[0]):
                if other in leader:
                    leader[find(name)] = find(other)
        return {name: find(name) for name in self._nodes}

    def leaves_traces(self, name: str, changed: Collection[str]) -> bool:
        """Whether importing a module of the project may have changed the process: a second import finds the change.

        ``changed`` are the aspects of the process that are not what they were before anything was imported: what only
        reads them leaves none.
        """
        return any(_TRACES.get(word) in changed for word in self._nodes[name].words)

    def takes_our_source(self, name: str) -> bool:
        """Whether Python's own loader loaded a module of the project; pytest's rewrites assertions, and asks nobody."""
        spec = getattr(self._modules[name], "__spec__", None)
        return isinstance(getattr(spec, "loader", None), importlib.machinery.SourceFileLoader)

    def is_outside(self, module: str) -> bool:
        """Whether a module that a source names is none of the project's, and so is not imported again."""
        return module not in self._nodes and not any(name.startswith(module + ".") for name in self._nodes)

    def path_of(self, name: str) -> str:
        """The resolved path of a module of the project."""
        return self._nodes[name].path

    def _read(self, name: str, module: types.ModuleType, node: _Node) -> None:
        is_package = hasattr(module, "__path__")
        package = name if is_package else module.__package__ or name.rpartition(".")[0]
        node.imports, _, node.words = imports_of(node.path, package)
        node.imports = {other for other in node.imports if other in self._nodes}
        node.imports |= self._held(name, module)

    def _held(self, name: str, module: types.ModuleType) -> set[str]:
        held = set()
        for attribute, value in list(vars(module).items()):
            origin = _origin(value)
            # a submodule is an attribute of its package because it was imported, by whomever
            if origin in self._nodes and origin != name and origin != f"{name}.{attribute}":
                held.add(origin)
        return held

    def _look_into(self, module: types.ModuleType, in_project: Callable[[str], bool]) -> None:
        name = getattr(module, "__name__", "")
        held = self._held(name, module)
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and origin.endswith(".py") and in_project(os.path.realpath(origin)):
            package = getattr(module, "__package__", None) or name.rpartition(".")[0]
            imports, attributes, _ = imports_of(os.path.realpath(origin), package)
            held |= {other for other in self._nodes if _takes(imports, attributes, other)}
        if held:
            self._outside.setdefault(name, set()).update(held)


def imports_of(path: str, package: str) -> tuple[set[str], set[str], set[str]]:
    """(names of modules that a file may import, attributes that it uses, all names in it), by its source."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return set(), set(), set()
    names: set[str] = set()
    attributes: set[str] = set()
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names.update(_prefixes(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node.level, node.module)
            names.update(_prefixes(base))
            names.update(f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            attributes.add(node.attr)
        elif isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            names.add(node.value)  # importlib.import_module("shop.pricing")
    return names, attributes, words | attributes | names


def _base(package: str, level: int, module: str | None) -> str:
    if not level:
        return module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - level + 1]
    return ".".join([*parts, *([module] if module else [])])


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _takes(imports: set[str], attributes: set[str], other: str) -> bool:
    """Whether a source with these imports imports ``other``, or a package above it and then says ``.other``."""
    above, _, last = other.rpartition(".")
    return other in imports or (last in attributes and bool(above) and not imports.isdisjoint(_prefixes(above)))


def _origin(value: Any) -> Any:
    """The name of the module that a value comes from, without running code of its own."""
    if isinstance(value, types.ModuleType):
        return vars(value).get("__name__")
    if isinstance(value, types.FunctionType):
        return value.__module__
    kind = value if isinstance(value, type) else type(value)
    module = vars(kind).get("__module__")
    return module if isinstance(module, str) else None


def loaded_modules() -> dict[str, types.ModuleType]:
    """The modules that are loaded now, in the order of loading."""
    return {name: module for name, module in list(sys.modules.items()) if isinstance(module, types.ModuleType)}
