"""Starts the fresh interpreter and takes its findings in."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix.clean.fresh import FreshResult, FreshSpec
from pytest_killmatrix.executor.fresh import unmeasured


class FreshRunFailed(Exception):
    """The fresh run gave no usable findings; the message says why."""


@dataclass(slots=True)
class Running:
    """A fresh interpreter at work."""

    process: subprocess.Popen[bytes]
    directory: Path
    started: float
    cpu: float = 0.0

    def wait(self, seconds: float, tick: Callable[[], None]) -> FreshResult:
        """Its findings; raises FreshRunFailed where it ends without them or not within ``seconds``."""
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - self.started > seconds:
                self.kill()
                raise FreshRunFailed(f"the suite in a fresh interpreter did not end within {seconds:.0f} s")
            tick()
            time.sleep(0.02)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # what its tests left running
        result = self.directory / "fresh-result"
        if not result.exists():
            raise FreshRunFailed(
                f"the suite in a fresh interpreter ended early ({self.process.returncode}): {self._last_words()}"
            )
        found: FreshResult = pickle.loads(result.read_bytes())
        if found.exit_status not in (0, 1):
            raise FreshRunFailed(
                f"the suite in a fresh interpreter ended with exit status {found.exit_status}: {self._last_words()}"
            )
        return found

    def kill(self) -> None:
        """End it and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            self.process.wait()

    def _last_words(self) -> str:
        text = (self.directory / "fresh-screen").read_text(encoding="utf-8", errors="replace").strip()
        lines = [line for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-3:])[-400:] or "it printed nothing"


def start(config: pytest.Config, spec: FreshSpec, number: int) -> Running:
    """Run the suite once more, for the ``number``-th time, in an interpreter of its own, under another hash seed."""
    directory = Path(spec.directory)
    (directory / "fresh-spec").write_bytes(pickle.dumps(spec))
    environment = unmeasured(os.environ)
    seed = environment.get("PYTHONHASHSEED")
    seeds = (str(candidate) for candidate in range(1, number + 3) if str(candidate) != seed)
    environment["PYTHONHASHSEED"] = next(itertools.islice(seeds, number, None))
    (directory / "fresh-result").unlink(missing_ok=True)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    package = str(Path(__file__).resolve().parents[2])
    code = f"import sys; sys.path.insert(0, {package!r}); from pytest_killmatrix.clean.fresh import main; main()"
    with open(directory / "fresh-screen", "wb") as screen:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, str(directory)],
            cwd=config.invocation_params.dir,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=screen,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(process, directory, time.monotonic())


def arguments(config: pytest.Config) -> list[str]:
    """The user's arguments, and what keeps the other plugins from doing their part a second time."""
    words = [str(word) for word in config.invocation_params.args]
    manager: Any = config.pluginmanager
    extra = ["--kill-matrix-sandbox=off"]  # this process may be in the copy already
    if manager.hasplugin("pytest_cov"):
        extra.append("--no-cov")
    if manager.hasplugin("randomly") or manager.hasplugin("pytest_randomly"):
        seed = config.getoption("randomly_seed", None)
        if isinstance(seed, int):
            extra.append(f"--randomly-seed={seed}")
    if "--" in words:
        at = words.index("--")
        return [*words[:at], *extra, *words[at:]]
    return [*words, *extra]
