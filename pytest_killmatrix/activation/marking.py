"""Marks in a mutant: two stores that tell whether its function was entered and its mutated node evaluated.

A mark is a call of a constant (``PLACEHOLDER``) with an offset and 1; ``install`` puts a callable in its place, such as
the ``__setitem__`` of a shared memory map. It returns None, so that ``mark() or expression`` is the expression.
Marks add no names, scopes or line numbers. Where they go is found by comparing the two trees, never by positions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import NamedTuple, TypeVar

PLACEHOLDER = "\0killmatrix:mark\0"
ENTERED = 0
EVALUATED = 1

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Step(NamedTuple):
    """One step down a tree: the field, and the position in it where the field is a list."""

    parent: ast.AST
    field: str
    position: int | None


class Difference(NamedTuple):
    """The smallest place that holds all differences: the steps to it, and both nodes there.

    ``field`` names the one list in which the two nodes differ, ``position`` the first item that does.
    """

    steps: tuple[Step, ...]
    original: ast.AST
    mutated: ast.AST
    field: str | None = None
    position: int = 0


def mark(original: ast.Module, mutated: ast.Module) -> ast.Module:
    """The mutated tree with both marks put in (in place); as it is where the trees do not differ."""
    difference = find_difference(original, mutated)
    return mutated if difference is None else mark_at(mutated, difference)


def mark_at(mutated: ast.Module, difference: Difference) -> ast.Module:
    """``mark`` for a difference already found in the same tree."""
    # evaluated first: entered goes around it where they meet
    _mark_evaluated(difference)
    _mark_entered(mutated, difference)
    return mutated


def mark_whole(tree: ast.Module) -> ast.Module:
    """Another implementation of a whole module with both marks (in place): it begins, and it came to its end."""
    if not tree.body:
        tree.body = [ast.fix_missing_locations(ast.Expr(_call(offset))) for offset in (ENTERED, EVALUATED)]
        return tree
    index = _earliest(tree, "body")
    _insert(tree.body, len(tree.body), EVALUATED, tree.body[-1])
    _insert(tree.body, index, ENTERED, tree.body[min(index, len(tree.body) - 2)])
    return tree


def install(code: CodeType, mark: object, placeholder: str = PLACEHOLDER) -> CodeType:
    """The code with every placeholder, nested ones too, replaced by what marks: a callable, or what is written to."""
    constants = tuple(
        install(constant, mark, placeholder)
        if isinstance(constant, CodeType)
        else mark
        if isinstance(constant, str) and constant == placeholder
        else constant
        for constant in code.co_consts
    )
    if all(new is old for new, old in zip(constants, code.co_consts, strict=True)):
        return code
    return code.replace(co_consts=constants)


def free_variable_anchor(function: Function, names: Iterable[str]) -> None:
    """Keep ``names`` free variables of a function by code that never runs (in place)."""
    dead = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
    if isinstance(function, ast.Lambda):
        body = function.body
        function.body = _placed(ast.IfExp(ast.Constant(True), body, dead), body)
        return
    index = _after_docstring(function.body)
    anchor = function.body[min(index, len(function.body) - 1)]
    function.body.insert(index, _placed(ast.If(ast.Constant(False), [ast.Expr(dead)], []), anchor))


def find_difference(original: ast.AST, mutated: ast.AST) -> Difference | None:
    """The smallest place that holds everything in which two trees differ; None for equal trees."""
    found = _differ(original, mutated)
    return None if found is None else found._replace(steps=found.steps[::-1])


def _differ(original: ast.AST, mutated: ast.AST) -> Difference | None:
    """As ``find_difference``, with the steps from the bottom up."""
    kind = original.__class__
    if kind is not mutated.__class__:
        return Difference((), original, mutated)
    found: Difference | None = None
    before, after = original.__dict__, mutated.__dict__
    for name in kind._fields:
        old, new = before.get(name), after.get(name)
        if old is new:  # most leaves: names, contexts and operators are shared by all trees
            continue
        inner: Difference | None
        if old.__class__ is list and new.__class__ is list:
            if not old and not new:
                continue
            inner = _differ_in_list(original, mutated, name, old, new)
        elif isinstance(old, ast.AST) and isinstance(new, ast.AST):
            inner = _differ(old, new)
            if inner is not None:
                inner = inner._replace(steps=(*inner.steps, Step(mutated, name, None)))
        elif old.__class__ is new.__class__ and old == new:
            continue
        else:
            return Difference((), original, mutated)
        if inner is not None:
            if found is not None:
                return Difference((), original, mutated)
            found = inner
    return found


def _differ_in_list(
    original: ast.AST, mutated: ast.AST, name: str, old: Sequence[object], new: Sequence[object]
) -> Difference | None:
    found: Difference | None = None
    same_length = len(old) == len(new)
    for position, (left, right) in enumerate(zip(old, new, strict=False)):
        if left is right:
            continue
        if isinstance(left, ast.AST) and isinstance(right, ast.AST):
            inner = _differ(left, right)
        elif left == right:
            continue
        else:
            return Difference((), original, mutated, name, position)
        if inner is None:
            continue
        if not same_length:
            return Difference((), original, mutated, name, position)
        if found is not None:
            return Difference((), original, mutated, name, found.steps[-1].position or 0)
        found = inner._replace(steps=(*inner.steps, Step(mutated, name, position)))
    if not same_length:
        return Difference((), original, mutated, name, min(len(old), len(new)))
    return found


def _call(offset: int) -> ast.Call:
    return ast.Call(ast.Constant(PLACEHOLDER), [ast.Constant(offset), ast.Constant(1)], [])


_Node = TypeVar("_Node", bound=ast.AST)


def _placed(new: _Node, anchor: ast.AST) -> _Node:
    """The new node and those below it that have no position yet, at the anchor's position."""
    stack: list[ast.AST] = [new]
    while stack:
        node = stack.pop()
        if node is anchor or hasattr(node, "lineno"):
            continue
        if "lineno" in node._attributes:
            ast.copy_location(node, anchor)
        stack.extend(ast.iter_child_nodes(node))
    return new


def _wrap(step: Step, offset: int) -> None:
    """Put ``mark() or`` before the expression that a step leads to."""
    held = getattr(step.parent, step.field)
    expression = held if step.position is None else held[step.position]
    wrapped = _placed(ast.BoolOp(ast.Or(), [_call(offset), expression]), expression)
    if step.position is None:
        setattr(step.parent, step.field, wrapped)
    else:
        held[step.position] = wrapped


def _insert(body: list[ast.stmt], index: int, offset: int, anchor: ast.AST) -> None:
    body.insert(index, _placed(ast.Expr(_call(offset)), anchor))


def _mark_evaluated(difference: Difference) -> None:
    steps = difference.steps
    node = difference.mutated
    if difference.field is not None and _mark_in_list(difference):
        return
    step = _operand(steps, node)
    if step is not None:
        if may_wrap((*steps[:-1], step), getattr(step.parent, step.field)):
            _wrap(step, EVALUATED)
            return
        steps, node = steps[:-1], step.parent
    while steps:
        step = steps[-1]
        if isinstance(node, ast.expr) and may_wrap(steps, node):
            _wrap(step, EVALUATED)
            return
        if isinstance(node, ast.match_case):
            _insert_case(step, node)
            return
        if isinstance(node, ast.stmt) and step.position is not None:
            body = getattr(step.parent, step.field)
            _insert(body, max(step.position, _earliest(step.parent, step.field)), EVALUATED, node)
            return
        node, steps = step.parent, steps[:-1]
    if isinstance(node, ast.Module) and node.body:
        index = _earliest(node, "body")
        _insert(node.body, index, EVALUATED, node.body[min(index, len(node.body) - 1)])


def _mark_in_list(difference: Difference) -> bool:
    """Mark the first of several statements or cases that differ."""
    parent, field, index = difference.mutated, difference.field, difference.position
    assert field is not None
    items = getattr(parent, field)
    others = getattr(difference.original, field)
    if not isinstance((items or others)[0], ast.stmt | ast.match_case) or not items:
        return False
    if isinstance(items[0], ast.match_case):
        anchor = items[min(index, len(items) - 1)]
        _insert_case(Step(parent, field, index), anchor)
    else:
        index = max(index, _earliest(parent, field))
        _insert(items, index, EVALUATED, items[min(index, len(items) - 1)])
    return True


def _insert_case(step: Step, anchor: ast.match_case) -> None:
    """A case before the changed one whose guard is the mark: it runs when the cases before did not match."""
    pattern = ast.MatchAs(None, None)
    case = ast.match_case(pattern, _call(EVALUATED), [ast.Pass()])
    getattr(step.parent, step.field).insert(step.position, _placed(case, anchor.pattern))


def _operand(steps: Sequence[Step], node: ast.AST) -> Step | None:
    """For an operator: the step to the operand that is evaluated last before it."""
    if not steps or not isinstance(node, ast.operator | ast.unaryop | ast.cmpop):
        return None
    parent, _, position = steps[-1]
    if isinstance(parent, ast.BinOp):
        return Step(parent, "right", None)
    if isinstance(parent, ast.AugAssign):
        return Step(parent, "value", None)
    if isinstance(parent, ast.UnaryOp):
        return Step(parent, "operand", None)
    if isinstance(parent, ast.Compare):
        return Step(parent, "comparators", position)
    return None


_NEVER_WRAPPED = (ast.Starred, ast.Slice)
_ANNOTATIONS = frozenset({"annotation", "returns", "type_params", "type_ignores"})


def may_wrap(steps: Sequence[Step], node: object) -> bool:
    """Whether the expression at the end of the steps may become ``mark() or expression``."""
    if isinstance(node, list):
        node = node[steps[-1].position or 0]
    if isinstance(node, _NEVER_WRAPPED) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return False
    last = steps[-1]
    if last.field == "values" and isinstance(last.parent, ast.JoinedStr):
        return False
    if isinstance(last.parent, ast.Expr) and isinstance(node, ast.Constant):
        return False  # a docstring, or a statement that does nothing
    if type(last.parent).__name__ in {"TemplateStr", "Interpolation", "TypeAlias"}:
        return False
    if last.field == "format_spec" or (last.field == "target" and isinstance(last.parent, ast.NamedExpr)):
        return False
    for step in reversed(steps):
        if isinstance(step.parent, ast.pattern) or step.field in _ANNOTATIONS:
            return False
        if isinstance(step.parent, ast.stmt):
            break
    return True


def _after_docstring(body: Sequence[ast.stmt]) -> int:
    first = body[0] if body else None
    is_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return 1 if is_docstring else 0


def _earliest(parent: ast.AST, field: str) -> int:
    """The first index at which a statement may be put without changing what the others mean."""
    if field != "body" or not isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    index = _after_docstring(parent.body)
    if isinstance(parent, ast.Module):
        for at, statement in enumerate(parent.body):
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                index = at + 1
    return index


def _mark_entered(tree: ast.Module, difference: Difference) -> None:
    functions = enclosing_functions(difference)
    if functions and isinstance(functions[-1], ast.Lambda):
        _wrap(Step(functions[-1], "body", None), ENTERED)
        return
    owner = functions[-1] if functions else tree
    assert not isinstance(owner, ast.Lambda)
    if owner.body:
        index = _earliest(owner, "body")
        _insert(owner.body, index, ENTERED, owner.body[min(index, len(owner.body) - 1)])


def enclosing_functions(difference: Difference) -> list[Function]:
    """The functions whose bodies hold the difference, outermost first."""
    steps = difference.steps
    if difference.field is not None:
        steps = (*steps, Step(difference.mutated, difference.field, difference.position))
    return [
        step.parent
        for step in steps
        if step.field == "body" and isinstance(step.parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
