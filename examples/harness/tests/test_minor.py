"""Graders that do look at the part of a version which the agent's first draft gets wrong."""

import pytest

VERSIONS = ["0.1.2", "0.9.1", "1.0.1", "1.2.3", "1.9.9", "2.0.4", "2.3.5", "3.1.4", "9.9.9", "10.0.7"]


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_minor(bump, version):
    major, minor, _ = version.split(".")
    assert bump(version, "minor") == f"{major}.{int(minor) + 1}.0"
