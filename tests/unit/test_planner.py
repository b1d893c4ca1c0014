"""Routes and tests of mutants, and that plans do not cost what they share."""

from __future__ import annotations

import dataclasses

import pytest
from store_samples import make_mutant

from pytest_killmatrix.importers import Reload
from pytest_killmatrix.model import Build, Excluded, Route, Status, Test
from pytest_killmatrix.plan import OtherWays, Planned, Planner, StaticWay, plan_static

WAY = StaticWay(Reload(("words",), ("words",), frozenset({"/words.py"}), ()), ("a.py",), range(1000))


def make_tests(number: int = 1000, excluded: int | None = None) -> list[Test]:
    tests = [Test(f"{'ab'[index % 2]}.py::test_{index}", f"{'ab'[index % 2]}.py") for index in range(number)]
    if excluded is not None:
        tests[excluded].excluded = Excluded.FLAKY
    return tests


def make_planner(tests: list[Test] | None = None, **changes: object) -> Planner:
    by_file = {"a.py": [0, 2, 4], "b.py": [1, 3]}
    values = {"tests": tests or make_tests(), "by_file": by_file, "followers": {}, **changes}
    return Planner(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("contexts", "mutant", "build", "loaded", "expected"),
    [
        ({"t:700", "t:12", "a:12", "end"}, {}, {}, True, (Route.SWAP, None, (12, 700), (12, 700), (12,))),
        ({"t:5"}, {}, {}, True, (Route.SWAP, Status.NO_USABLE_TEST, (5,), (), ())),
        ({"t:5", "t:6"}, {}, {}, True, (Route.SWAP, None, (5, 6), (6,), ())),
        (set(), {}, {}, True, (Route.SWAP, Status.NO_COVERAGE, (), (), ())),
        ({"a:1", "end"}, {}, {}, True, (Route.SWAP, Status.NO_COVERAGE, (), (), ())),
        ({"c:a.py", "t:7"}, {}, {}, True, (Route.COLLECTION, None, (0, 2, 4, 7), (0, 2, 4, 7), ())),
        ({"c:gone.py"}, {}, {}, True, (Route.COLLECTION, Status.NO_COVERAGE, (), (), ())),
        ({"t:1"}, {"verdict": Status.DUPLICATE}, {}, True, (Route.SWAP, Status.DUPLICATE, (), (), ())),
        ({"t:1"}, {"static": True}, {}, False, (Route.SWAP, None, (1,), (1,), ())),
    ],
)
def test_routes(
    contexts: set[str], mutant: dict[str, object], build: dict[str, str], loaded: bool, expected: tuple[object, ...]
) -> None:
    planner = make_planner(make_tests(excluded=5))
    planned = planner.plan(3, make_mutant(**mutant), Build(**build), frozenset(contexts), loaded, WAY)
    found = (planned.route, planned.status, planned.reached_by, planned.tests, planned.alone)
    assert (planned.mutant, found) == (3, expected)


@pytest.mark.parametrize(
    ("contexts", "changes", "build", "reason"),
    [
        ({"import", "t:3"}, {}, {}, None),
        ({"t:3"}, {}, {"obstacle": "flags differ"}, "flags differ"),
        ({"t:3", "c:a.py"}, {"followers": {"a.py": frozenset({"b.py"})}}, {}, "other test files import"),
        ({"t:3", "c:a.py"}, {"not_twice": {"a.py"}}, {}, "cannot be collected twice"),
    ],
)
def test_what_no_swap_makes_live_takes_the_static_route(
    contexts: set[str], changes: dict[str, object], build: dict[str, str], reason: str | None
) -> None:
    blocked = dataclasses.replace(WAY, obstacle="held by a plugin")
    for way in (WAY, blocked):
        planner = make_planner(**changes)
        planned = planner.plan(0, make_mutant(), Build(**build), frozenset(contexts), True, way)
        assert planned.route is Route.STATIC
        assert planned == plan_static(0, (3,), make_tests(), way, None if way is WAY else None or _before(planned))
    assert reason is None or reason in (planned.reason or "")


def _before(planned: Planned) -> str | None:
    """Why the static route was taken, without why that cannot be."""
    before, _, _ = (planned.reason or "").rpartition("; ")
    return before or None


def test_equal_tuples_are_one() -> None:
    planner = make_planner()
    contexts = frozenset({f"t:{test}" for test in range(300, 400)} | {f"a:{test}" for test in range(300, 400)})
    again = frozenset(sorted(contexts))
    one = planner.plan(0, make_mutant(0), Build(), contexts, True, WAY)
    two = planner.plan(1, make_mutant(1), Build(), again, True, WAY)
    assert one.tests is one.reached_by is one.alone is two.tests is two.reached_by is two.alone
    statics = [planner.plan(index, make_mutant(index), Build(), frozenset({"import"}), True, WAY) for index in (2, 3)]
    assert statics[0].tests is statics[1].tests is statics[0].reached_by
    assert statics[0].strangers is statics[1].strangers
    assert [planned.mutant for planned in statics] == [2, 3]


def test_other_ways_are_made_when_asked_for() -> None:
    planner, tests = make_planner(), make_tests()
    plan = [
        Planned(0, Route.SWAP, (7,), (7,)),
        Planned(1, Route.SWAP, status=Status.NO_COVERAGE),
        Planned(2, Route.STATIC, (7,), (7,), reload=WAY.reload),
        Planned(3, Route.SWAP, (7,), (7,), whole=True),
        Planned(4, Route.SWAP, (8,), (8,)),
    ]
    ways = OtherWays(plan, planner, lambda planned: None if planned.mutant == 4 else WAY)
    assert dict(ways) == {0: plan_static(0, (7,), tests, WAY)}
    assert len(ways) == 1
    assert ways.get(4) is None
