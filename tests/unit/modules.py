"""A strategy for the texts of Python modules: every statement and expression, in every layout."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

NAMES = ("a", "b", "ñ", "self", "os")
CONSTANTS = ("0", "1", "0x1F", "1_000", ".5", "0.0", "2j", "True", "None", "...", "-1")
STRINGS = (
    "'a'", '"é€😀"', "b'x'", r"r'\d+'", "'''two\n  lines'''", "'a' 'b'", "f'x{a}y'", 'f"{a!r:>{b}}"',
    "f'{a + 1:%Y}{{}}'", "f'''{\n a\n}'''", r"'\N{BULLET}\x41'", "''", "u'é'", 'f"{a=}"', r"rb'\'' b'\\'",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@")
COMPARE = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
PATTERNS = ("0", "'é'", "-1", "None", "os.a", "[a, *_]", "{'k': ñ, **b}", "A(1, b=2)", "(1 | 2) as a", "'x' | b''")
ANNOTATIONS = ("int", "'str | None'", "list[int]", "'1 + 1'", "dict[str, 2]")
_ATOMS = frozenset({*NAMES, *CONSTANTS, *STRINGS})
STARTS = ("", "", "'''doc é\n 1'''\n", "# pragma: no cover\n", "from __future__ import annotations\n", "\n")
COMMENTS = ("", "", "", "  # why é€", "  # pragma: no cover", "  # PRAGMA: no mutate", "# type: ignore")


@dataclass(frozen=True)
class Scope:
    """Where a statement stands."""

    function: bool = False
    coroutine: bool = False
    loop: bool = False
    klass: bool = False
    depth: int = 0

    @property
    def inner(self) -> Scope:
        return replace(self, depth=self.depth + 1)


class Writer:
    """Writes statements as lines; a tab at the start of a line is one level of indentation."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def pick(self, options: Any) -> Any:
        return self._draw(st.sampled_from(options))

    def number(self, most: int, least: int = 0) -> int:
        found: int = self._draw(st.integers(least, most))
        return found

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, scope: Scope, depth: int = 0) -> str:
        if depth > 2 or not self.number(2):
            return str(self.pick([*NAMES, *CONSTANTS, *STRINGS]))
        make: Callable[[Scope, int], str] = self.pick(
            [
                self._binary, self._compare, self._boolean, self._unary, self._call, self._call, self._place,
                self._lambda, self._conditional, self._comprehension, self._display, self._brackets, self._suspending,
            ]
        )  # fmt: skip
        return make(scope, depth + 1)

    def _operand(self, scope: Scope, depth: int) -> str:
        text = self.expression(scope, depth)
        return text if text in _ATOMS else f"({text})"

    def _binary(self, scope: Scope, depth: int) -> str:
        space = self.pick(["", " ", "  "])
        return f"{self._operand(scope, depth)}{space}{self.pick(BINARY)}{space}{self._operand(scope, depth)}"

    def _compare(self, scope: Scope, depth: int) -> str:
        text = self._operand(scope, depth)
        for _ in range(self.number(2, 1)):
            text += f" {self.pick(COMPARE)} {self._operand(scope, depth)}"
        return text

    def _boolean(self, scope: Scope, depth: int) -> str:
        word = self.pick([" and ", " or ", " and\\\n  "])
        return f"{self._operand(scope, depth)}{word}{self._operand(scope, depth)}"

    def _unary(self, scope: Scope, depth: int) -> str:
        return f"{self.pick(['not ', '-', '~', '+', 'not'])}({self.expression(scope, depth)})"

    def _call(self, scope: Scope, depth: int) -> str:
        words = [self.pick(["", "", "k=", "*", "**"]) + self._operand(scope, depth) for _ in range(self.number(3))]
        words.sort(key=lambda word: (word.startswith("**"), word.startswith("k=")))
        if sum(word.startswith("k=") for word in words) > 1:
            words = [word.removeprefix("k=") for word in words]
        comma = self.pick([", ", ",", ",\n      ", ",  # é\n"])
        function = self.pick(["a", "os.b", "len", "isinstance", "'é'.join", "self.lower", "super().b", "dict"])
        return f"{function}({comma.join(words)})"

    def _place(self, scope: Scope, depth: int) -> str:
        inner = self.pick(["{}", "{}:", ":{}", "{}:1:{}", "{}, ..."])
        return f"({self.expression(scope, depth)})" + self.pick(
            [".b", f"[{inner.replace('{}', self.expression(scope, depth))}]"]
        )

    def _lambda(self, scope: Scope, depth: int) -> str:
        header = self.pick(["", " x", " x, *y, k=1, **z", " x=1, /, *, k", " *_"])
        return f"lambda{header}: {self._operand(replace(scope, function=True, coroutine=False), depth)}"

    def _conditional(self, scope: Scope, depth: int) -> str:
        return " ".join([self._operand(scope, depth), "if", self._operand(scope, depth), "else", "b"])

    def _comprehension(self, scope: Scope, depth: int) -> str:
        plain = replace(scope, function=False, coroutine=False)
        condition = self.pick(["", f" if {self._operand(plain, depth)}", "\n if a if not b"])
        left, right = self.pick(["[]", "()", "{}"])
        key = "a: " if left == "{" and self.number(1) else ""
        loop = self.pick([" for a in ", " for a, *b in c for c in "])
        return f"{left}{key}{self._operand(plain, depth)}{loop}{self._operand(plain, depth)}{condition}{right}"

    def _display(self, scope: Scope, depth: int) -> str:
        items = [self._operand(scope, depth) for _ in range(self.number(3, 1))]
        if self.number(3) == 0:
            return "{" + ", ".join(f"{item}: {item}" for item in items) + ", **a}"
        left, right = self.pick(["[]", "{}", "()"])
        return f"{left}{', '.join(items)},{right}"

    def _brackets(self, scope: Scope, depth: int) -> str:
        return self.pick(["({})", "(\n{}\n)", "(  # é\n   {}  # b\n )", "(({}))"]).format(self.expression(scope, depth))

    def _suspending(self, scope: Scope, depth: int) -> str:
        inner = self._operand(scope, depth)
        if scope.coroutine:
            return f"(await {inner})"
        return f"(yield {inner})" if scope.function and self.number(1) else f"(b := {inner})"

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, scope: Scope, most: int = 3) -> list[str]:
        return [line for _ in range(self.number(most, 1)) for line in self.statement(scope)]

    def suite(self, header: str, scope: Scope, docstring: bool = False) -> list[str]:
        if not self.number(4):
            return [f"{header}: {self.simple(scope)}{self.pick(COMMENTS)}"]
        lines = ["'''doc\n  1 + 1'''" if self.number(1) else "'doc é'"] if docstring and self.number(1) else []
        lines += self.block(scope.inner)
        return [f"{header}:{self.pick(COMMENTS)}", *("\t" + line for line in lines)]

    def statement(self, scope: Scope) -> list[str]:
        if scope.depth > 2 or self.number(1):
            text = self.simple(scope)
            if not self.number(5):
                text += self.pick(["; ", ";", " ;"]) + self.simple(scope)
            return [*self.pick([[], [], [], [""], ["# é = 1"], ["\x0c"]]), text + self.pick(COMMENTS)]
        make: Callable[[Scope], list[str]] = self.pick(
            [self._if, self._while, self._for, self._with, self._try, self._match, self._def, self._def, self._class]
        )
        return make(scope)

    def simple(self, scope: Scope) -> str:
        value = self.expression(scope)
        kinds = [
            value, value, f"a = {value}", f"a.b = ñ = {value}", f"a, *b = {value},", f"b {self.pick(BINARY)}= {value}",
            f"a: {self.pick(ANNOTATIONS)} = {value}", f"self.c: {self.pick(ANNOTATIONS)}", "del a, b[0]",
            f"assert {value}, 'é'", f"raise A({value}) from b", "import os, sys as b", "from os import (a,\n b)",
            "pass", f"a = \\\n  {value}", f"os.b({value})",
        ]  # fmt: skip
        if scope.function:
            kinds += [f"return {value}", "return", "global gone", "return(a)"]
        if scope.loop:
            kinds += ["break", "continue"]
        if scope.depth == 0 and not scope.function:
            kinds += ["__all__ = ['a', 'é']", "__all__ += ['b']"]
        return str(self.pick(kinds))

    def _if(self, scope: Scope) -> list[str]:
        if scope.depth == 0 and not self.number(3):
            guard = self.pick(["__name__ == '__main__'", "TYPE_CHECKING", "'__main__' == __name__"])
            return self.suite(f"if {guard}", scope)
        lines = self.suite(f"if {self.expression(scope)}", scope)
        for _ in range(self.number(1)):
            lines += self.suite(f"elif {self.expression(scope)}", scope)
        return lines + self._else(scope)

    def _else(self, scope: Scope) -> list[str]:
        return self.suite("else", scope) if self.number(1) else []

    def _while(self, scope: Scope) -> list[str]:
        return self.suite(f"while {self.expression(scope)}", replace(scope, loop=True)) + self._else(scope)

    def _for(self, scope: Scope) -> list[str]:
        word = "async for" if scope.coroutine else "for"
        header = f"{word} {self.pick(['a', 'a, (b, *c)', 'a.b', 'a[0]'])} in {self.expression(scope)}"
        return self.suite(header, replace(scope, loop=True)) + self._else(scope)

    def _with(self, scope: Scope) -> list[str]:
        word = "async with" if scope.coroutine else "with"
        value = self._operand(scope, 0)
        items = self.pick([value, f"{value} as a, b", f"({value} as a,\n b)"])
        return self.suite(f"{word} {items}", scope)

    def _try(self, scope: Scope) -> list[str]:
        lines = self.suite("try", scope)
        handlers = self.number(2)
        if handlers == 2 and not scope.loop and not scope.function and self.number(1):
            return lines + self.suite("except* A", replace(scope, function=False))
        for _ in range(handlers):
            lines += self.suite(self.pick(["except A", "except (A, B) as e", "except os.error"]), scope)
        if handlers:
            lines += self._else(scope)
        return lines + (self.suite("finally", scope) if not handlers or self.number(1) else [])

    def _match(self, scope: Scope) -> list[str]:
        lines = [f"match {self.pick(['a', 'a, b', '(a)', 'os.b(1)'])}:"]
        for _ in range(self.number(3, 1)):
            guard = f" if {self.expression(scope)}" if self.number(1) else ""
            lines += ["\t" + line for line in self.suite(f"case {self.pick(PATTERNS)}{guard}", scope.inner)]
        return lines + (["\t" + line for line in self.suite("case _", scope.inner)] if self.number(1) else [])

    def _decorators(self, scope: Scope) -> list[str]:
        return [f"@{self.pick(['a', 'os.b', 'property', 'a(1, k=2)', '(a or b)'])}" for _ in range(self.number(1))]

    def _def(self, scope: Scope) -> list[str]:
        coroutine = not self.number(3)
        default = self._operand(Scope(), 1)
        parameters = self.pick(
            ["", "x", f"x={default}", "self, x: int = 1, *y: 'str', k: int | None = 2, **z", f"x, /, *, k={default}"]
        )
        result = self.pick(["", " -> int", " -> '1 + 1'"])
        header = f"{'async ' * coroutine}def {self.pick(['f', 'g', 'h', 'ñ', '__init__'])}({parameters}){result}"
        inside = Scope(function=True, coroutine=coroutine, depth=scope.depth)
        return [*self._decorators(scope), *self.suite(header, inside, docstring=True)]

    def _class(self, scope: Scope) -> list[str]:
        bases = self.pick(["", "(A)", "(A, os.B, metaclass=C)", f"(A, k={self._operand(Scope(), 1)})"])
        inside = Scope(klass=True, depth=scope.depth)
        return [*self._decorators(scope), *self.suite(f"class {self.pick('ABÉ')}{bases}", inside, docstring=True)]


@dataclass(frozen=True)
class Module:
    """A module as top-level pieces and a layout; ``data`` are the bytes of its file."""

    pieces: tuple[str, ...]
    newline: str = "\n"
    start: str = ""
    encoding: str = "utf-8"
    end: str = "\n"

    @property
    def data(self) -> bytes:
        text = "\n".join(self.pieces) + self.end
        cookie = "" if self.encoding.startswith("utf-8") else f"# -*- coding: {self.encoding} -*-\n"
        return (cookie + self.start + text).replace("\n", self.newline).encode(self.encoding)


@st.composite
def modules(draw: Callable[[st.SearchStrategy[Any]], Any], most: int = 4) -> Module:
    """Modules that Python compiles."""
    writer = Writer(draw)
    indent = writer.pick(["    ", "\t", "  ", "\t "])
    pieces = []
    for _ in range(writer.number(most, 1)):
        lines = [_indented(line, indent) for line in writer.statement(Scope())]
        pieces.append("\n".join(lines))
    start = writer.pick(
        ["", "", "'''doc é\n 1'''\n", "# pragma: no cover\n", "from __future__ import annotations\n", "\n"]
    )
    encodings = ["utf-8", "utf-8-sig", *(name for name in ("cp1252", "iso-8859-15") if _fits(pieces, name))]
    module = Module(
        tuple(pieces),
        writer.pick(["\n", "\n", "\r\n", "\r"]),
        start,
        writer.pick(encodings),
        writer.pick(["\n", "", "\n\n", "\n# end"]),
    )
    compiled(module)
    return module


def _fits(pieces: list[str], encoding: str) -> bool:
    try:
        "".join(pieces).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _indented(line: str, indent: str) -> str:
    level = len(line) - len(line.lstrip("\t"))
    return indent * level + line[level:]


def compiled(module: Module) -> None:
    """Reject what Python does not compile."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(module.data, "a.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        reject()
