"""A test that reads the mutated file itself sees it without the mutant: its cells are not believed."""

from __future__ import annotations

import pytest
from projects import Case, Project

pytestmark = pytest.mark.lengthy

CODE = """\
def value(n):
    return n + 1

def text():
    import inspect
    return inspect.getsource(value)
"""
READS = {
    "open": "source = open(code_.__file__).read()",
    "path": "source = pathlib.Path(code_.__file__).read_text()",
    "bytes": "source = os.fdopen(os.open(code_.__file__.encode(), os.O_RDONLY)).read()",
    "inspect": "source = inspect.getsource(code_)",
    "lines": "source = ''.join(linecache.getlines(code_.__file__))",
    "product": "source = 'n + 1' and code_.text()",
    "data": "source = pkgutil.get_data('code_', 'code_.py').decode()",
}


@pytest.mark.parametrize("how", READS)
def test_what_a_reader_says_is_no_outcome(project: Project, how: str) -> None:
    project.write({
        "code_.py": CODE,
        "test_code.py": f"""\
            import code_, inspect, linecache, os, pathlib, pkgutil
            def test_before(): assert code_.value(0)
            def test_reads():
                {READS[how]}
                assert "n + 1" in source and code_.value(1) == 2
        """,
    }).cases([Case("read", "n + 1", "n + 2", "code_.py")])  # fmt: skip
    ran = project.run()
    mutant = ran.mutant("read")
    assert mutant["status"] == "pending", ran.screen
    assert mutant["reason"] == "not observable: test_code.py::test_reads reads the source of code_.py itself"
    assert ran.outcomes("read") == {"test_before": "passed"}


@pytest.mark.parametrize(
    "body",
    [
        "assert code_.value(1) == 2",
        "import importlib; importlib.reload(code_); assert code_.value(1) == 2",
        "import traceback\n    try: code_.value(None)\n    except TypeError: traceback.format_exc()\n"
        "    assert code_.value(1) == 2",
        "import warnings; warnings.warn('x'); assert code_.value(1) == 2",
        "open(code_.__file__ + '.tmp', 'w').close(); assert code_.value(1) == 2",
    ],
)
def test_loading_and_showing_are_no_reading(project: Project, body: str) -> None:
    project.write({"code_.py": CODE, "test_code.py": f"import code_\ndef test():\n    {body}\n"})
    project.cases([Case("m", "n + 1", "n + 2", "code_.py")])
    before = project.snapshot()
    ran = project.execute(project.command())
    assert ran.statuses() == {"m": "killed"}, ran.screen
    assert set(project.changes(before)) <= {"code_.py.tmp"}


def test_another_test_may_kill(project: Project) -> None:
    project.write({
        "code_.py": CODE,
        "test_code.py": """\
            import code_
            def test_reads(): assert open(code_.__file__).read() and code_.value(1) == 2
            def test_value(): assert code_.value(1) == 2
        """,
    }).cases([Case("m", "n + 1", "n + 2", "code_.py")])  # fmt: skip
    ran = project.run()
    assert ran.statuses() == {"m": "killed"}
    assert ran.outcomes("m") == {"test_value": "assertion"}
