"""Shortcuts in pytest's own machinery that change nothing but time; pinned in ``tests/contract``.

A row runs each test a hundred times over, so what pytest works out anew for every fixture is worth keeping.
"""

from __future__ import annotations

import os
import types
from typing import Any

import _pytest.fixtures
import pytest

#: they act only on --setup-only, --setup-plan and --setup-show, with which there is no kill matrix
_IDLE_AT_FIXTURES = ("setuponly", "setupplan")


def install(session: pytest.Session) -> None:
    """Take them in this process, once its session is collected."""
    if not getattr(session.config.option, "setupshow", False):
        for name in _IDLE_AT_FIXTURES:
            plugin = session.config.pluginmanager.get_plugin(name)
            if plugin is not None:
                session.config.pluginmanager.unregister(plugin)
    keep_hook_proxies(session)
    _lighten_request()


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
