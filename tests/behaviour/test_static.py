"""Code that runs at import: its mutants are made live by importing again, in a child or in a fresh interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = {
    "shop/__init__.py": "from shop.rates import RATE\n",
    "shop/rates.py": """\
        import dataclasses, enum, functools, sys
        RATE = 100
        ROUND = 200
        NAMES = ["a", "b"][:3]
        FIRST = NAMES[1 - 0]
        def only_at_import(n):
            return n + 300
        DERIVED = only_at_import(1)
        def default(n=400):
            return n
        def decorated(n):
            def wrap(function):
                return lambda: function() + n
            return wrap
        @decorated(500)
        def value():
            return 0
        class Thing:
            size = 600
            def method(self, n=700):
                return n
        @dataclasses.dataclass
        class Data:
            field: int = 800
        class Kind(enum.Enum):
            ONE = 900
        if sys.argv is None:
            NEVER = 1000
        def both(n):
            return n + 1100
        AT_IMPORT = both(1)
        def lazily():
            return 1200
        UNUSED = 1300
        """,
    "shop/user.py": "from . import rates\nDOUBLE = rates.ROUND * 2\n",
    "shop/strings.py": "import importlib\nTRIPLE = getattr(importlib.import_module('shop.user'), 'DOUBLE') // 2 * 3\n",
    "shop/fragile.py": "from shop.rates import FIRST\nASCII = {'b': 1}[FIRST]\n",
    "test_rates.py": """\
        import shop, shop.rates
        from shop.rates import Data, Kind, Thing, default, value
        def test_rate(): assert shop.RATE == 100
        def test_derived(): assert shop.rates.DERIVED == 301
        def test_default(): assert default() == 400
        def test_value(): assert value() == 500
        def test_size(): assert Thing.size == 600
        def test_method(): assert Thing().method() == 700
        def test_field(): assert Data().field == 800
        def test_kind(): assert Kind(900) is Kind.ONE
        def test_both(): assert shop.rates.both(2) == 1102
        def test_at_import(): assert shop.rates.AT_IMPORT == 1101
        """,
    "test_user.py": """\
        import shop.strings, shop.user
        def test_double(): assert shop.user.DOUBLE == 400
        def test_triple(): assert shop.strings.TRIPLE == 600
        """,
    "test_fragile.py": "import shop.fragile\ndef test_ascii(): assert shop.fragile.ASCII == 1\n",
    "test_inside.py": """\
        def test_imports_inside():
            from shop.rates import RATE, lazily
            assert RATE == 100 and lazily() == 1200
        """,
    "test_other.py": "def test_other(): assert True\n",
}
ALL = 15
CASES = {  # name: before, after, status, killers
    "rate": ("RATE = 100", "RATE = 101", "killed", {"test_rate", "test_imports_inside"}),
    "round": ("ROUND = 200", "ROUND = 201", "killed", {"test_double", "test_triple"}),
    "derived": ("n + 300", "n - 300", "killed", {"test_derived"}),
    "default": ("n=400", "n=401", "killed", {"test_default"}),
    "decorator": ("@decorated(500)", "@decorated(501)", "killed", {"test_value"}),
    "size": ("size = 600", "size = 601", "killed", {"test_size"}),
    "method": ("n=700", "n=701", "killed", {"test_method"}),
    "field": ("int = 800", "int = 801", "killed", {"test_field"}),
    "kind": ("ONE = 900", "ONE = 901", "crashed", {"test_kind"}),
    "never": ("NEVER = 1000", "NEVER = 1001", "no_coverage", set()),
    "both": ("n + 1100", "n + 1101", "killed", {"test_both", "test_at_import"}),
    "unused": ("UNUSED = 1300", "UNUSED = 1301", "survived", set()),
    "index": ("NAMES[1 - 0]", "NAMES[1 + 9]", "invalid", set()),
    "exits": ("UNUSED = 1300", "raise SystemExit", "invalid", set()),
    "fragile": ("NAMES[1 - 0]", "NAMES[0]", "crashed", {"test_ascii"}),
}  # fmt: skip
HOLDERS = {
    "child": {},
    "conftest": {"conftest.py": "import shop.rates\nHELD = shop.rates.RATE\n"},
    "registry": {
        "shop/rates.py": "import builtins\nif hasattr(builtins, 'SHOP'): raise OSError('twice')\nbuiltins.SHOP = 1\n",
        "conftest.py": "import sys\n",
    },
}


def prepared(project: Project, holder: str = "child") -> Project:
    project.write(CODE)
    for name, text in HOLDERS[holder].items():
        path = project.path / name
        path.write_text(text + (path.read_text() if path.exists() else ""))
    return project


@pytest.fixture(scope="module", params=list(HOLDERS))
def ran(new_project: Callable[[], Project], request: pytest.FixtureRequest) -> Run:
    project = prepared(new_project(), request.param)
    project.cases(Case(name, before, after, "shop/rates.py") for name, (before, after, *_) in CASES.items())
    return project.run("--mutate=shop/rates.py")


@pytest.mark.parametrize("name", CASES)
def test_every_kind(ran: Run, name: str) -> None:
    *_, status, killers = CASES[name]
    mutant = ran.mutant(name)
    assert mutant["status"] == status, mutant
    assert {cell["test"].split("::")[1] for cell in mutant["cells"] if cell["outcome"] != "passed"} == killers
    if status in ("killed", "survived", "crashed"):
        assert len(mutant["cells"]) == ALL  # every test of the session is one whose outcome could change


def test_the_route_is_controlled(ran: Run) -> None:
    assert ran.status == 0
    assert ran.data["run"]["controls"]["routes"]["static"] == "ok"


def test_the_reason_of_what_cannot_be_imported(ran: Run) -> None:
    assert "IndexError" in ran.mutant("index")["reason"]
    assert "SystemExit" in ran.mutant("exits")["reason"]


def test_reach_narrows_to_the_tests_that_run_code_of_the_module(project: Project) -> None:
    prepared(project).cases([
        Case("rate", "RATE = 100", "RATE = 101", "shop/rates.py"),
        Case("derived", "n + 300", "n - 300", "shop/rates.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=shop/rates.py", "--kill-matrix-static=reach")
    tests = {cell["test"].split("::")[1] for cell in ran.mutant("derived")["cells"]}
    assert {"test_default", "test_both", "test_imports_inside"} <= tests
    assert not {"test_other", "test_double", "test_ascii"} & tests
    assert "code of that module" in " ".join(ran.screen.split())


@pytest.mark.parametrize("holder", ["child", "conftest"])
def test_an_import_that_hangs_or_dies(project: Project, holder: str) -> None:
    prepared(project, holder).cases([
        Case("hangs", "UNUSED = 1300", "while True: pass", "shop/rates.py"),
        Case("dies", "UNUSED = 1300", "__import__('os')._exit(0)", "shop/rates.py"),
        Case("rate", "RATE = 100", "RATE = 101", "shop/rates.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=shop/rates.py")
    assert ran.statuses() == {"hangs": "timeout", "dies": "crashed", "rate": "killed"}
