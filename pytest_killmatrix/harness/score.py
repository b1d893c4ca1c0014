"""``killmatrix harness score``: from a plan, a run set and specs to a scored run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_killmatrix.analysis.bootstrap import Count, Interval
from pytest_killmatrix.analysis.power import POWER, detectable_difference, smallest_change
from pytest_killmatrix.analysis.trials import wilson
from pytest_killmatrix.harness.dataplane import RunSet, TrialRecord, find_run_set, used_skills
from pytest_killmatrix.harness.operators import DROP_SKILL, dropped_skill
from pytest_killmatrix.harness.planfile import Fate, Plan, PlannedMutant, read_plan
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.run import check_match
from pytest_killmatrix.harness.specs import Spec, named_skills, read_specs
from pytest_killmatrix.harness.suggest import suggest
from pytest_killmatrix.harness.verdicts import (
    ENOUGH_TASKS,
    NOTHING,
    Comparison,
    Judged,
    Rules,
    Trials,
    Verdict,
    adjust,
    by_task,
    compare,
    control_problem,
    count,
    judge,
    show,
)
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun, HarnessTrial


def score_command(
    plan_path: Path, run_set: str, data: Path, *, specs: Path | None, bound: float, k: int | None, seed: int
) -> HarnessRun:
    """Read everything that a score needs, check that it belongs together, and score it."""
    plan = read_plan(plan_path)
    found = find_run_set(run_set, data)
    records = found.records()
    check_match(plan, found, records)
    if k is not None and k > plan.trials:
        raise HarnessError(f"--k {k} is more than the plan's {plan.trials} trials; give {plan.trials} or less")
    rules = Rules(k=k or plan.trials, bound=bound, seed=seed)
    return score_run(plan, found, records, read_specs(specs) if specs is not None else (), rules)


def unscored_run(plan: Plan, run_set: RunSet) -> HarnessRun:
    """What there is to tell of a run before it is scored."""
    records = _of_plan(plan, run_set.records())
    mutants = tuple(HarnessMutant(m.name, m.operator, m.component, m.title) for m in plan.mutants)
    return _run(plan, run_set, records, mutants)


def score_run(
    plan: Plan, run_set: RunSet, records: Sequence[TrialRecord], specs: Sequence[Spec], rules: Rules
) -> HarnessRun:
    """Judge every mutant of a plan. ``HarnessError`` where the base cannot be compared with."""
    records = _of_plan(plan, records)
    _check_base(plan, records, specs)
    base = by_task(records, plan.base)
    trials = {mutant.name: by_task(records, mutant.name) for mutant in plan.mutants}
    missing = {mutant.name: _missing(plan, mutant.name, records) for mutant in plan.mutants if mutant.runs}
    compared = {
        name: comparison
        for name, lacking in missing.items()
        if not lacking and (comparison := compare(base, trials[name], specs, rules)) is not None
    }
    counted = {m.name: compared[m.name] for m in plan.mutants if m.name in compared and not m.is_control}
    counted = adjust(counted, rules)
    judged = {
        mutant.name: _judge(mutant, {**compared, **counted}.get(mutant.name), missing.get(mutant.name, 0), rules)
        for mutant in plan.mutants
    }
    judged = {mutant.name: _unless_unused(mutant, judged[mutant.name], base) for mutant in plan.mutants}
    withheld, control = _control(plan, compared, missing)
    killed = [name for name, verdict in judged.items() if verdict.verdict is Verdict.KILLED]
    survived = [name for name, verdict in judged.items() if verdict.verdict is Verdict.SURVIVED]
    low, high = wilson(len(killed), len(killed) + len(survived), rules.level)
    able = any(found.adjusted is not None or any(s.held for s in found.specs) for found in counted.values())
    shown = tuple(_mutant(mutant, judged[mutant.name], base, trials[mutant.name]) for mutant in plan.mutants)
    return replace(
        _run(plan, run_set, records, shown),
        scored=True, withheld=withheld, killed=len(killed),
        unconfirmed=sum(judged[name].unconfirmed for name in killed), survived=len(survived), low=low, high=high,
        k=rules.k, bound=rules.bound, level=rules.level, control=control,
        power=tuple(_power(plan, base, len(counted), rules)),
        notes=(*([] if able or not counted else [NOTHING]), *_notes(plan, records, specs, compared, rules)),
    )  # fmt: skip


def _of_plan(plan: Plan, records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials that the plan asks for: a run set may hold those of other plans with the same base."""
    names = {plan.base, *(mutant.name for mutant in plan.mutants if mutant.runs)}
    tasks = {task.name for task in plan.tasks}
    return [r for r in records if r.variant in names and r.task in tasks and r.trial <= plan.trials]


def _missing(plan: Plan, variant: str, records: Sequence[TrialRecord]) -> int:
    """Trials that were never run; one that ended in a fault was."""
    return len(plan.tasks) * plan.trials - sum(record.variant == variant for record in records)


def _check_base(plan: Plan, records: Sequence[TrialRecord], specs: Sequence[Spec]) -> None:
    lacking = _missing(plan, plan.base, records)
    if lacking:
        raise HarnessError(
            f"the base is not finished: {lacking} of {len(plan.tasks) * plan.trials} trials are missing; run the plan "
            "again, it goes on from there"
        )
    base = by_task(records, plan.base)
    if not base:
        raise HarnessError("every trial of the base was an infrastructure fault: see why, then run the plan again")
    if specs and not any(record.spans for trials in base.values() for record in trials):
        raise HarnessError(
            "missing traces: no trial of the base recorded a span, so no spec can be judged; record spans with the "
            "fixture 'trial' (trial.tool, trial.span), or leave --specs out"
        )


def _judge(mutant: PlannedMutant, comparison: Comparison | None, missing: int, rules: Rules) -> Judged:
    if mutant.is_control:
        return Judged(Verdict.EQUIVALENT, mutant.reason or "changes nothing", comparison=comparison)
    if mutant.fate is Fate.EQUIVALENT:
        return Judged(Verdict.EQUIVALENT, mutant.reason or "equivalent")
    if not mutant.runs:
        return Judged(Verdict.NOT_RUN, mutant.reason or mutant.fate.value)
    if missing:
        return Judged(Verdict.NOT_RUN, f"{missing} of its trials are missing: run the plan again")
    if comparison is None:
        return Judged(Verdict.NOT_RUN, "no task was judged both with it and on the base: infrastructure faults only")
    return judge(comparison, rules)


def _unless_unused(mutant: PlannedMutant, judged: Judged, base: Trials) -> Judged:
    """A dropped skill that no trace of the base used is equivalent, also where only this run has shown it."""
    traced = [record for records in base.values() for record in records if record.spans]
    if mutant.operator != DROP_SKILL or judged.verdict is not Verdict.SURVIVED or not traced:
        return judged
    if dropped_skill(mutant.title) in used_skills(traced):
        return judged
    why = f"none of {len(traced)} traces of the base used it"
    return Judged(Verdict.EQUIVALENT, why, comparison=judged.comparison)


def _control(
    plan: Plan, compared: Mapping[str, Comparison], missing: Mapping[str, int]
) -> tuple[str | None, str | None]:
    """Why the score is withheld, and how the noop control came out."""
    if not plan.controls:
        return None, None
    for control in plan.controls:
        found = compared.get(control.name)
        if found is None:
            lacking = missing.get(control.name, 0)
            why = f"{lacking} of its trials are missing" if lacking else "all of its trials were faults"
            return f"the noop control was not judged: {why}; run the plan again", None
        problem = control_problem(found)
        if problem is not None:
            return f"the noop control did not come out equivalent: {problem}", f"failed: {problem}"
    found = compared[plan.controls[0].name]
    return None, (f"equivalent: resolved {found.base_rate:.0%} -> {found.rate:.0%}, interval {show(found.raw)} holds 0")


def _power(plan: Plan, base: Trials, compared: int, rules: Rules) -> Iterator[str]:
    tasks = len(base)
    strict = 1 - (1 - rules.level) / max(1, compared)
    if tasks < ENOUGH_TASKS:
        yield f"{count(tasks, 'task')}: the statistics give no verdict under {ENOUGH_TASKS}, only specs do"
    else:
        for level, what in ((rules.level, "for one mutant"), (strict, f"for the first of {compared} (Holm)")):
            share = smallest_change(tasks, level)
            if share is not None:
                yield (
                    f"at best, without noise, {what}: {round(share * tasks)} of {tasks} tasks have to change from "
                    f"always to never resolved, a difference of {share:.2f}"
                )
    counts = [Count(sum(r.outcome.value == "resolved" for r in trials), len(trials)) for trials in base.values()]
    smallest = detectable_difference(counts, plan.trials, level=rules.level)
    found = f"a true difference of {smallest:.2f}" if smallest < 1 else "no difference"
    yield (
        f"with the noise of the base, n = {plan.trials} finds {found} with power {POWER:.0%} ({count(tasks, 'task')}, "
        "one mutant, normal approximation)"
    )


def _notes(
    plan: Plan, records: Sequence[TrialRecord], specs: Sequence[Spec], compared: Mapping[str, Comparison], rules: Rules
) -> Iterator[str]:
    if plan.trials == 1:
        yield "n = 1 cannot show how a task varies: intervals rest on the tasks alone, and pass^1 is only the rate"
    if not plan.controls:
        yield "no noop control was planned: nothing shows that equal harnesses come out equal"
    if not specs:
        yield "no specs were given (--specs): only the statistics can kill"
    faults = sum(not record.judged for record in records)
    if faults:
        yield f"{faults} of {len(records)} trials were infrastructure faults, twice each; they stand in no rate"
    bare = sum(record.judged and not record.spans for record in records)
    if specs and bare:
        yield f"{bare} judged trials have no trace and stand in no spec: record spans in every trial"
    bad = sum(record.bad_spans for record in records)
    if bad:
        yield f"{bad} lines of traces were no JSON objects and were left out"
    for spec in specs:
        if not any(spec.applies_to(task.name) for task in plan.tasks):
            yield f"spec {spec.name} is for tasks {', '.join(spec.tasks)}, and the plan has none of that name: check it"
            continue
        results = [r for c in compared.values() for r in c.specs if r.spec == spec.name]
        if results and not any(result.held for result in results):
            worst = min(result.base for result in results)
            yield (
                f"spec {spec.name} did not hold on the base (pass^{rules.k} {worst:.2f}, below {rules.bound:g}): it "
                "cannot kill"
            )
        untold = sum(spec.name in comparison.untold for comparison in compared.values())
        if untold:
            yield f"spec {spec.name} is not judged on {untold} variants: no task has {rules.k} traces on both sides"
    yield from _unknown_skills(plan, records, specs)


def _unknown_skills(plan: Plan, records: Sequence[TrialRecord], specs: Sequence[Spec]) -> Iterator[str]:
    skills = plan.variant(plan.base).skills
    known = {span.skill for record in records for span in record.spans} | {s.rpartition("/")[2] for s in skills or ()}
    for spec in specs:
        for skill in sorted(named_skills(spec) - known):
            yield f"spec {spec.name} names the skill {skill!r}, which is not in the harness and in no trace: check it"


def _mutant(planned: PlannedMutant, judged: Judged, base: Trials, other: Trials) -> HarnessMutant:
    suggestion = None
    if judged.verdict is Verdict.SURVIVED:
        found = suggest(planned, base, other, () if judged.comparison is None else judged.comparison.less_in)
        suggestion = f"# {found.note}\n{found.yaml}"
    return HarnessMutant(
        name=planned.name, operator=planned.operator, component=planned.component, drops=planned.title,
        verdict=judged.verdict.value, why=judged.why, role=None if judged.role is None else judged.role.value,
        role_why=judged.role_why, killed_by=judged.killed_by, unconfirmed=judged.unconfirmed,
        comparison=None if judged.comparison is None else _comparison(judged.comparison), suggestion=suggestion,
    )  # fmt: skip


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "tasks": found.tasks,
        "left_out": list(found.left_out),
        "less_in": list(found.less_in),
        "base_rate": found.base_rate,
        "rate": found.rate,
        "difference": found.difference.observed,
        "raw": _interval(found.raw),
        "adjusted": _interval(found.adjusted),
        "p": found.difference.p,
        "p_adjusted": found.p_adjusted,
        "resamples": found.difference.resamples,
        "cost_usd": _interval(found.cost),
        "tokens": _interval(found.tokens),
        "specs": [
            {
                "name": result.spec, "base": result.base, "mutant": result.mutant, "tasks": result.tasks,
                "held": result.held, "killed": result.killed, "confirmed": result.confirmed,
                "difference": _interval(result.difference),
            }
            for result in found.specs
        ],
    }  # fmt: skip


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()


def _run(plan: Plan, run_set: RunSet, records: Sequence[TrialRecord], mutants: tuple[HarnessMutant, ...]) -> HarnessRun:
    return HarnessRun(
        id=f"{run_set.name}/{plan.fingerprint}",
        started=min((record.started for record in records), default=""),
        harness=plan.harness,
        base=plan.base,
        run_set=str(run_set.folder.resolve()),
        tasks=tuple(task.name for task in plan.tasks),
        trials_planned=plan.trials,
        mutants=mutants,
        trials=tuple(
            HarnessTrial(
                r.variant, r.task, r.trial, r.outcome.value, r.reason, r.attempts, r.seconds, r.cost_usd,
                r.input_tokens, r.output_tokens, len(r.spans),
            )
            for r in records
        ),
    )  # fmt: skip
