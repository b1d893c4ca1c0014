"""Which exceptions arrived while the test was waiting for another one.

``with pytest.raises(ValueError)`` lets a TypeError pass through; the test's oracle noticed all the same. The context
managers are wrapped in the zygote, before any test runs.
"""

from __future__ import annotations

import sys
from typing import Any


class Expectations:
    """Remembers the exceptions of the running test that an open expectation did not want."""

    def __init__(self) -> None:
        self._unmet: list[BaseException] = []

    def clear(self) -> None:
        """A new test begins."""
        self._unmet.clear()

    def unmet(self, error: BaseException) -> bool:
        """Whether this exception, or the one it was raised from, met an open expectation for something else."""
        seen = 0
        current: BaseException | None = error
        while current is not None and seen < 20:
            if any(current is known for known in self._unmet):
                return True
            current, seen = current.__cause__ or current.__context__, seen + 1
        return False

    def install(self) -> None:
        """Wrap every expectation class that is loaded."""
        for kind in _expectation_classes():
            self._wrap(kind)

    def _wrap(self, kind: type) -> None:
        original = kind.__dict__["__exit__"]

        def __exit__(manager: Any, kind: Any, error: Any, trace: Any) -> Any:
            __tracebackhide__ = True
            swallowed = original(manager, kind, error, trace)
            if error is not None and not swallowed and isinstance(error, Exception) and not _is_control_flow(error):
                self._unmet.append(error)
            return swallowed

        kind.__exit__ = __exit__  # type: ignore[attr-defined]


def _is_control_flow(error: BaseException) -> bool:
    return type(error).__name__ in ("Skipped", "XFailed", "Exit", "SkipTest", "Failed")


def _expectation_classes() -> list[type]:
    places = (
        ("_pytest.raises", ("RaisesExc", "RaisesGroup")),
        ("_pytest.recwarn", ("WarningsChecker",)),
        ("unittest.case", ("_AssertRaisesContext", "_AssertWarnsContext")),
        ("unittest._log", ("_AssertLogsContext",)),
    )
    found = []
    for module, names in places:
        for name in names:
            kind = getattr(sys.modules.get(module), name, None)
            if isinstance(kind, type) and "__exit__" in kind.__dict__:
                found.append(kind)
    return found
