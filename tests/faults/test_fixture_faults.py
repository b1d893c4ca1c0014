"""Faults while fixtures of every scope are set up and torn down."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from fault_table import FAULTS, SHORT, Layout, check_row, chosen, fault_rows, run
from projects import Project, Run

pytestmark = pytest.mark.lengthy


def around(layout: Layout, call: str, fault: str) -> None:
    """Tests before and after, here and in another file, that run the mutated code and meet no fault."""
    layout.tests.append(f"def test_after_{fault}(state): assert {call}(3) == 3\n")
    layout.other.append(f"def test_other_{fault}(state): assert {call}(4) == 4\n")


def in_set_up(layout: Layout, fault: str) -> None:
    call = layout.mutated(fault)
    layout.tests.append(f"@pytest.fixture\ndef set_up_{fault}(): return {call}(2)\n")
    layout.tests.append(f"def test_before_{fault}(): assert {call}(1) == 1\n")
    layout.tests.append(f"def test_{fault}(set_up_{fault}): assert set_up_{fault} == 2\n")
    around(layout, call, fault)


def in_tear_down(layout: Layout, fault: str) -> None:
    call = layout.mutated(fault)
    layout.tests.append(f"@pytest.fixture\ndef torn_{fault}():\n    yield\n    assert {call}(2) == 2\n")
    layout.tests.append(f"def test_before_{fault}(): assert {call}(1) == 1\n")
    layout.tests.append(f"def test_{fault}(torn_{fault}): pass\n")
    around(layout, call, fault)


def in_shared_set_up(layout: Layout, fault: str) -> None:
    """Of a module: every test that uses the fixture meets the fault, when it is alone."""
    call = layout.mutated(fault)
    layout.tests.append(f"@pytest.fixture(scope='module')\ndef set_up_{fault}(): return {call}(2)\n")
    layout.tests.append(f"def test_before_{fault}(): assert {call}(1) == 1\n")
    for number in (1, 2):
        layout.tests.append(f"def test_{fault}_{number}(set_up_{fault}): assert set_up_{fault} == 2\n")
    around(layout, call, fault)


def in_session_set_up(layout: Layout, fault: str) -> None:
    """Of the session: tests of two files use it."""
    call = layout.mutated(fault)
    layout.conftest.append(
        f"@pytest.fixture(scope='session')\ndef set_up_{fault}():\n    import code_\n    return {call}(2)\n"
    )
    layout.tests.append(f"def test_{fault}_1(set_up_{fault}): assert set_up_{fault} == 2\n")
    layout.other.append(f"def test_{fault}_2(set_up_{fault}): assert set_up_{fault} == 2\n")
    around(layout, call, fault)


def in_shared_tear_down(layout: Layout, fault: str) -> None:
    """Of a module, after its last test, which need not use it."""
    call = layout.mutated(fault)
    layout.tests.append(f"@pytest.fixture(scope='module')\ndef torn_{fault}():\n    yield\n    assert {call}(2) == 2\n")
    for number in (1, 2):
        layout.tests.append(f"def test_{fault}_{number}(torn_{fault}): pass\n")
    around(layout, call, fault)


#: phase: how it is built, the phase that cells name, the tests that meet the fault
PHASES = {
    "set_up": (in_set_up, "setup", ("test_{}",)),
    "tear_down": (in_tear_down, "teardown", ("test_{}",)),
    "shared_set_up": (in_shared_set_up, "setup", ("test_{}_1", "test_{}_2")),
    "session_set_up": (in_session_set_up, "setup", ("test_{}_1", "test_{}_2")),
    "shared_tear_down": (in_shared_tear_down, "teardown", ("test_{}_1", "test_{}_2")),
}


@pytest.fixture(scope="module", params=PHASES)
def phase(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project], phase: str) -> Callable[[str], Run]:
    return functools.cache(lambda executor: run(new_project(), executor, chosen(executor, SHORT), PHASES[phase][0]))


@fault_rows(SHORT)
def test_a_fault_in_a_fixture(ran: Callable[[str], Run], executor: str, phase: str, fault: str) -> None:
    found = ran(executor)
    _, name, hit = PHASES[phase]
    check_row(found, FAULTS[fault], [text.format(fault) for text in hit], name)
