"""The tables of what cells depend on; part of ``schema``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

DEFINITIONS: Final = """\
CREATE TABLE definitions (          -- what the mutated files defined, as it was then
    run INTEGER NOT NULL,
    name TEXT NOT NULL,             -- path::qualified name
    sha256 TEXT NOT NULL,           -- of its syntax tree
    PRIMARY KEY (run, name)
) WITHOUT ROWID"""

ENTERED: Final = """\
CREATE TABLE entered (              -- what ran under a mutant and not in the tests' clean runs, where there is any
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    test INTEGER NOT NULL,          -- -1: all tests of the mutant that have no row here
    definitions INTEGER NOT NULL,   -- strings.id of a JSON list of definitions.name, or of null: unknown
    PRIMARY KEY (run, mutant, test)
) WITHOUT ROWID"""

UNREACHED: Final = """\
CREATE TABLE unreached (            -- tests that met a mutant and did not evaluate it: they have no cell
    run INTEGER NOT NULL,
    mutant INTEGER NOT NULL,
    tests TEXT NOT NULL,            -- such as 0-4,7
    PRIMARY KEY (run, mutant)
) WITHOUT ROWID"""

DEPENDENTS: Final = """\
CREATE TABLE dependents (           -- tests by what they depend on whatever the mutant
    run INTEGER NOT NULL,
    test INTEGER NOT NULL,
    sha256 TEXT NOT NULL,           -- of the test, and of all that its clean run ran
    PRIMARY KEY (run, test)
) WITHOUT ROWID"""

DEPENDENCE: Final = (DEFINITIONS, DEPENDENTS, ENTERED, UNREACHED)

ALTERED: Final = ("ALTER TABLE runs ADD COLUMN dependence TEXT /* JSON object: hashes of what all cells depend on */",)
OF_RUN: Final = ("definitions", "dependents", "entered", "unreached")


def as_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in short: ``0-4,7``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def of_ranges(text: str) -> Iterator[int]:
    """The numbers of ``as_ranges``."""
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
