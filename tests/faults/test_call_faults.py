"""Faults while a test is called."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from fault_table import FAULTS, Layout, check_row, chosen, fault_rows, run
from projects import Project, Run

pytestmark = pytest.mark.lengthy

FEW = ("loop", "segfault", "exit_green", "leaves_daemon", "close_all")


def in_call(layout: Layout, fault: str) -> None:
    call = layout.mutated(fault)
    layout.tests.append(f"def test_before_{fault}(): assert {call}(1) == 1\n")
    layout.tests.append(f"def test_{fault}(): assert {call}(2) == 2\n")
    layout.tests.append(f"def test_after_{fault}(state): assert {call}(3) == 3\n")
    layout.other.append(f"def test_other_{fault}(state): assert {call}(4) == 4\n")


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Callable[[str], Run]:
    return functools.cache(lambda executor: run(new_project(), executor, chosen(executor, FAULTS, FEW), in_call))


@fault_rows(FAULTS, FEW)
def test_a_fault_in_a_test(ran: Callable[[str], Run], executor: str, fault: str) -> None:
    found = ran(executor)
    assert len(found.mutant(fault)["cells"]) == 4
    check_row(found, FAULTS[fault], [f"test_{fault}"], "call")
