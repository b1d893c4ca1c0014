"""Processes that leave their child's group (daemons, new sessions): the zygote adopts and ends them (Linux only)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE: Final = 2.0  # seconds for killed processes to end, when all have to


def adopt() -> None:
    """From now on a process whose parent died becomes a child of this one; nothing happens where that is unknown."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_older(living: Iterable[int], kept: Collection[int]) -> None:
    """End adopted processes that no living child can have started, because they are older than each of them.

    Whose an adopted process was cannot be seen any more; ``kept`` and ``living`` are not adopted.
    """
    living = set(living)
    adopted = [pid for pid in _children() if pid not in living and pid not in kept]
    oldest = min((_started(pid) for pid in living), default=float("inf")) if adopted else 0.0
    for pid in adopted:
        if _started(pid) < oldest:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def end_all(kept: Collection[int]) -> None:
    """End every child of this process, and what it thereby adopts, except ``kept``."""
    deadline = time.monotonic() + _PATIENCE
    while any(pid not in kept for pid in _children()) and time.monotonic() < deadline:
        end_older((), kept)
        time.sleep(0.002)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _started(pid: int) -> float:
    """When a process began, in ticks; 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return float(file.read().rsplit(b")", 1)[1].split()[19])
    except (OSError, IndexError):
        return 0.0
