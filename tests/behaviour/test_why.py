"""Why did it survive? In real runs, and without a change to any cell."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from projects import Case, Project, Run

SHOP = """\
    import warnings
    from functools import lru_cache


    @lru_cache
    def tier(quantity, least=10):
        return "big" if quantity >= least else "small"


    def total(price, pieces):
        saved = price * pieces // 100
        return price * pieces


    def check(pieces):
        if pieces < 1:
            raise ValueError("no " + "pieces")
        return pieces


    def old():
        warnings.warn("use " + "new", DeprecationWarning, stacklevel=2)


    def size(word):
        return tier(len(word), 10)


    class Odd:
        asked = 0

        def __lt__(self, other):
            Odd.asked += 1
            return True


    def odd(one, other):
        return one < other


    def several(piece):
        return piece > 1
    """
TESTS = """\
    import pytest
    import shop


    @pytest.mark.parametrize("quantity", [1, 11])
    def test_tier(quantity):
        assert shop.tier(quantity) == ("big" if quantity > 5 else "small")


    @pytest.mark.parametrize("several", [shop.several(1)])
    def test_several(several):
        assert shop.several(5)


    def test_tier_again():
        assert shop.tier(11) == "big"


    def test_total():
        assert shop.total(150, 3) == 450


    def test_check():
        with pytest.raises(ValueError):
            shop.check(-5)


    def test_old():
        with pytest.warns(DeprecationWarning):
            shop.old()


    def test_size():
        assert shop.size("word") == "small"


    def test_odd():
        shop.Odd.asked = 0
        shop.odd(shop.Odd(), 1)
        assert shop.Odd.asked == 1
    """
CASES = [
    Case("tie", "quantity >= least", "quantity > least", "shop.py"),
    Case("unused", "// 100", "// 10", "shop.py"),
    Case("message", '"no " + "pieces"', '"no " * 2', "shop.py"),
    Case("warning", '"use " + "new"', "None", "shop.py"),
    Case("default", "tier(len(word), 10)", "tier(len(word))", "shop.py"),
    Case("odd", "one < other", "one.__lt__(other)", "shop.py"),
    Case("static", "asked = 0", "asked = 1", "shop.py"),
    Case("collected", "piece > 1", "piece >= 1", "shop.py"),
]


KILLED = Case("killed", "return price * pieces", "return price", "shop.py")


def shop_in(project: Project) -> Project:
    return project.write({"shop.py": SHOP, "test_shop.py": TESTS}).cases([*CASES, KILLED])


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    """One run, at which several tests look."""
    return shop_in(new_project()).run()


@pytest.fixture
def shop(project: Project) -> Project:
    return shop_in(project)


def test_why(ran: Run) -> None:
    assert {name for name, status in ran.statuses().items() if status == "survived"} == {case.name for case in CASES}
    why = {name: ran.mutant(name)["why"] for name in ran.statuses()}
    tie = why["tie"]
    assert (tie["kind"], tie["tests"], tie["infected"]) == ("not_infected", 4, 0)  # the cached test is asked alone
    assert tie["differs"] == "quantity == least"
    assert {"operands": "quantity=1, least=10", "value": "False", "mutated": "False"} in tie["samples"]
    assert (why["unused"]["kind"], why["unused"]["infected"]) == ("not_noticed", 1)
    assert why["unused"]["samples"] == [{"operands": "price=150, pieces=3", "value": "4", "mutated": "45"}]
    assert why["message"]["kind"] == why["warning"]["kind"] == "message"
    assert why["default"]["kind"] == "default"
    assert why["odd"] is None  # somebody's own operator: nothing can be told
    assert why["static"] is None
    assert why["collected"] is None  # its file's collection infects it, which no probe sees
    assert why["killed"] is None


@pytest.mark.lengthy
def test_nothing_is_probed_where_nothing_is_forked(project: Project) -> None:
    project.write({
        "subject.py": "def f(a):\n    if a < 0:\n        raise ValueError('no ' * 2)\n    return a\n",
        "test_code.py": """\
            import pytest, subject
            def test_f():
                assert subject.f(1) == 1
                with pytest.raises(ValueError):
                    subject.f(-1)
            """,
    })  # fmt: skip
    project.cases([Case("tie", "a < 0", "a <= 0", "subject.py"), Case("message", "* 2", "* 3", "subject.py")])
    ran = project.run("--kill-matrix-executor=subprocess")
    assert ran.mutant("tie")["why"] is None
    assert ran.mutant("message")["why"]["kind"] == "message"


def test_no_cell_changes(shop: Project, ran: Run) -> None:
    shop.write({"conftest.py": """\
        from pytest_killmatrix.explaining import Explainer
        Explainer.explain = lambda *arguments, **words: None
        """})  # fmt: skip
    without = shop.run()
    assert ran.cells() == without.cells()
    assert all(mutant["why"] is None for mutant in without.data["mutants"])


def test_tests_that_disturb_probes_harm_nothing(project: Project) -> None:
    """They see the probes at work, and fail of that or end the process: no cell says so, and no cause is made up."""
    project.write({
        "subject.py": "def f(a, b):\n    return a < b\n",
        "test_code.py": """\
            import os, sys, subject
            def calls():
                seen = []
                sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name)))
                try:
                    assert subject.f(1, 2)
                finally:
                    sys.setprofile(None)
                return [name for event, name in seen if event == "call"]
            def test_fails():
                found = calls()
                if found != ["f"]:
                    open(os.environ["SEEN"], "a").write("failed ")
                assert found == ["f"]
            def test_leaves():
                if calls() != ["f"]:
                    open(os.environ["SEEN"], "a").write("left ")
                    os._exit(3)
            def test_other():
                assert subject.f(1, 3)
            """,
    })  # fmt: skip
    seen = project.outside / "seen.txt"
    seen.write_text("")
    ran = project.cases([Case("tie", "a < b", "a <= b", "subject.py")]).run(env={"SEEN": str(seen)})
    assert set(seen.read_text().split()) == {"failed", "left"}  # or nothing was tried here
    mutant = ran.mutant("tie")
    assert mutant["status"] == "survived"
    assert [cell["outcome"] for cell in mutant["cells"]] == ["passed"] * 3
    assert mutant["why"] is None  # two of three tests were not seen


def test_a_fault_of_ours_costs_no_cell(shop: Project, ran: Run) -> None:
    shop.write({"conftest.py": """\
        from pytest_killmatrix.probing import Prober
        def fail(*arguments, **words):
            raise RuntimeError("a fault")
        Prober.look_at = fail
        """})  # fmt: skip
    with_fault = shop.run()
    assert with_fault.status == 0
    assert "why mutants survived was not found out: RuntimeError: a fault" in " ".join(with_fault.screen.split())
    assert with_fault.cells() == ran.cells()


def test_an_interrupted_explanation_keeps_the_matrix(shop: Project) -> None:
    shop.write({"conftest.py": """\
        from pytest_killmatrix.explaining import Explainer
        def explain(*arguments, **words):
            raise KeyboardInterrupt
        Explainer.explain = explain
        """})  # fmt: skip
    ran = shop.run()
    assert ran.status == 2
    assert "interrupted" in ran.screen
    assert len(ran.cells()) > 5
    (shop.path / "conftest.py").write_text("")
    again = shop.run()
    assert again.status == 0


def test_reports_of_a_run(shop: Project) -> None:
    """The options of pytest write what the command exports, and nothing over a file that is no report."""
    summary = shop.outside / "summary.md"
    places = {name: shop.outside / f"report.{name}" for name in ("html", "markdown", "stryker")}
    ran = shop.execute(
        shop.command(*(f"--kill-matrix-{name}={path}" for name, path in places.items()), "--kill-matrix-github"),
        env={"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(shop.path.parent)},
    )
    assert ran.status == 0, ran.screen
    for name, path in places.items():
        assert str(path) in ran.screen
        done = shop.execute(
            [
                sys.executable,
                "-m",
                "pytest_killmatrix.cli",
                "export",
                "--format",
                name,
                "-o",
                str(shop.outside / "other"),
            ]
        )
        assert done.status == 0, done.screen
        assert (shop.outside / "other").read_text() == path.read_text()
        (shop.outside / "other").unlink()
    assert summary.read_text().startswith("<!-- pytest-killmatrix -->\n# Kill matrix\n")
    assert "::warning file=project/shop.py,line=" in ran.screen
    document = json.loads(places["stryker"].read_text())
    statuses = [mutant["status"] for mutant in document["files"]["shop.py"]["mutants"]]
    assert sorted(statuses) == ["Killed", *["Survived"] * len(CASES)]


@pytest.mark.parametrize("option", ["html", "markdown", "stryker"])
def test_a_users_file_is_left_alone(shop: Project, option: str) -> None:
    ran = shop.execute(shop.command(f"--kill-matrix-{option}={shop.path / 'shop.py'}"))
    assert ran.status == 4
    assert f"no report of ours, not touched; give another place with --kill-matrix-{option}=PATH" in ran.screen
    ran = shop.execute(shop.command(f"--kill-matrix-{option}={shop.report}"))
    assert ran.status == 4
    assert "both name" in ran.screen


ARITHMETIC = """\
    def clamp(value, low, high):
        if value < low:
            return low
        if value > high or high < low:
            return high
        return value


    def mean(values, start=0):
        total = start
        for value in values:
            total += value
        return total / len(values) if values else 0


    def grade(points, best=100):
        share = points * 100 // best
        if share >= 90 and points > 0:
            return "good"
        return "fair" if not share < 50 else "poor"


    def span(text, sep="-"):
        first, _, last = text.partition(sep)
        return int(last or first) - int(first) + 1
    """
ITS_TESTS = """\
    import pytest
    from code_under_test import clamp, grade, mean, span


    @pytest.mark.parametrize(("value", "expected"), [(5, 5), (-1, 0), (11, 10), (0, 0)])
    def test_clamp(value, expected):
        assert clamp(value, 0, 10) == expected


    def test_mean():
        assert mean([1, 2, 6]) == 3
        assert mean([]) == 0
        mean([4], start=0)


    @pytest.mark.parametrize("points", [95, 60, 10])
    def test_grade(points):
        assert grade(points) in ("good", "fair", "poor")


    def test_span():
        assert span("3-5") == 3
        span("7")
    """


@pytest.mark.lengthy
def test_what_no_test_infects_no_test_kills(project: Project) -> None:
    """All mutants are asked, those that are killed too: weak mutation must never deny what the matrix shows."""
    project.write({
        "code_under_test.py": ARITHMETIC,
        "test_code.py": ITS_TESTS,
        "conftest.py": """\
            from pytest_killmatrix.store.survivors import Survivors
            from pytest_killmatrix.store.writer import Sidecar
            class EveryMutant(Survivors):
                def __init__(self, connection, run):
                    super().__init__(connection, run)
                    self.tests = {}
                    rows = connection.execute("SELECT mutant, test FROM cells WHERE run = ? ORDER BY 1, 2", (run,))
                    for mutant, test in rows:
                        self.tests.setdefault(mutant, []).append(test)
                    self.sizes = {mutant: len(tests) for mutant, tests in self.tests.items()}
                def __getitem__(self, mutant):
                    return self.tests[mutant]
            def every_mutant(self, run, below=None):
                self.flush()
                return EveryMutant(self._connection, run)
            Sidecar.survivors = every_mutant
            """,
    })  # fmt: skip
    ran = project.run("--kill-matrix-static=skip", "--mutate=code_under_test.py")
    asked = [mutant for mutant in ran.data["mutants"] if mutant["why"] is not None]
    denied = [mutant for mutant in asked if mutant["why"]["kind"] in ("not_infected", "default")]
    assert len(asked) > 40
    assert len(denied) > 5
    assert [(mutant["key"], mutant["killed_by"]) for mutant in denied if mutant["killed_by"]] == []
