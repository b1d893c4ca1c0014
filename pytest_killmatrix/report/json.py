"""The JSON report, schema version 1: streamed, one test or mutant a line, replaced atomically."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from pytest_killmatrix import __version__
from pytest_killmatrix.analysis.sampling import Interval
from pytest_killmatrix.analysis.score import Ratio, Score
from pytest_killmatrix.model import Cause, RunInfo, Test
from pytest_killmatrix.report.cells import cell_object
from pytest_killmatrix.report.files import FORMATS, write_report
from pytest_killmatrix.report.why import why_object
from pytest_killmatrix.sharding import held
from pytest_killmatrix.store.harness import harness_runs
from pytest_killmatrix.store.reader import MutantRow, Reader

SCHEMA_VERSION = 1
PHASES = ("clean", "generate", "swap", "collection", "static", "confirm")
ROUTES = ("swap", "static", "collection", "subprocess")
JUDGING_SUITE = "new"


def write_json(reader: Reader, path: Path | str) -> None:
    """Write the run to ``path``; what was there stays until the new file is whole."""
    write_report(reader, Path(path), FORMATS["json"], "--kill-matrix-json")


def json_chunks(reader: Reader) -> Iterator[str]:
    """The document in pieces; memory is bounded by one mutant."""
    tests = reader.tests()
    names = [test.nodeid for test in tests]
    yield from _head()
    yield f'"run": {_dump(run_object(reader.info))},\n'
    yield from _list("tests", (test_object(test) for test in tests))
    causes = reader.causes()
    yield from _list("mutants", (mutant_object(row, names, causes.get(row.index)) for row in reader.mutants()))
    yield f'"score": {_dump(score_object(reader.score()))},\n'
    yield f'"variants": {_dump(variants_object(reader))},\n'
    yield from _harness(reader.path)
    yield f'"delta": {_dump(reader.info.delta)}\n}}\n'


def harness_json_chunks(path: Path) -> Iterator[str]:
    """The document on a sidecar that has harness runs only: the same keys, with nothing of code."""
    yield from _head()
    yield '"run": null,\n"tests": [],\n"mutants": [],\n"score": null,\n"variants": null,\n'
    yield from _harness(path)
    yield '"delta": null\n}\n'


def _head() -> Iterator[str]:
    yield "{\n"
    yield f'"schema_version": {SCHEMA_VERSION},\n'
    yield f'"tool": {_dump({"name": "pytest-killmatrix", "version": __version__})},\n'


def _harness(path: Path) -> Iterator[str]:
    return _list("harness", (run.as_dict() for run in harness_runs(path)))


def variants_object(reader: Reader) -> dict[str, object] | None:
    """The authored variants of a run, or None where it judged none."""
    if not reader.has_variants():
        return None
    from pytest_killmatrix.oracle.jsonable import audit_object  # heavy, and most runs have none
    from pytest_killmatrix.oracle.reporting import report_of

    audit = report_of(reader)
    return None if audit is None else audit_object(audit)


def run_object(info: RunInfo) -> dict[str, object]:
    cpu = dict.fromkeys(PHASES, 0.0) | info.cpu
    total = cpu.pop("total", None)
    return {
        "id": info.id,
        "started": info.started,
        "seconds": info.seconds,
        "commit": info.commit,
        "dirty": info.dirty,
        "baseline": info.baseline,
        "scope": info.scope,
        "python": info.python,
        "platform": info.platform,
        "hash_seed": info.hash_seed,
        "complete": info.complete,
        "population": info.population,
        "sample": info.sample,
        "shard": _shard(info),
        "options": info.options,
        "cpu": {**cpu, "total": sum(cpu.values()) if total is None else total},
        "controls": {
            "noop_kills": info.noop_kills,
            "routes": dict.fromkeys(ROUTES, "not exercised") | info.routes,
        },
    }


def _shard(info: RunInfo) -> dict[str, object] | None:
    if info.shard is None:
        return None
    parts = info.shard.get("parts")
    runs = [info.id] if parts is None else [part["run"] for part in parts]
    return {"indexes": held(info.shard), "count": info.shard["count"], "runs": runs}


def test_object(test: Test) -> dict[str, object]:
    return {
        "nodeid": test.nodeid,
        "suite": list(test.suite),
        "change": test.change,
        "clean": test.clean.value,
        "seconds": test.seconds,
        "excluded": None if test.excluded is None else test.excluded.value,
        "parallel_safe": test.parallel_safe,
    }


def mutant_object(row: MutantRow, names: list[str], cause: Cause | None = None) -> dict[str, object]:
    mutant = row.mutant
    killers = (names[cell.test] for cell in row.cells if cell.outcome.kills and cell.suite == JUDGING_SUITE)
    return {
        "key": mutant.key,
        "path": mutant.path,
        "line": mutant.line,
        "column": mutant.column,
        "end_line": mutant.end_line,
        "end_column": mutant.end_column,
        "definition": mutant.definition,
        "operator": mutant.operator,
        "original": mutant.original,
        "replacement": mutant.replacement,
        "static": mutant.static,
        "string_only": mutant.string_only,
        "duplicate_of": mutant.duplicate_of,
        "status": row.status.value,
        "reason": row.reason,
        "why": why_object(cause),
        "reached_by": _unique(names[test] for test in row.reached_by),
        "killed_by": _unique(killers),
        "cells": [cell_object(cell, names) for cell in row.cells],
    }


def score_object(score: Score) -> dict[str, object]:
    return {
        "reference_set": score.reference_set,
        "reached": list(score.reached),
        "assertion": _ratio(score.assertion, score.intervals.get("assertion")),
        "detection": _ratio(score.detection, score.intervals.get("detection")),
        "counts": score.counts,
    }


def _ratio(ratio: Ratio, interval: Interval | None) -> dict[str, object]:
    return {
        "numerator": ratio.numerator,
        "denominator": ratio.denominator,
        "value": ratio.value,
        "interval": None if interval is None else asdict(interval),
    }


def _unique(names: Iterable[str]) -> list[str]:
    # A test that changed is two entries with one node id.
    return list(dict.fromkeys(names))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _list(name: str, items: Iterable[dict[str, object]]) -> Iterator[str]:
    yield f'"{name}": ['
    separator = "\n"
    for item in items:
        yield separator + _dump(item)
        separator = ",\n"
    yield "\n],\n" if separator == ",\n" else "],\n"
