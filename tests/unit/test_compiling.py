from __future__ import annotations

import importlib
import marshal
import sys
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from pytest_killmatrix import compiling, operators
from pytest_killmatrix.activation import marking
from pytest_killmatrix.model import Build, Mutant, Replacement, Status
from pytest_killmatrix.mutants import make_mutants
from pytest_killmatrix.source import SourceFile


def built(text: str, names: str = "") -> list[tuple[Mutant, Build]]:
    source = SourceFile("a.py", text.encode())
    found = make_mutants(source, operators.replacements_of(source, operators.selection(names)))
    return list(zip(*compiling.build_all(source, found, "a.py"), strict=True))


def change(text: str, old: str, new: str) -> tuple[Mutant, Build]:
    """The mutant that replaces the first ``old`` by ``new``."""
    source = SourceFile("a.py", text.encode())
    start = text.index(old)
    places = (*source.position(start), *source.position(start + len(old)))
    found = make_mutants(source, [], [("test", [Replacement("test:x", *places, new)])])
    mutants, builds = compiling.build_all(source, found, "a.py")
    return mutants[0], builds[0]


def test_the_swapped_code_is_the_mutated_function() -> None:
    text = "def f(a):\n    return a + 1\n"
    namespace: dict[str, object] = {}
    exec(compile(text, "a.py", "exec", dont_inherit=True), namespace)
    function = namespace["f"]
    assert isinstance(function, FunctionType)
    mutant, build = change(text, "+", "-")
    assert (mutant.verdict, build.obstacle, len(build.codes)) == (None, None, 1)
    code = build.codes[0]
    assert (code.qualname, code.line) == ("f", 1)
    assert marshal.loads(code.original) == function.__code__
    function.__code__ = marshal.loads(code.plain)
    assert function(1) == 0
    store = [0, 0]
    function.__code__ = marking.install(marshal.loads(code.marked), store.__setitem__)
    assert (function(1), store) == (0, [1, 1])


def test_functions_on_the_path_come_outermost_first() -> None:
    inner = "    class B:\n      def g(self):\n        return [lambda: x + 1 for x in y]\n"
    text = f"class A:\n  def f(self):\n{inner}    return B\n"
    _, build = change(text, "+", "-")
    names = [code.qualname for code in build.codes]
    assert names[:2] == ["A.f", "A.f.<locals>.B.g"]
    assert names[2].endswith("<lambda>")


@pytest.mark.parametrize(
    ("text", "old", "new", "status"),
    [
        ("def f():\n  return 1\n", "1", "1 +", Status.INVALID),
        ("break_ = 1\n", "break_ = 1", "return 1", Status.INVALID),
        ("def f():\n  return (1)\n", "(1)", "1", Status.EQUIVALENT),
        ("def f():\n  return 2\n", "2", "1 + 1", Status.EQUIVALENT),
        ("def f():\n  return 1\n", "1", "True", None),
        ("def f():\n  return 1\n", "1", "1.0", None),
        ("def f():\n  return 0.0\n", "0.0", "-0.0", None),
        ("def f(x):\n  return x in (1, 2)\n", "1", "True", None),
    ],
)
def test_verdicts_that_need_no_run(text: str, old: str, new: str, status: Status | None) -> None:
    mutant, build = change(text, old, new)
    assert mutant.verdict is status
    assert bool(build.codes) == (status is None)


def test_a_duplicate_names_the_mutant_it_equals() -> None:
    text = "def f(x):\n  for i in x:\n    g()\n    break\n"
    found = built(text)
    for mutant, build in found:
        if mutant.verdict is Status.DUPLICATE:
            assert mutant.duplicate_of in {other.key for other, _ in found if other.verdict is None}
            assert build == Build()
    source = SourceFile("a.py", b"def f(x):\n  return x\n")
    twice = [Replacement("test:a", 2, 9, 2, 10, "None"), Replacement("test:b", 2, 2, 2, 10, "return None")]
    mutants, _ = compiling.build_all(source, make_mutants(source, [], [("test", twice)]), "a.py")
    assert [mutant.verdict for mutant in mutants] == [None, Status.DUPLICATE]
    assert mutants[1].duplicate_of == mutants[0].key


@pytest.mark.parametrize(
    ("text", "old", "new", "obstacle"),
    [
        ("x = 1\n", "1", "2", compiling.IMPORT_TIME),
        ("def f(x=1): pass\n", "1", "2", compiling.IMPORT_TIME),
        ("def f():\n  yield 1\n", "yield 1", "pass", compiling.FLAGS),
        ("def f(x):\n  def g(): return 1\n  return g\n", "1", "x", compiling.FREE_VARIABLES),
    ],
)
def test_obstacles(text: str, old: str, new: str, obstacle: str) -> None:
    mutant, build = change(text, old, new)
    assert (mutant.verdict, build.codes, build.obstacle) == (None, (), obstacle)


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("def f(x, y):\n  def g():\n    'doc'\n    return y or x\n  return g\n", "y or x"),
        ("def f(x):\n  return lambda: (x)\n", "x)"),
        ("def f(x):\n  def g():\n    return lambda: x\n  return g\n", "lambda: x"),
        ("class A:\n  def f(self):\n    return super().f\n", "super().f"),
        ("class A:\n  def f(self, x):\n    return lambda: (x, __class__)\n", "(x, __class__)"),
    ],
)
def test_free_variables_are_kept(text: str, old: str) -> None:
    _, build = change(text, old, "None)" if old.endswith(")") and "(" not in old else "None")
    assert build.obstacle is None
    for code in build.codes:
        free = marshal.loads(code.original).co_freevars
        assert marshal.loads(code.plain).co_freevars == free
        assert marshal.loads(code.marked).co_freevars == free


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="columns tell the two lambdas apart")
def test_two_equal_lambdas_on_a_line_are_ambiguous() -> None:
    _, build = change("def f(x):\n  return (lambda: x), (lambda: x)\n", "x), ", "1), ")
    assert build.obstacle == compiling.AMBIGUOUS


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no columns in code")
def test_two_lambdas_on_a_line_are_told_apart() -> None:
    _, build = change("def f(x):\n  return (lambda: x), (lambda: x)\n", "x), ", "1), ")
    assert [code.qualname for code in build.codes] == ["f", "f.<locals>.<lambda>"]


def test_later_lines_keep_their_numbers_when_a_change_has_fewer() -> None:
    text = "def f(x):\n  g(\n    x,\n    1)\n  return x\n"
    _, build = change(text, "g(\n    x,\n    1)", "pass")
    code: CodeType = marshal.loads(build.codes[0].plain)
    assert 5 in {line for _, _, line in code.co_lines()}
    assert 3 not in {line for _, _, line in code.co_lines()}


def test_a_method_call_on_an_imported_name_compiles_as_in_the_whole_file() -> None:
    text = (
        "import os\n\n\ndef f(x):\n  return os.stat(x + 1)\n\n\n"
        "class A:\n  def f(self, x):\n    return os.stat(x * 1)\n"
    )
    whole = set(compiling._all_codes(compile(text, "a.py", "exec", dont_inherit=True)))
    for old in ("+", "*"):
        _, build = change(text, old, "-")
        assert marshal.loads(build.codes[0].original) in whole


MODULES = ["json.decoder", "textwrap", "fractions", "contextlib", "queue", "csv"]


@pytest.mark.parametrize("name", MODULES)
def test_code_of_a_unit_is_the_code_of_the_whole_file(name: str) -> None:
    path = Path(importlib.import_module(name).__file__ or "")
    source = SourceFile(name, path.read_bytes())
    compiler = compiling.Compiler(source, str(path))
    whole = frozenset(compiling._all_codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    for section in source.sections:
        for line in range(section.first_line, section.last_line + 1):
            key, kept = compiler._outline.kept_lines(line, line)
            unit = compiler._units.get(key) or compiler._units.setdefault(key, compiler._make_unit(key, kept))
            assert whole.issuperset(unit.functions)
            assert len(kept) == 1 or unit.text.count("\n") <= kept[-1][1] + 3  # not fallen back to more


@pytest.mark.parametrize("name", ["textwrap", "queue"])
def test_real_modules_go_through(name: str) -> None:
    path = Path(importlib.import_module(name).__file__ or "")
    source = SourceFile(name, path.read_bytes())
    found = make_mutants(source, operators.replacements_of(source, operators.selection("")))
    mutants, builds = compiling.build_all(source, found, str(path))
    assert len(mutants) > 100
    for mutant, build in zip(mutants, builds, strict=True):
        assert (mutant.verdict is None) == bool(build.codes or build.obstacle)
        assert build.obstacle in {None, compiling.IMPORT_TIME, compiling.FLAGS, compiling.AMBIGUOUS}


@pytest.mark.parametrize("text", ["x = 1\n'a'\n", "class A:\n  x = 1\n  'a'\n"])
def test_a_string_after_the_first_statement_is_no_docstring(text: str) -> None:
    mutant, _ = change(text, "'a'", "'b'")
    assert mutant.verdict is Status.EQUIVALENT
