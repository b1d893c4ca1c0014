"""Tables of harness runs: apart from those of code runs, whose readers never see them."""

from __future__ import annotations

from typing import Final

HARNESS_RUNS: Final = """\
CREATE TABLE harness_runs (         -- runs of kind harness: mutants of an agent harness instead of code
    run INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,        -- run set and plan; a run that goes on, or is scored again, replaces itself
    kind TEXT NOT NULL,             -- harness
    started TEXT NOT NULL,          -- ISO 8601, of the first trial
    harness TEXT NOT NULL,          -- whose results these are; those of different harnesses are never pooled
    base TEXT NOT NULL,             -- name of the base variant
    run_set TEXT NOT NULL,          -- folder of the data plane that has the traces
    trials INTEGER NOT NULL,        -- planned for each variant and task
    tasks TEXT NOT NULL,            -- JSON list of their names
    scored INTEGER NOT NULL,        -- 0: run, not scored yet
    withheld TEXT,                  -- why there is no score
    killed INTEGER NOT NULL,
    unconfirmed INTEGER NOT NULL,   -- of the killed: by specs alone, and chance may have done it
    survived INTEGER NOT NULL,
    low REAL,                       -- Wilson interval of killed / (killed + survived)
    high REAL,
    details TEXT NOT NULL           -- JSON object: k, bound, level, notes, power, control
)"""

HARNESS_MUTANTS: Final = """\
CREATE TABLE harness_mutants (
    run INTEGER NOT NULL REFERENCES harness_runs,
    mutant INTEGER NOT NULL,        -- index in the run's list, from 0
    name TEXT NOT NULL,             -- mutant-OPERATOR-COMPONENT
    operator TEXT NOT NULL,
    component TEXT NOT NULL,
    drops TEXT NOT NULL,            -- in words
    verdict TEXT,                   -- killed, survived, equivalent, not run; NULL: not scored yet
    why TEXT,
    role TEXT,                      -- what the component is good for
    details TEXT NOT NULL,          -- JSON object: the comparison with the base, specs, suggestion
    PRIMARY KEY (run, mutant)
) WITHOUT ROWID"""

HARNESS_TRIALS: Final = """\
CREATE TABLE harness_trials (
    run INTEGER NOT NULL REFERENCES harness_runs,
    variant TEXT NOT NULL,
    task TEXT NOT NULL,
    trial INTEGER NOT NULL,         -- from 1
    outcome TEXT NOT NULL,          -- resolved, unresolved, or fault: of the infrastructure, never counted
    reason TEXT,
    attempts INTEGER NOT NULL,
    seconds REAL NOT NULL,
    cost_usd REAL,                  -- NULL: not recorded
    input_tokens INTEGER,
    output_tokens INTEGER,
    spans INTEGER NOT NULL,         -- number of steps in the trace
    PRIMARY KEY (run, variant, task, trial)
) WITHOUT ROWID"""

HARNESS_STANDINGS: Final = """\
CREATE VIEW harness_standings AS    -- variants that something may choose from: mutants are not among them
SELECT r.run, r.harness, t.variant, sum(t.outcome = 'resolved') AS resolved, count(*) AS judged
FROM harness_trials t JOIN harness_runs r ON r.run = t.run
WHERE t.outcome <> 'fault' AND lower(t.variant) NOT LIKE 'mutant-%'
GROUP BY r.run, t.variant"""

HARNESS: Final = (HARNESS_RUNS, HARNESS_MUTANTS, HARNESS_TRIALS, HARNESS_STANDINGS)
"""The migration that adds them."""
