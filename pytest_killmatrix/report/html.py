"""The report as one HTML page that needs no network: its program and style are in ``page/``, its data are packed."""

from __future__ import annotations

import base64
import html
import importlib.resources
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix import __version__
from pytest_killmatrix.model import Cause, Status, Test
from pytest_killmatrix.reading.delta import delta_of
from pytest_killmatrix.report.delta import headline, scores
from pytest_killmatrix.report.errors import BEGINNINGS
from pytest_killmatrix.report.extent import reference_notes, unfinished
from pytest_killmatrix.report.harness import page_object
from pytest_killmatrix.report.json import run_object, score_object
from pytest_killmatrix.report.packed import packed_cells
from pytest_killmatrix.report.why import TITLES, need, reason, samples
from pytest_killmatrix.store.harness import harness_runs
from pytest_killmatrix.store.reader import MutantRow, Reader

_SCRIPTS: Final = ("basics.js", "data.js", "views.js", "source.js", "matrix.js", "harness.js", "main.js")
_RUNS: Final = 20
_LINE: Final = 76  # characters of packed data a line, so that editors survive the file
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def html_chunks(reader: Reader) -> Iterator[str]:
    """The page in pieces."""
    cells, strings = packed_cells(reader)
    title = _title(reader.path)
    yield from _page(title, _facts(reader, title, strings), cells)


def harness_html_chunks(path: Path) -> Iterator[str]:
    """The page on a sidecar that has harness runs only."""
    title = _title(path)
    facts = {
        "title": title,
        "run": None,
        "paths": [],
        "sources": [],
        "tests": _tests([]),
        "mutants": _columns([], []),
        "delta": None,
        "harness": _harness(path),
    }
    yield from _page(title, facts, b"")


def _title(path: Path) -> str:
    return f"Kill matrix of {path.absolute().parent.name}"


def _page(title: str, facts: dict[str, Any], cells: bytes) -> Iterator[str]:
    yield f"{BEGINNINGS['html']} {__version__} -->\n"
    yield f'<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="color-scheme" content="light dark">\n'
    yield f"<style>\n{_part('page.css')}</style>\n</head>\n<body>\n{_part('body.html')}"
    yield from _data("data", json.dumps(facts, default=str).encode())
    yield from _data("cells", cells)
    for name in _SCRIPTS:
        yield f"<script>\n{_part(name)}</script>\n"
    yield "</body>\n</html>\n"


def _part(name: str) -> str:
    return (importlib.resources.files("pytest_killmatrix.report") / "page" / name).read_text(encoding="utf-8")


def _data(name: str, data: bytes) -> Iterator[str]:
    """Deflated and in base 64: nothing in it can end the element."""
    text = base64.b64encode(zlib.compress(data, 6)).decode()
    yield f'<script type="text/plain" id="{name}">\n'
    for start in range(0, len(text), _LINE):
        yield text[start : start + _LINE] + "\n"
    yield "</script>\n"


def _facts(reader: Reader, title: str, strings: list[str]) -> dict[str, Any]:
    causes = reader.causes()
    rows = list(reader.mutants(cells=False, reach=False))
    paths = sorted({row.mutant.path for row in rows})
    delta = delta_of(reader)
    return {
        "title": title,
        "number": reader.run,
        "version": __version__,
        "run": run_object(reader.info),
        "notes": [*reference_notes(reader.info), *reader.info.notes],
        "unfinished": None if reader.info.complete else unfinished(reader.info),
        "history": _history(reader),
        "score": score_object(reader.score()),
        "paths": paths,
        "sources": [reader.text_of(path) for path in paths],
        "strings": strings,
        "tests": _tests(reader.tests()),
        "statuses": [status.value for status in Status],
        "mutants": _columns(rows, paths),
        "why": {str(row.index): _why(row, causes.get(row.index), reader) for row in rows if _alive(row)},
        "delta": delta,
        "delta_words": None if delta is None else [headline(delta), scores(delta)],
        "harness": _harness(reader.path),
    }


def _harness(path: Path) -> list[dict[str, Any]]:
    return [page_object(run) for run in harness_runs(path)]


def _tests(tests: Sequence[Test]) -> dict[str, list[Any]]:
    return {
        "id": [test.nodeid for test in tests],
        "seconds": [round(test.seconds, 6) for test in tests],
        "clean": [test.clean.value for test in tests],
        "excluded": [None if test.excluded is None else test.excluded.value for test in tests],
        "suite": ["+".join(test.suite) for test in tests],
        "change": [test.change for test in tests],
    }


def _history(reader: Reader) -> list[dict[str, Any]]:
    """The newest runs of the sidecar, oldest first, with their ratios."""
    found = []
    for number, info in reader.runs()[-_RUNS:]:
        with Reader(reader.path, number) as one:
            score = one.score()
        found.append({
            "run": number,
            "started": info.started,
            "commit": (info.commit or "")[:10] + (" with changes" if info.dirty else ""),
            "complete": info.complete,
            "mutants": score.mutants,
            "assertion": list(score.assertion),
            "detection": list(score.detection),
        })  # fmt: skip
    return found


def _columns(rows: list[MutantRow], paths: list[str]) -> dict[str, list[Any]]:
    """A list for each attribute: packs better than an object for each mutant."""
    place = {path: number for number, path in enumerate(paths)}
    statuses = {status: number for number, status in enumerate(Status)}
    return {
        "key": [row.mutant.key for row in rows],
        "path": [place[row.mutant.path] for row in rows],
        "line": [row.mutant.line for row in rows],
        "column": [row.mutant.column for row in rows],
        "end_line": [row.mutant.end_line for row in rows],
        "end_column": [row.mutant.end_column for row in rows],
        "definition": [row.mutant.definition for row in rows],
        "operator": [row.mutant.operator for row in rows],
        "original": [row.mutant.original for row in rows],
        "replacement": [row.mutant.replacement for row in rows],
        "status": [statuses[row.status] for row in rows],
        "reason": [row.reason for row in rows],
        "static": [int(row.mutant.static) for row in rows],
        "string_only": [int(row.mutant.string_only) for row in rows],
        "duplicate_of": [row.mutant.duplicate_of for row in rows],
    }


def _alive(row: MutantRow) -> bool:
    return row.status in (Status.SURVIVED, Status.NO_COVERAGE, Status.SILENCED, Status.NO_USABLE_TEST)


def _why(row: MutantRow, cause: Cause | None, reader: Reader) -> dict[str, Any]:
    tests = len(reader.reached_by(row.index))
    words: dict[str, Any] = {"need": need(row.mutant, row.status, cause, tests, row.reason), "reached": tests}
    if cause is not None:
        words |= {"kind": cause.kind.value, "title": TITLES[cause.kind]}
        words |= {"reason": reason(cause), "samples": samples(cause)}
    return words
