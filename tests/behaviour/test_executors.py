"""Children that are fresh interpreters: when they are made, and that they say what forked ones say."""

from __future__ import annotations

from typing import Final

import pytest
from projects import Case, Project

FORK: Final = "--kill-matrix-executor=fork"
SUBPROCESS: Final = "--kill-matrix-executor=subprocess"
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
    ran = small.write({"conftest.py": conftest}).run()
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
    ran = small.run("--kill-matrix-executor=dask")
    ran.lines.fnmatch_lines(["*--kill-matrix-executor=dask: choose one of auto, fork, subprocess*"])
    assert ran.status == 4
