"""What a plan is projected to take: the model of a mutant, and what an earlier run says of the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_samples import assertion, make_info, make_mutant

from pytest_killmatrix import settings
from pytest_killmatrix.analysis.projection import ENOUGH, USUAL, Costs, Earlier, Row, project
from pytest_killmatrix.model import Route, Status, Test
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.projecting import earlier_run, projection
from pytest_killmatrix.report.projected import projected_lines
from pytest_killmatrix.store.writer import Sidecar

COSTS = Costs(child=0.01, session=1.0)
SWAPS = {f"s{number}": Row(Route.SWAP, False, 3, 0.02) for number in range(100)}
ROWS = SWAPS | {f"i{number}": Row(Route.STATIC, False, 10, 0.4) for number in range(10)}
TOOK = {Route.SWAP: 12.0, Route.STATIC: 99.0}


def test_the_model() -> None:
    swap, collection, static, anew = (
        COSTS.of(Row(route, anew, 1, 0.5))
        for route, anew in (
            (Route.SWAP, False), (Route.COLLECTION, False), (Route.STATIC, False), (Route.SWAP, True),
        )
    )  # fmt: skip
    assert swap == pytest.approx(0.51)
    assert swap < collection == static < anew == pytest.approx(1.51)


def test_without_an_earlier_run() -> None:
    found = project(ROWS, 7, COSTS, 4, None)
    assert (found.mutants, found.cells, found.idle) == (117, 400, 7)
    assert found.routes[Route.SWAP].cpu == pytest.approx(USUAL[Route.SWAP] * 3)
    assert found.seconds == pytest.approx(found.cpu / 4)
    assert found.source == "the clean run"
    assert Route.COLLECTION not in found.routes


def test_the_same_run_again_takes_what_it_took() -> None:
    found = project(ROWS, 0, COSTS, 4, Earlier(3, "then", frozenset(ROWS), TOOK, 0.5))
    assert found.routes[Route.SWAP].cpu == pytest.approx(12)
    assert found.routes[Route.STATIC].cpu == pytest.approx(USUAL[Route.STATIC] * 10 * COSTS.of(ROWS["i0"]))  # too few
    assert found.seconds == pytest.approx(found.cpu / 2)
    assert "run 3 of then" in found.source


def test_half_of_it_takes_half() -> None:
    half = dict(list(SWAPS.items())[:50])
    assert project(half, 0, COSTS, 4, Earlier(3, "then", frozenset(SWAPS), TOOK, 0.5)).cpu == pytest.approx(6)
    double = SWAPS | {f"n{number}": SWAPS["s0"] for number in range(100)}
    assert project(double, 0, COSTS, 4, Earlier(3, "then", frozenset(SWAPS), TOOK, 0.5)).cpu == pytest.approx(24)


def test_nothing_to_run() -> None:
    found = project({}, 3, COSTS, 4, Earlier(3, "then", frozenset(ROWS), TOOK, 0.5))
    assert (found.seconds, found.cells, found.mutants, found.source) == (0, 0, 3, "the clean run")
    assert next(iter(projected_lines(found))).split() == ["no", "run", "3", "mutants"]


def test_history_is_that_of_the_newest_complete_run(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    assert earlier_run(path) is None
    tests = [Test("a.py::test_a", "a.py", seconds=1.0), Test("a.py::test_b", "a.py", seconds=2.0)]
    cpu = {"swap": 30.0, "collection": 2.0, "static": 8.0, "confirm": 10.0, "total": 60.0}
    with Sidecar.open(path) as sidecar:
        for number in range(3):
            info = make_info(id=f"run-{number}", cpu=cpu, seconds=30.0, fingerprint=str(number))
            run = sidecar.begin_run(info)
            sidecar.add_tests(run, tests)
            sidecar.add_mutants(run, [make_mutant(n, static=n >= ENOUGH) for n in range(ENOUGH + 2)])
            for mutant in range(ENOUGH + 1):
                for test in (0, 1):
                    sidecar.add_cell(run, assertion(mutant, test))
                sidecar.set_status(run, mutant, Status.KILLED)
            sidecar.set_status(run, ENOUGH + 1, Status.NO_COVERAGE)
            (sidecar.finish_run if number < 2 else sidecar.update_run)(run, info)
    found = earlier_run(path)
    assert found is not None
    assert (found.run, found.wall) == (2, 0.5)
    assert found.keys == {make_mutant(number).key for number in range(ENOUGH + 1)}
    assert found.cpu == {Route.SWAP: 30 * 1.25, Route.COLLECTION: 2 * 1.25, Route.STATIC: 8 * 1.25}
    mutants = [make_mutant(number) for number in range(ENOUGH + 2)]
    plan = [Planned(number, Route.SWAP, tests=(0, 1)) for number in range(ENOUGH + 1)]
    plan.append(Planned(ENOUGH + 1, Route.SWAP, status=Status.NO_COVERAGE))
    left = projection(plan, mutants, [test.seconds for test in tests], COSTS, 2, path)
    assert (left.mutants, left.idle, left.cells) == (ENOUGH + 2, 1, 2 * (ENOUGH + 1))
    assert left.cpu == pytest.approx(37.5)
    text = "\n".join(projected_lines(left))
    assert "38 s CPU" in text
    assert "projected time 19 s" in text


@pytest.mark.parametrize("given", ["0", "-1", "x", "nan", "inf", "1m"])
def test_no_such_limit(given: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"^--kill-matrix-max-minutes={given}: give a number of minutes"):
        settings.minutes(given)


def test_what_is_a_limit() -> None:
    assert [settings.minutes(text) for text in (None, "", "30", "0.5")] == [None, None, 30.0, 0.5]
