"""A mutant on its way to a status: what is known of it, and what is made of it in the end."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_killmatrix.executor.pool import Found
from pytest_killmatrix.executor.protocol import Splice
from pytest_killmatrix.model import Build, Cell, Mutant, Status
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.reuse.dependence import Kept


class Kind(enum.Enum):
    """What a task is for its mutant."""

    ROW = enum.auto()
    ISOLATE = enum.auto()  # a row again, one child a test
    RESOLVE = enum.auto()  # who of the uncertain evaluates the mutant when nothing ran before
    CONFIRM = enum.auto()
    REVERSE = enum.auto()  # a survivor's row the other way round
    SPLIT = enum.auto()  # a survivor's row, with a new child after each test that left something behind
    RECHECK = enum.auto()  # a deciding timeout once more, with nothing beside it
    RETRY = enum.auto()  # our own machinery failed


@dataclass(slots=True)
class Job:
    """One mutant on its way to a status."""

    planned: Planned
    apart: tuple[int, ...] = ()  # tests that may not run beside others
    cells: dict[int, Found] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    confirmed: dict[int, bool] = field(default_factory=dict)
    unreached: set[int] = field(default_factory=set)
    outstanding: int = 0
    entered: bool = False
    evaluated: bool = False
    isolated: set[int] = field(default_factory=set)
    provisional: set[int] = field(default_factory=set)
    absent: set[int] = field(default_factory=set)  # ran clean code though the mutant should have been live
    reversed: bool = False
    counted: bool = False  # as progress
    again: bool = False  # something of it was run again
    not_live: str | None = None
    invalid: str | None = None  # why the mutated module cannot be imported
    error: str | None = None
    ran: dict[int, set[int]] = field(default_factory=dict)  # definitions beyond the clean run, where that is known
    loaded: tuple[int, ...] | None = None  # the same of an import that failed

    def note(self, found: Found) -> None:
        """What the test ran; known as soon as one of its runs tells, since all of them run the same."""
        if found.ran is not None:
            self.ran.setdefault(found.test, set()).update(found.ran)

    @property
    def lost(self) -> bool:
        """Whether no cell of it can count: it does not live, or its module cannot be imported."""
        return self.not_live is not None or self.invalid is not None


@dataclass(slots=True)
class Trust:
    """How far kills in rows of one file are believed.

    ``asked`` were run again alone, ``refuted`` once one of them did not kill there; ``believed`` are the mutants whose
    status rests on a kill that was not run again, and that kill. Of ``rows`` on the static route so many had something
    run ``again``.
    """

    asked: int = 0
    refuted: bool = False
    rows: int = 0
    again: int = 0
    believed: list[tuple[Planned, Found]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Done:
    """A mutant's result: its status, why, its cells, and the tests that turned out to reach it.

    ``unreached`` met it and did not. ``ran`` are definitions by test that ran beyond its clean run, None where unknown;
    ``loaded`` those of an import that failed. What was kept of an earlier run is not in these.
    """

    mutant: int
    status: Status
    reason: str | None
    cells: tuple[Cell, ...]
    reached_by: tuple[int, ...]
    unreached: tuple[int, ...] = ()
    ran: Mapping[int, tuple[int, ...] | None] = field(default_factory=dict)
    loaded: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Subjects:
    """What the matrix is made over; indexes into ``mutants`` and the collected items are used throughout."""

    mutants: Sequence[Mutant]
    builds: Sequence[Build]
    paths: Mapping[str, str]
    hashes: Mapping[str, str]
    encodings: Mapping[str, str]
    needs: Mapping[int, tuple[int, ...]]
    unsafe: Collection[int]
    wide: Collection[int]
    file_tests: Mapping[str, Sequence[int]]
    names: Sequence[str]
    static: Mapping[int, Planned] = field(default_factory=dict)  # the other way of mutants that are swapped
    code_readers: frozenset[int] = (
        frozenset()
    )  # tests that look at code objects: what they say under a swap is not the truth
    kept: Callable[[int], Kept] = lambda mutant: Kept()  # what earlier runs found out about a mutant

    def splice(self, mutant: Mutant, *, marked: bool, whole: bool) -> Splice:
        """The mutant as a change to its file's bytes."""
        text = mutant.replacement.encode(self.encodings[mutant.path])
        return Splice(self.paths[mutant.path], mutant.start, mutant.end, text, self.hashes[mutant.path], marked, whole)
