"""What keeps a forked child from disturbing the others, the parent, or the user's files.

``detach`` and ``begin_capture`` run once in the zygote; ``enter`` in every child. They touch pytest internals, which
``tests/contract/test_pytest_internals.py`` pins.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix.options import NUMBERS

#: plugins that write to the user's screen or files, or that decide by the outcomes of earlier tests
_REPORTERS = (
    "junitxml",
    "pastebin",
    "lfplugin",
    "nfplugin",
    "stepwiseplugin",
    "_cov",
    "_cov_contexts",
    "dsession",
    "html",
    "json_report",
    "terminalprogress-plugin",
    "terminalprogress",
    "killmatrix-session",
)


def detach(config: pytest.Config) -> None:
    """Cut the zygote off from everything that belongs to the parent's run; tests are still what they were."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        # the parent still owns this file: reading or closing it here would cut what the parent captured
        capture.killmatrix_parked, capture._global_capturing = capture._global_capturing, None
    faulthandler.cancel_dump_traceback_later()
    faulthandler.disable()
    _to_devnull(0, os.O_RDONLY)
    _to_devnull(1, os.O_WRONLY)
    _to_devnull(2, os.O_WRONLY)
    _stop_tracers(config)
    _silence_terminal(config)
    timeouts: Any = sys.modules.get("pytest_timeout")
    if timeouts is not None:
        timeouts.timeout_timer = _stop_here
    for name in _REPORTERS:
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            config.pluginmanager.unregister(plugin)
    for plugin in list(config.pluginmanager.get_plugins()):
        if type(plugin).__name__ in ("LogXML", "LFPlugin", "NFPlugin", "StepwisePlugin"):
            config.pluginmanager.unregister(plugin)
    logs = config.pluginmanager.get_plugin("logging-plugin")
    if logs is not None:
        null = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
        # dropping the old stream unclosed would warn, which -W error turns into the first test's failure
        logs.killmatrix_parked = logs.log_file_handler.setStream(null)
        # what pytest's own loop, which does not run here, would set for as long as tests run
        levels = [level for level in (logs.log_cli_level, logs.log_file_level) if level is not None]
        logging.root.setLevel(min([logging.root.level, *levels]))
        logs.log_cli_level = None
    cache = getattr(config, "cache", None)
    if cache is not None:
        cache.set = lambda key, value: None
    config.option.maxfail = 0
    config.option.verbose = min(getattr(config.option, "verbose", 0), 0)  # absent with -p no:terminal


class _SilentReporter:
    """The terminal reporter without its hooks, for whoever asks for it; what it writes goes nowhere."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter

    def __getattr__(self, name: str) -> Any:
        if name.startswith("pytest_"):
            raise AttributeError(name)
        return getattr(self._reporter, name)


def _silence_terminal(config: pytest.Config) -> None:
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter._tw = pytest.TerminalReporter(config, open(os.devnull, "w"))._tw  # noqa: SIM115 - as long as we live
        config.pluginmanager.unregister(reporter)
        config.pluginmanager.register(_SilentReporter(reporter), "terminalreporter")


def _stop_here(*_: object) -> None:
    """In place of what pytest-timeout's threads do: they end the process, and a dead child is a crash.

    A stopped one is found by the controller's clock, which calls it the timeout that it is.
    """
    os.kill(os.getpid(), signal.SIGSTOP)


def settle_hypothesis(items: Sequence[pytest.Item]) -> None:
    """Same examples in every child, no example database, no shrinking: the verdict is all that is wanted."""
    hypothesis = sys.modules.get("hypothesis")
    if hypothesis is None:
        return
    for item in items:
        target: Any = getattr(item, "obj", None)
        target = getattr(target, "__func__", target)
        current = getattr(target, "_hypothesis_internal_use_settings", None)
        if current is None:
            continue
        idle = (hypothesis.Phase.shrink, hypothesis.Phase.explain)
        target._hypothesis_internal_use_settings = hypothesis.settings(
            parent=current,
            database=None,
            derandomize=True,
            phases=tuple(phase for phase in current.phases if phase not in idle),
        )


def random_state() -> Callable[[], None]:
    """Remember the states of the random generators; the result restores them (CPython reseeds after a fork)."""
    state = _random_states()
    return lambda: _restore(state)


def save_random() -> bytes:
    """The states of the random generators, for another interpreter."""
    return pickle.dumps(_random_states())


def load_random(saved: bytes) -> None:
    """Go on from the states that ``save_random`` kept; numpy is not loaded for it."""
    _restore(pickle.loads(saved))


def _random_states() -> tuple[Any, bytes | None]:
    numpy: Any = sys.modules.get("numpy.random")
    # apart, because to unpickle it is to import numpy
    return random.getstate(), pickle.dumps(numpy.get_state()) if numpy is not None else None


def _restore(state: tuple[Any, bytes | None]) -> None:
    own, others = state
    random.setstate(own)
    numpy: Any = sys.modules.get("numpy.random")
    if numpy is not None and others is not None:
        numpy.set_state(pickle.loads(others))


def begin_capture(config: pytest.Config) -> list[int]:
    """Capture as pytest does, suspended; the descriptors of the files that take what is captured.

    A child needs files of its own, or it would share an offset with all others; the objects around them are the same.
    """
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        return []
    capture.start_global_capturing()
    capture.suspend_global_capture(in_=True)
    both = (capture._global_capturing.out, capture._global_capturing.err)
    return [one.tmpfile.fileno() for one in both if hasattr(one, "targetfd_save")]


def enter(config: pytest.Config, captured: Sequence[int], slot: int, slots: int, private: Path) -> None:
    """Give a child its own capture, base temp and worker name."""
    for fd in captured:
        with tempfile.TemporaryFile(buffering=0) as own:
            os.dup2(own.fileno(), fd, inheritable=False)
    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        factory._given_basetemp = private
        factory._basetemp = None
    config.option.basetemp = str(private)
    first, _, total = os.environ.pop(NUMBERS, f"0:{slots}").partition(":")
    if int(total) > 1:
        os.environ["PYTEST_XDIST_WORKER"] = f"gw{int(first) + slot}"
        os.environ["PYTEST_XDIST_WORKER_COUNT"] = total


def _to_devnull(fd: int, flags: int) -> None:
    null = os.open(os.devnull, flags)
    os.dup2(null, fd)
    if null != fd:
        os.close(null)


def _stop_tracers(config: pytest.Config) -> None:
    coverage = sys.modules.get("coverage")
    if coverage is not None:
        with contextlib.suppress(Exception):  # whatever state the user's coverage is in, the tracer goes
            current = coverage.Coverage.current()
            if current is not None:
                current.stop()
    sys.settrace(None)
    threading.settrace(None)
    sys.setprofile(None)
    threading.setprofile(None)
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for tool in range(6):
            if monitoring.get_tool(tool) is not None:
                monitoring.set_events(tool, 0)
