"""Harness runs in reports: their score in words, and what the page shows of them."""

from __future__ import annotations

from typing import Any

from pytest_killmatrix.store.harness import HarnessRun


def headline(run: HarnessRun) -> str:
    """The score in one line, or why there is none."""
    score = run.score
    if not run.scored:
        return "not scored yet: killmatrix harness score does it"
    if run.withheld is not None:
        return f"score withheld: {run.withheld}"
    if score["value"] is None:
        return "no score: no mutant was killed and none survived"
    line = (
        f"score {score['value']:.0%}: {run.killed} of {run.killed + run.survived} mutants killed, killed / (killed + "
        f"survived), {run.level:.0%} Wilson interval {run.low:.0%} to {run.high:.0%}"
    )
    if run.unconfirmed:
        line += f"; {run.unconfirmed} of the kills unconfirmed"
    return line


def page_object(run: HarnessRun) -> dict[str, Any]:
    """What ``page/harness.js`` shows of a run: no trials, of which a run has thousands."""
    return {
        "run": run.run,
        "started": run.started,
        "harness": run.harness,
        "base": run.base,
        "run_set": run.run_set,
        "tasks": len(run.tasks),
        "trials": run.trials_planned,
        "headline": headline(run),
        "withheld": run.withheld is not None,
        "control": run.control,
        "notes": list(run.notes),
        "mutants": [
            {
                "name": mutant.name,
                "drops": mutant.drops,
                "verdict": mutant.verdict,
                "unconfirmed": mutant.unconfirmed,
                "why": mutant.why,
                "role": mutant.role,
                "role_why": mutant.role_why,
                "suggestion": mutant.suggestion,
            }
            for mutant in run.mutants
        ],
    }
