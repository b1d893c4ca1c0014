"""Which lines and which function entries were executed, by context: coverage.py's C tracer, through its public API.

The sys.monitoring core records only the first test that executes a line, so it is never used.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import coverage

#: file, context, arcs; an arc from a negative line is the entry into the function that starts there
Arcs = list[tuple[int, int]]
Measured = dict[str, dict[str, Arcs]]


def tracer(files: Sequence[str], data_file: Path | None) -> coverage.Coverage:
    """A Coverage over exactly these files, deaf to the user's configuration."""
    cover = coverage.Coverage(
        data_file=str(data_file) if data_file is not None else None,
        config_file=False,
        branch=True,
        include=[_literal(name) for name in files],
        messages=False,
        check_preimported=False,
    )
    cover.set_option("run:core", "ctrace")
    cover.set_option("run:disable_warnings", ["no-data-collected", "module-not-measured", "already-imported"])
    return cover


def warm(measured: frozenset[str]) -> None:
    """Let a started tracer decide about every loaded file now, or each forked child decides anew (3 ms a child)."""
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and name.endswith(".py") and os.path.realpath(name) not in measured:
            exec(compile("", name, "exec"), {})


class Recorder:
    """Arcs by file and context, of everything between ``start`` and ``stop``.

    Taken from the tracer's collector where that can be had: the way through coverage.py's SQLite data costs a forked
    child 4 ms more, and a suite 1 ms a test. Where it cannot, that way it is.
    """

    def __init__(self, files: Sequence[str], data_file: Path | None) -> None:
        self._cover = tracer(files, data_file)
        self._files = frozenset(files)
        self._data_file = data_file
        self._taken = _Taken()
        self._collector: Any = None
        self._running = False
        self._forks: Path | None = None

    def start(self, context: str = "") -> None:
        """Begin, in a context."""
        self._taken.set_context(context)
        self._running = True
        self._cover.start()
        collector: Any = getattr(self._cover, "_collector", None)
        if all(hasattr(collector, name) for name in ("covdata", "flush_data")):
            self._collector = collector
            collector.covdata = self._taken

    def switch(self, context: str) -> None:
        """What is executed from now on belongs to this context."""
        self._cover.switch_context(context)

    def warm(self) -> None:
        """Start and stop, so that children forked later start with everything decided."""
        self.start()
        warm(self._files)
        self._cover.stop()
        self._running = False

    def stop(self) -> Measured:
        """End; what was executed."""
        self._cover.stop()
        self._running = False
        if self._collector is not None:
            self._collector.flush_data()
            return self._taken.measured
        if self._data_file is not None:
            self._cover.save()
            return read_contexts(self._data_file)
        data = self._cover.get_data()
        return {name: {"": list(data.arcs(name) or ())} for name in sorted(data.measured_files())}

    def follow_forks(self, directory: Path) -> None:
        """What processes execute that a test forks is written to ``directory`` when they leave (``read_forks``)."""
        self._forks = directory
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        if not self._running or self._collector is None:
            return
        self._collector.flush_data()
        self._taken.measured = {}  # all that was the parent's
        leave = os._exit

        def save_and_leave(status: int) -> NoReturn:
            self._save()
            leave(status)

        def save_and_die(number: int, _: object) -> None:
            self._save()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        os._exit = save_and_leave  # how multiprocessing's workers, and most forked children, end
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, save_and_die)  # how a pool ends its workers

    def _save(self) -> None:
        self._running = False
        self._cover.stop()
        self._collector.flush_data()
        if self._forks is not None and self._taken.measured:
            path = self._forks / f"fork-{os.getpid()}"
            path.with_suffix(".part").write_bytes(pickle.dumps(self._taken.measured))
            path.with_suffix(".part").rename(path)


class _Taken:
    """Stands in for coverage.py's data while a collector hands over what it has."""

    def __init__(self) -> None:
        self.measured: Measured = {}
        self._context = ""

    def set_context(self, context: str | None) -> None:
        self._context = context or ""

    def add_arcs(self, arcs: Mapping[str, Iterable[tuple[int, int]]]) -> None:
        for name, pairs in arcs.items():
            self.measured.setdefault(name, {}).setdefault(self._context, []).extend(pairs)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def read_contexts(data_file: Path) -> Measured:
    """Every arc by file and context, in one pass over the data file (coverage.py documents this schema)."""
    measured: Measured = {}
    with sqlite3.connect(data_file) as connection:
        rows = connection.execute(
            "SELECT file.path, context.context, arc.fromno, arc.tono FROM arc "
            "JOIN file ON file.id = arc.file_id JOIN context ON context.id = arc.context_id"
        )
        for path, context, start, end in rows:
            measured.setdefault(path, {}).setdefault(context, []).append((start, end))
    connection.close()
    return measured


def read_forks(directory: Path) -> Measured:
    """What processes that tests forked executed (``Recorder.follow_forks``)."""
    measured: Measured = {}
    for path in sorted(directory.glob("fork-*")):
        if not path.suffix:
            _merge(measured, pickle.loads(path.read_bytes()))
    return measured


def _merge(into: Measured, more: Measured) -> None:
    for path, contexts in more.items():
        for context, arcs in contexts.items():
            into.setdefault(path, {}).setdefault(context, []).extend(arcs)


def read_children(directory: Path) -> Measured:
    """What child interpreters of tests executed; their data files lie in ``directory`` (``activation.interpreter``)."""
    measured: Measured = {}
    for data_file in sorted(directory.glob("child.*")):
        with contextlib.suppress(sqlite3.Error):  # one that was killed while it wrote
            _merge(measured, read_contexts(data_file))
    return measured


def _literal(name: str) -> str:
    """coverage.py takes patterns and knows no escape: a neighbour may be measured besides, which does no harm."""
    return "".join("?" if char in "*?[]" else char for char in name)
