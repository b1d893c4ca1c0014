"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from projects import Project
from repositories import Repository

# The same examples on every run; others with ``--hypothesis-profile=default``.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Project]:
    """Makes empty projects; for fixtures that several tests share."""
    return lambda: Project(tmp_path_factory.mktemp("killmatrix"))


@pytest.fixture
def project(new_project: Callable[[], Project]) -> Project:
    """An empty project."""
    return new_project()


@pytest.fixture
def repository(new_project: Callable[[], Project]) -> Repository:
    """An empty project in git."""
    return Repository(new_project())
