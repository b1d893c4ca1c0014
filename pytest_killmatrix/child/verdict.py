"""From what pytest caught to an outcome: whose exception was it, and did an oracle notice?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_killmatrix.model import Outcome, Phase

_MESSAGE_LIMIT = 200
_PACKAGE = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one item, from all of its reports; ``shared`` where a fixture that others use may have failed."""

    outcome: Outcome
    phase: Phase = Phase.CALL
    exception: str | None = None
    message: str | None = None
    raised_at: str | None = None
    flags: tuple[str, ...] = ()
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells an oracle's finding from any other exception.

    ``is_product(filename)`` says whether a file is under mutation; ``unmet(exception)`` whether an expectation
    (``raises``, ``warns``, ``assertRaises``) was open when that exception arrived; ``shorten(filename)`` gives the path
    that people read.
    """

    is_product: Callable[[str], bool]
    unmet: Callable[[BaseException], bool]
    shorten: Callable[[str], str]

    def judge(self, error: BaseException, phase: Phase) -> Verdict:
        """The verdict on an exception that pytest reported as a failure."""
        filename, line = _innermost(error)
        flags: tuple[str, ...] = ()
        if _is_timeout(error, filename):
            outcome = Outcome.TIMEOUT
        elif _is_health_check(error):
            outcome = Outcome.ERROR
        elif any(self._noticed(leaf, filename if leaf is error else None) for leaf in _leaves(error)):
            outcome = Outcome.ASSERTION
        else:
            outcome = Outcome.EXCEPTION
            if isinstance(error, AssertionError):
                flags = ("product_oracle",)
        name = type(error).__qualname__
        return Verdict(
            outcome,
            phase,
            name if type(error).__module__ == "builtins" else f"{type(error).__module__}.{name}",
            first_line(error),
            f"{self.shorten(filename)}:{line}" if filename else None,
            flags,
        )

    def _noticed(self, error: BaseException, raised_in: str | None) -> bool:
        """Whether an oracle raised it; ``raised_in`` is the innermost file, where that is known."""
        if self.unmet(error):
            return True
        if isinstance(error, AssertionError):
            return not self.is_product(_innermost(error)[0] if raised_in is None else raised_in)
        return type(error).__name__ in _ORACLES and type(error).__module__.startswith(_ORACLE_MODULES)


def internal_error(error: Exception, phase: Phase) -> Verdict:
    """pytest itself failed, which it calls INTERNALERROR, and its session is over; raises what our own code raised."""
    if _innermost(error)[0].startswith(_PACKAGE):
        raise error
    return Verdict(Outcome.CRASH, phase, type(error).__qualname__, f"INTERNALERROR: {first_line(error)}")


_ORACLES = frozenset({"Failed", "DocTestFailure", "MultipleDoctestFailures"})
_ORACLE_MODULES = ("_pytest.", "doctest", "builtins")  # pytest.fail.Exception shows itself as builtins.Failed


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, shortened; survives a broken ``__str__``."""
    try:
        text = str(error)
    except Exception as broken:
        text = f"<str() raised {type(broken).__name__}>"
    line = text.strip().split("\n", 1)[0]
    line = line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 1] + "…"
    return line.encode("utf-8", "backslashreplace").decode("utf-8")


def _innermost(error: BaseException) -> tuple[str, int]:
    """Where it was raised; for ``pytest.fail`` and its like, where that was called."""
    innermost, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_globals.get("__name__") != "_pytest.outcomes":
            innermost = step
        step = step.tb_next
    return (innermost.tb_frame.f_code.co_filename, innermost.tb_lineno) if innermost is not None else ("", 0)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    group = getattr(error, "exceptions", None)
    is_group = any(kind.__name__ == "BaseExceptionGroup" for kind in type(error).__mro__)
    if is_group and isinstance(group, tuple):
        for leaf in group:
            yield from _leaves(leaf)
    elif type(error).__name__ == "MultipleDoctestFailures":
        for failure in getattr(error, "failures", ()):
            yield _unwrap_doctest(failure)
    else:
        yield _unwrap_doctest(error)


def _unwrap_doctest(error: BaseException) -> BaseException:
    """An unexpected exception in a doctest carries the real one."""
    info: Any = getattr(error, "exc_info", None)
    if type(error).__name__ == "UnexpectedException" and isinstance(info, tuple) and isinstance(info[1], BaseException):
        return info[1]
    return error


def _is_timeout(error: BaseException, filename: str) -> bool:
    if type(error).__name__ == "DeadlineExceeded" and type(error).__module__.startswith("hypothesis"):
        return True
    plugin = sys.modules.get("pytest_timeout")
    return plugin is not None and type(error).__name__ == "Failed" and filename == getattr(plugin, "__file__", None)


def _is_health_check(error: BaseException) -> bool:
    name, module = type(error).__name__, type(error).__module__
    return module.startswith("hypothesis") and name in ("FailedHealthCheck", "Flaky", "FlakyFailure")
