"""Budgets are a test's own time: a machine that is busy with other things changes no status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

FILES = {
    "shop.py": """\
        import time
        def quick(n):
            return n + 1
        def busy(n):
            return sum(range(n * 100_000)) * 0 + n + 2
        def endless(n):
            return n + 3
        def waits(n):
            return n + 4
        """,
    "test_shop.py": """\
        import pytest, shop
        @pytest.mark.parametrize("n", range(5))
        def test_quick(n): assert shop.quick(n) == n + 1
        @pytest.mark.parametrize("n", range(5))
        def test_busy(n): assert shop.busy(n) == n + 2
        def test_endless(): assert shop.endless(1) == 4
        def test_waits(): assert shop.waits(1) == 5
        """,
}
CASES = [
    Case("quick", "n + 1", "n - 1", "shop.py"), Case("same", "n + 1", "int(n + 1)", "shop.py"),
    Case("slower", "n * 100_000", "n * 1_000_000", "shop.py"), Case("endless", "n + 3", "endless(n)", "shop.py"),
    Case("loop", "return n + 3", "while True: pass", "shop.py"),
    Case("pause", "n + 4", "time.sleep(0.5) or n + 4", "shop.py"), Case("hang", "n + 4", "time.sleep(60)", "shop.py"),
]  # fmt: skip


def made(new_project: Callable[[], Project]) -> Run:
    return new_project().write(FILES).cases(CASES).run("--mutate=shop.py", "--kill-matrix-timeout=10:2")


def test_a_busy_machine_changes_no_status(new_project: Callable[[], Project]) -> None:
    quiet = made(new_project)
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        loud = made(new_project)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert loud.statuses() == quiet.statuses() == {
        "quick": "killed", "same": "survived", "slower": "survived", "endless": "crashed", "loop": "timeout",
        "pause": "survived", "hang": "timeout",
    }  # fmt: skip
    assert {name: loud.outcomes(name) for name in loud.statuses()} == {
        name: quiet.outcomes(name) for name in quiet.statuses()
    }


STALLS = {
    "shop.py": """\
        RATE = 1
        def plain(n):
            return n + 1
        """,
    "test_shop.py": """\
        import os, pathlib, signal, subprocess, sys, time
        import pytest, shop

        STALLED = pathlib.Path(os.environ["STALLED"])
        HELPER = "import os, sys, time; time.sleep(1.5); [os.kill(int(pid), 18) for pid in sys.argv[1:]]"

        def stall():
            if STALLED.exists(): return
            STALLED.touch()
            if os.environ["STALL"] == "wait":
                time.sleep(60)
            pids = [os.getpid(), *controllers()]
            subprocess.Popen([sys.executable, "-c", HELPER, *map(str, pids)], start_new_session=True)
            for pid in reversed(pids): os.kill(pid, signal.SIGSTOP)
            time.sleep(0.3)

        def controllers():
            pid, found = os.getppid(), []
            while pid > 1:
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"--kill-matrix" not in line: break
                found.append(pid)
                pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[1])
            return found[-1:]

        def test_notices(): assert shop.plain(1) == 2
        def test_stalls():
            if shop.plain(1) != 2: stall()
        def test_beside():
            if shop.RATE != 1: stall()
        """,
}


@pytest.mark.parametrize("kind", ["wait", "stop"])
def test_a_machine_that_stalled_once_is_no_timeout(new_project: Callable[[], Project], kind: str) -> None:
    cases = [Case("plain", "n + 1", "n - 1", "shop.py"), Case("static", "RATE = 1", "RATE = 2", "shop.py")]
    for case, test, others in ((cases[0], "test_stalls", {"test_notices": "assertion"}), (cases[1], "test_beside", {})):
        project = new_project().write(STALLS).cases([case])
        env = {"STALL": kind, "STALLED": str(project.outside / "stalled")}
        ran = project.run("--mutate=shop.py", env=env)
        assert (project.outside / "stalled").exists()
        assert ran.outcomes(case.name)[test] == "passed", ran.screen
        assert others.items() <= ran.outcomes(case.name).items()
