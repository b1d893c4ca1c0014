"""Memory that a child and the controller share, one block a slot.

A child writes what it finds into its slot's log without a system call; what it wrote survives its death, so a verdict
that was reached is never lost and one that was not reached is never there. The block is a mapped file, so that forked
workers and child interpreters of a test reach the marks too.
"""

from __future__ import annotations

import marshal
import mmap
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.activation.interpreter import AS_TEXT, UNOBSERVED

ENTERED: Final = 0
EVALUATED: Final = 1
#: in place of a test: files are being collected under the mutant; a session is being collected for it
COLLECTING: Final = -1
PREPARING: Final = -2
_STAGE: Final = 3

_HEADER: Final = 64
_SIZE: Final = 1 << 22
_TAIL: Final = 8  # bytes ever written to the log
_HEAD: Final = 16  # bytes ever consumed
_CURRENT: Final = 24  # the running test plus three, 0 between tests
_STARTED: Final = 32  # when it started, seconds of the monotonic clock
_WORKER: Final = 40  # the process that runs it
_LATEST: Final = 48  # the test that started last, plus three; it stays when that ends
_COUNTER = struct.Struct("@Q")  # native: copied at once, where "=" goes byte by byte and can be seen half written
_CLOCK = struct.Struct("@d")
_LENGTH = struct.Struct("=I")


class Slot:
    """One slot's shared block: marks, the running test, and a log of records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(_HEADER + _SIZE)
            self.memory = mmap.mmap(file.fileno(), _HEADER + _SIZE)

    @classmethod
    def attach(cls, path: Path) -> Slot:
        """The block at ``path``, which another process made."""
        slot = cls.__new__(cls)
        slot.path = path
        with open(path, "r+b") as file:
            slot.memory = mmap.mmap(file.fileno(), _HEADER + _SIZE)
        return slot

    # -- the child's side ------------------------------------------------------------------------------------------

    def begin(self, test: int, *, _now: Callable[[], float] = time.monotonic) -> None:
        """A test starts (or a collection): clear the marks, note which and when.

        The clock is bound early, because tests freeze it.
        """
        memory = self.memory
        memory[0] = memory[1] = memory[2] = memory[_STAGE] = 0
        _CLOCK.pack_into(memory, _STARTED, _now())
        _COUNTER.pack_into(memory, _CURRENT, test + 3)
        _COUNTER.pack_into(memory, _LATEST, test + 3)

    def works(self, pid: int) -> None:
        """This process runs the tests."""
        _COUNTER.pack_into(self.memory, _WORKER, pid)

    def latest(self) -> int:
        """The test that started last."""
        return self._read(_LATEST) - 3

    def written(self) -> int:
        """Bytes ever written to the log."""
        return self._read(_TAIL)

    def note(self, stage: int) -> None:
        """The running test has come to this stage."""
        self.memory[_STAGE] = stage

    def marks(self) -> tuple[bool, bool]:
        """(entered, evaluated) since the last ``begin``."""
        return bool(self.memory[ENTERED]), bool(self.memory[EVALUATED])

    def note_reading(self) -> None:
        """The running test read the source of the mutated file."""
        self.memory[UNOBSERVED] = AS_TEXT

    def write(self, record: tuple[Any, ...], *, _sleep: Callable[[float], None] = time.sleep) -> None:
        """Append a record of plain values; waits while the controller is a full log behind."""
        data = marshal.dumps(record)
        data = _LENGTH.pack(len(data)) + data
        tail = self._read(_TAIL)
        while tail + len(data) - self._read(_HEAD) > _SIZE:
            _sleep(0.001)
        at = tail % _SIZE
        first = min(len(data), _SIZE - at)
        self.memory[_HEADER + at : _HEADER + at + first] = data[:first]
        if first < len(data):
            self.memory[_HEADER : _HEADER + len(data) - first] = data[first:]
        _COUNTER.pack_into(self.memory, _TAIL, tail + len(data))

    def idle(self) -> None:
        """No test is running."""
        _COUNTER.pack_into(self.memory, _CURRENT, 0)

    # -- the controller's side -------------------------------------------------------------------------------------

    def current(self) -> tuple[int, float] | None:
        """The running test and its start on the monotonic clock, or None between tests."""
        test = self._read(_CURRENT)
        started: float = _CLOCK.unpack_from(self.memory, _STARTED)[0]
        return (test - 3, started) if test else None

    def worker(self) -> int:
        """The process that runs the tests, as it said itself."""
        return self._read(_WORKER)

    def stage(self) -> int:
        """The stage that the running test has come to."""
        return self.memory[_STAGE]

    def read(self) -> list[tuple[Any, ...]]:
        """Every record written since the last call, in order."""
        records: list[tuple[Any, ...]] = []
        head, tail = self._read(_HEAD), self._read(_TAIL)
        if tail <= head:
            return records
        data = memoryview(self._copy(head, tail - head))
        at = 0
        # whole ones only: where a counter is not written at once, what is read while it is may be too small
        while at + _LENGTH.size <= len(data):
            (length,) = _LENGTH.unpack_from(data, at)
            end = at + _LENGTH.size + length
            if end > len(data):
                break
            records.append(marshal.loads(data[at + _LENGTH.size : end]))
            at = end
        _COUNTER.pack_into(self.memory, _HEAD, head + at)
        return records

    def close(self) -> None:
        """Unmap the block and remove its file."""
        self.memory.close()
        os.unlink(self.path)

    def _read(self, offset: int) -> int:
        value: int = _COUNTER.unpack_from(self.memory, offset)[0]
        return value

    def _copy(self, position: int, length: int) -> bytes:
        at = position % _SIZE
        first = min(length, _SIZE - at)
        data = self.memory[_HEADER + at : _HEADER + at + first]
        return data if first == length else data + self.memory[_HEADER : _HEADER + length - first]
