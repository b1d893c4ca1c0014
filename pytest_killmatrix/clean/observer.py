"""The plugin of the fresh interpreter: runs the same items in the same order, notes outcomes and who executed what.

Contexts: ``t:N`` while item N runs, ``c:FILE`` while that test file is collected, ``end`` after the last test; anything
else (imports, conftests, hooks between tests) is code that no single test accounts for.
"""

from __future__ import annotations

import importlib.machinery
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from pytest_killmatrix.child.recollect import Identity, pair
from pytest_killmatrix.clean.outcomes import OutcomeLog

IMPORT, SESSION, END = "import", "session", "end"
TEST, ALONE, FILE = "t:", "a:", "c:"  # what contexts begin with
#: in the run's temporary directory: the list of measured files, and the context that child interpreters start in
FILES, CONTEXT = "files", "context"


def test_context(index: int) -> str:
    """The context of item ``index``."""
    return f"{TEST}{index}"


def alone_context(index: int) -> str:
    """Beside ``test_context``: item ``index`` when it runs alone."""
    return f"{ALONE}{index}"


def file_context(path: str) -> str:
    """The context of collecting the test file ``path`` (relative to rootdir)."""
    return f"{FILE}{path}"


class Observer:
    """Imposes the parent's selection and order, switches contexts, and logs outcomes."""

    def __init__(self, order: Sequence[Identity], names: Sequence[str], switch: Callable[[str], None]) -> None:
        """``order`` and ``names`` are the parent's items; ``switch`` is told of every change of context."""
        self._order = order
        self._names = names
        self._switch = switch
        self._context = IMPORT
        self._collecting: str | None = None
        self.outcomes = OutcomeLog()
        self.items: list[tuple[int, pytest.Item]] = []

    def enter(self, context: str) -> str:
        """Switch to a context; the one before is returned."""
        before, self._context = self._context, context
        if before != context:
            self._switch(context)
        return before

    def watch_imports(self, loaders: Sequence[Any]) -> None:
        """Code that runs because a module is being imported belongs to no test file, unless it is that file itself."""
        for loader in loaders:
            self._watch(loader)

    def _watch(self, loader: Any) -> None:
        original = loader.exec_module

        def exec_module(this: Any, module: Any) -> Any:
            origin = getattr(getattr(module, "__spec__", None), "origin", None)
            if self._context.startswith("t:") or (origin is not None and origin == self._collecting):
                return original(this, module)
            before = self.enter(IMPORT)
            try:
                return original(this, module)
            finally:
                self.enter(before)

        loader.exec_module = exec_module

    # -- hooks -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        file = collector.getparent(pytest.File)  # type: ignore[type-abstract]
        if file is None or isinstance(file, pytest.Package):
            before, collecting = self.enter(SESSION), None
        else:
            before, collecting = self.enter(file_context(file.nodeid)), str(file.path)
        outer, self._collecting = self._collecting, collecting
        try:
            return (yield)
        finally:
            self._collecting = outer
            self.enter(before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, Any, Any]:
        self.enter(SESSION)
        result = yield
        found = pair(self._order, self._names, items)
        self.items = [(index, found[name]) for index, name in enumerate(self._order) if name in found]
        items[:] = [item for _, item in self.items]
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        self._numbers = {id(item): index for index, item in self.items}
        result = yield
        self.enter(END)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        number = self._numbers.get(id(item))
        if number is not None:
            self.enter(test_context(number))
        try:
            return (yield)
        finally:
            self.enter(SESSION)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes.add(report)


def source_loaders() -> list[Any]:
    """The loader classes whose ``exec_module`` runs a module's code."""
    from _pytest.assertion.rewrite import AssertionRewritingHook

    return [importlib.machinery.SourceFileLoader, AssertionRewritingHook]
