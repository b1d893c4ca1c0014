from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_killmatrix import operators
from pytest_killmatrix.model import Mutant, Replacement, Status
from pytest_killmatrix.mutants import make_mutants
from pytest_killmatrix.source import SourceFile


def mutants(text: str | bytes, names: str = "") -> list[Mutant]:
    source = SourceFile("src/a.py", text if isinstance(text, bytes) else text.encode())
    return make_mutants(source, operators.replacements_of(source, operators.selection(names)))


def the(text: str, original: str, names: str = "number") -> Mutant:
    return next(mutant for mutant in mutants(text, names) if mutant.original == original)


def test_a_key_names_path_definition_and_operator() -> None:
    mutant = the("class A:\n  def f(self):\n    def g():\n      return 1\n", "1")
    path, definition, operator, digest = mutant.key.split("::")
    assert (path, definition, operator) == ("src/a.py", "A.f.g", "number")
    assert len(digest) == 10
    assert (mutant.line, mutant.column, mutant.end_line, mutant.end_column) == (4, 13, 4, 14)


def test_identical_changes_of_one_definition_have_keys_of_their_own() -> None:
    text = "def f(x):\n  return x + 1, x + 1\ndef g(x):\n  return x + 1\n"
    keys = [mutant.key for mutant in mutants(text)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("text", "original", "static"),
    [
        ("x = 1\n", "1", True),
        ("class A:\n  x = 1\n", "1", True),
        ("class A(f(1)):\n  pass\n", "1", True),
        ("def f(x=1): pass\n", "1", True),
        ("@d(1)\ndef f(): pass\n", "1", True),
        ("def f():\n  return 1\n", "1", False),
        ("def f():\n  def g(x=1): pass\n", "1", False),
        ("def f():\n  class A:\n    x = 1\n", "1", False),
        ("f = lambda: 1\n", "1", False),
        ("f = lambda x=1: x\n", "1", True),
        ("f = lambda x=(1): (2)\n", "1", True),
        ("f = lambda x=(1): (2)\n", "2", False),
        ("def f(g=lambda: 1): pass\n", "1", False),
        ("x = [1 for y in z]\n", "1", True),
        ("try: x\nexcept A:\n  1 + y\n", "1", True),
    ],
)
def test_static_is_what_import_executes(text: str, original: str, static: bool) -> None:
    assert the(text, original).static is static


@pytest.mark.parametrize(
    ("text", "original", "expected"),
    [
        ("def f(a):\n  x = g(\n    1,\n    a)\n", "1", (2, 4, None)),
        ("def f(a):\n  if a == (\n    1):\n    a\n", "1", (2, 3, None)),
        ("def f(a):\n  if a:\n    b(1)\n    c\n", "1", (3, 3, None)),
        ("def f(a):\n  try:\n    b\n  except g(1):\n    c\n", "1", (4, 4, None)),
        ("def f(a): return 1\n", "1", (1, 1, 1)),
        ("@d\ndef f(a): return 1\n", "1", (2, 2, 1)),
        ("def f(a,\n   b=2): return 1\n", "1", (2, 2, 1)),
        ("def f(a,\n   b=2):\n  return 1\n", "1", (3, 3, None)),
        ("def f(a): yield 1\n", "1", (1, 1, None)),
        ("async def f(a): return 1\n", "1", (1, 1, None)),
        ("x = (\n  lambda:\n  1)\n", "1", (3, 3, 2)),
        ("x = lambda: (yield 1)\n", "1", (1, 1, None)),
        ("@d(1)\ndef f(a):\n  pass\n", "1", (1, 2, None)),
    ],
)
def test_lines_are_those_that_can_evaluate_the_node(
    text: str, original: str, expected: tuple[int, int, int | None]
) -> None:
    mutant = the(text, original)
    assert (mutant.first_line, mutant.last_line, mutant.entry_line) == expected


def test_a_whole_compound_statement_has_all_its_lines() -> None:
    text = "def f(x):\n  match x:\n    case 1: a\n    case 2:\n      b\n"
    mutant = mutants(text, "match")[0]
    assert (mutant.first_line, mutant.last_line) == (2, 5)
    text = "try: a\nexcept B:\n  c\n  d\n"
    mutant = mutants(text, "handler_body_emptied")[0]
    assert (mutant.first_line, mutant.last_line) == (3, 4)


@pytest.mark.parametrize(
    "text",
    [
        "'doc'\n",
        "class A:\n  'doc'\n",
        "def f():\n  'doc'\n",
        "def f(a: g(1)) -> g(1): pass\n",
        "x: g(1)\n",
        "if TYPE_CHECKING:\n  x = 1\n",
        "if t.TYPE_CHECKING:\n  x = 1\n",
        "__all__ = ['a']\n__all__ += ['b']\n__all__.append('c')\n__all__: list = ['d']\n",
        "if __name__ == '__main__':\n  pass\n",
        "if '__main__' == __name__: pass\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert mutants(text) == []


@pytest.mark.parametrize(
    ("text", "original"),
    [
        ("if TYPE_CHECKING:\n  x = 1\nelse:\n  x = 2\n", "2"),
        ("x: g(1) = 2\n", "2"),
        ("if __name__ == '__main__':\n  f(2)\n", "2"),
        ("@property\ndef f():\n  return 2\n", "2"),
        ("class A:\n  def __new__(cls):\n    return 2\n", "2"),
        ("def f(x=g(2)): pass\n", "2"),
        ("x = '__main__' == y + 2\n", "2"),
    ],
)
def test_not_left_alone(text: str, original: str) -> None:
    assert the(text, original)


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("x = 1  # pragma: no mutate\ny = 2\n", {"1"}),
        ("x = 1  # pragma: no cover\ny = 2\n", {"1"}),
        ("x = 1; s = '# pragma: no cover'\n", set()),
        ("def f():  # pragma: no cover\n  return 1\ny = 2\n", {"1"}),
        ("@d(1)  # pragma: no cover\nclass A:\n  x = 2\n  def f(self):\n    return 3\ny = 4\n", {"1", "2", "3"}),
        ("if 1:  # pragma: no cover\n  2\nelse:\n  3\n", {"1", "2"}),
        ("if 1:\n  2\nelse:  # pragma: no cover\n  3\n4\n", {"3"}),
        ("if 1:\n  2\nelif 3:  # pragma: no cover\n  4\nelse: 5\n", {"3", "4"}),
        ("try:\n  1\nexcept f(2):  # pragma: no cover\n  3\nfinally:\n  4\n", {"2", "3"}),
        ("x = f(\n  1,\n  2)  # pragma: no cover\n", {"1", "2"}),
    ],
)
def test_pragmas_ignore_their_blocks(text: str, ignored: set[str]) -> None:
    found = mutants(text, "number")
    assert {mutant.original for mutant in found if mutant.verdict is Status.IGNORED} == ignored
    assert {mutant.reason for mutant in found if mutant.verdict} <= {"pragma"}


def test_string_only() -> None:
    found = {(m.original, m.operator): m.string_only for m in mutants("x = f'{a}' 'b' + b'c' + g('d')\n")}
    assert found["'b'", "string"]
    assert found["b'c'", "string"]
    assert not found["g('d')", "arg_removal"]


def test_a_replacement_that_the_encoding_cannot_hold_is_invalid() -> None:
    found = mutants(b"# coding: latin-1\nx = '\xff'\n", "string")
    verdicts = {mutant.replacement: mutant.verdict for mutant in found}
    assert verdicts == {"'XXÿXX'": None, "'Ÿ'": Status.INVALID}


def test_third_party_replacements_are_always_made() -> None:
    source = SourceFile("src/a.py", b"if TYPE_CHECKING:\n  x = 1  # pragma: no mutate\n")
    found = make_mutants(source, [], [("theirs", [Replacement("case:M1", 2, 6, 2, 7, "2")])])
    assert [(m.operator, m.original, m.verdict) for m in found] == [("case:M1", "1", None)]


@pytest.mark.parametrize("place", [(3, 0, 3, 1), (1, 0, 1, 99), (1, 3, 1, 1), (0, 0, 1, 1)])
def test_a_replacement_outside_the_file_names_the_plugin(place: tuple[int, int, int, int]) -> None:
    source = SourceFile("src/a.py", b"x = 1\n")
    with pytest.raises(ValueError, match="plugin theirs: operator case:M1: "):
        make_mutants(source, [], [("theirs", [Replacement("case:M1", *place, "2")])])


STATEMENTS = st.sampled_from(
    [
        "x = 1",
        "x += f(a, 'b')",
        "def f(a, b=2, *c, d: int = 4):\n    'doc'\n    return a + b if c else (d)",
        "class A(B, k=1):\n    y: int = 3\n    @p(1)\n    def m(self, *a):\n        yield (not self.x)",
        "for i in range(3):\n    if i < 2 <= x: continue\n    else: break",
        "try:\n    g(1)\nexcept (A, B) as e:\n    print(e); raise\nfinally:\n    y = None",
        "z = [lambda q, w=(1): (q\n  - 3) for q in w if q if not w]",
        "match x:\n    case {'a': 1, **r} if r: pass\n    case [1, *_] | A(b=2):\n        y = 'é€😀' f'{x!r:>{w}}'",
        "async def h():\n    async with a(1) as b: await b.c(2, d=3)\n    assert b, 'no'",
        "while (n := n - 1) and a[1:n]: del a[0], b.c",
    ]
)


@settings(max_examples=12, deadline=None)
@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_every_mutant_is_one_change_of_the_text(parts: list[str], newline: str, bom: bool) -> None:
    text = ("\n".join(parts) + "\n").replace("\n", newline)
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    source = SourceFile("src/a.py", data)
    found = mutants(data)
    assert found
    assert len({mutant.key for mutant in found}) == len(found)
    for mutant in found:
        assert data[mutant.start : mutant.end].decode() == mutant.original
        mutated = source.splice(mutant.start, mutant.end, mutant.replacement)
        assert mutated.startswith(data[: mutant.start])
        assert mutated.endswith(data[mutant.end :])
        assert mutated != data
        assert ast.dump(ast.parse(mutated)) is not None
        assert 1 <= mutant.first_line <= mutant.last_line


@settings(max_examples=8, deadline=None)
@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.integers(0, 3))
def test_keys_do_not_move_with_lines(parts: list[str], at: int) -> None:
    before = [mutant.key for mutant in mutants("\n".join(parts) + "\n")]
    parts.insert(min(at, len(parts)), "# a comment\n\nimport something_else\n")
    assert [mutant.key for mutant in mutants("\n".join(parts) + "\n")] == before
