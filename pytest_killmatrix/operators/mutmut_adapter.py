"""mutmut's operators as text replacements.

Of mutmut only the list ``mutmut.mutation.mutators.mutation_operators`` is used; a contract test pins its shape. The
operators work on libcst nodes; here every mutated node becomes the text that replaces the original node's text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider
from libcst.metadata.span_provider import SpanProvidingCodegenState
from mutmut.mutation.mutators import mutation_operators

Span = tuple[int, int]
Edit = tuple[str, int, int, str]
"""Operator, start and end as indexes into the text, and the new text."""

_LONE_RETURN = re.compile(r"\r(?!\n)")
_LAYOUT = frozenset(
    {"leading_lines", "lines_after_decorators", "lpar", "rpar", "comma", "semicolon", "header", "footer"}
)
_ONLY_CRASHES_WITHOUT_ITS_ARGUMENTS = frozenset({"len", "isinstance"})


class LayoutError(Exception):
    """libcst cannot parse a text that Python can, or does not give it back unchanged."""


def operator_name(operator: Callable[..., object]) -> str:
    """The catalogue's name of one of mutmut's functions."""
    return operator.__name__.removeprefix("operator_")


NAMES: tuple[str, ...] = tuple(dict.fromkeys(operator_name(operator) for _, operator in mutation_operators))


def edits(text: str, names: Container[str]) -> Iterator[Edit]:
    """Every change that the selected operators of mutmut make to ``text``."""
    operators = [(kind, op, operator_name(op)) for kind, op in mutation_operators if operator_name(op) in names]
    if not operators:
        return
    lone_returns = _LONE_RETURN.search(text) is not None
    if lone_returns:  # libcst does not know this line end; the text keeps its length
        text = _LONE_RETURN.sub("\n", text)
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise LayoutError(f"libcst: {error.message} (line {error.raw_line})") from None
    except Exception as error:  # its own validation fails on text that Python takes, ``not(not f'')`` for one
        raise LayoutError(f"libcst: {type(error).__name__}: {error}") from None
    spans = _Spans.of(module)
    if "".join(spans.tokens) != text:
        raise LayoutError("libcst does not reproduce the file's text")

    @cache
    def applicable(kind: type) -> Sequence[tuple[Callable[[Any], Iterable[cst.CSTNode]], str]]:
        return [(op, name) for base, op, name in operators if issubclass(kind, base)]

    for node, indent in _walk(module, ""):
        for operator, name in applicable(type(node)):
            if name == "arg_removal" and _only_crashes(node):
                continue
            try:
                mutated_nodes = list(operator(node))
            except ValueError:  # a number too long for repr(): there is no literal to write
                continue
            for mutated in mutated_nodes:
                kept, changed = _keep_layout(node, mutated)
                if kept in spans.whole:
                    start, end, new = _narrow(text, spans, kept, _code(module, changed, indent))
                    yield name, start, end, new.replace("\n", "\r") if lone_returns else new


def _only_crashes(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in _ONLY_CRASHES_WITHOUT_ITS_ARGUMENTS
    )


class _Spans(SpanProvidingCodegenState):
    """Where every node's text is: with all that the node owns (``whole``), and the part Python calls its position."""

    whole: dict[cst.CSTNode, Span]
    syntactic: dict[cst.CSTNode, Span]

    @classmethod
    def of(cls, module: cst.Module) -> _Spans:
        state = cls(module.default_indent, module.default_newline, provider=ByteSpanPositionProvider())
        state.whole = {}
        state.syntactic = {}
        module._codegen(state)
        return state

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.position += len(value)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.whole[node] = (self._stack.pop(), self.position)

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self.position
        yield
        end = self.position
        if start_node is not None:
            start = self.inner(start_node)[0]
        if end_node is not None:
            end = self.inner(end_node)[1]
        self.syntactic[node] = (start, end)

    def inner(self, node: cst.CSTNode) -> Span:
        """A node's position; all of its text where libcst records none."""
        return self.syntactic.get(node) or self.whole[node]


@cache
def _child_fields(kind: type[cst.CSTNode]) -> Sequence[str]:
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in _LAYOUT and not field.name.startswith("whitespace")
    ]


def _walk(node: cst.CSTNode, indent: str, default_indent: str = "    ") -> Iterator[tuple[cst.CSTNode, str]]:
    """Nodes in source order, each with the indentation its lines start with; whitespace and brackets are left out."""
    if isinstance(node, cst.Module):
        default_indent = node.default_indent
    stack: list[tuple[cst.CSTNode, str]] = [(node, indent)]
    while stack:
        node, indent = stack.pop()
        yield node, indent
        if isinstance(node, cst.IndentedBlock | cst.Match):
            indent += default_indent if node.indent is None else node.indent
        children: list[tuple[cst.CSTNode, str]] = []
        for name in _child_fields(type(node)):
            value = getattr(node, name)
            if isinstance(value, cst.CSTNode):
                children.append((value, indent))
            elif isinstance(value, (list, tuple)):
                children.extend((child, indent) for child in value if isinstance(child, cst.CSTNode))
        stack.extend(reversed(children))


def _keep_layout(node: cst.CSTNode, mutated: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode]:
    """The pair to exchange, with the line breaks and semicolons that mutmut's new nodes lack.

    A lambda of which only the body changed is narrowed to the body: it runs elsewhere than the lambda expression.
    """
    if isinstance(node, cst.Lambda) and isinstance(mutated, cst.Lambda):
        return node.body, mutated.body
    if isinstance(node, cst.BaseSmallStatement) and isinstance(mutated, cst.BaseSmallStatement):
        mutated = mutated.with_changes(semicolon=getattr(node, "semicolon", cst.MaybeSentinel.DEFAULT))
    if isinstance(node, cst.AugAssign) and isinstance(mutated, cst.Assign):
        target = mutated.targets[0].with_changes(
            whitespace_before_equal=getattr(node.operator, "whitespace_before", cst.SimpleWhitespace(" ")),
            whitespace_after_equal=getattr(node.operator, "whitespace_after", cst.SimpleWhitespace(" ")),
        )
        return node, mutated.with_changes(targets=[target, *mutated.targets[1:]])
    old, new = getattr(node, "operator", None), getattr(mutated, "operator", None)
    if isinstance(old, cst.CSTNode) and isinstance(new, cst.CSTNode) and old is not new:
        try:
            return node, mutated.with_changes(operator=_with_whitespace_of(old, new))
        except cst.CSTValidationError:  # ``(a)and(b)``: libcst wants spaces
            return node, mutated
    if isinstance(node, cst.BaseCompOp):
        return node, _with_whitespace_of(node, mutated)
    return node, mutated


def _with_whitespace_of(old: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode:
    names = ("whitespace_before", "whitespace_after")
    return new.with_changes(**{name: getattr(old, name) for name in names if hasattr(old, name) and hasattr(new, name)})


def _code(module: cst.Module, node: cst.CSTNode, indent: str) -> str:
    """A node's text as it is at that indentation, which its continuation lines repeat."""
    state = _Text(module.default_indent, module.default_newline, ByteSpanPositionProvider(), indent_tokens=[indent])
    node._codegen(state)
    return "".join(state.tokens)


class _Text(SpanProvidingCodegenState):
    """Text only, no spans."""

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        pass

    def after_codegen(self, node: cst.CSTNode) -> None:
        pass

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        yield


def _narrow(text: str, spans: _Spans, node: cst.CSTNode, new: str) -> tuple[int, int, str]:
    """The smallest honest span: without the parentheses, comments and whitespace that both texts share."""
    start, end = spans.whole[node]
    inner_start, inner_end = spans.inner(node)
    if end > len(text):  # libcst counts a line end that the file's last line does not have
        end, inner_end, new = len(text), min(inner_end, len(text)), new.removesuffix("\n").removesuffix("\r")
    prefix, suffix = text[start:inner_start], text[inner_end:end]
    shared = new.startswith(prefix) and new.endswith(suffix) and len(new) >= len(prefix) + len(suffix)
    if shared and not ("(" in prefix and isinstance(node, cst.BaseExpression) and not _balanced(new, prefix, suffix)):
        start, end, new = inner_start, inner_end, new[len(prefix) : len(new) - len(suffix)]
    elif isinstance(node, cst.BaseStatement) and new.startswith(prefix):  # blank lines and comments before it
        start, new = inner_start, new[len(prefix) :]
        end, new = start + len(text[start:end].rstrip()), new.rstrip()
    while start < end and new and text[start] == new[0] and text[start] in " \t":
        start, new = start + 1, new[1:]
    while start < end and new and text[end - 1] == new[-1] and text[end - 1] in " \t":
        end, new = end - 1, new[:-1]
    return start, end, new


def _balanced(new: str, prefix: str, suffix: str) -> bool:
    """Whether the parentheses at both ends of the new text belong together (``(a)``, not ``(a) + (b)``)."""
    depth = 0
    for character in new[len(prefix) : len(new) - len(suffix)]:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return True
