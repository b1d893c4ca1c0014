"""Which shard a mutant is in."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import make_mutant

from pytest_killmatrix import settings
from pytest_killmatrix.sharding import Shard, in_words, index_of, listed, missing


@pytest.mark.parametrize(
    ("key", "count", "index"),
    [
        ("a.py::f::op::0123456789", 2, 1),
        ("a.py::f::op::0123456789", 7, 7),
        ("b.py::g::op::0123456789", 7, 1),
        ("é\udcff", 7, 7),
        ("é\\udcff", 7, 7),  # as the sidecar has it
    ],
)
def test_it_never_changes(key: str, count: int, index: int) -> None:
    """Jobs of two versions of this package agree; these are sixteen digits of ``sha256sum``, modulo, plus one."""
    assert index_of(key, count) == index


@given(st.text(), st.integers(1, 50))
def test_a_mutant_is_in_exactly_one_shard(key: str, count: int) -> None:
    mutant = make_mutant(key=key)
    assert [Shard(index, count).holds(mutant) for index in range(1, count + 1)].count(True) == 1


def test_shards_are_about_as_large() -> None:
    sizes = Counter(index_of(make_mutant(number).key, 4) for number in range(4000))
    assert all(900 < sizes[index] < 1100 for index in range(1, 5))


def test_a_duplicate_is_with_the_mutant_of_the_same_code() -> None:
    first = make_mutant(0)
    for number in range(1, 30):
        duplicate = make_mutant(number, duplicate_of=first.key)
        assert all(Shard(i, 5).holds(duplicate) == Shard(i, 5).holds(first) for i in range(1, 6))


def test_words() -> None:
    assert listed([2]) == "shard 2"
    assert listed([1, 2]) == "shards 1 and 2"
    assert in_words({"index": 1, "count": 3}) == "shard 1 of 3"
    merged = {"parts": [{"index": 1}, {"index": 2}, {"index": 4}], "count": 5}
    assert in_words(merged) == "shards 1, 2 and 4 of 5"
    assert missing(merged) == [3, 5]


@pytest.mark.parametrize(
    "given", ["", "/", "1", "1/", "/2", "0/2", "3/2", "1/0", "-1/2", "1.0/2", "²/3", "1/2/3", "1/10001", "1 / 2"]
)
def test_no_such_shard(given: str) -> None:
    with pytest.raises(pytest.UsageError, match=re.escape(f"--kill-matrix-shard={given}: give I/N, ")):
        settings.shard(given, None)


def test_what_is_a_shard() -> None:
    assert settings.shard(None, None) is None
    assert settings.shard("1/1", None) == (1, 1)
    assert settings.shard("04/12", None) == (4, 12)


def test_deltas_of_shards_cannot_be_joined() -> None:
    with pytest.raises(pytest.UsageError, match="--kill-matrix-shard=1/2 cannot be with --mutation-baseline: "):
        settings.shard("1/2", "HEAD")
