"""Regular expressions kept for children: those that `re` kept, and none whose compiling somebody could notice."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest

from pytest_killmatrix import patterns


@pytest.fixture(autouse=True)
def purged() -> None:
    re.purge()


def test_what_was_compiled_is_known_and_compiled_again() -> None:
    re.compile("a+", re.IGNORECASE | re.MULTILINE)
    re.search(b"b", b"b")
    known = patterns.known()
    assert ("a+", (re.IGNORECASE | re.MULTILINE).value) in known
    assert (b"b", 0) in known
    re.purge()
    assert patterns.known() == []
    patterns.compile_all(known)
    assert patterns.known() == known
    kept = re.compile("a+", re.IGNORECASE | re.MULTILINE)
    assert kept is re.compile("a+", re.IGNORECASE | re.MULTILINE)


@pytest.mark.parametrize("text", ["[[a]", "[a&&b]"])
def test_what_warns_goes_on_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        re.compile(text)
    known = patterns.known()
    assert (text, 0) in known
    re.purge()
    patterns.compile_all(known)
    with pytest.warns(FutureWarning):
        re.compile(text)


def test_what_cannot_be_compiled_or_says_something_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    patterns.compile_all([("(", 0), ("c", re.DEBUG.value), (b"d", re.LOCALE.value), ("e", 0), ("f" * 9, 1 << 20)])
    assert [text for text, _ in patterns.known()][:1] == ["e"]
    assert capsys.readouterr().out == ""


def test_a_pattern_of_another_type_is_left_alone() -> None:
    class Text(str):
        pass

    re.compile(Text("g"))
    assert patterns.known() == []


def test_without_the_cache_nothing_is_known() -> None:
    code = "import re, pytest_killmatrix.patterns as p; re.compile('a'); del re._cache; print(p.known())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
