"""Words and variables, from the user's tree to the copy; removing copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_killmatrix.sandbox import disposal
from pytest_killmatrix.sandbox.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for root in ("real", "copy"):
        (tmp_path / root / "tests").mkdir(parents=True)
        (tmp_path / root / "tests" / "test_a.py").touch()
    (tmp_path / "real" / "ignored").mkdir()
    return Places(tmp_path / "real", tmp_path / "copy", tmp_path / "real")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{real}/tests/test_a.py::test[a::b]"], ["tests/test_a.py::test[a::b]"]),
        (["tests", "-k", "a or b", "-q"], ["tests", "-k", "a or b", "-q"]),
        (["--rootdir={real}"], ["--rootdir=."]),
        (["--rootdir", "{real}"], ["--rootdir", "."]),
        (["--kept=out.json", "--junitxml", "a.xml"], ["--kept={real}/out.json", "--junitxml", "{real}/a.xml"]),
        (["{real}/ignored", "--mutate=shop"], ["{real}/ignored", "--mutate=shop"]),
    ],
)
def test_words(places: Places, words: list[str], expected: list[str]) -> None:
    given = [word.format(real=places.root) for word in words]
    assert places.arguments(given, ["--kept"]) == [word.format(real=places.root) for word in expected]


def test_words_from_outside_name_the_copy(places: Places) -> None:
    outside = Places(places.root, places.copy, places.root.parent)
    assert outside.arguments(["real/tests", str(places.root)], ()) == [f"{places.copy}/tests", str(places.copy)]
    assert outside.new_cwd == places.root.parent
    assert Places(places.root, places.copy, places.root / "tests").new_cwd == places.copy / "tests"


def test_the_environment(places: Places) -> None:
    real, copy = str(places.root), str(places.copy)
    given = {"PATH": f"{real}/ignored{os.pathsep}/bin", "HOME": "/root", "DATA": f"{real}/tests", "X": "a:b"}
    new = places.environment({**given, "PYTHONPATH": real}, [places.copy, places.copy / "tests"])
    assert new == {**given, "DATA": f"{copy}/tests", "PYTHONPATH": f"{copy}{os.pathsep}{copy}/tests"}
    assert places.environment({"PYTEST_ADDOPTS": f"-k 'a b' {real}/tests"}, []) == {"PYTEST_ADDOPTS": "-k 'a b' tests"}


def test_a_write_protected_copy_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "killmatrix-sandbox-x"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "b").touch()
    (folder / "a").chmod(0o500)
    disposal.sign(folder)
    disposal.remove_stale(tmp_path)
    assert folder.exists()
    disposal.remove(folder)
    assert not folder.exists()
