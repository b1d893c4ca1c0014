"""The nouns of the project: enums and records that every other module shares.

Imports nothing of the project and nothing heavy, because the process under test loads it too.
The words are defined in ``docs/glossary.md``.
"""

from __future__ import annotations

import enum
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SIDECAR_NAME = ".killmatrix.sqlite"
"""The sidecar's usual name, in the project's root directory."""


class Outcome(str, enum.Enum):
    """What one test did under one mutant."""

    PASSED = "passed"
    ASSERTION = "assertion"
    EXCEPTION = "exception"
    CRASH = "crash"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"
    ERROR = "error"

    @property
    def kills(self) -> bool:
        """Whether this outcome detects the mutant, in any way."""
        return self in _KILLS


_KILLS = frozenset({Outcome.ASSERTION, Outcome.EXCEPTION, Outcome.CRASH, Outcome.TIMEOUT})


class Phase(str, enum.Enum):
    """Where in the life of a test an outcome was decided."""

    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


class Status(str, enum.Enum):
    """What became of a mutant; exactly one holds (``analysis.status``)."""

    IGNORED = "ignored"
    INVALID = "invalid"
    EQUIVALENT = "equivalent"
    DUPLICATE = "duplicate"
    KILLED = "killed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    RUN_ERROR = "run_error"
    PENDING = "pending"
    SILENCED = "silenced"
    NO_USABLE_TEST = "no_usable_test"
    SURVIVED = "survived"
    NO_COVERAGE = "no_coverage"


class Clean(str, enum.Enum):
    """Outcome of a test on unmutated code, in pytest's own words."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    UNCOLLECTABLE = "uncollectable"


class Excluded(str, enum.Enum):
    """Why a test judges no mutant."""

    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    FLAKY = "flaky"
    ORDER = "order"
    UNCOLLECTABLE = "uncollectable"


class Isolation(str, enum.Enum):
    """How a cell was run: with other tests in one child, or with nothing but what it needs."""

    ROW = "row"
    ALONE = "alone"


class Route(str, enum.Enum):
    """How a mutant is made live."""

    SWAP = "swap"
    COLLECTION = "collection"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Replacement:
    """One textual change proposed by a mutation operator.

    Lines count from 1, columns from 0 in code points of the decoded line; the end is exclusive.
    """

    operator: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change to the code under test, and what is known of it before any test runs.

    ``start`` and ``end`` are byte offsets into the file; ``first_line`` to ``last_line`` are the lines whose execution
    can evaluate the mutated node; ``entry_line`` is the first line of the function that must have been entered besides,
    where those lines are shared with the enclosing scope (a lambda on one line), else None. ``verdict`` is set where no
    run is needed to know the status (ignored, invalid, equivalent, duplicate).
    """

    key: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    definition: str
    operator: str
    original: str
    replacement: str
    start: int
    end: int
    static: bool
    string_only: bool
    first_line: int
    last_line: int
    entry_line: int | None = None
    verdict: Status | None = None
    reason: str | None = None
    duplicate_of: str | None = None


@dataclass(frozen=True, slots=True)
class SwapCode:
    """One function's code before and after the mutation, as ``marshal`` bytes.

    ``marked`` is the mutant with marks (``activation.marking``) whose placeholder the child replaces; ``plain`` is the
    mutant and nothing else. Both are kept as what differs from ``original``, a tenth of the bytes: there are as many as
    mutants.
    """

    qualname: str
    line: int
    original: bytes
    marked_packed: bytes
    plain_packed: bytes

    @classmethod
    def of(cls, qualname: str, line: int, original: bytes, marked: bytes, plain: bytes) -> SwapCode:
        """Pack the mutant's code."""
        return cls(qualname, line, original, _pack(marked, original), _pack(plain, original))

    @property
    def marked(self) -> bytes:
        return _unpack(self.marked_packed, self.original)

    @property
    def plain(self) -> bytes:
        return _unpack(self.plain_packed, self.original)


def _pack(data: bytes, like: bytes) -> bytes:
    packer = zlib.compressobj(1, zdict=like)
    return packer.compress(data) + packer.flush()


def _unpack(data: bytes, like: bytes) -> bytes:
    return zlib.decompressobj(zdict=like).decompress(data)


@dataclass(frozen=True, slots=True)
class Build:
    """A mutant compiled: what to swap, or why swapping cannot make it live (``obstacle``)."""

    codes: tuple[SwapCode, ...] = ()
    obstacle: str | None = None


@dataclass(slots=True)
class Test:
    """One collected item and what the clean runs said of it."""

    nodeid: str
    path: str = ""
    clean: Clean = Clean.PASSED
    seconds: float = 0.0
    excluded: Excluded | None = None
    parallel_safe: bool = True
    needs_predecessors: bool = False
    message: str | None = None
    suite: tuple[str, ...] = ("new",)
    change: str | None = None

    __test__ = False  # not a pytest class, whatever its name


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcome of one test under one mutant; both are indexes into the run's lists."""

    mutant: int
    test: int
    outcome: Outcome
    phase: Phase = Phase.CALL
    exception: str | None = None
    message: str | None = None
    raised_at: str | None = None
    seconds: float = 0.0
    isolation: Isolation = Isolation.ROW
    confirmed: bool | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    suite: str = "new"


class CauseKind(str, enum.Enum):
    """Why a mutant survived, in the words of reach, infect, propagate, reveal."""

    NOT_INFECTED = "not_infected"
    NOT_NOTICED = "not_noticed"
    MESSAGE = "message"
    DEFAULT = "default"


class Sample(NamedTuple):
    """One evaluation of a mutated expression: the operands, its value, and what the mutant makes of them, as text."""

    operands: str
    value: str
    mutated: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a mutant survived, as far as it can be told.

    ``tests`` evaluated the original expression while it was watched; in ``infected`` of them the mutant's value differs
    at least once. ``differs`` says for which operands the two differ, where that is known.
    """

    kind: CauseKind
    tests: int = 0
    infected: int = 0
    differs: str | None = None
    samples: tuple[Sample, ...] = ()


Formula = tuple[object, ...]
"""An expression over operands.

("x", number), ("c", constant), ("v",) for the original's value, ("u", operator, formula),
("b", operator, formula, formula), ("and" or "or", formula, ...). ("open",) is not known before the site with
("close", constant) of the same mutant is evaluated too.
"""


@dataclass(frozen=True, slots=True)
class Site:
    """An expression of the original program whose value, and the mutants' in its place, can be computed from operands.

    ``variants`` are mutants by number with their formulas; ``names`` the operands' text, None for a constant. With
    ``decides`` only the truth of the value matters. ``effect`` is what is compared where that is not the expression's
    value: of an augmented assignment, the target's new value. A site with ``dropped``, a position or a keyword, is a
    callee; with its default for that parameter the operand of the site that ``follows`` it is compared.
    """

    original: Formula
    variants: tuple[tuple[int, Formula], ...]
    names: tuple[str | None, ...]
    decides: bool = False
    dropped: int | str | None = None
    follows: int | None = None
    effect: Formula | None = None


@dataclass(slots=True)
class RunInfo:
    """What has to be known about a run to read its cells.

    ``shard`` is None for a run over all mutants, else an object with ``count`` (how many shards there are), ``tree`` (a
    hash of the project's files) and ``index``, or, of shards that were merged, ``parts``: an object for each with its
    ``index`` and what stood in its run. ``sample`` is None, or what was drawn (``analysis.sampling``).
    """

    id: str
    started: str
    seconds: float = 0.0
    commit: str | None = None
    dirty: bool = False
    baseline: str | None = None
    scope: str = "all"
    python: str = ""
    platform: str = ""
    hash_seed: int | None = None
    complete: bool = False
    population: int = 0
    fingerprint: str = ""
    options: dict[str, object] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    noop_kills: list[str] = field(default_factory=list)
    routes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    delta: dict[str, object] | None = None
    shard: dict[str, Any] | None = None
    sample: dict[str, Any] | None = None
