"""Faults while a test file is collected again, and while the mutated module is imported again."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from fault_table import FAULTS, SHORT, Fault, Layout, check_row, chosen, fault_rows, run
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

#: an import or a collection that hangs is given five seconds: one of each kind has to do
COLLECTED = [name for name in (*SHORT, "c_stack", "sys_path", "leaves_session") if name != "loop"]
#: streams are not captured yet where the module alone is imported again
IMPORTED = [name for name in SHORT if name not in ("sleep", "close_stdout", "close_all")]
IMPORTED_ANEW = ["sleep", "leaves_daemon", "exit_green", "sys_exit", "kill", "memory"]
#: what cannot be imported is no mutant that a test could notice
INVALID = {"sys_exit", "pytest_exit", "interrupt"}

#: where pytest makes something else of it while it collects
COLLECTION = {"sys_exit": {"crash"}, "pytest_exit": {"crash", "exception"}, "close_stdout": {"crash"}}


def collected(layout: Layout, fault: str) -> None:
    call = layout.mutated(fault)
    layout.files[f"test_{fault}.py"] = (
        f"import code_, pytest\n"
        f"def test_{fault}_1(): assert {call}(1) == 1\n"
        f"@pytest.mark.parametrize('n', [{call}(2)])\ndef test_{fault}_2(n): assert n == 2\n"
    )
    layout.other.append(f"def test_other_{fault}(state): assert {call}(4) == 4\n")


def imported(layout: Layout, fault: str) -> None:
    """All in one module, which one test file imports at its top and another in a test."""
    name = fault.upper()
    # the module itself holds nothing that would send it to a fresh interpreter
    layout.files["imported.py"] = layout.files.get("imported.py", "") + f"{name} = 1\n"
    layout.cases.append(Case(fault, f"{name} = 1", f"{name} = 1; __import__('disaster').{fault}()", "imported.py"))
    layout.files["test_imports.py"] = (
        "import imported\ndef test_first(): assert imported.LOOP == 1\ndef test_second(): assert imported\n"
    ).replace("LOOP", name)
    layout.files["test_no_import.py"] = "def test_apart(): pass\n"


def imported_by_conftest(layout: Layout, fault: str) -> None:
    """Then no test can run without it."""
    imported(layout, fault)
    layout.conftest = ["import pytest, imported\n"]


@pytest.fixture(scope="module")
def collecting(new_project: Callable[[], Project]) -> Callable[[str], Run]:
    return functools.cache(lambda executor: run(new_project(), executor, chosen(executor, COLLECTED), collected))


@fault_rows(COLLECTED)
def test_a_fault_in_a_collection(collecting: Callable[[str], Run], executor: str, fault: str) -> None:
    found = collecting(executor)
    expected = Fault(fault, frozenset(COLLECTION.get(fault, FAULTS[fault].outcomes)))
    check_row(found, expected, [f"test_{fault}_1", f"test_{fault}_2[2]"], "collect")


@pytest.fixture(scope="module")
def importing(new_project: Callable[[], Project]) -> Callable[[str], Run]:
    return functools.cache(
        lambda executor: run(new_project(), executor, chosen(executor, IMPORTED), imported, "--mutate=imported.py")
    )


@fault_rows(IMPORTED)
def test_a_fault_in_an_import(importing: Callable[[str], Run], executor: str, fault: str) -> None:
    found = importing(executor)
    if fault in INVALID:
        assert found.statuses()[fault] == "invalid"
    else:
        check_row(found, FAULTS[fault], ["test_first", "test_second"], "collect")


@pytest.fixture(scope="module")
def importing_anew(new_project: Callable[[], Project]) -> Callable[[str], Run]:
    return functools.cache(
        lambda executor: run(
            new_project(), executor, chosen(executor, IMPORTED_ANEW), imported_by_conftest, "--mutate=imported.py"
        )
    )


@fault_rows(IMPORTED_ANEW)
def test_a_fault_in_an_import_by_a_conftest(importing_anew: Callable[[str], Run], executor: str, fault: str) -> None:
    found = importing_anew(executor)
    if fault in INVALID:
        assert found.statuses()[fault] == "invalid"
    else:
        tests = [test["nodeid"].split("::")[1] for test in found.data["tests"]]
        assert len(found.mutant(fault)["cells"]) == len(tests)
        check_row(found, FAULTS[fault], tests, "collect")
