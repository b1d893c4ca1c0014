"""Two processes that talk: length-prefixed pickles over a pair of pipes.

Pipes, because a connected socket would count as a reason not to fork.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
from dataclasses import dataclass, field
from typing import Any, Final

_LENGTH: Final = struct.Struct("=I")


class LineBroken(Exception):
    """The other process is gone."""


@dataclass(slots=True)
class Line:
    """One end: descriptors to read from and to write to."""

    reading: int
    writing: int
    _buffer: bytearray = field(default_factory=bytearray)
    _arrived: list[Any] = field(default_factory=list)

    def say(self, message: Any) -> None:
        """Send one message whole; LineBroken where nobody takes it."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        try:
            while rest:
                rest = rest[os.write(self.writing, rest) :]
        except BrokenPipeError as error:
            raise LineBroken from error

    def heard(self, seconds: float) -> bool:
        """Whether a message is there, after waiting so long at most; LineBroken where none will come any more."""
        while not self._arrived:
            ready, _, _ = select.select([self.reading], [], [], seconds)
            if not ready:
                return False
            data = os.read(self.reading, 1 << 16)
            if not data:
                raise LineBroken
            self._buffer += data
            self._take()
        return True

    def next(self) -> Any:
        """The next message, which ``heard`` said is there."""
        return self._arrived.pop(0)

    def close(self) -> None:
        """Let go of both ends."""
        for descriptor in (self.reading, self.writing):
            if descriptor >= 0:
                os.close(descriptor)
        self.reading = self.writing = -1

    def _take(self) -> None:
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < _LENGTH.size + length:
                return
            self._arrived.append(pickle.loads(self._buffer[_LENGTH.size : _LENGTH.size + length]))
            del self._buffer[: _LENGTH.size + length]
