"""Probes in the original program: what would a mutant make of the same operands? Weak mutation, in the literature.

A probe stands in place of an expression. It gets the operands, which the program evaluated as always, computes the
original's value with them and returns that. Beside it computes what mutants would give, where that runs no code but the
interpreter's own: operands of exact built-in types, of modest size. Nothing is called twice and nothing left out.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pytest_killmatrix.model import Formula, Site

UNARY: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Not": operator.not_, "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
}  # fmt: skip
BINARY: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitOr": operator.or_, "BitAnd": operator.and_, "BitXor": operator.xor,
    "MatMult": operator.matmul, "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda item, container: operator.contains(container, item),
    "NotIn": lambda item, container: not operator.contains(container, item),
}  # fmt: skip
_SCALARS: Final = frozenset({int, bool, float, complex, str, bytes, type(None)})
_BITS: Final = 4096  # of an integer
_LENGTH: Final = 10_000  # of a string or bytes, and of what a product makes
_ITEMS: Final = 40  # of a tuple whose items are looked at
_DEPTH: Final = 4  # of tuples in tuples
_POWER: Final = 64
_SHIFT: Final = 1024
_SAMPLES: Final = 3
_MOST: Final = 10_000  # comparisons of one site in one test
_TEXT: Final = 40  # characters of a value in a sample
_STARTS: Final = ("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "subprocess.Popen")

_CACHED: Final = type(functools.lru_cache(lambda: None))
_type_name: Final = type.__dict__["__name__"].__get__  # whatever a metaclass says
_type_mro: Final = type.__dict__["__mro__"].__get__
Sampled = tuple[str, str, str]


class _Unknown(Exception):
    """It cannot be told without running code that is not the interpreter's."""


class _Raised(NamedTuple):
    """The mutant raises here."""

    name: str


class _Tally:
    """What was seen of one mutant in one test."""

    __slots__ = ("evaluated", "infected", "samples", "unknown")

    def __init__(self) -> None:
        self.evaluated = self.infected = self.unknown = 0
        self.samples: list[Sampled] = []


class Probe:
    """What the placeholder of probed code becomes: called with a site's number and its operands."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = sites
        self._tallies: dict[int, _Tally] = {}
        self._compared = [0] * len(sites)
        self._defaults: dict[int, tuple[Any, Any]] = {}
        self._elsewhere = False

    def __call__(self, number: int, *values: Any) -> Any:
        site = self._sites[number]
        try:
            value = _compute(site.original, values)
        except BaseException:
            self._unknown(site)  # what the mutant does in its place, nobody sees
            raise
        try:
            self._look(number, site, values, value)
        except Exception:  # never the program's: only ours ran
            self._unknown(site)
        return value

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """A hook of the interpreter's: another process may evaluate what is not seen here."""
        if event in _STARTS:
            self._elsewhere = True

    def take(self) -> list[tuple[int, int, int, int, list[Sampled]]]:
        """What was seen since the last time, plain: mutant, times evaluated, infected and unknown, samples."""
        seen = [
            (mutant, tally.evaluated, tally.infected, tally.unknown + self._elsewhere, tally.samples)
            for mutant, tally in self._tallies.items()
        ]
        self._tallies = {}
        self._compared = [0] * len(self._sites)
        self._elsewhere = False
        return seen

    def _look(self, number: int, site: Site, values: tuple[Any, ...], value: Any) -> None:
        if site.dropped is not None:
            self._note_default(number, site.dropped, value)
            return
        self._compared[number] += 1
        if self._compared[number] > _MOST:
            self._unknown(site)
            return
        for mutant, formula in site.variants:
            tally = self._tally(mutant)
            tally.evaluated += 1
            if site.follows is None:
                self._compare(tally, site, formula, values, value)
            else:
                self._compare_default(tally, site.follows, value)

    def _compare(self, tally: _Tally, site: Site, formula: Formula, values: tuple[Any, ...], value: Any) -> None:
        if formula[0] == "open":
            tally.unknown += 1
            return
        tally.unknown -= formula[0] == "close"
        try:
            if site.effect is not None:
                value = _imagine(site.effect, values, value)
            mutated = _imagine(formula, values, value)
            same = _truth(value) is _truth(mutated) if site.decides else _same(value, mutated)
        except _Unknown:
            tally.unknown += 1
            return
        tally.infected += not same
        if not same and tally.infected == 1:
            tally.samples.clear()  # what shows the difference says more
        if len(tally.samples) < _SAMPLES and (not same or not tally.infected):
            sample = (_operands(site.names, values), _text(value), _text(mutated))
            if sample not in tally.samples:
                tally.samples.append(sample)

    def _compare_default(self, tally: _Tally, callee: int, value: Any) -> None:
        known = self._defaults.get(callee)
        if known is None:
            tally.unknown += 1
            return
        try:
            same = value is known[1] or _same(value, known[1])
        except _Unknown:
            tally.unknown += 1
            return
        tally.infected += not same
        if len(tally.samples) < _SAMPLES:
            sample = ("", _text(value), _text(known[1]))
            if sample not in tally.samples:
                tally.samples.append(sample)

    def _note_default(self, number: int, dropped: int | str, callee: Any) -> None:
        """Remember the callee's default; where callees differ, it cannot be told which one a call is of."""
        self._defaults.pop(number, None)
        found = default_of(callee, dropped)
        if found is not None:
            self._defaults[number] = (callee, found[0])

    def _unknown(self, site: Site) -> None:
        for mutant, _ in site.variants:
            self._tally(mutant).unknown += 1

    def _tally(self, mutant: int) -> _Tally:
        tally = self._tallies.get(mutant)
        if tally is None:
            tally = self._tallies[mutant] = _Tally()
        return tally


def default_of(callee: Any, parameter: int | str) -> tuple[Any] | None:
    """In a tuple, what the callee takes for a parameter that is not given; None where there is no default, or no way to
    know.
    """
    if type(callee) is _CACHED:
        callee = callee.__dict__.get("__wrapped__")  # which gets the same arguments
    kind, skipped = type(callee), 0
    if kind is types.MethodType:
        callee, skipped = callee.__func__, 1
    elif kind is type:
        callee, skipped = _initializer(callee), 1
    if type(callee) is types.FunctionType:
        return _default_of_function(callee, parameter, skipped)
    if type(callee) is types.BuiltinFunctionType:
        return _default_of_builtin(callee, parameter)
    return None


def _initializer(made: type) -> Any:
    """The ``__init__`` that a plain class's call comes to; None where ``__new__`` has a say."""
    for base in _type_mro(made):
        names = type.__dict__["__dict__"].__get__(base)
        if "__new__" in names and base is not object:
            return None
        if "__init__" in names:
            return names["__init__"]
    return None


def _default_of_function(function: types.FunctionType, parameter: int | str, skipped: int) -> tuple[Any] | None:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if isinstance(parameter, str):
        if parameter in keywords:
            given = function.__kwdefaults__ or {}
            return (given[parameter],) if parameter in given else None
        if parameter not in positional[code.co_posonlyargcount :]:
            return None
        place = positional.index(parameter)
    else:
        place = parameter + skipped
    defaults = function.__defaults__ or ()
    place -= len(positional) - len(defaults)
    return (defaults[place],) if 0 <= place < len(defaults) else None


def _default_of_builtin(function: types.BuiltinFunctionType, parameter: int | str) -> tuple[Any] | None:
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):
        return None
    if isinstance(parameter, str):
        found = parameters.get(parameter)
    else:
        known = list(parameters.values())
        found = known[parameter] if parameter < len(known) else None
    return None if found is None or found.default is found.empty else (found.default,)


def _compute(formula: Formula, values: Sequence[Any]) -> Any:
    """The original's value: the program's own operations, in its order."""
    kind: Any = formula[0]
    parts: Any = formula
    if kind == "x":
        return values[parts[1]]
    if kind == "c":
        return parts[1]
    if kind == "u":
        return UNARY[parts[1]](_compute(parts[2], values))
    left = _compute(parts[2], values)
    return BINARY[parts[1]](left, _compute(parts[3], values))


def _imagine(formula: Formula, values: Sequence[Any], value: Any) -> Any:
    """The mutant's value, or what it raises; ``_Unknown`` where that cannot be had safely."""
    kind: Any = formula[0]
    parts: Any = formula
    if kind == "x":
        return values[parts[1]]
    if kind == "c":
        return parts[1]
    if kind == "v":
        return value
    if kind == "close":
        return parts[1]
    if kind in ("and", "or"):
        result: Any = None
        for part in parts[1:]:
            result = _imagine(part, values, value)
            if isinstance(result, _Raised) or _truth(result) is (kind == "or"):
                return result
        return result
    operands = [_imagine(part, values, value) for part in parts[2:]]
    for operand in operands:
        if isinstance(operand, _Raised):
            return operand
    if kind == "b" and parts[1] in ("Is", "IsNot"):
        return BINARY[parts[1]](*operands)
    if not all(_is_safe(operand) for operand in operands) or not _is_modest(parts[1], operands):
        raise _Unknown
    try:
        return UNARY[parts[1]](*operands) if kind == "u" else BINARY[parts[1]](*operands)
    except Exception as error:
        return _Raised(type(error).__name__)


def _is_safe(value: Any, depth: int = 0) -> bool:
    """Whether no code but the interpreter's runs when the value is compared, computed with or shown."""
    kind = type(value)
    if kind in _SCALARS:
        if kind is int:
            return bool(value.bit_length() <= _BITS)
        return kind not in (str, bytes) or bool(len(value) <= _LENGTH)
    if kind is tuple:
        small: bool = len(value) <= _ITEMS and depth < _DEPTH
        return small and all(_is_safe(item, depth + 1) for item in value)
    return False


def _is_modest(operation: str, operands: Sequence[Any]) -> bool:
    """Whether the operation costs little time and memory."""
    if len(operands) == 1:
        return True
    left, right = operands
    if operation == "Pow":
        small = type(left) is not int or left.bit_length() <= _POWER
        return type(right) in (int, bool, float) and small and abs(right) <= _POWER
    if operation == "LShift":
        return type(right) is int and right <= _SHIFT
    if operation == "Mult":
        for one, other in ((left, right), (right, left)):
            if type(one) in (str, bytes, tuple) and type(other) in (int, bool):
                return bool(len(one) * max(int(other), 0) <= _LENGTH)
    return not (operation == "Mod" and type(left) in (str, bytes))


def _same(one: Any, other: Any) -> bool:
    """Whether they are of one type and equal; ``_Unknown`` where that cannot be had safely."""
    if isinstance(one, _Raised) or isinstance(other, _Raised):
        return False
    if one is other and type(one) is not float:
        return True
    if type(one) is not type(other):
        return False
    if not (_is_safe(one) and _is_safe(other)):
        raise _Unknown
    return _equal(one, other)


def _equal(one: Any, other: Any) -> bool:
    """Of safe values: ``1`` is not ``True``, ``0.0`` not ``-0.0``, and not a number is itself."""
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    if type(one) is float:
        if one != one:
            return bool(other != other)
        return bool(one == other and math.copysign(1, one) == math.copysign(1, other))
    if type(one) is complex:
        return _equal(one.real, other.real) and _equal(one.imag, other.imag)
    equal: bool = one == other
    return equal


def _truth(value: Any) -> bool | str:
    """The truth of a value; ``_Unknown`` where asking for it might run code. What raises is neither."""
    if isinstance(value, _Raised):
        return value.name
    if type(value) in _SCALARS or type(value) in (tuple, list, dict, set, frozenset):
        return bool(value)
    raise _Unknown


def _text(value: Any) -> str:
    """A value for people; of what is not safe to show, its type."""
    if isinstance(value, _Raised):
        return f"raises {value.name}"
    if not _is_safe(value):
        return f"<{_type_name(type(value))}>"
    text = repr(value)
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _operands(names: Sequence[str | None], values: Sequence[Any]) -> str:
    """Operands with their names, constants left out."""
    return ", ".join(f"{name}={_text(value)}" for name, value in zip(names, values, strict=True) if name is not None)
