"""Shortcuts in pytest's own machinery that change nothing but time; pinned in ``tests/contract``.

A row runs each test a hundred times over, so what pytest works out anew for every fixture is worth keeping.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from typing import Any, Final

import _pytest.fixtures
import _pytest.python
import pytest
from _pytest.scope import Scope

#: they act only on --setup-only, --setup-plan and --setup-show, with which there is no kill matrix
_IDLE_AT_FIXTURES: Final = ("setuponly", "setupplan")

_ASYNC: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

#: plugins whose fixture hooks leave the value of a parameter alone
_IDLE_AT_PARAMETERS: Final = frozenset({"_hypothesis_pytestplugin", "anyio.pytest_plugin", "pytest_asyncio.plugin"})


def install(session: pytest.Session) -> None:
    """Take them in this process, once its session is collected."""
    if not getattr(session.config.option, "setupshow", False):
        for name in _IDLE_AT_FIXTURES:
            plugin = session.config.pluginmanager.get_plugin(name)
            if plugin is not None:
                session.config.pluginmanager.unregister(plugin)
    keep_hook_proxies(session)
    _lighten_request()
    _lighten_call()
    if _nobody_watches(session.config):
        _hand_out_parameters()


def forget(session: pytest.Session) -> None:
    """Conftests are going to change: what was kept of them is not true any more."""
    vars(session).pop("gethookproxy", None)


def keep_hook_proxies(session: pytest.Session) -> None:
    """Which conftests' hooks hold for a path: settled once everything is collected."""
    ask = session.gethookproxy
    kept: dict[Any, Any] = {}

    def gethookproxy(fspath: os.PathLike[str]) -> Any:
        proxy = kept.get(fspath)
        if proxy is None:
            proxy = kept[fspath] = ask(fspath)
        return proxy

    session.gethookproxy = gethookproxy  # type: ignore[method-assign]


def _lighten_request() -> None:
    """pytest 9 reads a signature anew for each fixture that asks for ``request``: that of one and the same lambda."""
    fixtures: Any = _pytest.fixtures
    kind: Any = getattr(fixtures, "RequestFixtureDef", None)
    if kind is None:
        return
    names = fixtures.getfuncargnames
    known = {id(const) for const in kind.__init__.__code__.co_consts if isinstance(const, types.CodeType)}

    def getfuncargnames(function: Any, *rest: Any, **more: Any) -> Any:
        if id(getattr(function, "__code__", None)) in known:
            return ()
        return names(function, *rest, **more)

    fixtures.getfuncargnames = getfuncargnames


def _lighten_call() -> None:
    """pytest asks of each test that it calls whether it is async, by ten calls: nearly always two looks tell."""
    python: Any = _pytest.python
    ask = python.is_async_function

    def is_async_function(function: Any) -> bool:
        plain = function.__func__ if type(function) is types.MethodType else function
        if type(plain) is not types.FunctionType or plain.__code__.co_flags & _ASYNC:
            return bool(ask(function))
        # what a decorator says is in an attribute
        return any(name.startswith("_is_coroutine") for name in plain.__dict__) and bool(ask(function))

    python.is_async_function = is_async_function


def _nobody_watches(config: pytest.Config) -> bool:
    """Whether the hooks around a fixture do nothing for the value of a parameter."""
    hooks = (config.hook.pytest_fixture_setup, config.hook.pytest_fixture_post_finalizer)
    modules = {implementation.function.__module__ for hook in hooks for implementation in hook.get_hookimpls()}
    return all(name.startswith("_pytest.") or name in _IDLE_AT_PARAMETERS for name in modules)


def _hand_out_parameters() -> None:
    """pytest makes a fixture of each parameter, with a request and six calls of hooks; here its value is handed out.

    Only where nobody could notice: a test function asks for its own parameter, of function scope. Whoever depends on
    it is finished with it, as always.
    """
    kind: Any = _pytest.fixtures.TopRequest
    direct: Any = getattr(_pytest.python, "get_direct_param_fixture_func", None)
    ask = kind._get_active_fixturedef

    def _get_active_fixturedef(self: Any, argname: str) -> Any:
        definitions = self._arg2fixturedefs.get(argname)
        if not definitions or definitions[-1].func is not direct or argname in self._fixture_defs:
            return ask(self, argname)
        definition, item = definitions[-1], self._pyfuncitem
        if (
            definition.cached_result is not None
            or item.callspec._arg2scope.get(argname) is not Scope.Function
            or item not in item.session._setupstate.stack
        ):
            return ask(self, argname)
        value = item.callspec.params[argname]
        definition.cached_result = (value, value, None)
        item.addfinalizer(functools.partial(definition.finish, request=self))
        self._fixture_defs[argname] = definition
        return definition

    kind._get_active_fixturedef = _get_active_fixturedef
