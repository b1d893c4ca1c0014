"""Tests that do not judge: failing, flaky, order-dependent, skipped, not parallel-safe; exit statuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = """\
def value():
    return 1

def second():
    return 2

def alone():
    return 3

def fixed():
    return 4
"""
TESTS = """\
import os, pathlib, sys, time
import pytest
import shop

STATE = []
COUNTER = pathlib.Path(os.environ["COUNTER"])

def test_good(): assert shop.value() == 1

def test_bad(): assert shop.value() == 99

@pytest.fixture
def broken(): raise OSError("no database")

def test_error(broken): assert shop.value() == 1

def test_flaky():
    with open(COUNTER, "a") as file: file.write("x")
    shop.value()
    assert COUNTER.stat().st_size != 2, "every second run"

@pytest.mark.skip(reason="not today")
def test_skipped(): assert shop.value() == 1

@pytest.mark.xfail
def test_xfail(): assert shop.value() == 2

def test_first(): STATE.append(shop.second())

def test_needs_first():
    assert STATE, "nothing ran before"
    assert shop.second() == 2

def test_fixed_place():
    COUNTER.with_name("lock").mkdir()
    try:
        time.sleep(0.4)
        assert shop.fixed() == 4
    finally:
        COUNTER.with_name("lock").rmdir()

def test_hashes(): assert shop.value() and hash("a") == int(os.environ.setdefault("SEEN", str(hash("a"))))

def test_other_hash():
    assert shop.value()
    assert os.environ.get("PYTHONHASHSEED") == "7", "sets are in another order"

def test_last(): sys.killmatrix_ran = True
"""
OTHER = """\
import sys
import shop

def test_needs_other_file():
    assert getattr(sys, "killmatrix_ran", False), "nothing ran before"
    assert shop.alone() == 3
"""


@pytest.fixture(scope="module")
def project(new_project: Callable[[], Project]) -> Project:
    project = new_project().write({"shop.py": CODE, "test_main.py": TESTS, "test_other.py": OTHER})
    return project.cases(
        [
            Case("good", "return 1", "return 99", "shop.py"),
            Case("quiet", "return 2", "return int(2)", "shop.py"),
            Case("loud", "return 2", "return 5", "shop.py"),
            Case("unjudged", "return 3", "return 5", "shop.py"),
            Case("serial", "return 4", "return 5", "shop.py"),
            Case("serial_quiet", "return 4", "return int(4)", "shop.py"),
        ]
    )


@pytest.fixture(scope="module")
def ran(project: Project) -> Run:
    environment = {"COUNTER": str(project.outside / "counter"), "PYTHONHASHSEED": "7"}
    return project.run("--mutate=shop.py", "--kill-matrix-workers=2", env=environment)


@pytest.mark.parametrize(("test", "clean", "excluded"), [
    ("test_good", "passed", None), ("test_bad", "failed", "failed"), ("test_error", "error", "error"),
    ("test_flaky", "passed", "flaky"), ("test_skipped", "skipped", "skipped"), ("test_xfail", "xfailed", None),
    ("test_needs_first", "passed", None), ("test_needs_other_file", "passed", "order"),
    ("test_fixed_place", "passed", None), ("test_other_hash", "passed", "flaky"),
])  # fmt: skip
def test_who_may_judge(ran: Run, test: str, clean: str, excluded: str | None) -> None:
    found = ran.test(f"::{test}")
    assert (found["clean"], found["excluded"]) == (clean, excluded)


def test_excluded_tests_never_kill_and_still_reach(ran: Run) -> None:
    excluded = {test["nodeid"] for test in ran.data["tests"] if test["excluded"]}
    for mutant in ran.data["mutants"]:
        assert excluded.isdisjoint(mutant["killed_by"])
        assert excluded.isdisjoint(cell["test"] for cell in mutant["cells"])
    assert "test_main.py::test_bad" in ran.mutant("good")["reached_by"]
    assert ran.mutant("unjudged")["status"] == "no_usable_test"
    assert "test_main.py::test_good" in ran.mutant("good")["killed_by"]


def test_an_order_dependent_test_runs_after_what_it_needs(ran: Run) -> None:
    assert ran.outcomes("loud")["test_needs_first"] == "assertion"
    assert ran.outcomes("quiet")["test_needs_first"] == "passed"


def test_a_test_with_a_fixed_place_runs_by_itself(ran: Run) -> None:
    assert ran.test("test_fixed_place")["parallel_safe"] is False
    assert ran.outcomes("serial") == {"test_fixed_place": "assertion"}
    assert ran.outcomes("serial_quiet") == {"test_fixed_place": "passed"}
    assert ran.data["run"]["controls"]["noop_kills"] == []


def test_the_screen_names_the_excluded_with_reasons(ran: Run) -> None:
    ran.lines.fnmatch_lines_random([
        "*failed: test_main.py::test_bad*", "*error: test_main.py::test_error*", "*flaky: test_main.py::test_flaky*",
        "*order: test_other.py::test_needs_other_file*",
    ])  # fmt: skip


def test_exit_status_is_pytests_own(ran: Run) -> None:
    assert ran.status == 1
    ran.lines.fnmatch_lines(["*1 failed, 9 passed, 1 skipped, 1 xfailed, 1 error*"])


SMALL = {"shop.py": "def value(n):\n    return n + 1\n", "test_shop.py": """\
    import shop
    def test_value(): assert shop.value(1) == 2
    def test_again(): shop.value(2)
"""}  # fmt: skip


@pytest.mark.parametrize("clean_runs", [1, 2])
def test_without_alone_runs_kills_are_provisional(new_project: Callable[[], Project], clean_runs: int) -> None:
    small = new_project().write(SMALL).cases([Case("value", "n + 1", "n - 1", "shop.py")])
    ran = small.run(f"--kill-matrix-clean-runs={clean_runs}", "--kill-matrix-no-alone")
    assert ran.status == 0
    assert ran.outcomes("value") == {"test_value": "assertion", "test_again": "passed"}
    assert [cell["flags"] for cell in ran.mutant("value")["cells"]] == [["provisional"], []]


def test_one_clean_run(new_project: Callable[[], Project]) -> None:
    small = new_project().write(SMALL).cases([Case("value", "n + 1", "n - 1", "shop.py")])
    ran = small.run("--kill-matrix-clean-runs=1")
    assert ran.outcomes("value") == {"test_value": "assertion", "test_again": "passed"}


def test_isolation_by_test(new_project: Callable[[], Project]) -> None:
    small = new_project().write(SMALL).cases([Case("value", "n + 1", "n - 1", "shop.py")])
    ran = small.run("--kill-matrix-isolation=test")
    assert ran.outcomes("value") == {"test_value": "assertion", "test_again": "passed"}
    assert {cell["isolation"] for cell in ran.mutant("value")["cells"]} == {"alone"}


@pytest.mark.parametrize(("files", "message"), [
    ({"shop.py": "def value():\n    return 1\n"}, "no tests"),
    ({"test_shop.py": "def test_one(): pass\n"}, "nothing to mutate"),
    ({"shop.py": "", "test_shop.py": "import shop\ndef test_one(): pass\n"}, "no mutants"),
])  # fmt: skip
def test_nothing_to_do_is_status_5(new_project: Callable[[], Project], files: dict[str, str], message: str) -> None:
    ran = new_project().write(files).run()
    assert ran.status == 5
    ran.lines.fnmatch_lines([f"killmatrix: no kill matrix: *{message}*"])
    assert not ran.report.exists()


def test_no_mutant_judged_is_exit_status_5(new_project: Callable[[], Project]) -> None:
    project = new_project().write({"shop.py": "SIZE = 1\n", "test_shop.py": "import shop\ndef test_one(): pass\n"})
    ran = project.run("--kill-matrix-static=skip")
    assert ran.status == 5


@pytest.mark.parametrize("option", ["--collect-only", "--setup-only", "--setup-plan"])
def test_runs_that_are_none(new_project: Callable[[], Project], option: str) -> None:
    ran = new_project().write(SMALL).run(option)
    ran.lines.fnmatch_lines([f"killmatrix: no kill matrix: *{option}*"])


def test_collection_errors_mean_no_matrix_unless_told_otherwise(new_project: Callable[[], Project]) -> None:
    small = new_project().write(SMALL).write({"test_broken.py": "import nothing_of_that_name\n"})
    small.cases([Case("value", "n + 1", "n - 1", "shop.py")])
    ran = small.run()
    assert ran.status == 2
    ran.lines.fnmatch_lines(["*test_broken.py*"])
    assert not ran.report.exists()
    ran = small.run("--continue-on-collection-errors")
    assert ran.status == 1
    assert ran.outcomes("value")["test_value"] == "assertion"


def test_fail_under(new_project: Callable[[], Project]) -> None:
    small = (
        new_project()
        .write(SMALL)
        .cases([Case("value", "n + 1", "n - 1", "shop.py"), Case("same", "n + 1", "1 + n", "shop.py")])
    )
    ran = small.run("--kill-matrix-fail-under=assertion:50", "--kill-matrix-fail-under=detection:51")
    assert ran.status == 1
    ran.lines.fnmatch_lines(["*--kill-matrix-fail-under=detection:51*50.0*1 of 2*"])
    assert ran.outcomes("same") == {"test_value": "passed", "test_again": "passed"}
