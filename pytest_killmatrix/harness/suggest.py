"""A spec worth adding for each survivor: where the recorded traces differ, one that would have killed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import yaml

from pytest_killmatrix.analysis.bootstrap import Count, rate_difference
from pytest_killmatrix.harness.dataplane import TrialRecord
from pytest_killmatrix.harness.operators import APPROVALS, DROP_SKILL, dropped_skill
from pytest_killmatrix.harness.planfile import PlannedMutant
from pytest_killmatrix.harness.specs import Clause
from pytest_killmatrix.harness.variants import AUTO
from pytest_killmatrix.harness.verdicts import Trials, listed

_TRIES: Final = 5  # candidates whose difference is looked at closely


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A spec as YAML, and what it is known to do."""

    yaml: str
    note: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    form: str
    data: Any
    clause: Clause


@dataclass(frozen=True, slots=True)
class _Measured:
    candidate: _Candidate
    tasks: tuple[str, ...]
    pairs: tuple[tuple[Count, Count], ...]
    base: float
    mutant: float


def suggest(mutant: PlannedMutant, base: Trials, other: Trials, less_in: Sequence[str] = ()) -> Suggestion:
    """The candidate that tells base and mutant apart most clearly, if one does beyond chance.

    Where the traces tell nothing apart, a spec that needs a span which nobody records yet. ``less_in`` are tasks that
    were resolved less often without the component: there it is good for something.
    """
    found = sorted(
        (measured for candidate in _candidates(base, other) if (measured := _measure(candidate, base, other))),
        key=lambda measured: measured.base - measured.mutant,
        reverse=True,
    )
    for measured in found[:_TRIES]:
        if rate_difference(measured.pairs).interval().high < 0:
            note = f"holds in {measured.base:.0%} of the base's traces and in {measured.mutant:.0%} of the mutant's"
            if measured.base < 1:
                note += "; what does not hold on the base cannot kill: make it hold, or give a lower --bound"
            return Suggestion(_yaml(mutant, measured.candidate, measured.tasks), note)
    if mutant.operator == DROP_SKILL:
        skill = dropped_skill(mutant.title)
        candidate = _candidate("eventually", {"skill": skill})
        record = "the skill of each step (trial.tool(..., skill=...)), and limit the spec to the tasks that need it"
    elif mutant.operator == APPROVALS:
        candidate = _candidate("never", {"approval": AUTO})
        record = f"who approved a risky step (approval={AUTO!r})"
    else:
        candidate = _candidate("eventually", {"instruction": mutant.component})
        record = f"where the agent does what it is for (trial.span(..., instruction={mutant.component!r}))"
    tasks = (
        f"; more tasks such as {listed(less_in)} would show it too" if less_in else "; if it is for nothing, it can go"
    )
    return Suggestion(_yaml(mutant, candidate), f"the traces of base and mutant do not differ: record {record}{tasks}")


def _candidates(base: Trials, other: Trials) -> Iterator[_Candidate]:
    """Specs about the skills and tools of the traces: skills first, then tools, then their order."""
    before, after = (_all(trials) for trials in (base, other))
    for key, wrap in (("skill", False), ("tool", True)):
        ours, theirs = (
            sorted({name for record in records for span in record.spans if (name := getattr(span, key))})
            for records in (before, after)
        )
        for name in ours:
            yield _candidate("eventually", {"tool": {"name": name}} if wrap else {"skill": name})
        for name in (name for name in theirs if name not in ours):
            yield _candidate("never", {"tool": {"name": name}} if wrap else {"skill": name})
    tools = sorted({span.tool for record in before for span in record.spans if span.tool})
    for first in tools:
        for then in tools:
            if first != then:
                yield _candidate("before", {"first": {"tool": {"name": first}}, "then": {"tool": {"name": then}}})


def _candidate(form: str, data: Any) -> _Candidate:
    if form == "before":
        return _Candidate(form, data, Clause(form, data["then"], data["first"]))
    return _Candidate(form, data, Clause(form, data))


def _measure(candidate: _Candidate, base: Trials, other: Trials) -> _Measured | None:
    """How often a candidate holds; None where that is no less on the mutant.

    Over all tasks, or over some: what the base does in every trial of some tasks and in none of the others.
    """
    before = {task: _satisfied(candidate, base[task]) for task in base if task in other and _traced(other[task])}
    before = {task: count for task, count in before.items() if count.trials}
    tasks = [task for task, count in before.items() if count.successes]
    if candidate.form != "eventually" or any(before[task].successes < before[task].trials for task in tasks):
        tasks = list(before)
    if not tasks:
        return None
    pairs = [(before[task], _satisfied(candidate, other[task])) for task in tasks]
    rates = [fmean(pair[side].successes / pair[side].trials for pair in pairs) for side in (0, 1)]
    if rates[1] >= rates[0]:
        return None
    return _Measured(candidate, () if len(tasks) == len(before) else tuple(tasks), tuple(pairs), *rates)


def _satisfied(candidate: _Candidate, records: Sequence[TrialRecord]) -> Count:
    traced = _traced(records)
    return Count(sum(candidate.clause.holds(record.spans) for record in traced), len(traced))


def _traced(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    return [record for record in records if record.spans]


def _all(trials: Trials) -> list[TrialRecord]:
    return [record for records in trials.values() for record in records]


def _yaml(mutant: PlannedMutant, candidate: _Candidate, tasks: Sequence[str] = ()) -> str:
    spec: dict[str, Any] = {"name": f"keeps-{mutant.component}"}
    if tasks:
        spec["tasks"] = list(tasks)
    spec[candidate.form] = candidate.data
    return yaml.safe_dump([spec], sort_keys=False, allow_unicode=True, default_flow_style=False).rstrip("\n")
