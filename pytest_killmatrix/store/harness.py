"""Harness runs in the sidecar: plain data, one function that writes a run and one that reads them all."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pytest_killmatrix.analysis.candidates import best
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.opening import check_version, open_for_writing, translate
from pytest_killmatrix.store.schema import VERSION

KIND: Final = "harness"


@dataclass(frozen=True, slots=True)
class HarnessTrial:
    """One trial, without its trace; ``outcome`` is resolved, unresolved or fault."""

    variant: str
    task: str
    trial: int
    outcome: str
    reason: str | None = None
    attempts: int = 1
    seconds: float = 0.0
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    spans: int = 0


@dataclass(frozen=True, slots=True)
class HarnessMutant:
    """One mutant. ``verdict`` is killed, survived, equivalent or not run; None where the run is not scored yet.

    ``comparison`` has what the verdict rests on, as in the JSON report; None where there was nothing to compare.
    """

    name: str
    operator: str
    component: str
    drops: str
    verdict: str | None = None
    why: str | None = None
    role: str | None = None
    role_why: str | None = None
    killed_by: tuple[str, ...] = ()
    unconfirmed: bool = False
    comparison: Mapping[str, Any] | None = None
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class HarnessRun:
    """A run of kind ``harness``; ``run`` is its number in the sidecar, None where it was not stored.

    ``score`` has numerator, denominator, value and interval, as those of code runs; its value is None where it is
    withheld. ``control`` says how the noop control came out, None where there was none.
    """

    id: str
    started: str
    harness: str
    base: str
    run_set: str
    tasks: tuple[str, ...]
    trials_planned: int
    scored: bool = False
    withheld: str | None = None
    killed: int = 0
    unconfirmed: int = 0
    survived: int = 0
    low: float | None = None
    high: float | None = None
    k: int | None = None
    bound: float | None = None
    level: float | None = None
    control: str | None = None
    power: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    mutants: tuple[HarnessMutant, ...] = ()
    trials: tuple[HarnessTrial, ...] = ()
    run: int | None = field(default=None, compare=False)

    @property
    def score(self) -> dict[str, Any]:
        total = self.killed + self.survived
        shown = self.scored and self.withheld is None and total > 0
        interval = {"low": self.low, "high": self.high, "level": self.level, "method": "wilson", "unit": "mutant"}
        return {
            "numerator": self.killed,
            "denominator": total,
            "value": self.killed / total if shown else None,
            "interval": interval if shown else None,
        }

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kind": KIND, **asdict(self), "score": self.score}


_DETAILS: Final = ("k", "bound", "level", "control", "power", "notes")
_MUTANT_DETAILS: Final = ("role_why", "killed_by", "unconfirmed", "comparison", "suggestion")


def store_harness_run(path: Path, run: HarnessRun) -> int:
    """Write a run, in place of an earlier state of the same one; its number. ``StoreError`` says why not.

    Where the same trials were scored already, a run without a score changes nothing.
    """
    try:
        connection, _ = open_for_writing(path)
        try:
            number = _write(connection, run)
            connection.execute("DELETE FROM writer")
            connection.execute("COMMIT")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return number


def harness_runs(path: Path | str) -> list[HarnessRun]:
    """All harness runs of a sidecar, oldest first; none where it has none."""
    with _reading(Path(path)) as connection:
        return [_read(connection, row) for row in connection.execute("SELECT * FROM harness_runs ORDER BY run")]


def best_variant(path: Path | str, harness: str) -> str | None:
    """The variant of a harness with the highest resolved rate in the sidecar; never a mutant."""
    with _reading(Path(path)) as connection:
        rows = connection.execute(
            "SELECT variant, sum(resolved), sum(judged) FROM harness_standings WHERE harness = ? GROUP BY variant",
            (harness,),
        )
        return best({row[0]: row[1] / row[2] for row in rows})


def _same_trials(connection: sqlite3.Connection, number: int, run: HarnessRun) -> bool:
    rows = connection.execute(
        "SELECT variant, task, trial, outcome, attempts FROM harness_trials WHERE run = ?", (number,)
    )
    return set(rows) == {(one.variant, one.task, one.trial, one.outcome, one.attempts) for one in run.trials}


def _write(connection: sqlite3.Connection, run: HarnessRun) -> int:
    known = connection.execute("SELECT run, scored FROM harness_runs WHERE id = ?", (run.id,)).fetchone()
    if known is not None and known[1] and not run.scored and _same_trials(connection, known[0], run):
        return int(known[0])
    if known is not None:
        for table in ("harness_trials", "harness_mutants", "harness_runs"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (known[0],))
    cursor = connection.execute(
        f"INSERT INTO harness_runs VALUES ({', '.join('?' * 17)})",
        (
            None if known is None else known[0], run.id, KIND, run.started, run.harness, run.base, run.run_set,
            run.trials_planned, json.dumps(run.tasks), run.scored, run.withheld, run.killed, run.unconfirmed,
            run.survived, run.low, run.high, json.dumps({name: getattr(run, name) for name in _DETAILS}),
        ),
    )  # fmt: skip
    number = cursor.lastrowid
    assert number is not None
    connection.executemany(
        f"INSERT INTO harness_mutants VALUES ({', '.join('?' * 10)})",
        [
            (
                number, index, m.name, m.operator, m.component, m.drops, m.verdict, m.why, m.role,
                json.dumps({name: getattr(m, name) for name in _MUTANT_DETAILS}),
            )
            for index, m in enumerate(run.mutants)
        ],
    )  # fmt: skip
    connection.executemany(
        f"INSERT INTO harness_trials VALUES ({', '.join('?' * 12)})",
        [
            (
                number, t.variant, t.task, t.trial, t.outcome, t.reason, t.attempts, t.seconds, t.cost_usd,
                t.input_tokens, t.output_tokens, t.spans,
            )
            for t in run.trials
        ],
    )  # fmt: skip
    return number


def _read(connection: sqlite3.Connection, row: sqlite3.Row) -> HarnessRun:
    details = json.loads(row["details"])
    return HarnessRun(
        id=row["id"], started=row["started"], harness=row["harness"], base=row["base"], run_set=row["run_set"],
        tasks=tuple(json.loads(row["tasks"])), trials_planned=row["trials"], scored=bool(row["scored"]),
        withheld=row["withheld"], killed=row["killed"], unconfirmed=row["unconfirmed"], survived=row["survived"],
        low=row["low"], high=row["high"], k=details["k"], bound=details["bound"], level=details["level"],
        control=details["control"], power=tuple(details["power"]), notes=tuple(details["notes"]),
        mutants=tuple(_mutants(connection, row["run"])), trials=tuple(_trials(connection, row["run"])), run=row["run"],
    )  # fmt: skip


def _mutants(connection: sqlite3.Connection, run: int) -> Iterator[HarnessMutant]:
    for row in connection.execute("SELECT * FROM harness_mutants WHERE run = ? ORDER BY mutant", (run,)):
        found = HarnessMutant(
            row["name"], row["operator"], row["component"], row["drops"], row["verdict"], row["why"], row["role"]
        )
        details = json.loads(row["details"])
        details["killed_by"] = tuple(details["killed_by"])
        yield replace(found, **details)


def _trials(connection: sqlite3.Connection, run: int) -> Iterator[HarnessTrial]:
    for row in connection.execute("SELECT * FROM harness_trials WHERE run = ? ORDER BY variant, task, trial", (run,)):
        yield HarnessTrial(*tuple(row)[1:])


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that never writes."""
    if not path.is_file():
        raise StoreError(f"there is no sidecar {path}; killmatrix harness run and score write one")
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        version = check_version(connection, path)
        if version < VERSION:
            raise StoreError(f"the sidecar {path} has the older schema version {version}; the next run upgrades it")
        yield connection
    except sqlite3.Error as error:
        raise translate(error, path) from error
    finally:
        connection.close()
