"""Where a probe can stand (``activation.probe``): from survivors to sites, and to original code with probes in it.

A site is the largest expression around the change that is made of operators only. Its operands are evaluated by the
program, in its own order: an expression grows only over what makes no difference to that order.
"""

from __future__ import annotations

import ast
import copy
import marshal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_killmatrix.activation import marking
from pytest_killmatrix.compiling import Compiler, _follow, _pairs, shape_of
from pytest_killmatrix.model import Formula, Mutant, Site, SwapCode
from pytest_killmatrix.places import Path, decides, in_message, is_simple, node_at, short, wrappable

_VALUE: Final = "value"
_OPERATORS: Final = (ast.BinOp, ast.UnaryOp, ast.Compare)
_DIFFER: Final = {
    frozenset({"Lt", "LtE"}): "{0} == {1}",
    frozenset({"Gt", "GtE"}): "{0} == {1}",
    frozenset({"Eq", "LtE"}): "{0} < {1}",
    frozenset({"Eq", "GtE"}): "{0} > {1}",
    frozenset({"NotEq", "Lt"}): "{0} > {1}",
    frozenset({"NotEq", "Gt"}): "{0} < {1}",
    frozenset({"Lt", "Gt"}): "{0} != {1}",
    frozenset({"LtE", "GtE"}): "{0} != {1}",
}
"""For which operands two comparisons differ; for the pairs that are not here, always."""


@dataclass(slots=True)
class Found:
    """A survivor's place in its unit: what is known of it without running anything."""

    in_message: bool = False
    differs: str | None = None


@dataclass(slots=True)
class _Place:
    """One expression that becomes a call of the probe: its operands below it, and the mutants that change it."""

    path: Path
    operands: tuple[Path, ...]
    original: Formula
    names: tuple[str | None, ...]
    decides: bool
    variants: list[tuple[int, Formula]] = field(default_factory=list)
    dropped: int | str | None = None
    follows: tuple[Path, str] | None = None
    target: str | None = None  # of an augmented assignment: the first operand, in the expression's place no operand
    effect: Formula | None = None

    def site(self, follows: int | None) -> Site:
        """What the probe has to know; ``follows`` is the number of the callee's site."""
        variants = tuple(self.variants)
        return Site(self.original, variants, self.names, self.decides, self.dropped, follows, self.effect)


class Prober(Compiler):
    """Collects one file's survivors, then gives sites and the original's code with calls of the probe."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._places: dict[tuple[int, ...], dict[tuple[Path, str], _Place]] = {}
        self._members: dict[tuple[int, ...], Mutant] = {}

    def look_at(self, index: int, mutant: Mutant, *, probed: bool) -> Found:
        """Take a survivor; with ``probed`` its value is to be watched, where that is possible."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            unit = self._unit(mutant)
            mutated = self._parse(unit.spliced(self._source, mutant), mutant)
        difference = marking.find_difference(unit.tree, mutated)
        if difference is None:
            return Found()
        path: Path = tuple((step.field, step.position) for step in difference.steps)
        found = Found(in_message(unit.tree, path))
        if probed and not found.in_message:
            places = self._places.setdefault(unit.key, {})
            self._members.setdefault(unit.key, mutant)
            found.differs = _add_places(places, index, unit.tree, mutated, path, difference.field)
        return found

    def sites(self, first: int) -> tuple[list[Site], list[SwapCode]]:
        """The sites, numbered from ``first``, and the code that calls them."""
        sites: list[Site] = []
        codes: list[SwapCode] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for key, places in self._places.items():
                if not places:
                    continue
                # what is inside goes first; in one place, what takes the expression apart before what takes it whole
                ordered = sorted(places, key=lambda place: (-len(place[0]), place[1] != _VALUE))
                numbers = {place: first + len(sites) + at for at, place in enumerate(ordered)}
                tree = copy.deepcopy(self._unit(self._members[key]).tree)
                for name in ordered:
                    place = places[name]
                    _put(tree, place, numbers[name])
                    sites.append(place.site(None if place.follows is None else numbers[place.follows]))
                codes += self._codes(key, tree)
        return sites, codes

    def _codes(self, key: tuple[int, ...], tree: ast.Module) -> Iterator[SwapCode]:
        unit = self._unit(self._members[key])
        code = self._compile(tree)
        for pair in _pairs(unit.code, code, unit.shape, shape_of(code)):
            probed = _follow(code, pair.path)
            fits = pair.original.co_freevars == pair.mutated.co_freevars and unit.occurrences[pair.original] == 1
            if probed is not None and fits:
                data = marshal.dumps(probed)
                line = pair.original.co_firstlineno
                yield SwapCode.of(pair.qualname, line, unit.marshalled(pair.original), data, data)


def _add_places(
    places: dict[tuple[Path, str], _Place],
    index: int,
    original: ast.Module,
    mutated: ast.Module,
    path: Path,
    field: str | None,
) -> str | None:
    """Add what the mutant needs to be watched; in words for which operands it differs, where that is known."""
    before, after = node_at(original, path), node_at(mutated, path)
    if isinstance(before, ast.boolop):
        _add_connective(places, index, original, path[:-1])
        return None
    if isinstance(before, ast.Call) and isinstance(after, ast.Call):
        _add_dropped(places, index, before, after, path, original)
        return None
    if isinstance(before, ast.operator | ast.unaryop | ast.cmpop):
        path = path[:-1]
        before, after = node_at(original, path), node_at(mutated, path)
    if isinstance(before, ast.AugAssign) and isinstance(after, ast.AugAssign | ast.Assign):
        _add_augmented(places, index, before, after, path, original)
        return None
    if not isinstance(before, ast.expr) or not isinstance(after, ast.expr):
        return None
    known = _comparison(before, after)
    path = _grown(original, path)
    before, after = node_at(original, path), node_at(mutated, path)
    if not isinstance(before, ast.expr) or not isinstance(after, ast.expr) or not wrappable(original, path):
        return None
    operands: list[tuple[Path, ast.expr]] = []
    formula = _formula(before, (), operands)
    variant = _variant(after, before, [node for _, node in operands])
    if variant is None:
        return None
    place = _Place(
        path,
        tuple(where for where, _ in operands),
        formula,
        tuple(None if isinstance(node, ast.Constant) else short(node) for _, node in operands),
        decides(original, path),
    )
    places.setdefault((path, _VALUE), place).variants.append((index, variant))
    return known


def _add_connective(places: dict[tuple[Path, str], _Place], index: int, original: ast.Module, path: Path) -> None:
    """``and`` became ``or``, or the other way, of two operands of which only the truth counts.

    The second operand is evaluated where the first does not settle the original; then it settles the mutant, which
    differs if the second has the other truth. Where the first settles the original, the mutant evaluates more.
    """
    node = node_at(original, path)
    if not isinstance(node, ast.BoolOp) or len(node.values) != 2 or not decides(original, path):
        return
    settled = isinstance(node.op, ast.And)  # what the mutant is where the second operand is evaluated
    variants: tuple[Formula, Formula] = (("open",), ("close", settled))
    for position, variant in enumerate(variants):
        operand = (*path, ("values", position))
        if not wrappable(original, operand):
            return
        place = _Place(operand, ((),), ("x", 0), (short(node.values[position]),), True)
        places.setdefault((operand, "connective"), place).variants.append((index, variant))


def _add_augmented(
    places: dict[tuple[Path, str], _Place],
    index: int,
    before: ast.AugAssign,
    after: ast.AugAssign | ast.Assign,
    path: Path,
    original: ast.Module,
) -> None:
    """The mutant gives another value to the target of an augmented assignment, which is a plain name: reading it twice
    runs no code.
    """
    value = (*path, ("value", None))
    target = after.target if isinstance(after, ast.AugAssign) else after.targets[0]
    same = isinstance(target, ast.Name) and isinstance(before.target, ast.Name) and target.id == before.target.id
    if not same or ast.dump(before.value) != ast.dump(after.value) or not wrappable(original, value):
        return
    assert isinstance(before.target, ast.Name)
    operands: tuple[Formula, Formula] = (("x", 0), ("x", 1))
    plain = isinstance(after, ast.Assign)
    variant = operands[1] if plain else ("b", type(after.op).__name__, *operands)  # type: ignore[union-attr]
    name = None if isinstance(before.value, ast.Constant) else short(before.value)
    place = _Place(value, ((),), operands[1], (before.target.id, name), False, target=before.target.id)
    place.effect = ("b", type(before.op).__name__, *operands)
    places.setdefault((value, "augmented"), place).variants.append((index, variant))


def _add_dropped(
    places: dict[tuple[Path, str], _Place],
    index: int,
    before: ast.Call,
    after: ast.Call,
    path: Path,
    original: ast.Module,
) -> None:
    """The mutant leaves an argument out: compare it with the callee's default."""
    dropped = _dropped(before, after)
    if dropped is None:
        return
    parameter, below = dropped
    callee, argument = (*path, ("func", None)), (*path, *below)
    name = parameter if isinstance(parameter, str) else str(parameter)
    if not wrappable(original, callee) or not wrappable(original, argument):
        return
    node = node_at(original, argument)
    assert isinstance(node, ast.expr)
    known = (callee, f"callee of {name}")
    places[known] = _Place(callee, ((),), ("x", 0), (None,), False, [], parameter)
    value = _Place(argument, ((),), ("x", 0), (short(node),), False, [(index, ("x", 0))], None, known)
    places[argument, "dropped"] = value


def _dropped(before: ast.Call, after: ast.Call) -> tuple[int | str, Path] | None:
    """The last positional argument or the keyword that is gone: its parameter, and where it is."""
    if ast.dump(before.func) != ast.dump(after.func) or any(isinstance(node, ast.Starred) for node in before.args):
        return None
    old, new = [ast.dump(node) for node in before.args], [ast.dump(node) for node in after.args]
    old_words, new_words = [ast.dump(node) for node in before.keywords], [ast.dump(node) for node in after.keywords]
    if old_words == new_words and old[:-1] == new and old:
        return len(new), (("args", len(new)),)
    if old == new and len(old_words) == len(new_words) + 1:
        gone = next((at for at, word in enumerate(old_words) if word not in new_words), None)
        keyword = before.keywords[gone] if gone is not None else None
        if gone is not None and keyword is not None and keyword.arg is not None:
            return keyword.arg, (("keywords", gone), ("value", None))
    return None


def _grown(tree: ast.Module, path: Path) -> Path:
    """The path to the largest expression of operators around one, whose operands keep their order of evaluation."""
    while len(path) > 0:
        parent, (name, _) = node_at(tree, path[:-1]), path[-1]
        if isinstance(parent, ast.UnaryOp):
            pass
        elif isinstance(parent, ast.BinOp):
            if name == "left" and not is_simple(parent.right):
                return path
        elif isinstance(parent, ast.Compare) and len(parent.ops) == 1:
            if name == "left" and not is_simple(parent.comparators[0]):
                return path
        else:
            return path
        path = path[:-1]
    return path


def _formula(node: ast.expr, path: Path, operands: list[tuple[Path, ast.expr]]) -> Formula:
    """The expression over its operands, which are added."""
    if isinstance(node, ast.UnaryOp):
        return "u", type(node.op).__name__, _formula(node.operand, (*path, ("operand", None)), operands)
    parts: tuple[ast.expr, ast.expr, Path] | None = None
    if isinstance(node, ast.BinOp):
        parts, name = (node.left, node.right, (*path, ("right", None))), type(node.op).__name__
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        parts, name = (node.left, node.comparators[0], (*path, ("comparators", 0))), type(node.ops[0]).__name__
    if parts is None:
        operands.append((path, node))
        return "x", len(operands) - 1
    left, right, right_path = parts
    left_path = (*path, ("left", None))
    if is_simple(right) or not isinstance(left, _OPERATORS):
        first = _formula(left, left_path, operands)
    else:  # its operations come before the right side is evaluated
        operands.append((left_path, left))
        first = "x", len(operands) - 1
    return "b", name, first, _formula(right, right_path, operands)


def _variant(node: ast.expr, original: ast.expr, operands: Sequence[ast.expr]) -> Formula | None:
    """A mutant's expression over the original's operands and value; None where it takes anything else."""
    texts = [ast.dump(operand) for operand in operands]
    whole = ast.dump(original)
    used = [False] * len(operands)

    def operand(text: str, pure: bool) -> Formula | None:
        places = [at for at, other in enumerate(texts) if other == text]
        free = next((at for at in places if not used[at]), places[-1] if places and pure else None)
        if free is None:
            return None
        used[free] = True
        return "x", free

    def walk(one: ast.expr) -> Formula | None:
        text = ast.dump(one)
        if text == whole:
            return ("v",)
        if isinstance(one, ast.Constant):
            return "c", one.value
        if (found := operand(text, isinstance(one, ast.Name))) is not None:
            return found
        if isinstance(one, ast.UnaryOp):
            inner = walk(one.operand)
            return None if inner is None else ("u", type(one.op).__name__, inner)
        if isinstance(one, ast.BinOp):
            sides, name = [walk(one.left), walk(one.right)], type(one.op).__name__
        elif isinstance(one, ast.Compare) and len(one.ops) == 1:
            sides, name = [walk(one.left), walk(one.comparators[0])], type(one.ops[0]).__name__
        elif isinstance(one, ast.BoolOp):
            parts = [walk(value) for value in one.values]
            return None if None in parts else ("and" if isinstance(one.op, ast.And) else "or", *parts)
        else:
            return None
        return None if None in sides else ("b", name, *sides)

    return walk(node)


def _comparison(before: ast.expr, after: ast.expr) -> str | None:
    """For which operands two comparisons of the same differ, in words."""
    if not (isinstance(before, ast.Compare) and isinstance(after, ast.Compare)):
        return None
    if len(before.ops) != 1 or len(after.ops) != 1:
        return None
    old, new = (before.left, before.comparators[0]), (after.left, after.comparators[0])
    if [ast.dump(node) for node in old] != [ast.dump(node) for node in new]:
        return None
    words = _DIFFER.get(frozenset({type(before.ops[0]).__name__, type(after.ops[0]).__name__}))
    return None if words is None else words.format(short(old[0]), short(old[1]))


def _put(tree: ast.Module, place: _Place, number: int) -> None:
    """Put the call of the probe in the expression's place (in place)."""
    target = node_at(tree, place.path)
    assert isinstance(target, ast.expr)
    operands = [node_at(target, path) for path in place.operands]
    if place.target is not None:
        operands.insert(0, ast.Name(place.target, ast.Load()))
    expressions = [operand for operand in operands if isinstance(operand, ast.expr)]
    assert len(expressions) == len(operands)
    call = ast.Call(ast.Constant(marking.PLACEHOLDER), [ast.Constant(number), *expressions], [])
    parent, (name, position) = node_at(tree, place.path[:-1]), place.path[-1]
    ast.copy_location(call, target)
    ast.fix_missing_locations(call)
    if position is None:
        setattr(parent, name, call)
    else:
        getattr(parent, name)[position] = call
