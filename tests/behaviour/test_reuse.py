"""A second run runs again what may have changed, and nothing else; what it keeps is what a fresh run says."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

SHOP = '''\
import json
from pathlib import Path

RATE = 2


def fee(n):
    return n * RATE


def big(n):
    if n > 10:
        return rescue(n)
    return n + 1


def rescue(n):
    """Nobody comes here: no test is that big."""
    return n - 5


def table():
    return json.loads(Path(__file__).with_name("table.json").read_text())["a"] + 1


class Box:
    def __init__(self, items=()):
        self.items = list(items)

    def add(self, n):
        self.items.append(n)
        return len(self.items)


def spread(n):
    return n if n < 100 else helped(n)


def helped(n):
    return n * 2
'''
ALONE = """\
def elsewhere(n):
    return n + 7


def unused():
    return 1
"""
CONFTEST = """\
import pytest, shop

@pytest.fixture
def three():
    return 3

@pytest.fixture(scope="session")
def shared():
    return shop.spread(5)
"""
TEST_SHOP = """\
import shop

def test_fee(three): assert shop.fee(three) == 6
def test_big(): assert shop.big(3) == 4
def test_table(): assert shop.table() == 2
class TestBox:
    def test_add(self): assert shop.Box([1]).add(2) == 2
def test_shared(shared): assert shared > 0
def test_shared_again(shared): assert shared < 9
"""
TEST_CHILD = """\
import pathlib, subprocess, sys
import alone

def test_child():
    code = "import alone; print(alone.elsewhere(1))"
    folder = pathlib.Path(alone.__file__).parent
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder).stdout
    assert int(said) == alone.elsewhere(1)
"""
FILES = {
    "pytest.ini": "[pytest]\ntestpaths = tests\npythonpath = .\n",
    "shop.py": SHOP,
    "alone.py": ALONE,
    "table.json": '{"a": 1}',
    "tests/conftest.py": CONFTEST,
    "tests/test_shop.py": TEST_SHOP,
    "tests/test_zoo.py": TEST_CHILD,
}
LIGHT = tuple(
    word for name in ("hypothesispytest", "xdist", "pytest_cov", "asyncio", "timeout") for word in ("-p", f"no:{name}")
)
STAMP = 10**12  # microseconds
Edit = Callable[[Project], object]


@pytest.fixture(scope="module")
def before(new_project: Callable[[], Project]) -> Project:
    """A project and its first run."""
    project = new_project()
    project.write(FILES)
    assert project.run(*LIGHT).status == 0
    return project


@pytest.fixture
def project(before: Project, new_project: Callable[[], Project]) -> Project:
    """A copy of it."""
    project = new_project()
    shutil.rmtree(project.path)
    shutil.copytree(before.path, project.path)
    return project


def stamp(sidecar: Path) -> None:
    """Give all cells durations that no cell that runs can have."""
    with sqlite3.connect(sidecar) as connection:
        connection.execute("UPDATE cells SET micros = ? WHERE run = (SELECT max(run) FROM runs)", (STAMP,))
    connection.close()


def cells(sidecar: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The cells of the newest run, by key and node id: those with a stamp, and the others."""
    with sqlite3.connect(sidecar) as connection:
        rows = connection.execute(
            "SELECT m.key, t.nodeid, c.micros FROM cells c "
            "JOIN mutants m USING (run, mutant) JOIN tests t USING (run, test) WHERE run = (SELECT max(run) FROM runs)"
        ).fetchall()
    connection.close()
    stamped = {(key, nodeid) for key, nodeid, micros in rows if micros == STAMP}
    return stamped, {(key, nodeid) for key, nodeid, _ in rows} - stamped


def replaced(name: str, old: str, new: str) -> Edit:
    def edit(project: Project) -> None:
        path = project.path / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def added(name: str, text: str) -> Edit:
    def edit(project: Project) -> None:
        path = project.path / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(old + textwrap.dedent(text), encoding="utf-8")

    return edit


def verdicts(ran: Run) -> dict[str, Any]:
    """All that a report says of mutants, but for how long things took."""
    return {
        mutant["key"]: (
            mutant["status"], mutant["reason"], mutant["killed_by"], mutant["reached_by"],
            sorted((cell["test"], cell["outcome"], cell["phase"], cell["exception"], _placeless(cell["message"]))
                   for cell in mutant["cells"]),
        )
        for mutant in ran.data["mutants"]
    }  # fmt: skip


def _placeless(message: str | None) -> str:
    """Without the name of the directory that the project is in."""
    return re.sub(r"\S+/project/", "", message or "")


def again(project: Project, *arguments: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]], Run]:
    """Run once more, and where only some cells were kept afresh beside it: (kept, ran, the run)."""
    stamp(project.sidecar)
    ran = project.run(*LIGHT, *arguments)
    ran = replace(ran, report=Path(shutil.copy(ran.report, project.outside / "kept.json")))
    kept, others = cells(project.sidecar)
    if kept and others:
        other = project.outside / "fresh.sqlite"
        fresh = project.run(*LIGHT, "--kill-matrix-fresh", f"--kill-matrix-db={other}", *arguments)
        other.unlink()
        assert verdicts(ran) == verdicts(fresh)
    return kept, others, ran


def mutants(found: set[tuple[str, str]]) -> set[str]:
    """The definitions that the cells' mutants are in."""
    return {key.split("::")[1] for key, _ in found}


def names(found: set[tuple[str, str]]) -> set[str]:
    return {nodeid.rsplit("::", 1)[1] for _, nodeid in found}


def test_nothing_changed_nothing_runs(project: Project) -> None:
    before = verdicts(
        project.run(*LIGHT, "--kill-matrix-fresh", f"--kill-matrix-db={project.outside / 'other.sqlite'}")
    )
    _, ran, run = again(project, "-v")
    assert not ran
    assert verdicts(run) == before
    run.lines.fnmatch_lines(["*cells kept of run 1: nothing changed that they depend on*"])


@pytest.mark.parametrize(
    "edit",
    [
        added("shop.py", "\n# nothing\n"),
        replaced("tests/test_shop.py", "def test_big():", "# big\ndef test_big( ) :"),
    ],
    ids=["a comment", "a comment in a test"],
)
def test_comments_and_writing_change_nothing(project: Project, edit: Edit) -> None:
    edit(project)
    _, ran, _ = again(project)
    assert names(ran) <= {"test_child"}, "what another process does with a file is not known"


def test_a_function_that_changed_runs_its_rows_and_the_tests_that_run_it(project: Project) -> None:
    replaced("shop.py", "    return n * RATE", "    return RATE * n")(project)
    kept, ran, _ = again(project)
    assert names(ran) == {"test_fee", "test_child"}, "the child may have run anything"
    assert {"fee", "<module>"} <= mutants(ran)
    assert {"big", "Box.add", "table", "<module>"} <= mutants(kept)


def test_a_test_that_changed_runs_its_column(project: Project) -> None:
    replaced("tests/test_shop.py", "assert shop.big(3) == 4", "assert shop.big(3) == 4 == shop.big(2) + 1")(project)
    kept, ran, _ = again(project)
    assert names(ran) == {"test_big"}
    assert "test_big" not in names(kept)


@pytest.mark.parametrize("name", ["tests/test_shop.py", "tests/test_new.py"])
def test_a_new_test_runs_its_column_and_no_other(project: Project, name: str) -> None:
    added(name, "\n\ndef test_new():\n    import shop\n    assert shop.fee(1) == 2 and shop.big(11) == 6\n")(project)
    _, ran, _ = again(project)
    assert names(ran) == {"test_new"}


def test_a_test_that_is_gone_takes_its_column_along(project: Project) -> None:
    replaced("tests/test_shop.py", "def test_big(): assert shop.big(3) == 4\n", "")(project)
    kept, ran, _ = again(project)
    assert not ran
    assert "test_big" not in names(kept)


def test_code_that_runs_under_a_mutant_only_is_what_its_cells_depend_on(project: Project) -> None:
    """Under ``n > 1`` the test of ``big`` comes to ``rescue``, where the clean suite never was."""
    replaced("shop.py", "    return n - 5", "    return n + 1")(project)
    kept, ran, _ = again(project)
    assert "big" in mutants(ran), "the mutant that calls it was killed by what it did, and survives now"
    assert names(ran) <= {"test_big", "test_child"}
    assert "big" in mutants(kept), "those that do not come there are kept"


def test_what_an_earlier_test_set_up_under_the_mutant_counts_for_those_who_use_it(project: Project) -> None:
    """``helped`` runs in a fixture of the session, while its first test does; the second sees what came of it."""
    replaced("shop.py", "    return n * 2", "    return n - 1")(project)
    _, ran, _ = again(project)
    assert {"test_shared", "test_shared_again"} <= names({cell for cell in ran if "::spread::" in cell[0]})


def test_a_test_that_starts_an_interpreter_may_have_run_anything(project: Project) -> None:
    replaced("alone.py", "    return 1\n", "    return 2\n")(project)  # which nothing runs
    _, ran, _ = again(project)
    assert names(ran) == {"test_child"}


@pytest.mark.parametrize(
    "edit",
    [
        replaced("shop.py", "RATE = 2", "RATE = 1 + 1"),
        replaced("table.json", "1}", "1, "[:1] + '"b": 2}'),
        added("notes.txt", "may be read"),
        replaced("pytest.ini", "[pytest]\n", "[pytest]\nxfail_strict = true\n"),
        added("tests/test_side.py", "import sys\nsys.setrecursionlimit(2000)\ndef test_side(): pass\n"),
    ],
    ids=["a constant", "data", "a new file", "configuration", "an import with effects"],
)
def test_what_every_test_can_see_runs_everything(project: Project, edit: Edit) -> None:
    edit(project)
    kept, ran, _ = again(project)
    assert ran
    assert not kept


def test_a_conftest_that_changed_runs_the_tests_below_it(project: Project) -> None:
    replaced("tests/conftest.py", "return 3", "return 1 + 2")(project)
    kept, ran, _ = again(project)
    assert ran
    assert not kept


@pytest.mark.parametrize("arguments", [("-W", "error"), ("--kill-matrix-isolation=test",)])
def test_options_that_may_decide_run_everything(project: Project, arguments: tuple[str, ...]) -> None:
    kept, _, _ = again(project, *arguments)
    assert not kept


def test_a_choice_of_tests_or_mutants_decides_nothing(project: Project) -> None:
    _, ran, _ = again(project, "-k", "fee or big", "-v", "--mutants=shop.py::*")
    assert not ran


def test_fresh_keeps_nothing(project: Project) -> None:
    kept, _, _ = again(project, "--kill-matrix-fresh")
    assert not kept


def test_older_runs_fill_in_what_newer_ones_lack(project: Project) -> None:
    stamp(project.sidecar)
    replaced("shop.py", "    return n * RATE", "    return RATE * n")(project)
    project.run(*LIGHT)
    replaced("shop.py", "    return RATE * n", "    return n * RATE")(project)  # as it was two runs ago
    project.run(*LIGHT)
    stamped, others = cells(project.sidecar)
    assert stamped
    assert not others


def test_a_sidecar_that_was_cut_short_helps_a_project_that_was_edited(project: Project) -> None:
    with sqlite3.connect(project.sidecar) as connection:  # as a killed controller leaves it
        keys = [key for (key,) in connection.execute("SELECT key FROM mutants WHERE status = 'killed'")]
        for key in keys[::2]:
            connection.execute("DELETE FROM cells WHERE mutant = (SELECT mutant FROM mutants WHERE key = ?)", (key,))
            connection.execute("UPDATE mutants SET status = NULL WHERE key = ?", (key,))
        connection.execute("UPDATE runs SET complete = 0")
    connection.close()
    replaced("shop.py", "    return n - 5", "    return n - 6")(project)
    kept, ran, _ = again(project)
    assert {key for key, _ in ran} >= set(keys[::2])
    assert {key for key, _ in kept} & set(keys[1::2])


def test_a_merged_run_is_kept_like_any_other(project: Project) -> None:
    parts = [project.outside / name for name in ("one", "two")]
    for number, part in enumerate(parts, 1):
        ran = project.run(*LIGHT, f"--kill-matrix-db={part}", f"--kill-matrix-shard={number}/2", "--kill-matrix-fresh")
        assert ran.status == 0, ran.screen
    project.sidecar.unlink()
    command = [sys.executable, "-m", "pytest_killmatrix.cli", "merge", *map(str, parts), "-o", str(project.sidecar)]
    subprocess.run(command, check=True, cwd=project.path)
    replaced("shop.py", "    return n * RATE", "    return RATE * n")(project)
    kept, ran, _ = again(project)
    assert names(ran) == {"test_fee", "test_child"}
    assert {"big", "Box.add", "table", "<module>"} <= mutants(kept)


STATE = {
    "shop.py": """\
        CONFIG = {"limit": 6}
        HOOKS = []

        def fee(n):
            k = n * 2
            if k > 8:
                return rescue(k)
            return k

        def rescue(k):
            CONFIG["limit"] = 100
            return k

        def limit():
            return CONFIG["limit"]

        def hook(function):
            HOOKS.append(function)
            return function

        class Base:
            kids = []
            def __init_subclass__(cls):
                Base.kids.append(cls)

        def best():
            return max([each() for each in HOOKS] or [6])

        def kid():
            return max([each.value for each in Base.kids] or [6])
        """,
    "tests/test_a.py": """\
        import shop

        def test_sets():
            shop.CONFIG["limit"] = 7
            assert shop.fee(1) == 2

        def test_limit():
            assert shop.fee(2) <= shop.limit() - 2

        def test_hooks():
            assert shop.fee(3) <= shop.best()

        def test_kids():
            assert shop.fee(3) <= shop.kid()

        def test_spawned():
            import multiprocessing
            context = multiprocessing.get_context("spawn")
            queue = context.SimpleQueue()
            process = context.Process(target=queue.put, args=(6,))
            process.start()
            process.join()
            assert shop.fee(3) <= queue.get()

        def test_state_file():
            import pathlib
            path = pathlib.Path(__file__).parent.parent / "current" / "limit.txt"
            assert shop.fee(3) <= int(path.read_text())
        """,
    "tests/test_b.py": """\
        import shop

        @shop.hook
        def handler():
            return 6

        class Kid(shop.Base):
            value = 6

        class TestB:
            shop.HOOKS.append(lambda: 6)
            def test_b(self): assert shop.fee(1) == 2
        """,
    "first/limit.txt": "6",
    "second/limit.txt": "100",
}


def relinked(project: Project) -> None:
    (project.path / "current").unlink()
    (project.path / "current").symlink_to("second")


@pytest.mark.parametrize(
    ("edit", "arguments"),
    [
        (replaced("tests/test_a.py", "shop.fee(2) <= shop.limit() - 2", "shop.limit() - 2 >= shop.fee(2)"), ()),
        (replaced("tests/test_a.py", '["limit"] = 7', '["limit"] = 70'), ()),
        (added("tests/test_0.py", "def test_first():\n    import shop\n    shop.CONFIG['limit'] = 90\n"), ()),
        (lambda project: None, ("-k", "not sets")),
        (replaced("shop.py", '["limit"] = 100', '["limit"] = 5'), ()),
        (replaced("tests/test_b.py", "    return 6", "    return 60"), ()),
        (replaced("tests/test_b.py", "value = 6", "value = 60"), ()),
        (replaced("tests/test_b.py", "lambda: 6", "lambda: 60"), ()),
        (relinked, ()),
    ],
    ids=["a test after it", "what it sets", "one before", "not run", "what a mutant sets", "a hook", "a subclass",
         "a class body", "a link"],
)  # fmt: skip
def test_what_tests_and_imports_leave_behind(
    new_project: Callable[[], Project], edit: Edit, arguments: tuple[str, ...]
) -> None:
    project = new_project().write({**STATE, "pytest.ini": FILES["pytest.ini"]})
    (project.path / "current").symlink_to("first")
    project.cases([Case("triple", "n * 2", "n * 3", "shop.py"), Case("other", "k > 8", "k > 7", "shop.py")])
    command = project.command(*LIGHT)
    project.execute(command)
    edit(project)
    found = verdicts(project.execute([*command, *arguments]))
    other = project.outside / "fresh.sqlite"
    fresh = project.execute([*command, *arguments, "--kill-matrix-fresh", f"--kill-matrix-db={other}"])
    assert found == verdicts(fresh)


def test_another_interpreter_option_runs_everything(project: Project) -> None:
    words = project.command(*LIGHT)
    stamp(project.sidecar)
    assert project.execute([words[0], "-O", *words[1:]]).status in (0, 1)
    assert not cells(project.sidecar)[0]


CALLS = 8


class Generated:
    """A project of functions that call each other, some of them only under a mutant, and tests of some of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.constants = [self.random.randrange(1, 6) for _ in range(CALLS)]
        self.calls = [
            self.random.randrange(at, CALLS) for at in range(CALLS)
        ]  # where a limit leads to; itself: nowhere
        self.limits = [self.random.randrange(3, 12) for _ in range(CALLS)]
        self.tested = {f"test_{at}": (self.random.randrange(CALLS), self.random.randrange(8)) for at in range(5)}
        self.base, self.fixture, self.unit = 1, 1, 1
        self.added = 0

    def files(self) -> dict[str, str]:
        """The sources as they are now; every test passes."""
        space: dict[str, Any] = {}
        shop = f"BASE = {self.base}\n\n"
        for at in range(CALLS):
            call = f"f{self.calls[at]}(n - 1)" if self.calls[at] != at else "n"
            shop += (
                f"\ndef f{at}(n):\n    if n > {self.limits[at]}:\n        return {call} + BASE\n"
                f"    return n + {self.constants[at]}\n"
            )
        exec(shop, space)
        tests = "import shop\n"
        for name, (function, argument) in self.tested.items():
            expected = space[f"f{function}"](argument) * self.fixture
            tests += f"\ndef {name}(factor):\n    assert shop.f{function}({argument}) * factor == {expected}\n"
        conftest = f"import pytest\n\n@pytest.fixture\ndef factor():\n    return {self.fixture}\n"
        return {"shop.py": shop, "test_shop.py": tests, "conftest.py": conftest, "unit.txt": str(self.unit)}

    def edit(self) -> str:
        """Change a random thing."""
        what = self.random.choice(
            ["constant", "constant", "call", "call", "limit", "test", "test", "add", "add", "remove", "base", "fixture",
             "unit"]
        )  # fmt: skip
        at = self.random.randrange(CALLS)
        if what == "constant":
            self.constants[at] += 1
        elif what == "call":
            self.calls[at] = self.random.randrange(at, CALLS)
        elif what == "limit":
            self.limits[at] = self.random.randrange(3, 12)
        elif what == "test":
            name = self.random.choice(sorted(self.tested))
            self.tested[name] = (self.tested[name][0], self.random.randrange(8))
        elif what == "add":
            self.added += 1
            self.tested[f"test_more_{self.added}"] = (at, self.random.randrange(8))
        elif what == "remove" and len(self.tested) > 1:
            del self.tested[self.random.choice(sorted(self.tested))]
        else:
            setattr(self, what if what != "remove" else "unit", getattr(self, what if what != "remove" else "unit") + 1)
        return what


@pytest.mark.parametrize("seed", range(int(os.environ.get("KILLMATRIX_SEEDS", "2"))))
def test_whatever_is_edited_a_reused_matrix_is_a_fresh_one(new_project: Callable[[], Project], seed: int) -> None:
    project, generated = new_project(), Generated(seed)
    project.write({**generated.files(), "pytest.ini": "[pytest]\n"})
    project.run(*LIGHT)
    for _ in range(2):
        generated.edit()
        project.write(generated.files())
        again(project)
