"""What the tests of today are; light, because the process that runs tests looks before it runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_killmatrix.baseline import testside, tree
from pytest_killmatrix.baseline.changes import Known
from pytest_killmatrix.baseline.fingerprints import Fingerprints
from pytest_killmatrix.baseline.places import place_of
from pytest_killmatrix.baseline.testside import Project, TestSide
from pytest_killmatrix.prepared import is_python_test
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.targets import Targets, paths_of


@dataclass(frozen=True, slots=True)
class Today:
    """The test side as it is now: its files, what each item is, and what else was looked at."""

    project: Project
    side: TestSide
    looks: tree.Looks
    maker: Fingerprints
    known: list[Known]


def look(config: pytest.Config, settings: Settings, targets: Targets, items: Sequence[pytest.Item]) -> Today:
    """Look at the test side of today, while no test has run: tests may write."""
    root = config.rootpath
    looks = tree.Looks(
        [str(pattern) for pattern in config.getini("python_files")],
        frozenset(name for name, path in targets.files.items() if not Path(name).is_absolute()),
        frozenset(
            item.nodeid.partition("::")[0] for item in items if is_python_test(item) or item.path.suffix != ".py"
        ),
        settings.test_side,
        root,
        paths_of(config, settings.mutate),
        [str(glob) for glob in getattr(config.option, "doctestglob", None) or ["test*.txt"]],
    )
    project = tree.current(root, looks)
    side = testside.find(project)
    maker = Fingerprints(project, side, list(config.getini("python_functions")))
    return Today(project, side, looks, maker, [Known(item.nodeid, maker.of(place_of(item))) for item in items])
