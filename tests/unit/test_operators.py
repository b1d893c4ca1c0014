from __future__ import annotations

import pytest

from pytest_killmatrix import operators
from pytest_killmatrix.source import SourceFile


def changes(text: str, names: str) -> set[tuple[str, str]]:
    """(original, replacement) of every change, and a check that each splices into the text."""
    file = SourceFile("a.py", text.encode(), "utf-8")
    found = set()
    for item in operators.replacements(text, operators.selection(names)):
        start, end = file.index(item.line, item.column), file.index(item.end_line, item.end_column)
        found.add((text[start:end], item.text))
    return found


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("x = (a + b)\n", "swap_op", {("a + b", "a - b")}),
        ("x = not (a)\n", "remove_unary_ops", {("not (a)", "(a)")}),
        ("x = (not a)\n", "remove_unary_ops", {("(not a)", "a")}),
        ("x = (a and\n  b)\n", "swap_op", {("a and\n  b", "a or\n  b")}),
        ("x = (a in\n  b)\n", "keywords", {("in", "not in")}),
        ("x +=   1; y\n", "augmented_assignment", {("x +=   1", "x =   1")}),
        ("for i in x:\n  continue; y\n", "keywords", {("continue", "break")}),
        ("f = lambda: (x)\n", "lambda", {("(x)", "None")}),
        ("def f():\n  g(\n    1,\n    (\n      x + y))\n", "swap_op", {("x + y", "x - y")}),
        ("def f():\n  g(\n    1,\n    x)\n", "number", {("1", "2")}),
        ("def f():\n  a = (x +\n       y)\n", "swap_op", {("x +\n       y", "x -\n       y")}),
        ("x = 'a'and(b)\n", "swap_op", {("'a'and(b)", "'a'or(b)")}),
        ("x = len(a)\n", "arg_removal", set()),
        ("x = len(f(a))\n", "arg_removal", {("f(a)", "f(None)")}),
        ("x = isinstance(a, b)\n", "arg_removal", set()),
        ("f(x)\n", "statement_deletion", {("f(x)", "pass")}),
        ("x = f()\nx.a = 1\nx[1] = 2\n", "statement_deletion", {("x.a = 1", "pass"), ("x[1] = 2", "pass")}),
        ("import a\nglobal b\n'doc'\n...\npass\n", "statement_deletion", set()),
        (
            "raise\nassert x\ndel x\nx += 1\n",
            "statement_deletion",
            {(s, "pass") for s in ["raise", "assert x", "del x", "x += 1"]},
        ),
        ("if[x]: pass\n", "condition_negation", {("[x]", " not ([x])")}),
        ("if a == b: pass\nif not a: pass\nwhile True: pass\n", "condition_negation", set()),
        ("x = [a for a in b if a if (c)]\n", "condition_negation", {("a", "not (a)"), ("c", "not (c)")}),
        ("x = a if b else c\n", "condition_negation", {("b", "not (b)")}),
        ("def f():\n  return a, b\n", "return_value", {("a, b", "None")}),
        ("def f():\n  return(a)\n", "return_value", {("a", "None")}),
        ("def f():\n  return[a]\n", "return_value", {("[a]", " None")}),
        ("def f():\n  return\n  return None\n  return True\n", "return_value", set()),
        ("try: a\nexcept B:\n  c\n  d; e\n", "handler_body_emptied", {("c\n  d; e", "pass")}),
        ("try: a\nexcept B: pass\nexcept C: ...\n", "handler_body_emptied", set()),
        ("for a in b, c: d\nwhile e: f\n", "loop_zero_times", {("b, c", "()"), ("e", "False")}),
        ("x = a < b\n", "boundary", {("a < b", "a != b")}),
        (
            "x = (a) <= ( # < no\n b) > c\n",
            "boundary",
            {
                ("(a) <= ( # < no\n b) > c", "(a) == ( # < no\n b) > c"),
                ("(a) <= ( # < no\n b) > c", "(a) <= ( # < no\n b) != c"),
            },
        ),
        ("x = a == b is c\n", "boundary", set()),
    ],
)
def test_changes(text: str, names: str, expected: set[tuple[str, str]]) -> None:
    assert changes(text, names) == expected


def test_a_dropped_case_keeps_its_indentation() -> None:
    text = "def f():\n  if x:\n    # why\n    match y:\n      case 1: a\n      case 2:\n        b\n    c\n"
    assert {new for _, new in changes(text, "match")} == {
        "match y:\n      case 2:\n        b",
        "match y:\n      case 1: a",
    }


@pytest.mark.parametrize("before", ["", "\n\n", "# why\n", "a\n\n# why\n\n"])
@pytest.mark.parametrize("after", ["", "\n", "\n\n\n", "\n\n# so\n", "\na\n", "\n\na\n"])
def test_what_is_around_a_statement_is_no_part_of_its_mutants(before: str, after: str) -> None:
    text = "match x:\n  case 1: a\n  case 2:\n    b"
    assert changes(before + text + after, "match") == {
        (text, "match x:\n  case 1: a"),
        (text, "match x:\n  case 2:\n    b"),
    }


def test_no_two_replacements_are_the_same_text() -> None:
    text = "while True:\n  f()\ntry: a\nexcept B:\n  raise\n"
    found = operators.replacements(text, operators.selection(""))
    assert len({(item.line, item.column, item.end_line, item.end_column, item.text) for item in found}) == len(found)


def test_a_text_keeps_its_line_ends() -> None:
    text = "def f(x):\r\n    if (x and\r\n        g(x)):\r\n        return 1\r\n"
    for item in operators.replacements(text, operators.selection("")):
        assert "\n" not in item.text.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "chosen", "left_out"),
    [
        ("", ["swap_op", "boundary", "case:M1", "theirs"], []),
        ("mutmut", ["swap_op"], ["boundary", "case:M1"]),
        ("own, number", ["boundary", "number"], ["swap_op"]),
        ("-own", ["swap_op", "case:M1"], ["boundary"]),
        ("own,-bound*", ["return_value"], ["boundary", "number"]),
        ("-own,boundary", ["boundary"], ["return_value", "swap_op"]),
        ("case:*", ["case:M1"], ["swap_op"]),
        ("case:M1", ["case:M1"], ["case:M2"]),
        ("all,-string", ["swap_op", "case:M1"], ["string"]),
    ],
)
def test_selection(text: str, chosen: list[str], left_out: list[str]) -> None:
    selection = operators.selection(text)
    assert [name for name in [*chosen, *left_out] if name in selection] == chosen


@pytest.mark.parametrize("text", ["nonsense", "mutmut,-nonsense"])
def test_an_unknown_operator_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="unknown mutation operator 'nonsense': choose from mutmut, own, ") as caught:
        operators.selection(text)
    assert "\n" not in str(caught.value)


def test_catalogue_names_are_unique_and_complete() -> None:
    names = operators.catalogue_names()
    assert len(set(names)) == len(names)
    assert {"swap_op", "number", "string", "arg_removal", "statement_deletion", "boundary"} <= set(names)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_last_line_without_an_end(newline: str) -> None:
    text = "match x:\n  case 1: a\n  case 2: b".replace("\n", newline)
    assert {new for _, new in changes(text, "match")} == {
        "match x:\n  case 2: b".replace("\n", newline),
        "match x:\n  case 1: a".replace("\n", newline),
    }


@pytest.mark.parametrize("text", ["not(lambda: x)\n", "not(a if b else c)\n"])
def test_what_libcst_cannot_read_is_a_layout_error(text: str) -> None:
    with pytest.raises(operators.LayoutError, match="libcst"):
        changes(text, "string")
