"""Run a command and say what it cost: CPU of the whole process tree, wall time, peak memory. Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE = 0.05
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Cost:
    """What a process tree used. Memory in MB, as sampled (a process that lives for milliseconds may be missed)."""

    returncode: int | None = None
    seconds: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    forker_peak: float = 0.0
    forker_children: int = 0
    timed_out: bool = False
    left: list[str] = field(default_factory=list)


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path, limit: float) -> Cost:
    """Run to the end or to the limit; orphans are adopted, so that their CPU counts and none outlives the run."""
    adopt_orphans()
    cost = Cost()
    sampler = _Sampler()
    before = _cpu_of_children()
    start = time.monotonic()
    with output.open("wb") as screen:
        process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=screen, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None and not cost.timed_out:
                sampler.sample()
                cost.timed_out = time.monotonic() - start > limit
                time.sleep(SAMPLE)
        finally:
            if process.poll() is None:
                _kill(_descendants(os.getpid()))
                process.wait()
    cost.seconds = time.monotonic() - start
    time.sleep(0.1)  # a child that was told to end may need a moment
    _reap()
    left = _descendants(os.getpid())
    cost.left = [] if cost.timed_out else [_command_line(pid) for pid in left]
    _kill(left)
    while _reap() or _descendants(os.getpid()):
        time.sleep(0.02)
    cost.returncode = process.returncode
    cost.cpu = _cpu_of_children() - before
    cost.peak = max(sampler.peaks.values(), default=0) / 1024
    if sampler.children:
        forker = max(sampler.children, key=lambda pid: len(sampler.children[pid]))
        cost.forker_children = len(sampler.children[forker])
        cost.forker_peak = sampler.peaks.get(forker, 0) / 1024
    return cost


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Sampler:
    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self.children: dict[int, set[int]] = {}

    def sample(self) -> None:
        me = os.getpid()
        parents = _parents()
        for pid in _below(me, parents):
            parent = parents[pid]
            if parent != me:
                self.children.setdefault(parent, set()).add(pid)
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                    if line.startswith("VmHWM:"):
                        self.peaks[pid] = max(self.peaks.get(pid, 0), int(line.split()[1]))
                        break


def _parents() -> dict[int, int]:
    """Parent of every live process (a zombie holds nothing)."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(name)] = int(parent)
    return found


def _below(root: int, parents: Mapping[int, int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], list(children.get(root, ()))
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, ())
    return found


def _descendants(root: int) -> list[int]:
    return _below(root, _parents())


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return f"{pid}: " + Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    return str(pid)


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _reap() -> bool:
    """Collect every child that has ended; whether there was one."""
    any_ended = False
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            any_ended = True
    return any_ended


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
