"""Naming a mutant or a test by as little as will do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_samples import Plot, make_info

from pytest_killmatrix.model import SIDECAR_NAME, Status
from pytest_killmatrix.options import DEFAULT_SIDECAR
from pytest_killmatrix.reading.find import NotFoundError, find_mutants, find_sidecar, find_test
from pytest_killmatrix.store.reader import Reader


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    plot = Plot(12)
    plot.add(Status.KILLED, times=3, path="src/words.py")
    plot.add(Status.SURVIVED, line=10, path="src/more/words.py")
    plot.add(Status.SURVIVED, line=40, definition="g", key="src/words.py::g[1]::swap_op::00000000ff")
    with Reader(plot.write(tmp_path / "a.sqlite", make_info())) as reader:
        yield reader


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("src/words.py::f::swap_op::0000000001", [1]),
        ("0000000001", [1]),
        ("src/words.py:11", [1]),
        ("src/words.py:10", [0]),
        ("words.py:10", [0, 3]),
        ("more/words.py:10", [3]),
        ("*::g*", [4]),
        ("src/words.py::f::*", [0, 1, 2]),
        ("::g[1]::", [4]),
        ("swap_op::0000000001", [1]),
        ("swap_op::00000000", [0, 1, 2, 3, 4]),
        ("swap_op", [0, 1, 2, 3, 4]),
    ],
)
def test_mutants(reader: Reader, word: str, numbers: list[int]) -> None:
    assert [found.number for found in find_mutants(reader, word)] == numbers


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("tests/test_words.py::test_1", [1]),
        ("test_1", [1]),
        ("test_11", [11]),
        ("*test_1[01]", None),
        ("test_words.py::test_7", [7]),
        ("_words.py::test_7", [7]),
    ],
)
def test_tests(reader: Reader, word: str, numbers: list[int] | None) -> None:
    if numbers is None:
        with pytest.raises(NotFoundError, match=r"names 2 tests: .*test_10, .*test_11; give more"):
            find_test(reader, word)
    else:
        assert find_test(reader, word) == numbers


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("00000000fe", "did you mean src/words.py::g[1]::swap_op::00000000ff or"),
        ("src/words.py::f::swap_op::0000000009", "did you mean src/words.py::f::swap_op::000000000"),
        ("zzz", "among the 5 of this run, for example src/words.py::f::swap_op::0000000000"),
    ],
)
def test_no_such_mutant(reader: Reader, word: str, message: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_mutants(reader, word)
    assert message in str(caught.value)


def test_no_such_test(reader: Reader) -> None:
    with pytest.raises(NotFoundError, match=r"no test 'tst_3'; did you mean tests/test_words.py::test_3 or"):
        find_test(reader, "tst_3")


def test_a_changed_test_is_two_entries(tmp_path: Path) -> None:
    plot = Plot(3)
    plot.tests[2].nodeid = plot.tests[1].nodeid
    plot.add(Status.KILLED)
    with Reader(plot.write(tmp_path / "a.sqlite", make_info())) as reader:
        assert find_test(reader, "test_1") == [1, 2]


def test_the_sidecar_is_looked_for_upwards(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    with pytest.raises(NotFoundError, match="or above it; make one with pytest --kill-matrix, or give --db PATH"):
        find_sidecar(None, below)
    (tmp_path / "a" / SIDECAR_NAME).touch()
    assert find_sidecar(None, below) == tmp_path / "a" / SIDECAR_NAME
    assert find_sidecar("x.sqlite", below) == Path("x.sqlite")
    assert DEFAULT_SIDECAR == SIDECAR_NAME
