"""The tables of authored variants; part of ``schema``."""

from __future__ import annotations

VARIANT_CASES = """\
CREATE TABLE variant_cases (        -- tasks whose authored variants a run judged
    run INTEGER NOT NULL REFERENCES runs,
    "case" INTEGER NOT NULL,        -- index in the run's list of cases, from 0
    name TEXT NOT NULL,
    version INTEGER NOT NULL,       -- of the case
    file TEXT NOT NULL,             -- the variants file
    chosen_by TEXT NOT NULL,        -- who chose the variants
    task_sha256 TEXT NOT NULL,      -- of all that the solver receives
    grader_sha256 TEXT NOT NULL,
    fixtures_sha256 TEXT NOT NULL,
    reference_sha256 TEXT NOT NULL,
    tests TEXT NOT NULL,            -- JSON list: tests of the case's grader in this run
    record TEXT NOT NULL,           -- JSON object: all that the variants file said of the case, readings included
    PRIMARY KEY (run, "case")
) WITHOUT ROWID"""

VARIANTS = """\
CREATE TABLE variants (             -- which mutants are authored variants: in no list and no score of generated ones
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    "case" INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,             -- what a reviewer said it is
    sha256 TEXT NOT NULL,           -- of the whole implementation
    PRIMARY KEY (run, mutant)
) WITHOUT ROWID"""

VARIANT_HISTORY = """\
CREATE TABLE variant_history (      -- what a variant was held to be, version by version
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    entry INTEGER NOT NULL,         -- from 0, oldest first
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,           -- who or what said so
    note TEXT NOT NULL,
    repaired TEXT NOT NULL,         -- JSON list: wording, grader, reference, fixture
    PRIMARY KEY (run, mutant, entry)
) WITHOUT ROWID"""

VARIANT_TABLES = (VARIANT_CASES, VARIANTS, VARIANT_HISTORY)

OF_RUN = ("variant_cases", "variants", "variant_history")
"""Their names; each row belongs to a run."""

NOT_AUTHORED = "NOT EXISTS (SELECT 1 FROM variants v WHERE v.run = {0}.run AND v.mutant = {0}.mutant)"
"""Condition on a table with ``run`` and ``mutant``: rows of generated mutants."""
