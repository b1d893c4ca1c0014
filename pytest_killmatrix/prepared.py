"""What the parent knows when tests are about to start: the collected items, what is loaded, what will be mutated."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_killmatrix.child.recollect import Identity, fixture_definitions
from pytest_killmatrix.clean.outcomes import OutcomeLog
from pytest_killmatrix.oracle.model import Audit
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.targets import Targets

if TYPE_CHECKING:
    from pytest_killmatrix.analysis.projection import Projection
    from pytest_killmatrix.baseline.old import Lead
    from pytest_killmatrix.baseline.suite import Basis
    from pytest_killmatrix.baseline.today import Today


class Stop(Exception):
    """The run ends without a matrix; the message tells a person what to do."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Written:
    """Where the results are."""

    sidecar: Path
    run: int


@dataclass(slots=True)
class Prepared:
    """The collected session as it was before the first test; items are named by their index everywhere.

    ``loaded`` are the files under mutation that were imported by then, ``followers`` the test files that took names
    from a test file, ``wide`` the items that use a fixture of wider than function scope, ``uncollectable`` the node ids
    of files that could not be collected, with the reason, ``modules`` what was loaded, ``changed`` the aspects of the
    process that are not what they were before that, ``executor_because`` why children are not forked. ``began`` is the
    wall clock when pytest did. ``today`` is the test side, ``basis`` what an old suite is made of; ``lead`` is there in
    the process of such a suite, ``audit`` are the authored variants. ``projection`` is what the run was projected to
    take, where that was asked for.
    """

    config: pytest.Config
    settings: Settings
    targets: Targets
    items: list[pytest.Item]
    identities: list[Identity]
    loaded: frozenset[str]
    followers: dict[str, frozenset[str]]
    wide: frozenset[int]
    sys_path: list[str]
    began: float
    collected_in: float
    outcomes: OutcomeLog
    uncollectable: list[tuple[str, str]]
    modules: dict[str, types.ModuleType]
    changed: frozenset[str]
    executor_because: str | None = None
    basis: Basis | None = None
    today: Today | None = None
    lead: Lead | None = None
    audit: Audit | None = None
    collected_cpu: float = 0.0  # seconds
    loop_cpu: float = 0.0
    written: Written | None = None
    projection: Projection | None = None


def is_python_test(item: pytest.Item) -> bool:
    """Whether the item's file is a test module (and not, for example, a module with doctests)."""
    return item.getparent(pytest.Module) is not None and isinstance(item, pytest.Function)


def loaded_files(files: Sequence[str]) -> frozenset[str]:
    """Which of these resolved files are imported now."""
    wanted = set(files)
    names = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return frozenset(os.path.realpath(name) for name in names if isinstance(name, str)) & wanted


def followers(items: Sequence[pytest.Item]) -> dict[str, frozenset[str]]:
    """For each test file the other test files that hold something of it, by node id of the file."""
    modules: dict[str, types.ModuleType] = {}
    for item in items:
        parent = item.getparent(pytest.Module)
        module = getattr(parent, "obj", None)
        if parent is not None and isinstance(module, types.ModuleType):
            modules.setdefault(parent.nodeid, module)
    owners = {module.__name__: nodeid for nodeid, module in modules.items()}
    found: dict[str, set[str]] = {}
    for nodeid, module in modules.items():
        for value in list(vars(module).values()):
            name = value.__name__ if isinstance(value, types.ModuleType) else _module_of(value)
            owner = owners.get(name) if isinstance(name, str) else None
            if owner is not None and owner != nodeid:
                found.setdefault(owner, set()).add(nodeid)
    return {owner: frozenset(names) for owner, names in found.items()}


def uses_wide_fixture(item: pytest.Item) -> bool:
    """Whether the item requests a fixture of the project's own that other items may share."""
    return any(
        definition.scope != "function" and not _installed(definition)
        for chain in fixture_definitions(item).values()
        for definition in chain
    )


def _installed(definition: Any) -> bool:
    """Whether a fixture is some package's own; pytest's for xunit and unittest set-up run code of the project."""
    if definition.argname.startswith(("_xunit_setup_", "_unittest_")):
        return False
    code = getattr(definition.func, "__code__", None)
    return code is None or f"{os.sep}site-packages{os.sep}" in code.co_filename


def _module_of(value: Any) -> Any:
    """``__module__`` without running code of the object's own."""
    if isinstance(value, (type, types.FunctionType)):
        return value.__module__
    return type(value).__module__
