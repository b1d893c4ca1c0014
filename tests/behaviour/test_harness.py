"""``killmatrix harness`` in processes of its own: real trials of small agents, and the example."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from projects import Project, Run

from pytest_killmatrix import cli
from pytest_killmatrix.store.harness import HarnessRun, best_variant, harness_runs

Refused = Callable[..., str]
EXAMPLE = Path(__file__).parents[2] / "examples" / "harness"

SUITE = """\
harness: tiny
base:
  instructions: |
    Say hello.
    Smile.
tasks:
  - {name: greet, tests: test_greet.py}
trials: 1
cost_usd: 0.01
"""
GRADER = """\
    def test_greet(harness_variant, trial):
        trial.tool("say", arguments={"text": "hello"})
        trial.usage(input_tokens=10, output_tokens=5, cost_usd=0.5)
        assert "Say hello." in harness_variant.instructions
    """
ONLY_LINES = ("--ops", "drop-instruction-line")


class Harness(Project):
    """A project with a suite of one cheap task."""

    alone: bool = True
    """Whether trials load no other plugins of pytest, which is quicker."""

    def killmatrix(self, *words: str, **options: Any) -> Run:
        """Run the command."""
        return self.execute(self.words(*words), env=self.environment(), **options)

    def environment(self) -> dict[str, str]:
        return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1" if self.alone else ""}

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "pytest_killmatrix.cli", "harness", *words]

    def plan(self, *words: str) -> Run:
        """Plan, and expect that to succeed."""
        ran = self.killmatrix("plan", "suite.yaml", "--out", "plan.yaml", *(words or ONLY_LINES))
        assert ran.status == 0, ran.screen
        return ran

    @property
    def run_set(self) -> Path:
        """The one run set."""
        (found,) = (self.path / "harness-data").iterdir()
        return found

    def records(self) -> dict[str, dict[str, Any]]:
        """The records of all trials, by variant, task and number."""
        found = {}
        for path in sorted((self.run_set / "trials").glob("*/*.jsonl")):
            record = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
            found[f"{record['variant']} {record['task']} {record['trial']}"] = record
        return found

    def stored(self) -> HarnessRun:
        """The one run in the sidecar."""
        (found,) = harness_runs(self.sidecar)
        return found


@pytest.fixture
def new_harness(tmp_path: Path) -> Callable[[], Harness]:
    return lambda: Harness(tmp_path)


@pytest.fixture
def harness(new_harness: Callable[[], Harness]) -> Harness:
    """A project with a suite, and a grader that wants its instructions to say hello."""
    found = new_harness()
    found.write({"suite.yaml": SUITE, "test_greet.py": GRADER})
    return found


# -- the example ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Harness, Run]:
    """The example, planned, run with two workers, and scored."""
    found = Harness(tmp_path_factory.mktemp("example"))
    shutil.copytree(EXAMPLE, found.path, dirs_exist_ok=True)
    found.plan("--max", "9")
    before = found.snapshot()
    ran = found.killmatrix("run", "plan.yaml", "--workers", "2")
    assert (ran.status, ran.left) == (0, []), ran.screen
    added = [name for name in found.changes(before) if not name.startswith("harness-data/")]
    assert added == []
    scored = found.killmatrix(
        "score", "plan.yaml", found.run_set.name, "--specs", "specs/team.yaml", "--out", "score.md"
    )
    assert scored.status == 0, scored.screen
    return found, scored


TESTS_BLOCK = "mutant-drop-instruction-line-write-your-own-tests-and-make-them-pass"


def test_dropping_the_block_about_tests_is_noticed_by_the_spec(example: tuple[Harness, Run]) -> None:
    run = example[0].stored()
    mutants = {mutant.name: mutant for mutant in run.mutants}
    killed = mutants[TESTS_BLOCK]
    assert (killed.verdict, killed.role, killed.killed_by) == ("killed", "necessary", ("spec tested-before-commit",))
    assert killed.comparison is not None
    (spec,) = (found for found in killed.comparison["specs"] if found["name"] == "tested-before-commit")
    assert (spec["base"], spec["mutant"]) == (1.0, 0.0)
    assert (killed.comparison["base_rate"], killed.comparison["rate"]) == (1.0, 1.0)  # the graders did not notice
    assert mutants["mutant-noop-control"].verdict == mutants["mutant-drop-skill-poetry"].verdict == "equivalent"


def test_the_decorative_block_survives_and_gets_a_spec(example: tuple[Harness, Run]) -> None:
    mutants = {mutant.name: mutant for mutant in example[0].stored().mutants}
    survivor = mutants["mutant-drop-instruction-line-tone"]
    assert survivor.verdict == "survived"
    assert "eventually:\n    instruction: tone" in (survivor.suggestion or "")


def test_the_report_has_the_score_and_the_sidecar_has_it_all(example: tuple[Harness, Run]) -> None:
    found, scored = example
    run = found.stored()
    assert (run.killed, run.survived, run.withheld) == (4, 1, None)
    assert scored.screen.startswith("score 80%: 4 of 5 mutants killed")
    text = (found.path / "score.md").read_text(encoding="utf-8")
    assert text.startswith("# Harness mutation: toy\n\n**Score 80%: 4 of 5 mutants killed")
    assert len(run.trials) == 16
    assert {trial.outcome for trial in run.trials} == {"resolved"}
    assert min(trial.input_tokens or 0 for trial in run.trials) > 0
    assert best_variant(found.sidecar, "toy") == "base"


def test_json_is_what_the_sidecar_has(example: tuple[Harness, Run]) -> None:
    found = example[0]
    ran = found.killmatrix("score", "plan.yaml", str(found.run_set), "--specs", "specs/team.yaml", "--json")
    data = json.loads(ran.screen)
    assert (data["schema_version"], data["kind"]) == (1, "harness")
    assert data == {"schema_version": 1, **json.loads(json.dumps(found.stored().as_dict()))}


def test_a_component_that_no_trace_used_is_not_run(example: tuple[Harness, Run]) -> None:
    found = example[0]
    ran = found.killmatrix("plan", "suite.yaml", "--out", "again.yaml", "--data", "harness-data")
    equivalent = "equivalent, not run: mutant-drop-skill-poetry: none of 2 traces of the base used it"
    assert equivalent in ran.screen.splitlines()
    again = found.killmatrix("run", "again.yaml", "--dry-run")
    assert "trials   0 to run, 14 of 14 are there already" in again.screen.splitlines()


def test_the_second_run_has_nothing_to_do(example: tuple[Harness, Run]) -> None:
    before = example[0].stored()
    ran = example[0].killmatrix("run", "plan.yaml")
    assert ran.status == 0
    assert "every trial is there already" in ran.screen
    assert example[0].stored() == before  # the score too


@pytest.mark.lengthy
def test_the_forgetful_agent_is_told_apart_by_statistics(new_harness: Callable[[], Harness]) -> None:
    found = new_harness()
    shutil.copytree(EXAMPLE, found.path, dirs_exist_ok=True)
    shutil.move(found.path / "stochastic.yaml", found.path / "suite.yaml")
    found.plan("--ops", "drop-instruction-line", "--max", "2")
    text = (found.path / "plan.yaml").read_text(encoding="utf-8")
    assert f"name: {TESTS_BLOCK}\n  operator: drop-instruction-line" in text
    ran = found.killmatrix("run", "plan.yaml", "--workers", "2", timeout=500)
    assert (ran.status, ran.left) == (0, []), ran.screen
    assert found.killmatrix("score", "plan.yaml", found.run_set.name).status == 0
    mutants = {mutant.name: mutant for mutant in found.stored().mutants}
    assert (mutants[TESTS_BLOCK].verdict, mutants[TESTS_BLOCK].killed_by) == ("killed", ("statistics",))
    assert mutants["mutant-drop-instruction-line-tone"].verdict == "survived"


# -- trials -----------------------------------------------------------------------------------------------------------


@pytest.mark.lengthy
def test_a_trial_is_judged_by_its_graders(harness: Harness) -> None:
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml")
    assert (ran.status, ran.left) == (0, []), ran.screen
    records = harness.records()
    assert {key: record["outcome"] for key, record in records.items()} == {
        "base greet 1": "resolved", "mutant-noop-control greet 1": "resolved",
        "mutant-drop-instruction-line-say-hello greet 1": "unresolved",
        "mutant-drop-instruction-line-smile greet 1": "resolved",
    }  # fmt: skip
    base = records["base greet 1"]
    assert (base["cost_usd"], base["input_tokens"], base["output_tokens"]) == (0.5, 10, 5)
    assert base["tests"] == {"test_greet.py::test_greet": "passed"}
    trace = (harness.run_set / "trials" / "base" / "greet.1.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(trace[1])["attributes"] == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "say",
        "gen_ai.tool.call.arguments": {"text": "hello"},
    }  # fmt: skip


FACTS = """\
    import json, os, pathlib, sys
    def test_facts(harness_variant, trial, tmp_path):
        data = json.loads(pathlib.Path(os.environ["KILLMATRIX_VARIANT"]).read_text())
        assert data["name"] == harness_variant.name and data["instructions"] == harness_variant.instructions
        assert pathlib.Path.cwd() == trial.directory and list(trial.directory.iterdir()) == []
        (trial.directory / "left").write_text("x")
        with open(os.environ["KILLMATRIX_SPANS"], "a") as file:
            file.write('{"tool": "ls", "skill": "files"}\\n')
        trial.span("facts", directory=str(trial.directory), temporary=str(tmp_path), seed=trial.seed)
        import helper
    """


@pytest.mark.lengthy
def test_each_trial_has_a_directory_of_its_own(harness: Harness) -> None:
    harness.write({"test_greet.py": FACTS, "helper.py": ""})
    harness.plan("--ops", "drop-instruction-line", "--n", "2", "--max", "1")
    ran = harness.killmatrix("run", "plan.yaml", "--workers", "3")
    assert (ran.status, ran.left) == (0, []), ran.screen
    facts = []
    for path in (harness.run_set / "trials").glob("*/*.jsonl"):
        _, first, second = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        assert first["attributes"] == {"gen_ai.tool.name": "ls", "skill_name": "files"}
        facts.append(second["attributes"])
    assert len({fact["directory"] for fact in facts}) == len({fact["seed"] for fact in facts}) == len(facts) == 6
    assert not any(Path(fact[name]).exists() for fact in facts for name in ("directory", "temporary"))


@pytest.mark.lengthy
def test_the_project_is_found_from_a_suite_elsewhere(harness: Harness) -> None:
    """Conftests above the tests, an import from the root, options of other plugins; from another directory."""
    shutil.rmtree(harness.path)
    nodeid = "tests/deep/test_greet.py::test_greet[a::b c]"
    harness.write({
        "ev/suite.yaml": SUITE.replace("test_greet.py", f'"{nodeid}"') + "root: ..\n",
        "conftest.py": "import pytest\n@pytest.fixture\ndef top():\n    return 1\n",
        "tests/deep/test_greet.py": """\
            import helper, pytest
            @pytest.mark.parametrize("x", ["a::b c"])
            def test_greet(top, x, trial):
                trial.span("x", skill="y")
            """,
        "helper.py": "", "elsewhere/x": "",
    })  # fmt: skip
    words = harness.words(
        "plan", "../ev/suite.yaml", "--out", "../ev/plan.yaml", *ONLY_LINES, "--no-control", "--max", "1"
    )
    cwd = ["sh", "-c", 'cd elsewhere && exec "$@"', "sh"]
    assert harness.execute([*cwd, *words]).status == 0
    for env in ({}, {"PYTEST_ADDOPTS": "-n 2 -p no:randomly"}):
        run = harness.words("run", "../ev/plan.yaml", "--set", f"s{len(env)}", "--only", "base")
        ran = harness.execute([*cwd, *run], env=env)
        assert (ran.status, ran.left) == (0, []), ran.screen
        path = harness.path / "elsewhere" / "harness-data" / f"s{len(env)}" / "trials" / "base" / "greet.1.jsonl"
        first, span = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        assert first["tests"] == {nodeid: "passed"}
        assert span["attributes"] == {"skill_name": "y"}


def dying(how: str) -> str:
    return f"""\
    import os, pathlib, pytest, signal, sys, time
    def test_dies(trial):
        {how}
    """


DEATHS = {
    "exits": ("os._exit(0)", "died without a verdict (exit status 0)"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "died without a verdict (exit status -9)"),
    "ended": ("pytest.exit('no more')", "pytest was interrupted"),
    "skips": ("pytest.skip('not today')", "no grader passed or failed"),
    "declared": ("trial.fault('the model is overloaded')", "the model is overloaded"),
}
FIXTURES = {"asserts": "assert False", "fails": "pytest.fail('no')", "raises": "raise OSError('disk')"}
FIXTURE = """\
    import pytest
    @pytest.fixture
    def agent():
        {how}
    def test_it(agent):
        pass
    """


@pytest.mark.lengthy
def test_a_trial_that_dies_is_a_fault_and_run_once_more_and_fixtures_judge_by_assertions(harness: Harness) -> None:
    files = {name: dying(how) for name, (how, _) in DEATHS.items()}
    files |= {name: FIXTURE.format(how=how) for name, how in FIXTURES.items()}
    tasks = "".join(f"  - {{name: {name}, tests: test_{name}.py}}\n" for name in files)
    harness.write({f"test_{name}.py": text for name, text in files.items()})
    harness.write({"suite.yaml": SUITE.replace("  - {name: greet, tests: test_greet.py}\n", tasks)})
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml", "--only", "base", "--workers", "2")
    assert (ran.status, ran.left) == (1, []), ran.screen
    found = {record["task"]: record for record in harness.records().values()}
    for name, (_, reason) in {**DEATHS, "raises": ("", "a grader could not judge: ")}.items():
        assert (found[name]["outcome"], found[name]["attempts"]) == ("fault", 2)
        assert reason in found[name]["reason"]
        assert ran.screen.count(f"fault, once more: base {name} 1") == 1
    for name in ("asserts", "fails"):
        assert (found[name]["outcome"], found[name]["attempts"]) == ("unresolved", 1)


@pytest.mark.lengthy
def test_a_trial_that_hangs_is_a_fault_unless_its_graders_have_spoken(harness: Harness) -> None:
    lingers = "import threading; threading.Thread(target=time.sleep, args=(600,)).start()"
    harness.write({"test_greet.py": dying("time.sleep(600)"), "test_lingers.py": dying(lingers)})
    tasks = "  - {name: greet, tests: test_greet.py}\n"
    both = tasks + tasks.replace("greet", "lingers")
    harness.write({"suite.yaml": SUITE.replace(tasks, both) + "timeout_s: 5\n"})
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml", "--only", "base", "--workers", "2")
    assert (ran.status, ran.left) == (1, []), ran.screen
    hangs, spoken = harness.records().values()
    assert (hangs["outcome"], hangs["attempts"], hangs["reason"]) == ("fault", 2, "not finished after 5 s")
    assert (spoken["outcome"], spoken["attempts"]) == ("resolved", 1)


@pytest.mark.lengthy
def test_a_fault_that_passes_is_no_fault(harness: Harness) -> None:
    marker = harness.outside / "marker"
    how = f"m = pathlib.Path({str(marker)!r}); seen = m.exists(); m.touch(); seen or os._exit(1)"
    harness.write({"test_greet.py": dying(how)})
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml", "--only", "base")
    assert ran.status == 0, ran.screen
    (record,) = harness.records().values()
    assert (record["outcome"], record["attempts"]) == ("resolved", 2)


LEAVES = """\
    import subprocess, sys
    def test_it():
        code = "import time; time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", code])
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    """


@pytest.mark.lengthy
def test_what_an_agent_starts_ends_with_its_trial(harness: Harness) -> None:
    harness.write({"test_greet.py": LEAVES})
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml")
    assert (ran.status, ran.left) == (0, []), ran.screen


SLOW = """\
    import os, pathlib, time
    def test_it(trial):
        seen = pathlib.Path(os.environ["SEEN"])
        (seen / str(os.getpid())).touch()
        if len(list(seen.iterdir())) > 1:
            time.sleep(600)
    """


def interrupted(harness: Harness, how: signal.Signals) -> Run:
    """Run until the second trial has begun, then send a signal to the command."""
    seen = harness.outside / "seen"
    seen.mkdir()
    harness.write({"test_greet.py": SLOW})
    harness.plan()
    process = harness.start(harness.words("run", "plan.yaml"), {"SEEN": str(seen), **harness.environment()})
    deadline = time.monotonic() + 60
    while len(list(seen.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, how)
    process.wait(30)
    while harness.left() and time.monotonic() < deadline:  # who was killed cannot wait for its own
        time.sleep(0.1)
    return harness.finish(process)


@pytest.mark.lengthy
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_and_goes_on(harness: Harness, how: signal.Signals) -> None:
    ran = interrupted(harness, how)
    assert ran.left == []
    if how is not signal.SIGKILL:
        assert ran.status == 2
        assert "interrupted: 1 trials are kept" in ran.screen
    assert list(harness.records()) == ["base greet 1"]
    (harness.outside / "seen" / "x").touch()
    again = harness.killmatrix("run", "plan.yaml", "--dry-run")
    assert "trials   3 to run, 1 of 4 are there already" in again.screen.splitlines()


# -- money ------------------------------------------------------------------------------------------------------------


@pytest.mark.lengthy
def test_the_projection_comes_from_the_plan_and_then_from_what_was_recorded(harness: Harness) -> None:
    harness.plan()
    first = harness.killmatrix("run", "plan.yaml", "--dry-run")
    assert "dollars  $0.04 (cost_usd in the plan)" in first.screen.splitlines()
    assert not (harness.path / "harness-data").exists()
    harness.killmatrix("run", "plan.yaml", "--only", "base")
    second = harness.killmatrix("run", "plan.yaml", "--dry-run")
    assert "dollars  $1.50 (from 1 recorded trials of the base)" in second.screen.splitlines()


@pytest.mark.lengthy
def test_a_projection_above_the_limit_is_refused(harness: Harness) -> None:
    harness.write({"suite.yaml": SUITE.replace("0.01", "11.1")})
    harness.plan()
    for words, limit in ((("--max-usd", "5"), "5.00"), ((), "40.00")):
        ran = harness.killmatrix("run", "plan.yaml", *words)
        assert ran.status == 4
        assert f"the projected cost $44.40 is above the limit ${limit}: give --max-usd 45 or more" in ran.screen
        assert not (harness.path / "harness-data").exists()
    assert "would be refused: the projected" in harness.killmatrix("run", "plan.yaml", "--dry-run").screen


@pytest.mark.lengthy
def test_a_limit_cannot_be_kept_where_the_cost_is_unknown(harness: Harness) -> None:
    harness.write({"suite.yaml": SUITE.replace("cost_usd: 0.01\n", "")})
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml", "--max-usd", "5")
    assert ran.status == 4
    assert "what a trial costs is unknown, so --max-usd cannot be kept" in ran.screen


def test_a_run_that_costs_more_than_was_projected_stops(harness: Harness) -> None:
    harness.plan()
    ran = harness.killmatrix("run", "plan.yaml", "--max-usd", "0.6")
    assert ran.status == 4
    assert "stopped: $1.00 were spent, the limit is $0.60; 2 trials are left" in ran.screen
    assert len(harness.records()) == 2
    assert harness.killmatrix("run", "plan.yaml", "--max-usd", "5").status == 0


# -- bad input --------------------------------------------------------------------------------------------------------


EXPECTED = ("usage:", " ", "run set ", "trials ", "dollars ", "minutes ")


@pytest.fixture
def refused(harness: Harness, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refused:
    """The one line of a command that is refused, after which nothing is changed."""
    monkeypatch.chdir(harness.path)

    def run(*words: str) -> str:
        before = harness.snapshot()
        capfd.readouterr()
        try:
            status = cli.main(["harness", *words])
        except SystemExit as exit:
            status = int(exit.code or 0)
        screen = "".join(capfd.readouterr())
        assert status == 4, screen
        assert harness.changes(before) == []
        lines = [line for line in screen.splitlines() if not line.startswith(EXPECTED)]
        assert len(lines) == 1, screen
        return lines[0]

    return run


@pytest.mark.lengthy
def test_wrong_usage_is_one_line(harness: Harness, refused: Refused) -> None:
    harness.write({"precious.yaml": "keep: me\n", "precious.md": "# Mine\n", "empty.yaml": SUITE.replace("Say", "Cry")})
    plan = ("plan", "suite.yaml", "--out")
    assert "there is no suite file" in refused("plan", "none.yaml", "--out", "plan.yaml")
    assert "there is a file that is no plan, not touched" in refused(*plan, "precious.yaml")
    assert "there is a file that is no plan" in refused(*plan, "suite.yaml")
    assert "no directory" in refused(*plan, "nowhere/plan.yaml")
    assert "there is no operator 'x'" in refused(*plan, "plan.yaml", "--ops", "x")
    assert "nothing to run: " in refused(*plan, "plan.yaml", "--ops", "drop-skill")
    assert "'0' will not do; a whole number from 1 on will" in refused(*plan, "plan.yaml", "--max", "0")
    assert "has no harness 'x'" in refused(*plan, "plan.yaml", "--harness", "x")
    assert "there is no data folder" in refused(*plan, "plan.yaml", "--data", "none")
    assert "there is no plan" in refused("run", "plan.yaml")
    assert "is no plan" in refused("run", "suite.yaml")
    harness.plan()
    assert "matches no variant" in refused("run", "plan.yaml", "--only", "x")
    assert "'0' will not do" in refused("run", "plan.yaml", "--workers", "0")
    assert "no directory nowhere" in refused("run", "plan.yaml", "--db", "nowhere/a.sqlite")
    assert "there is no run set 'x'" in refused("score", "plan.yaml", "x")
    assert "'2' will not do" in refused("score", "plan.yaml", "x", "--bound", "2")
    harness.killmatrix("run", "plan.yaml")
    score = ("score", "plan.yaml", harness.run_set.name)
    assert "there is no file of specs" in refused(*score, "--specs", "none.yaml")
    assert "--k 2 is more than the plan's 1 trials" in refused(*score, "--k", "2")
    assert "there is a file that is no report of ours, not touched" in refused(*score, "--out", "precious.md")
    harness.write({"suite.yaml": SUITE.replace("Smile.", "Grin.")})
    harness.plan()
    assert "does not match the plan: its 'base' is another" in refused(*score)
    harness.write({"test_greet.py": GRADER + "\n# changed\n"})
    assert "the graders or files of the task 'greet' changed" in refused("run", "plan.yaml")


@pytest.mark.lengthy
def test_scoring_before_the_base_is_finished(harness: Harness, refused: Refused) -> None:
    harness.plan()
    harness.killmatrix("run", "plan.yaml", "--only", "mutant-*")
    message = refused("score", "plan.yaml", harness.run_set.name)
    assert "the base is not finished: 1 of 1 trials are missing" in message


def test_a_control_that_comes_out_different_withholds_the_score(harness: Harness) -> None:
    """A grader that looks at the variant's name: equal harnesses come out different."""
    harness.write({"test_greet.py": "def test_it(harness_variant):\n    assert harness_variant.name == 'base'\n"})
    harness.plan()
    harness.killmatrix("run", "plan.yaml")
    ran = harness.killmatrix("score", "plan.yaml", harness.run_set.name)
    assert ran.status == 3
    assert "**Score withheld: the noop control did not come out equivalent" in ran.screen
    assert harness.stored().score["value"] is None


@pytest.mark.lengthy
def test_without_a_variant_graders_are_skipped(harness: Harness) -> None:
    ran = harness.plain("-rs")
    assert ran.status == 0
    ran.lines.fnmatch_lines(["*a grader: it needs a variant of a harness; use killmatrix harness run*"])


def test_outside_of_a_trial_its_fixture_records_to_memory(harness: Harness) -> None:
    harness.write({"test_greet.py": """\
        def test_it(trial):
            trial.tool("ls", skill="files")
            assert [(span.tool, span.skill) for span in trial.spans] == [("ls", "files")]
            assert trial.directory.is_dir()
        """})  # fmt: skip
    assert harness.plain().status == 0
