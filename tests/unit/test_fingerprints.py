"""A test's fingerprint changes with everything on the test side that it can see, and with little else."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest

from pytest_killmatrix.baseline.changes import Changes, Known, compare
from pytest_killmatrix.baseline.fingerprints import Fingerprints, Place
from pytest_killmatrix.baseline.testside import Project, find

BASE = {
    "shop.py": "",
    "conftest.py": "import pytest\n@pytest.fixture\ndef top(): return 1\n",
    "tests/conftest.py": "import pytest\n@pytest.fixture\ndef low(): return 1\n",
    "tests/a/conftest.py": "import pytest\n@pytest.fixture\ndef own(): return 1\n",
    "tests/a/data.txt": "x",
    "tests/helpers.py": "def help(): return 1\n",
    "tests/a/test_a.py": """\
        import pytest
        from unittest import mock
        LIMIT = 3
        def check(x): assert x
        def test_one(top): check(LIMIT)
        @pytest.mark.parametrize("n", [1, 2])
        def test_two(n): assert n
        class TestThree:
            size = 1
            def setup_method(self): self.x = 1
            def test_in(self): assert self.x
            def test_out(self): assert self.size
        """,
    "tests/b/test_b.py": "def test_other(): pass\n",
}
ITEMS = {
    "one": Place("tests/a/test_a.py", (), "test_one"),
    "two": Place("tests/a/test_a.py", (), "test_two"),
    "in": Place("tests/a/test_a.py", ("TestThree",), "test_in"),
    "out": Place("tests/a/test_a.py", ("TestThree",), "test_out"),
    "other": Place("tests/b/test_b.py", (), "test_other"),
}
A = "tests/a/test_a.py"
EVERY_A = {"one", "two", "in", "out"}


def maker(files: dict[str, str]) -> Fingerprints:
    texts = {name: textwrap.dedent(text).encode() for name, text in files.items()}
    project = Project(frozenset(texts), texts.__getitem__, ["test_*.py"], frozenset({"shop.py"}))
    return Fingerprints(project, find(project), ["test"])


def changed(edits: Mapping[str, tuple[str, str] | str | None]) -> set[str]:
    """The items whose fingerprint differs after the edits."""
    files = dict(BASE)
    for name, edit in edits.items():
        if edit is None:
            del files[name]
        elif isinstance(edit, str):
            files[name] = edit
        else:
            assert edit[0] in files[name], edit
            files[name] = files[name].replace(*edit)
    before, after = maker(BASE), maker(files)
    return {name for name, place in ITEMS.items() if before.of(place) != after.of(place)}


Edits = dict[str, tuple[str, str] | str | None]


def new(*lines: str) -> Edits:
    """These lines, before the class of the first test module."""
    text = "".join(f"        {line}\n" for line in lines)
    return {A: ("        class TestThree:", f"{text}        class TestThree:")}


MARK = "@pytest.mark.parametrize('n', {})"
TEST = "def test_new(n): pass"
METHOD = ("            def test_out", "            def test_new(self): pass\n            def test_out")
EVERY = {*EVERY_A, "other"}
CASES: dict[str, tuple[Edits, set[str]]] = {
    "nothing": ({}, set()),
    "a comment": ({A: ("LIMIT = 3", "LIMIT = 3  # three")}, set()),
    "moved lines": ({A: ("        import pytest\n", "\n\n        import pytest\n")}, set()),
    "its own body": ({A: ("check(LIMIT)", "check(LIMIT + 1)")}, {"one"}),
    "its decorator": ({A: ("[1, 2]", "[1, 2, 3]")}, {"two"}),
    "a method": ({A: ("assert self.x", "assert not self.x")}, {"in"}),
    "a helper in the module": ({A: ("assert x", "assert not x")}, EVERY_A),
    "a constant": ({A: ("LIMIT = 3", "LIMIT = 4")}, EVERY_A),
    "a class attribute": ({A: ("size = 1", "size = 2")}, EVERY_A),
    "a test that is added": (new("def test_new(): pass"), set()),
    "a method that is added": ({A: METHOD}, set()),
    "a marked test that is added": (new(MARK.format("[1, (2, 'x')], ids=str"), TEST), set()),
    "a patched test that is added": (new("@mock.patch('os.getcwd')", TEST), set()),
    "a test whose parameters are computed": (new(MARK.format("[check(1)]"), TEST), EVERY_A),
    "a test that is a fixture": (new("@pytest.fixture(autouse=True)", "def test_new(): pass"), EVERY_A),
    "a test with a default that is computed": (new("def test_new(n=check(1)): pass"), EVERY_A),
    "a test that something names": (new("def test_new(): pass", "ALIAS = test_new"), EVERY_A),
    "a test that a text names": (new("def test_new(): pass", "NAMES = 'test_new'"), EVERY_A),
    "a second test of the same name": (new("def test_one(): pass"), EVERY_A),
    "a fixture that is added": (new("@pytest.fixture", "def fix(): pass"), EVERY_A),
    "an import": ({A: ("import pytest\n", "import pytest, os\n")}, EVERY_A),
    "the top conftest": ({"conftest.py": ("return 1", "return 2")}, EVERY),
    "a conftest above": ({"tests/conftest.py": ("return 1", "return 2")}, EVERY),
    "a conftest beside": ({"tests/a/conftest.py": ("return 1", "return 2")}, EVERY_A),
    "a conftest beside with a hook": ({"tests/a/conftest.py": "def pytest_runtest_setup(): pass\n"}, EVERY),
    "a conftest beside that does something": ({"tests/a/conftest.py": "import os\nos.umask(0)\n"}, EVERY),
    "a conftest that is gone": ({"tests/a/conftest.py": None}, EVERY_A),
    "a helper": ({"tests/helpers.py": ("return 1", "return 2")}, EVERY),
    "data": ({"tests/a/data.txt": "y"}, EVERY),
    "data that is added": ({"tests/a/more.txt": "y"}, EVERY),
    "another test module": ({"tests/b/test_b.py": "def test_other(): assert 1\n"}, {"other"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_changes_a_fingerprint(name: str) -> None:
    edits, expected = CASES[name]
    assert changed(edits) == expected


def test_a_test_module_that_another_imports() -> None:
    files = {"shop.py": "", "test_a.py": "from test_b import value\ndef test_x(): pass\n", "test_b.py": "value = 1\n"}
    place = Place("test_a.py", (), "test_x")
    assert maker(files).of(place) != maker({**files, "test_b.py": "value = 2\n"}).of(place)


@pytest.mark.parametrize("conftest", ["tests/a/conftest.py", "tests/a/test_a.py"])
def test_a_file_of_tests_elsewhere_that_a_test_imports(conftest: str) -> None:
    name = conftest.rpartition("/")[2].removesuffix(".py")
    files = {
        "shop.py": "", "tests/b/test_b.py": f"from tests.a.{name} import x\ndef test_b(): assert x\n",
        "tests/a/__init__.py": "", "tests/__init__.py": "", conftest: "def x(): return 1\n",
    }  # fmt: skip
    place = Place("tests/b/test_b.py", (), "test_b")
    assert maker(files).of(place) != maker({**files, conftest: "def x(): return 2\n"}).of(place)


def test_conftests_beside_the_target_of_a_link() -> None:
    files = {"shop.py": "", "real/test_a.py": "def test_a(): pass\n", "real/conftest.py": "def x(): return 1\n"}
    place = Place("real/test_a.py", (), "test_a")
    linked = Place("link/test_a.py", (), "test_a", "real/test_a.py")
    more = {**files, "real/conftest.py": "def x(): return 2\n"}
    assert maker(files).of(place) != maker(more).of(place)
    texts = {**files, "link/test_a.py": files["real/test_a.py"]}
    assert maker(texts).of(linked) != maker({**texts, **more}).of(linked)


SPOKEN_OF = {
    "by name": ("READ = 'samples/test_x.py'", "tests/samples/test_x.py", True),
    "by folder": ("for path in place.glob('samples/*.py'): pass", "tests/samples/test_x.py", True),
    "a conftest by folder": ("READ = 'samples'", "tests/samples/conftest.py", True),
    "a name with a dash": ("READ = 'the-samples'", "tests/the-samples/test_x.py", True),
    "elsewhere by name": ("READ = 'test_x'", "other/test_x.py", True),
    "not at all": ("READ = 'a sample'", "tests/samples/test_x.py", False),
    "a folder elsewhere": ("READ = 'other'", "other/test_x.py", False),
}


@pytest.mark.parametrize("name", SPOKEN_OF)
def test_a_test_file_that_a_test_reads(name: str) -> None:
    text, other, expected = SPOKEN_OF[name]
    files = {"shop.py": "", "tests/test_a.py": f"{text}\ndef test_a(): pass\n", other: "X = 1\n"}
    place = Place("tests/test_a.py", (), "test_a")
    assert (maker(files).of(place) != maker({**files, other: "X = 2\n"}).of(place)) is expected


def test_what_cannot_be_taken_apart_is_its_whole_file() -> None:
    files = {
        "shop.py": "",
        "test_a.py": "class Base:\n  def test_x(self): pass\nclass TestA(Base): pass\n",
        "doc.txt": ">>> 1",
    }
    inherited, document = Place("test_a.py", ("TestA",), "test_x"), Place("doc.txt")
    more = {**files, "test_a.py": files["test_a.py"] + "def test_new(): pass\n"}
    assert maker(files).of(inherited) != maker(more).of(inherited)
    assert maker(files).of(document) != maker({**files, "doc.txt": ">>> 2"}).of(document)


def known(files: dict[str, str], *nodeids: str) -> list[Known]:
    made = maker(files)
    found = []
    for nodeid in nodeids:
        path, *classes, function = nodeid.split("::")
        found.append(Known(nodeid, made.of(Place(path, tuple(classes), function.partition("[")[0]))))
    return found


def compared(old: str, new: str, before: tuple[str, ...], now: tuple[str, ...]) -> Changes:
    files = {"shop.py": ""}
    names = [tuple(f"test_a.py::{name}" for name in each) for each in (before, now)]
    return compare(known({**files, "test_a.py": new}, *names[1]), known({**files, "test_a.py": old}, *names[0]))


def test_added_removed_changed_unchanged() -> None:
    changes = compared(
        "def test_a(): pass\ndef test_b(): assert 1\ndef test_c(): assert 2\n",
        "def test_a(): pass\ndef test_b(): assert 0\ndef test_d(): assert 3\n",
        ("test_a", "test_b", "test_c"),
        ("test_a", "test_b", "test_d"),
    )
    assert (changes.old, changes.new) == (["unchanged", "changed", "removed"], ["unchanged", "changed", "added"])
    assert (changes.pairs, changes.shared) == ({0: 0, 1: 1}, {0})


def test_renamed() -> None:
    """A fixture may go by the name, so that both are run."""
    body = "def {}(): assert 1 == 1\n"
    changes = compared(body.format("test_a"), body.format("test_z"), ("test_a",), ("test_z",))
    assert (changes.old, changes.new, changes.pairs, changes.shared) == (["renamed"], ["renamed"], {0: 0}, set())


def test_a_copy_is_added() -> None:
    body = "def {}(): assert 1 == 1\n"
    both = body.format("test_a") + body.format("test_z")
    changes = compared(body.format("test_a"), both, ("test_a",), ("test_a", "test_z"))
    assert (changes.old, changes.new) == (["unchanged"], ["unchanged", "added"])


def test_parameters() -> None:
    text = "import pytest\n@pytest.mark.parametrize('n', {})\ndef test_a(n): pass\n"
    changes = compared(text.format([1, 2]), text.format([1, 3]), ("test_a[1]", "test_a[2]"), ("test_a[1]", "test_a[3]"))
    assert changes.new == ["changed", "added"]
    assert changes.old == ["changed", "removed"]


def test_what_is_not_sure_is_run_again() -> None:
    changes = compared("def test_a(): pass\n", "def test_a(): pass\n", ("test_a",), ("test_a",))
    changes.demand([0])
    assert (changes.old, changes.new, changes.shared) == (["changed"], ["changed"], set())
