"""The progress line of the kill matrix, with the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

Clock = Callable[[], float]


class Stream(Protocol):
    """Where the line goes: a text stream, or an adapter of pytest's terminal writer."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class Progress:
    """How much is done, in cells for people and in cost for the time left.

    ``weight`` is any estimate of cost that is proportional to time, for example the clean duration of a cell's test
    plus an overhead for each mutant.
    """

    def __init__(self, cells: int, weight: float, clock: Clock = time.monotonic) -> None:
        self.cells = cells
        self.weight = weight
        self.done_cells = 0
        self.done_weight = 0.0
        self._clock = clock
        self._started = clock()

    def advance(self, cells: int, weight: float) -> None:
        """Some work is done."""
        self.done_cells += cells
        self.done_weight += weight

    @property
    def fraction(self) -> float:
        """Share of the cost that is behind us, from 0 to 1."""
        if self.weight <= 0:
            return 1.0
        return min(max(self.done_weight / self.weight, 0.0), 1.0)

    @property
    def elapsed(self) -> float:
        return max(self._clock() - self._started, 0.0)

    def seconds_left(self) -> float | None:
        """Estimate from the cost done so far; None before there is anything to go by."""
        if self.fraction >= 1.0:
            return 0.0
        if self.fraction <= 0.0 or self.elapsed < 0.5:
            return None
        return self.elapsed * (1 - self.fraction) / self.fraction

    def text(self, width: int = 80) -> str:
        """The line, at most ``width`` columns: details at its end go first."""
        left = self.seconds_left()
        if self.fraction >= 1.0:  # how much of this there is only turns out while it is done
            state = "running again what decides"
        else:
            state = "estimating" if left is None else f"{clock_time(left)} left"
        parts = [
            f"kill matrix {int(100 * self.fraction):3d}%",
            state,
            f"{self.done_cells:,} of {self.cells:,} cells",
        ]
        while len(parts) > 1 and len(", ".join(parts)) > width:
            parts.pop()
        return ", ".join(parts)[: max(width, 0)]


def clock_time(seconds: float) -> str:
    """``0:07``, ``12:34``, ``1:02:03``."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressWriter:
    """Rewrites one line on a terminal; elsewhere writes a line now and then."""

    REWRITE_SECONDS = 0.1
    QUIET_SECONDS = 30.0

    def __init__(
        self, stream: Stream, *, terminal: bool, width: int = 80, clock: Clock = time.monotonic, enabled: bool = True
    ) -> None:
        self._stream = stream
        self._terminal = terminal
        self._width = width
        self._clock = clock
        self._enabled = enabled
        self._shown = 0
        # On a terminal the first line appears at once; in a log only a run that takes long deserves one.
        self._next = clock() + (0.0 if terminal else self.QUIET_SECONDS)

    def update(self, progress: Progress) -> None:
        """Show the state, unless it was shown a moment ago; cheap enough to call for every cell."""
        now = self._clock()
        if not self._enabled or now < self._next:
            return
        self._next = now + (self.REWRITE_SECONDS if self._terminal else self.QUIET_SECONDS)
        # The last column stays free: writing there makes some terminals wrap.
        text = progress.text(self._width - 1)
        if self._terminal:
            self._stream.write("\r" + text + " " * (self._shown - len(text)))
            self._shown = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, before anything else is written."""
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()
            self._shown = 0
