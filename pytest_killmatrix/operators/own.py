"""The operators that mutmut's catalogue lacks.

``statement_deletion``
    SDL (Untch 2009; Delamaro, Offutt and Ammann 2014): a statement that is there for its effect becomes ``pass``.
``condition_negation``
    A condition becomes ``not (...)`` (negate conditionals; Offutt's "logical" class). Left out where mutmut's swap of
    an operator or removal of ``not`` is the same program.
``return_value``
    A returned value becomes ``None`` (PIT's null returns). ``True`` and ``False`` are left to mutmut.
``handler_body_emptied``
    The body of an ``except`` clause becomes ``pass``: the error is swallowed (EHD, Kim, Clark and McDermid 2000).
``loop_zero_times``
    A loop runs zero times (ZIL, Derezinska and Halas 2014).
``boundary``
    ROR. The operands of a relational operator are less, equal or greater; Kaminski, Ammann and Offutt (2011, "Better
    predicate testing") show that three replacements subsume all others, each changing the answer for one of the three.
    mutmut changes it for equal (``<`` to ``<=``). This one changes it on the side that lies beyond the boundary: ``<``
    and ``>`` become ``!=``, ``<=`` and ``>=`` become ``==``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from pytest_killmatrix.source import SourceFile

Edit = tuple[str, int, int, str]
"""Operator, start and end as indexes into the text, and the new text."""

_OTHER_BOUNDARY: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "!="),
    ast.Gt: (">", "!="),
    ast.LtE: ("<=", "=="),
    ast.GtE: (">=", "=="),
}
_SWAPPED_BY_MUTMUT = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_EFFECTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
_COMMENT = re.compile(r"#[^\r\n]*")


def edits(source: SourceFile, names: Container[str]) -> Iterator[Edit]:
    """Every change that the selected operators make to a file."""
    if not any(name in names for name in NAMES):
        return
    for node in ast.walk(source.tree):
        for operator in _BY_KIND.get(type(node), ()):
            name = operator.__name__.removeprefix("_")
            if name in names:
                for start, end, new in operator(source, node):
                    yield name, start, end, _apart(source.text, start, new)


Change = tuple[int, int, str]


def _statement_deletion(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Expr):
        deletable = isinstance(node.value, _EFFECTS)
    elif isinstance(node, ast.Assign):
        deletable = all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    elif isinstance(node, ast.AnnAssign):
        deletable = node.value is not None and isinstance(node.target, ast.Attribute | ast.Subscript)
    else:
        deletable = True
    if deletable:
        yield (*_span(source, node), "pass")


def _condition_negation(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    conditions: Sequence[ast.expr]
    if isinstance(node, ast.comprehension):
        conditions = node.ifs
    elif isinstance(node, ast.match_case):
        conditions = [node.guard] if node.guard else []
    else:
        assert isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert)
        conditions = [node.test]
    for condition in conditions:
        if not _negated_by_mutmut(condition):
            start, end = _span(source, condition)
            yield start, end, f"not ({source.text[start:end]})"


def _negated_by_mutmut(condition: ast.expr) -> bool:
    if isinstance(condition, ast.UnaryOp):
        return isinstance(condition.op, ast.Not)
    if isinstance(condition, ast.Compare):
        return len(condition.ops) == 1 and isinstance(condition.ops[0], _SWAPPED_BY_MUTMUT)
    return isinstance(condition, ast.Constant) and isinstance(condition.value, bool)


def _return_value(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    assert isinstance(node, ast.Return)
    value = node.value
    if value is None or (isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))):
        return
    yield (*_span(source, value), "None")


def _handler_body_emptied(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    assert isinstance(node, ast.ExceptHandler)
    if all(isinstance(item, ast.Pass) or _is_constant_expression(item) for item in node.body):
        return
    first = node.body[0]
    start = _span(source, first)[0]
    decorators: Sequence[ast.expr] = getattr(first, "decorator_list", ())
    if decorators:
        start = source.index_of_ast(decorators[0].lineno, first.col_offset)
    yield start, _span(source, node.body[-1])[1], "pass"


def _is_constant_expression(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _loop_zero_times(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.For):
        if not (isinstance(node.iter, ast.Tuple | ast.List) and not node.iter.elts):
            yield (*_span(source, node.iter), "()")
    elif isinstance(node, ast.While) and not (isinstance(node.test, ast.Constant) and not node.test.value):
        yield (*_span(source, node.test), "False")


def _boundary(source: SourceFile, node: ast.AST) -> Iterator[Change]:
    assert isinstance(node, ast.Compare)
    start, end = _span(source, node)
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, node.comparators, strict=False):
        if type(operator) in _OTHER_BOUNDARY:
            old, new = _OTHER_BOUNDARY[type(operator)]
            gap_start, gap_end = _span(source, left)[1], _span(source, right)[0]
            gap = _COMMENT.sub(lambda comment: " " * len(comment[0]), source.text[gap_start:gap_end])
            at = gap_start + gap.index(old)
            yield start, end, source.text[start:at] + new + source.text[at + len(old) : end]


_Operator = Callable[[SourceFile, ast.AST], Iterator[Change]]

_KINDS: Mapping[_Operator, tuple[type[ast.AST], ...]] = {
    _statement_deletion: (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Raise, ast.Assert, ast.Delete),
    _condition_negation: (ast.If, ast.While, ast.IfExp, ast.Assert, ast.comprehension, ast.match_case),
    _return_value: (ast.Return,),
    _handler_body_emptied: (ast.ExceptHandler,),
    _loop_zero_times: (ast.For, ast.While),
    _boundary: (ast.Compare,),
}

_BY_KIND: Mapping[type[ast.AST], Sequence[_Operator]] = {
    kind: [operator for operator, kinds in _KINDS.items() if kind in kinds]
    for kind in {kind for kinds in _KINDS.values() for kind in kinds}
}

NAMES: tuple[str, ...] = tuple(operator.__name__.removeprefix("_") for operator in _KINDS)


def _span(source: SourceFile, node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = source.index_of_ast(node.lineno, node.col_offset)
    return start, source.index_of_ast(node.end_lineno, node.end_col_offset)


def _apart(text: str, start: int, new: str) -> str:
    """The new text, with a space where it would run into a keyword (``return[x]``)."""
    before = text[start - 1 : start]
    return f" {new}" if (before.isalnum() or before == "_") and new[:1].isalpha() else new
