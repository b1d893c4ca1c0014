"""pytest's hooks, and nothing else: what they do is in ``session``, which is loaded only when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_killmatrix import options
from pytest_killmatrix.surroundings import Surroundings

if TYPE_CHECKING:
    from pytest_killmatrix.harness.fixtures import Trial
    from pytest_killmatrix.harness.variants import Variant
    from pytest_killmatrix.session import KillMatrix


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our options, and remember what the process was before any conftest was loaded."""
    options.register(parser)
    sandbox = None
    if options.SANDBOX in os.environ:
        from pytest_killmatrix.sandbox.inside import Inside

        sandbox = Inside.begin(os.environ)
    pluginmanager.register(Surroundings(sandbox), Surroundings.NAME)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our hooks."""
    from pytest_killmatrix import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Before the project is loaded: go over to a copy of it, where that was asked for, and keep its test modules."""
    surroundings = Surroundings.of(early_config)
    if options.sandboxed(early_config) and surroundings.sandbox is None:
        from pytest_killmatrix.sandbox.entering import enter

        enter(early_config, surroundings.environ)
    if options.enabled_early(early_config):
        from pytest_killmatrix.rewritten import Rewritten

        surroundings.settle()
        early_config.pluginmanager.register(Rewritten().install(), Rewritten.NAME)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Begin, where a kill matrix was asked for and this process is the one that makes it."""
    if hasattr(config, "workerinput") or config.pluginmanager.has_plugin(options.OBSERVED):
        return
    if not options.enabled(config):
        options.refuse_alone(config)
    else:
        from pytest_killmatrix.session import KillMatrix

        config.pluginmanager.register(Hooks(KillMatrix(config)), "killmatrix-session")


@pytest.fixture(scope="session")
def harness_variant() -> Variant:
    """The variant of an agent harness that is under test, for graders of ``killmatrix harness run``."""
    from pytest_killmatrix.harness.fixtures import current_variant

    return current_variant()


@pytest.fixture(scope="session")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """The trial of an agent harness that this is: records its cost, tokens and steps."""
    from pytest_killmatrix.harness.fixtures import current_trial

    return current_trial(tmp_path_factory)


class Hooks:
    """The hooks of a run that makes a kill matrix."""

    def __init__(self, matrix: KillMatrix) -> None:
        self.matrix = matrix

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Fork before the first test, then let pytest run its own loop."""
        self.matrix.before_loop(session)
        result = yield
        self.matrix.after_loop()
        return result

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note files that cannot be collected."""
        self.matrix.note_uncollectable(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note clean outcomes."""
        self.matrix.outcomes.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Make the matrix, after the suite and before pytest's summary."""
        session.exitstatus = self.matrix.finish(session, int(exitstatus))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show it."""
        self.matrix.summarize(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Whatever happened, leave nothing behind."""
        self.matrix.close()
