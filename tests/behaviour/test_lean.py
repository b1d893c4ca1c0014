"""The lean path says what the full path says: one project run by both, all cells compared."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = """\
import logging, os, random, sys, threading, warnings

def plain(n): return 1 + n
def boom(n): return 2 + n
def say(n): print("said", n); return n + 3
def log(n): logging.getLogger("shop").warning("n is %s", n); return n + 4
def warn(n): warnings.warn("n", UserWarning); return n + 5
def environment(n): return os.environ.get("PYTEST_CURRENT_TEST", "") + str(n + 6)
def raising(n): raise KeyError(n + 7)
def fixture(n): return n + 8
def wide(n): return n + 9
def finish(n): return n + 10
def case(n): return n + 11
def draw(n): return random.random() + n + 12
def patch(n): return n + 13
def thread(n): return n + 14
def file(n): return str(n + 15)
def level(n): return logging.root.level + n + 16
def filters(n): return len(warnings.filters) * 0 + n + 17
def skipping(n): return n + 18
def bad(n): return n + 19
def mark(n): return n + 20
def xunit(n): return n + 21
def deprecated(n): return n + 22
def late(n): return n + 23
def final(n): return n + 24
def result(n): return n + 25
"""
TESTS = """\
import os, random, sys, threading, traceback, unittest, warnings
import pytest, shop

def test_path():
    if shop.plain(1) != 2:
        files = [os.path.basename(frame.filename) for frame in traceback.extract_stack()]
        pytest.fail("lean" if "lean.py" in files else "full")

@pytest.mark.parametrize("n", [1, 2, 3])
def test_plain(n): assert shop.plain(n) == n + 1

class TestGroup:
    @pytest.fixture(autouse=True)
    def prepare(self): self.n = shop.fixture(1)
    def test_method(self): assert self.n == 9
    @pytest.mark.parametrize("n", [1, 2])
    def test_param(self, n): assert shop.plain(n) == n + 1

def test_boom(): shop.boom(1)
def test_say(): assert shop.say(1) == 4
def test_say_captured(capsys): shop.say(1); assert capsys.readouterr().out == "said 1\\n"
def test_log(): assert shop.log(1) == 5
def test_log_captured(caplog): shop.log(1); assert caplog.messages == ["n is 1"]
def test_warn():
    with pytest.warns(UserWarning): assert shop.warn(1) == 6
def test_warn_free(): assert shop.warn(1) == 6
def test_warn_recorded(recwarn): shop.warn(1); assert len(recwarn) == 1
def test_environment(): assert shop.environment(1) == "test_kinds.py::test_environment (call)7"
@pytest.fixture
def environment(): return os.environ["PYTEST_CURRENT_TEST"]
def test_environment_in_set_up(environment): assert environment.endswith("(setup)") and shop.environment(1)
def test_raising():
    with pytest.raises(KeyError, match="8"): shop.raising(1)
@pytest.fixture
def value():
    yield shop.fixture(2)
    assert shop.finish(1) == 11
def test_fixture(value): assert value == 10
def test_finish(value): pass
@pytest.fixture(scope="module")
def shared(): return shop.wide(1)
def test_shared(shared): assert shared == 10
def test_shared_again(shared): assert shared == 10
def test_finalizer(request): request.addfinalizer(lambda: shop.finish(1) == 11 or pytest.fail("late"))
class TestCase(unittest.TestCase):
    def test_case(self): self.assertEqual(shop.case(1), 12)
@pytest.fixture(autouse=True)
def seed(): random.seed(7)
def test_draw(): assert 13 < shop.draw(1) < 14
def test_patch(monkeypatch): monkeypatch.setattr(shop, "plain", shop.patch); assert shop.plain(1) == 14
def test_after_patch(): assert shop.plain(1) == 2
def test_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(shop.thread(1)))
    thread.start(); thread.join(); assert found == [15]
def test_file(tmp_path): (tmp_path / "x").write_text(shop.file(1)); assert (tmp_path / "x").read_text() == "16"
def test_level(): assert shop.level(1) == 47
def test_filters():
    with warnings.catch_warnings(): warnings.simplefilter("ignore"); assert shop.filters(1) == 18
def test_skipping():
    if shop.skipping(1) != 19: pytest.skip("no")
    pytest.importorskip("os")
@pytest.mark.xfail
def test_bad(): assert shop.bad(1) == 1
@pytest.mark.skipif("shop.mark(1) != 21")
def test_mark(): assert shop.mark(2) == 22
@pytest.mark.filterwarnings("error")
def test_strict_warnings(): shop.deprecated(1)
def setup_function(function): function.n = shop.xunit(1)
def test_xunit(): assert test_xunit.n == 22
def test_returns(): return shop.plain(1) and None
def test_late():
    thread = threading.Thread(target=lambda: shop.late(1) == 24 or 1 / 0)
    thread.start(); thread.join()
class Final:
    def __del__(self): shop.final(1) == 25 or 1 / 0
def test_final(): Final()
def test_result(): return None if shop.result(1) == 26 else "more"
async def pause(): pass
def test_awaitable():
    if shop.result(1) != 26: return pause()
"""
AFTERS = {
    "plain": "n - 1", "boom": "n + None", "say": "n - 3", "log": "n - 4", "warn": "n - 5", "environment": "n - 6",
    "raising": "n - 7", "fixture": "n - 8", "wide": "n - 9", "finish": "n - 10", "case": "n - 11", "draw": "n - 12",
    "patch": "n - 13", "thread": "n + None", "file": "n - 15", "level": "n - 16", "filters": "n - 17",
    "late": "n - 23", "final": "n - 24", "result": "n - 25", "skipping": "n - 18", "bad": "n * 1", "mark": "n - 20",
    "xunit": "n - 21", "deprecated": "warnings.warn('x')",
}  # fmt: skip


def prepared(project: Project) -> Project:
    project.write({"shop.py": CODE, "test_kinds.py": TESTS})
    texts = dict(re.findall(r"^def (\w+)\(n\):.*?(\d+ \+ n|n \+ \d+)", CODE, re.MULTILINE))
    project.cases(Case(name, texts[name], after, "shop.py") for name, after in AFTERS.items())
    return project


@pytest.fixture(scope="module", params=["default", "error"])
def strictness(request: pytest.FixtureRequest) -> str:
    return f"-W{request.param}"


@pytest.fixture(scope="module")
def lean(new_project: Callable[[], Project], strictness: str) -> Run:
    return prepared(new_project()).run("--mutate=shop.py", strictness, "-p", "no:asyncio")


@pytest.fixture(scope="module")
def full(new_project: Callable[[], Project], strictness: str) -> Run:
    project = prepared(new_project()).write({"conftest.py": "def pytest_runtest_call(item): pass\n"})
    return project.run("--mutate=shop.py", strictness, "-p", "no:asyncio")


def test_both_paths_were_taken(lean: Run, full: Run, strictness: str) -> None:
    found = []
    for ran in (lean, full):
        assert ran.status == (strictness == "-Werror"), ran.screen  # one test warns, and fails clean where that is one
        assert "full protocol" not in ran.screen
        found += [cell["message"] for cell in ran.mutant("plain")["cells"] if cell["test"].endswith("test_path")]
    assert found == ["lean", "full"]


def test_all_cells_are_the_same(lean: Run, full: Run) -> None:
    def all_but_messages(ran: Run) -> dict[tuple[str, str], tuple[object, ...]]:
        # a message may be longer: pytest's comparison of the two sides is left out on the lean path
        return {key: cell[:3] + cell[4:] for key, cell in ran.cells().items() if not key[1].endswith("test_path")}

    assert all_but_messages(lean) == all_but_messages(full)
    assert lean.statuses() == full.statuses()


def test_the_cells_are_right(lean: Run, strictness: str) -> None:
    survived = {name for name, status in lean.statuses().items() if status == "survived"}
    crashed = {name for name, status in lean.statuses().items() if status == "crashed"}
    if strictness == "-Werror":  # then exceptions in threads and finalizers fail tests, and so do results
        assert survived == {"bad"}
        assert crashed == {"boom", "deprecated", "late", "final"}
    else:
        assert survived == {"bad", "late", "final"}
        assert crashed == {"boom", "deprecated"}


LEVELS = """\
    import logging, pytest, shop
    @pytest.fixture
    def loud(): logging.root.setLevel(50)
    def test_as_configured(): assert shop.level() == {0}
    def test_each_phase_begins_anew(loud): assert shop.level() == {0}
    def test_left_behind(): logging.root.setLevel(50); assert shop.level() == 50
    def test_after_that(): assert shop.level() == {0}
    """


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("ini", "level"),
    [("log_level = INFO", 20), ("log_level = INFO\nlog_file_level = DEBUG", 10), ("log_cli_level = INFO\n", 20)],
)
def test_log_levels(project: Project, ini: str, level: int, full: bool) -> None:
    project.write({
        "shop.py": "import logging\ndef level(): return logging.root.level + 0\n",
        "test_shop.py": LEVELS.format(level), "pytest.ini": f"[pytest]\n{ini}\n",
    })  # fmt: skip
    if full:
        project.write({"conftest.py": "def pytest_runtest_call(item): pass\n"})
    if "log_level" not in ini:  # then pytest does not put the level back between phases
        project.write({"test_shop.py": "import shop\ndef test_as_configured(): assert shop.level() == 20\n"})
    ran = project.cases([Case("level", "level + 0", "level + 1", "shop.py")]).run("--mutate=shop.py")
    assert [test["nodeid"] for test in ran.data["tests"] if test["excluded"]] == []
    assert set(ran.outcomes("level").values()) == {"assertion"}
