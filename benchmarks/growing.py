"""Measures how time grows: simulated projects of several sizes, and a real, generated one by one worker and by two."""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

FUNCTIONS: Final = (4, 8, 16)  # of the real project: 22 mutants and 4 tests each
WORKERS: Final = (1, 2, 4)
WAIT: Final = 0.02  # seconds that each test of it waits, as for something outside of it

_FUNCTION: Final = """
def price_{n}(amount, rate):
    total = 0
    for step in range(amount):
        if step % 3 == {n} % 3 and rate > 1:
            total += step * rate
    return total + {n}
"""
_WAITING: Final = f"""
import pytest, shop, time
@pytest.fixture
def wait(): time.sleep({WAIT})
"""
_TESTS: Final = """
def test_nothing_{n}(wait): assert shop.price_{n}(0, 2) == {n}
def test_one_{n}(wait): assert shop.price_{n}(1, 2) == {n}
def test_some_{n}(wait): assert shop.price_{n}(7, 2) == {n} + 2 * sum(step for step in range(7) if step % 3 == {n} % 3)
def test_no_rate_{n}(wait): assert shop.price_{n}(7, 1) == {n}
"""


def grow(sizes: Iterable[tuple[int, int]], measure_size: Callable[[int, int], dict[str, Any]], data: Path) -> None:
    """Measure everything and store it, with where it was measured."""
    where = {"python": platform.python_version(), "system": platform.system(), "processors": os.cpu_count()}
    found: dict[str, Any] = {"where": where, "simulated": [], "real": []}
    for mutants, tests in sizes:
        print(f"{mutants:,} mutants, {tests:,} tests", flush=True)
        found["simulated"].append(rounded(measure_size(mutants, tests)))
    for functions, workers in itertools.product(FUNCTIONS, WORKERS):
        print(f"{functions} functions by {workers} workers", flush=True)
        found["real"].append(rounded(real_run(functions, workers)))
    data.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def real_run(functions: int, workers: int) -> dict[str, Any]:
    """A generated project, really run: mutants, cells, seconds by the clock and on processors."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop.py").write_text("".join(_FUNCTION.format(n=n) for n in range(functions)))
        tests = _WAITING + "".join(_TESTS.format(n=n) for n in range(functions))
        (folder / "test_shop.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--kill-matrix", "--mutate=shop.py"]
        command += [f"--kill-matrix-workers={workers}", "--kill-matrix-json=report.json"]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        report = json.loads((folder / "report.json").read_text("utf-8"))
    run = report["run"]
    return {
        "functions": functions,
        "workers": workers,
        "mutants": len(report["mutants"]),
        "tests": len(report["tests"]),
        "cells": sum(len(mutant["cells"]) for mutant in report["mutants"]),
        "seconds": run["seconds"],
        "cpu": run["cpu"],
    }


def rounded(value: Any) -> Any:
    """Figures to four digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value
