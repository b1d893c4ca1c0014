"""What a child is: private, quiet and always the same: it disturbs neither the parent, nor others, nor files."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest
from projects import Case, Project, Run

CODE = """\
def tell(value):
    return value

def fails(n):
    return n + 1
"""
TESTS = """\
import faulthandler, logging, os, random, sys, threading
import pytest, shop

def open_files():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try: found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError: pass
    return found

def test_random(): shop.tell(random.random())
def test_random_again(): shop.tell(random.random())
def test_faulthandler(): shop.tell(faulthandler.is_enabled())
def test_tracer(): shop.tell((sys.gettrace() is None, sys.getprofile() is None, threading.gettrace() is None))
def test_group(): shop.tell(os.getpgid(0) == os.getpid())
def test_session(): shop.tell(os.getsid(0) == os.getpid())
def test_sockets(): shop.tell([name for name in open_files() if name.startswith("socket:")])
def test_sidecar(): shop.tell([name for name in open_files() if "sqlite" in name])
def test_worker():
    shop.tell((os.environ.get("PYTEST_XDIST_WORKER"), os.environ.get("PYTEST_XDIST_WORKER_COUNT")))
def test_temporary(tmp_path): shop.tell(str(tmp_path))
def test_input(): shop.tell(os.readlink("/proc/self/fd/0"))
def test_cache(request):
    request.config.cache.set(f"shop/{os.getpid()}", 1)
    shop.tell(1)
def test_log():
    logging.getLogger("shop").error("logged in a test")
    shop.tell(1)
def test_print(capfd):
    os.write(1, b"printed below")
    shop.tell(capfd.readouterr().out)

@pytest.mark.parametrize("n", range(3))
def test_fails(n): assert shop.fails(n) == n + 1

@pytest.mark.xfail(strict=False)
@pytest.mark.parametrize("n", range(3))
def test_full_path(n): assert shop.fails(n) < 9
"""


@pytest.fixture(scope="module")
def project(new_project: Callable[[], Project]) -> Project:
    project = new_project().write({
        "shop.py": CODE, "test_shop.py": TESTS,
        "pytest.ini": "[pytest]\naddopts = --cov=shop --cov-report=\nlog_file = suite.log\nfaulthandler_timeout = 60\n",
    })  # fmt: skip
    return project.cases([
        Case("told", "return value", "raise AssertionError(repr(value))", "shop.py"),
        Case("fails", "n + 1", "n + 2", "shop.py"),
    ])  # fmt: skip


@pytest.fixture(scope="module")
def ran(project: Project) -> Run:
    at = project.command().index("no:cacheprovider") - 1
    words = project.command("--mutate=shop.py", "--kill-matrix-workers=2", "-x", "--maxfail=1")
    ran = project.execute([*words[:at], *words[at + 2 :], "-p", "no:asyncio"])
    assert (ran.status, ran.left) == (0, []), ran.screen
    return ran


@pytest.fixture(scope="module")
def told(ran: Run) -> dict[str, Any]:
    """What each test found in its child."""
    return {
        cell["test"].split("::")[1]: ast.literal_eval(cell["message"])
        for cell in ran.mutant("told")["cells"]
        if cell["exception"] == "AssertionError"
    }


def test_random_generators_are_what_they_were_at_the_fork(project: Project, ran: Run, told: dict[str, Any]) -> None:
    first, second = told["test_random"], told["test_random_again"]
    assert first != second or len(told) == 1
    # alone, each draws the first number
    alone = project.execute([*project.command("--mutate=shop.py", "-p", "no:asyncio"), "--kill-matrix-isolation=test"])
    found = {cell["test"].split("::")[1]: cell["message"] for cell in alone.mutant("told")["cells"]}
    assert found["test_random"] == found["test_random_again"]


def test_no_timer_and_no_tracer_of_the_parent_goes_on(told: dict[str, Any]) -> None:
    assert told["test_faulthandler"] is False
    assert told["test_tracer"] == (True, True, True)


def test_a_process_group_of_its_own(told: dict[str, Any]) -> None:
    assert told["test_group"] is True


def test_none_of_our_connections_and_files_are_open(told: dict[str, Any]) -> None:
    assert told["test_sockets"] == told["test_sidecar"] == []
    assert told["test_input"] == "/dev/null"


def test_a_worker_name_for_each_slot(told: dict[str, Any]) -> None:
    assert told["test_worker"] in {("gw0", "2"), ("gw1", "2")}


def test_a_base_temp_of_its_own(told: dict[str, Any]) -> None:
    assert "killmatrix-" in told["test_temporary"]
    assert "child-" in told["test_temporary"]


def test_output_is_captured_anew(told: dict[str, Any]) -> None:
    assert told["test_print"] == "printed below"


def test_the_log_file_is_the_suites_own(project: Project, ran: Run) -> None:
    assert (project.path / "suite.log").read_text().count("logged in a test") == 1


def test_the_cache_is_written_by_the_suite_only(project: Project, ran: Run) -> None:
    values = list(project.path.glob(".pytest_cache/v/shop/*"))
    assert len(values) == 1
    assert not list(project.path.glob(".pytest_cache/v/cache/lastfailed"))


def test_maxfail_ends_no_row(ran: Run) -> None:
    assert ran.outcomes("fails") == {
        **{f"test_fails[{n}]": "assertion" for n in range(3)},
        **{f"test_full_path[{n}]": "passed" for n in range(3)},
    }


@pytest.mark.parametrize("option", ["--snapshot-update", "--force-regen"])
def test_no_matrix_while_snapshots_are_written(new_project: Callable[[], Project], option: str) -> None:
    small = new_project().write({
        "shop.py": "def value(): return 1\n",
        "test_shop.py": "import shop\ndef test_value(): assert shop.value() == 1\n",
        "conftest.py": f"def pytest_addoption(parser): parser.addoption('{option}', action='store_true')\n",
    })  # fmt: skip
    ran = small.run(option)
    ran.lines.fnmatch_lines(["killmatrix: no kill matrix: snapshots are being updated*"])


def test_what_is_drawn_at_random_is_the_same_in_every_run(new_project: Callable[[], Project]) -> None:
    messages = []
    for _ in range(2):
        project = new_project().write({
            "shop.py": "def fee(n):\n    return n * 2\n",
            "test_shop.py": "import random, shop\ndef test_fee(): assert shop.fee(3) == 6, random.random()\n",
        })  # fmt: skip
        project.cases([Case("thrice", "n * 2", "n * 3", "shop.py")])
        messages.append(project.run().cell("thrice")["message"])
    assert messages[0] == messages[1]
