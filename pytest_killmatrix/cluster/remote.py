"""What runs on a Dask worker: it starts one held session for each run, gives it batches, and ends it.

The worker is a process of many threads, so nothing is forked from it: a session is an interpreter that it starts. That
one ends itself when the worker does, since it reads from a pipe that nobody else holds.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.cluster import project
from pytest_killmatrix.cluster.messages import Seat, Snapshot, Terms
from pytest_killmatrix.executor.fresh import PACKAGE, unmeasured
from pytest_killmatrix.sandbox import disposal

SPEC: Final = "session"  # in a session's folder: what it is told
SCREEN: Final = "screen"
_CODE: Final = "import sys; sys.path.insert(0, sys.argv[1]); from pytest_killmatrix.cluster.held import main; main()"
_PATIENCE: Final = 20.0  # seconds for a session to leave
_LOOK: Final = 0.5  # seconds between looks whether it lives
_SEED: Final = "PYTHONHASHSEED"


class SessionLost(Exception):
    """The session ended, or there is none: the batch may run again elsewhere."""


class SessionRefused(Exception):
    """No session of this worker could say what the controller's would."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a session is told: the snapshot, and where it is here."""

    snapshot: Snapshot
    terms: Terms
    seat: Seat
    root: str
    arguments: tuple[str, ...]


@dataclass(slots=True)
class _Session:
    """A held session as its worker knows it."""

    process: subprocess.Popen[bytes]
    line: Line
    folder: Path
    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False

    def hear(self, seconds: float) -> Any:
        """Its next message; SessionLost when it ends without one, or says nothing for so long."""
        until = time.monotonic() + seconds
        try:
            while not self.line.heard(_LOOK):
                if self.process.poll() is not None or self.closed:
                    raise LineBroken
                if time.monotonic() > until:
                    self.end()
                    raise SessionLost(f"it said nothing for {seconds:.0f} seconds")
        except (LineBroken, OSError, ValueError):
            raise SessionLost(self.last_words()) from None
        return self.line.next()

    def last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_LOOK)
        lines: list[str] = []
        with contextlib.suppress(OSError):
            text = (self.folder / SCREEN).read_text(encoding="utf-8", errors="replace")
            lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"its process ended ({self.process.returncode}): {' | '.join(lines[-2:])[-300:] or 'without a word'}"

    def leave(self) -> None:
        """Have it end by itself; at once, also in the middle of a batch."""
        self.closed = True
        if self.line.writing >= 0:
            writing, self.line.writing = self.line.writing, -1
            os.close(writing)

    def end(self) -> None:
        """It has ended, with all that it started, and left nothing."""
        self.leave()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        disposal.remove(self.folder)


#: of this worker's process, by the snapshot's key
_HELD: Final[dict[str, _Session]] = {}


class Anchor:
    """The session's hold on the cluster: kept there for as long as the client that asked for it lives.

    Where the client is killed, the scheduler lets go of it, and the session ends.
    """

    def __init__(self, key: str, cpu: float) -> None:
        self.cpu = cpu
        self._session = _HELD[key]
        self._key = key

    def __reduce__(self) -> Any:
        return Holding, (self.cpu,)  # elsewhere it is only a word

    def __del__(self) -> None:
        if _HELD.get(self._key) is self._session:
            del _HELD[self._key]
        self._session.leave()
        # this is a thread that must not wait
        threading.Thread(target=self._session.end, daemon=True).start()


@dataclass(frozen=True, slots=True)
class Holding:
    """What is said of a session: the CPU seconds that it took to begin."""

    cpu: float


def is_visible(root: str, cwd: str, manifest: Mapping[str, str]) -> bool:
    """Whether the project can be seen by this worker."""
    return project.is_visible(root, cwd, manifest)


def open_session(data: bytes, archive: bytes | None) -> Anchor:
    """Start a session and have it collect; SessionRefused where it comes to something else than the controller."""
    snapshot, terms, seat = pickle.loads(data)
    before = _HELD.pop(snapshot.key, None)
    if before is not None:
        before.end()
    session = _start(snapshot, terms, seat, archive)
    _HELD[snapshot.key] = session
    try:
        said = session.hear(snapshot.seconds)
        if isinstance(said, str):
            raise SessionRefused(said)
    except BaseException:
        _HELD.pop(snapshot.key, None)
        session.end()
        raise
    return Anchor(snapshot.key, said)


def run_batch(key: str, data: bytes) -> bytes:
    """Give the session a batch, a pickled tuple of tasks; a pickled list of what came of each."""
    session = _HELD.get(key)
    if session is None:
        raise SessionLost("it is not there any more")
    with session.lock:
        try:
            session.line.say(pickle.loads(data))
        except (LineBroken, OSError):
            raise SessionLost(session.last_words()) from None
        return pickle.dumps(session.hear(float("inf")))


def leave_session(key: str) -> None:
    """Have the session end, without waiting for it."""
    session = _HELD.get(key)
    if session is not None:
        session.leave()


def close_session(key: str) -> None:
    """End the session, also in the middle of a batch; nothing of it is left."""
    session = _HELD.pop(key, None)
    if session is not None:
        session.end()


def _start(snapshot: Snapshot, terms: Terms, seat: Seat, archive: bytes | None) -> _Session:
    temporary = Path(os.path.realpath(tempfile.gettempdir()))
    disposal.remove_stale(temporary)
    folder = Path(tempfile.mkdtemp(prefix=disposal.PREFIX, dir=temporary))
    try:
        disposal.sign(folder)
        environ = project.environment(snapshot.environ, os.environ)
        arguments, root, cwd = list(snapshot.arguments), snapshot.root, snapshot.cwd
        if archive is not None:
            if not project.free_for(archive, str(folder)):
                raise SessionRefused(f"there is no room for the project in {temporary}")
            copy = folder / os.path.basename(snapshot.root)
            project.unpack(archive, copy)
            root = str(copy)
            arguments, environ, cwd = project.moved(
                snapshot.root, root, snapshot.cwd, arguments, environ, snapshot.folders
            )
        told = Told(snapshot, terms, seat, root, tuple(arguments))
        (folder / SPEC).write_bytes(pickle.dumps(told))
        return _interpreter(folder, told, environ, cwd)
    except BaseException:
        disposal.remove(folder)
        raise


def _interpreter(folder: Path, told: Told, environ: dict[str, str], cwd: str) -> _Session:
    environ = unmeasured(environ)
    environ.setdefault(_SEED, "0")
    our_reading, its_writing = os.pipe()
    its_reading, our_writing = os.pipe()
    line = Line(our_reading, our_writing)
    words = [
        sys.executable,
        *told.snapshot.flags,
        "-c",
        _CODE,
        PACKAGE,
        str(folder),
        str(its_reading),
        str(its_writing),
    ]
    try:
        with open(folder / SCREEN, "wb") as screen:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
                pass_fds=[its_reading, its_writing],
                start_new_session=True,
            )
    except OSError as error:
        line.close()
        raise SessionRefused(f"{sys.executable} in {cwd}: {error.strerror}") from error
    finally:
        os.close(its_reading)
        os.close(its_writing)
    return _Session(process, line, folder)
