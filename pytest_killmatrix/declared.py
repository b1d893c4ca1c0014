"""Taking mutants that a person declared equivalent (``equivalents``) out of the survivors of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_killmatrix.analysis.score import DETECTED, UNDETECTED
from pytest_killmatrix.equivalents import EquivalentsError, read
from pytest_killmatrix.model import Mutant, Status
from pytest_killmatrix.prepared import Stop
from pytest_killmatrix.store.writer import Sidecar

_USAGE: Final = 4


@dataclass(frozen=True, slots=True)
class Applied:
    """The keys of mutants that are equivalent now, a line for each that a test notices, and notes for the report."""

    declared: frozenset[str]
    contradictions: list[str]
    notes: list[str]


def apply(path: Path, mutants: Sequence[Mutant], known: Collection[str], sidecar: Sidecar, run: int) -> Applied:
    """Take what the file declares out of the survivors of a run; Stop where the file is broken.

    ``known`` are the keys of all mutants, those of other shards included.
    """
    try:
        given = read(path)
    except EquivalentsError as error:
        raise Stop(f"--mutation-equivalents: {error}", _USAGE) from error
    statuses = sidecar.finished_mutants(run)
    declared, contradictions = set(), []
    for index, mutant in enumerate(mutants):
        status = statuses.get(index) if mutant.key in given else None
        if status in DETECTED:
            contradictions.append(
                f"--mutation-equivalents: {mutant.key} is declared equivalent, and a test notices it; take it "
                "out of the file"
            )
        elif status in UNDETECTED:
            sidecar.set_status(run, index, Status.EQUIVALENT, given[mutant.key].described)
            declared.add(mutant.key)
    sidecar.flush()
    unknown = sorted(given.keys() - set(known))
    notes = [f"{len(unknown)} mutant(s) declared equivalent are not in this run: {', '.join(unknown[:3])}"]
    return Applied(frozenset(declared), contradictions, notes if unknown else [])
