"""One Python source file: bytes, text, positions and top-level statements."""

from __future__ import annotations
import __future__

import ast
import bisect
import codecs
import itertools
import re
import tokenize
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_NEWLINE = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """A file that cannot be read as Python source; ``str()`` is one line."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Section:
    """Top-level statements that share lines, decorators included; both lines belong to it."""

    first_line: int
    last_line: int
    statements: tuple[ast.stmt, ...]


class SourceFile:
    """A source file, decoded as Python decodes it.

    Lines count from 1 and end only where Python ends them (``\\n``, ``\\r\\n``, ``\\r``); columns count from 0 in code
    points; a byte order mark is no part of the text.
    """

    def __init__(self, path: str, data: bytes, encoding: str | None = None) -> None:
        self.path = path
        self.data = data
        self.bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            self.encoding = encoding or encoding_of(data)
            self.text = data[len(self.bom) :].decode(self.encoding)
        except SyntaxError as error:
            raise SourceError(path, 1, f"cannot be decoded: {error.msg}") from None
        except (UnicodeDecodeError, LookupError) as error:
            start = getattr(error, "start", 0)
            line = len(re.findall(rb"\r\n|\r|\n", data[:start])) + 1
            raise SourceError(path, line, f"cannot be decoded: {error}") from None
        self._single_byte = self.text.isascii()

    @cached_property
    def line_starts(self) -> Sequence[int]:
        """Index into ``text`` of the start of every line, and the length of the text at the end."""
        starts = [0]
        starts.extend(match.end() for match in _NEWLINE.finditer(self.text))
        starts.append(len(self.text))
        return starts

    @property
    def line_count(self) -> int:
        """Number of lines; a text that ends in a newline has an empty last line."""
        return len(self.line_starts) - 1

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines with their line ends."""
        starts = self.line_starts
        return [self.text[start:end] for start, end in itertools.pairwise(starts)]

    @cached_property
    def _byte_starts(self) -> Sequence[int]:
        offsets = [len(self.bom)]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line.encode(self.encoding)))
        return offsets

    def index(self, line: int, column: int) -> int:
        """The index into ``text`` of a position; ValueError where the file has no such place."""
        if not 1 <= line <= self.line_count or column < 0:
            raise ValueError(f"{self.path} has no line {line}, column {column}")
        index = self.line_starts[line - 1] + column
        if index > self.line_starts[line] or (index == self.line_starts[line] and line < self.line_count):
            raise ValueError(f"{self.path} has no line {line}, column {column}")
        return index

    def position(self, index: int) -> tuple[int, int]:
        """The (line, column) of an index into ``text``."""
        line = min(bisect.bisect_right(self.line_starts, index), self.line_count)
        return line, index - self.line_starts[line - 1]

    def byte_offset(self, index: int) -> int:
        """The byte offset into ``data`` of an index into ``text``."""
        if self._single_byte:
            return len(self.bom) + index
        line, column = self.position(index)
        return self._byte_starts[line - 1] + len(self.lines[line - 1][:column].encode(self.encoding))

    def offset(self, line: int, column: int) -> int:
        """The byte offset into ``data`` of a position."""
        return self.byte_offset(self.index(line, column))

    def locate(self, offset: int) -> tuple[int, int]:
        """The (line, column) of a byte offset into ``data``."""
        if self._single_byte:
            return self.position(max(offset - len(self.bom), 0))
        line = min(max(bisect.bisect_right(self._byte_starts, offset), 1), self.line_count)
        start = self._byte_starts[line - 1]
        column = len(self.data[start : max(offset, start)].decode(self.encoding, errors="ignore"))
        return line, column

    def index_of_ast(self, line: int, utf8_column: int) -> int:
        """The index into ``text`` of a position as ``ast`` gives it (columns in UTF-8 bytes)."""
        start = self.line_starts[line - 1]
        if self._single_byte:
            return start + utf8_column
        text = self.lines[line - 1]
        if text.isascii():
            return start + utf8_column
        return start + len(text.encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "ignore"))

    def splice(self, start: int, end: int, text: str) -> bytes:
        """The bytes with those from ``start`` to ``end`` replaced; UnicodeEncodeError where the encoding cannot."""
        return self.data[:start] + text.encode(self.encoding) + self.data[end:]

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; SourceError for a syntax error."""
        try:
            tree = ast.parse(self.text, self.path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(
                    tree, self.path, "exec", dont_inherit=True
                )  # knows more errors: ``return`` outside of a function
            return tree
        except SyntaxError as error:
            raise SourceError(self.path, error.lineno or 1, f"syntax error: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise SourceError(self.path, 1, f"cannot be parsed: {error}") from None

    @cached_property
    def future_flags(self) -> int:
        """Compiler flag bits of the file's ``from __future__`` imports.

        Asked of the compiler: it knows which features are long past and leave no flag (``division``).
        """
        names = [
            alias.name
            for statement in self.tree.body
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__" and not statement.level
            for alias in statement.names
            if alias.name in __future__.all_feature_names
        ]
        if not names:
            return 0
        code = compile(f"from __future__ import {', '.join(names)}", "<future>", "exec", dont_inherit=True)
        every = 0
        for name in __future__.all_feature_names:
            every |= getattr(__future__, name).compiler_flag
        return code.co_flags & every

    @cached_property
    def sections(self) -> Sequence[Section]:
        """The top-level statements, those that share a line together."""
        return group_by_lines(self.tree.body)


def encoding_of(data: bytes) -> str:
    """The encoding of a file's text after its byte order mark; SyntaxError as from ``tokenize.detect_encoding``.

    That one does not know ``\\r`` as an end of line, and would take such a file for one line.
    """
    lines = iter(re.split(rb"(?<=\n)|(?<=\r)(?!\n)", data, maxsplit=2)[:2])
    found, _ = tokenize.detect_encoding(lambda: next(lines, b""))
    return "utf-8" if found == "utf-8-sig" else found


def is_string(statement: ast.stmt) -> bool:
    """Whether a statement is a string: a docstring, where it is the first of a body."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def first_line(node: ast.stmt | ast.ExceptHandler) -> int:
    """The line a statement starts on, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt | ast.expr | ast.ExceptHandler) -> int:
    """The line a node ends on."""
    return node.end_lineno or node.lineno


def group_by_lines(statements: Sequence[ast.stmt]) -> list[Section]:
    """Statements in order, in groups that share no line.

    A string belongs to what is before it: alone it would be a docstring.
    """
    sections: list[Section] = []
    for statement in statements:
        first, last = first_line(statement), last_line(statement)
        if sections and (first <= sections[-1].last_line or is_string(statement)):
            before = sections[-1]
            sections[-1] = Section(before.first_line, max(last, before.last_line), (*before.statements, statement))
        else:
            sections.append(Section(first, last, (statement,)))
    return sections
