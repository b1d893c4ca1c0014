"""Where a row, a cache or a live swap could lie: what is reported is the truth of the test alone, or nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

CODE = """\
import functools, marshal, sys, types, warnings

LIMIT = [9]
CACHE = {}
INTERNAL = set()

def loose(n):
    LIMIT[0] = n
    return n

def below(n):
    return n + 0 < LIMIT[0]

def scale(n):
    factor = 2
    if n not in CACHE:
        CACHE[n] = n * factor
    return CACHE[n]

@functools.lru_cache
def single():
    return []

def extreme(x, floor=10):
    state = single()
    if not state:
        state.append(max(x, floor))
    return state[0]

class Pool:
    def __init__(self): self.left = 3
    def close(self):
        if self.left > 5: raise OSError("left over")

def held(x):
    return x + 100
HELD = held.__code__

def started():
    yield 1
    yield 200
STARTED = started()
next(STARTED)

def shipped(x):
    return x * 300

def quiet():
    warnings.simplefilter("default")

def warn():
    warnings.warn("careful", UserWarning)

def closing():
    return sys.stdout.flush()
"""

TESTS = {
    "test_limit.py": """\
        import code_ as m
        def test_first(): assert m.loose(5) == 5 and m.below(-1)
        def test_second(): assert m.below(6) is False
    """,
    "test_scale.py": """\
        import code_ as m
        def test_warms(): m.scale(1); m.CACHE[3] = 6
        def test_masked(): assert m.scale(3) == 6
    """,
    "test_extreme.py": """\
        import code_ as m
        def test_ten(): assert m.extreme(10) == 10
        def test_five(): assert m.extreme(5) == 10
        def test_ten_again(): assert m.extreme(10) == 10
    """,
    "test_pool.py": """\
        import code_ as m, pytest
        @pytest.fixture(scope="module")
        def pool():
            p = m.Pool()
            yield p
            p.close()
        def test_a(pool): pass
        def test_b(pool): pass
        def test_last(): pass
    """,
    "test_code.py": """\
        import code_ as m, marshal, types
        def test_plain(): assert m.held(0) > 0
        def test_held(): assert types.FunctionType(m.HELD, {})(1) == 101
        def test_fresh(): assert list(m.started())[0] == 1
        def test_started(): assert next(m.STARTED) == 200
        def test_ships(): m.shipped(1); assert marshal.dumps(m.shipped.__code__)
    """,
    "test_streams.py": """\
        import code_ as m
        def test_quiet(): m.quiet()
        def test_warn(): m.warn()
        def test_closing(): m.closing()
        def test_after(): pass
    """,
}

CASES = [
    Case("masked", "factor = 2", "factor = 4", "code_.py"),
    Case("resolved", "max(x, floor)", "min(x, floor)", "code_.py"),
    Case("teardown", "self.left > 5", "self.left > 0", "code_.py"),
    Case("held", "x + 100", "x + 102", "code_.py"),
    Case("started", "yield 200", "yield 201", "code_.py"),
    Case("shipped", "x * 300", "x * 301", "code_.py"),
    Case("filters", '"default"', '"error"', "code_.py"),
    Case("closes", "sys.stdout.flush()", "sys.stdout.close()", "code_.py"),
]


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    project = new_project().write({"code_.py": CODE, **TESTS}).cases(CASES)
    return project.run("--mutate=code_.py")


def test_a_survivor_whose_killer_an_earlier_test_healed(ran: Run) -> None:
    assert ran.statuses()["masked"] == "killed"
    assert ran.outcomes("masked") == {"test_warms": "passed", "test_masked": "assertion"}


def test_uncertain_tests_are_resolved_one_by_one(ran: Run) -> None:
    assert ran.outcomes("resolved") == {"test_ten": "passed", "test_five": "assertion", "test_ten_again": "passed"}


def test_a_shared_tear_down_is_booked_on_those_who_share(ran: Run) -> None:
    assert ran.outcomes("teardown") == {"test_a": "exception", "test_b": "exception"}


@pytest.mark.parametrize("name", ["held", "started", "shipped"])
def test_code_that_a_swap_cannot_reach_is_pending(ran: Run, name: str) -> None:
    assert ran.statuses()[name] == "pending"
    assert not ran.mutant(name)["killed_by"]
    assert "test_ships" not in ran.outcomes(name)


def test_warning_filters_do_not_leak(ran: Run) -> None:
    assert ran.outcomes("filters") == {"test_quiet": "passed"}


def test_a_closed_stream_fails_the_test(ran: Run) -> None:
    assert ran.outcomes("closes")["test_closing"] == "exception"


def test_files_that_cannot_be_collected_twice(new_project: Callable[[], Project]) -> None:
    project = new_project().write({
        "code_.py": """\
            import functools
            NAMES = []
            def register(name):
                assert name not in NAMES
                NAMES.append(name)
                return len(name) + 1
            @functools.lru_cache
            def load(x):
                return x * 7
        """,
        "test_register.py": """\
            import code_
            SIZE = code_.register("once")
            def test_size(): assert SIZE == 5
        """,
        "test_load.py": """\
            import code_, pytest
            @pytest.mark.parametrize("v", [code_.load(3)])
            def test_v(v): assert v == 21
        """,
        "test_later.py": "import code_\ndef test_later(): assert code_.load(3) == 21\n",
    })  # fmt: skip
    project.cases([Case("twice", "+ 1", "+ 2", "code_.py"), Case("cached", "x * 7", "x * 8", "code_.py")])
    ran = project.run("--mutate=code_.py")
    # a module that is imported again has an empty registry and a cold cache
    assert ran.statuses() == {"twice": "killed", "cached": "killed"}


def test_one_kill_that_did_not_happen_alone_discredits_its_file(project: Project) -> None:
    """The first kills of a file are run again, later ones by a sample; what the sample shows goes for all of them."""
    project.write({
        "shop.py": """\
            BOX = []
            def honest(n):
                return n + 1
            def lying(n):
                if n > 9:
                    BOX.append(n)
                return len(BOX)
            """,
        "test_shop.py": """\
            import shop
            def test_honest_first(): assert shop.honest(1) == 2
            def test_honest_second(): assert shop.honest(10) == 11
            def test_lying_first(): shop.lying(8)
            def test_lying_second(): assert shop.lying(1) == 0
            """,
    })  # fmt: skip
    project.cases(Case(f"honest{n}", "n + 1", f"n + 1 + {n} * (n > 5)", "shop.py") for n in range(1, 25))
    project.cases(Case(f"lying{n}", "n > 9", f"n > {n} / 5", "shop.py") for n in range(10, 34))
    ran = project.run("--mutate=shop.py", "--kill-matrix-workers=1")
    confirmed = [
        cell["confirmed"]
        for mutant in ran.data["mutants"]
        for cell in mutant["cells"]
        if mutant["operator"].startswith("case:honest") and cell["outcome"] == "assertion"
    ]
    assert None in confirmed  # some were believed
    assert True in confirmed
    assert {name for name, status in ran.statuses().items() if status == "survived"} == {
        f"lying{n}" for n in range(10, 34)
    }
    assert {status for name, status in ran.statuses().items() if name.startswith("honest")} == {"killed"}


def test_a_survivor_whose_killer_is_healed_from_both_sides(project: Project) -> None:
    project.write({
        "reg.py": """\
            _items = {}
            _loaded = False
            def load():
                global _loaded
                _items["x"] = 1
                _loaded = True
            def get(name):
                if not _loaded: load()
                return _items.get(name)
            def stateless(n): return n > 3
            """,
        "test_reg.py": """\
            import reg
            def test_before(): reg.load(); assert reg.get("x") == 1
            def test_between(): assert reg.get("x") == 1
            def test_after(): reg.load(); assert reg.get("x") == 1
            def test_four(): assert reg.stateless(5)
            def test_five(): assert not reg.stateless(1)
            """,
    }).cases([
        Case("swap", "not _loaded", "_loaded", "reg.py"),
        Case("static", "_loaded = False", "_loaded = True", "reg.py"),
        Case("none", "n > 3", "n >= 3", "reg.py"),
    ])  # fmt: skip
    ran = project.run("--mutate=reg.py")
    # alone, by plain pytest
    lone = {"test_before": "passed", "test_between": "assertion", "test_after": "passed"}
    assert ran.outcomes("swap") == lone
    assert {name: ran.outcomes("static")[name] for name in lone} == lone
    assert ran.statuses()["none"] == "survived"
    # nothing is left behind there: turned round, and that is all
    assert {cell["isolation"] for cell in ran.mutant("none")["cells"]} == {"row"}
