"""``--mutation-baseline`` on real repositories: what the change of the tests contributed, and nothing else touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Project
from repositories import GAINED, NEW_TEST, OLD_TEST, SHOP, Repository, delta, gained

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


@pytest.mark.lengthy
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
@pytest.mark.lengthy
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


@pytest.mark.lengthy
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


@pytest.mark.lengthy
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


@pytest.mark.lengthy
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
