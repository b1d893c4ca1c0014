"""Other plugins and pytest's own options: they keep their effect, and the cells are what they would be without."""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

FILES = {
    "shop.py": """\
        import time

        def value(n):
            return n + 1

        def other(n):
            return n * 2
        """,
    "test_shop.py": """\
        import pytest, shop

        @pytest.mark.parametrize("n", range(4))
        def test_value(n): assert shop.value(n) == n + 1

        @pytest.mark.parametrize("n", range(4))
        def test_other(n): assert shop.other(n) in (2 * n, 0)
        """,
}
CASES = [
    Case("value", "n + 1", "n - 1", "shop.py"),
    Case("some", "n + 1", "n + 1 if n < 2 else 0", "shop.py"),
    Case("quiet", "n * 2", "n * 0", "shop.py"),
]
EXPECTED = {
    "value": dict.fromkeys([f"test_value[{n}]" for n in range(4)], "assertion"),
    "some": {f"test_value[{n}]": "passed" if n < 2 else "assertion" for n in range(4)},
    "quiet": dict.fromkeys([f"test_other[{n}]" for n in range(4)], "passed"),
}


@pytest.fixture
def small(project: Project) -> Project:
    return project.write(FILES).cases(CASES)


def check(ran: Run, status: int = 0) -> None:
    """The cells are the known ones."""
    assert ran.status == status, ran.screen
    assert {name: ran.outcomes(name) for name in EXPECTED} == EXPECTED


def enabled(command: list[str], plugin: str) -> list[str]:
    """The command without the words that disable a plugin."""
    at = command.index(f"no:{plugin}") - 1
    return command[:at] + command[at + 2 :]


def test_xdist(small: Project) -> None:
    ran = small.run("-n", "2")
    check(ran)
    assert "gw0 [" not in ran.screen
    assert "[gw0]" not in ran.screen
    ran.lines.fnmatch_lines(["*8 passed*"])


def test_cov_in_addopts(small: Project) -> None:
    words = "--cov=shop --cov-branch --cov-report=term-missing --cov-context=test"
    small.write({"pytest.ini": f"[pytest]\naddopts = {words}\n"})

    def measured(ran: Run) -> tuple[list[str], list[tuple[str, str]]]:
        lines = [line for line in ran.screen.splitlines() if line.startswith(("shop.py", "TOTAL"))]
        with sqlite3.connect(small.path / ".coverage") as data:
            rows = data.execute("SELECT f.path, c.context FROM arc a, file f, context c "
                                "WHERE a.file_id = f.id AND a.context_id = c.id ORDER BY 1, 2").fetchall()  # fmt: skip
        return lines, rows

    plain = measured(small.plain())
    (small.path / ".coverage").unlink()
    before = small.snapshot()
    ran = small.execute(small.command())
    assert ran.left == []
    assert measured(ran) == plain
    assert plain[0]
    assert len(plain[1]) > 8
    assert small.changes(before) == [".coverage"]
    check(ran)


def test_randomly(small: Project) -> None:
    small.write({"test_random.py": """\
        import random, shop
        def test_draw():
            n = random.randrange(10**9)
            assert shop.value(n) == n + 1, f"drew {n}"
        """})  # fmt: skip
    command = [*enabled(small.command(), "randomly"), "--randomly-seed=7"]
    runs = [small.execute(command) for _ in range(2)]
    assert runs[0].left == runs[1].left == []
    draw = {"test_draw": "assertion"}
    assert {name: runs[0].outcomes(name) for name in EXPECTED} == {
        "value": EXPECTED["value"] | draw, "some": EXPECTED["some"] | draw, "quiet": EXPECTED["quiet"],
    }  # fmt: skip
    assert runs[0].cells() == runs[1].cells()


def test_timeout_plugin(project: Project) -> None:
    project.write({
        "shop.py": "def signal(n):\n    return n + 1\n\ndef thread(n):\n    return n + 2\n",
        "test_shop.py": """\
            import pytest, shop
            @pytest.mark.timeout(1, method="signal")
            def test_signal(): assert shop.signal(1)
            @pytest.mark.timeout(1, method="thread")
            def test_thread(): assert shop.thread(1)
            def test_both(): assert shop.signal(1) + shop.thread(1) == 5
            """,
    })  # fmt: skip
    project.cases([
        Case("signal", "n + 1", "n if n == 1 and not __import__('time').sleep(2) else n", "shop.py"),
        Case("thread", "n + 2", "n if n == 1 and not __import__('time').sleep(2) else n", "shop.py"),
    ])  # fmt: skip
    ran = project.run("--kill-matrix-timeout=10:4")
    assert ran.status == 0
    assert ran.outcomes("signal") == {"test_signal": "timeout", "test_both": "assertion"}
    assert ran.outcomes("thread") == {"test_thread": "timeout", "test_both": "assertion"}


def test_asyncio(project: Project) -> None:
    project.write({
        "pytest.ini": "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n",
        "shop.py": """\
            import asyncio
            async def value(n):
                await asyncio.sleep(0)
                return n + 1
            async def many(n):
                for m in range(n):
                    yield m + 2
            async def wait(n):
                await asyncio.sleep(n * 0)
            """,
        "test_shop.py": """\
            import asyncio, pytest, pytest_asyncio, shop
            @pytest_asyncio.fixture
            async def three(): return await shop.value(2)
            async def test_value(): assert await shop.value(1) == 2
            async def test_fixture(three): assert three == 3
            async def test_many(): assert [m async for m in shop.many(2)] == [2, 3]
            async def test_wait(): await asyncio.wait_for(shop.wait(1), 0.3)
            class TestGroup:
                async def test_gather(self): assert await asyncio.gather(shop.value(1), shop.value(2)) == [2, 3]
            """,
    })  # fmt: skip
    project.cases([
        Case("value", "n + 1", "n - 1", "shop.py"), Case("many", "m + 2", "m - 2", "shop.py"),
        Case("wait", "n * 0", "n * 9", "shop.py"),
    ])  # fmt: skip
    ran = project.run()
    assert ran.outcomes("value") == dict.fromkeys(["test_value", "test_fixture", "TestGroup::test_gather"], "assertion")
    assert ran.outcomes("many") == {"test_many": "assertion"}
    assert ran.outcomes("wait") == {"test_wait": "exception"}
    assert ran.status == 0


def test_hypothesis(project: Project) -> None:
    project.write({
        "shop.py": "def value(n):\n    return n + 1\n\ndef small(n):\n    return n < 20\n",
        "test_shop.py": """\
            import shop
            from hypothesis import given, settings, strategies as st
            @given(st.integers())
            def test_value(n): assert shop.value(n) == n + 1
            @settings(max_examples=30)
            @given(st.integers(0, 10**6))
            def test_small(n): assert shop.small(n) == (n < 20)
            """,
    })  # fmt: skip
    project.cases([
        Case("value", "n + 1", "n - 1", "shop.py"), Case("rare", "n < 20", "n < 21", "shop.py"),
        Case("often", "n < 20", "n >= 20", "shop.py"),
    ])  # fmt: skip
    runs = [project.execute(project.command()) for _ in range(2)]
    assert runs[0].left == runs[1].left == []
    assert runs[0].cells() == runs[1].cells()
    assert runs[0].outcomes("value") == {"test_value": "assertion"}
    assert runs[0].outcomes("often") == {"test_small": "assertion"}
    examples = project.path / ".hypothesis" / "examples"
    assert not examples.exists() or not list(examples.rglob("*"))


def test_unittest_classes_and_doctests(project: Project) -> None:
    project.write({
        "shop.py": '''\
            def value(n):
                """Add one.

                >>> value(1)
                2
                >>> value(None)
                Traceback (most recent call last):
                TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'
                """
                return n + 1

            def base():
                return 3
            ''',
        "test_shop.py": """\
            import unittest, shop
            class TestShop(unittest.TestCase):
                @classmethod
                def setUpClass(cls): cls.base = shop.base()
                def setUp(self): self.n = 1
                def test_value(self): self.assertEqual(shop.value(self.n), 2)
                def test_base(self): self.assertEqual(self.base, 3)
                def test_sub(self):
                    for n in range(3):
                        with self.subTest(n=n): self.assertEqual(shop.value(n), n + 1)
            class TestAsync(unittest.IsolatedAsyncioTestCase):
                async def test_async(self): self.assertEqual(shop.value(1), 2)
            """,
    })  # fmt: skip
    project.cases([
        Case("value", "n + 1", "n - 1", "shop.py"), Case("base", "return 3", "return 4", "shop.py"),
        Case("broken", "return 3", "raise OSError", "shop.py"),
    ])  # fmt: skip
    ran = project.run("--doctest-modules")
    assert ran.status == 0
    assert ran.outcomes("value") == dict.fromkeys(
        ["shop.value", "TestShop::test_value", "TestShop::test_sub", "TestAsync::test_async"], "assertion"
    )
    assert ran.outcomes("base")["TestShop::test_base"] == "assertion"
    assert ran.outcomes("broken") == dict.fromkeys(
        ["TestShop::test_value", "TestShop::test_base", "TestShop::test_sub"], "exception"
    )


def test_conftest_hooks(small: Project) -> None:
    small.write({"conftest.py": """\
        import pytest
        STATE = {}
        def pytest_collection_modifyitems(items): items.reverse()
        def pytest_runtest_setup(item): STATE["now"] = item.name
        @pytest.hookimpl(wrapper=True)
        def pytest_pyfunc_call(pyfuncitem):
            assert STATE["now"] == pyfuncitem.name
            return (yield)
        def pytest_runtest_teardown(item): assert STATE.pop("now") == item.name
        @pytest.fixture(autouse=True)
        def everywhere(request): yield STATE["now"]
        """})  # fmt: skip
    check(small.run())


def test_warnings_as_errors(project: Project) -> None:
    project.write({
        "shop.py": """\
            import threading, warnings
            def warn(n):
                return n + 1
            def thread(n):
                return n + 2
            """,
        "test_shop.py": """\
            import threading, shop
            def test_warn(): shop.warn(1)
            def test_thread():
                thread = threading.Thread(target=shop.thread, args=(1,))
                thread.start(); thread.join()
            """,
    })  # fmt: skip
    project.cases([
        Case("warn", "n + 1", "warnings.warn('old')", "shop.py"), Case("thread", "n + 2", "n + None", "shop.py"),
    ])  # fmt: skip
    ran = project.run("-p", "no:asyncio", "-W", "error")
    assert ran.status == 0
    assert (ran.cell("warn")["outcome"], ran.cell("warn")["exception"]) == ("exception", "UserWarning")
    assert ran.cell("thread")["outcome"] == "exception"
    quiet = project.run()
    assert quiet.cell("warn")["outcome"] == quiet.cell("thread")["outcome"] == "passed"


def test_reports_and_the_cache_are_the_suites_own(small: Project) -> None:
    small.write({"test_bad.py": "import shop\ndef test_bad(): assert shop.value(1) == 3\n"})
    xml = small.outside / "junit.xml"
    cache = ["-p", "cacheprovider", "-o", f"cache_dir={small.outside}/cache"]
    command = [*enabled(small.command(), "cacheprovider"), f"--junitxml={xml}", *cache]
    ran = small.execute([*command, "-rA", "--durations=3", "-x", "--deselect=test_bad.py"])
    assert ran.left == []
    check(ran)
    assert len(ElementTree.parse(xml).getroot().findall(".//testcase")) == 8
    assert not (small.outside / "cache/v/cache/lastfailed").exists()
    check(small.execute(command), status=1)
    failed = json.loads((small.outside / "cache/v/cache/lastfailed").read_text())
    assert failed == {"test_bad.py::test_bad": True}
    ran = small.execute([*command, "--lf"])
    assert [test["excluded"] for test in ran.data["tests"]] == ["failed"]
    assert set(ran.statuses().values()) == {"no_usable_test", "no_coverage"}


def test_maxfail_means_no_matrix_when_it_stops_the_suite(small: Project) -> None:
    small.write({"test_bad.py": "import shop\ndef test_bad(): assert shop.value(1) == 3\n"})
    ran = small.run("--maxfail=1")
    assert ran.status == 1
    ran.lines.fnmatch_lines(["killmatrix: no kill matrix: the suite did not run to its end"])


def test_base_temp(small: Project) -> None:
    small.write({"test_files.py": """\
        import shop
        def test_file(tmp_path, tmp_path_factory):
            (tmp_path / "file").write_text(str(shop.value(1)))
            assert (tmp_path / "file").read_text() == "2"
            assert len(list(tmp_path_factory.getbasetemp().iterdir())) < 4
        def test_other_file(tmp_path): assert not list(tmp_path.iterdir()) and shop.value(1) == 2
        """})  # fmt: skip
    base = small.outside / "base"
    ran = small.run(f"--basetemp={base}", "-o", "tmp_path_retention_policy=all")
    check_files(ran)
    assert sorted(path.name for path in base.iterdir() if not path.is_symlink()) == ["test_file0", "test_other_file0"]
    ran = small.run()
    check_files(ran)
    (user,) = Path(small.temporary).glob("pytest-of-*")
    assert [path.name for path in user.iterdir() if not path.is_symlink()] == ["pytest-0"]


def check_files(ran: Run) -> None:
    """The tests that write files judged as ever."""
    assert ran.status == 0, ran.screen
    assert ran.outcomes("value") == EXPECTED["value"] | {"test_file": "assertion", "test_other_file": "assertion"}


def test_captured_output_logging_and_warnings(project: Project) -> None:
    project.write({
        "shop.py": """\
            import logging, os, sys, warnings
            def say(n):
                print("said", n)
                os.write(2, b"low")
                logging.getLogger("shop").warning("logged %s", n)
                return n + 1
            """,
        "test_shop.py": """\
            import shop, pytest
            def test_sys(capsys): shop.say(1); assert capsys.readouterr().out == "said 1\\n"
            def test_fd(capfd): shop.say(1); assert capfd.readouterr().err == "low"
            def test_log(caplog): shop.say(1); assert caplog.messages == ["logged 1"]
            def test_recorded(recwarn): shop.say(1); assert len(recwarn) == 0
            def test_loud(): assert shop.say(1) == 2
            def test_property(record_property, monkeypatch): monkeypatch.setattr(shop.os, "write", print); shop.say(1)
            """,
    })  # fmt: skip
    project.cases([
        Case("text", '"said"', '"sung"', "shop.py"), Case("low", 'b"low"', 'b"high"', "shop.py"),
        Case("log", '"logged %s"', '"%s"', "shop.py"), Case("warn", "return n + 1", "warnings.warn('x')", "shop.py"),
    ])  # fmt: skip
    ran = project.run()
    names = ["test_sys", "test_fd", "test_log", "test_recorded", "test_loud", "test_property"]
    for case, killer in (("text", "test_sys"), ("low", "test_fd"), ("log", "test_log")):
        assert ran.outcomes(case) == dict.fromkeys(names, "passed") | {killer: "assertion"}, case
    killers = {"test_recorded": "assertion", "test_loud": "assertion"}
    assert ran.outcomes("warn") == dict.fromkeys(names, "passed") | killers


def test_without_the_terminal_plugin(small: Project) -> None:
    check(small.run("-p", "no:terminal"))
