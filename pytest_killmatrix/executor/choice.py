"""Which executor a session gets: forked children where that is safe, fresh interpreters elsewhere."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from dataclasses import dataclass

from pytest_killmatrix.options import AUTO, FORK, SUBPROCESS


@dataclass(frozen=True, slots=True)
class Choice:
    """An executor, why it was not the usual one, or why there can be none (``refused``)."""

    executor: str
    why: str | None = None
    refused: str | None = None


def choose(asked: str) -> Choice:
    """What ``--kill-matrix-executor=asked`` comes to in this process, which is about to run tests."""
    obstacle = fork_obstacle()
    if asked == FORK and obstacle is not None:
        return Choice(
            FORK,
            refused=f"{obstacle}, so it cannot be forked: --kill-matrix-executor=subprocess (or auto) "
            "runs every mutant in a fresh interpreter instead",
        )
    if asked == FORK or (asked == AUTO and obstacle is None):
        return Choice(FORK)
    if not (hasattr(os, "posix_spawn") and hasattr(os, "waitid")):
        return Choice(SUBPROCESS, refused="this platform can neither fork nor spawn process groups the way POSIX does")
    return Choice(SUBPROCESS, why=obstacle if asked == AUTO else "asked for by --kill-matrix-executor")


def fork_obstacle() -> str | None:
    """Why this process cannot be forked safely now, or None."""
    if not hasattr(os, "fork"):
        return "this platform cannot fork"
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if others:
        return f"a thread is running when the tests are about to start ({others[0]})"
    place = next((place for place in ("/proc/self/fd", "/dev/fd") if os.path.isdir(place)), None)
    for name in os.listdir(place) if place is not None else ():
        if not name.isdigit() or int(name) < 3:
            continue
        with contextlib.suppress(OSError):
            if os.path.islink(link := f"{place}/{name}") and "eventpoll" in os.readlink(link):
                return "an event loop is open when the tests are about to start (epoll)"
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode) and _connected(int(name)):
                return "a connected socket is open when the tests are about to start"
    return None


def _connected(fd: int) -> bool:
    duplicate = socket.socket(fileno=os.dup(fd))
    try:
        duplicate.getpeername()
    except OSError:
        return False
    else:
        return True
    finally:
        duplicate.close()
