"""What coverage.py gives us: a C tracer with contexts, and a data file of the documented schema."""

from __future__ import annotations

import os
import runpy
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix.clean import tracing

SOURCE = """\
def first(n):
    return n or 5 + 1

def second(n):
    return [m for m in range(n)]
"""


@pytest.fixture(autouse=True)
def _not_under_coverage() -> None:
    import coverage

    if coverage.Coverage.current() is not None:
        pytest.skip("another Coverage is running here")


def run(target: Path, switch: Callable[[str], object]) -> None:
    """Executes a file, then its functions, each in a context."""
    switch("import")
    names = runpy.run_path(str(target))
    for context, name in (("t:0", "first"), ("t:1", "first"), ("t:2", "second")):
        switch(context)
        names[name](2)


def check(measured: tracing.Measured, target: Path) -> None:
    """Every test's own lines, also those that an earlier one had executed; and the entries of functions."""
    assert list(measured) == [os.path.realpath(target)]
    contexts = {name: set(arcs) for name, arcs in measured[os.path.realpath(target)].items()}
    assert contexts["t:0"] == contexts["t:1"]
    assert {abs(line) for arc in contexts["t:0"] for line in arc} == {1, 2}
    assert {abs(line) for arc in contexts["t:2"] for line in arc} == {4, 5}
    assert (-1, 2) in contexts["t:0"], "an arc from a negative line is the entry into a function"


@pytest.fixture(params=["plain.py", "odd [name]*?.py"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_text(SOURCE)
    return path


def test_arcs_by_context_in_the_data_file(target: Path, tmp_path: Path) -> None:
    cover = tracing.tracer([str(target)], tmp_path / "data")
    cover.start()
    run(target, cover.switch_context)
    collector: Any = cover._collector
    assert collector.tracer_name() == "CTracer"
    cover.stop()
    cover.save()
    check(tracing.read_contexts(tmp_path / "data"), target)


@pytest.mark.parametrize("with_file", [True, False])
def test_the_recorder_takes_the_same_from_the_collector(target: Path, tmp_path: Path, with_file: bool) -> None:
    recorder = tracing.Recorder([str(target)], tmp_path / "data" if with_file else None)
    recorder.start()
    run(target, recorder.switch)
    assert recorder._collector is not None
    check(recorder.stop(), target)


def test_the_schema(tmp_path: Path) -> None:
    cover = tracing.tracer([__file__], tmp_path / "data")
    cover.start()
    cover.stop()
    cover.get_data().add_arcs({__file__: [(1, 2)]})
    cover.save()
    connection = sqlite3.connect(tmp_path / "data")
    tables = {
        table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for table in ("arc", "file", "context")
    }
    connection.close()
    assert {"file_id", "context_id", "fromno", "tono"} <= tables["arc"]
    assert {"id", "path"} <= tables["file"]
    assert {"id", "context"} <= tables["context"]
