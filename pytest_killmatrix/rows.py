"""What a mutant's row says, and what has to be run again before it may be believed: pure functions."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_killmatrix.child.records import READ, UNOBSERVED
from pytest_killmatrix.executor.pool import Found
from pytest_killmatrix.model import Outcome, Phase, Status

_SAMPLE_ONE_IN: Final = 8  # mutants of which one such kill is run again
_DECIDING_SAMPLE_ONE_IN: Final = 4  # mutants of which one kill that decides is run again, where the file gave no doubt
_VIOLENT_SAMPLE: Final = 2  # in a row that holds a timeout or crash; one that disagrees has the whole row run again


@dataclass(slots=True)
class RowReading:
    """A row, read: cells that stand, tests that do not reach the mutant, and what is still open.

    ``uncertain`` passed without evaluating the mutant, and not reaching it need not be why: another test of the same
    child had evaluated it and a cache kept the value, a fixture is shared, or, alone and clean, the test did run that
    code (``absent``, where the function was not even entered). ``provisional`` kill, but in the row something went
    before that may have left its mark (``shaken``: something that did not pass). ``suspect`` did not pass though they
    never evaluated the mutant, or would not load it by themselves.
    """

    cells: dict[int, Found] = field(default_factory=dict)
    unreached: set[int] = field(default_factory=set)
    uncertain: list[int] = field(default_factory=list)
    provisional: list[int] = field(default_factory=list)
    shaken: set[int] = field(default_factory=set)
    suspect: list[int] = field(default_factory=list)
    absent: set[int] = field(default_factory=set)
    entered: bool = False
    evaluated: bool = False
    shared_fixture_broke: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a row's tests: those whose files were collected again, those that use a fixture of wider than
    function scope, and those that run the mutated code when they are alone and the code is clean; whether each ran in a
    process of its own; those that never load the mutated module when they are alone.
    """

    collected: tuple[bool, bool] | None
    recollected: Collection[int]
    wide: Collection[int]
    alone: Collection[int]
    apart: bool = False
    strangers: Collection[int] = ()


def read_row(found: Iterable[Found], row: Row) -> RowReading:
    """Read the cells of one row, in the order they ran."""
    reading = RowReading()
    seen_in_child: dict[int, bool] = {}
    broke = False
    if row.collected is not None:
        reading.entered, reading.evaluated = row.collected
    for cell in found:
        in_collection = bool(row.collected and row.collected[1] and cell.test in row.recollected)
        evaluated = cell.evaluated or not {UNOBSERVED, READ}.isdisjoint(cell.flags) or in_collection
        before = seen_in_child.get(cell.child, False)
        absent = not evaluated and not cell.entered and cell.test in row.alone
        reading.entered |= cell.entered
        reading.evaluated |= evaluated
        if cell.outcome is Outcome.PASSED and not evaluated:
            if absent:
                reading.absent.add(cell.test)
            if before or absent or cell.test in row.wide:
                reading.uncertain.append(cell.test)
                reading.cells[cell.test] = cell
            else:
                reading.unreached.add(cell.test)
        else:
            reading.cells[cell.test] = cell
            if not evaluated or (cell.outcome.kills and cell.test in row.strangers and not row.apart):
                reading.suspect.append(cell.test)
            elif cell.outcome.kills and (broke or before):
                reading.provisional.append(cell.test)
                if broke:
                    reading.shaken.add(cell.test)
        reading.shared_fixture_broke |= cell.outcome.kills and cell.shared
        seen_in_child[cell.child] = before or evaluated
        broke = broke or (cell.outcome is not Outcome.PASSED and not row.apart)
    return reading


def keep_all(reading: RowReading, found: Sequence[Found], collected: tuple[bool, bool] | None) -> None:
    """The cells of a whole implementation: every test is judged by it, whatever of it the test ran (in place).

    Of a test that could not be collected only the marks of ``collected`` tell how far the module came.
    """
    reading.cells = {cell.test: cell for cell in found}
    if collected is not None:
        ran = any(cell.evaluated for cell in found if cell.phase is not Phase.COLLECT)
        reading.evaluated = collected[1] or ran
    reading.unreached.clear()
    reading.uncertain.clear()
    reading.absent.clear()


def why_lost(cells: Mapping[int, Found], entered: bool) -> tuple[Status, str] | None:
    """What became of a whole implementation that never came to the end of its module; None where cells may stand."""
    outcomes = {cell.outcome for cell in cells.values()}
    if not outcomes.isdisjoint((Outcome.ASSERTION, Outcome.TIMEOUT, Outcome.ERROR)):
        return None
    died = outcomes == {Outcome.CRASH} and all(cell.phase is Phase.COLLECT for cell in cells.values())
    if died or (entered and Outcome.PASSED not in outcomes):
        message = next((cell.message for cell in cells.values() if cell.outcome.kills), None)
        return Status.INVALID, f"cannot be imported: {message or 'no message'}"
    return None if entered else (Status.PENDING, "not live: no test loaded it")


def to_confirm(key: str, reading: RowReading, *, thorough: bool = True) -> tuple[list[int], int | None]:
    """(cells to run again alone, the kill that the status rests on where it is left as it is).

    Run again are those that no status may rest on as they are, and a seeded sample of the rest. A kill by a test that
    evaluated the mutant itself, after others had done so and passed, is nearly always what it seems: unless
    ``thorough``, a sample of those has to do.
    """
    violent = any(cell.outcome in (Outcome.TIMEOUT, Outcome.CRASH) for cell in reading.cells.values())
    chosen = {*reading.suspect, *(test for test, cell in reading.cells.items() if cell.outcome is Outcome.ERROR)}
    provisional = [test for test in reading.provisional if reading.cells[test].outcome is not Outcome.TIMEOUT]
    drawn = sorted(
        provisional,
        key=lambda test: (-_strength(reading.cells[test]), test in reading.shaken, _hash(f"{key} {test}")),
    )
    if violent:
        chosen.update(drawn[:_VIOLENT_SAMPLE])
    elif drawn and not _has_firm(reading, _strength(reading.cells[drawn[0]])):
        if not thorough and drawn[0] not in reading.shaken and _hash(key) % _DECIDING_SAMPLE_ONE_IN:
            return sorted(chosen), drawn[0]
        chosen.add(drawn[0])
    elif drawn and _hash(key) % _SAMPLE_ONE_IN == 0:
        chosen.add(drawn[0])
    return sorted(chosen), None


def _has_firm(reading: RowReading, strength: int) -> bool:
    """Whether a kill beyond doubt gives the mutant the status that a kill of this strength would give it."""
    doubtful = {*reading.provisional, *reading.suspect}
    return any(
        _strength(cell) >= strength
        for test, cell in reading.cells.items()
        if cell.outcome.kills and test not in doubtful
    )


def _strength(cell: Found) -> int:
    """Which of a mutant's kills decides its status: the strongest."""
    return 2 if cell.outcome is Outcome.ASSERTION else 1 if cell.outcome in (Outcome.EXCEPTION, Outcome.CRASH) else 0


def agrees(row: Found, alone: Found) -> bool:
    """Whether the alone run says the same of the mutant: it kills, or it does not."""
    return row.outcome.kills == alone.outcome.kills


def doubtful_timeouts(cells: Mapping[int, Found]) -> list[int]:
    """The timeouts that something else may explain: the first that happens again settles the rest.

    Those that a status rests on, because nothing else kills; else those that waited rather than looped, which the
    machine may have kept waiting.
    """
    timeouts = sorted(test for test, cell in cells.items() if cell.outcome is Outcome.TIMEOUT)
    if any(
        cell.outcome.kills and (cell.outcome is not Outcome.TIMEOUT or cell.beyond_doubt) for cell in cells.values()
    ):
        return [test for test in timeouts if cells[test].waited]
    return timeouts


def chunks(tests: Sequence[int], unsafe: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(tests that may run beside others, tests that may not)."""
    return (
        tuple(test for test in tests if test not in unsafe),
        tuple(test for test in tests if test in unsafe),
    )


def some(key: str, tests: Sequence[int], most: int) -> list[int]:
    """The tests, or ``most`` of them where there are more: the same for the same mutant."""
    if len(tests) <= most:
        return list(tests)
    return sorted(sorted(tests, key=lambda test: hashlib.sha256(f"{key} {test}".encode()).digest())[:most])


def _hash(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0]
