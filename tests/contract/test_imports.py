"""What is loaded where: nothing heavy in a plain pytest run, no sqlite3, libcst or mutmut in the process under test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from projects import Case, Project

from pytest_killmatrix import cli

HEAVY = ("sqlite3", "libcst", "mutmut", "coverage", "rich", "yaml")
OURS = "pytest_killmatrix."
CHILD_SIDE = [
    "activation.late", "activation.marking", "activation.probe", "activation.swap",
    "child.expectations", "child.hygiene", "child.lean",
    "child.anew", "child.reading", "child.recollect", "child.records", "child.running", "child.scratch",
    "child.verdict", "child.worker", "executor.fresh", "executor.orphans", "executor.protocol", "executor.server",
    "executor.slots", "executor.zygote", "model",
]  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """Names of the modules that an interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys; print('\\n' + json.dumps(sorted(sys.modules)))"],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    return set(json.loads(done.stdout.rstrip().rsplit("\n", 1)[1]))


def heavy(modules: set[str]) -> set[str]:
    return modules & set(HEAVY)


def test_a_plain_run_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    blocked = ["no:pytest_cov", "no:hypothesispytest", "no:xdist", "no:asyncio", "no:randomly", "no:timeout"]
    words = [*options, *(word for name in blocked for word in ("-p", name))]
    run = "import pytest; assert pytest.main({}) == 0"
    with_us = loaded_by(run.format(words))
    without = loaded_by(run.format([*words, "-p", "no:killmatrix"]))
    added = with_us - without
    assert heavy(added) == set()
    ours = {name for name in with_us if name.startswith(OURS)}
    assert {name.removeprefix(OURS) for name in ours} <= {"plugin", "options", "hookspecs", "model", "surroundings"}


@pytest.mark.parametrize(
    "name",
    [
        "analysis.bootstrap", "analysis.candidates", "analysis.power", "analysis.projection", "analysis.sampling",
        "analysis.trials", "sharding",
    ],
)  # fmt: skip
def test_statistics_are_pure(name: str) -> None:
    modules = loaded_by(f"import {OURS}{name}")
    assert heavy(modules) == set()
    ours = {module.removeprefix(OURS) for module in modules if module.startswith(OURS)}
    assert {module for module in ours if not module.startswith(("analysis", "sharding"))} <= {"model"}


def test_dask_is_loaded_by_the_broker_alone() -> None:
    for name in ("cluster.checking", "cluster.executor", "cluster.held", "cluster.remote", "cluster.broker"):
        assert {"dask", "distributed", "cloudpickle"}.isdisjoint(loaded_by(f"import {OURS}{name}"))


@pytest.mark.parametrize("name", ["cluster.batches", "cluster.facts", "cluster.matter"])
def test_what_decides_about_a_cluster_is_light(name: str) -> None:
    assert heavy(loaded_by(f"import {OURS}{name}")) == set()


@pytest.mark.parametrize("name", ["harness.fixtures", "harness.inside", "harness.spans", "harness.variants"])
def test_what_graders_load_is_light(name: str) -> None:
    assert heavy(loaded_by(f"import pytest, {OURS}{name}")) == set()


def test_the_command_loads_nothing_heavy_until_it_is_asked() -> None:
    modules = loaded_by(f"import {OURS}cli, {OURS}commands.harness")
    assert heavy(modules) == set()
    assert not any(module.startswith(f"{OURS}harness") for module in modules)


def test_merging_reads_and_writes_sidecars_and_no_more() -> None:
    modules = loaded_by(f"import {OURS}cli, {OURS}commands.merge")
    assert heavy(modules) == {"sqlite3"}
    assert "pytest" not in modules
    assert not any(module.startswith((f"{OURS}operators", f"{OURS}child", f"{OURS}clean")) for module in modules)


def test_harness_mutation_needs_no_operators_of_code_and_no_coverage() -> None:
    modules = loaded_by(f"import {OURS}harness.plan, {OURS}harness.run, {OURS}harness.score, {OURS}harness.report")
    assert heavy(modules) == {"sqlite3", "yaml"}
    assert not any(module.startswith((f"{OURS}operators", f"{OURS}child", f"{OURS}clean")) for module in modules)


@pytest.mark.parametrize("name", CHILD_SIDE)
def test_the_child_side_is_light(name: str) -> None:
    assert heavy(loaded_by(f"import pytest, {OURS}{name}")) == set()


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_a_command_loads_what_it_needs(command: str) -> None:
    modules = loaded_by(f"import {OURS}cli, {OURS}commands.{command}")
    assert heavy(modules) <= {"sqlite3"}
    assert "pytest" not in modules
    assert "pandas" not in modules
    assert not {name for name in modules if name.startswith((f"{OURS}operators", f"{OURS}executor", f"{OURS}child"))}
    others = {f"{OURS}commands.{other}" for other in cli.COMMANDS} - {f"{OURS}commands.{command}"}
    assert modules.isdisjoint(others)


def test_the_spawner_holds_nothing_of_pytest() -> None:
    modules = loaded_by(f"import {OURS}executor.spawner")
    assert heavy(modules) == set()
    assert "pytest" not in modules
    assert {name.removeprefix(OURS) for name in modules if name.startswith(OURS)} <= {
        "child", "child.scratch", "executor", "executor.fresh", "executor.orphans", "executor.protocol",
        "executor.server", "executor.spawner", "model", "processes",
    }  # fmt: skip


def test_the_way_without_a_fork_asks_for_nothing_that_only_forking_platforms_have() -> None:
    code = "import os; del os.fork, os.register_at_fork; sys.modules.update(fcntl=None, resource=None)"
    modules = loaded_by(f"import sys; {code}; import pytest, {OURS}session, {OURS}executor.spawn, {OURS}making")
    assert f"{OURS}executor.zygote" not in modules


def test_what_a_run_needs_of_an_audit_before_its_tests_is_light() -> None:
    modules = loaded_by(f"import pytest, {OURS}oracle.fetching, {OURS}oracle.subjects, {OURS}session")
    assert heavy(modules) == set()


def test_the_command_line_loads_nothing_before_it_is_asked() -> None:
    modules = loaded_by(f"import {OURS}cli; {OURS}cli._parser(None)")
    assert heavy(modules) == set()
    assert {name.removeprefix(OURS) for name in modules if name.startswith(OURS)} <= {"cli", "commands", "model"}


def test_the_command_on_variants_loads_no_operator(tmp_path: Path) -> None:
    (tmp_path / "variants.yaml").write_text("chosen_by: me\ncases: []\n")
    run = f"from {OURS}cli import main; main(['variants', 'check', {str(tmp_path / 'variants.yaml')!r}])"
    assert not {"mutmut", "libcst", "coverage", "pytest"} & loaded_by(run)


def test_the_process_under_test_is_light_beside_variants(project: Project) -> None:
    light = 'pytest.fail(",".join(sorted(set(sys.modules) & {"yaml", "sqlite3", "libcst"})) or "light")'
    project.write({
        "shop.py": "def value():\n    return 1\n",
        "test_shop.py": f"import sys, pytest, shop\ndef test_value():\n    if shop.value() != 1: {light}\n",
        "variants.yaml": """\
            chosen_by: me
            cases:
              - case: shop
                version: 1
                materialized: [shop.py]
                target: shop.py
                grader: [test_shop.py]
                variants:
                  - {name: reference, kind: reference}
                  - {name: two, kind: mutation, why: x, replace: {definition: value, find: return 1, with: return 2}}
            """,
    })  # fmt: skip
    blocked = [word for name in ("no:pytest_cov", "no:hypothesispytest", "no:xdist") for word in ("-p", name)]
    (case,) = project.execute(project.command(*blocked, "--mutation-variants=variants.yaml")).data["variants"]["cases"]
    assert [cell["message"] for cell in case["variants"][1]["cells"]] == ["light"]


def test_the_process_under_test_is_light(project: Project) -> None:
    project.write({
        "shop.py": "def value():\n    return 1\n",
        "test_shop.py": f"""\
            import sys, pytest, shop
            def test_value():
                if shop.value() != 1:
                    pytest.fail(",".join(sorted(set(sys.modules) & set({HEAVY!r}))) or "light")
            """,
    })  # fmt: skip
    project.cases([Case("value", "return 1", "return 2", "shop.py")])
    words = ["no:pytest_cov", "no:hypothesispytest", "no:xdist"]
    ran = project.run(*[word for name in words for word in ("-p", name)])
    assert ran.cell("value")["message"] == "light"
