"""What the cells of a run depend on, in tables of its own: written beside the cells, asked for by later runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from pytest_killmatrix.model import Cause, Status
from pytest_killmatrix.reuse.dependence import Bond, Dependence, Past, Row
from pytest_killmatrix.store import codec
from pytest_killmatrix.store.dependence_tables import as_ranges, of_ranges
from pytest_killmatrix.store.variant_tables import NOT_AUTHORED

if TYPE_CHECKING:
    import sqlite3

    from pytest_killmatrix.store.writer import Sidecar


class Asked(Protocol):
    """A sidecar that is open, be it to write or only to read."""

    def ask(self, statement: str, row: codec.Row) -> sqlite3.Cursor:
        """Rows of it."""
        ...


_ALL: Final = -1
_OLDER: Final = 5  # runs that are looked into

_SET_RUN: Final = "UPDATE runs SET dependence = ? WHERE run = ?"
_ADD_DEPENDENT: Final = "INSERT OR REPLACE INTO dependents VALUES (?, ?, ?)"
_ADD_DEFINITION: Final = "INSERT OR REPLACE INTO definitions VALUES (?, ?, ?)"
_ADD_ENTERED: Final = "INSERT OR REPLACE INTO entered VALUES (?, ?, ?, ?)"
_ADD_UNREACHED: Final = "INSERT OR REPLACE INTO unreached VALUES (?, ?, ?)"


def write(sidecar: Sidecar, run: int, now: Dependence, kept: int) -> None:
    """Store what the run's cells depend on; ``kept`` cells were taken from earlier runs."""
    facts = {"common": now.common, "targets": now.targets, "kept": kept}
    sidecar.insert(_SET_RUN, (json.dumps(facts), run))
    for index, key in enumerate(now.tests):
        if key is not None:
            sidecar.insert(_ADD_DEPENDENT, (run, index, key))
    for name, sha256 in now.definitions.items():
        sidecar.insert(_ADD_DEFINITION, (run, codec.storable(name), sha256))


def write_invalid(sidecar: Sidecar, run: int, mutant: int, bond: Bond) -> None:
    """Store what ran until a mutant could not be imported."""
    if bond != ():
        sidecar.insert(_ADD_ENTERED, (run, mutant, _ALL, sidecar.intern(_text(bond))))


def write_row(sidecar: Sidecar, run: int, mutant: int, bonds: Mapping[int, Bond], unreached: Iterable[int]) -> None:
    """Store what each test of the mutant ran beside its clean run; what most tests have in common is one row."""
    usual: Bond = Counter(bonds.values()).most_common(1)[0][0] if any(bond != () for bond in bonds.values()) else ()
    rows = {test: bond for test, bond in bonds.items() if bond != usual}
    if usual != ():
        rows[_ALL] = usual
    for test, bond in rows.items():
        sidecar.insert(_ADD_ENTERED, (run, mutant, test, sidecar.intern(_text(bond))))
    if ranges := as_ranges(sorted(unreached)):
        sidecar.insert(_ADD_UNREACHED, (run, mutant, ranges))


def pasts(sidecar: Asked, run: int | None, now: Dependence) -> Iterator[Past]:
    """The newest runs before this one whose cells may still hold, newest first; without ``run`` of all."""
    found = 0
    which = "SELECT run, dependence FROM runs WHERE run < coalesce(?, run + 1) ORDER BY run DESC"
    rows = sidecar.ask(which, (run,)).fetchall()
    for number, text in rows:
        facts = json.loads(text) if text else {}
        if facts.get("common") == now.common and found < _OLDER:
            found += 1
            yield _past(sidecar, number, facts["targets"])


def row_of(sidecar: Asked, past: Past, key: str) -> Row | None:
    """What an earlier run found out about a mutant; None where it has none of that key, or did not come to it."""
    at = past.mutants.get(key)
    if at is None:
        return None
    place = (past.run, at)
    found = sidecar.ask("SELECT status, reason FROM mutants WHERE run = ? AND mutant = ?", place).fetchone()
    if found is None or found[0] is None:
        return None
    cells = sidecar.ask(f"{codec.CELL_SELECT} WHERE c.run = ? AND c.mutant = ? AND c.suite = 0", place)
    entered = sidecar.ask(
        "SELECT e.test, s.text FROM entered e JOIN strings s ON s.id = e.definitions WHERE e.run = ? AND e.mutant = ?",
        place,
    )
    bonds = {test: _bond(text) for test, text in entered}
    ranges = sidecar.ask("SELECT tests FROM unreached WHERE run = ? AND mutant = ?", place).fetchone()
    return Row(
        Status(found[0]),
        found[1],
        {cell.test: cell for cell in map(codec.decode_cell, cells)},
        frozenset(of_ranges(ranges[0]) if ranges else ()),
        bonds,
        bonds.get(_ALL, ()),
        _cause(sidecar, place),
    )


def _past(sidecar: Asked, run: int, targets: str) -> Past:
    tests = sidecar.ask(
        "SELECT t.nodeid, t.test, d.sha256 FROM tests t JOIN dependents d ON d.run = t.run AND d.test = t.test "
        "WHERE t.run = ?",
        (run,),
    )
    known = tests.fetchall()
    names = Counter(nodeid for nodeid, _, _ in known)
    definitions = sidecar.ask("SELECT name, sha256 FROM definitions WHERE run = ?", (run,))
    mutants = sidecar.ask(f"SELECT key, mutant FROM mutants m WHERE run = ? AND {NOT_AUTHORED.format('m')}", (run,))
    return Past(
        run,
        targets,
        dict(definitions.fetchall()),
        {nodeid: (test, sha256) for nodeid, test, sha256 in known if names[nodeid] == 1},
        dict(mutants.fetchall()),
    )


def _cause(sidecar: Asked, place: tuple[int, int]) -> Cause | None:
    row = sidecar.ask(
        "SELECT kind, tests, infected, differs, samples FROM causes WHERE run = ? AND mutant = ?", place
    ).fetchone()
    return None if row is None else codec.decode_cause(row)


def _text(bond: Bond) -> str:
    return json.dumps(None if bond is None else list(bond))


def _bond(text: str) -> Bond:
    names = json.loads(text)
    return None if names is None else tuple(names)
