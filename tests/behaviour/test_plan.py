"""What a run will take is said before any mutant runs, and a run that would take too long is not begun."""

from __future__ import annotations

import sqlite3

import pytest
from projects import Project

pytestmark = pytest.mark.lengthy

CODE = "LIMIT = 3\n\n\ndef over(x):\n    return x > LIMIT\n\n\ndef unused(x):\n    return x\n"
TESTS = """\
import shop

def test_over(): assert shop.over(4) and not shop.over(3)
def test_not(): assert not shop.over(1)
"""
QUICK = ["--kill-matrix-clean-runs=1"]
QUICK += [w for name in ("hypothesispytest", "xdist", "pytest_cov", "asyncio", "timeout") for w in ("-p", f"no:{name}")]


@pytest.fixture
def shop(project: Project) -> Project:
    return project.write({"shop.py": CODE, "test_shop.py": TESTS})


def test_a_plan_is_all_that_is_made(shop: Project) -> None:
    ran = shop.run(*QUICK, "--kill-matrix-plan")
    assert ran.status == 0, ran.screen
    assert not shop.sidecar.exists()
    assert not shop.report.exists()
    planned = dict.fromkeys(("swap", "static", "no run", "all"), 0)
    for line in ran.screen.splitlines():
        name = next((name for name in planned if line.startswith(f"{name} ") and " mutants" in line), None)
        if name is not None:
            planned[name] = int(line.removeprefix(name).split()[0])
    made = shop.run(*QUICK).data
    assert planned["all"] == sum(planned.values()) - planned["all"] == len(made["mutants"])
    assert all(planned.values())
    assert planned["no run"] == sum(not mutant["cells"] for mutant in made["mutants"])
    again = shop.run(*QUICK, "--kill-matrix-plan")
    assert "projected time" in again.screen
    with sqlite3.connect(shop.sidecar) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_a_plan_fails_where_the_suite_does(shop: Project) -> None:
    shop.write({"test_shop.py": TESTS + "def test_fails(): assert 0\n"})
    ran = shop.run(*QUICK, "--kill-matrix-plan")
    assert ran.status == 1
    assert "projected time" in ran.screen


def test_too_long(shop: Project) -> None:
    ran = shop.run(*QUICK, "--kill-matrix-max-minutes=0.0001")
    assert ran.status == 4, ran.screen
    ran.lines.fnmatch_lines(["*projected to take * minutes, and --kill-matrix-max-minutes=0.0001: allow more, *"])
    assert ran.data["run"]["complete"] is False
    assert [test["clean"] for test in ran.data["tests"]] == ["passed", "passed"]
    assert not any(mutant["cells"] for mutant in ran.data["mutants"])
    made = shop.run(*QUICK, "--kill-matrix-max-minutes=100")
    assert made.status == 0, made.screen
    assert made.data["run"]["id"] == ran.data["run"]["id"]
    assert made.data["run"]["complete"] is True
    assert made.data["score"]["assertion"]["numerator"] > 0
