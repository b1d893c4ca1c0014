"""Code of every kind is mutated live; modules that are loaded late get the mutant's source, whatever their name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = """\
from __future__ import annotations
import asyncio, contextlib, dataclasses, functools

def outer(n):
    def inner(m):
        return m + 101
    return inner(n)

def make_adder(k):
    def add(n):
        return n + k + 102
    return add

add_one = make_adder(1)

class Thing:
    __slots__ = ("n", "__dict__")
    def __init__(self, n): self.n = n + 103
    @property
    def prop(self): return self.n + 104
    @prop.setter
    def prop(self, value): self.n = value + 105
    @functools.cached_property
    def cached(self): return self.n + 106
    @staticmethod
    def static(n): return n + 107
    @classmethod
    def make(cls, n): return cls(n + 108)
    def __eq__(self, other): return self.n + 109 == other
    __hash__ = None
    class Inner:
        def method(self, n): return n + 110

def generate(n):
    yield n
    yield n + 111

async def wait(n):
    await asyncio.sleep(0)
    return n + 112

async def stream(n):
    yield n + 113

pair = (lambda n: n + 114), (lambda n: n + 115)

def decorate(function):
    @functools.wraps(function)
    def wrapper(*args): return function(*args) + 116
    return wrapper

@decorate
@decorate
def decorated(n): return n + 117

@functools.lru_cache(maxsize=None)
def remembered(n): return n + 118

@contextlib.contextmanager
def manage(n):
    yield n + 119

@dataclasses.dataclass
class Data:
    n: int = 0
    def __post_init__(self): self.n += 120

@functools.singledispatch
def dispatch(n): return 121

@dispatch.register
def _(n: int): return n + 122

TABLE = {"key": decorated, "lambda": lambda n: n + 123}
partial = functools.partial(lambda a, n: a + n + 124, 1)

def recursive(n): return 125 if n == 0 else recursive(n - 1)

def comprehended(n): return [m + 126 for m in range(n)]

def conditional():
    if True:
        def choice(n): return n + 127
    else:
        def choice(n): return n + 128
    return choice

def with_default(n, more=129): return n + more
"""
#: number in the code, expression that tests it
EXPRESSIONS = {
    101: "kinds.outer(0)", 102: "kinds.add_one(-1)", 103: "kinds.Thing(0).n", 104: "kinds.Thing(-103).prop",
    105: "setattr(thing := kinds.Thing(0), 'prop', 0) or thing.n", 106: "kinds.Thing(-103).cached",
    107: "kinds.Thing.static(0)", 108: "kinds.Thing.make(-103).n", 109: "109 if kinds.Thing(-103) == 109 else 0",
    110: "kinds.Thing.Inner().method(0)", 111: "list(kinds.generate(0))[1]", 112: "asyncio.run(kinds.wait(0))",
    113: "asyncio.run(kinds.stream(0).__anext__())", 114: "kinds.pair[0](0)", 115: "kinds.pair[1](0)",
    116: "kinds.decorate(lambda: 0)()", 117: "kinds.decorated(0) - 232", 118: "kinds.remembered(0)",
    119: "kinds.manage(0).__enter__()", 120: "kinds.Data().n", 121: "kinds.dispatch('')", 122: "kinds.dispatch(0)",
    123: "kinds.TABLE['lambda'](0)", 124: "kinds.partial(-1)", 125: "kinds.recursive(3)",
    126: "kinds.comprehended(1)[0]", 127: "kinds.conditional()(0)",
}  # fmt: skip
LATE = """\
def value():
    return 201

LEVEL = 202

class Late:
    size = 203
"""
TESTS = """\
import asyncio, importlib, importlib.util, os, runpy, subprocess, sys
import pytest
import kinds

HERE = os.path.dirname(__file__)

def load(name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, "late.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

def values(module):
    return [getattr(module, "value")(), module.LEVEL, module.Late.size]

def test_import():
    import late
    assert values(late) == [201, 202, 203]

def test_reload():
    import late
    assert values(importlib.reload(late)) == [201, 202, 203]

def test_other_name(): assert values(load("other")) == [201, 202, 203]

def test_runpy():
    names = runpy.run_path(os.path.join(HERE, "late.py"))
    assert [names["value"](), names["LEVEL"], names["Late"].size] == [201, 202, 203]
"""


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    tests = TESTS + "".join(f"def test_{n}(): assert {text} == {n}\n" for n, text in EXPRESSIONS.items())
    project = new_project().write({"kinds.py": CODE, "late.py": LATE, "test_kinds.py": tests})
    project.cases(Case(f"case{n}", str(n), f"{n + 1000}", "kinds.py") for n in range(101, 130))
    project.cases(Case(f"late{n}", str(n), f"{n + 1000}", "late.py") for n in (201, 202, 203))
    return project.run("--mutate=kinds.py", "--mutate=late.py")


@pytest.mark.parametrize("number", EXPRESSIONS)
def test_a_kind_of_code(ran: Run, number: int) -> None:
    mutant = ran.mutant(f"case{number}")
    assert (mutant["status"], mutant["reason"]) == ("killed", None)
    assert f"test_kinds.py::test_{number}" in mutant["killed_by"]


def test_code_that_never_runs(ran: Run) -> None:
    assert ran.mutant("case128")["status"] in ("no_coverage", "equivalent")
    assert ran.mutant("case129")["status"] == "survived"  # a default value, and nobody looks


@pytest.mark.parametrize("number", [201, 202, 203])
def test_a_module_that_is_loaded_late(ran: Run, number: int) -> None:
    expected = dict.fromkeys(("test_import", "test_reload", "test_other_name", "test_runpy"), "assertion")
    assert ran.outcomes(f"late{number}") == expected


def test_everything_that_ran_was_judged(ran: Run) -> None:
    controls = ran.data["run"]["controls"]
    assert controls["noop_kills"] == []
    assert controls["routes"]["swap"] == "ok"
