"""The projection of a run that is planned: rows of its plan, costs of its clean run, and the sidecar's history."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_killmatrix.analysis.projection import Before, Costs, Earlier, Projection, Row, project
from pytest_killmatrix.model import Route, Test
from pytest_killmatrix.options import processors
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader


def projection(plan: Iterable[Planned], tests: Sequence[Test], costs: Costs, workers: int, sidecar: Path) -> Projection:
    """The projection of what is planned; ``sidecar`` need not be there."""
    planned = list(plan)
    rows = [
        Row(one.route, one.anew, len(one.tests), sum(tests[test].seconds for test in one.tests))
        for one in planned
        if one.status is None
    ]
    earlier = earlier_run(sidecar, {test.nodeid: test.seconds for test in tests})
    return project(rows, len(planned) - len(rows), costs, min(workers, processors()), earlier)


def earlier_run(sidecar: Path, seconds: Mapping[str, float]) -> Earlier | None:
    """The newest complete run in the sidecar; None where there is none, or none that can be read.

    ``seconds`` are the clean durations of today's tests, by node id.
    """
    with contextlib.suppress(StoreError), Reader(sidecar) as newest:
        for run, info in reversed(newest.runs()):
            judged = sum(info.cpu.get(name, 0.0) for name in ("swap", "collection", "static"))
            if info.complete and judged > 0:
                more = 1 + info.cpu.get("confirm", 0.0) / judged
                routes = {
                    route: Before(*_cells(newest, run, static, seconds), more * sum(info.cpu[name] for name in names))
                    for route, static, names in (
                        (Route.SWAP, 0, ("swap", "collection")),
                        (Route.STATIC, 1, ("static",)),
                    )
                }
                total = info.cpu.get("total", judged)
                return Earlier(run, info.started, routes, info.seconds / total)
    return None


def _cells(reader: Reader, run: int, static: int, seconds: Mapping[str, float]) -> tuple[int, float]:
    """Mutants and clean seconds of their cells; those of code that runs at import took the static route."""
    of = "FROM mutants m JOIN cells c ON c.run = m.run AND c.mutant = m.mutant AND c.suite = 0"
    where = "WHERE m.run = ? AND m.static = ?"
    mutants = next(reader.query(f"SELECT count(DISTINCT m.mutant) {of} {where}", run, static))[0]
    cells = reader.query(
        f"SELECT t.nodeid, t.seconds, count(*) {of} JOIN tests t ON t.run = c.run AND t.test = c.test {where} "
        "GROUP BY t.test",
        run,
        static,
    )
    return mutants, sum(number * seconds.get(name, then) for name, then, number in cells)
