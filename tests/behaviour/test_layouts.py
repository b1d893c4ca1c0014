"""Which files are mutated and which tests run: layouts, --mutate, and pytest's own ways to select."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

VALUE = "def value(n):\n    return n + 1\n"
TEST = "def test_value(): assert value(1) == 2\n"
LAYOUTS: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "src": (
        {"src/shop/__init__.py": "", "src/shop/a.py": VALUE, "tests/test_a.py": "from shop.a import value\n" + TEST,
         "pytest.ini": "[pytest]\npythonpath = src\n"},
        "src/shop/a.py", [],
    ),
    "flat": (
        {"shop/__init__.py": "", "shop/a.py": VALUE, "shop/tests/__init__.py": "",
         "shop/tests/test_a.py": "from shop.a import value\n" + TEST, "shop/tests/helper.py": VALUE,
         "setup.py": "raise SystemExit\n", "docs/conf.py": VALUE},
        "shop/a.py", [],
    ),
    "module": ({"shop.py": VALUE, "test_shop.py": "from shop import value\n" + TEST}, "shop.py", []),
    "namespace": (
        {"space/shop/a.py": VALUE, "tests/test_a.py": "from space.shop.a import value\n" + TEST,
         "pytest.ini": "[pytest]\npythonpath = .\n"},
        "space/shop/a.py", ["--mutate=space"],
    ),
    "importable": (
        {"lib/shop/__init__.py": "", "lib/shop/a.py": VALUE, "tests/test_a.py": "from shop.a import value\n" + TEST,
         "pytest.ini": "[pytest]\npythonpath = lib\n"},
        "lib/shop/a.py", ["--mutate=shop.a"],
    ),
    "coverage": (
        {"odd/a.py": VALUE, "test_a.py": "from odd.a import value\n" + TEST,
         "setup.cfg": "[coverage:run]\nsource = odd\n"},
        "odd/a.py", [],
    ),
    "ini": (
        {"odd/a.py": VALUE, "odd/b.py": VALUE, "test_a.py": "from odd.a import value\n" + TEST,
         "pytest.ini": "[pytest]\nmutation_paths =\n    odd/a.py\nkill_matrix_workers = 1\n"},
        "odd/a.py", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_mutated(project: Project, layout: str) -> None:
    files, path, arguments = LAYOUTS[layout]
    ran = project.write(files).run(*arguments)
    assert {mutant["path"] for mutant in ran.data["mutants"]} == {path}
    assert {mutant["status"] for mutant in ran.data["mutants"]} == {"killed"}


def test_an_installed_copy_is_not_taken_for_a_lack_of_tests(project: Project) -> None:
    site = project.outside / "site-packages"
    for base in (site / "shop", project.path / "src" / "shop"):
        base.mkdir(parents=True)
        (base / "__init__.py").write_text("")
        (base / "a.py").write_text(VALUE)
    project.write({"tests/test_a.py": "from shop.a import value\n" + TEST})
    installed = {"PYTHONPATH": str(site)}
    ran = project.run(env=installed)
    assert ran.status == 4
    assert not ran.report.exists()
    ran.lines.fnmatch_lines(
        ["killmatrix: no kill matrix: the tests never load src/shop/*, they import */site-packages/*"]
    )
    # with one of the files loaded from here, the others are told of, and judged as what they are
    project.write({"src/extra.py": VALUE, "tests/test_b.py": "from extra import value\n" + TEST,
                   "pytest.ini": "[pytest]\npythonpath = src/nowhere\n",
                   "conftest.py": "import sys; sys.path.append('src')\n"})  # fmt: skip
    ran = project.run(env=installed)
    assert "src/shop/__init__.py is never loaded" in " ".join(ran.screen.split())


SELECTED = {
    "shop.py": VALUE,
    "tests/test_one.py": """\
        import pytest, shop
        @pytest.mark.slow
        def test_first(): assert shop.value(1) == 2
        def test_second(): assert shop.value(1) == 2
        class TestGroup:
            @pytest.mark.parametrize("n", [1, 2])
            def test_third(self, n): assert shop.value(n) == n + 1
        """,
    "tests/test_two.py": "import shop\ndef test_first(): assert shop.value(1) == 2\n",
    "pytest.ini": "[pytest]\nmarkers = slow\npythonpath = .\n",
}


@pytest.mark.parametrize(("arguments", "selected"), [
    (["-k", "first", "tests/test_one.py"], ["tests/test_one.py::test_first"]),
    (["-m", "not slow", "--deselect", "tests/test_one.py::TestGroup", "tests"],
     ["tests/test_one.py::test_second", "tests/test_two.py::test_first"]),
    (["tests/test_one.py::TestGroup::test_third[2]", "tests/test_two.py"],
     ["tests/test_one.py::TestGroup::test_third[2]", "tests/test_two.py::test_first"]),
])  # fmt: skip
def test_only_selected_tests_judge(project: Project, arguments: list[str], selected: list[str]) -> None:
    ran = project.write(SELECTED).run("--mutate=shop.py", *arguments)
    assert [test["nodeid"] for test in ran.data["tests"]] == selected
    assert all(mutant["killed_by"] == selected for mutant in ran.data["mutants"])


def test_mutants_by_key(project: Project) -> None:
    project.write({"shop.py": VALUE + VALUE.replace("value", "other")})
    project.write({"test_shop.py": "from shop import value\n" + TEST})
    ran = project.run("--mutants=shop.py::value::*")
    assert {mutant["definition"] for mutant in ran.data["mutants"]} == {"value"}
    assert ran.data["run"]["population"] == len(ran.data["mutants"])


STRANGE = ["a::b", "new\nline", "[x]", "[", "ümläut ☃ 𝔘", "nul\x00l", "tab\t", "back\\slash", "", " ", "%s{0}", "--k"]


def test_ids_with_any_character(new_project: Callable[[], Project]) -> None:
    project = new_project().write({
        "shop.py": VALUE,
        "test_shop.py": f"""\
            import pytest, shop
            @pytest.mark.parametrize("text", {STRANGE!r}, ids={STRANGE!r})
            def test_value(text): assert shop.value(1) == 2, text
            @pytest.mark.parametrize("n", [1, 1, 1])
            def test_same(n): assert shop.value(n) == 2
            """,
    })  # fmt: skip
    ran = project.cases([Case("value", "n + 1", "n - 1", "shop.py")]).run("-v")
    assert len(ran.data["tests"]) == len(STRANGE) + 3
    assert {test["excluded"] for test in ran.data["tests"]} == {None}
    assert len(ran.mutant("value")["killed_by"]) == len(STRANGE) + 3
    assert [cell["outcome"] for cell in ran.mutant("value")["cells"]] == ["assertion"] * (len(STRANGE) + 3)
