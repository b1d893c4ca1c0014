"""What the tests of one row do to each other: nothing, however one of them ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = """\
import os, time

def double(n):
    return n + n

def triple(n):
    return n * 3

def square(n):
    return n * n

def many(n):
    return n + 10

CACHE = {}

def cached(n):
    if n not in CACHE:
        CACHE[n] = n + 5
    return CACHE[n]

class Thing:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Thing {self.n}"

def params():
    return [1, 2, 3]

def base():
    return 7

def at_collection():
    return 4
"""
TESTS = """\
import pytest
import shop

@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_double(n): assert shop.double(n) == 2 * n

@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_triple(n): assert shop.triple(n) == 3 * n

@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_square(n): assert shop.square(n) == n ** 2

@pytest.mark.parametrize("n", range(6))
def test_many(n): assert shop.many(n) == n + 10

def test_cached_first(): assert shop.cached(1) == 6

def test_cached_second(): assert shop.cached(1) == 6

@pytest.fixture(scope="module")
def shared(): return shop.base()

def test_shared_first(shared): assert shared == 7

def test_shared_second(shared): assert shared == 7
"""
IDS = """\
import pytest
import shop

@pytest.mark.parametrize("thing", [shop.Thing(1), shop.Thing(2)], ids=repr)
def test_id(thing): assert thing.n in (1, 2)

@pytest.mark.parametrize("n", shop.params())
def test_params(n): assert n < 9
"""
COLLECTED = """\
import shop

FOUR = shop.at_collection()

def test_four(): assert FOUR == 4

def test_other(): assert shop.square(1) == 1
"""


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    project = new_project().write(
        {"shop.py": CODE, "test_rows.py": TESTS, "test_ids.py": IDS, "test_collected.py": COLLECTED}
    )
    project.cases(
        Case(name, before, after, "shop.py")
        for name, before, after in (
            ("endless", "return n + n", "while n == 2: pass\n    return n + n"),
            ("dies", "return n * 3", "return n * 3 if n != 2 else os._exit(0)"),
            ("exits", "return n * n", "if n == 2: raise KeyboardInterrupt\n    return n * n"),
            ("slow", "return n + 10", "while n != 5: time.sleep(1)\n    return n + 10"),
            ("warm", "CACHE[n] = n + 5", "CACHE[n] = n + 6"),
            ("renamed", '"Thing {self.n}"', '"Other {self.n}"'),
            ("fewer", "return [1, 2, 3]", "return [1, 2]"),
            ("shared", "return 7", "raise OSError"),
            ("uncollectable", "return 4", "raise OSError('gone')"),
            ("exit_collecting", "return 4", "raise SystemExit"),
            ("wrong_collecting", "return 4", "return 5"),
        )
    )
    return project.run("--mutate=shop.py")


@pytest.mark.parametrize(("name", "test", "outcome"), [
    ("endless", "test_double", "timeout"), ("dies", "test_triple", "crash"), ("exits", "test_square", "crash"),
])  # fmt: skip
def test_the_rest_of_the_row_still_runs(ran: Run, name: str, test: str, outcome: str) -> None:
    expected = {f"{test}[{n}]": outcome if n == 2 else "passed" for n in (1, 2, 3, 4)}
    found = ran.outcomes(name)
    assert {test: found[test] for test in expected} == expected


def test_after_three_timeouts_the_budget_shrinks_and_the_cell_says_so(ran: Run) -> None:
    cells = ran.mutant("slow")["cells"]
    assert [cell["outcome"] for cell in cells] == ["timeout"] * 5 + ["passed"]
    assert any(cell["flags"] == [] for cell in cells[:5])
    assert cells[4]["seconds"] < 1


def test_a_warm_cache_hides_nothing_and_kills_everywhere(ran: Run) -> None:
    assert ran.outcomes("warm") == {"test_cached_first": "assertion", "test_cached_second": "assertion"}


def test_ids_that_change_are_no_kill(ran: Run) -> None:
    assert set(ran.outcomes("renamed").values()) == {"passed"}
    assert ran.mutant("renamed")["status"] == "survived"


def test_a_parameter_set_that_is_gone_is_a_silenced_test(ran: Run) -> None:
    found = ran.outcomes("fewer")
    assert {test: found[test] for test in found if "params" in test} == {
        "test_params[1]": "passed", "test_params[2]": "passed", "test_params[3]": "skipped",
    }  # fmt: skip


def test_a_shared_fixture_that_breaks_is_booked_on_every_test_that_uses_it(ran: Run) -> None:
    cells = ran.mutant("shared")["cells"]
    assert {cell["test"].split("::")[1]: (cell["outcome"], cell["phase"]) for cell in cells} == {
        "test_shared_first": ("exception", "setup"), "test_shared_second": ("exception", "setup"),
    }  # fmt: skip
    assert {cell["isolation"] for cell in cells} == {"alone"}


@pytest.mark.parametrize(("name", "outcome"), [("uncollectable", "exception"), ("exit_collecting", "crash")])
def test_a_file_that_cannot_be_collected(ran: Run, name: str, outcome: str) -> None:
    cells = ran.mutant(name)["cells"]
    assert {cell["test"]: (cell["outcome"], cell["phase"]) for cell in cells} == {
        "test_collected.py::test_four": (outcome, "collect"), "test_collected.py::test_other": (outcome, "collect"),
    }  # fmt: skip


def test_a_collection_that_hangs_or_dies(project: Project) -> None:
    project.write({"shop.py": CODE, "test_collected.py": COLLECTED})
    project.cases([
        Case("hangs", "return 4", "while True: pass", "shop.py"), Case("dies", "return 4", "os._exit(0)", "shop.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=shop.py")
    for name, outcome in (("hangs", "timeout"), ("dies", "crash")):
        assert ran.outcomes(name) == {"test_four": outcome, "test_other": outcome}


def test_a_value_taken_at_collection_kills(ran: Run) -> None:
    assert ran.outcomes("wrong_collecting") == {"test_four": "assertion", "test_other": "passed"}


def test_no_status_rests_on_a_provisional_kill(ran: Run) -> None:
    for mutant in ran.data["mutants"]:
        kills = [cell for cell in mutant["cells"] if cell["test"] in mutant["killed_by"]]
        assert not kills or any("provisional" not in cell["flags"] for cell in kills), mutant["key"]
        assert set(mutant["killed_by"]) <= set(mutant["reached_by"])


def test_a_slow_shared_fixture_is_no_timeout(project: Project) -> None:
    project.write({
        "shop.py": "def value():\n    return 1\n",
        "test_shop.py": """\
            import pytest, shop, time
            @pytest.fixture(scope="session")
            def slow():
                time.sleep(1.3)
                return shop.value()
            def test_first(slow): assert slow == 1
            def test_second(slow): assert slow == 1
            def test_third(slow): assert slow > 0
            """,
    })  # fmt: skip
    ran = project.cases([Case("value", "return 1", "return 9", "shop.py")]).run()
    assert ran.outcomes("value") == {"test_first": "assertion", "test_second": "assertion", "test_third": "passed"}


def test_a_module_or_class_tear_down_that_fails_is_booked_on_every_test(project: Project) -> None:
    project.write({
        "shop.py": "def module():\n    return 1\n\ndef group():\n    return 2\n",
        "test_shop.py": """\
            import shop, unittest
            def teardown_module(module): assert shop.module() == 1
            class TestGroup(unittest.TestCase):
                @classmethod
                def tearDownClass(cls): assert shop.group() == 2
                def test_first(self): pass
                def test_second(self): pass
            """,
    })  # fmt: skip
    project.cases([Case("module", "return 1", "return 9", "shop.py"), Case("group", "return 2", "return 9", "shop.py")])
    ran = project.run()
    both = {"TestGroup::test_first": "assertion", "TestGroup::test_second": "assertion"}
    assert (ran.outcomes("module"), ran.outcomes("group")) == (both, both)


def test_code_that_only_a_forked_process_runs(project: Project) -> None:
    project.write({
        "shop.py": "def value():\n    return 1\n",
        "test_shop.py": """\
            import os, shop
            def test_fork():
                pid = os.fork()
                if not pid: os._exit(shop.value())
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
            """,
    })  # fmt: skip
    ran = project.cases([Case("value", "return 1", "return 2", "shop.py")]).run()
    assert ran.outcomes("value") == {"test_fork": "assertion"}
