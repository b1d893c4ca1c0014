"""Made-up runs for the tests of store and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_killmatrix.model import Cell, Clean, Excluded, Mutant, Outcome, Phase, RunInfo, Status, Test
from pytest_killmatrix.store.writer import Sidecar

FINGERPRINT = "f" * 40


def make_info(**changes: Any) -> RunInfo:
    values: dict[str, Any] = {
        "id": "2b7e1f",
        "started": "2026-11-30T12:00:00+00:00",
        "python": "3.11.7",
        "platform": "linux",
        "hash_seed": 0,
        "fingerprint": FINGERPRINT,
    }
    return RunInfo(**{**values, **changes})


def make_mutant(number: int = 0, **changes: Any) -> Mutant:
    line = changes.pop("line", 10 + number)
    path = changes.pop("path", "src/words.py")
    values: dict[str, Any] = {
        "key": f"{path}::f::swap_op::{number:010x}",
        "path": path,
        "line": line,
        "column": 4,
        "end_line": line,
        "end_column": 9,
        "definition": "f",
        "operator": "swap_op",
        "original": "a + b",
        "replacement": "a - b",
        "start": 100,
        "end": 105,
        "static": False,
        "string_only": False,
        "first_line": line,
        "last_line": line,
    }
    return Mutant(**{**values, **changes})


def assertion(mutant: int, test: int, **changes: Any) -> Cell:
    values: dict[str, Any] = {
        "outcome": Outcome.ASSERTION,
        "phase": Phase.CALL,
        "exception": "AssertionError",
        "message": "assert 1 == 2",
        "raised_at": "tests/test_words.py:7",
        "seconds": 0.001,
    }
    return Cell(mutant, test, **{**values, **changes})


class Plot:
    """Collects mutants with their statuses, then writes a whole run."""

    def __init__(self, tests: int) -> None:
        self.tests = [
            Test(f"tests/test_words.py::test_{index}", "tests/test_words.py", seconds=0.001) for index in range(tests)
        ]
        self.mutants: list[Mutant] = []
        self.verdicts: list[tuple[Status, str | None, range]] = []

    def add(self, status: Status, *, reach: int = 3, reason: str | None = None, times: int = 1, **changes: Any) -> None:
        for _ in range(times):
            self.mutants.append(make_mutant(len(self.mutants), **changes))
            self.verdicts.append((status, reason, range(reach)))

    def write(self, path: Path, info: RunInfo, *, finish: bool = True) -> Path:
        outcomes = {
            Status.KILLED: Outcome.ASSERTION,
            Status.CRASHED: Outcome.EXCEPTION,
            Status.TIMEOUT: Outcome.TIMEOUT,
            Status.SURVIVED: Outcome.PASSED,
            Status.SILENCED: Outcome.SKIPPED,
        }
        with Sidecar.open(path) as sidecar:
            run = sidecar.begin_run(info)
            sidecar.add_tests(run, self.tests)
            sidecar.add_mutants(run, self.mutants)
            for index, (status, reason, reach) in enumerate(self.verdicts):
                sidecar.add_reach(run, index, reach)
                if status in outcomes:
                    for test in reach:
                        sidecar.add_cell(run, Cell(index, test, outcomes[status], seconds=0.001))
                sidecar.set_status(run, index, status, reason)
            if finish:
                sidecar.finish_run(run, info)
            else:
                sidecar.update_run(run, info)
        return path


def realistic(path: Path) -> Path:
    """A run as a small package with an honest, imperfect suite would give."""
    plot = Plot(tests=57)
    plot.tests[12].excluded, plot.tests[12].clean = Excluded.FAILED, Clean.FAILED
    plot.tests[30].excluded = Excluded.FLAKY
    plot.tests[41].parallel_safe = False
    plot.add(Status.KILLED, times=237)
    plot.add(Status.CRASHED, times=30, path="src/words.py")
    plot.add(Status.CRASHED, times=19, path="src/tables.py")
    for line, original, replacement, operator, reach in (
        (14, "return word[:-1] + 's'", "return word[:+1] + 's'", "swap_op", 3),
        (27, "len(word) > 3", "len(word) >= 3", "boundary", 14),
        (31, "count == 1", "count != 1", "negate", 14),
        (48, "cache.clear()", "pass", "delete_statement", 1),
    ):
        plot.add(Status.SURVIVED, reach=reach, line=line, original=original, replacement=replacement, operator=operator)
    for line, original, replacement, operator, reach in (
        (9, "width = max(len(cell) for cell in column)", "width = None", "assignment", 22),
        (
            22,
            "if row.strip() and not row.startswith(comment) and len(row.split(separator)) > 1:",
            "if row.strip() and not row.startswith(comment) or len(row.split(separator)) > 1:",
            "swap_boolean",
            22,
        ),
        (40, "return cell.ljust(width, fill)", "return cell.ljust(width, )", "argument_removal", 9),
        (103, "'é'.encode('utf-8')", "'é'.encode('UTF-8')", "string", 2),
    ):
        plot.add(
            Status.SURVIVED,
            reach=reach,
            line=line,
            original=original,
            replacement=replacement,
            operator=operator,
            path="src/tables.py",
        )
    plot.add(
        Status.SURVIVED, times=8, string_only=True, original='"width"', replacement='"XXwidthXX"', operator="string"
    )
    plot.add(Status.TIMEOUT, line=61, original="i += 1", replacement="i -= 1", reach=5, times=2)
    plot.add(Status.NO_COVERAGE, reach=0, definition="Table.__repr__", times=5, path="src/tables.py")
    plot.add(Status.NO_COVERAGE, reach=0, definition="main", times=3, path="src/words.py")
    plot.add(Status.NO_USABLE_TEST, reach=1, line=77, original="x or y", replacement="x and y")
    plot.add(Status.PENDING, times=20, reason="held by shop, which cannot be imported again", static=True)
    plot.add(Status.PENDING, times=2, reason="free variables differ")
    plot.add(Status.EQUIVALENT, times=3)
    plot.add(Status.DUPLICATE, times=2)
    info = make_info(
        seconds=12.4,
        cpu={"clean": 3.1, "generate": 1.2, "swap": 6.6, "collection": 0.4, "confirm": 1.5, "total": 12.8},
        routes={"swap": "ok", "collection": "ok"},
        population=len(plot.mutants),
        notes=["1 file of the project changed during the run: src/words.py; its mutants may be stale, run again"],
    )
    return plot.write(path, info)
