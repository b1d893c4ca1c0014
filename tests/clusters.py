"""Dask clusters for behaviour tests: a scheduler and workers, each a process of its own on the loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_START = "from distributed.cli.dask_{0} import main; main()"


class Worker:
    """One worker process; ``temporary`` is its temporary directory."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, temporary: Path) -> None:
        self.process = process
        self.name = name
        self.temporary = temporary

    def kill(self) -> None:
        """End it without a chance to say so."""
        self.process.kill()
        self.process.wait()

    def held(self) -> list[int]:
        """The processes that it started, and what they started, whoever is their parent by now."""
        mark, found = f"TMPDIR={self.temporary}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state = (place / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if mark in (place / "environ").read_bytes().split(b"\0") and state != "Z":
                    found.append(int(place.name))
        return sorted(set(found) - {self.process.pid})

    def left(self) -> list[str]:
        """What is left of sessions: processes, and temporary directories."""
        return [f"process {pid}" for pid in self.held()] + sorted(
            path.name for path in self.temporary.glob("killmatrix-*")
        )


class Cluster:
    """A scheduler, and the workers that were started."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._file = base / "scheduler.json"
        self.workers: list[Worker] = []
        self._scheduler = self._start(
            "scheduler", "scheduler", ["--port", "0", "--no-dashboard", "--scheduler-file", str(self._file)], {}
        )
        wait_until(self._file.exists)
        told: dict[str, Any] = json.loads(self._file.read_text())
        self.address: str = told["address"]

    def worker(self, env: Mapping[str, str] | None = None, threads: int = 1) -> Worker:
        """One more worker."""
        name = f"worker-{len(self.workers)}"
        temporary = self.base / name
        temporary.mkdir()
        words = [
            self.address, "--no-nanny", "--no-dashboard", "--nthreads", str(threads), "--name", name,
            "--local-directory", str(temporary / "dask"), "--memory-limit", "0",
        ]  # fmt: skip
        process = self._start("worker", name, words, {"TMPDIR": str(temporary), **(env or {})})
        self.workers.append(Worker(process, name, temporary))
        wait_until(lambda: "Registered to" in self.screen(name) or process.poll() is not None)
        return self.workers[-1]

    def close(self) -> None:
        """End all of it."""
        for process in (*(worker.process for worker in self.workers), self._scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def screen(self, name: str) -> str:
        """What one of them printed."""
        return (self.base / f"{name}.screen").read_text(errors="replace")

    def _start(self, program: str, name: str, words: list[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV", "DASK"))}
        with open(self.base / f"{name}.screen", "wb") as screen:
            return subprocess.Popen(
                [sys.executable, "-c", _START.format(program), *words, "--host", "127.0.0.1"],
                env=environment | _QUIET | dict(env),
                cwd=self.base,
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something, at most so long."""
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
