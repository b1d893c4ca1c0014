"""Which tests meet which mutant, and by which route: data, so that it can be counted and priced before it is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_killmatrix.clean.observer import ALONE, END
from pytest_killmatrix.importers import Reload
from pytest_killmatrix.model import Build, Mutant, Route, Status, Test


@dataclass(frozen=True, slots=True)
class Planned:
    """One mutant's part of the plan.

    ``reached_by`` are the indexes of all tests that may reach it, ``tests`` those that will run; ``recollect`` the test
    files that are collected again, ``alone`` the tests that run its lines when nothing ran before them. On the static
    route ``reload`` says what is imported again, ``renew`` that conftests are. With ``anew`` the mutant is live in a
    fresh interpreter from its first import on. ``strangers`` are the tests of files that nothing connects with the
    module: in the session it is loaded beside them, alone they never load it. ``status`` is set where nothing has to
    run. ``whole`` says that it is another implementation of its file: each of its tests is judged by it, whatever of it
    the test runs.
    """

    mutant: int
    route: Route
    reached_by: tuple[int, ...] = ()
    tests: tuple[int, ...] = ()
    recollect: tuple[str, ...] = ()
    alone: frozenset[int] = frozenset()
    status: Status | None = None
    reason: str | None = None
    reload: Reload | None = None
    renew: bool = False
    anew: bool = False
    strangers: frozenset[int] = frozenset()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class StaticWay:
    """How code of one file that runs at import is judged: what to import again, and the test files to collect again.

    ``obstacle`` says why that cannot be, ``skip`` that nobody asked for it; ``tests`` meet such a mutant. ``live`` says
    that all other mutants of the file take fresh interpreters too, in which they are live from the first import on.
    """

    reload: Reload
    recollect: tuple[str, ...]
    tests: Sequence[int]
    obstacle: str | None = None
    skip: bool = False
    renew: bool = False
    anew: bool = False
    live: bool = False


def plan_mutant(
    index: int,
    mutant: Mutant,
    build: Build,
    contexts: set[str],
    tests: Sequence[Test],
    by_file: Mapping[str, Sequence[int]],
    followers: Mapping[str, frozenset[str]],
    loaded: bool,
    static: StaticWay,
    not_twice: Collection[str] = (),
) -> Planned:
    """Decide one mutant's route and tests.

    ``contexts`` are those that execute its lines; ``by_file`` the items of each test file; ``followers`` the test files
    that took names from a test file; ``loaded`` whether its module was imported when the session forked;
    ``static`` how code that runs at import is judged in its file; ``not_twice`` the test files that cannot be collected
    again in the same process.
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
        if static.skip:
            return Planned(index, Route.STATIC, status=Status.IGNORED, reason="static")
        return plan_static(index, reached, tests, static)
    if build.obstacle is not None and not mutant.static:
        return plan_static(index, reached, tests, static, build.obstacle)
    if any(followers.get(file) for file in files):
        reason = "runs while a test file is collected that other test files import"
        return plan_static(index, reached, tests, static, reason)
    if not static.live and not files.isdisjoint(not_twice):
        reason = "runs while a test file is collected that cannot be collected twice"
        return plan_static(index, reached, tests, static, reason)
    for file in files:
        reached.update(by_file.get(file, ()))
    usable = tuple(test for test in sorted(reached) if tests[test].excluded is None)
    route = Route.COLLECTION if files else Route.SWAP
    if not usable:
        status = Status.NO_USABLE_TEST if reached else Status.NO_COVERAGE
        return Planned(index, route, tuple(sorted(reached)), status=status)
    return Planned(index, route, tuple(sorted(reached)), usable, tuple(sorted(files)), alone, anew=static.live)


def narrowed(planned: Planned, wanted: Callable[[int], bool], *, reach: bool = True) -> Planned:
    """The same for some of the tests only; a mutant that none of them reaches is not covered.

    Without ``reach`` the others reach it as before, and need not run.
    """
    if not reach:
        return replace(planned, tests=tuple(filter(wanted, planned.tests)))
    reached = tuple(filter(wanted, planned.reached_by))
    tests = tuple(filter(wanted, planned.tests))
    status, reason = planned.status, planned.reason
    if not tests and status is None:
        status = Status.NO_USABLE_TEST if reached else Status.NO_COVERAGE
    elif status in (Status.NO_USABLE_TEST, Status.PENDING) and not reached:
        status, reason = Status.NO_COVERAGE, None
    return replace(planned, reached_by=reached, tests=tests, status=status, reason=reason)


def plan_static(
    index: int, reached: Collection[int], tests: Sequence[Test], way: StaticWay, reason: str | None = None
) -> Planned:
    """The static route: every test whose outcome could change meets the mutant, which counts as reached by each."""
    obstacle = "--kill-matrix-static=skip" if way.skip else way.obstacle
    if obstacle is not None:
        reason = f"{reason}; {obstacle}" if reason else obstacle
        return Planned(index, Route.STATIC, tuple(sorted(reached)), status=Status.PENDING, reason=reason)
    everyone = tuple(sorted({*reached, *way.tests}))
    usable = tuple(test for test in everyone if tests[test].excluded is None)
    if not usable:
        return Planned(index, Route.STATIC, everyone, status=Status.NO_USABLE_TEST)
    known = {*reached, *(everyone if way.reload.holders else ())}
    strangers = frozenset(test for test in usable if test not in known and tests[test].path not in way.recollect)
    return Planned(
        index,
        Route.STATIC,
        everyone,
        usable,
        () if way.anew else way.recollect,
        reload=way.reload,
        renew=way.renew,
        anew=way.anew,
        strangers=strangers,
    )
