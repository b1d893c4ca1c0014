"""The projection of a run that is planned: rows of its plan, costs of its clean run, and the sidecar's history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pytest_killmatrix.analysis.projection import Costs, Earlier, Projection, Row, project
from pytest_killmatrix.executor.pool import Pool
from pytest_killmatrix.executor.protocol import Task
from pytest_killmatrix.model import Mutant, Route, Status, Test
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.settings import processors
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader


def projection(
    plan: Iterable[Planned],
    mutants: Sequence[Mutant],
    seconds: Sequence[float],
    costs: Costs,
    workers: int,
    sidecar: Path,
) -> Projection:
    """The projection of what is planned; ``seconds`` of each test, ``sidecar`` need not be there."""
    planned = list(plan)
    rows = {
        mutants[one.mutant].key: Row(one.route, one.anew, len(one.tests), sum(seconds[test] for test in one.tests))
        for one in planned
        if one.status is None
    }
    return project(rows, len(planned) - len(rows), costs, min(workers, processors()), earlier_run(sidecar))


def seconds_in_a_row(
    pool: Pool, tests: Sequence[Test], task: Task, costs: Callable[[float], None], tick: Callable[[], None]
) -> list[float]:
    """What each test takes in a child that runs them all: in pytest's own loop something may have traced them.

    ``task`` runs them on clean code; its CPU seconds go to ``costs``.
    """
    seconds = [test.seconds for test in tests]
    for result in pool.run([task], width=1, tick=tick):
        costs(result.cpu)
        for found in result.found:
            seconds[found.test] = found.seconds
    return seconds


def earlier_run(sidecar: Path) -> Earlier | None:
    """The newest complete run in the sidecar that ran all of its cells; None where there is none, or none to read."""
    with contextlib.suppress(StoreError), Reader(sidecar) as newest:
        kept = newest.with_kept_cells()
        for run, info in reversed(newest.runs()):
            if run in kept:
                continue  # it ran a part of its mutants only
            judged = sum(info.cpu.get(route.value, 0.0) for route in Route)
            if info.complete and judged > 0:
                more = 1 + info.cpu.get("confirm", 0.0) / judged
                cpu = {route: more * info.cpu.get(route.value, 0.0) for route in Route}
                total = info.cpu.get("total", judged)
                return Earlier(run, info.started, _keys(newest, run), cpu, info.seconds / total)
    return None


def _keys(reader: Reader, run: int) -> frozenset[str]:
    """The mutants that were run."""
    rows = reader.query(
        "SELECT key FROM mutants WHERE run = ? AND verdict IS NULL AND status NOT IN (?, ?, ?)",
        run,
        *(status.value for status in (Status.NO_COVERAGE, Status.NO_USABLE_TEST, Status.IGNORED)),
    )
    return frozenset(key for (key,) in rows)
