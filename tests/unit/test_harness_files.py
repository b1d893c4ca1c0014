"""Suite files, plans, run sets and the sidecar: what is read comes back, and what will not do is said in one line."""

from __future__ import annotations

import json
import sqlite3
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness_samples import BASE, CONTROL, in_run_set, make_mutant, make_plan, make_trials, trace
from store_samples import make_info

from pytest_killmatrix.harness.dataplane import RunSet, find_run_set
from pytest_killmatrix.harness.plan import Traces, chosen_operators, plan_lines, read_traces
from pytest_killmatrix.harness.plan import make_plan as plan_of
from pytest_killmatrix.harness.planfile import Fate, Plan, read_plan, write_plan
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.run import check_match, remaining
from pytest_killmatrix.harness.score import score_run, unscored_run
from pytest_killmatrix.harness.suite import Suite, read_suite
from pytest_killmatrix.harness.variants import Variant
from pytest_killmatrix.harness.verdicts import Rules
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.harness import best_variant, harness_runs, store_harness_run
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.schema import MIGRATIONS
from pytest_killmatrix.store.writer import Sidecar

SUITE = """\
harness: toy
base:
  skills: [versions, skills/poetry]
  instructions: "# Tone\\n\\nBe kind.\\n"
  instructions_append: {file: MORE.md}
  approvals: deny-risky
  files: [conf.yaml]
tasks:
  - {name: one, tests: test_one.py, prompt: Do it.}
  - {name: two, k: two and not slow, m: graders}
trials: 3
cost_usd: 0.25
"""
EVALS = {
    "skill_name": "pdf", "version": 2,
    "evals": [
        {"id": 1, "prompt": "Fill it.", "files": ["form.pdf"], "assertions": ["is filled"], "expected_output": ""},
        {"id": "B 2", "prompt": "Read it.", "expectations": [{"text": "is read"}]},
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with the files that suites name."""
    for name, text in {
        "MORE.md": "be brief\r\nbe nice\n", "conf.yaml": "a: 1\nb: 2\n", "test_one.py": "", "conftest.py": "",
        "form.pdf": "", "evals/evals.json": json.dumps(EVALS),
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    return tmp_path


def suite(folder: Path, text: str = SUITE, harness: str | None = None) -> Suite:
    path = folder / "suite.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return read_suite(path, harness)


# -- suite files ------------------------------------------------------------------------------------------------------


def test_a_suite_is_read(folder: Path) -> None:
    found = suite(folder)
    assert found.base == Variant(
        "toy", "base", ("versions", "skills/poetry"), (), "# Tone\n\nBe kind.\n", "be brief\nbe nice\n", "deny-risky",
        (("conf.yaml", "a: 1\nb: 2\n"),),
    )  # fmt: skip
    assert found.base.text == "# Tone\n\nBe kind.\n\nbe brief\nbe nice\n"
    assert [(task.name, task.tests, task.keyword, task.marks) for task in found.tasks] == [
        ("one", ("test_one.py",), None, None), ("two", (".",), "two and not slow", "graders"),
    ]  # fmt: skip
    assert (found.trials, found.cost_usd, found.minutes) == (3, 0.25, None)


def test_evals_are_read_as_tasks(folder: Path) -> None:
    text = "harness: toy\nbase: {skills: [pdf]}\ntasks: [{evals: evals/evals.json, tests: test_one.py}]\n"
    one, two = suite(folder, text).tasks
    assert (one.name, one.prompt, one.files, one.assertions) == ("pdf-1", "Fill it.", ("form.pdf",), ("is filled",))
    assert (two.name, two.assertions) == ("pdf-b-2", ('{"text": "is read"}',))
    assert one.fingerprint != two.fingerprint


def test_one_of_several_harnesses_is_chosen(folder: Path) -> None:
    text = SUITE.replace("harness: toy", "harness: [toy, other]")
    assert suite(folder, text, "other").base.harness == "other"
    for harness, message in ((None, "give --harness toy or other"), ("none", "has no harness 'none'; give --harness")):
        with pytest.raises(HarnessError, match=message):
            suite(folder, text, harness)


@pytest.mark.parametrize("name", ["test_one.py", "conftest.py"])
def test_changed_graders_are_other_graders(folder: Path, name: str) -> None:
    before = suite(folder).tasks[0].fingerprint
    (folder / name).write_text("# changed\n", encoding="utf-8")
    assert suite(folder).tasks[0].fingerprint != before


@pytest.mark.parametrize(("before", "after", "message"), [
    ("harness: toy", "harnes: toy", "the key 'harness' is missing"),
    ("harness: toy", "harness: a/b", "the name 'a/b' will not do"),
    ("trials: 3", "trails: 3", "unknown key 'trails'; did you mean 'trials'?"),
    ("trials: 3", "trials: 0", "trials: a whole number, 1 or more, is needed, not 0"),
    ("trials: 3", "trials: true", "trials: a whole number"),
    ("cost_usd: 0.25", "cost_usd: -1", "cost_usd: a number, 0 or more, is needed"),
    ("cost_usd: 0.25", "cost_usd: .nan", "cost_usd: a number, 0 or more, is needed"),
    ("cost_usd: 0.25", "timeout_s: 0", "timeout_s: a number above 0"),
    ("cost_usd: 0.25", "trials: 2", "the key 'trials' is given twice"),
    ("cost_usd: 0.25", "root: nowhere", "root: there is no directory"),
    ("deny-risky", "maybe", "approvals: 'maybe' is unknown; auto or deny-risky will do"),
    ("  skills: [", "  skills_remove: [pdf]\n  skills: [", "skills_remove: 'pdf' is not in the harness; its skills:"),
    ("[versions, skills/poetry]", "[versions, versions]", "skills: 'versions' is listed twice"),
    ("[versions, skills/poetry]", "{a: b}", "skills: a list of texts is needed, not a mapping"),
    ("  skills: [", "  name: mutant-noop-control\n  skills: [", "'mutant-noop-control' is the name of a mutant"),
    ("  skills: [", "  skils: []\n  skills: [", "base: unknown key 'skils'; did you mean 'skills'?"),
    ("file: MORE.md", "file: NONE.md", "there is no file of instructions"),
    ("file: MORE.md", "path: MORE.md", "instructions_append: the key 'file' is missing"),
    ("[conf.yaml]", "[../conf.yaml]", "leads out of the suite's directory"),
    ("[conf.yaml]", "[none.yaml]", "there is no file"),
    ("test_one.py", "test_two.py", "tests: there is no test_two.py in"),
    ("prompt: Do it.", "prompts: Do it.", "tasks 1: unknown key 'prompts'"),
    ("prompt: Do it.", "files: [none]", "files: there is no none in"),
    ("k: two and not slow, m: graders", "prompt: x", "no grader; name tests, or choose some with 'k' or 'm'"),
    ("name: two", "name: ONE", "two tasks are named 'one'"),
    ("name: two", "name: a b", "the name 'a b' will not do"),
    ("{name: one", "{nam: one", "the key 'name' is missing"),
])  # fmt: skip
def test_suites_that_will_not_do(folder: Path, before: str, after: str, message: str) -> None:
    assert before in SUITE
    with pytest.raises(HarnessError) as caught:
        suite(folder, SUITE.replace(before, after, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [
    ("", "a mapping of keys to values is needed, not nothing"),
    ("- a", "a mapping of keys to values is needed, not a list"),
    ("harness: [", "line 1:"),
    ("a: b: c", "line 1:"),
    ("harness: toy", "the key 'base' is missing"),
    ("harness: toy\nbase: {}", "no task; name at least one under 'tasks'"),
    ("harness: toy\nbase: {}\ntasks: one", "tasks: a list is needed, not text"),
    ("harness: toy\nbase: {}\ntasks: [{evals: none.json, tests: .}]", "there is no evals file"),
    ("harness: toy\nbase: {}\ntasks: [{evals: conf.yaml, tests: .}]", "is not JSON"),
    ("1: 2", "the key 1 is no text"),
    ("killmatrix_plan: 1", "is a plan, not a suite file"),
])  # fmt: skip
def test_texts_that_are_no_suites(folder: Path, text: str, message: str) -> None:
    with pytest.raises(HarnessError) as caught:
        suite(folder, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_suites(folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    for name, message in (
        ("none", "there is no suite file"),
        ("binary", "is not UTF-8"),
        (".", "cannot read the suite"),
    ):
        with pytest.raises(HarnessError, match=message):
            read_suite(folder / name)


# -- plans ------------------------------------------------------------------------------------------------------------


def planned(
    folder: Path, *operators: str, largest: int = 12, control: bool = True, traces: Traces | None = None
) -> Plan:
    return plan_of(
        suite(folder), chosen_operators(",".join(operators) or None), largest=largest, trials=2, control=control,
        traces=traces or Traces(False),
    )  # fmt: skip


def test_a_plan_comes_back_as_it_was(folder: Path) -> None:
    plan = planned(folder)
    write_plan(plan, folder / "plan.yaml")
    assert read_plan(folder / "plan.yaml") == plan
    data = yaml.safe_load((folder / "plan.yaml").read_text(encoding="utf-8"))
    assert data["base"] == "base"
    assert [entry["name"] for entry in data["mutants"]] == [entry["name"] for entry in data["variants"][1:]]
    assert all(entry["name"].startswith(f"mutant-{entry['operator']}-") for entry in data["mutants"])


def test_the_largest_number_is_shared_between_the_operators(folder: Path) -> None:
    plan = planned(folder, largest=4)
    fates = {mutant.operator: mutant.fate for mutant in reversed(plan.mutants) if not mutant.is_control}
    assert fates["approvals"] is fates["drop-key"] is fates["drop-skill"] is fates["drop-instruction-line"] is Fate.RUN
    assert sum(mutant.fate is Fate.RUN for mutant in plan.mutants) == 4
    assert [mutant.is_control for mutant in plan.mutants if mutant.runs].count(True) == 1
    assert {mutant.reason for mutant in plan.mutants if mutant.fate is Fate.LEFT_OUT} == {"more than --max 4"}


def test_a_skill_that_no_trace_used_is_equivalent(folder: Path) -> None:
    plan = planned(folder)
    spans = trace({"tool": "read", "skill": "poetry"})
    traces = Traces(True, tuple(make_trials(make_plan([]), "base", "+", spans)))
    again = planned(folder, traces=traces)
    versions = next(mutant for mutant in again.mutants if mutant.component == "versions")
    assert (versions.fate, versions.reason) == (Fate.EQUIVALENT, "none of 16 traces of the base used it")
    assert versions.name not in {variant.name for variant in again.variants}
    assert len(again.variants) == len(plan.variants) - 1
    assert any(
        line.startswith("equivalent, not run: mutant-drop-skill-versions") for line in plan_lines(again, traces, folder)
    )


def test_without_a_trace_nothing_is_called_equivalent(folder: Path) -> None:
    traces = Traces(True, tuple(make_trials(make_plan([]), "base", "+")))
    plan = planned(folder, traces=traces)
    assert {mutant.fate for mutant in plan.mutants if not mutant.is_control} == {Fate.RUN}
    assert any("no trace of this base in the data folder" in line for line in plan_lines(plan, traces, folder))


def test_only_traces_of_this_very_base_count(tmp_path: Path) -> None:
    plan = make_plan([make_mutant("mutant-drop-key-a", "drop-key")])
    records = make_trials(plan, "base", "+!") + make_trials(plan, "mutant-drop-key-a", "+")
    in_run_set(tmp_path / "data" / "set", records)
    assert {record.variant for record in read_traces(tmp_path / "data", BASE).records} == {"base"}
    assert len(read_traces(tmp_path / "data", BASE).records) == 8
    assert read_traces(tmp_path / "data", replace(BASE, approvals="auto")).records == ()
    assert read_traces(tmp_path / "data", replace(BASE, harness="other")).records == ()
    with pytest.raises(HarnessError, match="there is no data folder"):
        read_traces(tmp_path / "none", BASE)


def test_equal_mutants_are_run_once(folder: Path) -> None:
    text = SUITE.replace("# Tone\\n\\nBe kind.\\n", "Be kind.\\nBe kind.\\n")
    plan = plan_of(
        suite(folder, text), ["drop-instruction-line"], largest=9, trials=2, control=True, traces=Traces(False)
    )
    assert [(mutant.name, mutant.fate) for mutant in plan.mutants][:2] == [
        ("mutant-drop-instruction-line-be-kind", Fate.RUN), ("mutant-drop-instruction-line-be-kind-2", Fate.DUPLICATE),
    ]  # fmt: skip


def test_an_empty_plan_is_refused(folder: Path) -> None:
    with pytest.raises(HarnessError, match="nothing to run: drop-hook: a suite file describes no hooks"):
        planned(folder, "drop-hook", "noop")
    with pytest.raises(HarnessError, match="nothing to run"):
        planned(folder, "noop", control=False)


def test_the_control_alone_can_be_planned(folder: Path) -> None:
    """It shows how often equal harnesses come out different."""
    write_plan(planned(folder, "noop"), folder / "plan.yaml")
    assert [mutant.name for mutant in read_plan(folder / "plan.yaml").mutants] == ["mutant-noop-control"]


@pytest.mark.parametrize("text", ["drop-everything", "", ","])
def test_unknown_operators(text: str) -> None:
    with pytest.raises(HarnessError, match=r"--ops: there is no operator .*; there are drop-skill, "):
        chosen_operators(text)


def test_a_plan_says_what_it_can_show(folder: Path) -> None:
    plan = planned(folder)
    text = "\n".join(plan_lines(plan, Traces(False), folder / "plan.yaml"))
    for part in (
        "a changed instruction changes the prompt's prefix", "tasks should be cheap", "2 tasks, n = 2",
        "if tasks alone were resampled", "under 8 tasks", "not generated: widen-egress: a suite file",
    ):  # fmt: skip
        assert part in text
    assert "warning: without the noop control" in "\n".join(
        plan_lines(planned(folder, control=False), Traces(False), folder)
    )
    assert "warning: n = 1" in "\n".join(plan_lines(replace(plan, trials=1), Traces(False), folder))


@pytest.mark.parametrize(("before", "after", "message"), [
    ("killmatrix_plan: 1", "killmatrix_plan: 9", "is of a newer pytest-killmatrix"),
    ("killmatrix_plan: 1", "plan: 1", "is no plan; make one with killmatrix harness plan"),
    ("base: base", "base: none", "the base 'none' is none of its variants"),
    ("base: base", "base: mutant-approvals-auto", "the base 'mutant-approvals-auto' is none of its variants"),
    ("fate: run", "fate: maybe", "fate: 'maybe' is unknown"),
    ("trials: 2", "trials: two", "trials: a whole number"),
    ("root: .", "root: nowhere", "there is no directory"),
    ("- name: mutant-drop-skill-versions\n  skills", "- name: another\n  skills", "is none of its variants"),
])  # fmt: skip
def test_plans_that_will_not_do(folder: Path, before: str, after: str, message: str) -> None:
    path = folder / "plan.yaml"
    write_plan(planned(folder), path)
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(HarnessError) as caught:
        read_plan(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_without_a_mutant_to_run_is_refused(folder: Path) -> None:
    path = folder / "plan.yaml"
    write_plan(replace(planned(folder), mutants=()), path)
    with pytest.raises(HarnessError, match="no mutant to run; plan again"):
        read_plan(path)


# -- run sets ---------------------------------------------------------------------------------------------------------

ONE = make_mutant("mutant-drop-key-one", "drop-key")


def test_trials_come_back_as_they_were(tmp_path: Path) -> None:
    plan = make_plan([ONE])
    spans = trace("a", {"tool": "b\u2028\ud800", "arguments": {"x": [1, None]}})
    records = make_trials(plan, "base", "+-!", spans, cost_usd=0.5, tests={"t::x": "passed"}, reason="a\nb")
    found = in_run_set(tmp_path / "set", records).records()
    assert found == records
    lines = next(iter((tmp_path / "set" / "trials" / "base").iterdir())).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["trial", "span", "span"]


def test_what_has_no_verdict_is_left_to_run(tmp_path: Path) -> None:
    plan = make_plan([ONE], tasks=2)
    run_set = in_run_set(tmp_path / "set", [*make_trials(plan, "base", "+-!+")[:3]])
    jobs, total, base = remaining(plan, run_set)
    assert total == 8
    assert [(job.variant.name, job.task.name, job.trial) for job in jobs[:3]] == [
        ("base", "task-1", 1), ("base", "task-1", 2), (ONE.name, "task-0", 1),
    ]  # fmt: skip
    assert len(base) == 2
    assert {job.variant.name for job in remaining(plan, run_set, ["mutant-*"])[0]} == {ONE.name}
    with pytest.raises(HarnessError, match="--only x matches no variant; there are base, mutant-drop-key-one"):
        remaining(plan, run_set, ["x"])


@pytest.mark.parametrize(("changes", "message"), [
    ({"harness": "other"}, "has trials of the harness 'other'"),
    ({"variant_fingerprint": "0"}, "does not match the plan: its 'base' is another"),
    ({"task_fingerprint": "0"}, "does not match the plan: its task 'task-0' is another"),
])  # fmt: skip
def test_a_run_set_of_another_plan_is_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    plan = make_plan([ONE])
    records = [replace(record, **changes) for record in make_trials(plan, "base", "+")]
    run_set = in_run_set(tmp_path / "set", records)
    with pytest.raises(HarnessError, match=message):
        check_match(plan, run_set, records)


def test_run_sets_that_will_not_do(tmp_path: Path) -> None:
    plan = make_plan([ONE])
    run_set = in_run_set(tmp_path / "data" / "set", make_trials(plan, "base", "+"))
    assert find_run_set("set", tmp_path / "data").folder == find_run_set(str(run_set.folder), tmp_path).folder
    with pytest.raises(HarnessError, match=r"there is no run set 'none' in .*; there are set"):
        find_run_set("none", tmp_path / "data")
    with pytest.raises(HarnessError, match="make one with killmatrix harness run"):
        find_run_set("none", tmp_path / "nowhere")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "precious").touch()
    with pytest.raises(HarnessError, match="is no run set and not empty, not touched"), RunSet(theirs).claimed("toy"):
        pass
    assert [path.name for path in theirs.iterdir()] == ["precious"]
    next(iter((run_set.folder / "trials" / "base").iterdir())).write_text("{", encoding="utf-8")
    with pytest.raises(HarnessError, match="cannot be read; remove the file"):
        run_set.records()


# -- the sidecar ------------------------------------------------------------------------------------------------------


def a_run(tmp_path: Path, resolved: Mapping[str, str] | None = None) -> Any:
    plan = make_plan([ONE, CONTROL])
    given = {"base": "+-", ONE.name: "+", CONTROL.name: "+-", **(resolved or {})}
    records = [record for name, letters in given.items() for record in make_trials(plan, name, letters, trace("a"))]
    run_set = in_run_set(tmp_path / "set", records)
    return plan, run_set, score_run(plan, run_set, run_set.records(), (), Rules(k=2))


def test_a_scored_run_comes_back_as_it_was(tmp_path: Path) -> None:
    plan, run_set, run = a_run(tmp_path)
    path = tmp_path / "a.sqlite"
    assert store_harness_run(path, unscored_run(plan, run_set)) == store_harness_run(path, run) == 1
    assert harness_runs(path) == [run]
    assert json.loads(json.dumps(run.as_dict()))["score"]["denominator"] == run.killed + run.survived


def test_runs_of_code_and_of_harnesses_do_not_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    store_harness_run(path, a_run(tmp_path)[2])
    with pytest.raises(StoreError, match="has harness runs only"):
        Reader(path)
    with Sidecar.open(path) as sidecar:
        sidecar.begin_run(make_info())
    with Reader(path) as reader:
        assert len(reader.runs()) == 1
    assert len(harness_runs(path)) == 1


def test_a_sidecar_of_the_first_version_gets_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.execute(f"PRAGMA application_id = {0x4B4D5458}")
    connection.close()
    with pytest.raises(StoreError, match="older schema version 1"):
        harness_runs(path)
    store_harness_run(path, a_run(tmp_path)[2])
    assert len(harness_runs(path)) == 1
    with pytest.raises(StoreError, match="there is no sidecar"):
        harness_runs(tmp_path / "none.sqlite")


def test_mutants_are_never_promoted(tmp_path: Path) -> None:
    """The mutant resolves everything and the base half: no reader that picks a variant sees the mutant."""
    path = tmp_path / "a.sqlite"
    run = a_run(tmp_path)[2]
    store_harness_run(path, run)
    assert {trial.variant for trial in run.trials if trial.outcome == "resolved"} == {"base", ONE.name, CONTROL.name}
    assert best_variant(path, "toy") == "base"
    assert best_variant(path, "other") is None
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT harness, variant, resolved, judged FROM harness_standings").fetchall()
    connection.close()
    assert rows == [("toy", "base", 8, 16)]


def test_a_mutant_is_no_base_of_another_suite(folder: Path) -> None:
    plan = planned(folder)
    write_plan(plan, folder / "plan.yaml")
    for variant in plan.variants[1:]:
        with pytest.raises(HarnessError, match="is the name of a mutant, and a mutant is no base"):
            suite(folder, SUITE.replace("base:\n", f"base:\n  name: {variant.name}\n"))
