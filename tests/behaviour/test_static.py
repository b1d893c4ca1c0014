"""Code that runs at import: its mutants are made live by importing again, in a child or in a fresh interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import PLUGIN, Case, Project, Run

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
    "conftest that configures": {
        "conftest.py": "import shop.rates\nHELD = shop.rates.RATE\ndef pytest_configure(config): pass\n"
    },
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
    killing = [cell for cell in mutant["cells"] if cell["outcome"] != "passed"]
    assert {cell["test"].split("::")[1] for cell in killing} == killers, killing
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


@pytest.mark.parametrize("holder", ["child", "conftest", "conftest that configures"])
def test_an_import_that_hangs_or_dies(project: Project, holder: str) -> None:
    prepared(project, holder).cases([
        Case("hangs", "UNUSED = 1300", "while True: pass", "shop/rates.py"),
        Case("dies", "UNUSED = 1300", "__import__('os')._exit(0)", "shop/rates.py"),
        Case("rate", "RATE = 100", "RATE = 101", "shop/rates.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=shop/rates.py")
    assert ran.statuses() == {"hangs": "timeout", "dies": "crashed", "rate": "killed"}


WHOLES = {  # what else could keep the old module or its values: files, mutant, tests that fail under it
    "attribute of a package": (
        {"pkg/__init__.py": "", "pkg/a.py": "A = 3\n", "pkg/b.py": "from pkg.a import A\nB = A * 2\n",
         "test_it.py": "from pkg import b\ndef test_b(): assert b.B == 6\ndef test_free(): pass\n"},
        ("pkg/a.py", "A = 3", "A = 4"), {"test_it.py::test_b"},
    ),
    "registry": (
        {"pkg/__init__.py": "", "pkg/core.py": "SEEN = set()\n",
         "pkg/impl.py": "from pkg.core import SEEN\nSEEN.add('a')\n",
         "test_it.py": "import pkg.core, pkg.impl\ndef test_seen(): assert pkg.core.SEEN == {'a'}\n"},
        ("pkg/impl.py", "SEEN.add('a')", "pass"), {"test_it.py::test_seen"},
    ),
    "environment": (
        {"pkg/__init__.py": "", "pkg/a.py": "import os\nLEVEL = 2\nos.environ.setdefault('SHOP_LEVEL', str(LEVEL))\n",
         "test_it.py": "import os, pkg.a\ndef test_level(): assert os.environ['SHOP_LEVEL'] == '2'\n"},
        ("pkg/a.py", "LEVEL = 2", "LEVEL = 3"), {"test_it.py::test_level"},
    ),
    "conftests of a chain": (
        {"pkg/__init__.py": "", "pkg/a.py": "A = 3\n",
         "conftest.py": "import pytest, pkg.a\n@pytest.fixture\ndef value(): return [pkg.a.A]\n",
         "sub/conftest.py": "import pytest\n@pytest.fixture\ndef value(value): return [*value, 'sub']\n",
         "sub/test_it.py": """\
             import pytest
             @pytest.fixture
             def value(value): return [*value, 'file']
             def test_value(value): assert value == [3, 'sub', 'file']
             def test_length(value): assert len(value) == 3
             """,
         "other/conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef nothing(): pass\n",
         "other/test_other.py": "def test_other(value): assert value == [3]\ndef test_free(): pass\n"},
        ("pkg/a.py", "A = 3", "A = 4"), {"sub/test_it.py::test_value", "other/test_other.py::test_other"},
    ),
    "conftest's hook": (
        {"pkg/__init__.py": "", "pkg/a.py": "NAMES = ['x', 'y']\n",
         "conftest.py": """\
             from pkg.a import NAMES
             def pytest_generate_tests(metafunc):
                 if "name" in metafunc.fixturenames:
                     metafunc.parametrize("name", NAMES)
             """,
         "test_it.py": "def test_name(name): assert name in 'xy'\ndef test_free(): pass\n"},
        ("pkg/a.py", "'y'", "'z'"), {"test_it.py::test_name[y]"},
    ),
    "what only looks at the process": (
        {"pkg/__init__.py": "", "pkg/a.py": "import builtins, os, sys\nA = len(os.environ.get('PATH', '')) * 0 + 3\n"
         "B = builtins.len('ab'), sys.getrecursionlimit() > 0\n",
         "test_it.py": "from pkg import a\ndef test_a(): assert a.A == 3\ndef test_free(): pass\n"},
        ("pkg/a.py", "* 0 + 3", "* 0 + 4"), {"test_it.py::test_a"},
    ),
    "doctests of the module": (
        {"pkg/__init__.py": "", "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
         "pkg/a.py": 'K = 4\nclass A:\n    """\n    >>> A.z\n    8\n    """\n    z = K * 2\n',
         "test_it.py": "from pkg import a\ndef test_k(): assert a.K == 4 and isinstance(a.A(), a.A)\n"},
        ("pkg/a.py", "K = 4", "K = 5"), {"test_it.py::test_k", "pkg/a.py::pkg.a.A"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLES)
def test_nothing_keeps_the_old_value(project: Project, name: str) -> None:
    files, (path, before, after), killers = WHOLES[name]
    project.write(files).cases([
        Case("case", before, after, path), Case("broken", before, "raise OSError", path)
    ])  # fmt: skip
    ran = project.run(f"--mutate={path}")
    assert ran.status == 0, ran.screen
    cells = ran.mutant("case")["cells"]
    assert {cell["test"] for cell in cells if cell["outcome"] != "passed"} == killers
    assert len(cells) == len(ran.data["tests"])
    assert ran.statuses() == {"case": "killed", "broken": "invalid"}


@pytest.mark.parametrize("how", ["plugin", "rewritten"])
def test_what_pytest_loads_itself_is_pending(project: Project, how: str) -> None:
    project.write(
        {"plug.py": "NUMBER = 7\n", "test_it.py": "import plug\ndef test_number(): assert plug.NUMBER == 7\n"}
    )
    if how == "plugin":
        project.write({"pytest.ini": "[pytest]\naddopts = -p plug\n"})
    else:
        project.write({"conftest.py": "import pytest\npytest.register_assert_rewrite('plug')\n"})
    project.cases([Case("case", "NUMBER = 7", "NUMBER = 8", "plug.py")])
    ran = project.run("--mutate=plug.py", env={"PYTHONPATH": f"{PLUGIN}:{project.path}"})
    assert ran.statuses() == {"case": "pending"}
    assert ran.data["run"]["controls"]["routes"]["static"] == "not exercised"


CANNOT_BE_COLLECTED = {  # who cannot be imported, though the mutated module can: files, tests that say so
    "conftest": ({"conftest.py": "from pkg.a import NAMES\nFIRST = NAMES[0]\n"}, {"exception"}),
    "conftest that configures": (
        {"conftest.py": "from pkg.a import NAMES\nFIRST = NAMES[0]\ndef pytest_configure(config): pass\n"},
        {"exception"},
    ),
    "conftest that exits": (
        {"conftest.py": "from pkg.a import NAMES\nif not NAMES: raise SystemExit('no names')\n"}, {"crash"},
    ),
    "conftest of a directory": ({"sub/conftest.py": "from pkg.a import NAMES\nFIRST = NAMES[0]\n"}, {"exception"}),
    "package of tests": ({"sub/__init__.py": "from pkg.a import NAMES\nFIRST = NAMES[0]\n"}, {"exception"}),
    "warning": (
        {"pytest.ini": "[pytest]\nfilterwarnings = error::RuntimeWarning\n",
         "sub/test_it.py": """\
             import warnings, pkg.a
             if not pkg.a.NAMES: warnings.warn('no names', RuntimeWarning)
             def test_sub(): pass
             """},
        {"exception"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CANNOT_BE_COLLECTED)
def test_who_cannot_be_collected_is_no_test_that_passes(project: Project, name: str) -> None:
    files, outcomes = CANNOT_BE_COLLECTED[name]
    project.write({
        "pkg/__init__.py": "", "pkg/a.py": "NAMES = ['x']\n", "sub/test_it.py": "def test_sub(): pass\n", **files,
    }).cases([Case("case", "['x']", "[]", "pkg/a.py")])  # fmt: skip
    ran = project.run("--mutate=pkg/a.py")
    mutant = ran.mutant("case")
    assert mutant["status"] == "crashed", ran.screen
    assert {(cell["outcome"], cell["phase"]) for cell in mutant["cells"]} == {(one, "collect") for one in outcomes}


@pytest.mark.lengthy
def test_each_test_alone_says_the_same(new_project: Callable[[], Project]) -> None:
    cells = []
    for isolation in ("mutant", "test"):
        project = prepared(new_project(), "conftest")
        project.write({
            "test_zealous.py": """\
                import os, signal, shop.rates
                def test_first(): pass
                def test_leaves():
                    if shop.rates.ROUND != 200: os._exit(0)
                def test_segment():
                    if shop.rates.ROUND != 200: os.kill(os.getpid(), signal.SIGSEGV)
                def test_endless():
                    while shop.rates.ROUND != 200: pass
                def test_last(): assert shop.rates.ROUND == 200
                """,
        })  # fmt: skip
        project.cases(Case(name, before, after, "shop/rates.py") for name, (before, after, *_) in CASES.items())
        ran = project.run("--mutate=shop/rates.py", f"--kill-matrix-isolation={isolation}")
        outcomes = ran.outcomes("round")
        assert [outcomes[f"test_{name}"] for name in ("first", "leaves", "segment", "endless", "last")] == [
            "passed", "crash", "crash", "timeout", "assertion",
        ]  # fmt: skip
        cells.append({place: cell[:3] for place, cell in ran.cells().items()})
    assert cells[0] == cells[1]


@pytest.mark.lengthy
def test_who_never_loads_the_module_is_not_killed_by_its_import(project: Project) -> None:
    project.write({
        "loud.py": "import os\nLEVEL = 1\n",
        "test_loud.py": "import loud\ndef test_level(): assert loud.LEVEL == 1\n",
        "test_apart.py": "import os\ndef test_path(): assert os.environ['HOME']\ndef test_free(): pass\n",
    }).cases([
        Case("clears", "LEVEL = 1", "LEVEL = 1; os.environ.pop('HOME')", "loud.py"),
        Case("both", "LEVEL = 1", "LEVEL = 2; os.environ.pop('HOME')", "loud.py"),
    ])  # fmt: skip
    for isolation in ("mutant", "test"):
        ran = project.run("--mutate=loud.py", "--kill-matrix-fresh", f"--kill-matrix-isolation={isolation}")
        # alone, by plain pytest, test_path never imports loud
        assert ran.outcomes("clears") == dict.fromkeys(("test_level", "test_path", "test_free"), "passed")
        assert ran.outcomes("both") == {"test_level": "assertion", "test_path": "passed", "test_free": "passed"}


def test_what_is_run_again_is_not_imported_again(project: Project) -> None:
    imports = project.path.parent / f"{project.path.name}-imports"
    project.write({
        "mod.py": f"LEVEL = 1\nopen({str(imports)!r}, 'a').write(f'{{LEVEL}} ')\nSEEN = []\n",
        "test_mod.py": """\
            import mod, os, signal
            def test_first(): mod.SEEN.append(1)
            def test_second(): assert mod.LEVEL < 4 or mod.SEEN
            def test_third(): assert mod.LEVEL < 5 or not mod.SEEN
            def test_fourth():
                if mod.LEVEL == 6: os.kill(os.getpid(), signal.SIGKILL)
            def test_fifth(): mod.SEEN.clear()
            """,
    }).cases([
        Case(name, "LEVEL = 1", f"LEVEL = {level}", "mod.py")
        for name, level in [("survives", 2), ("healed", 4), ("broken", 5), ("dies", 6)]
    ])  # fmt: skip
    try:
        ran = project.run("--mutate=mod.py", "--kill-matrix-no-alone")
        seen = imports.read_text().split()
    finally:
        imports.unlink(missing_ok=True)
    # alone, by plain pytest: without test_first before them
    assert ran.statuses() == {"survives": "survived", "healed": "killed", "broken": "killed", "dies": "killed"}
    assert ran.outcomes("healed") == {
        "test_first": "passed", "test_second": "assertion", "test_third": "passed", "test_fourth": "passed",
        "test_fifth": "passed",
    }  # fmt: skip
    # row and reversed row, row and what is run again alone
    assert [seen.count(level) for level in "24"] == [1, 1]


def test_what_an_import_leaves_in_a_library_is_not_what_another_left(project: Project) -> None:
    project.write({
        "formats.py": """\
            import csv, decimal, mimetypes
            csv.register_dialect("pipe", delimiter="|")
            mimetypes.add_type("application/x-zz", ".zz")
            decimal.getcontext().prec = 50
            """,
        "test_formats.py": """\
            import csv, decimal, mimetypes, formats
            def test_csv(): assert next(csv.reader(["a|b"], "pipe")) == ["a", "b"]
            def test_mime(): assert mimetypes.guess_type("a.zz")[0] == "application/x-zz"
            def test_decimal(): assert decimal.getcontext().prec == 50
            """,
    }).cases([
        Case("csv", 'csv.register_dialect("pipe", delimiter="|")', "pass", "formats.py"),
        Case("name", '"pipe"', '"PIPE"', "formats.py"),
        Case("mime", 'mimetypes.add_type("application/x-zz", ".zz")', "pass", "formats.py"),
        Case("decimal", "decimal.getcontext().prec = 50", "pass", "formats.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=formats.py")
    kills = {name: {test for test, outcome in ran.outcomes(name).items() if outcome != "passed"} for name in
             ("csv", "name", "mime", "decimal")}  # fmt: skip
    assert kills == {"csv": {"test_csv"}, "name": {"test_csv"}, "mime": {"test_mime"}, "decimal": {"test_decimal"}}


def test_what_keeps_pytest_from_its_tests_is_a_crash_of_each(project: Project) -> None:
    project.write({
        "pk.py": """\
            def header(): return 'pk ' + str(1)
            def env(): return 'PK_X'
            def late(name): return name.startswith('x')
            """,
        "conftest.py": """\
            import os, pk
            def pytest_configure(config): os.environ[pk.env()] = "1"
            def pytest_report_header(config): return pk.header()
            def pytest_collection_modifyitems(items):
                for item in items: pk.late(item.name)
            """,
        "test_pk.py": "def test_one(): pass\ndef test_two(): pass\n",
    }).cases([
        Case("header", "'pk ' + str(1)", "'pk ' - str(1)", "pk.py"),
        Case("configure", "return 'PK_X'", "return None", "pk.py"),
        Case("modify", "startswith('x')", "startswith(None)", "pk.py"),
        Case("same", "'PK_X'", "'PK_Y'", "pk.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=pk.py")
    for name in ("header", "configure", "modify"):
        assert ran.outcomes(name) == {"test_one": "crash", "test_two": "crash"}, name
        assert {cell["phase"] for cell in ran.mutant(name)["cells"]} == {"collect"}
    assert "TypeError" in ran.mutant("header")["cells"][0]["message"]
    assert ran.statuses()["same"] == "survived"


def test_a_fresh_interpreter_is_started_for_each_look_and_no_more(project: Project) -> None:
    imports = project.path.parent / f"{project.path.name}-imports"
    project.write({
        "mod.py": f"""\
            import csv
            LEVEL = 1
            csv.register_dialect("x")
            open({str(imports)!r}, "a").write(f"{{LEVEL}} ")
            """,
        "test_mod.py": "import mod\ndef test_one(): assert mod.LEVEL < 3\ndef test_two(): pass\n",
    }).cases([
        Case("survives", "LEVEL = 1", "LEVEL = 2", "mod.py"),
        Case("killed", "LEVEL = 1", "LEVEL = 3", "mod.py"),
    ])  # fmt: skip
    try:
        ran = project.run("--mutate=mod.py")
        seen = imports.read_text().split()
    finally:
        imports.unlink(missing_ok=True)
    assert ran.statuses() == {"survives": "survived", "killed": "killed"}
    assert [seen.count(level) for level in "23"] == [2, 1]  # the row and the reversed row; the row


def test_a_file_that_cannot_be_collected_is_an_exception_of_each_test(project: Project) -> None:
    tests = "".join(f"def test_{number}(): assert RATE\n" for number in range(4))
    project.write({
        "mod.py": "RATE = 1\nOTHER = 2\n",
        "test_mod.py": f"from mod import RATE, OTHER\n{tests}",
    }).cases([
        Case("gone", "RATE = 1", "RAT = 1", "mod.py"), Case("also", "OTHER = 2", "OTHE = 2", "mod.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=mod.py", "--kill-matrix-executor=fork")
    for name in ("gone", "also"):  # rows that hold what they imported
        assert set(ran.outcomes(name).values()) == {"exception"}
