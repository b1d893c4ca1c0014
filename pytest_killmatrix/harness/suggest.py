"""A spec worth adding for each survivor: where the recorded traces differ, one that would have killed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import yaml

from pytest_killmatrix.analysis.bootstrap import Count, rate_difference
from pytest_killmatrix.harness.dataplane import TrialRecord
from pytest_killmatrix.harness.operators import APPROVALS, DROP_SKILL, dropped_skill
from pytest_killmatrix.harness.planfile import PlannedMutant
from pytest_killmatrix.harness.variants import AUTO
from pytest_killmatrix.harness.verdicts import Trials, listed

_Traces = Mapping[str, Sequence["_Steps"]]
_ORDERED: Final = 50  # tools up to which every pair of them is looked at
_TRIES: Final = 5  # candidates whose difference is looked at closely


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A spec as YAML, and what it is known to do."""

    yaml: str
    note: str


@dataclass(frozen=True, slots=True)
class _Steps:
    """A trace in short: the place of the first step of each skill and tool."""

    skill: Mapping[str, int]
    tool: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A spec about skills or tools (``kind``): ``then`` only of ``before``."""

    form: str
    kind: str
    name: str
    then: str | None = None

    def holds(self, steps: _Steps) -> bool:
        """As the spec itself would, only faster: there are many candidates."""
        places: Mapping[str, int] = getattr(steps, self.kind)
        if self.form == "eventually":
            return self.name in places
        if self.form == "never":
            return self.name not in places
        if self.then is None or self.then not in places:
            return True
        first = places.get(self.name)
        return first is not None and first < places[self.then]

    @property
    def data(self) -> Any:
        patterns = [{"skill": n} if self.kind == "skill" else {"tool": {"name": n}} for n in (self.name, self.then)]
        return {"first": patterns[0], "then": patterns[1]} if self.form == "before" else patterns[0]


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
    ours, theirs = _steps(base), _steps(other)
    found = sorted(
        (measured for candidate in _candidates(ours, theirs) if (measured := _measure(candidate, ours, theirs))),
        key=lambda measured: measured.base - measured.mutant,
        reverse=True,
    )
    for measured in found[:_TRIES]:
        if rate_difference(measured.pairs).interval().high < 0:
            note = f"holds in {measured.base:.0%} of the base's traces and in {measured.mutant:.0%} of the mutant's"
            if measured.base < 1:
                note += "; what does not hold on the base cannot kill: make it hold, or give a lower --bound"
            return Suggestion(_yaml(mutant, measured.candidate.form, measured.candidate.data, measured.tasks), note)
    if mutant.operator == DROP_SKILL:
        form, data = "eventually", {"skill": dropped_skill(mutant.title)}
        record = "the skill of each step (trial.tool(..., skill=...)), and limit the spec to the tasks that need it"
    elif mutant.operator == APPROVALS:
        form, data = "never", {"approval": AUTO}
        record = f"who approved a risky step (approval={AUTO!r})"
    else:
        form, data = "eventually", {"instruction": mutant.component}
        record = f"where the agent does what it is for (trial.span(..., instruction={mutant.component!r}))"
    tasks = (
        f"; more tasks such as {listed(less_in)} would show it too" if less_in else "; if it is for nothing, it can go"
    )
    return Suggestion(_yaml(mutant, form, data), f"the traces of base and mutant do not differ: record {record}{tasks}")


def _candidates(base: _Traces, other: _Traces) -> Iterator[_Candidate]:
    """Specs about the skills and tools of the traces: skills first, then tools, then their order."""
    for kind in ("skill", "tool"):
        ours, theirs = (
            sorted({name for traces in side.values() for steps in traces for name in getattr(steps, kind)})
            for side in (base, other)
        )
        yield from (_Candidate("eventually", kind, name) for name in ours)
        yield from (_Candidate("never", kind, name) for name in theirs if name not in ours)
        if kind == "tool" and len(ours) <= _ORDERED:
            yield from (_Candidate("before", kind, one, two) for one in ours for two in ours if one != two)


def _steps(trials: Trials) -> _Traces:
    return {
        task: traces
        for task, records in trials.items()
        if (traces := [_Steps(_places(r, "skill"), _places(r, "tool")) for r in records if r.spans])
    }


def _places(record: TrialRecord, kind: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, span in enumerate(record.spans):
        name = getattr(span, kind)
        if name:
            places.setdefault(name, place)
    return places


def _measure(candidate: _Candidate, base: _Traces, other: _Traces) -> _Measured | None:
    """How often a candidate holds; None where that is no less on the mutant.

    Over all tasks, or over some: what the base does in every trial of some tasks and in none of the others.
    """
    before = {task: _satisfied(candidate, base[task]) for task in base if task in other}
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


def _satisfied(candidate: _Candidate, traces: Sequence[_Steps]) -> Count:
    return Count(sum(candidate.holds(steps) for steps in traces), len(traces))


def _yaml(mutant: PlannedMutant, form: str, data: Any, tasks: Sequence[str] = ()) -> str:
    spec: dict[str, Any] = {"name": f"keeps-{mutant.component}"}
    if tasks:
        spec["tasks"] = list(tasks)
    spec[form] = data
    return yaml.safe_dump([spec], sort_keys=False, allow_unicode=True, default_flow_style=False).rstrip("\n")
