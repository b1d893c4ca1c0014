"""What this process was before any code of the project ran, and what has changed since."""

from __future__ import annotations

import atexit
import builtins
import copyreg
import locale
import logging
import os
import random
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pytest_killmatrix.sandbox.inside import Inside

#: set by pytest and its plugins for themselves
_NOT_THE_PROJECTS: Final = ("PYTEST_", "COV_CORE_", "COVERAGE_")


class Surroundings:
    """The state of the process that imports may change and no second import takes back; kept as a plugin.

    ``environ`` is the environment as it was; ``sandbox`` knows the user's tree, in a copy of it.
    """

    NAME: Final = "killmatrix-surroundings"

    def __init__(self, sandbox: Inside | None = None) -> None:
        self.sandbox = sandbox
        self.environ = dict(os.environ)
        self.screens = [os.fstat(number) for number in (1, 2) if _is_open(number)]  # before pytest captures
        self._before = _state()

    @classmethod
    def of(cls, config: pytest.Config) -> Surroundings:
        """Those of this session."""
        found = config.pluginmanager.get_plugin(cls.NAME)
        assert isinstance(found, cls)
        return found

    def settle(self) -> None:
        """What tests draw at random is the same in every run, unless the project or a plugin seeds the generator."""
        random.seed(0)

    def changed(self) -> frozenset[str]:
        """Which aspects of the state are not what they were."""
        now = _state()
        return frozenset(aspect for aspect in now if not _same(self._before[aspect], now[aspect]))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _state() -> dict[str, Any]:
    count: Any = getattr(atexit, "_ncallbacks", None)
    loggers: dict[str, Any] = {"": logging.root, **logging.root.manager.loggerDict}
    return {
        "atexit": count() if count is not None else object(),  # unknown: never the same
        "builtins": dict(vars(builtins)),
        "copyreg": dict(copyreg.dispatch_table),
        "environ": {name: value for name, value in os.environ.items() if not name.startswith(_NOT_THE_PROJECTS)},
        "finders": [*sys.meta_path, None, *sys.path_hooks],
        "locale": locale.setlocale(locale.LC_ALL),
        "logging": [
            *((name, logger.level, *logger.handlers) for name, logger in loggers.items() if _is_set_up(logger)),
            logging.getLevelName(25),
            len(getattr(logging, "_levelToName", ())),
        ],
        "recursion": sys.getrecursionlimit(),
        "warnings": list(warnings.filters),
    }


def _is_set_up(logger: Any) -> bool:
    return bool(getattr(logger, "handlers", None)) or getattr(logger, "level", 0) != 0


def _same(before: Any, now: Any) -> bool:
    """Whether two states hold the same objects; equal text and numbers will do."""
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(_same(before[name], now[name]) for name in before)
    if isinstance(before, (list, tuple)):
        return len(before) == len(now) and all(map(_same, before, now))
    if isinstance(before, (str, int, type(None))) and type(before) is type(now):
        return bool(before == now)
    return before is now
