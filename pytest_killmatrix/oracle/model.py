"""The nouns of an oracle audit; imports nothing of the project and nothing heavy. Words: ``docs/glossary.md``."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Kind(str, enum.Enum):
    """What a reviewer says that a variant is; recorded, never computed."""

    REFERENCE = "reference"
    STARTER = "starter"
    MUTATION = "mutation"
    DEGENERATE = "degenerate-strategy"
    READING = "alternative-reading"
    NOOP = "noop"


class Part(str, enum.Enum):
    """What of a case a version can change; ``wording`` is the text that the solver receives."""

    WORDING = "wording"
    GRADER = "grader"
    REFERENCE = "reference"
    FIXTURE = "fixture"


class Scoring(str, enum.Enum):
    """How the tests of a case become its score."""

    ALL_OR_NOTHING = "all-or-nothing"
    SHARE = "share"


class VariantsError(Exception):
    """The files of an audit cannot be used; each of ``problems`` is one line that says where and what would do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if problems else "")
        self.problems = problems

    def __reduce__(self) -> tuple[type[VariantsError], tuple[list[str]]]:
        return type(self), (self.problems,)


@dataclass(frozen=True, slots=True)
class Material:
    """A file that the solver receives: where it is (relative to the variants file), and its name there."""

    file: str
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A literal quotation from a file that the solver receives; ``found_at`` is its first line there, from 1."""

    file: str
    quote: str
    found_at: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What a variant was held to be in one version of its case, by whom, and what that version repaired."""

    version: int
    kind: Kind
    source: str
    note: str = ""
    repaired: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Settles:
    """The disputed tests that a variant was written to settle, and the round in which they were disputed."""

    round: int
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One implementation of a case's target.

    ``start`` and ``end`` are byte offsets into the target, whole lines; ``text`` stands there instead, ``original``
    before. ``sha256`` is that of the whole implementation. ``made_from`` says where it came from: the name of a file,
    ``diff``, ``replace`` or ``target``. ``invalid`` says why it does not compile.
    """

    name: str
    kind: Kind
    why: str
    sha256: str
    made_from: str
    start: int
    end: int
    line: int
    end_line: int
    end_column: int
    original: str
    text: str
    citations: tuple[Citation, ...] = ()
    history: tuple[Entry, ...] = ()
    settles: Settles | None = None
    invalid: str | None = None

    @property
    def cited(self) -> bool:
        """Whether a sentence of the task is quoted for it, and was found there."""
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Hashes:
    """SHA-256 of what a version of a case is made of; ``variants`` by name. None: not known."""

    task: str
    grader: str
    fixtures: str
    reference: str
    variants: tuple[tuple[str, str], ...] = ()

    def of(self, variant: str) -> str | None:
        return dict(self.variants).get(variant)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of one version of a case: hashes, kinds, which tests rejected which variant, and all tests.

    ``rejected_by`` has no entry for a variant that was not judged; ``tests`` is None where nobody recorded them.
    ``origin`` says where this was read.
    """

    version: int
    hashes: Hashes
    kinds: tuple[tuple[str, Kind], ...]
    rejected_by: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tests: tuple[str, ...] | None = None
    origin: str = "the variants file"


@dataclass(frozen=True, slots=True)
class Judgment:
    """One reader's word on one test: whether what it demands can be derived from the text."""

    test: str
    derivable: bool
    confidence: str
    quote: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's judgments in one round. ``text`` is the hash of the task text that was read.

    A ``failed`` one is kept, with the reason, and compared with nothing.
    """

    file: str
    sha256: str
    round: int
    reader: str
    text: str
    results_seen: bool
    judgments: tuple[Judgment, ...] = ()
    failed: str | None = None
    risks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One task with its own target and grader.

    ``target`` is what reports call its target, ``target_path`` where that is (resolved), ``target_sha256`` the hash of
    what stands there now: the reference, if the case can be run. ``grader`` are pairs of a resolved path and the rest
    of a node id ("" for the whole file).
    """

    name: str
    version: int
    target: str
    target_path: str
    target_sha256: str
    materialized: tuple[Material, ...]
    grader: tuple[tuple[str, str], ...]
    fixtures: tuple[str, ...]
    scoring: Scoring
    hashes: Hashes
    variants: tuple[Variant, ...]
    recorded: tuple[Recorded, ...] = ()
    repaired: tuple[Part, ...] = ()
    readings: tuple[Reading, ...] = ()
    risks: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether the reference stands in the target."""
        return self.target_sha256 == self.hashes.reference

    def of_kind(self, kind: Kind) -> list[Variant]:
        return [variant for variant in self.variants if variant.kind is kind]

    def grades(self, path: str, rest: str) -> bool:
        """Whether a test in the file at ``path`` is of its grader; ``rest`` follows the file in its node id."""
        return any(
            place == path and (not below or rest == below or rest.startswith((below + "::", below + "[")))
            for place, below in self.grader
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """A variants file, read and checked."""

    file: str
    chosen_by: str
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = field(default=())
