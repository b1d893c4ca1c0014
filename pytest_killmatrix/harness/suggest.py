"""A spec worth adding for each survivor: one that the recorded traces show would have killed it, if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from pytest_killmatrix.harness.dataplane import TrialRecord
from pytest_killmatrix.harness.operators import APPROVALS, DROP_SKILL
from pytest_killmatrix.harness.planfile import PlannedMutant
from pytest_killmatrix.harness.specs import Clause, Spec
from pytest_killmatrix.harness.variants import AUTO, skill_name
from pytest_killmatrix.harness.verdicts import Trials


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


def suggest(mutant: PlannedMutant, base: Trials, other: Trials) -> Suggestion:
    """The first of the candidates that holds in every trace of the base and fails on the mutant.

    Where the traces tell nothing apart, a spec that needs a span which nobody records yet.
    """
    for candidate in _candidates(base, other):
        tasks = [task for task in base if task in other and _separates(candidate, base[task], other[task])]
        if tasks:
            everywhere = all(_holds(candidate, records) for records in base.values())
            text = _yaml(mutant, candidate.form, candidate.data, () if everywhere else tasks)
            failing = sum(not _satisfied(candidate, record) for task in tasks for record in _traced(other[task]))
            return Suggestion(text, f"holds in every trace of the base; {failing} of the mutant's fail it")
    if mutant.operator == DROP_SKILL:
        skill = skill_name(mutant.title.removeprefix("skill "))
        return Suggestion(
            _yaml(mutant, "eventually", {"skill": skill}, ()),
            "the traces of base and mutant show no difference: record the skill of each step "
            "(trial.tool(..., skill=...)), and limit the spec to the tasks that need it",
        )
    if mutant.operator == APPROVALS:
        return Suggestion(
            _yaml(mutant, "never", {"approval": AUTO}, ()),
            f"the traces of base and mutant show no difference: record who approved a risky step (approval={AUTO!r})",
        )
    return Suggestion(
        _yaml(mutant, "eventually", {"instruction": mutant.component}, ()),
        "the traces of base and mutant show no difference. If the component is meant to do something, record that: "
        f"trial.span(..., instruction={mutant.component!r}) where it was done. If not, it can go",
    )


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


def _separates(candidate: _Candidate, base: Sequence[TrialRecord], other: Sequence[TrialRecord]) -> bool:
    return _holds(candidate, base) and any(not _satisfied(candidate, record) for record in _traced(other))


def _holds(candidate: _Candidate, records: Sequence[TrialRecord]) -> bool:
    traced = _traced(records)
    return bool(traced) and all(_satisfied(candidate, record) for record in traced)


def _satisfied(candidate: _Candidate, record: TrialRecord) -> bool:
    return Spec("candidate", (candidate.clause,)).holds(record.spans)


def _traced(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    return [record for record in records if record.spans]


def _all(trials: Trials) -> list[TrialRecord]:
    return [record for records in trials.values() for record in records]


def _yaml(mutant: PlannedMutant, form: str, data: Any, tasks: Sequence[str]) -> str:
    spec: dict[str, Any] = {"name": f"keeps-{mutant.component}"}
    if tasks:
        spec["tasks"] = list(tasks)
    spec[form] = data
    return yaml.safe_dump([spec], sort_keys=False, allow_unicode=True, default_flow_style=False).rstrip("\n")
