"""Two stored runs compared as two suites over the mutants that both have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pytest_killmatrix.analysis import delta as deltas
from pytest_killmatrix.analysis.delta import Meeting, Suited
from pytest_killmatrix.analysis.score import NO_CANDIDATE
from pytest_killmatrix.model import Mutant, Outcome, RunInfo, Status
from pytest_killmatrix.reading.find import NotFoundError
from pytest_killmatrix.store.reader import MutantRow, Reader

_UNKNOWN: Final = frozenset({Status.RUN_ERROR, Status.PENDING})
#: options of a run that choose its mutants, or what is judged of them
_REFERENCE: Final = ("mutate", "operators", "mutants", "static")


@dataclass(frozen=True, slots=True)
class Compared:
    """The delta as the JSON report has it, the mutants that both runs have by key, and the keys that one run lacks."""

    delta: dict[str, Any]
    mutants: dict[str, Mutant]
    only_old: list[str]
    only_new: list[str]


def compare_runs(old: Reader, new: Reader, name: str) -> Compared:
    """What the suite of ``new`` gained on that of ``old``; NotFoundError where the two are over different sets.

    Nothing can be run again, so nothing is confirmed, and tests are known by their node ids alone.
    """
    _refuse(old.info, new.info)
    before = {row.mutant.key: row for row in old.mutants()}
    now = {row.mutant.key: row for row in new.mutants()}
    common = [key for key in now if key in before]
    if not common:
        raise NotFoundError("the two runs have no mutant in common: they are of different sources")
    tests, places_old, places_new = _tests(old, new)
    meetings = (_meeting(before[key], now[key], places_old, places_new) for key in common)
    delta = deltas.compare(meetings, tests)
    facts = deltas.as_json(delta, tests, baseline=name, commit=old.info.commit, scope=new.info.scope, score_ref=None)
    facts["confirmed"] = False
    return Compared(
        facts,
        {key: now[key].mutant for key in common},
        [key for key in before if key not in now],
        [key for key in now if key not in before],
    )


def _refuse(old: RunInfo, new: RunInfo) -> None:
    for info, which in ((old, "first"), (new, "second")):
        if not info.complete:
            raise NotFoundError(
                f"the {which} run was interrupted: its reference set is not what it would be; finish it"
            )
    if new.scope == "covered":
        raise NotFoundError(
            "the runs have scope covered, so each suite chose its own reference set, and one is not subtracted from "
            "the other; make both with --mutation-scope=all"
        )
    for what, before, now in (
        ("scope", old.scope, new.scope),
        *((name, old.options.get(name), new.options.get(name)) for name in _REFERENCE),
    ):
        if before != now:
            raise NotFoundError(
                f"the runs have different reference sets ({what}: {before!r} and {now!r}), so one is not subtracted "
                "from the other; make both with the same options"
            )


def _tests(old: Reader, new: Reader) -> tuple[list[Suited], dict[int, int], dict[int, int]]:
    """(the common list, where each test of the old run and of the new one stands in it)."""
    before = [(index, test) for index, test in enumerate(old.tests()) if "new" in test.suite]
    now = [(index, test) for index, test in enumerate(new.tests()) if "new" in test.suite]
    known = {test.nodeid: position for position, (_, test) in enumerate(now)}
    was = {test.nodeid for _, test in before}
    suited = [
        Suited(
            test.nodeid,
            ("old", "new") if test.nodeid in was else ("new",),
            "unchanged" if test.nodeid in was else "added",
            None if test.excluded is None else test.excluded.value,
        )
        for _, test in now
    ]
    places = {}
    for index, test in before:
        if test.nodeid in known:
            places[index] = known[test.nodeid]
        else:
            places[index] = len(suited)
            excluded = None if test.excluded is None else test.excluded.value
            suited.append(Suited(test.nodeid, ("old",), "removed", excluded))
    return suited, places, {index: position for position, (index, _) in enumerate(now)}


def _meeting(old: MutantRow, new: MutantRow, places_old: dict[int, int], places_new: dict[int, int]) -> Meeting:
    unknown = {name for name, row in (("old", old), ("new", new)) if row.status in _UNKNOWN}
    return Meeting(
        new.mutant.key,
        dict(_outcomes(new, places_new)),
        dict(_outcomes(old, places_old)),
        frozenset(unknown),
        new.status not in NO_CANDIDATE and old.status not in NO_CANDIDATE,
    )


def _outcomes(row: MutantRow, places: dict[int, int]) -> Iterator[tuple[int, Outcome]]:
    for cell in row.cells:
        if cell.suite == "new" and cell.test in places:
            yield places[cell.test], cell.outcome
