"""How code that runs at import is judged, file by file: what to import again, which tests meet such a mutant."""

from __future__ import annotations

import os
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_killmatrix.child import renewing
from pytest_killmatrix.importers import ImportGraph, Reload
from pytest_killmatrix.model import Test
from pytest_killmatrix.options import SUBPROCESS
from pytest_killmatrix.outward import writes_outward
from pytest_killmatrix.plan import StaticWay
from pytest_killmatrix.prepared import Prepared, is_python_test
from pytest_killmatrix.reach import ReachMap


class StaticWays:
    """One ``StaticWay`` a file; the import graph behind them is made once, when it is first needed."""

    def __init__(self, prepared: Prepared, mode: str) -> None:
        """``mode`` is the value of ``--kill-matrix-static``."""
        self._prepared = prepared
        self._mode = mode
        self._fresh = prepared.settings.executor == SUBPROCESS
        self._places = {item.nodeid.split("::", 1)[0]: "" for item in prepared.items}
        self._test_files: set[str] = set()
        for item in prepared.items if mode != "skip" else ():
            file = item.nodeid.split("::", 1)[0]
            if not self._places[file]:
                self._places[file] = os.path.realpath(item.path)
            if is_python_test(item):
                self._test_files.add(self._places[file])
        self._graph: ImportGraph | None = None
        self._outward: dict[str, bool] = {}  # by path

    def way(
        self,
        path: str,
        tests: Sequence[Test],
        file_tests: Mapping[str, Sequence[int]],
        reach: ReachMap,
        refusals: Mapping[str, int],
    ) -> StaticWay:
        """The way for the file at ``path`` (resolved): in a child of the zygote, else in a fresh interpreter.

        ``refusals`` says how many of these ways the controls have found to change what tests say.
        """
        if self._mode == "skip" and not self._fresh:
            return StaticWay(Reload((), (), frozenset(), ()), (), (), skip=True)
        reload = self._imports().reload(path)
        ours = all(self._imports().takes_our_source(name) for name in reload.own)
        live = self._fresh and ours and not refusals.get(path, 0)
        if self._mode == "skip":
            return StaticWay(reload, (), (), skip=True, anew=True, live=live)
        # a conftest's fixtures and hooks are for whole directories
        renew = not reload.files.isdisjoint(self._imports().conftests.values())
        recollect = tuple(sorted(name for name, place in self._places.items() if renew or place in reload.files))
        modules = tuple(
            name
            for name in reload.modules
            if (place := self._imports().path_of(name)) == path or place not in self._test_files
        )
        everyone: Sequence[int] = range(len(tests))
        if self._mode == "reach":
            everyone = sorted({test for file in recollect for test in file_tests.get(file, ())} & reach.tests_of(path))
        obstacle = None if reload.own else "no module of this project: a pytest plugin, or loaded in another way"
        if not ours:
            obstacle = "its module is loaded by another loader than Python's own"
        again = (*modules, *(self._imports().conftests if renew else ()))
        loose = any(
            self._imports().leaves_traces(name, self._prepared.changed)
            or self._writes_outward(self._imports().path_of(name))
            for name in again
        )
        step = (1 if reload.holders or loose or self._fresh else 0) + refusals.get(path, 0)
        if step > 1:
            obstacle = "its tests differ in a fresh interpreter too"
        return StaticWay(
            replace(reload, modules=modules),
            recollect,
            everyone,
            obstacle,
            renew=renew and step == 0,
            anew=step == 1,
            live=live,
        )

    def _writes_outward(self, path: str) -> bool:
        if path not in self._outward:
            self._outward[path] = writes_outward(path, self._imports().is_outside) is not None
        return self._outward[path]

    def _imports(self) -> ImportGraph:
        if self._graph is None:
            root = os.path.realpath(self._prepared.config.rootpath)
            targets = {str(path) for path in self._prepared.targets.files.values()}

            def in_project(path: str) -> bool:
                inside = path.startswith(root + os.sep) and "site-packages" not in Path(path).parts
                return inside or path in targets

            config = self._prepared.config
            again = renewing.conftests(config) if renewing.obstacle(config) is None else []
            plugins = [
                plugin
                for plugin in config.pluginmanager.get_plugins()
                if isinstance(plugin, types.ModuleType) and plugin not in again
            ]
            self._graph = ImportGraph(self._prepared.modules, in_project, plugins, again)
        return self._graph
