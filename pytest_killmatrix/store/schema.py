"""The schema of the sidecar, its version and its history.

``python -m pytest_killmatrix.store.schema`` prints this as ``docs/reference/schema.md``.
"""

from __future__ import annotations

import sqlite3

from pytest_killmatrix.model import Isolation, Outcome, Phase
from pytest_killmatrix.store.counts import COUNTS
from pytest_killmatrix.store.dependence_tables import ALTERED, DEPENDENCE
from pytest_killmatrix.store.harness_schema import HARNESS
from pytest_killmatrix.store.variant_tables import VARIANT_TABLES

APPLICATION_ID = 0x4B4D5458
"""``PRAGMA application_id``: "KMTX" in ASCII, so that another program's database is never taken for ours."""

VERSION = 8
"""``PRAGMA user_version``. History:

1. first version (0.1.0)
2. ``runs.delta``
3. harness runs, in tables of their own
4. the text of the mutated files, and why mutants survived
5. authored variants, their cases and their history
6. ``runs.shard``, ``runs.sample``
7. ``tests.cells``; a test with a cell is no longer in ``reach`` too
8. what cells depend on
"""

# Cells store small integers: 0 and 1 cost SQLite no payload at all. Never renumber; append only, with a migration
# that adds the row to ``codes``.
OUTCOMES: tuple[Outcome, ...] = (
    Outcome.PASSED,
    Outcome.ASSERTION,
    Outcome.EXCEPTION,
    Outcome.CRASH,
    Outcome.TIMEOUT,
    Outcome.SKIPPED,
    Outcome.ERROR,
)
PHASES: tuple[Phase, ...] = (Phase.CALL, Phase.SETUP, Phase.TEARDOWN, Phase.COLLECT)
ISOLATIONS: tuple[Isolation, ...] = (Isolation.ROW, Isolation.ALONE)
SUITES: tuple[str, ...] = ("new", "old")

RUNS = """\
CREATE TABLE runs (
    run INTEGER PRIMARY KEY,        -- number of the run in this file; a later run has a higher one
    id TEXT NOT NULL,               -- identity of the run across files
    started TEXT NOT NULL,          -- ISO 8601
    seconds REAL NOT NULL,          -- wall time
    "commit" TEXT,                  -- of the tree that was judged, if in git
    dirty INTEGER NOT NULL,         -- 1: the working tree differed from that commit
    baseline TEXT,                  -- ref of the old suite, if any
    scope TEXT NOT NULL,            -- which lines were mutated
    python TEXT NOT NULL,
    platform TEXT NOT NULL,
    hash_seed INTEGER,
    complete INTEGER NOT NULL,      -- 0: interrupted, can be resumed
    population INTEGER NOT NULL,    -- mutants before sampling and sharding
    fingerprint TEXT NOT NULL,      -- of everything that must be the same for a run to be resumed
    options TEXT NOT NULL,          -- JSON object: options that affect results
    cpu TEXT NOT NULL,              -- JSON object: CPU seconds by phase
    noop_kills TEXT NOT NULL,       -- JSON list: tests that "killed" the control that changes nothing
    routes TEXT NOT NULL,           -- JSON object: control verdict by route
    notes TEXT NOT NULL             -- JSON list: lines for the reader of the report
)"""

TESTS = """\
CREATE TABLE tests (
    run INTEGER NOT NULL REFERENCES runs,
    test INTEGER NOT NULL,              -- index in the run's list of tests, from 0
    nodeid TEXT NOT NULL,               -- not unique: a test that changed is one entry for each suite
    path TEXT NOT NULL,
    clean TEXT NOT NULL,                -- outcome on unmutated code
    seconds REAL NOT NULL,              -- duration on unmutated code
    excluded TEXT,                      -- why it judges no mutant, or NULL
    parallel_safe INTEGER NOT NULL,     -- 0: its cells ran one at a time
    needs_predecessors INTEGER NOT NULL,-- 1: runs only after the tests before it in its module
    message TEXT,                       -- why it failed clean, if it did
    suite TEXT NOT NULL,                -- JSON list of suites that have it
    change TEXT,                        -- against the baseline
    PRIMARY KEY (run, test)
) WITHOUT ROWID"""

MUTANTS = """\
CREATE TABLE mutants (
    run INTEGER NOT NULL REFERENCES runs,
    mutant INTEGER NOT NULL,        -- index in the run's list of mutants, from 0
    key TEXT NOT NULL,              -- identity across edits and checkouts
    path TEXT NOT NULL,             -- relative to rootdir, POSIX
    line INTEGER NOT NULL,          -- from 1
    "column" INTEGER NOT NULL,      -- from 0, in code points
    end_line INTEGER NOT NULL,
    end_column INTEGER NOT NULL,    -- exclusive
    definition TEXT NOT NULL,       -- qualified name, <module> at module level
    operator TEXT NOT NULL,
    original TEXT NOT NULL,
    replacement TEXT NOT NULL,
    start INTEGER NOT NULL,         -- byte offsets into the file
    "end" INTEGER NOT NULL,
    static INTEGER NOT NULL,        -- 1: changes code that runs at import
    string_only INTEGER NOT NULL,   -- 1: changes nothing but a string literal
    first_line INTEGER NOT NULL,    -- lines whose execution can evaluate the mutated node
    last_line INTEGER NOT NULL,
    entry_line INTEGER,
    verdict TEXT,                   -- status known without running it
    verdict_reason TEXT,
    duplicate_of TEXT,              -- key of the mutant with the same code
    status TEXT,                    -- NULL: not judged yet
    reason TEXT,                    -- of the status
    PRIMARY KEY (run, mutant)
) WITHOUT ROWID"""

REACH = """\
CREATE TABLE reach (                -- tests that reach a mutant; those with a cell reach it too, and need no row here
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    test INTEGER NOT NULL,
    PRIMARY KEY (run, mutant, test)
) WITHOUT ROWID"""

CELLS = """\
CREATE TABLE cells (                -- one mutant x one test that reaches it -> one outcome
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    test INTEGER NOT NULL,
    suite INTEGER NOT NULL,         -- codes.kind = 'suite'
    outcome INTEGER NOT NULL,       -- codes.kind = 'outcome'
    phase INTEGER NOT NULL,         -- codes.kind = 'phase'
    micros INTEGER NOT NULL,        -- duration in microseconds
    isolation INTEGER NOT NULL,     -- codes.kind = 'isolation'
    confirmed INTEGER,              -- NULL not run again, 1 agreed, 0 disagreed
    flags INTEGER,                  -- strings.id of a JSON list, NULL for none
    detailed INTEGER NOT NULL,      -- 1: see details
    PRIMARY KEY (run, mutant, test, suite)
) WITHOUT ROWID"""

DETAILS = """\
CREATE TABLE details (              -- the rest of a cell, for the few that have more to say than "passed"
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    test INTEGER NOT NULL,
    suite INTEGER NOT NULL,
    exception INTEGER,              -- strings.id
    message TEXT,                   -- its first line
    raised_at INTEGER,              -- strings.id of path:line
    reason INTEGER,                 -- strings.id
    PRIMARY KEY (run, mutant, test, suite)
) WITHOUT ROWID"""

STRINGS = """\
CREATE TABLE strings (              -- texts that many cells share
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
)"""

CODES = """\
CREATE TABLE codes (                -- what the integers in cells mean
    kind TEXT NOT NULL,
    code INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, code)
) WITHOUT ROWID"""

WRITER = """\
CREATE TABLE writer (               -- the process that writes now, or died while it did; empty after a clean end
    pid INTEGER NOT NULL
)"""

MATRIX = """\
CREATE VIEW matrix AS               -- the kill matrix with names instead of numbers, for queries by hand
SELECT c.run, m.key AS mutant, t.nodeid AS test, s.name AS suite, o.name AS outcome, p.name AS phase,
       c.micros / 1e6 AS seconds, i.name AS isolation, c.confirmed, f.text AS flags,
       e.text AS exception, d.message, a.text AS raised_at, r.text AS reason
FROM cells c
JOIN mutants m ON m.run = c.run AND m.mutant = c.mutant
JOIN tests t ON t.run = c.run AND t.test = c.test
JOIN codes s ON s.kind = 'suite' AND s.code = c.suite
JOIN codes o ON o.kind = 'outcome' AND o.code = c.outcome
JOIN codes p ON p.kind = 'phase' AND p.code = c.phase
JOIN codes i ON i.kind = 'isolation' AND i.code = c.isolation
LEFT JOIN strings f ON f.id = c.flags
LEFT JOIN details d ON c.detailed AND d.run = c.run AND d.mutant = c.mutant AND d.test = c.test AND d.suite = c.suite
LEFT JOIN strings e ON e.id = d.exception
LEFT JOIN strings a ON a.id = d.raised_at
LEFT JOIN strings r ON r.id = d.reason"""


FILES = """\
CREATE TABLE files (                -- what was mutated, as it was then
    run INTEGER NOT NULL,
    path TEXT NOT NULL,             -- relative to rootdir, POSIX
    sha256 TEXT NOT NULL,           -- of the file's bytes: texts.sha256
    PRIMARY KEY (run, path)
) WITHOUT ROWID"""

TEXTS = """\
CREATE TABLE texts (                -- decoded text of files, each once however many runs mutated it
    sha256 TEXT PRIMARY KEY,
    text TEXT NOT NULL
)"""

CAUSES = """\
CREATE TABLE causes (               -- why a mutant survived, where that can be told
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    kind TEXT NOT NULL,             -- not_infected, not_noticed, message or default
    tests INTEGER NOT NULL,         -- that evaluated the original expression while it was watched
    infected INTEGER NOT NULL,      -- of these, in how many the mutant's value differs at least once
    differs TEXT,                   -- in words: for which operands the two differ, if that is known
    samples TEXT NOT NULL,          -- JSON list of objects: operands, value and mutant's value as text
    PRIMARY KEY (run, mutant)
) WITHOUT ROWID"""


def _code_rows() -> tuple[str, ...]:
    kinds: dict[str, tuple[str, ...]] = {
        "outcome": tuple(o.value for o in OUTCOMES),
        "phase": tuple(p.value for p in PHASES),
        "isolation": tuple(i.value for i in ISOLATIONS),
        "suite": SUITES,
    }
    return tuple(
        f"INSERT INTO codes VALUES ('{kind}', {code}, '{name}')"
        for kind, names in kinds.items()
        for code, name in enumerate(names)
    )


TABLES = (RUNS, TESTS, MUTANTS, REACH, CELLS, DETAILS, STRINGS, CODES, WRITER, MATRIX)

BASELINE = ("ALTER TABLE runs ADD COLUMN delta TEXT /* JSON object: what the new suite gained on the old one */",)

READING = (FILES, TEXTS, CAUSES)

PARTS = (
    "ALTER TABLE runs ADD COLUMN shard TEXT /* JSON object: which shards of how many it holds; NULL: all mutants */",
    "ALTER TABLE runs ADD COLUMN sample TEXT /* JSON object: what was drawn of how many; NULL: all mutants */",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*TABLES, *_code_rows()),
    BASELINE,
    HARNESS,
    READING,
    VARIANT_TABLES,
    PARTS,
    COUNTS,
    (*DEPENDENCE, *ALTERED),
)
"""``MIGRATIONS[n]`` takes a file from version n to n + 1. Add to the end; never change one that was released."""


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring a file of ``version`` up to date, inside the caller's transaction."""
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def markdown() -> str:
    """The reference page of the schema."""
    lines = [
        "# The sidecar's schema",
        "",
        "<!-- generated: python -m pytest_killmatrix.store.schema > docs/reference/schema.md -->",
        "",
        f"SQLite, `user_version` {VERSION}, `application_id` {APPLICATION_ID:#x}. One process writes, any number may",
        "read; open it read-only. For queries by hand start with the view `matrix`.",
        "",
    ]
    for ddl in (*TABLES, *HARNESS, *READING, *VARIANT_TABLES, *DEPENDENCE):
        name = ddl.split(None, 3)[2]
        lines += [f"## {name}", "", "```sql", ddl + ";", "```", ""]
    lines += ["## Codes", "", "| kind | code | name |", "|---|---|---|"]
    for row in _code_rows():
        kind, code, name = row.partition("(")[2].rstrip(")").replace("'", "").split(", ")
        lines.append(f"| {kind} | {code} | {name} |")
    added = (f"{ddl};" for ddl in (*BASELINE, *PARTS, *COUNTS, *ALTERED))
    lines += ["", "## Added to the tables of the first version", "", "```sql", *added, "```"]
    lines += ["", "## History", "", "1. first version (0.1.0)", "2. `runs.delta`"]
    lines += ["3. harness runs, in tables of their own"]
    lines += ["4. the text of the mutated files, and why mutants survived"]
    lines += ["5. authored variants, their cases and their history"]
    lines += ["6. `runs.shard`, `runs.sample`"]
    lines += ["7. `tests.cells`; a test with a cell is no longer in `reach` too"]
    lines += ["8. what cells depend on, so that later runs keep those that still hold"]
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
