"""Made-up plans, traces and trials for the tests of harness mutation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_killmatrix.harness.dataplane import Outcome, RunSet, TrialRecord
from pytest_killmatrix.harness.planfile import Fate, Plan, PlannedMutant
from pytest_killmatrix.harness.spans import Span, normal_span
from pytest_killmatrix.harness.suite import Task
from pytest_killmatrix.harness.variants import Variant
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun, HarnessTrial, store_harness_run

BASE = Variant("toy", "base", skills=("versions", "poetry"), instructions="# Tone\n\nBe kind.\n\n# Tests\n\nTest it.\n")


def make_mutant(name: str, operator: str = "drop-instruction-line", **changes: Any) -> PlannedMutant:
    component = name.removeprefix(f"mutant-{operator}-")
    values: dict[str, Any] = {"title": f"instructions: {component}", "fate": Fate.RUN}
    return PlannedMutant(name, operator, component, **{**values, **changes})


CONTROL = make_mutant(
    "mutant-noop-control", "noop", title="nothing", fate=Fate.EQUIVALENT, reason="changes nothing: run as a control"
)


def make_plan(mutants: Iterable[PlannedMutant], tasks: int = 8, trials: int = 2, **changes: Any) -> Plan:
    mutants = tuple(mutants)
    variants = (BASE, *(BASE.renamed(mutant.name) for mutant in mutants if mutant.runs))
    values: dict[str, Any] = {"cost_usd": None, "minutes": None, "timeout": 60.0, "root": Path.cwd()}
    return Plan(
        harness="toy", base="base", variants=variants, mutants=mutants, trials=trials,
        tasks=tuple(Task(f"task-{number}", ("tests",), fingerprint="f" * 12) for number in range(tasks)),
        **{**values, **changes},
    )  # fmt: skip


def trace(*steps: str | Mapping[str, Any]) -> tuple[Span, ...]:
    """Spans from names of tools, or from attributes by short names."""
    return tuple(normal_span({"tool": step} if isinstance(step, str) else step) for step in steps)


def make_trials(
    plan: Plan, variant: str, resolved: str, spans: tuple[Span, ...] = (), **changes: Any
) -> list[TrialRecord]:
    """One record for each task and trial: ``resolved`` says which, a letter each: ``+``, ``-`` or ``!`` for a fault.

    It is repeated as often as needed.
    """
    outcomes = {"+": Outcome.RESOLVED, "-": Outcome.UNRESOLVED, "!": Outcome.FAULT}
    cells = [(task, trial) for task in plan.tasks for trial in range(1, plan.trials + 1)]
    return [
        TrialRecord(
            harness="toy", variant=variant, variant_fingerprint=plan.variant(variant).fingerprint, task=task.name,
            task_fingerprint=task.fingerprint, trial=trial, outcome=outcomes[resolved[index % len(resolved)]],
            spans=spans, started="2026-11-30T12:00:00+00:00", seconds=1.0, **changes,
        )
        for index, (task, trial) in enumerate(cells)
    ]  # fmt: skip


def in_run_set(folder: Path, records: Iterable[TrialRecord]) -> RunSet:
    """Write records as a run would."""
    run_set = RunSet(folder)
    with run_set.claimed("toy"):
        for record in records:
            run_set.write(record)
    return run_set


def store_runs(path: Path, words: str = "instructions: Tone") -> Path:
    """A sidecar with a run that has a score, one whose score is withheld, and one that is not scored yet.

    ``words`` stand wherever a text is the user's.
    """
    survivor = HarnessMutant(
        "mutant-drop-instruction-line-tone", "drop-instruction-line", "tone", words, "survived",
        f"nothing noticed: {words}", "redundant", "nothing changes without it",
        suggestion=f"- name: {words}\n  eventually: {{tool: greet}}",
    )  # fmt: skip
    killed = HarnessMutant(
        "mutant-drop-skill-pdf", "drop-skill", "pdf", "skill pdf", "killed", "resolved 100% -> 0%", "necessary",
        "fewer tasks are resolved without it", ("statistics",), unconfirmed=True,
    )  # fmt: skip
    skipped = HarnessMutant("mutant-drop-skill-x", "drop-skill", "x", "skill x", "equivalent", "no trace used it")
    scored = HarnessRun(
        "one", "2026-11-30T12:00:00+00:00", "toy", "base", "toy-1", ("task",), 2, scored=True, killed=1,
        unconfirmed=1, survived=1, low=0.0945, high=0.9055, k=2, bound=0.9, level=0.95, control="equivalent",
        notes=(words,), mutants=(survivor, killed, skipped), trials=(HarnessTrial("base", "task", 1, "resolved"),),
    )  # fmt: skip
    withheld = replace(scored, id="two", run_set="toy-2", withheld="the noop control did not come out equivalent")
    unjudged = HarnessMutant(survivor.name, survivor.operator, survivor.component, survivor.drops)
    unscored = HarnessRun("three", scored.started, "other", "base", "other-1", ("task",), 2, mutants=(unjudged,))
    for run in (scored, withheld, unscored):
        store_harness_run(path, run)
    return path
