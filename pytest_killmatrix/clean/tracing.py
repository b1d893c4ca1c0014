"""Which lines and which function entries were executed, by context: coverage.py's C tracer, through its public API.

The sys.monitoring core records only the first test that executes a line, so it is never used.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

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


def arcs_now(cover: coverage.Coverage) -> list[tuple[str, Arcs]]:
    """What a stopped Coverage saw, without contexts."""
    data = cover.get_data()
    return [(name, list(data.arcs(name) or ())) for name in sorted(data.measured_files())]


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


def read_children(directory: Path) -> Measured:
    """What child interpreters of tests executed; their data files lie in ``directory`` (``activation.interpreter``)."""
    measured: Measured = {}
    for data_file in sorted(directory.glob("child.*")):
        with contextlib.suppress(sqlite3.Error):  # one that was killed while it wrote
            for path, contexts in read_contexts(data_file).items():
                for context, arcs in contexts.items():
                    measured.setdefault(path, {}).setdefault(context, []).extend(arcs)
    return measured


def _literal(name: str) -> str:
    """coverage.py takes patterns; a file name with a glob character must mean itself."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
