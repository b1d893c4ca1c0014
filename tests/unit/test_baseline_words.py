"""The command line of the old suite is that of the new one, less the files that were asked for."""

from __future__ import annotations

import pytest

from pytest_killmatrix.baseline.suite import _without

CASES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "nothing asked": (["-q"], [], ["-q"]),
    "a folder": (["-q", "tests"], ["tests"], ["-q"]),
    "a keyword of that name before": (["-k", "tests", "tests"], ["tests"], ["-k", "tests"]),
    "and after": (["tests", "-k", "tests"], ["tests"], ["-k", "tests"]),
    "after a flag": (["--verbose", "tests", "-m", "tests"], ["tests"], ["--verbose", "-m", "tests"]),
    "a long option's value": (["--deselect", "a.py", "a.py"], ["a.py"], ["--deselect", "a.py"]),
    "twice": (["a.py", "a.py"], ["a.py", "a.py"], []),
    "after two dashes": (["-q", "--", "-x.py"], ["-x.py"], ["-q"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left(name: str) -> None:
    words, asked, left = CASES[name]
    assert _without(words, asked) == left
