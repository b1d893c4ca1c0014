"""Which tests meet which mutant, and by which route: data, so that it can be counted and priced before it is run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pytest_killmatrix.clean.observer import ALONE, END
from pytest_killmatrix.model import Build, Mutant, Route, Status, Test


@dataclass(frozen=True, slots=True)
class Planned:
    """One mutant's part of the plan.

    ``reached_by`` are the indexes of all tests that may reach it, ``tests`` those that will run; ``recollect`` the test
    files whose collection reaches it, ``alone`` the tests that run its lines when nothing ran before them.
    ``status`` is set where nothing has to run.
    """

    mutant: int
    route: Route
    reached_by: tuple[int, ...] = ()
    tests: tuple[int, ...] = ()
    recollect: tuple[str, ...] = ()
    alone: frozenset[int] = frozenset()
    status: Status | None = None
    reason: str | None = None


def plan_mutant(
    index: int,
    mutant: Mutant,
    build: Build,
    contexts: set[str],
    tests: Sequence[Test],
    by_file: Mapping[str, Sequence[int]],
    followers: Mapping[str, frozenset[str]],
    loaded: bool,
    skip_static: bool,
    not_twice: Collection[str] = (),
) -> Planned:
    """Decide one mutant's route and tests.

    ``contexts`` are those that execute its lines; ``by_file`` the items of each test file; ``followers`` the test files
    that took names from a test file; ``loaded`` whether its module was imported when the session forked;
    ``not_twice`` the test files that cannot be collected again in the same process.
    """
    if mutant.verdict is not None:
        return Planned(
            index, Route.STATIC if mutant.static else Route.SWAP, status=mutant.verdict, reason=mutant.reason
        )
    alone = frozenset(int(context[2:]) for context in contexts if context.startswith(ALONE))
    contexts = {context for context in contexts if context != END and not context.startswith(ALONE)}
    if not contexts:
        return Planned(index, Route.STATIC if mutant.static else Route.SWAP, status=Status.NO_COVERAGE)
    reached = {int(context[2:]) for context in contexts if context.startswith("t:")}
    files = {context[2:] for context in contexts if context.startswith("c:")}
    elsewhere = any(not context.startswith(("t:", "c:")) for context in contexts)
    if (mutant.static and loaded) or elsewhere:
        reason = "import-time code" if mutant.static else "also runs at import"
        if skip_static:
            return Planned(index, Route.STATIC, status=Status.IGNORED, reason="static")
        return Planned(index, Route.STATIC, tuple(sorted(reached)), status=Status.PENDING, reason=reason)
    if build.obstacle is not None and not mutant.static:
        return Planned(index, Route.STATIC, tuple(sorted(reached)), status=Status.PENDING, reason=build.obstacle)
    if any(followers.get(file) for file in files):
        return Planned(
            index, Route.STATIC, tuple(sorted(reached)), status=Status.PENDING,
            reason="runs while a test file is collected that other test files import",
        )  # fmt: skip
    if not files.isdisjoint(not_twice):
        reason = "runs while a test file is collected that cannot be collected twice"
        return Planned(index, Route.STATIC, tuple(sorted(reached)), status=Status.PENDING, reason=reason)
    for file in files:
        reached.update(by_file.get(file, ()))
    usable = tuple(test for test in sorted(reached) if tests[test].excluded is None)
    route = Route.COLLECTION if files else Route.SWAP
    if not usable:
        status = Status.NO_USABLE_TEST if reached else Status.NO_COVERAGE
        return Planned(index, route, tuple(sorted(reached)), status=status)
    return Planned(index, route, tuple(sorted(reached)), usable, tuple(sorted(files)), alone)
