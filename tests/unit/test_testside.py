"""Which files belong to the tests, in every kind of layout."""

from __future__ import annotations

import pytest

from pytest_killmatrix.baseline.testside import Project, find

PATTERNS = ["test_*.py", "*_test.py"]


def side(files: dict[str, str], *mutated: str, globs: tuple[str, ...] = ()) -> frozenset[str]:
    texts = {name: text.encode() for name, text in files.items()}
    return find(Project(frozenset(files), texts.__getitem__, PATTERNS, frozenset(mutated), frozenset(), globs)).files


LAYOUTS: dict[str, tuple[dict[str, str], tuple[str, ...], set[str]]] = {
    "a folder of tests": (
        {"shop/__init__.py": "", "shop/core.py": "", "tests/test_core.py": "", "tests/data/x.json": "", "README": ""},
        ("shop/core.py",),
        {"tests/test_core.py", "tests/data/x.json"},
    ),
    "src": (
        {"src/shop/core.py": "", "tests/unit/test_core.py": "import shop.core", "tests/unit/__init__.py": ""},
        ("src/shop/core.py",),
        {"tests/unit/test_core.py", "tests/unit/__init__.py"},
    ),
    "beside the code": (
        {"shop/core.py": "", "shop/test_core.py": "", "shop/notes.txt": "", "shop/conftest.py": ""},
        ("shop/core.py",),
        {"shop/test_core.py", "shop/conftest.py"},
    ),
    "inside the package": (
        {
            "shop/__init__.py": "", "shop/core.py": "", "shop/tests/__init__.py": "", "shop/tests/test_core.py": "",
            "shop/tests/sample.csv": "", "shop/other.py": "",
        },
        ("shop/core.py",),
        {"shop/tests/__init__.py", "shop/tests/test_core.py", "shop/tests/sample.csv"},
    ),
    "conftests at several levels": (
        {"conftest.py": "", "tests/conftest.py": "", "tests/a/conftest.py": "", "tests/a/test_a.py": "", "shop.py": ""},
        ("shop.py",),
        {"conftest.py", "tests/conftest.py", "tests/a/conftest.py", "tests/a/test_a.py"},
    ),
    "a helper in the folder": (
        {"tests/helpers.py": "", "tests/test_a.py": "from helpers import x", "shop.py": ""},
        ("shop.py",),
        {"tests/helpers.py", "tests/test_a.py"},
    ),
    "a helper in the folder that the product imports": (
        {"tests/helpers.py": "", "tests/test_a.py": "", "tests/x.txt": "", "shop.py": "import tests.helpers"},
        ("shop.py",),
        {"tests/test_a.py"},
    ),
    "a helper at the root": (
        {"tools.py": "import more_tools", "more_tools.py": "", "test_a.py": "import tools", "shop.py": ""},
        ("shop.py",),
        {"tools.py", "more_tools.py", "test_a.py"},
    ),
    "a module at the root that the product imports too": (
        {"tools.py": "", "test_a.py": "import tools, shop", "shop.py": "import tools"},
        ("shop.py",),
        {"test_a.py"},
    ),
    "a plugin that is only named": (
        {"tools/fixtures.py": "", "conftest.py": "pytest_plugins = ['tools.fixtures']", "test_a.py": "", "shop.py": ""},
        ("shop.py",),
        {"tools/fixtures.py", "conftest.py", "test_a.py"},
    ),
    "another package below src": (
        {"src/shop.py": "", "src/more.py": "", "tests/test_a.py": "import shop, more"},
        ("src/shop.py",),
        {"tests/test_a.py"},
    ),
    "modules of the mutated package that only tests import": (
        {"shop/__init__.py": "", "shop/core.py": "", "shop/extra.py": "", "tests/test_a.py": "import shop.extra"},
        ("shop/core.py",),
        {"tests/test_a.py"},
    ),
    "a mutated file that looks like a test": (
        {"tests/test_tool.py": "", "tests/test_a.py": "", "tests/x.txt": ""},
        ("tests/test_tool.py",),
        {"tests/test_a.py"},
    ),
    "packages as data": (
        {"tests/test_a.py": "", "tests/one/setup.py": "", "tests/one/one/__init__.py": "", "shop.py": ""},
        ("shop.py",),
        {"tests/test_a.py", "tests/one/setup.py", "tests/one/one/__init__.py"},
    ),
    "caches": (
        {"tests/test_a.py": "", "tests/__pycache__/test_a.pyc": "", "shop.py": ""}, ("shop.py",), {"tests/test_a.py"},
    ),
    "no tests": ({"shop.py": "", "docs/conf.py": ""}, ("shop.py",), set()),
    "broken Python": (
        {"tests/test_a.py": "def (", "tests/b.py": "", "shop.py": "("}, ("shop.py",), {"tests/test_a.py", "tests/b.py"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    files, mutated, expected = LAYOUTS[name]
    assert side(files, *mutated) == expected


def test_a_person_may_say_what_belongs_to_the_tests() -> None:
    files = {"checks/a.py": "", "checks/b/c.txt": "", "shop/core.py": "", "shop/core_spec.py": "", "test_x.py": ""}
    assert side(files, "shop/core.py", globs=("checks", "shop/*_spec.py")) == {
        "checks/a.py", "checks/b/c.txt", "shop/core_spec.py",
    }  # fmt: skip
    assert side(files, "shop/core.py", globs=("*",)) == set(files) - {"shop/core.py"}


def test_texts_with_doctests_are_tests() -> None:
    """In a folder of tests they are data too; those around them are not."""
    files = ("shop.py", "docs/use.rst", "docs/other.md", "tests/test_a.py", "tests/notes.rst", "docs/more.txt")
    texts = dict.fromkeys(files, b"")
    collected = frozenset({"docs/more.txt"})
    found = find(
        Project(frozenset(files), texts.__getitem__, PATTERNS, frozenset({"shop.py"}), collected, (), ["*.rst"])
    )
    assert found.modules == {"tests/test_a.py", "docs/use.rst", "docs/more.txt"}
    assert found.data == {"tests/notes.rst"}
