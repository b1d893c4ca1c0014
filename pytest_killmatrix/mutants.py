"""From the operators' replacements to mutants: identity, where they execute, and what is left alone."""

from __future__ import annotations

import ast
import bisect
import collections
import hashlib
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from pytest_killmatrix.model import Mutant, Replacement, Status
from pytest_killmatrix.source import SourceFile, first_line, is_string, last_line

MODULE = "<module>"
_PRAGMA = re.compile(r"#\s*pragma[:\s]?\s*no\s*(?:mutate|cover)\b", re.IGNORECASE)
_STRING = re.compile(r"[rRbBuUfF]{0,2}(['\"]).*\1", re.DOTALL)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def make_mutants(
    source: SourceFile,
    replacements: Iterable[Replacement],
    extra: Iterable[tuple[str, Iterable[Replacement]]] = (),
) -> list[Mutant]:
    """The mutants of a file, in source order.

    ``extra`` holds third parties' replacements by plugin name: nothing is filtered from them, and ValueError names the
    plugin of one that lies outside the file.
    """
    layout = Layout(source)
    found: list[tuple[int, int, Replacement, bool]] = []
    for replacement in replacements:
        start, end = _indexes(source, replacement)
        if not layout.left_alone(start, end):
            found.append((start, end, replacement, True))
    for plugin, theirs in extra:
        found.extend((*_indexes_for(plugin, source, item), item, False) for item in theirs)
    found.sort(key=lambda item: item[:2])
    ordinals: collections.Counter[tuple[str, str, str, str]] = collections.Counter()
    return [_mutant(source, layout, ordinals, *item) for item in found]


def _indexes(source: SourceFile, replacement: Replacement) -> tuple[int, int]:
    start = source.index(replacement.line, replacement.column)
    end = source.index(replacement.end_line, replacement.end_column)
    if end < start:
        raise ValueError(f"a replacement in {source.path} ends before it starts (line {replacement.line})")
    return start, end


def _indexes_for(plugin: str, source: SourceFile, replacement: Replacement) -> tuple[int, int]:
    try:
        return _indexes(source, replacement)
    except ValueError as error:
        raise ValueError(f"plugin {plugin}: operator {replacement.operator}: {error}") from None


def _mutant(
    source: SourceFile,
    layout: Layout,
    ordinals: collections.Counter[tuple[str, str, str, str]],
    start: int,
    end: int,
    replacement: Replacement,
    pragmas_apply: bool,
) -> Mutant:
    original = source.text[start:end]
    place = layout.place(start, end)
    identity = (place.definition, replacement.operator, original, replacement.text)
    digest = hashlib.sha256("\0".join((original, replacement.text, str(ordinals[identity]))).encode("utf-8", "replace"))
    ordinals[identity] += 1
    verdict, reason = None, None
    if pragmas_apply and replacement.line in layout.ignored_lines:
        verdict, reason = Status.IGNORED, "pragma"
    elif not _encodable(replacement.text, source.encoding):
        verdict, reason = Status.INVALID, f"the file's encoding {source.encoding} cannot hold the replacement"
    return Mutant(
        key=f"{source.path}::{place.definition}::{replacement.operator}::{digest.hexdigest()[:10]}",
        path=source.path,
        line=replacement.line,
        column=replacement.column,
        end_line=replacement.end_line,
        end_column=replacement.end_column,
        definition=place.definition,
        operator=replacement.operator,
        original=original,
        replacement=replacement.text,
        start=source.byte_offset(start),
        end=source.byte_offset(end),
        static=place.static,
        string_only=_is_string(original) and _is_string(replacement.text),
        first_line=place.first_line,
        last_line=place.last_line,
        entry_line=place.entry_line,
        verdict=verdict,
        reason=reason,
    )


def _encodable(text: str, encoding: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


@cache
def _is_string(text: str) -> bool:
    if not _STRING.fullmatch(text):
        return False
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replaced text executes."""

    definition: str
    static: bool
    first_line: int
    last_line: int
    entry_line: int | None


@dataclass(frozen=True, slots=True)
class _Function:
    """A def or lambda: what its code object calls its first line, and the lines it shares with the scope around it."""

    first_line: int
    header_last_line: int
    suspends: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class _Lambda:
    body_start: int
    end: int
    first_line: int
    last_line: int
    function: _Function


@dataclass(slots=True)
class _Region:
    """A statement or clause: its text, the lines of its header, and the function that executes the header."""

    start: int
    end: int
    first_line: int
    header_last_line: int
    definition: str
    function: _Function | None
    children: list[_Region] = field(default_factory=list)
    lambdas: list[_Lambda] = field(default_factory=list)


class Layout:
    """What a file's syntax says about any span of its text."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._left_alone: list[tuple[int, int]] = []
        self._blocks: list[tuple[int, int, int]] = []
        self._regions = self._statements(source.tree.body, MODULE, None)
        self._docstring(source.tree)
        self._left_alone = _merged(self._left_alone)
        self.ignored_lines = self._find_ignored_lines()

    def left_alone(self, start: int, end: int) -> bool:
        """Whether the span is within a docstring, an annotation, ``__all__`` or a guard, where nothing is mutated."""
        at = bisect.bisect_right(self._left_alone, (start, len(self._source.text) + 1)) - 1
        return at >= 0 and end <= self._left_alone[at][1]

    def place(self, start: int, end: int) -> Place:
        """Where the text between two indexes executes."""
        source = self._source
        region: _Region | None = None
        children = self._regions
        while (child := _child(children, start, end)) is not None:
            region, children = child, child.children
        if region is None:
            first, last = source.position(start)[0], source.position(end)[0]
            return Place(MODULE, True, first, last, None)
        function = region.function
        first, last = region.first_line, region.header_last_line
        overlapped = [child for child in children if child.start < end and start < child.end]
        if overlapped:
            last = source.position(end)[0]
            if start >= overlapped[0].start:
                first = source.position(start)[0]
                function = overlapped[0].function
        for inner in region.lambdas:
            if inner.body_start <= start and end <= inner.end:
                function, first, last = inner.function, inner.first_line, inner.last_line
        entry = None
        if function is not None and first <= function.header_last_line and not function.suspends():
            entry = function.first_line
        return Place(region.definition, function is None, first, last, entry)

    def _statements(self, body: Sequence[ast.stmt], definition: str, function: _Function | None) -> list[_Region]:
        return [self._statement(node, definition, function) for node in body]

    def _statement(self, node: ast.stmt, definition: str, function: _Function | None) -> _Region:
        start = self._index(first_line(node), node.col_offset)
        region = _Region(start, self._end(node), first_line(node), last_line(node), definition, function)
        if isinstance(node, _FUNCTIONS):
            return self._function(node, region)
        if isinstance(node, ast.ClassDef):
            region.definition = _joined(definition, node.name)
            self._header(region, node, node.bases, node.keywords, node.decorator_list)
            self._suite(region, node.body, region.definition, function)
            self._docstring(node)
        elif isinstance(node, ast.If):
            self._if(node, region)
        elif isinstance(node, ast.Match):
            self._header(region, node, [node.subject])
            for case in node.cases:
                self._clause(region, case, [case.pattern, *([case.guard] if case.guard else [])], case.body)
            region.header_last_line = last_line(node.subject)
        elif isinstance(body := getattr(node, "body", None), list):
            parts = [value for name, value in ast.iter_fields(node) if name not in _SUITES]
            self._header(region, node, *(part if isinstance(part, list) else [part] for part in parts))
            self._suite(region, body, definition, function)
            for handler in getattr(node, "handlers", ()):
                self._clause(region, handler, [handler.type] if handler.type else [], handler.body)
            for name in ("orelse", "finalbody"):
                self._alternative(region, getattr(node, name, []))
        else:
            self._simple(node, region)
        return region

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, region: _Region) -> _Region:
        region.definition = _joined(region.definition, node.name)
        self._annotations(node.args)
        if node.returns is not None:
            self._leave_alone(node.returns)
        self._header(region, node, [node.args], node.decorator_list, [node.returns])
        inside = _Function(region.first_line, region.header_last_line, cache(lambda: _suspends(node)))
        self._suite(region, node.body, region.definition, inside)
        self._docstring(node)
        return region

    def _if(self, node: ast.If, region: _Region) -> None:
        self._header(region, node, [node.test])
        self._suite(region, node.body, region.definition, region.function)
        if _is_type_checking(node.test):
            self._left_alone.append((self._start(node.test), self._end(node.body[-1])))
        elif _is_main_guard(node.test):
            self._leave_alone(node.test)
        self._alternative(region, node.orelse)

    def _simple(self, node: ast.stmt, region: _Region) -> None:
        if isinstance(node, ast.AnnAssign):
            self._leave_alone(node.annotation)
        if _is_all(node) or type(node).__name__ == "TypeAlias":
            self._leave_alone(node)
        self._find_lambdas(region, [node])
        self._blocks.append((region.first_line, region.header_last_line, region.header_last_line))

    def _header(self, region: _Region, node: ast.stmt, *parts: Iterable[ast.AST | None]) -> None:
        """Note the last line that the header's own code is on, and the lambdas in it."""
        nodes = [part for group in parts for part in group if isinstance(part, ast.AST)]
        region.header_last_line = max([node.lineno, *(_last_line_within(part) for part in nodes)])
        self._find_lambdas(region, nodes)
        for parameter in getattr(node, "type_params", ()):
            self._leave_alone(parameter)

    def _suite(self, region: _Region, body: Sequence[ast.stmt], definition: str, function: _Function | None) -> None:
        region.children.extend(self._statements(body, definition, function))
        before = max(region.header_last_line, first_line(body[0]) - 1)
        self._blocks.append((region.first_line, min(before, first_line(body[0])), last_line(body[-1])))

    def _alternative(self, region: _Region, body: Sequence[ast.stmt]) -> None:
        """An ``else`` or ``finally``: its keyword is somewhere between the statements."""
        if not body:
            return
        before = max((self._source.position(child.end)[0] for child in region.children), default=region.first_line)
        region.children.extend(self._statements(body, region.definition, region.function))
        first = first_line(body[0])
        if before < first:
            self._blocks.append((before + 1, first - 1, last_line(body[-1])))

    def _clause(
        self, region: _Region, node: ast.ExceptHandler | ast.match_case, header: Sequence[ast.AST], body: list[ast.stmt]
    ) -> None:
        """An ``except`` or ``case``: a region of its own."""
        anchor = node if isinstance(node, ast.ExceptHandler) else node.pattern
        start = self._index(anchor.lineno, anchor.col_offset)
        # ``case`` itself and opening brackets are before the pattern
        start = min(start, self._source.line_starts[anchor.lineno - 1])
        start = max(start, region.children[-1].end if region.children else region.start)
        last = max([anchor.lineno, *(_last_line_within(part) for part in header)])
        clause = _Region(start, self._end(body[-1]), anchor.lineno, last, region.definition, region.function)
        self._find_lambdas(clause, header)
        self._suite(clause, body, region.definition, region.function)
        region.children.append(clause)

    def _find_lambdas(self, region: _Region, nodes: Iterable[ast.AST]) -> None:
        # breadth first: an inner lambda comes after the one around it
        for top in nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Lambda):
                    self._add_lambda(region, node)

    def _add_lambda(self, region: _Region, node: ast.Lambda) -> None:
        ends = [self._end(part) for part in ast.walk(node.args) if isinstance(part, ast.expr | ast.arg)]
        start = max([self._start(node) + len("lambda"), *ends])
        function = _Function(node.lineno, last_line(node), cache(lambda: _suspends(node)))
        first, last = node.body.lineno, last_line(node.body)
        region.lambdas.append(_Lambda(start, self._end(node), first, last, function))

    def _docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.body and is_string(node.body[0]):
            self._leave_alone(node.body[0])

    def _annotations(self, arguments: ast.arguments) -> None:
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        for argument in named:
            if argument is not None and argument.annotation is not None:
                self._leave_alone(argument.annotation)

    def _leave_alone(self, node: ast.AST) -> None:
        self._left_alone.append((self._start(node), self._end(node)))

    def _find_ignored_lines(self) -> frozenset[int]:
        marked = frozenset(_pragma_lines(self._source))
        ignored = set(marked)
        if marked:
            for first, header_last, last in self._blocks:
                if any(line in marked for line in range(first, header_last + 1)):
                    ignored.update(range(first, last + 1))
        return frozenset(ignored)

    def _index(self, line: int, utf8_column: int) -> int:
        return self._source.index_of_ast(line, utf8_column)

    def _start(self, node: ast.AST) -> int:
        return self._index(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _end(self, node: ast.AST) -> int:
        return self._index(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


_SUITES = frozenset({"body", "orelse", "finalbody", "handlers"})


def _joined(definition: str, name: str) -> str:
    return name if definition == MODULE else f"{definition}.{name}"


def _child(children: Sequence[_Region], start: int, end: int) -> _Region | None:
    at = bisect.bisect_right(children, start, key=lambda child: child.start) - 1
    return children[at] if at >= 0 and end <= children[at].end else None


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _last_line_within(node: ast.AST) -> int:
    return max((getattr(part, "end_lineno", None) or 0 for part in ast.walk(node)), default=0)


def _suspends(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether calling it makes a generator or coroutine: its body does not run when it is called."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(body))


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    stack = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else None
    return name == "TYPE_CHECKING"


def _is_main_guard(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def _is_all(statement: ast.stmt) -> bool:
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        targets = [called.value] if isinstance(called, ast.Attribute) else ()
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _pragma_lines(source: SourceFile) -> Iterator[int]:
    if not _PRAGMA.search(source.text):
        return
    lines = iter([line.rstrip("\r\n") + "\n" for line in source.lines])
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT and _PRAGMA.search(token.string):
                yield token.start[0]
    except (tokenize.TokenError, SyntaxError):
        yield from (number for number, line in enumerate(source.lines, 1) if _PRAGMA.search(line))
