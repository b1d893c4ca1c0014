"""The score as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_killmatrix.harness.reading import HarnessError, write_atomically
from pytest_killmatrix.harness.verdicts import NOTHING, count
from pytest_killmatrix.report.harness import headline
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun

_TITLE = "# Harness mutation: "
_Data = Mapping[str, Any]


def markdown(run: HarnessRun) -> str:
    """The whole report."""
    return "\n".join(_lines(run)).rstrip() + "\n"


def report_problem(path: Path) -> str | None:
    """Why the report cannot be written there."""
    start = f"cannot write {path}: "
    if not path.parent.is_dir():
        return f"{start}no directory {path.parent}; create it, or give another --out"
    if path.is_dir():
        return f"{start}it is a directory; give a file with --out"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"{start}the directory is read-only; give another --out"
    if path.exists():
        head = path.read_bytes()[:200]
        if head.strip() and not head.startswith(_TITLE.encode()):
            return f"{start}there is a file that is no report of ours, not touched; give another --out"
    return None


def write_report(run: HarnessRun, path: Path) -> None:
    """Write it; only another report is replaced."""
    problem = report_problem(path)
    if problem is not None:
        raise HarnessError(problem)
    write_atomically(path, markdown(run))


def _lines(run: HarnessRun) -> Iterator[str]:
    yield f"{_TITLE}{run.harness}"
    yield ""
    yield f"**{_capital(headline(run))}.**"
    if NOTHING in run.notes:
        yield ""
        yield f"**{_capital(NOTHING)}.**"
    yield ""
    yield (
        f"Base `{run.base}`, {count(len(run.tasks), 'task')}, n = {run.trials_planned}, k = {run.k}, "
        f"bound {run.bound:g}. Equivalent mutants and those not run stand on neither side of the fraction. Differences "
        "are mutant minus base."
    )
    if run.control is not None:
        yield ""
        yield f"Noop control: {run.control}."
    judged = [mutant for mutant in run.mutants if mutant.verdict in ("killed", "survived")]
    if judged:
        yield from _table(judged)
        yield from _reasons(judged)
    survivors = [mutant for mutant in judged if mutant.suggestion]
    if survivors:
        yield from ("", "## Survivors: a spec worth adding", "")
        for mutant in survivors:
            yield from (f"`{mutant.name}`", "", "```yaml", mutant.suggestion or "", "```", "")
    others = [mutant for mutant in run.mutants if mutant.verdict not in ("killed", "survived")]
    if others:
        yield from ("", "## Not counted", "")
        yield from (f"* {mutant.verdict}: `{mutant.name}`: {_plain(mutant.why)}" for mutant in others)
    notes = [note for note in run.notes if note != NOTHING]
    if run.power:
        yield from ("", "## What this could show", "")
        yield from (f"* {line}" for line in run.power)
    if notes:
        yield from ("", "## Notes", "")
        yield from (f"* {_plain(note)}" for note in notes)


def _table(mutants: list[HarnessMutant]) -> Iterator[str]:
    yield ""
    yield "| mutant | verdict | component | resolved | raw | adjusted | p | p adjusted | dollars | tokens |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for mutant in mutants:
        found: _Data = mutant.comparison or {}
        cells = [
            f"`{mutant.name}`",
            _verdict(mutant),
            mutant.role or "",
            f"{found['base_rate']:.0%} → {found['rate']:.0%}",
            _interval(found["raw"]),
            _interval(found["adjusted"]),
            _p(found["p"]) if found["adjusted"] else "",
            _p(found["p_adjusted"]),
            _interval(found["cost_usd"]),
            _interval(found["tokens"], ".0f"),
        ]
        yield f"| {' | '.join(cells)} |"


def _reasons(mutants: list[HarnessMutant]) -> Iterator[str]:
    yield from ("", "## Why", "")
    for mutant in mutants:
        yield f"* `{mutant.name}` drops {_plain(mutant.drops)}. {_capital(mutant.verdict or '')}: {_plain(mutant.why)}."
        if mutant.role is not None:
            yield f"  {_capital(mutant.role)}: {_plain(mutant.role_why)}."


def _verdict(mutant: HarnessMutant) -> str:
    if mutant.verdict != "killed":
        return mutant.verdict or ""
    kinds = [kind for kind in ("statistics", "spec") if any(name.startswith(kind) for name in mutant.killed_by)]
    return f"killed ({', '.join(kinds)})" + (" *unconfirmed*" if mutant.unconfirmed else "")


def _interval(interval: _Data | None, form: str = ".2f") -> str:
    return "" if interval is None else f"{interval['low']:+{form}} to {interval['high']:+{form}}"


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.3f}" if p >= 0.001 else "< 0.001"


def _plain(text: str | None) -> str:
    """Text that stays on its line and is no markup."""
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
