"""What could make a delta false: tests, sources and suites that are not what they seem."""

from __future__ import annotations

import pytest
from projects import Case
from repositories import GAINED, OLD_TEST, SHOP, Repository, delta, gained

STATIC = """\
    RATE = 7
    LIMITS = {"a": 3}
    def price(count):
        return count * RATE
    """


@pytest.mark.parametrize("executor", ["fork", "subprocess"])
@pytest.mark.lengthy
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


@pytest.mark.lengthy
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


@pytest.mark.lengthy
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


@pytest.mark.lengthy
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


@pytest.mark.lengthy
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
