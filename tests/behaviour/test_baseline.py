"""``--mutation-baseline`` on real repositories: what the change of the tests contributed, and nothing else touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from projects import Case, Project, Run

SHOP = """\
    def price(count, vip):
        total = count * 7
        if vip:
            total = total - 3
        return total

    def label(name):
        return name.strip().upper()
    """
OLD_TEST = """\
    from shop import label, price
    def test_price(): assert price(2, False) == 14
    def test_smoke(): price(1, True); label("a")
    """
NEW_TEST = "\n    def test_vip(): assert price(2, True) == 11\n"
GAINED = {"total - 3": "assertion", "3": "assertion", "total = total - 3": "assertion"}


class Repository:
    """A project in git: ``commit`` what is there now."""

    def __init__(self, project: Project, below: str = "") -> None:
        self.project = project
        self.top = project.path
        if below:
            project.path = project.path / below
            project.path.mkdir(parents=True)
            project.write({"pytest.ini": "[pytest]\n"})
            (self.top / "pytest.ini").unlink()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.com")
        self.git("config", "user.name", "A")

    def git(self, *words: str) -> str:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ["GIT_OPTIONAL_LOCKS"] = "0"
        done = subprocess.run(["git", *words], cwd=self.top, env=environ, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self, files: Mapping[str, str | None]) -> Repository:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "more")
        return self

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            if text is None:
                (self.project.path / name).unlink()
            else:
                self.project.write({name: text})

    def state(self) -> tuple[str, ...]:
        """Everything that git could tell changed."""
        index = (self.top / ".git" / "index").read_bytes().hex()
        commands = (["status", "--porcelain"], ["stash", "list"], ["worktree", "list"], ["branch", "-a"])
        told = "".join(self.git(*words) for words in commands)
        return (index, *(line for line in told.splitlines() if ".killmatrix.sqlite" not in line))

    def run(self, *arguments: str, ref: str = "HEAD", status: int = 0, env: Mapping[str, str] | None = None) -> Run:
        before = self.state()
        ran = self.project.run(f"--mutation-baseline={ref}", *arguments, env=env)
        assert ran.status == status, ran.screen
        assert self.state() == before
        return ran


@pytest.fixture
def repository(new_project: Callable[[], Project]) -> Repository:
    return Repository(new_project())


def delta(ran: Run) -> dict[str, Any]:
    found: dict[str, Any] = ran.data["delta"]
    return found


def gained(ran: Run) -> dict[str, str]:
    """How each gained mutant was, by its original text."""
    mutants = {mutant["key"]: mutant["original"] for mutant in ran.data["mutants"]}
    return {mutants[gain["mutant"]]: gain["by"] for gain in delta(ran)["gained"]}


LAYOUTS: dict[str, tuple[dict[str, str], str, str]] = {
    "tests beside src": ({"src/shop.py": SHOP, "pytest.ini": "[pytest]\npythonpath = src\n"}, "tests/test_shop.py", ""),
    "beside the code": ({"shop.py": SHOP}, "test_shop.py", ""),
    "inside the package": (
        {"shop/__init__.py": SHOP, "shop/tests/__init__.py": ""}, "shop/tests/test_shop.py", "",
    ),
    "below the top of the repository": ({"shop.py": SHOP}, "tests/test_shop.py", "parts/one"),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_asserting_test_gains_what_it_asserts(new_project: Callable[[], Project], layout: str) -> None:
    source, test, below = LAYOUTS[layout]
    repository = Repository(new_project(), below).commit({**source, test: OLD_TEST})
    repository.write({test: OLD_TEST + NEW_TEST})
    ran = repository.run("--mutation-scope=all")
    assert set(gained(ran)) >= set(GAINED), ran.screen
    facts = delta(ran)
    assert facts["tests"]["added"] == [f"{test}::test_vip"]
    assert facts["tests"]["unchanged"] == 2
    assert facts["lost"] == facts["undecided"] == facts["unconfirmed"] == []
    assert facts["verdict"] == "gained"
    assert facts["gained_by_assertion"] == len(facts["gained"])
    assert {name for gain in facts["gained"] for name in gain["killed_by"]} == {f"{test}::test_vip"}
    (share,) = facts["by_test"]
    assert (share["gained"], share["unique"]) == (len(facts["gained"]), len(facts["gained"]))


def test_a_baseline_alone_asks_for_a_matrix(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    ran = repository.project.plain(
        "--mutation-baseline=HEAD", "--mutation-scope=covered", f"--kill-matrix-json={repository.project.report}"
    )
    assert ran.status == 0, ran.screen
    assert delta(ran)["verdict"] == "gained"


AT_IMPORT = """\
    LIMIT = 3
    def price(count, rate=7):
        return count * rate if count < LIMIT else count * rate - 1
    """
AT_IMPORT_TESTS = """\
    import shop
    def test_price(): assert shop.price(2) == 14
    def test_many(): assert shop.price(3) == 20
    """
AT_IMPORT_CHANGES = {
    "removed": (AT_IMPORT_TESTS.replace("def test_many(): assert shop.price(3) == 20", ""), True),
    "weakened": (AT_IMPORT_TESTS.replace(" == 20", ""), True),
    "renamed": (AT_IMPORT_TESTS.replace("test_many", "test_three"), False),
}


@pytest.mark.parametrize("change", AT_IMPORT_CHANGES)
def test_old_tests_meet_mutants_of_code_that_runs_at_import(repository: Repository, change: str) -> None:
    """Such a mutant has the old suite's test files collected again, in a child of its process."""
    text, loses = AT_IMPORT_CHANGES[change]
    repository.commit({"shop.py": AT_IMPORT, "test_shop.py": AT_IMPORT_TESTS})
    repository.write({"test_shop.py": text})
    facts = delta(repository.run("--mutation-scope=all"))
    assert facts["tests"][change if change != "weakened" else "changed"]
    limit = {loss["by"] for loss in facts["lost"] if loss["mutant"].startswith("shop.py::<module>::number::")}
    assert limit == ({"assertion"} if loses else set())
    assert facts["undecided"] == facts["unconfirmed"] == []


def test_helpers_conftests_and_data_come_from_the_ref(repository: Repository) -> None:
    """The old suite is what it was: with today's helper, conftest or data it would kill what it did not."""
    test = "from helpers import check\nimport shop\ndef test_it(vip, data): check(shop.price(2, vip), data)\n"
    conftest = """\
        import pathlib, pytest
        @pytest.fixture
        def vip(): return {}
        @pytest.fixture
        def data(): return int((pathlib.Path(__file__).parent / "data.txt").read_text())
        """
    repository.commit(
        {
            "shop.py": SHOP, "pytest.ini": "[pytest]\npythonpath = .\n", "tests/test_it.py": test,
            "tests/conftest.py": conftest.replace("{}", "False"), "tests/data.txt": "15",
            "tests/helpers.py": "def check(found, limit): assert found < limit\n",
        }
    )  # fmt: skip
    repository.write(
        {
            "tests/conftest.py": conftest.replace("{}", "True"), "tests/data.txt": "11",
            "tests/helpers.py": "def check(found, limit): assert found == limit\n",
        }
    )  # fmt: skip
    ran = repository.run("--mutation-scope=all")
    assert delta(ran)["tests"]["changed"] == ["tests/test_it.py::test_it"]
    assert gained(ran)["total - 3"] == "assertion"
    old = [test for test in ran.data["tests"] if test["suite"] == ["old"]]
    assert [(test["nodeid"], test["clean"]) for test in old] == [("tests/test_it.py::test_it", "passed")]


def test_the_option_asks_for_a_matrix_by_itself(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    command = [word for word in repository.project.command("--mutation-baseline=HEAD") if word != "--kill-matrix"]
    ran = repository.project.execute(command)
    assert ran.status == 0, ran.screen
    assert delta(ran)["verdict"] == "gained"


def test_a_test_that_asserts_nothing_gains_nothing(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": "from shop import price\ndef test_price(): price(1, False)\n"})
    repository.write({"test_more.py": "import shop\ndef test_smoke(): shop.price(1, True); shop.label('a')\n"})
    ran = repository.run("--mutation-scope=all")
    facts = delta(ran)
    assert (facts["gained_by_assertion"], facts["verdict"]) == (0, "gained nothing")
    assert {gain["by"] for gain in facts["gained"]} == {"crash"}
    assert facts["score_old"] == facts["score_new"]
    ran.lines.fnmatch_lines(["gained by assertion * 0   of * that the old suite does not detect"])


def test_only_what_differs_is_run_on_the_old_side(repository: Repository) -> None:
    where = "import os, shop\ndef {}(): open(os.environ['PLACES'], 'a').write('{} ' + os.getcwd() + '\\n'); assert {}\n"
    repository.commit(
        {
            "shop.py": SHOP, "test_a.py": where.format("test_a", "test_a", "1"),
            "test_b.py": where.format("test_b", "test_b", "shop.price(1, False) == 7"),
        }
    )  # fmt: skip
    repository.write({"test_b.py": where.format("test_b", "test_b", "shop.price(1, True) == 4")})
    places = repository.project.outside / "places"
    repository.run("--mutation-scope=all", env={"PLACES": str(places)})
    elsewhere = {line.split()[0] for line in places.read_text().splitlines() if "killmatrix-sandbox" in line}
    assert elsewhere == {"test_b"}


def test_a_renamed_test_gains_nothing(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST.replace("test_price", "test_the_price")})
    facts = delta(repository.run("--mutation-scope=all"))
    assert facts["gained"] == facts["lost"] == []
    assert facts["tests"]["renamed"] == [{"old": "test_shop.py::test_price", "new": "test_shop.py::test_the_price"}]


def test_a_removed_test_loses_what_it_alone_noticed(repository: Repository) -> None:
    repository.commit(
        {
            "shop.py": SHOP,
            "test_shop.py": OLD_TEST,
            "test_old.py": NEW_TEST.replace("\n    ", "from shop import price\n", 1),
        }
    )
    repository.write({"test_old.py": None})
    ran = repository.run("--mutation-fail-on-lost", status=1)
    facts = delta(ran)
    assert (facts["scope"], facts["gained"]) == ("all", [])
    assert {name for one in facts["lost"] for name in one["was_killed_by"]} == {"test_old.py::test_vip"}
    assert facts["tests"]["removed"] == ["test_old.py::test_vip"]
    ran.lines.fnmatch_lines(
        ["lost * the old suite detected them, the new one does not", "--mutation-fail-on-lost: * lost*"]
    )


def test_a_dirty_tree_with_untracked_tests(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write(
        {
            "shop.py": SHOP.replace("* 7", "* 7 + 0"),
            "test_new.py": "import shop\ndef test_vip(): assert shop.price(2, True) == 11\n",
        }
    )
    repository.git("add", "shop.py")
    ran = repository.run()
    assert delta(ran)["scope"] == "changed"
    assert {mutant["line"] for mutant in ran.data["mutants"]} == {2}
    assert delta(ran)["tests"]["added"] == ["test_new.py::test_vip"]


def test_scopes(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_new.py": "import shop\ndef test_label(): assert shop.label(' a') == 'A'\n"})
    ran = repository.run()
    assert (delta(ran)["scope"], delta(ran)["scope_depends_on_tests"]) == ("covered", True)
    assert {mutant["definition"] for mutant in ran.data["mutants"]} == {"label"}
    refused = repository.run("--mutation-scope=changed", status=5)
    refused.lines.fnmatch_lines(["*no mutant stands in a line of source that changed since HEAD*"])


def test_only_selected_tests_are_compared(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    facts = delta(repository.run("--mutation-scope=all", "test_shop.py::test_vip", "test_shop.py::test_smoke"))
    assert facts["tests"]["added"] == ["test_shop.py::test_vip"]
    assert (facts["tests"]["unchanged"], facts["tests"]["removed"]) == (1, [])
    alone = repository.run("--mutation-scope=all", "test_shop.py::test_vip")
    assert "of what was selected, HEAD has no test" in " ".join(alone.screen.split())


def test_restored_is_no_gain(repository: Repository) -> None:
    """The behaviour changed and the test was edited after it: that is no new contribution."""
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"shop.py": SHOP.replace("* 7", "* 8"), "test_shop.py": OLD_TEST.replace("== 14", "== 16")})
    ran = repository.run("--mutation-score-ref")
    facts = delta(ran)
    assert {gain["origin"] for gain in facts["gained"]} == {"restored"}
    assert facts["gained_by_assertion"] == 0
    (excluded,) = facts["tests"]["excluded"]
    assert (excluded["nodeid"], excluded["reason"]) == ("test_shop.py::test_price", "failed")
    assert excluded["headroom_reached"] > 0
    assert facts["score_ref"]["denominator"] > facts["score_ref"]["numerator"] > 0


def test_an_old_conftest_that_cannot_be_loaded(repository: Repository) -> None:
    repository.commit(
        {"shop.py": SHOP + "    OLD = 1\n", "conftest.py": "from shop import OLD\n", "test_shop.py": OLD_TEST}
    )
    repository.write({"shop.py": SHOP, "conftest.py": ""})
    ran = repository.run("--mutation-scope=all", status=4)
    ran.lines.fnmatch_lines(["*no delta: the tests of HEAD cannot be collected with today's source: *OLD*"])


@pytest.mark.parametrize("where", ["collected", "come to their end"])
def test_an_old_suite_that_hangs(repository: Repository, where: str) -> None:
    """While it is imported, or while it runs on today's source."""
    hurry = "import pytest_killmatrix.making as making\nmaking._AT_LEAST, making._PATIENCE = 2, 0\n"
    hang = "import time, shop\n{}def test_old(): time.sleep({}); shop.price(1, True)\n"
    repository.commit({"shop.py": SHOP, "conftest.py": hurry, "test_shop.py": OLD_TEST})
    old = hang.format("time.sleep(900)\n", 0) if where == "collected" else hang.format("", 900)
    repository.commit({"test_old.py": old})
    repository.write({"test_old.py": None})
    ran = repository.run("--mutation-scope=all", status=4)
    ran.lines.fnmatch_lines([f"*no delta: the tests of HEAD *{where}*within 2 s*"])


BASELINE = "--mutation-baseline=HEAD"
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no such ref": (("--mutation-baseline=nowhere",), "*nowhere is no commit that this repository has; git fetch *"),
    "an option for a ref": (("--mutation-baseline=-x",), "*'-x' is no git ref; give a branch*"),
    "no such branch to leave": (("--mutation-baseline=merge-base:nowhere",), "*nowhere is no commit *"),
    "a scope without a baseline": (("--mutation-scope=changed",), "*=changed: what changed is known with*"),
    "a share of what the tests choose": (
        (BASELINE, "--mutation-scope=covered", "--mutation-min-gain=20%"), "*the new tests choose*",
    ),
    "a gain that is no number": ((BASELINE, "--mutation-min-gain=some"), "*give a number of mutants*"),
    "the tests of the last run": ((BASELINE, "--lf", "-p", "cacheprovider"), "*--lf selects by the last run*"),
    "equivalents that are no list": ((BASELINE, "--mutation-equivalents=pytest.ini"), "*pytest.ini:1: an entry has*"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input(repository: Repository, name: str) -> None:
    arguments, message = REFUSED[name]
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    ran = repository.project.run(*arguments)
    assert ran.status == 4
    ran.lines.fnmatch_lines([message])
    assert not repository.project.sidecar.exists()


def test_a_temporary_directory_inside_the_repository(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST, ".gitignore": "tmp\n"})
    (repository.project.path / "tmp").mkdir()
    ran = repository.run(status=4, env={"TMPDIR": str(repository.project.path / "tmp")})
    ran.lines.fnmatch_lines(["*no delta: the temporary directory * is inside the repository; set TMPDIR*"])


def test_in_a_sandbox(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    ran = repository.run("--mutation-scope=all", "--kill-matrix-sandbox=copy")
    assert set(gained(ran)) >= set(GAINED), ran.screen


def test_outside_git(new_project: Callable[[], Project]) -> None:
    project = new_project().write({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    ran = project.run("--mutation-baseline=main", env={"GIT_CEILING_DIRECTORIES": str(project.path.parent)})
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*is in no git repository, so there is nothing to compare with*"])


def test_a_repository_that_git_will_not_touch(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    (repository.top / ".git" / "config").write_text("[core", encoding="utf-8")
    ran = repository.project.run("--mutation-baseline=HEAD")
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*git cannot look into *: *bad config*"])


def test_a_shallow_clone_says_what_to_fetch(repository: Repository, new_project: Callable[[], Project]) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST}).git("branch", "before")
    repository.commit({"test_shop.py": OLD_TEST + NEW_TEST})
    project = new_project()
    (project.path / "pytest.ini").unlink()
    words = ["git", "clone", "-q", "--depth=1", "--single-branch", f"file://{repository.top}", str(project.path)]
    subprocess.run(words, check=True, capture_output=True)
    ran = project.run("--mutation-baseline=before")
    assert ran.status == 4
    ran.lines.fnmatch_lines(["*before is no commit that this repository has; this clone is shallow: git fetch *"])


def test_where_the_branch_left(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST}).git("checkout", "-q", "-b", "topic")
    repository.commit({"test_shop.py": OLD_TEST + NEW_TEST}).git("checkout", "-q", "main")
    repository.commit({"test_other.py": "def test_other(): pass\n"}).git("checkout", "-q", "topic")
    facts = delta(repository.run("--mutation-scope=all", ref="merge-base:main"))
    assert facts["tests"]["added"] == ["test_shop.py::test_vip"]
    assert facts["tests"]["removed"] == []


@pytest.mark.lengthy
def test_a_killed_run_leaves_nothing(repository: Repository) -> None:
    slow = "import time, shop\ndef test_slow(): time.sleep(0.3); assert shop.price(1, True) == 4\n"
    repository.commit({"shop.py": SHOP, "test_shop.py": slow})
    repository.write({"test_shop.py": slow.replace("0.3", "0.2")})
    project = repository.project
    process = project.start(project.command("--mutation-baseline=HEAD", "--mutation-scope=all"))
    try:
        _wait(lambda: any(path.glob("old.sqlite") for path in project.temporary.glob("killmatrix-sandbox-*")))
        _wait(lambda: bool(list(project.temporary.glob("killmatrix-sandbox-*/old.sqlite"))))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _wait(lambda: not project.left())
    finally:
        project.end_all()
    assert Path(project.path / "test_shop.py").exists()


def _wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.1)


def _made(ran: Run) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The mutants and the delta, before another run takes the place of this one's report."""
    return ran.data["mutants"], delta(ran)


def test_declared_equivalents_leave_the_headroom(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_shop.py": OLD_TEST + NEW_TEST})
    mutants, before = _made(repository.run("--mutation-scope=all"))
    alive = next(mutant["key"] for mutant in mutants if mutant["status"] == "survived")
    entry = "- {{key: '{}', reason: same, who: me, when: 2026-01-01}}\n"
    repository.write({"equivalents.yaml": entry.format(alive)})
    declared, after = _made(repository.run("--mutation-scope=all", "--mutation-equivalents=equivalents.yaml"))
    assert after["headroom"] == before["headroom"] - 1
    (mutant,) = [mutant for mutant in declared if mutant["key"] == alive]
    assert (mutant["status"], mutant["reason"]) == ("equivalent", "declared: same (me, 2026-01-01)")
    killed = next(mutant["key"] for mutant in mutants if mutant["status"] == "killed")
    repository.write({"equivalents.yaml": entry.format(killed)})
    third = repository.run("--mutation-scope=all", "--mutation-equivalents=equivalents.yaml", status=4)
    assert f"{killed} is declared equivalent, and a test notices it" in " ".join(third.screen.split())


# -- stored runs -----------------------------------------------------------------------------------------------------


def command(repository: Repository, *words: str) -> Run:
    return repository.project.execute([sys.executable, "-m", "pytest_killmatrix.cli", "delta", *words])


def test_the_delta_of_stored_runs(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST + NEW_TEST})
    ran = repository.run("--mutation-scope=all", "-k", "not vip")
    assert delta(ran)["confirmed"] is True
    assert json.loads(command(repository, "--json").screen)["verdict"] == "gained nothing"
    repository.project.run("-k", "not vip")
    repository.project.run()
    found = json.loads(command(repository, "2", "3", "--json").screen)
    assert (found["confirmed"], found["tests"]["added"]) == (False, ["test_shop.py::test_vip"])
    assert found["gained_by_assertion"] == len(found["gained"]) >= len(GAINED)
    assert found["unmatched"] == {"old": [], "new": []}
    converse = json.loads(command(repository, "3", "2", "--json").screen)
    assert [one["mutant"] for one in converse["lost"]] == [one["mutant"] for one in found["gained"]]
    command(repository, "2", "3").lines.fnmatch_lines(["gained by assertion *", "confirmed * no *", "gained (*)"])
    command(repository, "2", "3", "--markdown").lines.fnmatch_lines(["### Mutants: what the tests gained since `2`"])
    repository.write({"shop.py": SHOP.replace("* 7", "* 8"), "test_shop.py": OLD_TEST.replace("== 14", "== 16")})
    repository.project.run()
    other = json.loads(command(repository, "3", "4", "--json").screen)
    assert len(other["unmatched"]["old"]) == len(other["unmatched"]["new"]) > 0


def test_runs_that_are_not_compared(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_new.py": "import shop\ndef test_label(): assert shop.label(' a') == 'A'\n"})
    repository.run()
    repository.project.run("--mutation-operators=number")
    repository.project.run()
    for words, message in (
        (("1", "2"), "*different reference sets (scope: 'covered' and 'all')*"),
        (("1", "1"), "*each suite chose its own reference set*"),
        (("2", "3"), "*different reference sets (operators: 'number' and '')*"),
        (("1",), "*name two runs, the old suite's first, or none*"),
        (("7", "3"), "*has no run 7*"),
        ((), "*this run has no baseline*"),
    ):
        ran = command(repository, *words)
        assert ran.status == 4
        ran.lines.fnmatch_lines([message])


# -- where it all began: a ratio that says nothing about the change --------------------------------------------------

TAX = """\
    def tax(amount, rate):
        if amount <= 0:
            return 0
        return amount * rate // 100

    def net(amount, rate, paid):
        due = tax(amount, rate)
        if paid > due:
            return amount - due + 1
        return amount - due

    def report(amount, rate):
        text = str(amount)
        return text + "/" + str(rate)
    """
TAX_CASES = [
    Case(name, before, after, "tax.py")
    for name, before, after in (
        ("sign", "amount <= 0", "amount > 0"), ("zero", "return 0", "return 1"), ("floor", "// 100", "% 100"),
        ("times", "amount * rate", "amount + rate"), ("hundred", "100", "101"), ("paid", "paid > due", "paid < due"),
        ("due", "due = tax(amount, rate)", "due = tax(amount, 0)"), ("last", "amount - due\n", "amount + due\n"),
        ("bonus", "due + 1", "due + 2"), ("minus", "- due + 1", "+ due + 1"), ("slash", '"/"', '"-"'),
        ("text", "str(amount)", "None"),
    )
]  # fmt: skip
TAX_TESTS = """\
    from tax import net, tax
    def test_tax(): assert tax(200, 20) == 40 and tax(0, 20) == 0 and tax(-5, 20) == 0
    def test_net(): assert net(200, 10, 0) == 180
    def test_paid(): assert net(300, 10, 100) == 271
    """


SMOKE = "import tax\ndef test_smoke(): tax.report(1, 2)\n"
REPORT = "import tax\ndef test_report(): assert tax.report(1, 2) == '1/2'\n"


def killed_by_plain_pytest(repository: Repository) -> dict[str, set[str]]:
    """The tests that fail on each case: written into the file by hand, the suite run by pytest alone."""
    place = repository.project.path / "tax.py"
    pristine = place.read_text(encoding="utf-8")
    found = {}
    for case in TAX_CASES:
        assert pristine.count(case.before) == 1, case
        place.write_text(pristine.replace(case.before, case.after), encoding="utf-8")
        lines = repository.project.plain("-rf").screen.splitlines()
        found[case.name] = {line.split()[1].rpartition("::")[2] for line in lines if line.startswith("FAILED ")}
    place.write_text(pristine, encoding="utf-8")
    return found


@pytest.mark.lengthy
def test_the_ratio_and_the_delta(repository: Repository) -> None:
    repository.project.cases(TAX_CASES)
    repository.commit({"tax.py": TAX, "test_tax.py": TAX_TESTS})
    repository.write({"test_smoke.py": SMOKE, "test_report.py": REPORT})
    truth = killed_by_plain_pytest(repository)
    before = {name for name, tests in truth.items() if tests - {"test_smoke", "test_report"}}
    assert len(before) / len(TAX_CASES) == pytest.approx(0.833, abs=0.001)

    repository.write({"test_report.py": None})
    nothing = delta(repository.run("--mutation-scope=all"))
    assert nothing["gained_by_assertion"] == 0
    assert [(gain["by"], gain["killed_by"]) for gain in nothing["gained"]] == [("crash", ["test_smoke.py::test_smoke"])]
    assert nothing["score_old"] == nothing["score_new"]
    # a ratio of kills takes that crash for a check
    assert {name for name, tests in truth.items() if "test_smoke" in tests} - before

    repository.write({"test_smoke.py": None, "test_report.py": REPORT})
    ran = repository.run("--mutation-scope=all")
    names = {mutant["key"]: mutant["operator"].removeprefix("case:") for mutant in ran.data["mutants"]}
    now = {names[gain["mutant"]]: gain["by"] for gain in delta(ran)["gained"]}
    assert now == {"slash": "assertion", "text": "crash"}
    assert set(now) == {name for name, tests in truth.items() if "test_report" in tests} - before
    assert delta(ran)["gained_by_assertion"] == 1


STATIC = """\
    RATE = 7
    LIMITS = {"a": 3}
    def price(count):
        return count * RATE
    """


@pytest.mark.parametrize("executor", ["fork", "subprocess"])
def test_code_that_runs_at_import_meets_the_old_tests_too(repository: Repository, executor: str) -> None:
    """For such a mutant the old suite is collected again, in a child, where nobody is to be asked anything."""
    repository.project.cases(
        [Case("rate", "RATE = 7", "RATE = 8", "shop.py"), Case("a", '"a": 3', '"a": 4', "shop.py")]
    )
    repository.commit({"shop.py": STATIC, "test_shop.py": "from shop import *\ndef test(): assert price(1) < 8\n"})
    now = "from shop import *\ndef test(): assert price(1) == 7\ndef test_a(): assert LIMITS['a'] == 3\n"
    repository.write({"test_shop.py": now})
    facts = delta(repository.run("--mutation-scope=all", f"--kill-matrix-executor={executor}"))
    assert (facts["kept"], facts["kept_by"]["assertion"]) == (1, 1)
    assert [gain["killed_by"] for gain in facts["gained"]] == [["test_shop.py::test_a"]]


def test_a_test_that_others_spoil_today_may_have_judged_before(repository: Repository) -> None:
    """It is what it was and judges nothing now; what it noticed in the old suite is no headroom."""
    flag = "import os\ndef test_{}(): {}\n"
    test = "import os, shop\ndef test_vip(): assert 'SPOILED' not in os.environ and shop.price(2, True) == 11\n"
    repository.commit({"shop.py": SHOP, "test_vip.py": test, "test_a.py": flag.format("a", "pass")})
    spoil = "os.environ['SPOILED'] = '1'\n"
    repository.write(
        {"test_a.py": flag.format("a", spoil), "test_new.py": test.replace("'SPOILED' not in os.environ", "1")}
    )
    ran = repository.run("--mutation-scope=all", status=1)
    facts = delta(ran)
    assert facts["gained"] == []
    assert facts["kept_by"]["assertion"] >= 5
    assert facts["tests"]["excluded"] == []


def test_a_test_that_others_spoil_in_both_suites(repository: Repository) -> None:
    spoil = "import os\ndef test_a(): os.environ['SPOILED'] = '1'\n"
    test = "import os, shop\ndef test_vip(): assert 'SPOILED' not in os.environ and shop.price(2, True) == 11\n"
    repository.commit({"shop.py": SHOP, "test_a.py": spoil, "test_vip.py": test})
    repository.write({"test_new.py": "import shop\ndef test_new(): assert shop.price(2, False) == 14\n"})
    facts = delta(repository.run("--mutation-scope=all", status=1))
    assert facts["lost"] == []
    assert facts["gained_by_assertion"] > 0
    assert [test["nodeid"] for test in facts["tests"]["excluded"]] == ["test_vip.py::test_vip"]


def test_a_link_to_a_folder_is_what_it_was(repository: Repository) -> None:
    """Where it leads belongs to the tests, and nothing is written through it."""
    data = "(pathlib.Path(__file__).parent / 'data/x').read_text()"
    test = f"import pathlib, shop\ndef test(): assert shop.price(1, 0) <= int({data})\n"
    outside = repository.project.outside / "data"
    outside.mkdir()
    (outside / "x").write_text("7")
    place = repository.project.path / "tests" / "data"
    ini = "[pytest]\npythonpath = .\n"
    repository.commit({"shop.py": SHOP, "pytest.ini": ini, "tests/test_it.py": test, "tests/data/x": "9"})
    (place / "x").unlink()
    place.rmdir()
    place.symlink_to(outside)
    ran = repository.run("--mutation-scope=all")
    assert (outside / "x").read_text() == "7"
    assert "8" in {
        m["replacement"] for m in ran.data["mutants"] if m["key"] in {g["mutant"] for g in delta(ran)["gained"]}
    }
    repository.commit({}).write({"more/x": "9"})
    place.unlink()
    place.symlink_to("../more")
    assert delta(repository.run("--mutation-scope=all"))["tests"]["changed"] == ["tests/test_it.py::test"]


def test_what_the_user_wants_written_is_of_the_new_suite(repository: Repository) -> None:
    test = "import shop\ndef test_{0}(tmp_path): (tmp_path / '{0}').write_text('x'); assert shop.price(1, 0) == 7\n"
    repository.commit({"shop.py": SHOP, "test_a.py": test.format("before")})
    repository.write({"test_a.py": test.format("now")})
    out = repository.project.outside
    files = [f"--junitxml={out}/junit.xml", f"--basetemp={out}/base", f"--cov-report=xml:{out}/cov.xml", "--cov=shop"]
    repository.run("--mutation-scope=all", *files, env={"COVERAGE_FILE": str(out / ".coverage")})
    assert "before" not in (out / "junit.xml").read_text()
    assert [path.name for path in out.glob("base/*0/*")] == ["now"]
    assert "killmatrix-sandbox" not in (out / "cov.xml").read_text()


MOVED: dict[str, tuple[str, str, str]] = {
    "a module": ("wares.py", "shop.py", "from wares import"),
    "a package": ("wares/__init__.py", "shop/__init__.py", "from wares import"),
    "into src": ("shop/__init__.py", "src/shop/__init__.py", "from shop import"),
}


@pytest.mark.parametrize("kind", MOVED)
@pytest.mark.lengthy
def test_source_that_was_moved_is_no_helper_of_the_old_tests(repository: Repository, kind: str) -> None:
    """The old tests must not meet the ref's source: what they noticed would be headroom."""
    before, now, imports = MOVED[kind]
    ini = "[pytest]\npythonpath = src .\n"
    old = OLD_TEST.replace("from shop import", imports)
    repository.commit(
        {before: SHOP, "pytest.ini": ini, "tests/test_shop.py": old, "tests/test_own.py": "def test(): 0\n"}
    )
    repository.write({before: None, now: SHOP, "tests/test_shop.py": OLD_TEST})
    ran = repository.run("--mutation-scope=all")
    facts = delta(ran)
    assert facts["gained_by_assertion"] == 0, ran.screen
    if kind == "into src":
        assert (facts["gained"], facts["tests"]["unchanged"]) == ([], 3)
        assert facts["kept_by"]["assertion"] > 0
    else:
        assert {gain["origin"] for gain in facts["gained"]} == {"restored"}


def test_doctests_in_texts(repository: Repository) -> None:
    text = ">>> import shop\n>>> shop.price(1, False)\n7\n"
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST, "docs/use.rst": text, "docs/gone.rst": text})
    repository.write({"docs/use.rst": text + ">>> shop.price(2, True)\n11\n", "docs/gone.rst": None})
    ran = repository.run("--mutation-scope=all", "--doctest-glob=*.rst")
    assert set(gained(ran)) >= set(GAINED), ran.screen
    tests = delta(ran)["tests"]
    assert (tests["changed"], tests["unchanged"]) == (["docs/use.rst::use.rst"], 2)
    assert tests["removed"] == ["docs/gone.rst::gone.rst"]


def test_tests_in_a_folder_that_is_a_link(repository: Repository) -> None:
    fixture = "import pytest\n@pytest.fixture\ndef limit(): return {}\n"
    test = "import shop\ndef test(limit): assert shop.price(2, True) < limit\n"
    ini = "[pytest]\npythonpath = .\ntestpaths = tests\n"
    (repository.project.path / "tests").symlink_to("shared")
    repository.commit(
        {"shop.py": SHOP, "pytest.ini": ini, "shared/conftest.py": fixture.format(15), "shared/test_it.py": test}
    )
    repository.write({"shared/conftest.py": fixture.format(12)})
    ran = repository.run("--mutation-scope=all")
    assert delta(ran)["tests"]["changed"] == ["tests/test_it.py::test"]
    assert gained(ran)["vip"] == "assertion"
