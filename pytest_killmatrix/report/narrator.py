"""Says on pytest's terminal what is going on; on a terminal in one line that is rewritten, elsewhere now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from pytest_killmatrix.report.progress import Progress, ProgressWriter

_REWRITE: Final = 0.1


class Narrator:
    """Progress of one run; silent where pytest has no terminal reporter or was told to be quiet."""

    def __init__(self, terminal: Any, watch: Callable[[], None] = lambda: None) -> None:
        """``watch`` is called now and then, whatever is shown."""
        self.watch = watch
        # a line that takes itself away is no noise; -q asks for less in logs, -qq for nothing
        self._enabled = terminal is not None and terminal.verbosity >= (-1 if terminal.isatty else 0)
        self._tty = bool(self._enabled and terminal.isatty)
        self._writer: Any = terminal.config.get_terminal_writer() if self._enabled else None
        self._line: ProgressWriter | None = None
        self._progress: Progress | None = None
        self._phase = ""
        self._done, self._total, self._shown, self._last = 0, 0, 0, 0.0
        if self._enabled:
            terminal.ensure_newline()

    def say(self, phase: str, total: int = 0) -> None:
        """A step begins, of ``total`` pieces if that is known."""
        self._phase, self._done, self._total, self._last = phase, 0, total, 0.0
        self.tick()

    def cells(self, total: int) -> None:
        """The matrix itself begins: from here on with the time left."""
        self.clear()
        self._phase = ""
        if self._enabled:
            self._progress = Progress(total, float(total))
            self._line = ProgressWriter(self._writer, terminal=self._tty, width=self._writer.fullwidth)

    def advance(self, pieces: int = 1) -> None:
        """Some pieces are done."""
        self._done += pieces
        if self._progress is not None:
            self._progress.advance(pieces, float(pieces))

    def tick(self) -> None:
        """Refresh, if it is time."""
        self.watch()
        if self._line is not None and self._progress is not None:
            self._line.update(self._progress)
        elif self._tty and self._phase and time.monotonic() - self._last > _REWRITE:
            self._last = time.monotonic()
            text = f"kill matrix: {self._phase}" + (f" {self._done:,}/{self._total:,}" if self._total else "")
            self._rewrite(text[: self._writer.fullwidth - 1])

    def clear(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.clear()
            self._line = self._progress = None
        if self._shown:
            self._writer.write("\r" + " " * self._shown + "\r")
            self._writer.flush()
            self._shown = 0

    def _rewrite(self, text: str) -> None:
        self._writer.write("\r" + text + " " * (self._shown - len(text)))
        self._writer.flush()
        self._shown = len(text)
