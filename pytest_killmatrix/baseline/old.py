"""The process in which the old suite runs: pytest with a kill matrix of its own, in the laid out tree, led by another.

``python -c "from pytest_killmatrix.baseline.old import main; main()" DIRECTORY READ WRITE`` with a pickled ``OldSpec``
in the directory. What is said over the two descriptors, in order: the tests that were collected (``Collected``); which
of them to run against which mutants (``Go``, or None to leave); ``Looped`` when they have run without any; ``Made``
when the sidecar has the matrix; then questions (``Again``), each answered by a list of ``Answer``, until None.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.baseline.changes import Known
from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.baseline.places import place_of
from pytest_killmatrix.baseline.scope import RunAgain
from pytest_killmatrix.child.private import Private
from pytest_killmatrix.model import Build, Mutant, Outcome, Test
from pytest_killmatrix.options import AUTO, OLD_SUITE
from pytest_killmatrix.settings import Settings

SPEC: Final = "old-spec"
SCREEN: Final = "old-screen"
SIDECAR: Final = "old.sqlite"
_PR_SET_PDEATHSIG: Final = 1
_PATIENCE: Final = 2.0  # seconds between looks whether the other process lives


@dataclass(frozen=True, slots=True)
class OldSpec:
    """What the process is told: pytest's arguments, and how its tests are known again.

    ``selection`` are node ids that limit the suite (none: no limit), ``fingerprints`` makes the tests' fingerprints.
    ``alone`` says that there is nothing to be led in: all tests meet all mutants, and ``Made`` is all that is said.
    """

    sys_path: list[str]
    arguments: list[str]
    directory: str
    selection: tuple[str, ...]
    fingerprints: Any
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """The suite: its tests in order, and what could not be collected, with the reason and the tests that were in it."""

    tests: list[Known]
    uncollectable: list[tuple[str, str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Go:
    """Which tests (by index of ``Collected``) meet the mutants with these keys.

    ``everyone`` has all others run beside them on clean code, not only those of the same files. ``made`` are the
    mutants compiled, of files that have these ``hashes``: without it they are made once more.
    """

    tests: frozenset[int]
    mutants: frozenset[str]
    everyone: bool = False
    made: tuple[tuple[Mutant, Build], ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Looped:
    """The suite has run on today's source as it is."""


@dataclass(frozen=True, slots=True)
class Made:
    """The matrix is in the sidecar, as this run."""

    run: int


@dataclass(frozen=True, slots=True)
class Again:
    """Run these cells once more, each alone: (mutant's key, node ids)."""

    cells: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a test said alone: under the mutant, and under the change that changes nothing."""

    mutant: str
    test: str
    outcome: Outcome
    noop: Outcome


class Lead:
    """The plugin of the process: where it waits for the other one, and what it is told."""

    NAME: Final = OLD_SUITE

    def __init__(self, spec: OldSpec, line: Line) -> None:
        self.spec = spec
        self._line = line
        self._parent = os.getppid()
        self._uncollectable: list[tuple[str, str]] = []
        self.go: Go | None = None
        self.indexes: dict[int, int] = {}

    @classmethod
    def of(cls, config: pytest.Config) -> Lead | None:
        """The one of this session, if it is that of an old suite."""
        found = config.pluginmanager.get_plugin(cls.NAME)
        return found if isinstance(found, cls) else None

    def say(self, message: Any) -> None:
        """Tell the other process; KeyboardInterrupt where it is gone."""
        try:
            self._line.say(message)
        except LineBroken:
            raise KeyboardInterrupt from None

    def hear(self) -> Any:
        """What the other process says next; KeyboardInterrupt where it is gone."""
        try:
            while not self._line.heard(_PATIENCE):
                self.check()
        except LineBroken:
            raise KeyboardInterrupt from None
        return self._line.next()

    def check(self) -> None:
        """KeyboardInterrupt where the other process is gone."""
        if os.getppid() != self._parent:
            raise KeyboardInterrupt

    @staticmethod
    def adapt(settings: Settings) -> Settings:
        """What was asked of the other process is its own business; this one makes a matrix and nothing else."""
        return replace(
            settings, baseline=None, scope="all", score_ref=False, equivalents=None, min_gain=None, fail_on_lost=False,
            mutants=(), variants=None, generate=True, fail_under=(), fresh=True, sandbox="off", json=None, html=None,
            markdown=None, stryker=None, github=False, shard=None, sample=None, plan=False,
            max_minutes=None, executor=AUTO if settings.scheduler is not None else settings.executor, scheduler=None,
        )  # fmt: skip

    def meets(self, key: str) -> bool:
        """Whether the mutant of this key is to be met."""
        return self.spec.alone or (self.go is not None and key in self.go.mutants)

    def wanted(self, index: int) -> bool:
        """Whether the item that has this index now is to meet mutants."""
        return self.spec.alone or (self.go is not None and self.indexes.get(index) in self.go.tests)

    def answer(self, run: int, mutants: Sequence[Mutant], tests: Sequence[Test], again: RunAgain) -> None:
        """Say that the matrix is made, then run again what the other process asks for, until it asks no more."""
        self.say(Made(run))
        if self.spec.alone:
            return
        numbers = {mutant.key: index for index, mutant in enumerate(mutants)}
        names = {test.nodeid: index for index, test in enumerate(tests)}
        while (question := self.hear()) is not None:
            cells = {numbers[key]: [names[name] for name in asked] for key, asked in question.cells}
            self.say(
                [
                    Answer(mutants[mutant].key, tests[test].nodeid, found.outcome, found.noop)
                    for (mutant, test), found in again(cells).items()
                ]
            )

    # -- hooks -----------------------------------------------------------------------------------------------------

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot be collected."""
        if report.failed:
            self._uncollectable.append((report.nodeid, str(report.longrepr).strip().rsplit("\n", 1)[-1][:200]))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what was not asked for."""
        selection = self.spec.selection
        if selection:
            items[:] = [item for item in items if any(_selects(name, item.nodeid) for name in selection)]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say what there is, and wait for what to do with it; once, since children collect again."""
        if self.spec.alone or self.go is not None:
            return
        make = self.spec.fingerprints
        tests = [Known(item.nodeid, make.of(place_of(item))) for item in session.items]
        self.say(Collected(tests, [(name, why, make.names(name)) for name, why in self._uncollectable]))
        self.go = self.hear()
        if self.go is None:
            pytest.exit("nothing of the old suite has to be run", 0)
        files = {session.items[index].nodeid.partition("::")[0] for index in self.go.tests}
        kept = [
            (index, item)
            for index, item in enumerate(session.items)
            if self.go.everyone or item.nodeid.partition("::")[0] in files
        ]
        session.items[:] = [item for _, item in kept]
        self.indexes = {position: index for position, (index, _) in enumerate(kept)}


def _selects(name: str, nodeid: str) -> bool:
    return nodeid == name or nodeid.startswith((f"{name}::", f"{name}[", f"{name.rstrip('/')}/"))


def main() -> None:
    """Entry point of the process."""
    directory, descriptors = Path(sys.argv[1]), (int(sys.argv[2]), int(sys.argv[3]))
    spec: OldSpec = pickle.loads((directory / SPEC).read_bytes())
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    _die_with_parent()
    sys.path[:] = spec.sys_path
    sys.argv = ["pytest", *spec.arguments]
    lead = Lead(spec, Line(*descriptors))
    status = int(pytest.main(spec.arguments, plugins=[_named(lead), Private()]))
    sys.stdout.flush()
    sys.exit(status)


def _die_with_parent() -> None:
    """A test that hangs must not outlive whoever would end it; elsewhere than on Linux ``Lead.check`` has to do."""
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _named(lead: Lead) -> Any:
    """pytest registers plugins that it is given under no name of ours."""

    class Register:
        @pytest.hookimpl(tryfirst=True)
        def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
            early_config.pluginmanager.register(lead, Lead.NAME)

    return Register()
