"""The text of a variant: from a file, a diff or a replacement in one definition; where it differs from the target."""

from __future__ import annotations

import ast
import hashlib
import warnings
from dataclasses import dataclass

from pytest_killmatrix.source import SourceFile, first_line

MODULE = "<module>"


class TextError(ValueError):
    """A variant's text cannot be made; ``str()`` is one line."""


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of the target, from ``start`` to ``end`` (bytes), and what stands there instead.

    Lines count from 1, the end is (line, column) as in ``Mutant``.
    """

    start: int
    end: int
    line: int
    end_line: int
    end_column: int
    original: str
    text: str


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def decoded(target: SourceFile, data: bytes) -> str:
    """The text of a replacement file, in the target's encoding and without a byte order mark."""
    try:
        text = data.decode(target.encoding)
    except UnicodeDecodeError as error:
        raise TextError(f"is not in the target's encoding {target.encoding}: {error.reason}") from None
    return text.removeprefix("\ufeff") if target.encoding.replace("-", "").lower() == "utf8" else text


def encoded(target: SourceFile, text: str) -> bytes:
    """A variant's text as the bytes of its file."""
    try:
        return target.bom + text.encode(target.encoding)
    except UnicodeEncodeError:
        raise TextError(f"has characters that the target's encoding {target.encoding} lacks") from None


def replaced(target: SourceFile, definition: str, find: str, text: str) -> str:
    """The target's text with ``find``, which must stand once in a definition, replaced."""
    start, end = _definition(target, definition)
    body = target.text[start:end]
    count = body.count(find)
    if count != 1:
        say = "is not in" if not count else f"stands {count} times in"
        raise TextError(f"{find.strip()!r} {say} {definition}; it has to be there once")
    at = start + body.index(find)
    return target.text[:at] + text + target.text[at + len(find) :]


def _definition(target: SourceFile, name: str) -> tuple[int, int]:
    """Where a definition begins and ends, decorators included; the whole lines of it."""
    if name == MODULE:
        return 0, len(target.text)
    found = [node for qualname, node in _definitions(target.tree, "") if qualname == name]
    if not found:
        known = ", ".join(qualname for qualname, _ in _definitions(target.tree, "")) or "none"
        raise TextError(f"{target.path} has no definition {name}; it has: {known}")
    if len(found) > 1:
        raise TextError(f"{target.path} defines {name} {len(found)} times; use a diff")
    last = found[0].end_lineno or found[0].lineno
    return target.line_starts[first_line(found[0]) - 1], target.line_starts[last]


def _definitions(node: ast.AST, prefix: str) -> list[tuple[str, ast.stmt]]:
    found: list[tuple[str, ast.stmt]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append((prefix + child.name, child))
            found += _definitions(child, f"{prefix}{child.name}.")
        elif not isinstance(child, ast.expr):
            found += _definitions(child, prefix)
    return found


def span(target: SourceFile, text: str) -> Span:
    """The lines in which a variant's text differs from the target, as few as possible."""
    old = list(target.lines)
    new = list(SourceFile(target.path, text.encode("utf-8", "surrogatepass"), "utf-8").lines) if text else [""]
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    start = target.line_starts[min(head, len(old))]
    original = "".join(before)
    end_line, end_column = target.position(start + len(original))
    line, _ = target.position(start)
    first, last = target.byte_offset(start), target.byte_offset(start + len(original))
    return Span(first, last, line, end_line, end_column, original, "".join(after))


def compile_problem(target: SourceFile, text: str) -> str | None:
    """Why a variant's text does not compile, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, target.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return f"does not compile: {error.msg if isinstance(error, SyntaxError) else error}{line}"
    return None


def meaning(text: str) -> str | None:
    """The same for texts that differ in comments and layout only; None for one that does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
