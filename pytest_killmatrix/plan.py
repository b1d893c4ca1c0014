"""Which tests meet which mutant, and by which route: data, so that it can be counted and priced before it is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pytest_killmatrix.clean.observer import ALONE, END, FILE, TEST
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
    alone: tuple[int, ...] = ()
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


@dataclass(frozen=True, slots=True)
class _Executed:
    """Contexts, read: tests in order, those that execute it alone, test files, whether anything else does."""

    tests: tuple[int, ...]
    alone: tuple[int, ...]
    files: tuple[str, ...]
    elsewhere: bool


class Planner:
    """Decides routes and tests, one mutant after another; what is equal in two plans is one object in both.

    :param by_file: the items of each test file.
    :param followers: the test files that took names from a test file.
    :param not_twice: the test files that cannot be collected again in the same process.
    """

    def __init__(
        self,
        tests: Sequence[Test],
        by_file: Mapping[str, Sequence[int]],
        followers: Mapping[str, frozenset[str]],
        not_twice: Collection[str] = (),
    ) -> None:
        self._tests = tests
        self._by_file = by_file
        self._followers = followers
        self._not_twice = not_twice
        self._numbers = list(range(len(tests)))
        self._latest: tuple[AbstractSet[str], _Executed] | None = None
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._usable: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._static: dict[tuple[int, tuple[int, ...], str | None], tuple[StaticWay, Planned]] = {}

    def plan(
        self, index: int, mutant: Mutant, build: Build, contexts: AbstractSet[str], loaded: bool, static: StaticWay
    ) -> Planned:
        """Decide one mutant's route and tests.

        ``contexts`` are those that execute its lines; ``loaded`` says whether its module was imported when the session
        forked, ``static`` how code that runs at import is judged in its file.
        """
        if mutant.verdict is not None:
            return Planned(
                index, Route.STATIC if mutant.static else Route.SWAP, status=mutant.verdict, reason=mutant.reason
            )
        executed = self._read(contexts)
        reached, files = executed.tests, executed.files
        if not (reached or files or executed.elsewhere):
            return Planned(index, Route.STATIC if mutant.static else Route.SWAP, status=Status.NO_COVERAGE)
        if (mutant.static and loaded) or executed.elsewhere:
            if static.skip:
                return Planned(index, Route.STATIC, status=Status.IGNORED, reason="static")
            return self.plan_static(index, reached, static)
        if build.obstacle is not None and not mutant.static:
            return self.plan_static(index, reached, static, build.obstacle)
        if any(self._followers.get(file) for file in files):
            reason = "runs while a test file is collected that other test files import"
            return self.plan_static(index, reached, static, reason)
        if not static.live and not set(files).isdisjoint(self._not_twice):
            reason = "runs while a test file is collected that cannot be collected twice"
            return self.plan_static(index, reached, static, reason)
        if files:
            everyone = {*reached, *(test for file in files for test in self._by_file.get(file, ()))}
            reached = self._one(sorted(everyone))
        usable = self._judging(reached)
        route = Route.COLLECTION if files else Route.SWAP
        if not usable:
            status = Status.NO_USABLE_TEST if reached else Status.NO_COVERAGE
            return Planned(index, route, reached, status=status)
        return Planned(index, route, reached, usable, files, executed.alone, anew=static.live)

    def plan_static(self, index: int, reached: tuple[int, ...], way: StaticWay, reason: str | None = None) -> Planned:
        """The static route, as ``plan_static`` has it; ``reached`` is in order."""
        known = self._static.get((id(way), reached, reason))  # the way is held, so that it keeps its identity
        if known is None:
            made = plan_static(index, reached, self._tests, way, reason)
            made = replace(made, reached_by=self._one(made.reached_by), tests=self._one(made.tests))
            self._static[id(way), reached, reason] = known = way, made
        return replace(known[1], mutant=index)

    def _read(self, contexts: AbstractSet[str]) -> _Executed:
        if self._latest is None or self._latest[0] is not contexts:
            tests, alone, files, elsewhere = [], [], [], False
            for context in contexts:
                if context.startswith(TEST):
                    tests.append(int(context[len(TEST) :]))
                elif context.startswith(ALONE):
                    alone.append(int(context[len(ALONE) :]))
                elif context.startswith(FILE):
                    files.append(context[len(FILE) :])
                elif context != END:
                    elsewhere = True
            executed = _Executed(self._one(sorted(tests)), self._one(sorted(alone)), tuple(sorted(files)), elsewhere)
            self._latest = contexts, executed
        return self._latest[1]

    def _judging(self, tests: tuple[int, ...]) -> tuple[int, ...]:
        """Those of them that are not excluded."""
        if tests not in self._usable:
            self._usable[tests] = self._one([test for test in tests if self._tests[test].excluded is None])
        return self._usable[tests]

    def _one(self, tests: Sequence[int]) -> tuple[int, ...]:
        """The one tuple of these tests."""
        found = tuple(tests)
        known = self._known.get(found)
        if known is None:
            known = tuple(self._numbers[test] for test in found)
            self._known[known] = known
        return known


class OtherWays(Mapping[int, Planned]):
    """Mutants that are swapped, by index, as they are planned where no swap brings them to life; made when asked for.

    :param which: tells the file's way for a mutant that has one, else None.
    """

    def __init__(self, plan: Sequence[Planned], planner: Planner, which: Callable[[Planned], StaticWay | None]) -> None:
        self._plan = plan
        self._planner = planner
        self._which = which

    def __getitem__(self, mutant: int) -> Planned:
        planned = self._plan[mutant]
        way = (
            None if planned.status is not None or planned.reload is not None or planned.whole else self._which(planned)
        )
        if way is None:
            raise KeyError(mutant)
        return self._planner.plan_static(mutant, planned.reached_by, way)

    def __iter__(self) -> Iterator[int]:
        return (planned.mutant for planned in self._plan if planned.mutant in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


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
