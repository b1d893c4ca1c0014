"""Whether importing a module writes into what lies outside of the project, by its source.

Such a write survives when the module is dropped from ``sys.modules``: imported again, it finds its own old entry there,
and a mutant that lost or changed the entry goes unnoticed. Nobody can read this off exactly; what looks like a write is
taken for one, and costs a fresh interpreter.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Final

#: decorators, and calls whose value is kept, that write say so
_WRITING: Final = ("register", "connect", "listen", "receiver", "subscribe", "implement", "route", "hook", "handler")

#: discarded calls that leave nothing: they print, raise, or declare types
_HARMLESS: Final = frozenset(
    {"print", "isinstance", "issubclass", "len", "NamedTuple", "TypeVar", "warn", "super", "exit"}
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def writes_outward(path: str, outside: Callable[[str], bool]) -> str | None:
    """What the file writes when it is imported (its line, for people), or None; ``outside`` judges imported modules."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None
    found = _Finder(tree, outside).first()
    return None if found is None else f"line {found.lineno}"


class _Finder:
    def __init__(self, tree: ast.Module, outside: Callable[[str], bool]) -> None:
        self._body = tree.body
        self._outside = outside
        self._foreign: set[str] = set()  # names bound to what comes from outside, or from a call of it
        self._own: dict[str, _Function | ast.ClassDef] = {}
        self._seen: set[str] = set()

    def first(self) -> ast.stmt | None:
        """The first statement that writes, in the order of execution as far as the source tells."""
        return self._in(self._body)

    def _in(self, body: Iterable[ast.stmt]) -> ast.stmt | None:
        for statement in body:
            if self._writes(statement):
                return statement
            self._bind(statement)
            for suite in _suites(statement):
                found = self._in(suite)
                if found is not None:
                    return found
        return None

    def _bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                name = alias.asname or alias.name.partition(".")[0]
                module = statement.module or "" if isinstance(statement, ast.ImportFrom) else alias.name
                level = statement.level if isinstance(statement, ast.ImportFrom) else 0
                if not level and self._outside(module):
                    self._foreign.add(name)
        elif isinstance(statement, _Function | ast.ClassDef):
            self._own[statement.name] = statement
            self._foreign.discard(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    if self._is_foreign(statement.value):
                        self._foreign.add(target.id)
                    else:
                        self._foreign.discard(target.id)

    def _writes(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Call | ast.Await) and self._call_writes(statement.value)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = statement.targets if isinstance(statement, ast.Assign | ast.Delete) else [statement.target]
            value = getattr(statement, "value", None)
            return any(
                isinstance(target, ast.Attribute | ast.Subscript) and self._is_foreign(target) for target in targets
            ) or (isinstance(value, ast.Call) and self._says_so(value.func))
        if isinstance(statement, _Function | ast.ClassDef):
            return any(self._decorator_writes(decorator) for decorator in statement.decorator_list)
        return False

    def _call_writes(self, value: ast.expr) -> bool:
        call = value.value if isinstance(value, ast.Await) else value
        if not isinstance(call, ast.Call):
            return False
        if isinstance(call.func, ast.Name):
            name = call.func.id
            if name in self._own:
                return self._body_writes(name)
            return name in self._foreign and name not in _HARMLESS and not hasattr(builtins, name)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _HARMLESS:
            return False
        return self._is_foreign(call.func)

    def _body_writes(self, name: str) -> bool:
        """Whether a function of the file's own, called while it is imported, writes."""
        if name in self._seen:
            return False
        self._seen.add(name)
        own = self._own[name]
        return isinstance(own, _Function) and self._in(own.body) is not None

    def _decorator_writes(self, decorator: ast.expr) -> bool:
        return self._says_so(decorator.func if isinstance(decorator, ast.Call) else decorator)

    def _says_so(self, called: ast.expr) -> bool:
        """Whether what is called comes from outside and has a name that says that it writes."""
        words = _dotted(called)
        return self._is_foreign(called) and any(writing in words[-1].lower() for writing in _WRITING if words)

    def _is_foreign(self, value: ast.AST) -> bool:
        """Whether an expression leads to what comes from outside, by its leftmost name."""
        while True:
            if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred | ast.Await):
                value = value.value
            elif isinstance(value, ast.Call):
                value = value.func
            else:
                return isinstance(value, ast.Name) and value.id in self._foreign


def _never_imported(test: ast.expr) -> bool:
    """``if __name__ == "__main__"`` and ``if TYPE_CHECKING``."""
    words = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return words == {"__name__"} or "TYPE_CHECKING" in words


def _dotted(value: ast.AST) -> list[str]:
    if isinstance(value, ast.Attribute):
        return [*_dotted(value.value), value.attr]
    return [value.id] if isinstance(value, ast.Name) else []


def _suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Suites below a statement that run with it."""
    if isinstance(statement, _Function) or (isinstance(statement, ast.If) and _never_imported(statement.test)):
        return
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(statement, name, None)
        if isinstance(suite, list):
            yield suite
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body
