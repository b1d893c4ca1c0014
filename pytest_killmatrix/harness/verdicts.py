"""From trials to verdicts: which mutants were noticed, by what, what their component is good for. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from pytest_killmatrix.analysis.bootstrap import LEVEL, Count, Difference, Interval, mean_difference, rate_difference
from pytest_killmatrix.analysis.trials import holm, holm_levels, pass_k
from pytest_killmatrix.harness.dataplane import Outcome, TrialRecord
from pytest_killmatrix.harness.specs import Spec

ENOUGH_TASKS: Final = 8
"""Tasks from which on the statistics give a verdict."""

NOTHING: Final = (
    f"nothing could have killed a mutant: there are fewer than {ENOUGH_TASKS} tasks, and no spec that held on the base"
)
"""A note on a score that could be nothing but 0."""

MARGIN: Final = 0.1
"""A difference of resolved rates within which two variants resolve alike."""

Trials = Mapping[str, Sequence[TrialRecord]]
"""Judged trials of one variant by task; a task without one is missing."""


class Verdict(str, Enum):
    """What became of a mutant; only killed and survived stand in the score."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    NOT_RUN = "not run"


class Role(str, Enum):
    """What the dropped component is good for, as far as the trials tell."""

    NECESSARY = "necessary"
    EFFICIENCY = "only buys efficiency"
    REDUNDANT = "redundant"
    HARMFUL = "harmful"
    UNDECIDED = "not decidable at this n"


@dataclass(frozen=True, slots=True)
class Rules:
    """How to judge: ``k`` of pass^k, ``bound`` that a spec has to reach, ``level`` of intervals."""

    k: int
    bound: float = 0.9
    level: float = LEVEL
    margin: float = MARGIN
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SpecResult:
    """One spec on base and mutant: pass^k of both over ``tasks`` tasks that have k traces on both sides.

    ``difference`` is of the share of trials that satisfy it.
    """

    spec: str
    base: float
    mutant: float
    tasks: int
    held: bool
    killed: bool
    difference: Interval

    @property
    def confirmed(self) -> bool:
        return self.killed and self.difference.excludes_zero


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variant against the base. ``adjusted`` and ``p_adjusted`` are Holm's; None where no verdict is asked of them.

    ``left_out`` are tasks with only faults on one side; ``untold`` are specs without enough traces; ``cost`` and
    ``tokens`` are differences of means of a trial; ``less_in`` are tasks resolved less often than on the base.
    """

    tasks: int
    left_out: tuple[str, ...]
    base_rate: float
    rate: float
    difference: Difference
    raw: Interval
    specs: tuple[SpecResult, ...]
    untold: tuple[str, ...]
    cost: Interval | None
    tokens: Interval | None
    less_in: tuple[str, ...] = ()
    adjusted: Interval | None = None
    p_adjusted: float | None = None

    @property
    def by_statistics(self) -> bool:
        """Whether the adjusted interval excludes 0."""
        return self.adjusted is not None and self.adjusted.excludes_zero

    @property
    def by_specs(self) -> tuple[SpecResult, ...]:
        return tuple(result for result in self.specs if result.killed)


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant's verdict, why, and the comparison that it rests on."""

    verdict: Verdict
    why: str
    role: Role | None = None
    role_why: str | None = None
    comparison: Comparison | None = None
    killed_by: tuple[str, ...] = ()

    @property
    def unconfirmed(self) -> bool:
        """Killed by specs alone, and chance may have done it."""
        found = self.comparison
        return (
            self.verdict is Verdict.KILLED
            and found is not None
            and not found.by_statistics
            and not any(result.confirmed for result in found.by_specs)
        )


def by_task(records: Iterable[TrialRecord], variant: str) -> dict[str, list[TrialRecord]]:
    """The judged trials of a variant by task."""
    found: dict[str, list[TrialRecord]] = {}
    for record in records:
        if record.variant == variant and record.judged:
            found.setdefault(record.task, []).append(record)
    return found


def compare(base: Trials, other: Trials, specs: Sequence[Spec], rules: Rules) -> Comparison | None:
    """A variant against the base, over the tasks that both have judged trials of; None where there is none."""
    common = [task for task in base if task in other]
    if not common:
        return None
    pairs = [(_resolved(base[task]), _resolved(other[task])) for task in common]
    difference = rate_difference(pairs, seed=rules.seed)
    found = {spec.name: _spec_result(base, other, common, spec, rules) for spec in specs}
    rates = [sum(side[which].successes / side[which].trials for side in pairs) / len(pairs) for which in (0, 1)]
    return Comparison(
        tasks=len(common),
        left_out=tuple(sorted(set(base) ^ set(other))),
        base_rate=rates[0],
        rate=rates[1],
        difference=difference,
        raw=difference.interval(rules.level),
        specs=tuple(result for result in found.values() if result is not None),
        untold=tuple(name for name, result in found.items() if result is None),
        cost=_measured(base, other, common, lambda record: record.cost_usd, rules),
        tokens=_measured(base, other, common, lambda record: record.tokens, rules),
        less_in=tuple(
            task
            for task, (one, two) in zip(common, pairs, strict=True)
            if two.successes * one.trials < one.successes * two.trials
        ),
    )


def adjust(comparisons: Mapping[str, Comparison], rules: Rules) -> dict[str, Comparison]:
    """Give those with enough tasks Holm's intervals, over all of them."""
    family = [name for name, comparison in comparisons.items() if comparison.tasks >= ENOUGH_TASKS]
    ps = [comparisons[name].difference.p for name in family]
    result = dict(comparisons)
    for name, p, level in zip(family, holm(ps), holm_levels(ps, rules.level), strict=True):
        found = comparisons[name]
        result[name] = replace(found, adjusted=found.difference.interval(level), p_adjusted=p)
    return result


def judge(comparison: Comparison, rules: Rules) -> Judged:
    """The verdict on a mutant that was run."""
    killers, reasons = [], []
    change = f"resolved {comparison.base_rate:.0%} -> {comparison.rate:.0%}"
    if comparison.by_statistics and comparison.adjusted is not None:
        killers.append("statistics")
        reasons.append(f"{change}, adjusted interval {show(comparison.adjusted)} excludes 0")
    for result in comparison.by_specs:
        killers.append(f"spec {result.spec}")
        unsure = "" if result.confirmed else f", unconfirmed: interval {show(result.difference)} holds 0"
        reasons.append(f"spec {result.spec}: pass^{rules.k} {result.base:.2f} -> {result.mutant:.2f}{unsure}")
    if not killers:
        reasons.append(_survival(comparison, change))
        if comparison.less_in:
            reasons.append(f"less often in {listed(comparison.less_in)}")
    if comparison.left_out:
        reasons.append(f"without {listed(comparison.left_out)}: only faults on one side")
    role, because = _role(comparison, rules)
    verdict = Verdict.KILLED if killers else Verdict.SURVIVED
    return Judged(verdict, "; ".join(reasons), role, because, comparison, tuple(killers))


def control_problem(comparison: Comparison) -> str | None:
    """Why the noop control did not come out equivalent; None where it did."""
    if comparison.raw.excludes_zero:
        return (
            f"a variant that changes nothing resolved {comparison.rate:.0%} where the base resolved "
            f"{comparison.base_rate:.0%}, interval {show(comparison.raw)}"
        )
    for result in comparison.specs:
        if result.confirmed:
            return (
                f"a variant that changes nothing fails the spec {result.spec}: {result.base:.2f} -> {result.mutant:.2f}"
                f", interval {show(result.difference)}"
            )
    return None


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, in words."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show(interval: Interval) -> str:
    """An interval in words."""
    return f"[{interval.low:+.2f}, {interval.high:+.2f}]"


def _survival(comparison: Comparison, change: str) -> str:
    if comparison.adjusted is None:
        return f"{change}; no spec fell, and {ENOUGH_TASKS} tasks are needed for a statistical verdict"
    if comparison.raw.excludes_zero:
        return (
            f"{change}; {show(comparison.raw)} excludes 0, but {show(comparison.adjusted)}, adjusted for the number of "
            "mutants, does not"
        )
    return f"{change}, adjusted interval {show(comparison.adjusted)} holds 0"


def _role(comparison: Comparison, rules: Rules) -> tuple[Role, str]:
    if comparison.by_statistics:
        if comparison.difference.observed > 0:
            return Role.HARMFUL, "more is resolved without it"
        return Role.NECESSARY, "less is resolved without it"
    confirmed = [result.spec for result in comparison.by_specs if result.confirmed]
    if confirmed:
        return Role.NECESSARY, f"without it {', '.join(confirmed)} no longer holds"
    alike = -rules.margin <= comparison.raw.low and comparison.raw.high <= rules.margin
    if comparison.tasks < ENOUGH_TASKS or comparison.by_specs or not alike:
        if comparison.tasks < ENOUGH_TASKS:
            return Role.UNDECIDED, f"{count(comparison.tasks, 'task')} of {ENOUGH_TASKS} that are needed"
        return Role.UNDECIDED, f"interval {show(comparison.raw)}; alike would be within {rules.margin:g} of 0"
    for what, interval in (("dollars", comparison.cost), ("tokens", comparison.tokens)):
        if interval is not None and interval.low > 0:
            return Role.EFFICIENCY, f"a trial takes {interval.low:.4g} to {interval.high:.4g} more {what} without it"
    for what, interval in (("dollars", comparison.cost), ("tokens", comparison.tokens)):
        if interval is not None and interval.high < 0:
            return Role.REDUNDANT, f"a trial takes {-interval.high:.4g} to {-interval.low:.4g} fewer {what} without it"
    return Role.REDUNDANT, "rates are alike, and cost and tokens do not differ"


def _spec_result(base: Trials, other: Trials, tasks: Sequence[str], spec: Spec, rules: Rules) -> SpecResult | None:
    pairs = []
    for task in tasks:
        if spec.applies_to(task):
            one, two = _satisfied(base[task], spec), _satisfied(other[task], spec)
            if min(one.trials, two.trials) >= rules.k:
                pairs.append((one, two))
    if not pairs:
        return None
    before, after = (pass_k([pair[side] for pair in pairs], rules.k) or 0.0 for side in (0, 1))
    held = before >= rules.bound - 1e-9
    return SpecResult(
        spec.name, before, after, len(pairs), held, held and after < rules.bound - 1e-9,
        rate_difference(pairs, seed=rules.seed).interval(rules.level),
    )  # fmt: skip


def _resolved(records: Sequence[TrialRecord]) -> Count:
    return Count(sum(record.outcome is Outcome.RESOLVED for record in records), len(records))


def _satisfied(records: Sequence[TrialRecord], spec: Spec) -> Count:
    """Over the trials that have a trace: an empty one would satisfy every ``never``."""
    traced = [record for record in records if record.spans]
    return Count(sum(spec.holds(record.spans) for record in traced), len(traced))


def _measured(
    base: Trials, other: Trials, tasks: Sequence[str], measure: Callable[[TrialRecord], float | None], rules: Rules
) -> Interval | None:
    pairs = []
    for task in tasks:
        values = [[value for record in side[task] if (value := measure(record)) is not None] for side in (base, other)]
        if all(values):
            pairs.append((values[0], values[1]))
    return mean_difference(pairs, seed=rules.seed).interval(rules.level) if len(pairs) >= ENOUGH_TASKS else None
