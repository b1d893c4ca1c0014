"""Which lines changed, by statement."""

from __future__ import annotations

import textwrap

import pytest

from pytest_killmatrix.baseline.scope import changed_lines, differs

BASE = """\
import os

def one(a, b):
    first = [
        a,
        b,
    ]
    if a and (
        b
    ):
        return first
    return None

def two(a):
    x = a + 1
    y = x + 1
    return y
"""
CASES: dict[str, tuple[tuple[str, str], set[int]]] = {
    "nothing": (("", ""), set()),
    "a line of its own": (("x = a + 1", "x = a + 2"), {15}),
    "one line of an expression": (("        b,\n", "        a,\n"), {4, 5, 6, 7}),
    "the head of a compound": (("    ):", "    ) :"), {8, 9, 10}),
    "a comment": (("    y = x", "    # why\n    y = x"), {16}),
    "a new function": (("def two", "def new():\n    return 1\n\ndef two"), {14, 15}),
    "a statement that is gone": (("    y = x + 1\n", ""), {15, 16}),
    "a function that is gone": (("def two(a):\n    x = a + 1\n    y = x + 1\n    return y\n", ""), set()),
    "a blank line": (("def two", "\ndef two"), set()),
}


@pytest.mark.parametrize("name", CASES)
def test_changed_lines(name: str) -> None:
    edit, expected = CASES[name]
    now = BASE.replace(*edit) if edit[0] else BASE
    assert changed_lines(BASE.encode(), now.encode()) == expected


def test_a_file_that_is_new_changed_everywhere() -> None:
    assert changed_lines(None, b"a = 1\nb = 2\n") == {1, 2}


def test_what_is_no_python_changed_everywhere() -> None:
    assert changed_lines(b"a = 1\n", b"a = (\n") == {1}


def test_decorators_belong_to_the_head() -> None:
    old = textwrap.dedent("""\
        @one
        @two
        def f(a,
              b):
            return a
        """)
    assert changed_lines(old.encode(), old.replace("@two", "@three").encode()) == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a = 1\n", b"a = 1  # one\n", False), (b"a = 1\n", b"a = 2\n", True), (None, b"a = 1\n", True),
        (b"a = (\n", b"a = (\n", False), (b"a = (\n", b"b = (\n", True), (b"a=1", b"a = 1\n", False),
    ],
)  # fmt: skip
def test_comments_and_layout_are_no_difference(old: bytes | None, new: bytes, expected: bool) -> None:
    assert differs(old, new) is expected
