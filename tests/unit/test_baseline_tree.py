"""The copy with the tests of a ref: nothing outside of it is touched, whatever links there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_killmatrix.baseline import tree


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A user's folder, to which a link in the project leads."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "x").write_text("mine")
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "data").symlink_to(place)
    return place


def test_nothing_is_removed_through_a_link(outside: Path) -> None:
    root = outside.parent / "root"
    tree._remove(root / "tests" / "data" / "x", root)
    assert (outside / "x").read_text() == "mine"


def test_a_link_gives_way_to_a_folder(outside: Path) -> None:
    root = outside.parent / "root"
    tree._make_way(root / "tests" / "data" / "x", root)
    assert not (root / "tests" / "data").is_symlink()
    assert (outside / "x").read_text() == "mine"


def test_a_link_to_a_folder_is_listed_and_what_is_in_it_is_not(outside: Path) -> None:
    root = outside.parent / "root"
    assert set(tree._files(root)) == {"tests/data"}
    assert tree._is_file(root / "tests" / "data", root)
    assert not tree._is_file(root / "tests" / "data" / "x", root)
