"""Children that are fresh interpreters: when they are made, and that they say what forked ones say."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

FORK: Final = "--kill-matrix-executor=fork"
SUBPROCESS: Final = "--kill-matrix-executor=subprocess"
#: every plugin costs every fresh interpreter its import
BARE: Final = [
    word for name in ("asyncio", "hypothesispytest", "pytest_cov", "timeout", "xdist") for word in ("-p", f"no:{name}")
]
NOTE: Final = "every mutant ran in a fresh interpreter"


@pytest.fixture
def small(project: Project) -> Project:
    project.write({
        "shop.py": "def value():\n    return 1\n",
        "test_shop.py": "import shop\ndef test_value(): assert shop.value() == 1\n",
    })  # fmt: skip
    return project.cases([Case("value", "return 1", "return 2", "shop.py")])


# -- which one ---------------------------------------------------------------------------------------------------------

THREAD: Final = "threading.Thread(target=threading.Event().wait, daemon=True, name='watcher').start()\n"
OBSTACLES: Final = {
    "thread": (f"import threading\n{THREAD}", "a thread is running * (watcher)"),
    "configure": (f"import threading\ndef pytest_configure():\n    {THREAD}", "a thread is running * (watcher)"),
    "socket": ("import socket\nPAIR = socket.socketpair()\n", "a connected socket is open"),
    "epoll": ("import select\nPOLL = select.epoll()\n", "an event loop is open * (epoll)"),
    "loop": ("import asyncio\nLOOP = asyncio.new_event_loop()\n", "* open when the tests are about to start"),
    "platform": ("import os\ndel os.fork\n", "this platform cannot fork"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_cannot_be_forked_gets_fresh_interpreters_and_the_report_says_why(small: Project, name: str) -> None:
    conftest, why = OBSTACLES[name]
    ran = small.write({"conftest.py": conftest}).run(*BARE)
    ran.lines.fnmatch_lines([f"*{NOTE}: {why}*"])
    assert ran.outcomes("value") == {"test_value": "assertion"}
    routes = ran.data["run"]["controls"]["routes"]
    assert (routes["swap"], routes["subprocess"]) == ("ok", "ok")
    assert ran.status == 0


@pytest.mark.parametrize("name", ["thread", "socket", "epoll", "platform"])
def test_a_fork_that_was_asked_for_and_cannot_be(small: Project, name: str) -> None:
    conftest, why = OBSTACLES[name]
    ran = small.write({"conftest.py": conftest}).run(FORK)
    ran.lines.fnmatch_lines([f"killmatrix: no kill matrix: {why}*", "*1 passed*"])
    assert "--kill-matrix-executor=subprocess" in ran.screen.replace("\n", "")
    assert not ran.report.exists()
    assert ran.status == 5


def test_what_can_be_forked_is(small: Project) -> None:
    ran = small.run()
    assert NOTE not in ran.screen
    assert ran.data["run"]["controls"]["routes"]["subprocess"] == "not exercised"
    assert ran.data["run"]["options"]["executor"] == "fork"


def test_fresh_interpreters_may_be_asked_for(small: Project) -> None:
    small.write({"pytest.ini": "[pytest]\nkill_matrix_executor = subprocess\n"})
    ran = small.run()
    ran.lines.fnmatch_lines([f"*{NOTE}: asked for by --kill-matrix-executor*"])
    assert ran.data["run"]["options"]["executor"] == "subprocess"


def test_an_unknown_executor(small: Project) -> None:
    ran = small.run("--kill-matrix-executor=threads")
    ran.lines.fnmatch_lines(["*--kill-matrix-executor=threads: choose one of auto, fork, subprocess, dask*"])
    assert ran.status == 4


# -- the same cells ----------------------------------------------------------------------------------------------------

PROJECT: Final = {
    "shop/__init__.py": "",
    "shop/code.py": """\
        import os, signal, time

        RATE = 3

        def add(a, b):
            return a + b

        def cases():
            return [1, 2]

        def loop(n):
            while n > 0:
                n = n - 1
            return n

        def die(n):
            return n * 2

        def crash(n):
            return n * 3

        def start():
            return {"open": True}

        def cached(n, _known={}):
            return _known.setdefault(n, n + 10)

        def unreached(n):
            return n or 1 + 1

        class Cart:
            def total(self, prices):
                return sum(prices) * RATE

            @property
            def empty(self):
                return not self.__dict__
        """,
    "shop/late.py": "def late():\n    return 'late'\n",
    "tests/conftest.py": """\
        import pytest
        from shop import code

        @pytest.fixture(scope="session")
        def service():
            return code.start()

        @pytest.fixture(scope="module")
        def base():
            return code.add(1, 1)
        """,
    "tests/test_first.py": """\
        import pytest
        from shop import code

        @pytest.mark.parametrize("n", code.cases())
        def test_cases(n):
            assert code.add(n, 1) == n + 1

        class TestCart:
            def test_total(self):
                assert code.Cart().total([1, 2]) == 9

            def test_empty(self):
                assert code.Cart().empty

        def test_loop():
            assert code.loop(2) == 0

        def test_die():
            assert code.die(2) == 4

        def test_crash():
            assert code.crash(2) == 6

        def test_service(service):
            assert service["open"]

        def test_base(base):
            assert base == 2

        def test_late():
            from shop.late import late
            assert late() == "late"
        """,
    "tests/test_second.py": """\
        import unittest
        from shop import code

        SEEN = []

        def test_warm():
            SEEN.append(code.cached(1))

        def test_ordered():
            assert SEEN == [11] and code.cached(1) == 11

        def test_unreached():
            assert code.unreached(1) == 1

        class TestOld(unittest.TestCase):
            def test_rate(self):
                self.assertEqual(code.RATE, 3)
        """,
}
CASES: Final = [
    Case("add", "return a + b", "return a - b", "shop/code.py"),
    Case("fewer", "return [1, 2]", "return [1]", "shop/code.py"),
    Case("other", "[1, 2]", "[3, 4]", "shop/code.py"),
    Case("endless", "n = n - 1", "pass", "shop/code.py"),
    Case("exit", "return n * 2", "os._exit(0)", "shop/code.py"),
    Case("signal", "return n * 3", "os.kill(os.getpid(), signal.SIGSEGV)", "shop/code.py"),
    Case("wide", '{"open": True}', '{"open": False}', "shop/code.py"),
    Case("broken", 'return {"open": True}', "raise KeyError('no')", "shop/code.py"),
    Case("cached", "n + 10", "n + 11", "shop/code.py"),
    Case("unreached", "1 + 1", "1 - 1", "shop/code.py"),
    Case("method", "sum(prices) * RATE", "sum(prices) + RATE", "shop/code.py"),
    Case("property", "not self.__dict__", "self.__dict__", "shop/code.py"),
    Case("static", "RATE = 3", "RATE = 4", "shop/code.py"),
    Case("invalid", "RATE = 3", "RATE = 3 / 0", "shop/code.py"),
    Case("late", "return 'late'", "return 'early'", "shop/late.py"),
    Case("silent", "return 'late'", "return 'late'.lower()", "shop/late.py"),
]


@pytest.fixture(scope="module")
def both(new_project: Callable[[], Project]) -> dict[str, Run]:
    return {
        choice: new_project().write(PROJECT).cases(CASES).run(choice, *BARE, "--kill-matrix-timeout=5:0.6", timeout=600)
        for choice in (FORK, SUBPROCESS)
    }


def test_the_same_statuses(both: dict[str, Run]) -> None:
    assert both[SUBPROCESS].statuses() == both[FORK].statuses() == {
        "add": "killed", "fewer": "survived", "other": "survived", "endless": "timeout", "exit": "crashed",
        "signal": "crashed", "wide": "killed", "broken": "crashed", "cached": "killed", "unreached": "no_coverage",
        "method": "killed", "property": "killed", "static": "killed", "invalid": "invalid", "late": "killed",
        "silent": "survived",
    }  # fmt: skip


def test_the_same_cells(both: dict[str, Run]) -> None:
    def told(run: Run) -> dict[tuple[str, str], tuple[object, ...]]:
        cells = run.cells()
        return {
            key: tuple(None if "did not end" in str(part) else part for part in cell) for key, cell in cells.items()
        }

    assert told(both[SUBPROCESS]) == told(both[FORK])


def test_the_same_tests_and_reach(both: dict[str, Run]) -> None:
    def told(run: Run) -> dict[str, object]:
        tests = {test["nodeid"]: (test["excluded"], test["parallel_safe"]) for test in run.data["tests"]}
        return tests | {mutant["key"]: mutant["reached_by"] for mutant in run.data["mutants"]}

    assert told(both[SUBPROCESS]) == told(both[FORK])
    assert both[FORK].test("test_ordered")["excluded"] is None


def test_every_route_was_controlled(both: dict[str, Run]) -> None:
    assert both[SUBPROCESS].data["run"]["controls"] == {
        "noop_kills": [],
        "routes": {"swap": "ok", "static": "ok", "collection": "ok", "subprocess": "ok"},
    }


# -- what only fresh interpreters can do -------------------------------------------------------------------------------


def test_a_thread_that_was_started_at_import_runs_the_mutant(project: Project) -> None:
    project.write({
        "shop.py": """\
            import queue, threading
            ASKED, ANSWERED = queue.Queue(), queue.Queue()
            def serve():
                while True:
                    ANSWERED.put(ASKED.get() + 1)
            def ask(n):
                ASKED.put(n)
                return ANSWERED.get(timeout=5)
            """,
        "conftest.py": """\
            import threading, shop
            threading.Thread(target=shop.serve, daemon=True).start()
            """,
        "test_shop.py": "import shop\ndef test_ask(): assert shop.ask(1) == 2\n",
    })  # fmt: skip
    project.cases([Case("serve", "+ 1", "- 1", "shop.py"), Case("ask", "ASKED.put(n)", "ASKED.put(-n)", "shop.py")])
    ran = project.run(*BARE)
    assert ran.statuses() == {"serve": "killed", "ask": "killed"}
    assert ran.outcomes("serve") == {"test_ask": "assertion"}


def test_a_test_that_needs_the_import_of_another_test_file(project: Project) -> None:
    project.write({
        "shop.py": "REGISTRY = {}\ndef value():\n    return REGISTRY['one'] + 1\n",
        "test_a.py": "import shop\nshop.REGISTRY['one'] = 1\ndef test_a(): pass\n",
        "test_b.py": "import shop\ndef test_b(): assert shop.value() == 2\n",
    }).cases([Case("value", "+ 1", "+ 2", "shop.py")])  # fmt: skip
    for words in ([], ["--kill-matrix-no-alone"]):
        ran = project.run(SUBPROCESS, *BARE, *words)
        assert ran.test("test_b")["excluded"] is None
        assert ran.outcomes("value") == {"test_b": "assertion"}


def test_parameters_in_the_order_of_another_hash_seed(project: Project) -> None:
    project.write({
        "shop.py": "def double(n):\n    if n == 'two':\n        return 4\n    return 2\n",
        "test_shop.py": """\
            import pytest, shop
            @pytest.mark.parametrize("n", {"one", "two", "three", "four", "five", "six", "seven", "eight"})
            def test_double(n):
                assert shop.double(n) == (4 if n == "two" else 2)
            """,
    })  # fmt: skip
    project.cases([Case("two", "return 4", "return 5", "shop.py")])
    for choice in (FORK, SUBPROCESS):  # no seed is set: every interpreter draws its own, but for those of one run
        assert project.run(choice, *BARE).outcomes("two") == {"test_double[two]": "assertion"}


def test_memory_is_limited(project: Project) -> None:
    project.write({
        "shop.py": "import time\ndef value():\n    return 'x' * 10\n",
        "test_shop.py": """\
            import shop, time
            def test_value():
                kept = shop.value()
                time.sleep(20 if len(kept) > 10 else 0)
            """,
    }).cases([Case("huge", "'x' * 10", "'x' * (200 << 20)", "shop.py")])  # fmt: skip
    ran = project.run(SUBPROCESS, *BARE, "--kill-matrix-memory=100")
    assert (ran.cell("huge")["outcome"], ran.cell("huge")["reason"]) == ("crash", "memory")


# -- nothing left ------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow(project: Project) -> Project:
    project.write({
        "shop.py": "import subprocess, sys, time\ndef value():\n    return 1\n",
        "test_shop.py": "import shop\ndef test_value(): assert shop.value() == 1\n",
    })  # fmt: skip
    sleeper = "subprocess.run([sys.executable, '-c', 'import time; open(\"MARK\", \"w\"); time.sleep(60)'])"
    mark = str(project.outside / "mark")
    return project.cases([Case("sleep", "return 1", f"return {sleeper.replace('MARK', mark)}", "shop.py")])


def wait_for(true: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)


def in_the_mutant(project: Project) -> subprocess.Popen[bytes]:
    """A run whose test under the mutant has started an interpreter of its own."""
    process = project.start(project.command(SUBPROCESS, *BARE, "--kill-matrix-timeout=10:60"))
    wait_for((project.outside / "mark").exists)
    assert process.poll() is None, (project.outside / "screen").read_text()
    return process


def test_ctrl_c(slow: Project) -> None:
    process = in_the_mutant(slow)
    process.send_signal(signal.SIGINT)
    ran = slow.finish(process, 30)
    assert (ran.status, ran.left) == (2, []), ran.screen
    ran.lines.fnmatch_lines(["*interrupted*same command*"])


def test_the_controller_is_killed(slow: Project) -> None:
    process = in_the_mutant(slow)
    process.kill()
    process.wait(10)
    wait_for(lambda: not slow.left(), 15)
    assert slow.left() == []
    assert list(slow.temporary.iterdir()) == []


def test_the_spawner_is_killed(slow: Project) -> None:
    process = in_the_mutant(slow)
    for number in slow.processes():
        if "executor.spawner" in Path(f"/proc/{number}/cmdline").read_text():
            os.kill(number, signal.SIGKILL)
    ran = slow.finish(process, 30)
    assert ran.status == 3, ran.screen
    ran.lines.fnmatch_lines(["*is gone*what was finished is kept*"])
    assert ran.left == []


def test_a_timeout_ends_what_the_test_started(slow: Project) -> None:
    ran = slow.run(SUBPROCESS, *BARE, "--kill-matrix-timeout=10:1")
    assert ran.statuses() == {"sleep": "timeout"}
