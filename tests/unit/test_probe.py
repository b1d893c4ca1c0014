"""Probes: the program does what it did, and what is said of the mutant is true or not said."""

from __future__ import annotations

import functools
import marshal
import math
import operator
import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_killmatrix.activation import marking
from pytest_killmatrix.activation.probe import Probe, default_of
from pytest_killmatrix.model import Mutant, Site
from pytest_killmatrix.probing import Prober
from pytest_killmatrix.source import SourceFile


def mutant_of(source: str, before: str, after: str, number: int = 0) -> Mutant:
    """The mutant that puts ``after`` where ``before``, which occurs once, is."""
    assert source.count(before) == 1, before
    start = source.index(before)
    line = source[:start].count("\n") + 1
    column = start - (source.rfind("\n", 0, start) + 1)
    end = start + len(before)
    end_line = source[:end].count("\n") + 1
    return Mutant(
        f"code.py::f::case::{number}", "code.py", line, column, end_line, end - (source.rfind("\n", 0, end) + 1), "f",
        "case", before, after, start, end, False, False, line, end_line,
    )  # fmt: skip


class Watched:
    """A module under probes."""

    def __init__(self, source: str, changes: list[tuple[str, str]]) -> None:
        file = SourceFile("code.py", source.encode())
        prober = Prober(file, "code.py")
        self.found = [
            prober.look_at(number, mutant_of(source, before, after, number), probed=True)
            for number, (before, after) in enumerate(changes)
        ]
        self.sites, self.codes = prober.sites(0)
        self.probe = Probe(self.sites)
        self.names: dict[str, Any] = {}
        exec(compile(source, "code.py", "exec", dont_inherit=True), self.names)
        self._swap()

    def _swap(self) -> None:
        for swap in self.codes:
            original = marshal.loads(swap.original)
            for function in self.names.values():  # what is nested is in their constants
                if type(function) is types.FunctionType and function.__code__ == original:
                    function.__code__ = marking.install(marshal.loads(swap.plain), self.probe)

    def call(self, name: str, *arguments: Any) -> Any:
        return self.names[name](*arguments)

    def seen(self) -> dict[int, tuple[int, int, int]]:
        """Of each mutant: evaluated, infected, unknown."""
        return {mutant: tuple(counts) for mutant, *counts, _ in self.probe.take()}  # type: ignore[misc]


def watch(expression: str, after: str, *, arguments: str = "a, b") -> Watched:
    return Watched(f"def f({arguments}):\n    return {expression}\n", [(expression, after)])


@pytest.mark.parametrize(
    ("expression", "after", "values", "expected"),
    [
        ("a < b", "a <= b", (1, 2), (1, 0, 0)),
        ("a < b", "a <= b", (2, 2), (1, 1, 0)),
        ("a < b", "a <= b", (float("nan"), 1.0), (1, 0, 0)),
        ("a + b", "a - b", (3, 0), (1, 0, 0)),
        ("a + b", "a - b", ("x", "y"), (1, 1, 0)),
        ("a // b", "a / b", (4, 2), (1, 1, 0)),
        ("a * b", "a ** b", (10**30, 10**30), (1, 0, 1)),
        ("a * b", "a << b", (1, 10**9), (1, 0, 1)),
        ("a + b", "a * b", (2, 2), (1, 0, 0)),
        ("a % b", "a // b", (5, 7), (1, 1, 0)),
        ("a is b", "a is not b", ([], []), (1, 1, 0)),
        ("a in b", "a not in b", (1, (1, 2)), (1, 1, 0)),
        ("not a", "a", (True, 0), (1, 1, 0)),
        ("-a", "+a", (0, 0), (1, 0, 0)),
        ("-a", "+a", (0.0, 0), (1, 1, 0)),
        ("a < b", "a <= b", ([1], [1]), (1, 0, 1)),
        ("a == b", "a != b", ((1, ("x", None)), (1, ("x", None))), (1, 1, 0)),
        ("a == b", "a is b", ((1, 2.5), (1, 2.5)), (1, 1, 0)),
    ],
)  # fmt: skip
def test_what_is_seen(expression: str, after: str, values: tuple[Any, ...], expected: tuple[int, int, int]) -> None:
    watched = watch(expression, after)
    plain = eval(expression, {}, dict(zip("ab", values, strict=True)))
    got = watched.call("f", *values)
    assert got is plain or got == plain or (isinstance(plain, float) and math.isnan(plain))
    if (expression, after) == ("a == b", "a is b"):  # what is identical depends on the interpreter
        assert watched.seen()[0][0] == 1
    else:
        assert watched.seen() == {0: expected}


def test_the_condition_of_a_statement_differs_only_in_truth() -> None:
    watched = Watched("def f(a):\n    if a:\n        return 1\n    return 2\n", [("a:", "True:")])
    assert watched.call("f", 5) == 1
    assert watched.seen() == {0: (1, 0, 0)}
    assert watched.call("f", "") == 2
    assert watched.seen() == {0: (1, 1, 0)}


def test_an_exception_of_the_mutant_is_a_difference() -> None:
    watched = watch("a * b", "a / b")
    assert watched.call("f", 3, 0) == 0
    (_, _, infected, _, samples), = watched.probe.take()  # fmt: skip
    assert infected == 1
    assert samples == [("a=3, b=0", "0", "raises ZeroDivisionError")]


def test_an_exception_of_the_original_stays_what_it_is() -> None:
    watched = watch("a / b", "a * b")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        watched.call("f", 1, 0)
    assert watched.seen() == {0: (0, 0, 1)}


def test_a_constant_is_compared_where_it_makes_a_difference() -> None:
    source = "def f(a, n):\n    return (a * n + 50) // 100\n"
    watched = Watched(source, [("50", "51")])
    assert watched.call("f", 10, 5) == 1
    assert watched.seen() == {0: (1, 0, 0)}
    assert watched.call("f", 7, 7) == 0
    assert watched.seen() == {0: (1, 1, 0)}  # 49 + 50 is 99, and 49 + 51 is 100


def test_nested_sites_and_several_mutants_of_one_expression() -> None:
    source = "def f(a, b, g):\n    return g(a < b) + (a + 1)\n"
    watched = Watched(source, [("a < b", "a <= b"), ("a + 1", "a - 1"), ("<", ">")])
    calls: list[bool] = []

    def g(value: bool) -> int:
        calls.append(value)
        return 10

    assert watched.call("f", 2, 2, g) == 13
    assert calls == [False]
    assert watched.seen() == {0: (1, 1, 0), 1: (1, 1, 0), 2: (1, 0, 0)}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("a < b", "a <= b", "a == b"),
        ("a >= b", "a > b", "a == b"),
        ("a == b", "a >= b", "a > b"),
        ("a != b", "a > b", "a < b"),
        ("a < b", "a >= b", None),
        ("a < b", "b < a", None),
        ("a + b", "a - b", None),
    ],
)
def test_for_which_operands_comparisons_differ(before: str, after: str, words: str | None) -> None:
    assert watch(before, after).found[0].differs == words


class Hostile:
    """Everything it is asked for is noted; much of it fails."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def _note(self, what: str) -> None:
        self.log.append(f"{self.name}.{what}")

    def __lt__(self, other: object) -> bool:
        self._note("lt")
        return True

    def __add__(self, other: object) -> Hostile:
        self._note("add")
        return self

    def __eq__(self, other: object) -> bool:
        self._note("eq")
        raise RuntimeError("never compare me")

    def __bool__(self) -> bool:
        self._note("bool")
        return True

    def __repr__(self) -> str:
        self._note("repr")
        raise RuntimeError("never show me")

    __hash__ = None  # type: ignore[assignment]

    @property
    def part(self) -> Hostile:
        self._note("part")
        return self


class Subclass(int):
    """An int whose operators are somebody's code."""

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("never compare me")

    def __sub__(self, other: object) -> int:
        raise RuntimeError("never compute with me")


PROGRAM = """\
def f(a, b, g):
    x = a.part < b.part
    y = g(a) + g(b)
    if a.part:
        z = not b
    return (x, z, y is b.part)
"""


def test_no_call_is_skipped_or_repeated() -> None:
    changes = [
        ("a.part < b.part", "a.part <= b.part"), ("g(a) + g(b)", "g(a) - g(b)"), ("if a.part", "if True"),
        ("not b", "b"), ("y is b.part", "y is not b.part"),
    ]  # fmt: skip
    logs: list[list[str]] = []
    for probed in (False, True):
        log: list[str] = []
        one, other = Hostile(log, "a"), Hostile(log, "b")
        names: dict[str, Any] = {}
        exec(PROGRAM, names)
        function = Watched(PROGRAM, changes).names["f"] if probed else names["f"]

        def g(value: Hostile, log: list[str] = log) -> Hostile:
            log.append(f"g({value.name})")
            return value

        assert function(one, other, g) == (True, False, False)
        logs.append(log)
    assert logs[0] == logs[1]


def test_of_other_types_nothing_is_said() -> None:
    watched = watch("a - b", "a + b")
    with pytest.raises(RuntimeError, match="never compute with me"):
        watched.call("f", Subclass(1), 2)
    watched = watch("a > b", "a < b")
    assert watched.call("f", Subclass(1), 2) is False
    assert watched.seen() == {0: (1, 0, 1)}


def test_another_process_may_see_what_we_do_not() -> None:
    watched = watch("a < b", "a <= b")
    watched.probe.audit("subprocess.Popen", ())
    watched.call("f", 1, 2)
    assert watched.seen() == {0: (1, 0, 1)}
    watched.call("f", 1, 2)
    assert watched.seen() == {0: (1, 0, 0)}


def test_a_hot_loop_is_not_watched_for_ever() -> None:
    source = "def f(n):\n    for i in range(n):\n        i < n\n"
    watched = Watched(source, [("i < n", "i <= n")])
    watched.call("f", 20_000)
    evaluated, infected, unknown = watched.seen()[0]
    assert evaluated == 10_000
    assert infected == 0
    assert unknown == 10_000


SMALL = st.one_of(st.integers(-5, 5), st.booleans(), st.floats(-3, 3), st.sampled_from(["", "ab"]), st.none())
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "==": operator.eq}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["a", "b", "c()", "d()", "1", "2"]))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    return f"({left} {draw(st.sampled_from(sorted(OPERATORS)))} {right})"


@given(expressions(), SMALL, SMALL, SMALL, SMALL, st.data())
@settings(deadline=None)
def test_programs_are_what_they_were_and_verdicts_are_true(
    text: str, a: object, b: object, c: object, d: object, data: st.DataObject
) -> None:
    places = [at for at, char in enumerate(text) if char in "+-*"]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([sign for sign in "+-*" if sign != text[place]]))
    line = f"    return {text}"
    mutated = text[:place] + other + text[place + 1 :]
    source = f"def f(a, b, c, d):\n{line}\n"
    outcomes, logs = [], []
    watched: Watched | None = None
    for code in (text, mutated, None):
        log: list[str] = []

        def called(name: str, value: object, log: list[str] = log) -> Any:
            return lambda: (log.append(name), value)[1]

        if code is None:
            start = len("def f(a, b, c, d):\n    return ") + place
            column = start - len("def f(a, b, c, d):\n")
            mutant = Mutant("k", "code.py", 2, column, 2, column + 1, "f", "o", text[place], other, start, start + 1,
                            False, False, 2, 2)  # fmt: skip
            prober = Prober(SourceFile("code.py", source.encode()), "code.py")
            prober.look_at(0, mutant, probed=True)
            sites, codes = prober.sites(0)
            watched = Watched.__new__(Watched)
            watched.sites, watched.codes, watched.probe, watched.names = sites, codes, Probe(sites), {}
            exec(compile(source, "code.py", "exec", dont_inherit=True), watched.names)
            watched._swap()
            function = watched.names["f"]
        else:
            names: dict[str, Any] = {}
            exec(f"def f(a, b, c, d):\n    return {code}\n", names)
            function = names["f"]
        try:
            outcomes.append(repr(function(a, b, called("c", c), called("d", d))))
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}")
        logs.append(log)
    assert outcomes[0] == outcomes[2]
    assert logs[0] == logs[2]
    assert watched is not None
    for evaluated, infected, unknown in watched.seen().values():
        if evaluated and not infected and not unknown:
            assert outcomes[1] == outcomes[0]  # what is not infected cannot be told apart


SWAPS = {
    " + ": " - ", " - ": " * ", " * ": " + ", " < ": " <= ", " == ": " < ", " and ": " or ", " or ": " and ",
    " += ": " -= ", "if ": "if not ", " 1": " 2",
}  # fmt: skip


@st.composite
def functions(draw: st.DrawFn) -> str:
    """The body of a function of a, b, c() and d(), with conditions and augmented assignments."""
    lines = ["    x = a"]
    for _ in range(draw(st.integers(1, 4))):
        value = draw(expressions(2))
        condition = f"{draw(expressions(1))} {draw(st.sampled_from(['<', '==']))} {draw(expressions(1))}"
        if draw(st.booleans()):
            condition = f"{condition} {draw(st.sampled_from(['and', 'or']))} {draw(expressions(1))} < b"
        lines.append(
            draw(
                st.sampled_from([f"    x = {value}", f"    x += {value}", f"    if {condition}:\n        x = {value}"])
            )
        )
    return "\n".join([*lines, "    return x"])


def outcome(function: Any, a: object, b: object, c: object, d: object) -> tuple[str, list[str]]:
    """What a call comes to, and the calls that it makes."""
    log: list[str] = []

    def called(name: str, value: object) -> Any:
        return lambda: (log.append(name), value)[1]

    try:
        return repr(function(a, b, called("c", c), called("d", d))), log
    except Exception as error:
        return f"{type(error).__name__}: {error}", log


def compiled(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "code.py", "exec", dont_inherit=True), names)
    return names["f"]


@given(functions(), SMALL, SMALL, SMALL, SMALL)
@settings(max_examples=200, deadline=None)
def test_many_mutants_at_once(body: str, a: object, b: object, c: object, d: object) -> None:
    source = f"def f(a, b, c, d):\n{body}\n"
    mutants, changed = [], []
    for sign, other in SWAPS.items():
        start = source.find(sign, len("def f(a, b, c, d):"))
        while start >= 0:
            line = source[:start].count("\n") + 1
            column = start - (source.rfind("\n", 0, start) + 1)
            mutants.append(Mutant(
                str(len(mutants)), "code.py", line, column, line, column + len(sign), "f", "o", sign, other, start,
                start + len(sign), False, False, line, line,
            ))  # fmt: skip
            changed.append(source[:start] + other + source[start + len(sign) :])
            start = source.find(sign, start + 1)
    prober = Prober(SourceFile("code.py", source.encode()), "code.py")
    for number, mutant in enumerate(mutants):
        prober.look_at(number, mutant, probed=True)
    sites, codes = prober.sites(0)
    probe, function = Probe(sites), compiled(source)
    for swap in codes:
        function.__code__ = marking.install(marshal.loads(swap.plain), probe)
    plain = outcome(compiled(source), a, b, c, d)
    assert outcome(function, a, b, c, d) == plain
    for number, evaluated, infected, unknown, _ in probe.take():
        if evaluated and not infected and not unknown:
            assert outcome(compiled(changed[number]), a, b, c, d)[0] == plain[0], mutants[number]


def plain(a: int, b: int = 2, *, c: str = "x") -> None: ...


cached = functools.lru_cache(plain)


class Made:
    def __init__(self, a: int, b: int = 3) -> None: ...

    def method(self, a: int, b: int = 4) -> None: ...


class Odd(Made):
    def __new__(cls, *arguments: object) -> Odd:
        return super().__new__(cls)


@pytest.mark.parametrize(
    ("callee", "parameter", "default"),
    [
        (plain, 1, (2,)), (plain, "b", (2,)), (plain, "c", ("x",)), (plain, 0, None), (plain, "z", None),
        (plain, 7, None),
        (Made, 1, (3,)), (Made, "b", (3,)), (Made(1).method, 1, (4,)), (Made(1).method, "a", None), (Odd, 1, None),
        (cached, "b", (2,)), (sorted, "reverse", (False,)), ("a b".split, 0, (None,)), (len, 0, None),
        (Hostile([], "x"), 0, None),
    ],
)  # fmt: skip
def test_the_default_of_a_parameter(callee: Any, parameter: int | str, default: tuple[Any] | None) -> None:
    assert default_of(callee, parameter) == default


@pytest.mark.parametrize(
    ("call", "after", "infected"),
    [("g(a, 2)", "g(a)", 0), ("g(a, b=2)", "g(a)", 0), ("g(a, b=a)", "g(a)", 1), ("g(a, c=None)", "g(a)", 0)],
)
def test_a_dropped_argument_is_compared_with_the_default(call: str, after: str, infected: int) -> None:
    watched = Watched(f"def g(a, b=2, c=None):\n    return a\n\n\ndef f(a):\n    return {call}\n", [(call, after)])
    assert watched.call("f", 7) == 7
    assert watched.seen() == {0: (1, infected, 0)}
    assert {site.follows for site in watched.sites} - {None}


@pytest.mark.parametrize(
    ("line", "before", "after", "inside"),
    [
        ("raise ValueError(f'{a} is bad')", "f'{a} is bad'", "None", True),
        ("raise ValueError('x' + a)", "+", "-", True),
        ("raise ValueError('x')", "ValueError('x')", "KeyError('x')", False),
        ("assert a, 'x' + a", "'x' + a", "None", True),
        ("assert a > 1, 'x'", ">", ">=", False),
        ("warnings.warn('old', stacklevel=2)", "'old'", "None", True),
        ("warnings.warn('old', stacklevel=2)", "2", "3", False),
        ("warn(message='old')", "'old'", "None", True),
        ("return a + 1", "+", "-", False),
    ],
)
def test_what_is_inside_a_message(line: str, before: str, after: str, inside: bool) -> None:
    assert Watched(f"def f(a):\n    {line}\n", [(before, after)]).found[0].in_message is inside


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("    def g():\n        return a < b\n    return g()", "a < b", "a <= b"),
        ("    return [x for x in (1, 2) if x < b]", "x < b", "x <= b"),
        ("    return (lambda: a < b)()", "a < b", "a <= b"),
        ("    return f'{a < b}'", "a < b", "a <= b"),
        ("    return a < b if a else b", "a < b", "a <= b"),
        ("    match a:\n        case 1 if a < b:\n            return True\n    return False", "a < b", "a <= b"),
        ("    return (lambda *, k=a + b: k)()", "a + b", "a - b"),
    ],
)
def test_wherever_an_expression_stands(body: str, before: str, after: str) -> None:
    watched = Watched(f"def f(a, b):\n{body}\n", [(before, after)])
    names: dict[str, Any] = {}
    exec(f"def f(a, b):\n{body}\n", names)
    assert watched.call("f", 1, 2) == names["f"](1, 2)
    assert watched.seen()[0][0] >= 1


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("    g = [a]\n    g[0] += b\n    return g", "g[0] += b", "g[0] = b"),
        ("    return a and b", "and", "or"),
        ("    g = a\n    return g", "g = a", "pass; g = 1"),
        ("    return 1 < a < b", "1 < a < b", "1 < a <= b"),
    ],
)
def test_where_nothing_can_be_told_the_program_is_left_alone(body: str, before: str, after: str) -> None:
    watched = Watched(f"def f(a, b):\n{body}\n", [(before, after)])
    assert watched.call("f", 1, 2) is not None
    assert all(not infected for _, infected, _ in watched.seen().values())


@pytest.mark.parametrize(
    ("change", "values", "seen"),
    [
        ("a -= b", (1, 0), (1, 0, 0)),
        ("a -= b", (1, 2), (1, 1, 0)),
        ("a = b", (0, 5), (1, 0, 0)),
        ("a = b", (1, 5), (1, 1, 0)),
        ("a *= b", (2, 2), (1, 0, 0)),
        ("a -= b", ([1], [2]), (1, 0, 1)),
    ],
)
def test_an_augmented_assignment_of_a_name(change: str, values: tuple[Any, Any], seen: tuple[int, int, int]) -> None:
    watched = Watched("def f(a, b):\n    a += b\n    return a\n", [("a += b", change)])
    expected = values[0] + values[1]
    got = watched.call("f", *values)
    assert got == expected
    assert not isinstance(got, list) or got is values[0]  # in place, as ever
    assert watched.seen() == {0: seen}


@pytest.mark.parametrize(
    ("text", "after", "values", "seen"),
    [
        ("a and b", "a or b", (1, 1), (2, 0, 0)),
        ("a and b", "a or b", (1, 0), (2, 1, 0)),
        ("a and b", "a or b", (0, 1), (1, 0, 1)),  # what b would be, nobody asked
        ("a or b", "a and b", (0, 0), (2, 0, 0)),
        ("a or b", "a and b", (0, 1), (2, 1, 0)),
        ("a or b", "a and b", (1, 0), (1, 0, 1)),
        ("not (a and b)", "not (a or b)", (1, 0), (2, 1, 0)),
    ],
)
def test_and_and_or_in_a_condition(text: str, after: str, values: tuple[int, int], seen: tuple[int, int, int]) -> None:
    watched = Watched(f"def f(a, b):\n    if {text}:\n        return 1\n    return 2\n", [(text, after)])
    expected = 1 if eval(text, {}, dict(zip("ab", values, strict=True))) else 2
    assert watched.call("f", *values) == expected
    assert watched.seen() == {0: seen}


@given(st.tuples(*(st.sampled_from([0, 1, "", "x", None]) for _ in range(2))), st.booleans())
@settings(deadline=None)
def test_what_is_said_of_connectives_is_true(values: tuple[object, object], conjunction: bool) -> None:
    text, after = ("a and b", "a or b") if conjunction else ("a or b", "a and b")
    watched = Watched(f"def f(a, b):\n    if {text}:\n        return 1\n    return 2\n", [(text, after)])
    names = dict(zip("ab", values, strict=True))
    assert watched.call("f", *values) == (1 if eval(text, {}, names) else 2)
    differs = bool(eval(text, {}, names)) is not bool(eval(after, {}, names))
    _, infected, unknown = watched.seen()[0]
    assert unknown or bool(infected) is differs


@pytest.mark.parametrize("turned", [False, True])
def test_several_sites_in_one_place(turned: bool) -> None:
    body = "    if a < b and b > 0:\n        b += a * 2\n    return g(a, b - 1)\n"
    source = f"def g(a, b=1):\n    return a\n\n\ndef f(a, b):\n{body}"
    changes = [
        ("a < b and b > 0", "a < b or b > 0"), ("a < b", "a <= b"), ("b > 0", "b >= 0"), ("b += a * 2", "b -= a * 2"),
        ("a * 2", "a + 2"), ("g(a, b - 1)", "g(a)"), ("b - 1", "b + 1"),
    ]  # fmt: skip
    watched = Watched(source, changes[::-1] if turned else changes)
    assert watched.call("f", 1, 2) == 1
    seen = [counts for _, counts in sorted(watched.seen().items(), reverse=turned)]
    assert [infected for _, infected, _ in seen] == [0, 0, 0, 1, 1, 1, 1]


def test_a_probed_tree_has_no_new_names() -> None:
    watched = watch("a < b", "a <= b")
    assert isinstance(watched.sites[0], Site)
    original, probed = (marshal.loads(data) for data in (watched.codes[0].original, watched.codes[0].plain))
    assert probed.co_names == original.co_names
    assert probed.co_varnames == original.co_varnames
