"""``killmatrix harness plan``: from a suite to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

from pytest_killmatrix.analysis.power import false_kill_rate
from pytest_killmatrix.harness.dataplane import TrialRecord, run_sets, used_skills
from pytest_killmatrix.harness.operators import (
    DROP_SKILL,
    IMPOSSIBLE,
    NOOP,
    OPERATORS,
    Proposal,
    Refusal,
    dropped_skill,
    propose,
)
from pytest_killmatrix.harness.planfile import Fate, Plan, PlannedMutant, plan_problem, write_plan
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.suite import Suite, read_suite
from pytest_killmatrix.harness.variants import Variant
from pytest_killmatrix.harness.verdicts import ENOUGH_TASKS, count

TRIALS: Final = 2
LARGEST: Final = 12


@dataclass(frozen=True, slots=True)
class Traces:
    """What was recorded of the base earlier; ``asked`` where a data folder was given."""

    asked: bool
    records: tuple[TrialRecord, ...] = ()

    @property
    def with_spans(self) -> int:
        return sum(bool(record.spans) for record in self.records)


def make_plan(
    suite: Suite, operators: Sequence[str], *, largest: int, trials: int, control: bool, traces: Traces
) -> Plan:
    """Choose the mutants of a suite's base. ``HarnessError`` where there is none to run."""
    base = suite.base
    used = used_skills(traces.records)
    made = propose(base, [operator for operator in operators if operator != NOOP], used)
    refusals: dict[str, str] = {}
    for item in made:
        if isinstance(item, Refusal):
            earlier = refusals.get(item.operator)
            refusals[item.operator] = item.reason if earlier is None else f"{earlier}; {item.reason}"
    for operator, reason in IMPOSSIBLE.items():
        refusals.setdefault(operator, reason)
    mutants, kept = _choose([item for item in made if isinstance(item, Proposal)], base, used, traces, largest)
    if not kept and (list(operators) != [NOOP] or not control):  # the control alone shows how noisy the tasks are
        why = "; ".join(f"{operator}: {reason}" for operator, reason in refusals.items())
        others = f"{len(mutants)} are equivalent; " if mutants else ""
        raise HarnessError(f"nothing to run: {others}{why}")
    variants = [base, *(proposal.variant for proposal in kept)]
    if control:
        noop = next(item for item in propose(base, [NOOP], ()) if isinstance(item, Proposal))
        variants.append(noop.variant)
        reason = "changes nothing: run as a control, never counted"
        mutants.append(PlannedMutant(noop.variant.name, NOOP, noop.component, noop.title, Fate.EQUIVALENT, reason))
    return Plan(
        harness=base.harness, root=suite.root, base=base.name, variants=tuple(variants), mutants=tuple(mutants),
        tasks=suite.tasks, trials=trials, cost_usd=suite.cost_usd, minutes=suite.minutes, timeout=suite.timeout,
        not_generated=tuple(refusals.items()),
    )  # fmt: skip


def _choose(
    proposals: list[Proposal], base: Variant, used: set[str], traces: Traces, largest: int
) -> tuple[list[PlannedMutant], list[Proposal]]:
    """All mutants with what becomes of them, and those that are run: of each operator in turn, up to ``largest``."""
    fates: dict[str, tuple[Fate, str | None]] = {}
    first: dict[str, str] = {}
    for proposal in proposals:
        fates[proposal.variant.name] = _fate(proposal, base, used, traces, first)
    runnable = [proposal for proposal in proposals if fates[proposal.variant.name][0] is Fate.RUN]
    by_operator = [[item for item in runnable if item.operator == name] for name in OPERATORS]
    in_turn = [item for row in zip_longest(*by_operator) for item in row if item is not None]
    for proposal in in_turn[largest:]:
        fates[proposal.variant.name] = (Fate.LEFT_OUT, f"more than --max {largest}")
    chosen = {proposal.variant.name for proposal in in_turn[:largest]}
    planned = [
        PlannedMutant(item.variant.name, item.operator, item.component, item.title, *fates[item.variant.name])
        for item in proposals
    ]
    return planned, [proposal for proposal in proposals if proposal.variant.name in chosen]


def _fate(
    proposal: Proposal, base: Variant, used: set[str], traces: Traces, first: dict[str, str]
) -> tuple[Fate, str | None]:
    variant = proposal.variant
    if variant.fingerprint == base.fingerprint:
        return Fate.EQUIVALENT, "the harness stays the same"
    if proposal.operator == DROP_SKILL and traces.with_spans and dropped_skill(proposal.title) not in used:
        return Fate.EQUIVALENT, f"none of {traces.with_spans} traces of the base used it"
    twin = first.setdefault(variant.fingerprint, variant.name)
    if twin != variant.name:
        return Fate.DUPLICATE, f"the same harness as {twin}"
    return Fate.RUN, None


def read_traces(data: Path | None, base: Variant) -> Traces:
    """The recorded trials of this very base, of all run sets of its harness."""
    if data is None:
        return Traces(False)
    found = [
        record
        for run_set in run_sets(data)
        if run_set.harness() == base.harness
        for record in run_set.records()
        if record.variant_fingerprint == base.fingerprint and record.judged and record.variant == base.name
    ]
    return Traces(True, tuple(found))


def chosen_operators(text: str | None) -> list[str]:
    """The operators of ``--ops``; all where it was not given."""
    if text is None:
        return [*OPERATORS]
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = [*OPERATORS, *IMPOSSIBLE]
    strange = next((name for name in names if name not in known), None)
    if strange is not None or not names:
        raise HarnessError(f"--ops: there is no operator {strange or ''!r}; there are {', '.join(known)}")
    return names


def plan_command(
    suite_path: Path, out: Path, *, harness: str | None, ops: str | None, largest: int, trials: int | None,
    data: Path | None, control: bool,
) -> list[str]:  # fmt: skip
    """Make a plan and write it; the lines to print."""
    operators = chosen_operators(ops)
    suite = read_suite(suite_path, harness)
    problem = plan_problem(out)
    if problem is not None:
        raise HarnessError(problem)
    if out.exists() and out.samefile(suite_path):
        raise HarnessError(f"--out {out} is the suite file itself; give another")
    traces = read_traces(data, suite.base)
    plan = make_plan(
        suite, operators, largest=largest, trials=trials or suite.trials or TRIALS, control=control, traces=traces
    )
    write_plan(plan, out)
    return plan_lines(plan, traces, out)


def plan_lines(plan: Plan, traces: Traces, out: Path) -> list[str]:
    """What the user should know about a plan."""
    run = [mutant for mutant in plan.mutants if mutant.runs]
    tasks, trials = len(plan.tasks), plan.trials
    lines = [
        f"harness {plan.harness}: base {plan.base!r} and {count(len(run), 'mutant')}, {count(tasks, 'task')}, "
        f"{count(trials, 'trial')} each"
    ]
    lines += [
        f"  {mutant.name}  drops {mutant.title}" + (f" ({mutant.reason})" if mutant.reason else "") for mutant in run
    ]
    for fate in (Fate.EQUIVALENT, Fate.DUPLICATE, Fate.LEFT_OUT):
        lines += [
            f"{fate.value}, not run: {mutant.name}: {mutant.reason}"
            for mutant in plan.mutants
            if mutant.fate is fate and not mutant.runs
        ]
    lines += [f"not generated: {operator}: {reason}" for operator, reason in plan.not_generated]
    lines.append(
        "note: a changed instruction changes the prompt's prefix: no cached prompt is reused and every trial runs in "
        "full, so tasks should be cheap"
    )
    lines += _statistics(tasks, trials)
    if traces.asked and not traces.with_spans:
        lines.append(
            "warning: no trace of this base in the data folder, so nothing is called equivalent: run the base once "
            "(killmatrix harness run PLAN --only base), then plan again"
        )
    if not plan.controls:
        lines.append("warning: without the noop control nothing shows that equal harnesses come out equal")
    lines.append(f"{out}: run it with killmatrix harness run {out}")
    return lines


def _statistics(tasks: int, trials: int) -> list[str]:
    nested, flat = (false_kill_rate(tasks, trials, nested=which) for which in (True, False))
    lines = [
        f"false kills, simulated with identical harnesses, {count(tasks, 'task')}, n = {trials}: {nested:.0%} of "
        f"mutants (95 % interval over tasks and trials); {flat:.0%} if tasks alone were resampled"
    ]
    if tasks < ENOUGH_TASKS:
        lines.append(
            f"note: under {ENOUGH_TASKS} tasks the statistics give no verdict, only specs do: this suite has {tasks}"
        )
    if trials == 1:
        lines.append(
            "warning: n = 1 cannot show how a task varies, and pass^1 is only the rate: --n 2 or more is better"
        )
    return lines
