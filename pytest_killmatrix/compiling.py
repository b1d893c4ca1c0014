"""From mutants to code objects: what to swap, and which mutants need no run.

Only the top-level statement around a mutant is compiled, padded so that lines and columns stay, and of a class only the
path to the mutant. The rest of the file can change a function's code in one way that is known: a method call on a name
that the module imports is compiled otherwise (3.11 and later), so the module's imported names are declared below the
statement. What comes out is checked against the code of the whole file, which is compiled instead where they differ.
"""

from __future__ import annotations

import ast
import bisect
import collections
import marshal
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from inspect import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
    CO_NEWLOCALS,
    CO_OPTIMIZED,
    CO_VARARGS,
    CO_VARKEYWORDS,
)
from types import CodeType
from typing import NamedTuple

from pytest_killmatrix.activation import marking
from pytest_killmatrix.model import Build, Mutant, Status, SwapCode
from pytest_killmatrix.source import Section, SourceFile, group_by_lines

_FUNCTION_LEVEL = CO_OPTIMIZED | CO_NEWLOCALS
_MUST_AGREE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE | CO_VARARGS | CO_VARKEYWORDS

FREE_VARIABLES = "free variables differ"
FLAGS = "flags differ"
NO_FUNCTION = "no function differs"
AMBIGUOUS = "ambiguous"
IMPORT_TIME = "import-time"


class Shape(NamedTuple):
    """What code does, without positions and file name: equal shapes are equal programs."""

    own: tuple[object, ...]
    nested: tuple[Shape, ...]


def build_all(source: SourceFile, mutants: Iterable[Mutant], filename: str) -> tuple[list[Mutant], list[Build]]:
    """Compile a file's mutants, in their order: verdicts filled in, and a build for each."""
    compiler = Compiler(source, filename)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [compiler.build(mutant) for mutant in mutants]
    return [mutant for mutant, _ in results], [build for _, build in results]


class Compiler:
    """Compiles the mutants of one file, and remembers their code to know duplicates."""

    def __init__(self, source: SourceFile, filename: str) -> None:
        self._source = source
        self._filename = filename
        self._flags = source.future_flags
        self._units: dict[tuple[int, ...], _Unit] = {}
        self._first_with: dict[tuple[tuple[int, ...], Shape], str] = {}

    def build(self, mutant: Mutant) -> tuple[Mutant, Build]:
        """The mutant with its verdict, if compiling gives one, and its code.

        Warnings about the mutated text are the caller's to silence.
        """
        if mutant.verdict is not None:
            return mutant, Build()
        unit = self._unit(mutant)
        text = unit.spliced(self._source, mutant)
        try:
            plain = self._compile(text)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            message = error.msg if isinstance(error, SyntaxError) else str(error)
            return replace(mutant, verdict=Status.INVALID, reason=f"does not compile: {message}"), Build()
        shape = shape_of(plain)
        if shape == unit.shape:
            return replace(mutant, verdict=Status.EQUIVALENT, reason="equal code"), Build()
        first = self._first_with.setdefault((unit.key, shape), mutant.key)
        if first != mutant.key:
            return replace(mutant, verdict=Status.DUPLICATE, duplicate_of=first), Build()
        if mutant.static:
            return mutant, Build(obstacle=IMPORT_TIME)
        return mutant, self._swaps(unit, mutant, text, plain, shape)

    def _swaps(self, unit: _Unit, mutant: Mutant, text: str, plain: CodeType, shape: Shape) -> Build:
        tree = self._parse(text, mutant)
        difference = marking.find_difference(unit.tree, tree)
        if difference is None:
            return Build(obstacle=NO_FUNCTION)
        if _newlines(mutant.original) != _newlines(mutant.replacement):
            plain = self._compile(tree)
        functions = marking.enclosing_functions(difference)
        pairs = list(_pairs(unit.code, plain, unit.shape, shape))
        anchors: dict[int, Sequence[str]] = {}
        while (lost := _deepest_loss(pairs)) is not None and len(pairs) <= len(functions):
            depth, names = lost
            if depth in anchors:
                return Build(obstacle=FREE_VARIABLES)
            anchors[depth] = names
            plain = self._compile(self._anchored(self._parse(text, mutant), unit, anchors))
            pairs = list(_pairs(unit.code, plain, unit.shape, shape_of(plain)))
        if not pairs:
            return Build(obstacle=NO_FUNCTION)
        obstacle = self._obstacle(unit, pairs, len(functions))
        if obstacle is not None:
            return Build(obstacle=obstacle)
        marked_tree = marking.mark_at(tree, difference)
        for depth, names in anchors.items():
            marking.free_variable_anchor(functions[depth], names)
        marked = self._compile(marked_tree)
        codes = []
        for pair in pairs:
            found = _follow(marked, pair.path)
            if found is None:
                return Build(obstacle=AMBIGUOUS)
            codes.append(
                SwapCode.of(
                    qualname=pair.qualname,
                    line=pair.original.co_firstlineno,
                    original=unit.marshalled(pair.original),
                    marked=marshal.dumps(found),
                    plain=marshal.dumps(pair.mutated),
                )
            )
        return Build(tuple(codes))

    def _obstacle(self, unit: _Unit, pairs: Sequence[_Pair], depth: int) -> str | None:
        if len(pairs) < depth:
            return AMBIGUOUS  # equal functions on one line became one constant: which one changed is not known
        for original, mutated, _, _ in pairs:
            if original.co_freevars != mutated.co_freevars:
                return FREE_VARIABLES
            if (original.co_flags ^ mutated.co_flags) & _MUST_AGREE:
                return FLAGS
            if unit.occurrences[original] > 1:
                return AMBIGUOUS
        return None

    def _anchored(self, tree: ast.Module, unit: _Unit, anchors: Mapping[int, Sequence[str]]) -> ast.Module:
        difference = marking.find_difference(unit.tree, tree)
        assert difference is not None
        functions = marking.enclosing_functions(difference)
        for depth, names in anchors.items():
            marking.free_variable_anchor(functions[depth], names)
        return tree

    def _compile(self, program: str | ast.Module) -> CodeType:
        code: CodeType = compile(program, self._filename, "exec", flags=self._flags, dont_inherit=True, optimize=-1)
        return code

    def _parse(self, text: str, mutant: Mutant | None = None) -> ast.Module:
        flags = ast.PyCF_ONLY_AST | self._flags
        tree: ast.Module = compile(text, self._filename, "exec", flags=flags, dont_inherit=True, optimize=-1)
        if mutant is not None:
            lost = _newlines(mutant.original) - _newlines(mutant.replacement)
            if lost:
                _shift_lines(tree, self._source, mutant, lost)
        return tree

    def _unit(self, mutant: Mutant) -> _Unit:
        key, kept = self._outline.kept_lines(mutant.line, mutant.end_line)
        if key not in self._units:
            self._units[key] = self._make_unit(key, kept)
        return self._units[key]

    def _make_unit(self, key: tuple[int, ...], kept: Sequence[tuple[int, int]]) -> _Unit:
        whole = [(1, self._source.line_count)]
        for lines in (kept, [(kept[0][0], self._outline.end_of(kept[0][0]))]):
            text, delta = _padded(self._source, lines)
            text += self._imports
            unit = _Unit(key, text, delta, self._compile(text), self._parse(text))
            if lines == whole or self._whole_file.issuperset(unit.functions):
                return unit
        text, delta = _padded(self._source, whole)
        return _Unit(key, text, delta, self._compile(text), self._parse(text))

    @cached_property
    def _outline(self) -> _Outline:
        return _Outline(self._source)

    @cached_property
    def _imports(self) -> str:
        table = symtable.symtable(self._source.text, self._filename, "exec")
        names = sorted(symbol.get_name() for symbol in table.get_symbols() if symbol.is_imported())
        return f"\nimport {', '.join(names)}\n" if names else ""

    @cached_property
    def _whole_file(self) -> frozenset[CodeType]:
        return frozenset(_all_codes(self._compile(self._source.text)))


class _Unit:
    """What is compiled for a mutant, as it is in the original: its text, tree and code."""

    def __init__(self, key: tuple[int, ...], text: str, delta: int, code: CodeType, tree: ast.Module) -> None:
        self.key = key
        self.text = text
        self.code = code
        self.tree = tree
        self.shape = shape_of(code)
        self.occurrences = collections.Counter(_all_codes(code))
        self._delta = delta
        self._marshalled: dict[int, bytes] = {}

    @property
    def functions(self) -> Iterator[CodeType]:
        """Its function-level code objects."""
        return (code for code in self.occurrences if _is_function(code))

    def spliced(self, source: SourceFile, mutant: Mutant) -> str:
        """Its text with the mutant's change."""
        start = source.index(mutant.line, mutant.column) - self._delta
        end = source.index(mutant.end_line, mutant.end_column) - self._delta
        return self.text[:start] + mutant.replacement + self.text[end:]

    def marshalled(self, code: CodeType) -> bytes:
        """One of its code objects as bytes, made once."""
        if id(code) not in self._marshalled:
            self._marshalled[id(code)] = marshal.dumps(code)
        return self._marshalled[id(code)]


class _Pair(NamedTuple):
    original: CodeType
    mutated: CodeType
    qualname: str
    path: tuple[int, ...]


def shape_of(code: CodeType) -> Shape:
    """Bytecode, exception table, names, flags, variables and constants, recursively; no positions, no file name."""
    own: list[object] = [
        code.co_name,
        getattr(code, "co_qualname", None),
        code.co_code,
        getattr(code, "co_exceptiontable", None),
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
    ]
    nested: list[Shape] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            own.append(CodeType)
            nested.append(shape_of(constant))
        else:
            own.append(_identity(constant))
    return Shape(tuple(own), tuple(nested))


def _identity(constant: object) -> object:
    """What tells constants apart: ``1``, ``True``, ``1.0``, and ``0.0`` and ``-0.0``, are not the same."""
    if isinstance(constant, tuple):
        return (tuple, *map(_identity, constant))
    if isinstance(constant, frozenset):
        return frozenset, frozenset(map(_identity, constant))
    if isinstance(constant, float | complex):
        return type(constant), repr(constant)
    return type(constant), constant


class _Outline:
    """The statements of a file and of its classes, by lines."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._inner: dict[int, Sequence[Section]] = {}

    def kept_lines(self, line: int, end_line: int) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """Which lines to compile for a change in some lines: a key, and ranges, the last of which holds the change."""
        key: list[int] = []
        ranges: list[tuple[int, int]] = []
        sections = self._source.sections
        while sections and line >= sections[0].first_line:
            at = bisect.bisect_right(sections, line, key=lambda section: section.first_line) - 1
            section = sections[at]
            if end_line > section.last_line:
                break
            if key:  # the range before is a class of which now only the header is kept
                ranges[-1] = (ranges[-1][0], sections[0].first_line - 1)
            key.append(at)
            ranges.append((section.first_line, section.last_line))
            sections = self._statements_of_class(section)
        return tuple(key), ranges or [(1, self._source.line_count)]

    def end_of(self, line: int) -> int:
        """The last line of the top-level statement that starts on a line."""
        ends = (section.last_line for section in self._source.sections if section.first_line == line)
        return next(ends, self._source.line_count)

    def _statements_of_class(self, section: Section) -> Sequence[Section]:
        if section.first_line not in self._inner:
            self._inner[section.first_line] = _separable_statements(self._source, section)
        return self._inner[section.first_line]


def _separable_statements(source: SourceFile, section: Section) -> Sequence[Section]:
    """The statements of a class that may be compiled without the others; none where that is not so."""
    node = section.statements[0]
    if len(section.statements) > 1 or not isinstance(node, ast.ClassDef):
        return ()
    inner = group_by_lines(node.body)
    if source.lines[inner[0].first_line - 1][: _column(node.body[0])].strip() or _declares_scope(node.body):
        return ()
    return inner


def _column(statement: ast.stmt) -> int:
    return statement.col_offset - (1 if getattr(statement, "decorator_list", None) else 0)


def _declares_scope(body: Sequence[ast.stmt]) -> bool:
    """Whether the class's own code has ``global`` or ``nonlocal``, which change what other statements mean."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))
    return False


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _padded(source: SourceFile, kept: Sequence[tuple[int, int]]) -> tuple[str, int]:
    """The kept lines at their places, all others empty; and what to subtract from an index to find it there."""
    parts: list[str] = []
    length = 0
    delta = 0
    line = 1
    for first, last in kept:
        parts.append("\n" * (first - line))
        length += first - line
        delta = source.line_starts[first - 1] - length
        part = source.text[source.line_starts[first - 1] : source.line_starts[last]]
        parts.append(part)
        length += len(part)
        line = last + 1
    return "".join(parts), delta


def _nested(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for nested in _nested(code):
        yield from _all_codes(nested)


def _is_function(code: CodeType) -> bool:
    """Whether a live function may have this code: no module, class body, comprehension or type parameter scope."""
    if code.co_flags & _FUNCTION_LEVEL != _FUNCTION_LEVEL:
        return False
    return code.co_name == "<lambda>" or not code.co_name.startswith("<")


def _pairs(
    original: CodeType,
    mutated: CodeType,
    before: Shape,
    after: Shape,
    qualname: str = "",
    path: tuple[int, ...] = (),
) -> Iterator[_Pair]:
    """The functions whose code differs, outermost first; ``path`` says which nested code at each level."""
    if before == after:
        return
    if _is_function(original):
        yield _Pair(original, mutated, qualname, path)
    if len(before.nested) != len(after.nested):
        return
    prefix = "" if not path else f"{qualname}.<locals>." if original.co_flags & CO_NEWLOCALS else f"{qualname}."
    for index, (old, new) in enumerate(zip(_nested(original), _nested(mutated), strict=True)):
        name: str = getattr(old, "co_qualname", prefix + old.co_name)
        yield from _pairs(old, new, before.nested[index], after.nested[index], name, (*path, index))


def _follow(code: CodeType, path: Sequence[int]) -> CodeType | None:
    for index in path:
        nested = _nested(code)
        if index >= len(nested):
            return None
        code = nested[index]
    return code


def _deepest_loss(pairs: Sequence[_Pair]) -> tuple[int, Sequence[str]] | None:
    """The innermost function that lost free variables, and which."""
    for depth in reversed(range(len(pairs))):
        original, mutated = pairs[depth][:2]
        lost = [name for name in original.co_freevars if name not in mutated.co_freevars]
        if lost:
            return depth, lost
    return None


def _newlines(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _shift_lines(tree: ast.Module, source: SourceFile, mutant: Mutant, lost: int) -> None:
    """Give what comes after the change the lines it has in the original (in place)."""
    text = source.lines[mutant.line - 1][: mutant.column] + mutant.replacement
    tail = re.split(r"\r\n|\r|\n", text)[-1]
    end = (mutant.line + _newlines(mutant.replacement), len(tail.encode("utf-8", "surrogatepass")))
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            if (node.lineno, node.col_offset) >= end:  # type: ignore[attr-defined]
                node.lineno += lost  # type: ignore[attr-defined]
            if (node.end_lineno, node.end_col_offset) > end:  # type: ignore[attr-defined]
                node.end_lineno += lost  # type: ignore[attr-defined]
