"""Texts of variants: diffs apply exactly or not at all, and the span of a change gives the whole text back."""

from __future__ import annotations

import ast
import difflib
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.activation import marking
from pytest_killmatrix.oracle import texts
from pytest_killmatrix.oracle.diffs import DiffError, apply
from pytest_killmatrix.source import SourceFile

LINES = st.lists(st.sampled_from(["a = 1\n", "b = 2\n", "\n", "# ä\n", "c = 3\r\n", "d = 4"]), max_size=8)


def joined(lines: list[str]) -> str:
    """A text whose lines all end but for the last."""
    return "".join(
        line if line.endswith("\n") or at == len(lines) - 1 else line + "\n" for at, line in enumerate(lines)
    )


def diff_of(old: str, new: str, context: int = 3) -> str:
    made = difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/x.py", "b/x.py", n=context)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in made)


@given(LINES, LINES, st.integers(0, 3))
def test_a_diff_gives_the_new_text(old: list[str], new: list[str], context: int) -> None:
    before, after = joined(old), joined(new)
    if before != after:
        assert apply(before, diff_of(before, after, context)) == after


@given(LINES, LINES)
def test_a_span_gives_the_new_text(old: list[str], new: list[str]) -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        target = SourceFile("x.py", mark + joined(old).encode())
        span = texts.span(target, joined(new))
        assert target.splice(span.start, span.end, span.text) == mark + joined(new).encode()
        assert target.data[span.start : span.end].decode() == span.original


DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


@pytest.mark.parametrize(("text", "diff", "words"), [
    ("a\nx\n", DIFF, "wants 'b' at line 2, where the file has 'x'"),
    ("a\n", DIFF, "where the file ends"),
    ("a\nb", DIFF, "does not apply"),  # no line end there
    ("a\r\nb\r\n", DIFF, "wants 'a' at line 1, where the file has 'a\\r'"),
    ("a\nb\n", "nothing\n", "no line begins with @@"),
    ("a\nb\n", DIFF.replace("+c\n", ""), "ends too early"),
    ("a\nb\n", DIFF.replace("-b\n", "*b\n"), "line 5 of the diff does not belong"),
    ("a\nb\n", DIFF + DIFF, "more than one file"),
    ("a\nb\n", DIFF.replace("-1,2", "-9,2"), "line 9, which is not there"),
    ("a\nb\n", DIFF.replace("-1,2", "-2,2"), "wants 'a' at line 2"),
])  # fmt: skip
def test_a_diff_that_does_not_apply(text: str, diff: str, words: str) -> None:
    with pytest.raises(DiffError, match=r".") as caught:
        apply(text, diff)
    assert words in str(caught.value)


def test_a_diff_keeps_line_ends() -> None:
    assert apply("a\r\nb\r\n", "@@ -2 +2 @@\n-b\r\n+c\r\n") == "a\r\nc\r\n"


def test_a_definition_has_its_decorators() -> None:
    target = SourceFile(
        "x.py", b"class A:\n    @property\n    def f(self):\n        return 1\n\ndef f():\n    return 1\n"
    )
    assert "@cached\n" in texts.replaced(target, "A.f", "@property", "@cached")
    assert texts.replaced(target, "f", "return 1", "return 2").count("return 2") == 1
    assert texts.replaced(target, "<module>", "class A:", "class B:").startswith("class B:")


def test_encodings() -> None:
    target = SourceFile("x.py", "# coding: latin-1\nname = 'ä'\n".encode("latin-1"))
    assert texts.decoded(target, "name = 'ö'".encode("latin-1")) == "name = 'ö'"
    with pytest.raises(texts.TextError, match="lacks"):
        texts.encoded(target, "name = '€'")
    with pytest.raises(texts.TextError, match="encoding utf-8"):
        texts.decoded(SourceFile("y.py", b""), b"\xff")


@pytest.mark.parametrize("text", [
    "", "'''doc'''\n", "'''doc'''\nfrom __future__ import annotations\nx = 1\n", "def f(): pass\n", "x = 1; y = 2\n",
    "from __future__ import annotations\n",
])  # fmt: skip
def test_a_whole_module_marks_its_beginning_and_its_end(text: str) -> None:
    said: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a constant that is called: the mark
        code = compile(marking.mark_whole(ast.parse(text)), "x.py", "exec", dont_inherit=True)
    namespace: dict[str, object] = {}
    exec(marking.install(code, lambda offset, _: said.append(offset)), namespace)
    assert said == [marking.ENTERED, marking.EVALUATED]
    plain: dict[str, object] = {}
    exec(compile(text, "x.py", "exec", dont_inherit=True), plain)
    assert namespace.keys() == plain.keys()
    assert namespace.get("__doc__") == plain.get("__doc__")


def test_a_module_that_does_not_come_to_its_end_is_entered_only() -> None:
    said: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(marking.mark_whole(ast.parse("x = 1\nraise KeyError\n")), "x.py", "exec")
    with pytest.raises(KeyError):
        exec(marking.install(code, lambda offset, _: said.append(offset)), {})
    assert said == [marking.ENTERED]
