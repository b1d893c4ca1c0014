"""The controller keeps no cells: of how many there are at once, the number of mutants says nothing."""

from __future__ import annotations

import gc
import itertools
import sys
from pathlib import Path

import pytest

from pytest_killmatrix import matrix as engine
from pytest_killmatrix.executor.pool import Found
from pytest_killmatrix.jobs import Subjects
from pytest_killmatrix.model import Build, Cell, Test
from pytest_killmatrix.plan import OtherWays, Planner
from pytest_killmatrix.reach import ReachMap
from pytest_killmatrix.store import writer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the simulated project is not in the distribution")


def most_alive(path: Path, mutants: int, unsafe: frozenset[int]) -> tuple[int, int]:
    """(cells that were alive at once while a simulated project was judged and stored, all its cells)."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import simulated
    finally:
        sys.path.remove(str(BENCHMARKS))
    sizes = simulated.Sizes(mutants, 80, 10)
    project = simulated.Project(sizes)
    project.mutants = [simulated.make_mutant(sizes, index) for index in range(mutants)]
    project.builds = [Build()] * mutants
    project.tests = [Test(f"test_{index // 20}.py::test_{index}", f"test_{index // 20}.py") for index in range(80)]
    reach = ReachMap()
    for measured in simulated.measured(project):
        reach.add(*measured)
    planner = Planner(project.tests, project.file_tests, {})
    plan = [
        planner.plan(
            index, mutant, Build(), reach.contexts(project.paths[mutant.path], mutant), True, project.ways[mutant.path]
        )
        for index, mutant in enumerate(project.mutants)
    ]
    subjects = Subjects(
        project.mutants,
        project.builds,
        project.paths,
        dict.fromkeys(project.paths, "0" * 64),
        dict.fromkeys(project.paths, "utf-8"),
        {},
        unsafe,
        frozenset(),
        project.file_tests,
        [test.nodeid for test in project.tests],
        OtherWays(plan, planner, lambda planned: project.ways[project.mutants[planned.mutant].path]),
    )
    children = simulated.Children(project)
    matrix = engine.Matrix(children, subjects, False, False, True, itertools.count(1), forks=True)
    most = total = 0
    judged = set()
    with writer.Sidecar.open(path) as sidecar:
        for number, done in enumerate(matrix.run(plan, lambda: None, lambda planned: None)):
            sidecar.store(1, done.mutant, done.status, done.reason, done.cells, done.reached_by)
            total += len(done.cells)
            judged.add(done.mutant)
            if number % 40 == 0:
                del done
                most = max(most, sum(type(one) in (Cell, Found) for one in gc.get_objects()))
    assert judged == set(range(mutants))
    return most, total


@pytest.mark.parametrize("unsafe", [frozenset(), frozenset(range(0, 80, 3))], ids=["parallel", "many by themselves"])
def test_cells_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsafe: frozenset[int]) -> None:
    monkeypatch.setattr(engine, "_WAITING", 300)
    few, some = most_alive(tmp_path / "few.sqlite", 400, unsafe)
    most, many = most_alive(tmp_path / "many.sqlite", 1600, unsafe)
    assert many > 2 * some
    assert most < 1.2 * few + 200, (few, some, most, many)
    assert most < many / 5
