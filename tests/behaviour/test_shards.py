"""Shards: disjoint, judged as in any run, and merged equal to one whole run, cell for cell."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from projects import Case, Project, Run

pytestmark = pytest.mark.lengthy

CODE = """\
LIMIT = 3
TABLE = {"a": LIMIT + 1}


def over(x):
    return x > LIMIT


def twice(x):
    return x + x


def table(name="a"):
    return TABLE.get(name)


def source():
    return twice.__code__.co_consts


def unused(x):
    return x - 1
"""
TESTS = """\
import shop

def test_over(): assert shop.over(4) and not shop.over(3)
def test_twice(): assert shop.twice(3) == 6
def test_table(): assert shop.table() == 4
def test_looks_at_code(): assert shop.twice.__code__.co_code == shop.twice.__code__.co_code and shop.source()
def test_fails(): assert not shop.over(4)
"""
CASE = """\
  - case: {0}
    version: 1
    materialized: [task.md]
    target: {0}.py
    grader: [test_{0}.py]
    variants:
      - {{name: reference, kind: reference}}
      - {{name: starter, kind: starter, why: w, replace: {{definition: <module>, find: "return 1", with: "return 2"}}}}
"""
CASES = ("alpha", "beta", "gamma")
LIGHT = [
    word for name in ("hypothesispytest", "xdist", "pytest_cov", "asyncio", "timeout") for word in ("-p", f"no:{name}")
]


@pytest.fixture
def shop(project: Project) -> Project:
    project.write({"shop.py": CODE, "test_shop.py": TESTS, "task.md": "Return 1.\n"})
    for name in CASES:
        project.write({
            f"{name}.py": "def answer():\n    return 1\n",
            f"test_{name}.py": f"import {name}\n\ndef test_answer(): assert {name}.answer() == 1\n",
        })  # fmt: skip
    cases = "".join(CASE.format(name) for name in CASES)
    (project.path / "variants.yaml").write_text(f"chosen_by: somebody\ncases:\n{cases}", encoding="utf-8")
    return project


def merged(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_killmatrix.cli", "merge", *arguments],
        cwd=project.outside, capture_output=True, text=True, check=False,
    )  # fmt: skip


def exported(project: Project, sidecar: str) -> Run:
    """A sidecar's newest run as if it had just been made."""
    report = project.outside / f"{sidecar}.json"
    words = ["export", "--format", "json", "--db", sidecar, "-o", str(report)]
    subprocess.run([sys.executable, "-m", "pytest_killmatrix.cli", *words], cwd=project.outside, check=True)
    return Run(0, "", 0.0, report)


def without_times(value: Any) -> Any:
    """A report without what two runs of the same differ in."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if name not in ("seconds", "confirmed")}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_two_shards_are_one_whole_run(shop: Project) -> None:
    shop.cases([Case("duplicate", "x - 1", "x - 2", "shop.py")])
    words = [*LIGHT, "--mutate=shop.py", "--mutation-variants=variants.yaml", "--mutation-operators=case:*,mutmut,own"]
    found: dict[str, Run] = {}
    for name, more in {"whole": [], "one": ["--kill-matrix-shard=1/2"], "two": ["--kill-matrix-shard=2/2"]}.items():
        ran = shop.run(*words, f"--kill-matrix-db={shop.outside / name}", *more)
        assert ran.status == 1, ran.screen  # a test fails
        if more:
            ran.lines.fnmatch_lines([f"shard {more[0][-3]} of 2: a part of * mutants"])
        found[name] = exported(shop, name)
    done = merged(shop, "two", "one", "-o", "merged")
    assert (done.returncode, done.stderr) == (0, "")
    merge = exported(shop, "merged")
    whole, one, two = (found[name].data for name in ("whole", "one", "two"))
    assert merge.cells() == found["whole"].cells()
    by_key: dict[str, Any] = {"key": lambda mutant: mutant["key"]}
    assert sorted(without_times(merge.data["mutants"]), **by_key) == sorted(without_times(whole["mutants"]), **by_key)
    assert any(mutant["static"] and mutant["cells"] for mutant in whole["mutants"])
    assert any(mutant["duplicate_of"] for mutant in whole["mutants"])
    for name in ("score", "variants", "tests"):
        assert without_times(merge.data[name]) == without_times(whole[name]), name
    assert len(merge.data["variants"]["cases"]) == len(CASES)
    keys = [{mutant["key"] for mutant in part["mutants"]} for part in (one, two)]
    assert all(keys)
    assert keys[0].isdisjoint(keys[1])
    assert merge.data["run"]["population"] == one["run"]["population"] == len(whole["mutants"])
    assert one["run"]["shard"] == {"indexes": [1], "count": 2, "runs": [one["run"]["id"]]}
    assert merge.data["run"]["shard"] == {"indexes": [1, 2], "count": 2, "runs": [one["run"]["id"], two["run"]["id"]]}
    assert whole["run"]["shard"] is None
    for part in (one, two):  # the instrument was checked in each, on what the whole run has
        assert part["run"]["controls"] == whole["run"]["controls"]


def test_a_shard_without_mutants_is_a_good_run(shop: Project) -> None:
    """A job that got nothing to do does not fail; neither does one for a threshold, which is one of all shards."""
    words = [*LIGHT, "--mutate=shop.py", "--mutants=*::over::*", "--deselect=test_shop.py::test_fails"]
    runs = []
    for index in range(1, 9):
        place = f"--kill-matrix-db={shop.outside / str(index)}"
        ran = shop.run(*words, place, f"--kill-matrix-shard={index}/8", "--kill-matrix-fail-under=100")
        assert ran.status == 0, ran.screen
        runs.append(ran.data)
        if len(runs) > 1 and {not data["mutants"] for data in runs} == {True, False}:
            break
    assert {not data["mutants"] for data in runs} == {True, False}
    assert all(data["run"]["complete"] for data in runs)


def test_another_shard_is_no_resumption(shop: Project) -> None:
    words = [*LIGHT, "--mutate=shop.py", "--kill-matrix-clean-runs=1", "--kill-matrix-no-alone", "-k", "not fails"]
    first = shop.run(*words, "--kill-matrix-shard=1/2").data["run"]
    second = shop.run(*words, "--kill-matrix-shard=2/2").data["run"]
    assert first["id"] != second["id"]
    assert (first["options"]["shard"], second["options"]["shard"]) == ("1/2", "2/2")
    done = merged(shop, str(shop.sidecar), "-o", "merged")
    assert "shard 1 of 2 missing" in done.stderr


def test_no_such_shard(project: Project) -> None:
    ran = project.execute(project.command(*LIGHT, "--kill-matrix-shard=3/2"))
    assert ran.status == 4
    ran.lines.fnmatch_lines(["ERROR: --kill-matrix-shard=3/2: give I/N, *"])
