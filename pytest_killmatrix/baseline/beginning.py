"""What has to be known of a baseline before the suite runs: the ref, and what the tests of today are."""

from __future__ import annotations

import pytest

from pytest_killmatrix.baseline.repository import RefError, Repository
from pytest_killmatrix.baseline.suite import Basis
from pytest_killmatrix.baseline.today import Today
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.surroundings import Surroundings


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


def begin(settings: Settings, found: tuple[Repository, str], today: Today) -> Basis:
    """What an old suite is made of."""
    assert settings.baseline is not None
    repository, commit = found
    return Basis(settings.baseline, repository, commit, today.project, today.side, today.looks)
