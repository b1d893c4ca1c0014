"""The fresh interpreter: the same suite once more, under another hash seed, with reach measured from the first import.

``python -c "from pytest_killmatrix.clean.fresh import main; main()" DIRECTORY`` with a pickled ``FreshSpec`` in it.
"""

from __future__ import annotations

import itertools
import os
import pickle
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix.activation import interpreter
from pytest_killmatrix.child.hygiene import settle_hypothesis
from pytest_killmatrix.child.private import Private
from pytest_killmatrix.child.recollect import Identity
from pytest_killmatrix.options import OBSERVED
from pytest_killmatrix.rewritten import Rewritten


@dataclass(slots=True)
class FreshSpec:
    """What to run: pytest's arguments, the items by identity and by node id, the files that are measured (absolute)."""

    sys_path: list[str]
    arguments: list[str]
    order: list[Identity]
    names: list[str]
    files: list[str]
    directory: str
    run_tests: bool


@dataclass(slots=True)
class FreshResult:
    """What was seen: by item index the outcome, by file and context the arcs, and pytest's exit status.

    The arcs of a big suite are millions: ``reach`` has them as plain numbers, ``arcs()`` as pairs.
    """

    exit_status: int
    outcomes: dict[int, Any]
    reach: dict[str, dict[str, array[int]]]
    error: str | None = None

    def arcs(self) -> Iterator[tuple[str, str, Iterator[tuple[int, int]]]]:
        """File, context, arcs."""
        for path, contexts in self.reach.items():
            for context, numbers in contexts.items():
                yield path, context, zip(numbers[::2], numbers[1::2], strict=True)


def flat(arcs: Iterable[tuple[int, int]]) -> array[int]:
    """Both ends of each arc, one after the other."""
    return array("i", itertools.chain.from_iterable(arcs))


class _Private(Private):
    """Watches the fresh run, and gives it a place for temporary files."""

    def __init__(self, directory: Path, observer: Any, run_tests: bool) -> None:
        self._directory = directory
        self._run_tests = run_tests
        self._observer = observer

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        early_config.pluginmanager.register(self._observer, OBSERVED)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        super().pytest_configure(config)
        config.option.basetemp = str(self._directory / "fresh-base")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool | None:
        return None if self._run_tests else True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        settle_hypothesis(session.items)


def main() -> None:
    """Entry point of the fresh interpreter."""
    directory = Path(sys.argv[1])
    spec: FreshSpec = pickle.loads((directory / "fresh-spec").read_bytes())
    from pytest_killmatrix.clean.tracing import Recorder

    recorder = Recorder(spec.files, directory / "fresh-reach")
    recorder.follow_forks(directory)
    sys.path[:] = spec.sys_path
    Rewritten.load(directory).install()
    from pytest_killmatrix.clean.observer import CONTEXT, FILES, IMPORT, Observer, source_loaders

    def switch(context: str) -> None:
        recorder.switch(context)
        (directory / CONTEXT).write_text(context, encoding="utf-8")

    observer = Observer(spec.order, spec.names, switch)
    recorder.start()
    switch(IMPORT)
    interpreter.announce(interpreter.reach(str(directory / FILES), str(directory), None))
    observer.watch_imports(source_loaders())
    sys.argv = ["pytest", *spec.arguments]
    try:
        status = int(pytest.main(spec.arguments, plugins=[_Private(directory, observer, spec.run_tests)]))
    finally:
        reach = recorder.stop()
    numbers = {item.nodeid: index for index, item in observer.items}
    outcomes = {numbers[name]: seen for name, seen in observer.outcomes.observed.items() if name in numbers}
    reached = {path: {name: flat(arcs) for name, arcs in contexts.items()} for path, contexts in reach.items()}
    result = FreshResult(status, outcomes, reached)
    (directory / "fresh-result").write_bytes(pickle.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # what tests left behind (threads, exit handlers) must not decide how this ends
