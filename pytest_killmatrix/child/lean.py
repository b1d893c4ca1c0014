"""The lean path: plain test functions without the hooks that would do nothing for them.

It is taken only where every implementation of the hooks it leaves out is on a pinned list, for items that no left-out
hook could treat specially; the noop control runs through it and through the full path, and one difference switches it
off for the session. Everything that a test can see stays: captured streams, log handlers, warning filters,
``PYTEST_CURRENT_TEST``, set-up and tear-down in pytest's own order.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from _pytest.python import pytest_pyfunc_call
from _pytest.threadexception import collect_thread_exception, thread_exceptions
from _pytest.tmpdir import tmppath_result_key
from _pytest.unraisableexception import collect_unraisable, unraisable_exceptions
from _pytest.warnings import catch_warnings_for_item

from pytest_killmatrix.child.expectations import Expectations
from pytest_killmatrix.child.recollect import ends_shared, shared_set_up_failed, shared_tear_down
from pytest_killmatrix.child.records import Stage
from pytest_killmatrix.child.running import SessionEnded
from pytest_killmatrix.child.verdict import Judge, Verdict, first_line
from pytest_killmatrix.model import Outcome, Phase

_HOOKS: Final = (
    "pytest_runtest_protocol",
    "pytest_runtest_logstart",
    "pytest_runtest_logfinish",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_pyfunc_call",
    "pytest_exception_interact",
    "pytest_report_teststatus",
)

#: modules whose implementations of these hooks do nothing for an eligible item that is not done here
_CORE: Final = frozenset(
    f"_pytest.{name}"
    for name in (
        "assertion", "cacheprovider", "capture", "debugging", "faulthandler", "junitxml", "legacypath", "logging",
        "main", "nose", "pastebin", "python", "runner", "setuponly", "setupplan", "skipping", "stepwise", "subtests",
        "terminal", "terminalprogress", "threadexception", "tmpdir", "unittest", "unraisableexception", "warnings",
    )
)  # fmt: skip
_OURS: Final = frozenset({"pytest_killmatrix.child.running", "pytest_killmatrix.plugin"})
_RESEEDS: Final = "pytest_randomly"
_IDLE_MARKS: Final = frozenset(
    {"skip", "skipif", "xfail", "filterwarnings", "asyncio", "anyio", "timeout", "trio", "flaky"}
)
_SPECIAL_FIXTURES: Final = frozenset(
    {
        "caplog", "capsys", "capsysbinary", "capfd", "capfdbinary", "capteesys", "recwarn", "subtests", "pytester",
        "record_property", "record_xml_attribute", "record_testsuite_property", "testdir",
    }
)  # fmt: skip
_READ_EVERY: Final = 100  # tests between emptying the captured output


def obstacle(config: pytest.Config) -> str | None:
    """Why no item of this session may take the lean path, or None."""
    if config.getini("log_cli") or config.getoption("log_cli_level", None) or config.getoption("runxfail", False):
        return "live logs or --runxfail"
    for name in _HOOKS:
        for implementation in getattr(config.hook, name).get_hookimpls():
            module = implementation.function.__module__
            if module not in _CORE and module not in _OURS and not _idle(module, config):
                return f"{module} implements {name}"
    return None


def _idle(module: str, config: pytest.Config) -> bool:
    """Well-known plugins whose hooks leave an eligible item alone."""
    if module == "_hypothesis_pytestplugin":
        return "hypothesis" not in sys.modules
    if module == "pytest_timeout":
        return not config.getoption("timeout", None) and not config.getini("timeout")
    return module in ("pytest_asyncio.plugin", "anyio.pytest_plugin", "xdist.plugin", _RESEEDS)


def eligible(item: pytest.Item) -> bool:
    """Whether the lean path is right for an item, in a session without ``obstacle``."""
    if (
        type(item) is not pytest.Function
        or inspect.iscoroutinefunction(item.obj)
        or inspect.isasyncgenfunction(item.obj)
    ):
        return False
    if any(mark.name in _IDLE_MARKS for mark in item.iter_markers()):
        return False
    return _SPECIAL_FIXTURES.isdisjoint(item.fixturenames)


class LeanRunner:
    """Runs eligible items; ``enter`` prepares the child once, so that a test costs little beside itself."""

    def __init__(self, config: pytest.Config, judge: Judge, expectations: Expectations) -> None:
        self._config = config
        self._judge = judge
        self._expectations = expectations
        self._stack = contextlib.ExitStack()
        manager = config.pluginmanager
        self._capture: Any = manager.get_plugin("capturemanager")
        logs: Any = manager.get_plugin("logging-plugin")
        self._handlers: tuple[Any, ...] = (logs.caplog_handler, logs.report_handler) if logs is not None else ()
        self._log_level: int | None = logs.log_level if logs is not None else None
        self._quiet_level = logging.root.level
        reseeding: Any = next(
            (plugin for plugin in manager.get_plugins() if getattr(plugin, "__name__", "") == _RESEEDS), None
        )
        self._reseeding = [
            getattr(reseeding, f"pytest_runtest_{phase}", None) for phase in ("setup", "call", "teardown")
        ]
        # exceptions in threads and finalizers: warnings that fail the test where warnings are errors
        collectors: tuple[tuple[str, Callable[[pytest.Config], None], Any], ...] = (
            ("unraisableexception", collect_unraisable, unraisable_exceptions),
            ("threadexception", collect_thread_exception, thread_exceptions),
        )
        self._collectors = [
            (config.stash[waiting], collect) for name, collect, waiting in collectors if manager.has_plugin(name)
        ]
        self._since_read = 0
        self._descriptors: list[int] = []
        self.note: Callable[[int], None] = lambda stage: None

    def enter(self) -> None:
        """What the left-out hooks would set up around every test: warning filters here, streams and logs later."""
        filters = catch_warnings_for_item(self._config, self._config.hook, "runtest", None)
        self._stack.enter_context(filters)
        self._filters = list(warnings.filters)
        self._show = warnings.showwarning
        self._quiet_level = logging.root.level
        self._descriptors = _descriptors(self._capture)
        for handler in self._handlers if self._log_level is not None else ():
            handler.setLevel(self._log_level)

    def run(self, item: pytest.Function, nextitem: pytest.Item | None) -> Verdict:
        """The verdict on one item; raises SessionEnded where it ended pytest's session."""
        self._before()
        state: Any = item.session._setupstate
        anything: Any = item
        if not anything._request:
            anything._initrequest()
        verdict: Verdict | None = None
        current = item.nodeid.replace("\x00", "(null)")
        phase = Phase.SETUP
        try:
            try:
                self.note(Stage.SET_UP)
                self._begin(f"{current} (setup)")
                self._reseed(0, item)
                state.setup(item)
                self._collect()
                phase = Phase.CALL
                self.note(Stage.CALL)
                self._begin(f"{current} (call)")
                self._reseed(1, item)
                pytest_pyfunc_call(item)
                self._collect()
            except BaseException as error:
                verdict = self._caught_one(item, error, phase)
            phase = Phase.TEARDOWN
            item.stash[tmppath_result_key] = {"setup": True, "call": verdict is None}
            try:
                self.note(Stage.SHARED_TEAR_DOWN if ends_shared(item, nextitem) else Stage.TEAR_DOWN)
                self._begin(f"{current} (teardown)")
                self._reseed(2, item)
                state.teardown_exact(nextitem)
                self._collect()
            except BaseException as error:
                late = self._caught_one(item, error, phase)
                verdict = late if verdict is None or not verdict.outcome.kills else verdict
            os.environ.pop("PYTEST_CURRENT_TEST", None)
        finally:
            anything._request = False
            anything.funcargs = None
            self._restore_warnings()
            self._log_at(self._quiet_level)
        return verdict or self._closed_streams() or Verdict(Outcome.PASSED)

    def _begin(self, current: str) -> None:
        """A phase begins: pytest names it in the environment, and sets the level that it was told to log at."""
        os.environ["PYTEST_CURRENT_TEST"] = current
        if self._log_level is not None:
            self._log_at(min(self._quiet_level, self._log_level))

    def _log_at(self, level: int) -> None:
        if self._log_level is not None and logging.root.level != level:
            logging.root.setLevel(level)

    def _restore_warnings(self) -> None:
        """pytest gives every test the filters it began with."""
        if warnings.filters != self._filters or warnings.showwarning is not self._show:
            warnings.filters[:] = self._filters  # type: ignore[index]
            warnings.showwarning = self._show
            with warnings.catch_warnings():
                pass  # leaving it tells the interpreter that the filters changed

    def _closed_streams(self) -> Verdict | None:
        """pytest reads what was captured after every phase, and fails where the test closed its streams or files."""
        if self._capture is None:
            return None
        if any(getattr(stream, "closed", False) for stream in (sys.stdout, sys.stderr)):
            return Verdict(Outcome.EXCEPTION, Phase.CALL, "ValueError", "I/O operation on closed file.")
        try:
            for fd in self._descriptors:
                os.fstat(fd)
        except OSError as error:
            return Verdict(Outcome.EXCEPTION, Phase.CALL, type(error).__name__, first_line(error))
        return None

    def _caught_one(self, item: pytest.Item, error: BaseException, phase: Phase) -> Verdict:
        if isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
            found = self._judge.judge(error, phase)
            raise SessionEnded(
                Verdict(Outcome.CRASH, phase, found.exception, found.message, found.raised_at)
            ) from error
        if isinstance(error, pytest.skip.Exception) or _is_unittest_skip(error):
            return Verdict(Outcome.SKIPPED, phase, None, first_line(error))
        if isinstance(error, pytest.xfail.Exception):
            return Verdict(Outcome.PASSED, phase)
        if phase is Phase.CALL and isinstance(error, Exception):
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        shared = (phase is Phase.SETUP and shared_set_up_failed(item)) or (
            phase is Phase.TEARDOWN and shared_tear_down(item)
        )
        found = self._judge.judge(error, phase)
        return replace(found, shared=True) if shared else found

    def _before(self) -> None:
        self._expectations.clear()
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            sys.__dict__.pop(name, None)
        if self._capture is not None:
            self._capture.resume_global_capture()
            self._since_read += 1
            if self._since_read >= _READ_EVERY:
                self._since_read = 0
                self._capture.read_global_capture()
        root = logging.root
        for handler in self._handlers:
            if handler not in root.handlers:
                root.addHandler(handler)
            handler.reset()

    def _collect(self) -> None:
        for waiting, collect in self._collectors:
            if waiting:
                collect(self._config)

    def _reseed(self, which: int, item: pytest.Item) -> None:
        hook = self._reseeding[which]
        if hook is not None:
            hook(item)

    def leave(self) -> None:
        """Before an item takes the full path: what that path sets up itself must not be there already."""
        if self._capture is not None:
            self._capture.suspend_global_capture(in_=True)
        for handler in self._handlers:
            logging.root.removeHandler(handler)


def _descriptors(manager: Any) -> list[int]:
    """Where pytest captures descriptors: those that it needs to go on after a test."""
    capturing: Any = getattr(manager, "_global_capturing", None)
    captures: list[Any] = [getattr(capturing, name, None) for name in ("out", "err")]
    return [
        fd
        for capture in captures
        if hasattr(capture, "targetfd_save")
        for fd in (capture.targetfd_save, capture.tmpfile.fileno())
    ]


def _is_unittest_skip(error: BaseException) -> bool:
    case: Any = sys.modules.get("unittest.case")
    return case is not None and isinstance(error, case.SkipTest)
