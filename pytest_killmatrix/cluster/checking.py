"""Before the suite runs: whether there is a cluster, and whether its workers are like this interpreter."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping

from pytest_killmatrix.cluster import broker, matter
from pytest_killmatrix.executor.fresh import PACKAGE, unmeasured

_WITHIN = 60.0  # seconds


class ClusterProblem(Exception):
    """There is no cluster to use; the message says what to do."""


def check(address: str, environ: Mapping[str, str]) -> int:
    """How many children the cluster runs at once; ClusterProblem where it cannot be used.

    Another process asks, since this one is to run tests, and forks.
    """
    try:
        found = importlib.util.find_spec("distributed")
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise ClusterProblem("Dask is not installed: pip install 'pytest-killmatrix[dask]'")
    wanted = matter.listed(matter.plugins())
    words = [sys.executable, "-c", broker.CODE, PACKAGE, address, broker.CHECK, *wanted]
    try:
        done = subprocess.run(
            words, env=unmeasured(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_WITHIN,
            check=False, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ClusterProblem(f"the scheduler at {address} did not answer within {_WITHIN:.0f} seconds") from None
    try:
        said = json.loads(done.stdout.strip().rsplit("\n", 1)[-1])
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no word"]
        raise ClusterProblem(f"the cluster at {address} could not be asked: {lines[-1][:300]}") from None
    if "unreachable" in said:
        raise ClusterProblem(
            f"no Dask scheduler can be reached at {address} ({said['unreachable']}); start one (dask scheduler), or "
            "name the address that it prints"
        )
    if not said["threads"]:
        raise ClusterProblem(f"the Dask cluster at {address} has no workers; start some (dask worker {address})")
    if said["differ"]:
        worker, why = next(iter(said["differ"].items()))
        raise ClusterProblem(f"the worker at {worker} is not like this interpreter: {why}; install the same there")
    return sum(max(1, threads) for threads in said["threads"].values())
