"""Collect everything anew in a child, conftests included: for a mutant of something that a conftest took values from.

pytest is not started again: its plugins stay as they are, while conftests, the session and its fixtures are made anew.
So conftests may only have hooks that are called later than that (``obstacle``).
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import _pytest.assertion
import _pytest.fixtures
import _pytest.runner
import pytest

#: hooks that pytest calls before it collects, and will not call again
_EARLY: Final = frozenset({
    "pytest_addhooks", "pytest_addoption", "pytest_cmdline_main", "pytest_cmdline_parse", "pytest_collection",
    "pytest_configure", "pytest_load_initial_conftests", "pytest_plugin_registered", "pytest_sessionstart",
})  # fmt: skip

#: plugins known not to keep the session that they see start
_FORGETFUL: Final = frozenset({"_hypothesis_pytestplugin", "pytest_cov.plugin", "xdist.dsession"})


def conftests(config: pytest.Config) -> list[types.ModuleType]:
    """The conftests that are loaded, in the order of loading."""
    manager: Any = config.pluginmanager
    known = {id(module) for module in manager._conftest_plugins}
    return [plugin for _, plugin in manager.list_name_plugin() if id(plugin) in known]


def obstacle(config: pytest.Config) -> str | None:
    """Why the session cannot be made anew, or None."""
    for module in conftests(config):
        early = sorted(_EARLY & vars(module).keys())
        if early:
            return f"{module.__file__} has {early[0]}"
    for implementation in config.hook.pytest_sessionstart.get_hookimpls():
        module_name = implementation.function.__module__
        if not module_name.startswith("_pytest.") and module_name not in _FORGETFUL:
            return f"{module_name} has pytest_sessionstart"
    return None


def drop(config: pytest.Config) -> list[Path]:
    """Forget every conftest, to be called before what they took values from is imported again; their paths."""
    manager: Any = config.pluginmanager
    old = conftests(config)
    gone = {id(module) for module in old}
    for module in old:
        manager.unregister(module)
        manager._conftest_plugins.discard(module)
    for modules in manager._dirpath2confmods.values():
        modules[:] = [module for module in modules if id(module) not in gone]
    for name, module in list(sys.modules.items()):
        if id(module) in gone:
            del sys.modules[name]
    # who registers later is told of every plugin there ever was
    history = manager.hook.pytest_plugin_registered._call_history
    history[:] = [call for call in history if id(call[0]["plugin"]) not in gone]
    return [Path(str(module.__file__)) for module in old]


def load(config: pytest.Config, paths: Iterable[Path]) -> None:
    """Load conftests, in this order; raises what pytest raises where one cannot be imported."""
    manager: Any = config.pluginmanager
    namespaces = config.getini("consider_namespace_packages")
    mode = config.getoption("importmode")
    for path in paths:
        manager._importconftest(path, mode, config.rootpath, consider_namespace_packages=namespaces)


def new_session(old: pytest.Session) -> pytest.Session:
    """A session in the old one's place, ready to collect."""
    manager = old.config.pluginmanager
    manager.unregister(name="funcmanage")
    manager.unregister(old)
    session = pytest.Session.from_config(old.config)
    _pytest.fixtures.pytest_sessionstart(session)
    _pytest.runner.pytest_sessionstart(session)
    _pytest.assertion.pytest_collection(session)
    return session
