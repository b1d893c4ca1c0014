"""One child a test gives the same cells as one child a mutant, whatever kind the items are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from projects import Case, Project, Run

FILES = {
    "shop.py": '''\
        import os
        RATE = 100

        def plain(n):
            """Add one.

            >>> plain(1)
            2
            """
            return n + 1

        def default(n=300):
            return n

        def param():
            return [1, 2, 3][:3]

        def at_collection():
            return 400

        def shared():
            return 500

        def endless(n):
            return n + 600

        def dies(n):
            return n + 700

        def skips(n):
            return n + 800

        def case(n):
            return n + 900

        def quiet(n):
            return n + 1000
        ''',
    "test_shop.py": """\
        import unittest
        import pytest, shop

        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_plain(n): assert shop.plain(n) == n + 1
        def test_default(): assert shop.default() == 300
        def test_rate(): assert shop.RATE == 100
        @pytest.mark.parametrize("n", shop.param())
        def test_param(n): assert n < 4
        @pytest.fixture(scope="module")
        def base():
            yield shop.shared()
            assert shop.quiet(1) == 1001
        def test_shared(base): assert base == 500
        def test_shared_again(base): assert base > 0
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_endless(n): assert shop.endless(n) == n + 600
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_dies(n): assert shop.dies(n) == n + 700
        def test_skips():
            if shop.skips(1) != 801: pytest.skip("no")
        @pytest.mark.xfail
        def test_xfails(): assert shop.plain(1) == 3
        class TestCase(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.base = shop.case(1)
            def test_case(self): self.assertEqual(self.base, 901)
            def test_sub(self):
                for n in range(2):
                    with self.subTest(n=n): self.assertEqual(shop.case(n), n + 900)
        """,
    "test_collected.py": """\
        import shop
        NUMBER = shop.at_collection()
        def test_number(): assert NUMBER == 400
        def test_other(): assert shop.plain(0) == 1
        """,
}
CASES = [
    Case("plain", "return n + 1\n", "return n - 1\n", "shop.py"),
    Case("some", "return n + 1\n", "return n + (n != 2)\n", "shop.py"),
    Case("rate", "RATE = 100", "RATE = 101", "shop.py"),
    Case("default", "n=300", "n=301", "shop.py"),
    Case("fewer", "[:3]", "[:2]", "shop.py"),
    Case("collected", "return 400", "return 401", "shop.py"),
    Case("uncollectable", "return 400", "raise OSError", "shop.py"),
    Case("shared", "return 500", "return 501", "shop.py"),
    Case("broken", "return 500", "raise OSError", "shop.py"),
    Case("endless", "return n + 600", "while n == 2: pass\n    return n + 600", "shop.py"),
    Case("dies", "return n + 700", "if n == 2: os._exit(0)\n    return n + 700", "shop.py"),
    Case("skips", "return n + 800", "return n - 800", "shop.py"),
    Case("case", "return n + 900", "return n - 900", "shop.py"),
    Case("torn", "return n + 1000", "return n - 1000", "shop.py"),
    Case("quiet", "return n + 900", "return int(n + 900)", "shop.py"),
]


@pytest.fixture(scope="module")
def rows(new_project: Callable[[], Project]) -> Run:
    return new_project().write(FILES).cases(CASES).run("--mutate=shop.py", "--doctest-modules")


@pytest.fixture(scope="module")
def apart(new_project: Callable[[], Project]) -> Run:
    words = ("--mutate=shop.py", "--doctest-modules", "--kill-matrix-isolation=test")
    return new_project().write(FILES).cases(CASES).run(*words)


def test_every_test_was_alone(apart: Run) -> None:
    assert apart.status == 0
    assert {cell["isolation"] for mutant in apart.data["mutants"] for cell in mutant["cells"]} == {"alone"}


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_the_cells_are_the_same(rows: Run, apart: Run, name: str) -> None:
    assert rows.statuses()[name] == apart.statuses()[name]
    assert rows.outcomes(name) == apart.outcomes(name)
    assert {cell["test"]: (cell["phase"], cell["exception"]) for cell in rows.mutant(name)["cells"]} == {
        cell["test"]: (cell["phase"], cell["exception"]) for cell in apart.mutant(name)["cells"]
    }
