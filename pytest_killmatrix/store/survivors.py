"""The mutants that survived and the tests that passed under each: read one by one, as together they are most cells."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from pytest_killmatrix.model import Status


class Survivors(Mapping[int, list[int]]):
    """By mutant, in order; ``sizes`` are the numbers of tests. Causes may be stored meanwhile, cells may not."""

    def __init__(self, connection: sqlite3.Connection, run: int, below: int | None = None) -> None:
        """``below`` leaves out the mutants from this number on."""
        self._connection = connection
        self._run = run
        rows = connection.execute(
            "SELECT m.mutant, count(*) FROM mutants m JOIN cells c ON c.run = m.run AND c.mutant = m.mutant "
            "WHERE m.run = ?1 AND m.status = ?2 AND c.suite = 0 AND c.outcome = 0 "
            "AND (?3 IS NULL OR m.mutant < ?3) GROUP BY m.mutant ORDER BY m.mutant",
            (run, Status.SURVIVED.value, below),
        )
        self.sizes: dict[int, int] = dict(rows)

    def __getitem__(self, mutant: int) -> list[int]:
        if mutant not in self.sizes:
            raise KeyError(mutant)
        rows = self._connection.execute(
            "SELECT test FROM cells WHERE run = ? AND mutant = ? AND suite = 0 AND outcome = 0 ORDER BY test",
            (self._run, mutant),
        )
        return [test for (test,) in rows]

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)
