"""The parts of pytest that children rely on beyond its public interface: there, and doing what we believe they do."""

from __future__ import annotations

import importlib.machinery
import inspect
import logging
import os
import unittest.case
import warnings
from pathlib import Path
from typing import Any
from unittest._log import _AssertLogsContext

import pytest
from _pytest import outcomes
from _pytest.assertion.rewrite import AssertionRewritingHook
from _pytest.raises import RaisesExc, RaisesGroup
from _pytest.recwarn import WarningsChecker
from _pytest.runner import SetupState
from _pytest.stash import StashKey
from _pytest.tmpdir import tmppath_result_key
from _pytest.warnings import catch_warnings_for_item


@pytest.fixture(scope="module")
def shared() -> int:
    return 3


# -- hygiene -----------------------------------------------------------------------------------------------------------


def test_the_temp_path_factory_obeys_its_given_base(pytester: pytest.Pytester) -> None:
    factory: Any = pytester.parseconfigure()._tmp_path_factory  # type: ignore[attr-defined]
    assert {"_given_basetemp", "_basetemp"} <= vars(factory).keys()
    factory._given_basetemp, factory._basetemp = pytester.path / "private", None
    assert factory.mktemp("one").parent == (pytester.path / "private").resolve()


def test_the_capture_manager_can_start_afresh(pytestconfig: pytest.Config) -> None:
    manager: Any = pytestconfig.pluginmanager.get_plugin("capturemanager")
    assert "_global_capturing" in vars(manager)
    for name in ("start_global_capturing", "resume_global_capture", "read_global_capture"):
        assert not [p for p in inspect.signature(getattr(manager, name)).parameters.values() if p.default is p.empty]
    assert "in_" in inspect.signature(manager.suspend_global_capture).parameters


def test_the_logging_plugin_has_its_handlers(pytestconfig: pytest.Config) -> None:
    plugin: Any = pytestconfig.pluginmanager.get_plugin("logging-plugin")
    for handler in (plugin.caplog_handler, plugin.report_handler, plugin.log_file_handler):
        assert isinstance(handler, logging.Handler)
    assert callable(plugin.caplog_handler.reset)
    assert callable(plugin.report_handler.reset)
    assert callable(plugin.log_file_handler.setStream)
    assert hasattr(plugin, "log_cli_level")


def test_reporters_have_the_names_under_which_they_are_taken_away(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfigure("--junitxml=report.xml", "--lf")
    names = {type(plugin).__name__ for plugin in config.pluginmanager.get_plugins()}
    assert {"LogXML", "LFPlugin"} <= names
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    assert config.get_terminal_writer() is reporter._tw
    assert callable(config.cache.set)


# -- running -----------------------------------------------------------------------------------------------------------


def test_items_have_a_request_made_by_initrequest(request: pytest.FixtureRequest) -> None:
    item: Any = request.node
    assert item._request
    assert callable(item._initrequest)
    assert item.funcargs is item._request._pyfuncitem.funcargs
    assert set(item._fixtureinfo.argnames) == {"request"}


def test_the_set_up_state_knows_what_failed(request: pytest.FixtureRequest) -> None:
    state: Any = request.session._setupstate
    assert isinstance(state, SetupState)
    assert list(state.stack)[-1] is request.node
    assert all(len(entry) == 2 and entry[1] is None for entry in state.stack.values())
    assert list(inspect.signature(SetupState.setup).parameters) == ["self", "item"]
    assert list(inspect.signature(SetupState.teardown_exact).parameters) == ["self", "nextitem"]


def test_fixture_definitions_keep_their_result(request: pytest.FixtureRequest, shared: int) -> None:
    (definition,) = request.node._fixtureinfo.name2fixturedefs["shared"]
    assert (definition.scope, definition.func.__name__) == ("module", "shared")
    value, _, failure = definition.cached_result
    assert (value, failure) == (shared, None)


def test_a_failed_fixture_keeps_its_exception(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if call.when == "setup":
                definition, = item._fixtureinfo.name2fixturedefs["broken"]
                assert isinstance(definition.cached_result[2][0], OSError)
                print("it does")
            return report
    """)
    pytester.makepyfile("""
        import pytest
        @pytest.fixture(scope="module")
        def broken(): raise OSError
        def test_one(broken): pass
    """)
    pytester.runpytest_inprocess("-s", "-p", "no:killmatrix").stdout.fnmatch_lines(["*it does*"])


def test_the_stash_key_of_tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert isinstance(tmppath_result_key, StashKey)
    assert request.node.stash[tmppath_result_key] == {"setup": True}
    assert tmp_path.is_dir()


def test_warnings_can_be_caught_without_an_item(pytestconfig: pytest.Config) -> None:
    with catch_warnings_for_item(pytestconfig, pytestconfig.hook, "runtest", None):
        assert any(entry[2] is DeprecationWarning and entry[0] in ("always", "default") for entry in warnings.filters)


def test_where_pytest_fail_is_raised() -> None:
    assert pytest.fail.__module__ == outcomes.__name__ == "_pytest.outcomes"
    assert pytest.fail.Exception.__name__ == "Failed"
    assert pytest.fail.Exception.__module__ == "builtins"


# -- expectations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        RaisesExc, RaisesGroup, WarningsChecker, unittest.case._AssertRaisesContext,
        unittest.case._AssertWarnsContext, _AssertLogsContext,
    ],
)  # fmt: skip
def test_expectations_decide_in_their_own_exit(kind: type) -> None:
    assert "__exit__" in kind.__dict__
    assert len(inspect.signature(kind.__exit__).parameters) == 4  # type: ignore[attr-defined]


def test_pytest_raises_is_that_class() -> None:
    manager = pytest.raises(KeyError)
    assert isinstance(manager, RaisesExc)
    with pytest.raises(TypeError), manager:
        raise TypeError
    with manager:
        raise KeyError


# -- the clean run -----------------------------------------------------------------------------------------------------


def test_modules_are_run_by_these_two_loaders() -> None:
    assert callable(AssertionRewritingHook.exec_module)
    assert "exec_module" in vars(AssertionRewritingHook)
    loader = importlib.machinery.SourceFileLoader("name", os.__file__)
    assert callable(loader.exec_module)
    assert callable(loader.get_code)
