"""What the controller, the zygote and its children say to each other."""

from __future__ import annotations

import contextlib
import enum
import os
import pickle
import select
import signal
import socket
import struct
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_killmatrix.model import Site

_LENGTH = struct.Struct("=I")


class Purpose(str, enum.Enum):
    """Why a child runs."""

    ROW = "row"
    CONFIRM = "confirm"
    NOOP = "noop"
    LIFE = "life"
    ALONE = "alone"
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Splice:
    """A mutant as bytes: what stands in the file at ``path`` from ``start`` to ``end`` becomes ``text``.

    Without ``marked`` it says nothing of whether it was run. With ``whole`` it is another implementation of the file,
    whose marks say that the module began and came to its end.
    """

    path: str
    start: int
    end: int
    text: bytes
    sha256: str
    marked: bool = True
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Swap:
    """One live code object to replace: ``original`` and ``mutant`` are ``marshal`` bytes."""

    path: str
    line: int
    original: bytes
    mutant: bytes


@dataclass(frozen=True, slots=True)
class Task:
    """One child's work: make a mutant live, run tests in order, write a record for each.

    ``tests`` are the indexes of the collected items whose outcome is wanted; ``needs`` says which others have to run
    before some of them (order-dependent tests).
    ``recollect`` names test files (relative to rootdir) to collect again once the mutant is live, ``recollected`` the
    tests of theirs. ``reload`` names modules to drop before that and to import again, ``own`` those among them that are
    the mutated file: where these cannot be imported, there is nothing to judge; without any, nothing is imported unless
    a test does it. With ``renew`` conftests are loaded again and everything is collected again, or only the test files
    that ``collect`` names: those of all tests of the mutant, of which the child may be asked for more. With ``anew``
    the child starts over as a fresh interpreter, and nothing has to be dropped; ``narrow`` says that it need not
    collect the test files of which no test is to run. With ``apart`` each test runs in a fork of the child that did all
    this, so that none meets what another left behind. With ``hold`` the row runs in a fork, and the child waits for
    more tasks of the same mutant, for which nothing has to be imported and collected again. With ``watch`` it is noted
    which tests leave the mutated module in another state; with ``split`` those after such a one run in another child.
    ``sites`` are probed: the code is the original's, and at each of them it is noted what mutants would make of the
    same operands.
    """

    id: int
    purpose: Purpose
    tests: tuple[int, ...]
    needs: tuple[tuple[int, tuple[int, ...]], ...] = ()
    swaps: tuple[Swap, ...] = ()
    splice: Splice | None = None
    recollect: tuple[str, ...] = ()
    recollected: tuple[int, ...] = ()
    reload: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    renew: bool = False
    anew: bool = False
    apart: bool = False
    hold: bool = False
    watch: bool = False
    split: bool = False
    reach: bool = False
    marked: bool = False  # a noop: every function carries a mark, as mutants do
    lean: bool = False
    narrow: bool = True
    sites: tuple[Site, ...] = ()
    collect: tuple[str, ...] = ()

    def order(self) -> list[int]:
        """Every test to run, in order: that of collection, or as given where no test needs another."""
        wanted = set(self.tests)
        if not self.needs:
            return list(self.tests)
        for test, before in self.needs:
            if test in wanted:
                wanted.update(before)
        return sorted(wanted)

    def dependents(self, test: int) -> set[int]:
        """The wanted tests that cannot run unless ``test`` did before them."""
        return {other for other, before in self.needs if test in before and other in self.tests}


@dataclass(frozen=True, slots=True)
class Started:
    """A child began in this slot."""

    slot: int
    pid: int


@dataclass(frozen=True, slots=True)
class Exited:
    """A child ended: its wait status and CPU seconds."""

    slot: int
    status: int
    cpu: float


# What follows also runs where a mutant or a test may have replaced functions of ``os``: they are bound early.

_fork: Any = getattr(os, "fork", None)  # where there is none, nobody asks for it


def quiet_fork() -> int:
    """``os.fork`` without the warning of 3.12 where other threads live, which is fatal under -W error."""
    if sys.version_info < (3, 12):
        return int(_fork())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid: int = _fork()
    return pid


def wait_for(pid: int, *, _waitpid: Callable[[int, int], tuple[int, int]] = os.waitpid) -> int:
    """The wait status of a child of this process, once it has ended."""
    return _waitpid(pid, 0)[1]


def cause_of_death(status: int) -> str:
    """What a wait status says, for people."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def die_alike(
    status: int,
    *,
    _code_of: Callable[[int], int] = os.waitstatus_to_exitcode,
    _handle: Callable[[int, Any], Any] = signal.signal,
    _kill: Callable[[int, int], None] = os.kill,
    _getpid: Callable[[], int] = os.getpid,
    _exit: Callable[[int], NoReturn] = os._exit,
) -> NoReturn:
    """End this process in the way that a wait status tells of another."""
    code = _code_of(status)
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            _handle(-code, signal.SIG_DFL)
        _kill(_getpid(), -code)
    _exit(code if code >= 0 else 128 - code)


def send_order(fd: int, task: Task | None) -> None:
    """Give a child that waits another task, or let it go."""
    data = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
    data = _LENGTH.pack(len(data)) + data
    while data:
        data = data[os.write(fd, data) :]


def receive_order(fd: int) -> Task | None:
    """The next task of a child that waits; None when there is none, or nobody to give one."""
    header = _read_whole(fd, _LENGTH.size)
    if header is None:
        return None
    data = _read_whole(fd, _LENGTH.unpack(header)[0])
    task: Task | None = pickle.loads(data) if data is not None else None
    return task


def _read_whole(fd: int, size: int, *, _read: Callable[[int, int], bytes] = os.read) -> bytes | None:
    data = b""
    while len(data) < size:
        more = _read(fd, size - len(data))
        if not more:
            return None
        data += more
    return data


@dataclass(slots=True)
class Connection:
    """Length-prefixed pickles over a stream socket."""

    socket: socket.socket
    buffer: bytearray = field(default_factory=bytearray)

    def send(self, message: Any) -> None:
        """Send one message whole."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self.socket.sendall(_LENGTH.pack(len(data)) + data)

    def exchange(self, message: Any) -> list[Any]:
        """Send one message whole, and take what arrives meanwhile: the other end may be waiting for that."""
        if self.socket.fileno() < 0:
            raise BrokenPipeError
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        arrived: list[Any] = []
        while rest:
            readable, writable, _ = select.select([self.socket], [self.socket], [])
            if readable:
                messages = self.receive()
                if messages is None:
                    raise BrokenPipeError
                arrived += messages
            if writable:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[self.socket.send(rest, socket.MSG_DONTWAIT) :]
        return arrived

    def receive(self) -> list[Any] | None:
        """Every message that has arrived, after one read; None when the other end is gone."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            return None
        if not data:
            return None
        self.buffer += data
        messages = []
        while len(self.buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self.buffer)
            if len(self.buffer) < _LENGTH.size + length:
                break
            messages.append(pickle.loads(self.buffer[_LENGTH.size : _LENGTH.size + length]))
            del self.buffer[: _LENGTH.size + length]
        return messages
