"""A run over a sample: says so, has intervals, and its shards are the same sample."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from projects import Project

pytestmark = pytest.mark.lengthy

CODE = "".join(f"def f{n}(x):\n    if x > {n}:\n        return x + {n}\n    return x * 2\n\n\n" for n in range(6))
TESTS = """\
import pytest, shop

@pytest.mark.parametrize("n", range(4))
def test_f(n): assert getattr(shop, f"f{n}")(n) == 2 * n
"""
QUICK = ["--kill-matrix-clean-runs=1", "--kill-matrix-no-alone"]
QUICK += [w for name in ("hypothesispytest", "xdist", "pytest_cov", "asyncio", "timeout") for w in ("-p", f"no:{name}")]


def test_a_sample_and_its_shards(project: Project) -> None:
    project.write({"shop.py": CODE, "test_shop.py": TESTS})
    project.write({"pytest.ini": "[pytest]\nmutation_sample = 40%\nmutation_seed = 3\n"})
    ran = project.run(*QUICK)
    assert ran.status == 0, ran.screen
    data = ran.data
    sample, keys = data["run"]["sample"], [mutant["key"] for mutant in data["mutants"]]
    assert (sample["asked"], sample["seed"]) == ("40%", 3)
    assert sample["mutants"] == len(keys)
    assert sample["size"] <= sample["frame"] * 0.4 + 1
    assert sum(entry["size"] for entry in sample["strata"]) == sample["size"]
    assert data["run"]["population"] > len(keys)
    for name in ("assertion", "detection"):
        score: dict[str, Any] = data["score"][name]
        assert 0 <= score["interval"]["low"] < score["value"] < score["interval"]["high"] <= 1
        assert score["interval"]["population"] == sample["frame"]
    ran.lines.fnmatch_lines([
        f"sample (40%, seed 3): {sample['size']} drawn of {sample['frame']} mutants to judge",
        "*assertion score over all mutants: * to * %, level 95 %",
        "*stratified*",
    ])  # fmt: skip
    shards = []
    for index in (1, 2):
        shards.append(str(project.outside / f"{index}.sqlite"))
        part = project.run(*QUICK, f"--kill-matrix-shard={index}/2", f"--kill-matrix-db={shards[-1]}").data
        assert part["run"]["sample"] == sample
        assert part["score"]["assertion"]["interval"] is None
        assert {mutant["key"] for mutant in part["mutants"]} < set(keys)
    killmatrix, merged = [sys.executable, "-m", "pytest_killmatrix.cli"], str(project.outside / "merged.sqlite")
    subprocess.run([*killmatrix, "merge", *shards, "-o", merged], check=True)
    subprocess.run([*killmatrix, "export", "--db", merged, "--format=json", "-o", str(project.report)], check=True)
    assert {mutant["key"] for mutant in ran.data["mutants"]} == set(keys)
    assert ran.data["score"] == data["score"]


@pytest.mark.parametrize("given", ["--mutation-sample=0", "--mutation-seed=x"])
def test_no_such_sample(project: Project, given: str) -> None:
    ran = project.execute(project.command(*QUICK, given))
    assert ran.status == 4
    ran.lines.fnmatch_lines([f"ERROR: {given}: give a *number*"])
