from __future__ import annotations

import ast
import warnings
from types import CodeType

import pytest

from pytest_killmatrix.activation import marking


def compiled(tree: ast.Module) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, "a.py", "exec")


def outcome(namespace: dict[str, object], call: str) -> str:
    try:
        return repr(eval(call, namespace))
    except Exception as error:
        return repr(error)


def marks(text: str, old: str, new: str, call: str) -> tuple[bool, bool]:
    """(entered, evaluated) after a call of the mutant, which must behave as the mutant without marks."""
    mutated = text.replace(old, new, 1)
    assert mutated != text
    code = compiled(marking.mark(ast.parse(text), ast.parse(mutated)))
    store = [0, 0]
    marked: dict[str, object] = {}
    exec(marking.install(code, store.__setitem__), marked)
    plain: dict[str, object] = {}
    exec(mutated, plain)
    store[:] = 0, 0
    assert outcome(marked, call) == outcome(plain, call)
    assert lines(code) <= {getattr(node, "lineno", None) for node in ast.walk(ast.parse(mutated))}
    assert lines(code) >= lines(compiled(ast.parse(mutated)))
    return bool(store[0]), bool(store[1])


def lines(code: CodeType) -> set[int | None]:
    found = {line for _, _, line in code.co_lines() if line}
    return found.union(*(lines(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


MATCH = "def f(n):\n match n:\n  case 1: return 1\n  case 2: return 2\n  case _: return 3\n"
BOTH, ENTERED, NEITHER = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("text", "old", "new", "call", "expected"),
    [
        ("def f(n): return n or 5 + 1", "5 + 1", "5 - 1", "f(1)", ENTERED),
        ("def f(n): return n or 5 + 1", "5 + 1", "5 - 1", "f(0)", BOTH),
        ("def f(n): return (n.x) + 1", "+", "-", "f(1)", ENTERED),
        ("def f(n): return 1 < n < 3", "< 3", "<= 3", "f(0)", ENTERED),
        ("def f(n): return 1 < n < 3", "< 3", "<= 3", "f(2)", BOTH),
        ("def f(n): return n and 1 and 2", "n and", "n or", "f(0)", BOTH),
        ("def f(n): return -n", "-", "+", "f(1)", BOTH),
        ("def f(n):\n  n += 1\n  return n", "+=", "-=", "f(1)", BOTH),
        ("def f(n):\n  n += 1\n  return n", "+=", "=", "f(1)", BOTH),
        ("def f(n):\n  'doc'\n  if n: return 1\n  g()", "g()", "pass", "f(1)", ENTERED),
        ("def f(n):\n  'doc'\n  if n: return 1\n  g()", "g()", "pass", "f(0)", BOTH),
        ("def f(n):\n  for i in n:\n    if i: continue\n    return 3", "continue", "break", "f([0])", ENTERED),
        ("def f(n):\n  for i in n:\n    if i: continue\n    return 3", "continue", "break", "f([1])", BOTH),
        ("def f(n):\n  while True:\n    n += 1\n    if n > 3: break\n  return n", "True", "False", "f(1)", BOTH),
        (
            "def f(n):\n  try: n()\n  except TypeError:\n    n += 1\n    n += 2",
            "n += 1\n    n += 2",
            "pass",
            "f(1)",
            BOTH,
        ),
        (
            "def f(n):\n  try: n()\n  except TypeError:\n    n += 1\n    n += 2",
            "n += 1\n    n += 2",
            "pass",
            "f(int)",
            ENTERED,
        ),
        ("def f(n):\n  try: n()\n  except TypeError: pass", "TypeError", "None", "f(int)", ENTERED),
        ("def f(n):\n  return f'{n + 1:>{4}}abc'", "abc", "XX", "f(1)", BOTH),
        ("def f(n):\n  return f'{n + 1:>{4}}abc'", "4", "5", "f('')", ENTERED),
        ("def f(n):\n  n[1] = 2\n  return n", "1", "0", "f([1])", BOTH),
        ("def f(n):\n  return dict(a=n)", "a=", "aXX=", "f(1)", BOTH),
        ("def f(n):\n  return str(n, 1)", "n, 1", "1", "f(1)", BOTH),
        ("def f(n):\n  return [*n]", "*n", "n", "f([1])", BOTH),
        ("def f(n):\n  return n[1:2]", "1:", "0:", "f([1])", BOTH),
        ("def f(n):\n  return (lambda q: q + 1)(n)", "q + 1", "None", "f(1)", BOTH),
        ("def f(n):\n  return lambda q: q + 1", "q + 1", "None", "f(1) and None", NEITHER),
        ("f = lambda q: q and q + 1", "q + 1", "None", "f(0)", ENTERED),
        ("def f(n):\n  yield n + 1\n  yield 2", "yield n + 1", "pass", "f(1) and None", NEITHER),
        ("def f(n):\n  yield n + 1\n  yield 2", "yield n + 1", "pass", "list(f(1))", BOTH),
        ("def f(n, a=1):\n  return n + a", "a=1", "a=2", "f(1)", NEITHER),
        (MATCH, "case 2", "case 3", "f(1)", ENTERED),
        (MATCH, "case 2", "case 3", "f(3)", BOTH),
        (MATCH, "  case 2: return 2\n", "", "f(1)", ENTERED),
        (MATCH, "  case 2: return 2\n", "", "f(2)", BOTH),
        (MATCH, "  case _: return 3\n", "", "f(2)", ENTERED),
        (MATCH, "  case _: return 3\n", "", "f(3)", BOTH),
        (MATCH, "return 2", "return None", "f(3)", ENTERED),
        ("class C:\n  def f(self):\n    return super().x", "super().x", "None", "C().f()", BOTH),
    ],
)
def test_marks_fire_exactly_when_expected(
    text: str, old: str, new: str, call: str, expected: tuple[bool, bool]
) -> None:
    assert marks(text, old, new, call) == expected


def test_module_level_marks_come_after_docstring_and_future_imports() -> None:
    text = "'doc'\nfrom __future__ import annotations\nx = 1\n"
    tree = marking.mark(ast.parse(text), ast.parse(text.replace("1", "2")))
    store = [0, 0]
    namespace: dict[str, object] = {}
    exec(marking.install(compiled(tree), store.__setitem__), namespace)
    assert (store, namespace["x"], namespace["__doc__"]) == ([1, 1], 2, "doc")


def test_a_docstring_stays_one() -> None:
    text = "def f():\n  'doc'\n  return 1\n"
    namespace: dict[str, object] = {}
    tree = marking.mark(ast.parse(text), ast.parse(text.replace("doc", "other")))
    exec(marking.install(compiled(tree), [0, 0].__setitem__), namespace)
    assert namespace["f"].__doc__ == "other"  # type: ignore[attr-defined]


def test_equal_trees_stay_as_they_are() -> None:
    text = "def f():\n  return 1\n"
    assert ast.dump(marking.mark(ast.parse(text), ast.parse(text))) == ast.dump(ast.parse(text))


@pytest.mark.parametrize("text", ["def f():\n  'doc'\n  return 1\n", "f = lambda: 1\n"])
def test_anchor_keeps_free_variables_and_the_result(text: str) -> None:
    indented = "".join(f"  {line}\n" for line in text.splitlines())
    tree = ast.parse(f"def outer(a, b):\n{indented}  return f\n")
    function = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda | ast.FunctionDef) and getattr(node, "name", "f") == "f"
    )
    marking.free_variable_anchor(function, ["a", "b"])
    namespace: dict[str, object] = {}
    exec(compiled(tree), namespace)
    inner = eval("outer(1, 2)", namespace)
    assert inner.__code__.co_freevars == ("a", "b")
    assert inner() == 1
