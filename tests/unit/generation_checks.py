"""What has to hold of every mutant of a file, found out in other ways than those that made it."""

from __future__ import annotations

import ast
import dis
import itertools
import marshal
import random
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from types import CodeType

from pytest_killmatrix import operators
from pytest_killmatrix.compiling import build_all, shape_of
from pytest_killmatrix.model import Build, Mutant, Status
from pytest_killmatrix.mutants import make_mutants
from pytest_killmatrix.operators import LayoutError
from pytest_killmatrix.source import SourceFile

FILENAME = "src/a.py"
_PRAGMA = re.compile(r"#\s*pragma[:\s]?\s*no\s*(mutate|cover)\b", re.IGNORECASE)


def generated(data: bytes) -> tuple[SourceFile, list[tuple[Mutant, Build]]]:
    """A file's mutants and builds, made as the generator makes them."""
    source = SourceFile(FILENAME, data)
    selected = operators.selection("")
    try:
        found = operators.replacements_of(source, selected)
    except LayoutError:
        found = operators.replacements_of(source, selected.without(operators.CATALOGUE["mutmut"]))
    return source, list(zip(*build_all(source, make_mutants(source, found), FILENAME), strict=True))


def faults(source: SourceFile, made: Sequence[tuple[Mutant, Build]], most: int = 10**9, seed: int = 0) -> list[str]:
    """What is wrong with them, one line each; ``most`` limits the mutants for which the whole file is compiled."""
    found = [*_repeated_keys(made), *_touched(source, made)]
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", source.text)
    starts = [0, *itertools.accumulate(map(len, lines))]
    for mutant, _ in made:
        found += (f"{_name(mutant)}: {fault}" for fault in _misplaced(source, starts, mutant))
    chosen = list(made) if len(made) <= most else random.Random(seed).sample(list(made), most)
    whole = _Whole(source, {mutant.key: mutant for mutant, _ in made})
    for mutant, build in chosen:
        found += (f"{_name(mutant)}: {fault}" for fault in whole.faults(mutant, build))
    return found


def _name(mutant: Mutant) -> str:
    return f"{mutant.line}:{mutant.column} {mutant.operator} {mutant.original[:60]!r} -> {mutant.replacement[:60]!r}"


def _repeated_keys(made: Sequence[tuple[Mutant, Build]]) -> Iterator[str]:
    keys = sorted(mutant.key for mutant, _ in made)
    yield from (f"two mutants are {one}" for one, other in itertools.pairwise(keys) if one == other)


def _misplaced(source: SourceFile, starts: Sequence[int], mutant: Mutant) -> Iterator[str]:
    """Whether positions, offsets and texts agree, counted from the decoded lines and from the bytes."""
    index, end = starts[mutant.line - 1] + mutant.column, starts[mutant.end_line - 1] + mutant.end_column
    if source.text[index:end] != mutant.original:
        yield f"lines and columns are those of {source.text[index:end]!r}"
    if source.data[mutant.start : mutant.end].decode(source.encoding) != mutant.original:
        yield f"offsets are those of {source.data[mutant.start : mutant.end]!r}"
    if mutant.original == mutant.replacement:
        yield "changes nothing"
    if not 1 <= mutant.first_line <= mutant.last_line < len(starts):
        yield f"executes on lines {mutant.first_line} to {mutant.last_line}"
    try:
        mutated = source.splice(mutant.start, mutant.end, mutant.replacement)
    except UnicodeEncodeError:
        if mutant.verdict is not Status.INVALID:
            yield "cannot be encoded, and is not invalid"
        return
    text = source.text[:index] + mutant.replacement + source.text[end:]
    if mutated[len(source.bom) :].decode(source.encoding) != text or not mutated.startswith(source.bom):
        yield "the bytes with the replacement are not the text with the replacement"
    above, below = source.text[: starts[mutant.line - 1]], source.text[starts[mutant.end_line] :]
    if not (text.startswith(above) and text.endswith(below)):
        yield "other lines changed"


def _touched(source: SourceFile, made: Sequence[tuple[Mutant, Build]]) -> Iterator[str]:
    """Changes inside docstrings, annotations, ``__all__``, main guards, and to lines with a pragma."""
    forbidden = [
        (source.index_of_ast(node.lineno, node.col_offset), source.index_of_ast(*_end(node)), what)
        for node, what in _forbidden(source.tree)
    ]
    pragmas = set(_pragmas(source))
    for mutant, _ in made:
        start, end = _changed_part(source, mutant)
        for first, last, what in forbidden:
            if first <= start and end <= last and (start < end or first < start < last):
                yield f"{_name(mutant)}: is in {what}"
        if mutant.line in pragmas and mutant.verdict is not Status.IGNORED:
            yield f"{_name(mutant)}: its line has a pragma"


def _changed_part(source: SourceFile, mutant: Mutant) -> tuple[int, int]:
    """The indexes into the text without what the original and the replacement have in common at both ends."""
    old, new = mutant.original, mutant.replacement
    least = min(len(old), len(new))
    before = next((at for at in range(least) if old[at] != new[at]), least)
    after = next((at for at in range(least - before) if old[-1 - at] != new[-1 - at]), least - before)
    start = source.index(mutant.line, mutant.column)
    return start + before, start + len(old) - after


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _forbidden(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                yield node.body[0], "a docstring"
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                yield node, "__all__"
        elif isinstance(node, ast.If) and ast.unparse(node.test) in _GUARDS:
            yield node.test, "a main guard"
        for name in ("annotation", "returns"):
            annotation = getattr(node, name, None)
            if isinstance(annotation, ast.expr):
                yield annotation, "an annotation"


_GUARDS = ("__name__ == '__main__'", "'__main__' == __name__")


def _pragmas(source: SourceFile) -> Iterator[int]:
    if not _PRAGMA.search(source.text):
        return
    lines = iter([re.sub(r"[\r\n]+$", "\n", line) for line in source.lines])
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT and _PRAGMA.search(token.string):
            yield token.start[0]


class _Whole:
    """Compiles the whole file for a mutant, and compares."""

    def __init__(self, source: SourceFile, by_key: dict[str, Mutant]) -> None:
        self._source = source
        self._by_key = by_key
        self._code = self._compile(source.data)
        self._shape = shape_of(self._code)
        self._paths = dict(_paths(self._code))

    def faults(self, mutant: Mutant, build: Build) -> Iterator[str]:
        try:
            code = self._compile(self._mutated(mutant))
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError, UnicodeEncodeError) as error:
            if mutant.verdict not in (Status.INVALID, Status.IGNORED):
                yield f"does not compile ({error}), and is {mutant.verdict or 'to be run'}"
            return
        if mutant.verdict is Status.INVALID:
            yield f"compiles, and is invalid: {mutant.reason}"
        elif mutant.verdict is Status.DUPLICATE:
            other = self._compile(self._mutated(self._by_key[mutant.duplicate_of or ""]))
            if _program(other) != _program(code):
                yield f"is no duplicate of {mutant.duplicate_of}"
        elif mutant.verdict is Status.EQUIVALENT and _program(code) != _program(self._code):
            yield "is not equivalent"
        elif mutant.verdict is None and not mutant.static and shape_of(code) == self._shape:
            # at module level the rest of the file decides too: what comes after ``raise``, which constant is the first
            yield "is equivalent"
        if mutant.verdict is not None and build != Build():
            yield "needs no run, and has a build"
        if mutant.verdict is None and bool(build.codes) == bool(build.obstacle):
            yield f"has {len(build.codes)} codes and the obstacle {build.obstacle}"
        if _lines(mutant.original) == _lines(mutant.replacement):
            # otherwise lines are kept where they were, and which instructions are joined depends on lines (3.13)
            yield from self._differing(code, build)

    def _differing(self, code: CodeType, build: Build) -> Iterator[str]:
        anchored = False
        for swap in reversed(build.codes):
            original, plain, marked = map(marshal.loads, (swap.original, swap.plain, swap.marked))
            if original not in self._paths:
                yield f"the file has no such function {swap.qualname}"
                continue
            if not original.co_freevars == plain.co_freevars == marked.co_freevars:
                yield f"{swap.qualname} has other free variables"
            expected = code
            for index in self._paths[original]:
                expected = _nested(expected)[index]
            # one that lost a free variable keeps it by code that never runs, which those around it hold too
            anchored = anchored or expected.co_freevars != original.co_freevars
            if not anchored and _program(plain) != _program(expected):
                yield f"{swap.qualname} is not what the whole file compiles to"

    def _mutated(self, mutant: Mutant) -> bytes:
        return self._source.splice(mutant.start, mutant.end, mutant.replacement)

    def _compile(self, data: bytes) -> CodeType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(data, FILENAME, "exec", dont_inherit=True)
        return code


def _lines(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))


def _text(value: object) -> str:
    """What a constant is; the order in which a set is shown is another after ``marshal``."""
    return str(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _program(code: CodeType) -> object:
    """The instructions with what they work on, whatever order constants are kept in, and whichever are not used."""
    return [
        code.co_name, code.co_flags, code.co_varnames, code.co_freevars, code.co_cellvars,
        *(
            (item.opname, _program(item.argval)) if isinstance(item.argval, CodeType)
            else (item.opname, type(item.argval), _text(item.argval))
            for item in dis.get_instructions(code)
        ),
    ]  # fmt: skip


def _paths(code: CodeType, path: tuple[int, ...] = ()) -> Iterator[tuple[CodeType, tuple[int, ...]]]:
    yield code, path
    for index, nested in enumerate(_nested(code)):
        yield from _paths(nested, (*path, index))


def _nested(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
