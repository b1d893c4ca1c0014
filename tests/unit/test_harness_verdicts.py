"""Verdicts, roles and suggestions, from made-up trials."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness_samples import BASE, CONTROL, in_run_set, make_mutant, make_plan, make_trials, trace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_killmatrix.harness.dataplane import TrialRecord
from pytest_killmatrix.harness.planfile import Fate, Plan
from pytest_killmatrix.harness.reading import HarnessError, parse_yaml
from pytest_killmatrix.harness.report import markdown
from pytest_killmatrix.harness.score import score_run
from pytest_killmatrix.harness.specs import Clause, Spec, read_specs
from pytest_killmatrix.harness.suggest import _candidates, _steps
from pytest_killmatrix.harness.verdicts import Rules
from pytest_killmatrix.report.harness import headline
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun

ONE = make_mutant("mutant-drop-instruction-line-one")
TWO = make_mutant("mutant-drop-instruction-line-two")
TESTED = Spec("tested", (Clause("eventually", {"tool": "run_tests"}),))
DID, DID_NOT = trace("run_tests", "commit"), trace("commit")


def scored(
    tmp_path: Path, plan: Plan, records: Iterable[TrialRecord], specs: Iterable[Spec] = (), **rules: Any
) -> HarnessRun:
    run_set = in_run_set(tmp_path / "set", records)
    return score_run(plan, run_set, run_set.records(), tuple(specs), Rules(**{"k": plan.trials, **rules}))


def verdict(run: HarnessRun, name: str = ONE.name) -> HarnessMutant:
    return next(mutant for mutant in run.mutants if mutant.name == name)


def compared(
    tmp_path: Path, base: str, mutant: str, *, tasks: int = 8, trials: int = 2, others: int = 0, **changes: Any
) -> HarnessRun:
    """A base and a mutant that resolve as the letters say, and mutants that are as the base."""
    more = [make_mutant(f"mutant-drop-key-{number}", "drop-key") for number in range(others)]
    plan = make_plan([ONE, CONTROL, *more], tasks=tasks, trials=trials)
    records = make_trials(plan, "base", base, **changes.get("base_has", {}))
    records += make_trials(plan, ONE.name, mutant, **changes.get("mutant_has", {}))
    for planned in (CONTROL, *more):
        records += make_trials(plan, planned.name, base, **changes.get("base_has", {}))
    return scored(tmp_path, plan, records, changes.get("specs", ()))


# -- killed, survived -------------------------------------------------------------------------------------------------


def test_a_fall_of_the_resolved_rate_kills(tmp_path: Path) -> None:
    run = compared(tmp_path, "+", "-")
    found = verdict(run)
    assert (found.verdict, found.role, found.killed_by) == ("killed", "necessary", ("statistics",))
    assert found.comparison is not None
    assert found.comparison["raw"] == {"low": -1.0, "high": -1.0, "level": 0.95}
    assert (run.killed, run.survived, run.withheld) == (1, 0, None)
    assert run.score["value"] == 1.0
    assert run.score["interval"]["low"] == pytest.approx(0.2065, abs=1e-4)


def test_a_rise_of_the_resolved_rate_kills_too_and_is_no_merit_of_the_component(tmp_path: Path) -> None:
    found = verdict(compared(tmp_path, "-", "+"))
    assert (found.verdict, found.role) == ("killed", "harmful")


def test_under_eight_tasks_the_statistics_give_no_verdict(tmp_path: Path) -> None:
    found = verdict(compared(tmp_path, "+", "-", tasks=7))
    assert (found.verdict, found.role) == ("survived", "not decidable at this n")
    assert found.comparison is not None
    assert found.comparison["adjusted"] is None
    assert "8 tasks are needed" in (found.why or "")


def test_where_nothing_could_kill_the_report_says_so(tmp_path: Path) -> None:
    nothing = "Nothing could have killed a mutant"
    assert nothing in markdown(compared(tmp_path / "a", "+", "-", tasks=7))
    assert nothing not in markdown(compared(tmp_path / "b", "+", "-"))
    for number, spans in enumerate((DID, DID_NOT)):
        run = with_traces(tmp_path / str(number), spans, spans)
        assert (nothing in markdown(run)) is (spans is DID_NOT)


def test_the_level_is_adjusted_for_the_number_of_mutants(tmp_path: Path) -> None:
    """Three of eight tasks change: enough for one mutant, not for one of five."""
    alone = verdict(compared(tmp_path / "a", "+", "------++++++++++"))
    among = verdict(compared(tmp_path / "b", "+", "------++++++++++", others=4))
    assert (alone.verdict, among.verdict) == ("killed", "survived")
    assert alone.comparison is not None
    assert among.comparison is not None
    assert alone.comparison["raw"] == among.comparison["raw"]
    assert among.comparison["adjusted"]["level"] == pytest.approx(0.99)
    assert among.comparison["p_adjusted"] == pytest.approx(5 * alone.comparison["p_adjusted"])
    assert "excludes 0, but" in (among.why or "")


def test_chance_is_no_kill(tmp_path: Path) -> None:
    assert verdict(compared(tmp_path, "++++++++++++++-+", "+-++++++++++++++")).verdict == "survived"


# -- specs ------------------------------------------------------------------------------------------------------------


def with_traces(
    tmp_path: Path, base: Any, mutant: Any, specs: Iterable[Spec] = (TESTED,), **changes: Any
) -> HarnessRun:
    sides = {"base_has": {"spans": base}, "mutant_has": {"spans": mutant}, "specs": specs}
    return compared(tmp_path, "+", "+", tasks=changes.pop("tasks", 1), **sides, **changes)


def test_a_spec_that_held_and_falls_kills(tmp_path: Path) -> None:
    run = with_traces(tmp_path, DID, DID_NOT)
    found = verdict(run)
    assert (found.verdict, found.role, found.killed_by) == ("killed", "necessary", ("spec tested",))
    assert "pass^2 1.00 -> 0.00" in (found.why or "")
    assert not found.unconfirmed


def test_a_spec_that_did_not_hold_on_the_base_cannot_kill(tmp_path: Path) -> None:
    run = with_traces(tmp_path, DID_NOT, DID_NOT)
    assert verdict(run).verdict == "survived"
    assert any("did not hold on the base (pass^2 0.00, below 0.9)" in note for note in run.notes)


def partly(plan: Plan, name: str, kept: int) -> list[TrialRecord]:
    """Trials of which the first so many satisfy the spec."""
    return [
        replace(record, spans=DID if number < kept else DID_NOT)
        for number, record in enumerate(make_trials(plan, name, "+"))
    ]


@pytest.mark.parametrize(
    ("kept", "bound", "expected"), [(16, 0.9, False), (15, 0.8, False), (15, 0.9, True), (0, 0.9, True)]
)
def test_a_spec_kills_below_the_bound(tmp_path: Path, kept: int, bound: float, expected: bool) -> None:
    plan = make_plan([ONE, CONTROL])
    records = [*partly(plan, "base", 16), *partly(plan, CONTROL.name, 16), *partly(plan, ONE.name, kept)]
    found = verdict(scored(tmp_path, plan, records, [TESTED], bound=bound))
    assert (found.verdict == "killed") is expected
    assert found.unconfirmed is (expected and kept == 15)  # one trial of sixteen: the interval holds 0
    if kept == 15 and expected:
        assert "unconfirmed: interval" in (found.why or "")
        assert found.role == "not decidable at this n"


def test_an_unconfirmed_kill_is_marked_in_the_report(tmp_path: Path) -> None:
    plan = make_plan([ONE, CONTROL])
    records = [*partly(plan, "base", 16), *partly(plan, CONTROL.name, 16), *partly(plan, ONE.name, 15)]
    run = scored(tmp_path, plan, records, [TESTED])
    assert run.unconfirmed == 1
    assert "1 of the kills unconfirmed" in headline(run)
    assert "killed (spec) *unconfirmed*" in markdown(run)


def test_k_is_smaller_than_n_where_that_is_asked(tmp_path: Path) -> None:
    plan = make_plan([ONE, CONTROL], tasks=1)
    records = [*partly(plan, "base", 2), *partly(plan, CONTROL.name, 2), *partly(plan, ONE.name, 1)]
    for k, expected in ((1, 0.5), (2, 0.0)):
        found = verdict(scored(tmp_path / str(k), plan, records, [TESTED], k=k))
        assert found.comparison is not None
        assert found.comparison["specs"][0]["mutant"] == expected


def test_a_spec_for_other_tasks_says_nothing(tmp_path: Path) -> None:
    run = with_traces(tmp_path, DID, DID_NOT, [replace(TESTED, tasks=("other-*",))])
    assert verdict(run).verdict == "survived"
    assert "spec tested is for tasks other-*, and the plan has none of that name: check it" in run.notes


def test_trials_without_a_trace_satisfy_no_never(tmp_path: Path) -> None:
    never = Spec("never", (Clause("never", {"tool": "push"}),))
    run = with_traces(tmp_path, DID, (), [never])
    found = verdict(run)
    assert found.comparison is not None
    assert found.comparison["specs"] == []
    assert any("2 judged trials have no trace" in note for note in run.notes)
    assert any("spec never is not judged on 1 variants" in note for note in run.notes)


def test_specs_need_traces(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="missing traces: no trial of the base recorded a span"):
        with_traces(tmp_path, (), ())


def test_a_spec_about_a_skill_that_does_not_exist_is_pointed_out(tmp_path: Path) -> None:
    odd = Spec("odd", (Clause("never", {"tool": {"skill": "pdf"}}),))
    known = Spec("known", (Clause("never", {"skill": "poetry"}),))
    notes = with_traces(tmp_path, DID, DID, [odd, known]).notes
    assert [note for note in notes if "not in the harness" in note] == [
        "spec odd names the skill 'pdf', which is not in the harness and in no trace: check it"
    ]


# -- roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("base", "mutant", "role", "why"), [
    ({}, {}, "redundant", "do not differ"),
    ({"cost_usd": 1.0}, {"cost_usd": 1.5}, "only buys efficiency", "0.5 to 0.5 more dollars"),
    ({"input_tokens": 100}, {"input_tokens": 120}, "only buys efficiency", "20 to 20 more tokens"),
    ({"cost_usd": 1.0}, {"cost_usd": 0.5}, "redundant", "0.5 to 0.5 fewer dollars"),
    ({"cost_usd": 1.0}, {}, "redundant", "do not differ"),
])  # fmt: skip
def test_what_a_survivor_is_good_for(tmp_path: Path, base: Any, mutant: Any, role: str, why: str) -> None:
    found = verdict(compared(tmp_path, "+", "+", base_has=base, mutant_has=mutant))
    assert (found.verdict, found.role) == ("survived", role)
    assert why in (found.role_why or "")


def test_a_wide_interval_decides_nothing(tmp_path: Path) -> None:
    found = verdict(compared(tmp_path, "+-", "-+"))
    assert (found.verdict, found.role) == ("survived", "not decidable at this n")


# -- what is not counted ----------------------------------------------------------------------------------------------


def test_equivalent_and_not_run_stand_on_neither_side(tmp_path: Path) -> None:
    others = [
        make_mutant("mutant-drop-skill-poetry", "drop-skill", fate=Fate.EQUIVALENT, reason="no trace used it"),
        make_mutant("mutant-drop-key-a", "drop-key", fate=Fate.LEFT_OUT, reason="more than --max 2"),
        make_mutant("mutant-drop-key-b", "drop-key", fate=Fate.DUPLICATE, reason="the same harness"),
        make_mutant("mutant-drop-key-c", "drop-key"),
        make_mutant("mutant-drop-key-d", "drop-key"),
    ]
    plan = make_plan([ONE, TWO, CONTROL, *others])
    records = make_trials(plan, "base", "+") + make_trials(plan, ONE.name, "-") + make_trials(plan, TWO.name, "+")
    records += make_trials(plan, CONTROL.name, "+") + make_trials(plan, "mutant-drop-key-c", "+")[:-1]
    records += make_trials(plan, "mutant-drop-key-d", "!")
    run = scored(tmp_path, plan, records)
    assert [(mutant.verdict, mutant.component) for mutant in run.mutants] == [
        ("killed", "one"), ("survived", "two"), ("equivalent", "control"), ("equivalent", "poetry"),
        ("not run", "a"), ("not run", "b"), ("not run", "c"), ("not run", "d"),
    ]  # fmt: skip
    assert (run.killed, run.survived) == (1, 1)
    assert "1 of its trials are missing" in (verdict(run, "mutant-drop-key-c").why or "")
    assert "infrastructure faults only" in (verdict(run, "mutant-drop-key-d").why or "")


def test_a_skill_that_turns_out_unused_is_equivalent_unless_its_loss_was_noticed(tmp_path: Path) -> None:
    skill = make_mutant("mutant-drop-skill-poetry", "drop-skill", title="skill skills/poetry")
    for letters, spans, expected in (("+", DID, "equivalent"), ("+", trace({"skill": "poetry"}), "survived"),
                                     ("+", (), "survived"), ("-", DID, "killed")):  # fmt: skip
        plan = make_plan([skill, CONTROL])
        records = [r for name in ("base", CONTROL.name) for r in make_trials(plan, name, "+", spans)]
        folder = tmp_path / f"{expected}-{len(spans)}"
        run = scored(folder, plan, [*records, *make_trials(plan, skill.name, letters, DID)])
        assert verdict(run, skill.name).verdict == expected


def test_faults_are_neither_resolved_nor_unresolved(tmp_path: Path) -> None:
    """A mutant with faults is compared over what was judged."""
    clean = compared(tmp_path / "a", "+", "+-")
    faulty = compared(tmp_path / "b", "+", "+-" * 7 + "!!")
    found, other = verdict(clean).comparison, verdict(faulty).comparison
    assert found is not None
    assert other is not None
    assert (found["rate"], other["rate"]) == (0.5, 0.5)
    assert other["left_out"] == ["task-7"]
    assert any("2 of 48 trials were infrastructure faults" in note for note in faulty.notes)


# -- the control ------------------------------------------------------------------------------------------------------


def control(tmp_path: Path, resolved: str, spans: Any = DID, specs: Iterable[Spec] = ()) -> HarnessRun:
    plan = make_plan([ONE, CONTROL])
    records = make_trials(plan, "base", "+", DID) + make_trials(plan, ONE.name, "-", DID)
    return scored(tmp_path, plan, [*records, *make_trials(plan, CONTROL.name, resolved, spans)], specs)


def test_a_control_that_differs_withholds_the_score(tmp_path: Path) -> None:
    run = control(tmp_path, "-")
    assert run.withheld is not None
    assert run.score["value"] is None
    assert headline(run).startswith("score withheld: the noop control did not come out equivalent")
    assert "**Score withheld" in markdown(run)


def test_a_control_that_fails_a_spec_withholds_the_score(tmp_path: Path) -> None:
    assert "fails the spec tested" in (control(tmp_path, "+", DID_NOT, [TESTED]).withheld or "")


def test_a_control_that_was_not_run_withholds_the_score(tmp_path: Path) -> None:
    plan = make_plan([ONE, CONTROL])
    run = scored(tmp_path / "b", plan, make_trials(plan, "base", "+") + make_trials(plan, ONE.name, "-"))
    assert "16 of its trials are missing" in (run.withheld or "")


def test_a_control_that_comes_out_equal_is_said_to(tmp_path: Path) -> None:
    run = control(tmp_path, "+" * 15 + "-")
    assert run.withheld is None
    assert "equivalent: resolved 100% -> 94%" in (run.control or "")


def test_without_a_control_the_report_says_so(tmp_path: Path) -> None:
    plan = make_plan([ONE])
    run = scored(tmp_path, plan, make_trials(plan, "base", "+") + make_trials(plan, ONE.name, "-"))
    assert run.score["value"] == 1.0
    assert any("no noop control" in note for note in run.notes)


# -- what cannot be scored --------------------------------------------------------------------------------------------


def test_a_base_that_is_not_finished(tmp_path: Path) -> None:
    plan = make_plan([ONE])
    with pytest.raises(HarnessError, match="the base is not finished: 1 of 16 trials are missing"):
        scored(tmp_path, plan, make_trials(plan, "base", "+")[1:])
    with pytest.raises(HarnessError, match="every trial of the base was an infrastructure fault"):
        scored(tmp_path, plan, make_trials(plan, "base", "!"))


def test_one_trial_is_warned_about(tmp_path: Path) -> None:
    run = compared(tmp_path, "+", "-", trials=1)
    assert verdict(run).verdict == "killed"
    assert any(note.startswith("n = 1 cannot show") for note in run.notes)


# -- suggestions ------------------------------------------------------------------------------------------------------


def suggestion(run: HarnessRun) -> dict[str, Any]:
    text = verdict(run).suggestion
    assert text is not None
    (spec,) = parse_yaml(text, "suggestion")
    return dict(spec)


def test_a_suggested_spec_would_have_killed_the_mutant(tmp_path: Path) -> None:
    run = with_traces(tmp_path / "a", DID, DID_NOT, [], tasks=8)
    assert suggestion(run) == {"name": "keeps-one", "eventually": {"tool": {"name": "run_tests"}}}
    again = with_traces(
        tmp_path / "b", DID, DID_NOT, [Spec("s", (Clause("eventually", {"tool": {"name": "run_tests"}}),))]
    )
    assert verdict(again).verdict == "killed"


steps = st.lists(
    st.fixed_dictionaries({}, optional={"tool": st.sampled_from("abc"), "skill": st.sampled_from("xy")}), max_size=5
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ours=st.lists(steps, max_size=3), theirs=st.lists(steps, max_size=3))
def test_a_candidate_holds_where_the_spec_that_it_becomes_does(tmp_path: Path, ours: Any, theirs: Any) -> None:
    plan = make_plan([ONE])
    record = make_trials(plan, "base", "+")[0]
    sides = [_steps({"task": [replace(record, spans=trace(*of)) for of in side]}) for side in (ours, theirs)]
    for candidate in _candidates(*sides):
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump([{"name": "s", candidate.form: candidate.data}]), encoding="utf-8")
        (spec,) = read_specs(path)
        for spans in (trace(*of) for of in (*ours, *theirs)):
            for digest in _steps({"task": [replace(record, spans=spans)]}).get("task", ()):
                assert candidate.holds(digest) == spec.holds(spans)


def test_an_order_that_was_lost_is_suggested(tmp_path: Path) -> None:
    found = suggestion(with_traces(tmp_path, trace("run_tests", "commit"), trace("commit", "run_tests"), []))
    assert found["before"] == {"first": {"tool": {"name": "run_tests"}}, "then": {"tool": {"name": "commit"}}}


def test_a_tool_that_was_not_used_before_is_suggested_never(tmp_path: Path) -> None:
    assert suggestion(with_traces(tmp_path, DID, (*DID, *trace("push")), []))["never"] == {"tool": {"name": "push"}}


def test_where_no_trace_differs_a_span_is_asked_for(tmp_path: Path) -> None:
    run = with_traces(tmp_path, DID, DID, [])
    assert suggestion(run)["eventually"] == {"instruction": "one"}
    assert "(trial.span(..., instruction='one')); if it is for nothing, it can go" in (verdict(run).suggestion or "")


def test_what_was_lost_in_a_few_tasks_is_not_called_useless(tmp_path: Path) -> None:
    found = verdict(compared(tmp_path, "+", "--" + "+" * 14))
    assert (found.verdict, found.role) == ("survived", "not decidable at this n")
    assert (found.why or "").endswith("less often in task-0")
    assert "more tasks such as task-0 would show it too" in (found.suggestion or "")


def test_a_difference_by_chance_is_no_suggestion(tmp_path: Path) -> None:
    plan = make_plan([ONE, CONTROL])
    records = [*partly(plan, "base", 16), *partly(plan, CONTROL.name, 16), *partly(plan, ONE.name, 15)]
    assert suggestion(scored(tmp_path, plan, records))["eventually"] == {"instruction": "one"}


# -- the report -------------------------------------------------------------------------------------------------------


def test_the_report_keeps_its_lines_and_tables(tmp_path: Path) -> None:
    odd = make_mutant("mutant-drop-instruction-line-odd", title="instructions: a | b\n<c>")
    plan = make_plan([odd, CONTROL])
    records = [r for name in ("base", odd.name, CONTROL.name) for r in make_trials(plan, name, "+")]
    text = markdown(scored(tmp_path, plan, records))
    assert "a \\| b &lt;c>" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {11}
    assert "3 of 8 tasks have to change" in text


def test_plans_of_another_harness_are_never_pooled(tmp_path: Path) -> None:
    plan = make_plan([ONE])
    run_set = in_run_set(tmp_path / "set", make_trials(plan, "base", "+"))
    with pytest.raises(HarnessError, match="results of different harnesses are never pooled"), run_set.claimed("other"):
        pass
    assert BASE.harness == run_set.harness()
