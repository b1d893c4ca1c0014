"""What keeps a fresh interpreter of ours off the user's files and screen, and from running tests anywhere but here."""

from __future__ import annotations

from typing import Any

import pytest


class Private:
    """A plugin of such an interpreter."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Nothing ends early, nothing is reported, nothing is distributed."""
        option: Any = config.option
        option.maxfail = 0
        option.xmlpath = None
        option.usepdb = option.trace = False
        option.dist, option.tx, option.numprocesses = "no", [], None
        config.pluginmanager.set_blocked("terminalprogress")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Nothing is written to the cache, however this session ends."""
        config = session.config
        for plugin in list(config.pluginmanager.get_plugins()):
            if type(plugin).__name__ in ("LogXML", "LFPlugin", "NFPlugin", "StepwisePlugin"):
                config.pluginmanager.unregister(plugin)
        cache = getattr(config, "cache", None)
        if cache is not None:
            cache.set = lambda key, value: None
