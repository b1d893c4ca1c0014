"""Runs the agent once for each trial; the tests look at what it left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = Path(__file__).parents[1] / "agent.py"


@pytest.fixture(scope="session")
def workplace(harness_variant, trial):
    """The directory in which the agent has done its task."""
    words = [sys.executable, str(AGENT)]
    # The agent is a program of its own: it finds the variant and the trace by these two environment variables.
    words += ["--variant", os.environ["KILLMATRIX_VARIANT"], "--trace", os.environ["KILLMATRIX_SPANS"]]
    if harness_variant.harness == "toy-stochastic":
        words += ["--chance", str(trial.seed)]
    subprocess.run([*words, trial.task.prompt or "do it"], cwd=trial.directory, check=True)
    return trial.directory


@pytest.fixture(scope="session")
def bump(workplace):
    """The function that the agent was asked for."""
    names = {}
    exec((workplace / "semver.py").read_text(encoding="utf-8"), names)
    return names["bump"]
