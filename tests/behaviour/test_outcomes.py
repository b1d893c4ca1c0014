"""What each cell says: one function, one test and one mutant for every way in which a test can end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from projects import Case, Project, Run

#: name, body of the function, body of the mutant, the test's lines (@ stands for the call), the expected cell
PLAIN: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("equal", "return 1", "return 2", "assert @ == 1", {"outcome": "assertion", "exception": "AssertionError"}),
    ("fails", "return 1", "return 2", "if @ != 1: pytest.fail('no')",
     {"outcome": "assertion", "message": "no", "exception": "Failed"}),
    ("helper", "return 1", "return 2", "library.check(@)", {"outcome": "assertion", "raised_at": "library.py:2"}),
    ("boom", "return 1", "raise ValueError('boom\\nmore')", "@",
     {"outcome": "exception", "exception": "ValueError", "message": "boom", "phase": "call", "flags": []}),
    ("own_assert", "return 1", "assert False, 'inner'", "@",
     {"outcome": "exception", "exception": "AssertionError", "flags": ["product_oracle"]}),
    ("deep", "return 1", "return deep()", "@", {"outcome": "exception", "exception": "RecursionError"}),
    ("unprintable", "return 1", "raise Unprintable", "@", {"outcome": "exception"}),
    ("sys_exit", "return 1", "raise SystemExit(0)", "@", {"outcome": "exception", "exception": "SystemExit"}),
    ("exit_green", "return 1", "os._exit(0)", "@", {"outcome": "crash"}),
    ("killed", "return 1", "os.kill(os.getpid(), 9)", "@", {"outcome": "crash"}),
    ("aborted", "return 1", "os.abort()", "@", {"outcome": "crash"}),
    ("session_exit", "return 1", "pytest.exit('enough')", "@", {"outcome": "crash"}),
    ("interrupt", "return 1", "raise KeyboardInterrupt", "@", {"outcome": "crash"}),
    ("endless", "return 1", "while True: pass", "@", {"outcome": "timeout"}),
    ("sleepy", "return 1", "time.sleep(60)", "@", {"outcome": "timeout"}),
    ("skips", "return 1", "pytest.skip('not today')", "@", {"outcome": "skipped", "message": "not today"}),
    ("skip_case", "return 1", "raise unittest.SkipTest('no')", "@", {"outcome": "skipped"}),
    ("xfails", "return 1", "pytest.xfail('known')", "@", {"outcome": "passed"}),
    ("nothing_raised", "raise KeyError", "return 1", "with pytest.raises(KeyError): @", {"outcome": "assertion"}),
    ("other_raised", "raise KeyError", "raise TypeError", "with pytest.raises(KeyError): @",
     {"outcome": "assertion", "exception": "TypeError"}),
    ("other_text", "raise KeyError('a')", "raise KeyError('b')", "with pytest.raises(KeyError, match='a'): @",
     {"outcome": "assertion"}),
    ("handled_inside", "return 1", "raise TypeError",
     "with pytest.raises(KeyError):\n        try: @\n        except TypeError: pass\n        raise KeyError",
     {"outcome": "passed"}),
    ("after_raises", "return 1", "raise TypeError", "with pytest.raises(KeyError): raise KeyError\n    @",
     {"outcome": "exception"}),
    ("raised_from", "raise KeyError", "raise TypeError",
     "try:\n        with pytest.raises(KeyError): @\n    except TypeError as error: raise RuntimeError from error",
     {"outcome": "assertion", "exception": "RuntimeError"}),
    ("no_warning", "warnings.warn('old', UserWarning)", "pass", "with pytest.warns(UserWarning): @",
     {"outcome": "assertion"}),
    ("error_not_warning", "warnings.warn('old', UserWarning)", "raise ValueError",
     "with pytest.warns(UserWarning): @", {"outcome": "assertion"}),
    ("deprecated", "warnings.warn('old', DeprecationWarning)", "pass", "with pytest.deprecated_call(): @",
     {"outcome": "assertion"}),
    ("set_up", "return 1", "raise ValueError", "FIXTURE yield @", {"outcome": "exception", "phase": "setup"}),
    ("set_up_assert", "return 1", "return 2", "FIXTURE assert @ == 1; yield",
     {"outcome": "assertion", "phase": "setup"}),
    ("set_up_skip", "return 1", "pytest.skip('no')", "FIXTURE yield @", {"outcome": "skipped", "phase": "setup"}),
    ("tear_down", "return 1", "raise ValueError", "FIXTURE yield; @", {"outcome": "exception", "phase": "teardown"}),
    ("tear_down_assert", "return 1", "return 2", "FIXTURE yield; assert @ == 1",
     {"outcome": "assertion", "phase": "teardown"}),
    ("tear_down_exit", "return 1", "os._exit(0)", "FIXTURE yield; @", {"outcome": "crash"}),
    ("quiet", "return 1", "return 2", "@", {"outcome": "passed", "exception": None, "message": None}),
]  # fmt: skip

TEST_FILE = """\
import doctest, os, sys, time, unittest, warnings
import code_ as code, library, pytest

@pytest.mark.xfail(strict=True)
def test_strict(): assert code.strict() == 1

@pytest.mark.xfail(strict=False)
def test_lenient(): assert code.lenient() == 1

@pytest.mark.xfail(raises=AssertionError)
def test_xfail_raises(): assert code.xfail_raises() == 1

class TestCase(unittest.TestCase):
    def test_case_equal(self): self.assertEqual(code.case_equal(), 1)
    def test_case_error(self): code.case_error()
    def test_case_nothing(self):
        with self.assertRaises(KeyError): code.case_nothing()
    def test_case_other(self):
        with self.assertRaises(KeyError): code.case_other()
    def test_case_logs(self):
        with self.assertLogs("shop"): code.case_logs()
    def test_case_sub(self):
        for number in (1, 2):
            with self.subTest(number=number): self.assertEqual(code.case_sub(number), number)
    def test_case_clean_up(self): self.addCleanup(lambda: self.assertEqual(code.case_clean_up(), 1))
    def test_case_skip(self): code.case_skip()
    @unittest.expectedFailure
    def test_case_expected(self): self.assertEqual(code.case_expected(), 1)
"""

#: the same for tests that are written out above or below
WRITTEN: list[tuple[str, str, str, dict[str, Any]]] = [
    ("strict", "return 2", "return 1", {"outcome": "assertion"}),
    ("lenient", "return 2", "return 1", {"outcome": "passed", "flags": ["xpassed"]}),
    ("xfail_raises", "return 2", "raise TypeError", {"outcome": "exception", "exception": "TypeError"}),
    ("case_equal", "return 1", "return 2", {"outcome": "assertion", "exception": "AssertionError"}),
    ("case_error", "return 1", "raise OSError", {"outcome": "exception", "exception": "OSError"}),
    ("case_nothing", "raise KeyError", "return 1", {"outcome": "assertion"}),
    ("case_other", "raise KeyError", "raise OSError", {"outcome": "assertion", "exception": "OSError"}),
    ("case_logs", "logging.getLogger('shop').error('x')", "return 1", {"outcome": "assertion"}),
    ("case_sub", "return number", "return 1", {"outcome": "assertion"}),
    ("case_clean_up", "return 1", "return 2", {"outcome": "assertion"}),
    ("case_skip", "return 1", "raise unittest.SkipTest", {"outcome": "skipped"}),
    ("case_expected", "return 2", "return 1", {"outcome": "assertion"}),
    ("in_text", "return 1", "return 2", {"outcome": "assertion"}),
    ("in_text_error", "return 1", "raise OSError", {"outcome": "exception"}),
]

if sys.version_info >= (3, 11):
    TEST_FILE += """
def test_group():
    errors = [ValueError()]
    try: assert code.group() == 1
    except AssertionError as error: errors.append(error)
    if len(errors) > 1: raise ExceptionGroup("several", [ValueError(), ExceptionGroup("inner", errors)])

def test_group_of_errors():
    if code.group_of_errors() != 1: raise ExceptionGroup("several", [ValueError(), TypeError()])
"""
    WRITTEN += [
        ("group", "return 1", "return 2", {"outcome": "assertion"}),
        ("group_of_errors", "return 1", "return 2", {"outcome": "exception"}),
    ]

if pytest.version_tuple >= (9,):
    TEST_FILE += """
def test_subtests(subtests):
    for number in (1, 2):
        with subtests.test(number=number): assert code.subtests(number) == number
"""
    WRITTEN.append(("subtests", "return number", "return 1", {"outcome": "assertion"}))

DOCTEST = """\
>>> import code_ as code
>>> code.in_text()
1
"""


def _test(name: str, lines: str) -> str:
    call = lines.replace("@", f"code.{name}()")
    if call.startswith("FIXTURE "):
        body = call.removeprefix("FIXTURE ")
        return f"@pytest.fixture\ndef {name}():\n    {body}\ndef test_{name}({name}): pass\n"
    return f"def test_{name}():\n    {call}\n"


def _body(name: str, statement: str) -> str:
    return f"'{name}'\n    {statement}"  # the docstring makes it unique


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    bodies = [(name, before, after) for name, before, after, _, _ in PLAIN]
    bodies += [(name, before, after) for name, before, after, _ in WRITTEN]
    code = "import logging, os, time, unittest, warnings\nimport pytest\n"
    code += "class Unprintable(Exception):\n    def __str__(self): raise ValueError\n"
    code += "".join(f"def {name}(number=0):\n    {_body(name, before)}\n" for name, before, _ in bodies)
    project = new_project().write(
        {
            "code_.py": code,
            "library.py": "def check(value):\n    assert value == 1\n",
            "test_code.py": TEST_FILE + "".join(_test(name, lines) for name, _, _, lines, _ in PLAIN),
            "test_text.txt": DOCTEST,
            "test_text_error.txt": DOCTEST.replace("in_text", "in_text_error"),
        }
    )
    project.cases(Case(name, _body(name, before), _body(name, after), "code_.py") for name, before, after in bodies)
    return project.run("--mutate=code_.py")


def test_the_suite_itself_passes(ran: Run) -> None:
    assert ran.status == 0
    assert ran.data["run"]["controls"]["noop_kills"] == []


EXPECTED = {name: expected for name, *_, expected in PLAIN} | {name: expected for name, *_, expected in WRITTEN}


@pytest.mark.parametrize("name", EXPECTED)
def test_outcome(ran: Run, name: str) -> None:
    cell = ran.cell(name)
    assert {key: cell[key] for key in EXPECTED[name]} == EXPECTED[name]
