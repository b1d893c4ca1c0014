"""What has to be known of a baseline before the suite runs: the ref, and what the tests of today are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_killmatrix.baseline import testside, tree
from pytest_killmatrix.baseline.changes import Known
from pytest_killmatrix.baseline.fingerprints import Fingerprints
from pytest_killmatrix.baseline.places import place_of
from pytest_killmatrix.baseline.repository import RefError, Repository
from pytest_killmatrix.baseline.suite import Basis
from pytest_killmatrix.baseline.testside import Project, TestSide
from pytest_killmatrix.prepared import is_python_test
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.surroundings import Surroundings
from pytest_killmatrix.targets import Targets, paths_of


def resolve(config: pytest.Config, ref: str) -> tuple[Repository, str]:
    """The repository and the commit; UsageError where there is none."""
    inside = Surroundings.of(config).sandbox
    for flag in ("lf", "stepwise"):
        if getattr(config.option, flag, False):
            raise pytest.UsageError(
                f"killmatrix: --{flag} selects by the last run, and the suite of a baseline has none; leave it out"
            )
    try:
        repository = Repository.of(config.rootpath if inside is None else inside.root)
        return repository, repository.commit(ref)
    except RefError as error:
        raise pytest.UsageError(f"killmatrix: --mutation-baseline={ref}: {error}") from error


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


def begin(settings: Settings, found: tuple[Repository, str], today: Today) -> Basis:
    """What an old suite is made of."""
    assert settings.baseline is not None
    repository, commit = found
    return Basis(settings.baseline, repository, commit, today.project, today.side, today.looks)
