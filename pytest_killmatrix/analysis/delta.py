"""What one suite notices and another does not, over the same mutants: pure functions.

The share of the headroom is known from the literature as relative detection (SWE-Mutation); what is different here is
in ``docs/explanation/what-a-delta-means.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.model import Outcome

GAINED: Final = "gained"
GAINED_NOTHING: Final = "gained nothing"
NOTHING_TO_GAIN: Final = "nothing to gain"
NOTHING_LEFT: Final = "nothing left to gain"
NOTICED_NOTHING: Final = "noticed nothing"
NEW: Final = "new"
RESTORED: Final = "restored"
MIXED: Final = "mixed"
ASSERTION: Final = "assertion"
CRASH: Final = "crash"
TIMEOUT: Final = "timeout"
HOW: Final = (ASSERTION, CRASH, TIMEOUT)
_NO_RATIO: Final = Ratio(0, 0)


@dataclass(frozen=True, slots=True)
class Suited:
    """A test of the common list: ``suites`` are those that have it (``old``, ``new``).

    ``change`` says what became of it, ``renamed_to`` its new node id; ``replaces_excluded`` that it stands in the place
    of an old test that could not judge; ``excluded`` is why it judges nothing itself.
    """

    nodeid: str
    suites: tuple[str, ...]
    change: str | None
    excluded: str | None = None
    renamed_to: str | None = None
    replaces_excluded: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """One mutant and what every test of either suite did with it, by index in the common list of tests.

    ``unknown`` are the suites in which an outcome is missing that could decide; ``judged`` is False for a mutant that
    no test could be asked to notice; ``refuted`` is why its kills are not believed; ``excluded`` are old tests that
    reach it and cannot judge.
    """

    key: str
    new: Mapping[int, Outcome]
    old: Mapping[int, Outcome]
    unknown: frozenset[str] = frozenset()
    judged: bool = True
    refuted: str | None = None
    excluded: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Gain:
    """A mutant that one suite detects and the other does not: how, and by which tests."""

    mutant: str
    by: str
    killers: tuple[int, ...]
    origin: str | None = None


@dataclass(slots=True)
class Delta:
    """The partition of the mutants in scope, and what follows from it."""

    gained: list[Gain] = field(default_factory=list)
    lost: list[Gain] = field(default_factory=list)
    upgraded: list[str] = field(default_factory=list)
    downgraded: list[str] = field(default_factory=list)
    unconfirmed: list[tuple[str, str]] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    kept: int = 0
    kept_how: Counter[str] = field(default_factory=Counter)
    still_alive: int = 0
    headroom: int = 0
    headroom_reached: Counter[int] = field(default_factory=Counter)
    score_old: Ratio = _NO_RATIO
    score_new: Ratio = _NO_RATIO

    @property
    def gained_by_assertion(self) -> int:
        """The headline."""
        return sum(gain.by == ASSERTION and gain.origin == NEW for gain in self.gained)

    @property
    def verdict(self) -> str:
        if self.gained_by_assertion:
            return GAINED
        return GAINED_NOTHING if self.headroom else NOTHING_TO_GAIN


def how(outcomes: Iterable[Outcome]) -> str | None:
    """How a suite detects a mutant: by its strongest kill; None where it does not."""
    seen = frozenset(outcomes)
    if Outcome.ASSERTION in seen:
        return ASSERTION
    if seen & {Outcome.EXCEPTION, Outcome.CRASH}:
        return CRASH
    return TIMEOUT if Outcome.TIMEOUT in seen else None


def side_of(meeting: Meeting) -> str | None:
    """``gained`` or ``lost`` where only one suite is seen to detect the mutant and nothing is missing of the other."""
    new, old = how(meeting.new.values()), how(meeting.old.values())
    if not meeting.judged or (new is None) == (old is None):
        return None
    if new is not None:
        return GAINED if "old" not in meeting.unknown else None
    return "lost" if "new" not in meeting.unknown else None


def compare(meetings: Iterable[Meeting], tests: Sequence[Suited]) -> Delta:
    """Put every mutant where it belongs."""
    delta = Delta()
    common: list[tuple[bool, bool]] = []
    for meeting in meetings:
        if not meeting.judged:
            continue
        new, old = how(meeting.new.values()), how(meeting.old.values())
        if meeting.refuted is not None:
            delta.unconfirmed.append((meeting.key, meeting.refuted))
        elif (new is None and "new" in meeting.unknown) or (old is None and "old" in meeting.unknown):
            delta.undecided.append(meeting.key)
        else:
            _place(delta, meeting, new, old, tests)
            if old is None:
                delta.headroom += 1
                delta.headroom_reached.update({*meeting.new, *meeting.old, *meeting.excluded})
        if _is_common(meeting, new, old):
            common.append((old == ASSERTION, new == ASSERTION))
    delta.score_old = Ratio(sum(before for before, _ in common), len(common))
    delta.score_new = Ratio(sum(now for _, now in common), len(common))
    return delta


def _place(delta: Delta, meeting: Meeting, new: str | None, old: str | None, tests: Sequence[Suited]) -> None:
    if new is not None and old is None:
        killers = _killers(meeting.new)
        delta.gained.append(Gain(meeting.key, new, killers, _origin(killers, tests)))
    elif new is None and old is not None:
        delta.lost.append(Gain(meeting.key, old, _killers(meeting.old)))
    elif new is None:
        delta.still_alive += 1
    else:
        delta.kept += 1
        delta.kept_how[old or ""] += 1
        if new == ASSERTION != old:
            delta.upgraded.append(meeting.key)
        elif old == ASSERTION != new:
            delta.downgraded.append(meeting.key)


def _killers(outcomes: Mapping[int, Outcome]) -> tuple[int, ...]:
    return tuple(sorted(test for test, outcome in outcomes.items() if outcome.kills))


def _origin(killers: Sequence[int], tests: Sequence[Suited]) -> str:
    replaced = [tests[test].replaces_excluded for test in killers]
    return RESTORED if all(replaced) else MIXED if any(replaced) else NEW


def _is_common(meeting: Meeting, new: str | None, old: str | None) -> bool:
    """Whether the mutant stands in the one set over which both suites are scored."""
    if not (meeting.new or meeting.old) or meeting.refuted is not None or meeting.unknown:
        return False
    return ASSERTION in (new, old) or (new is None and old is None)


@dataclass(frozen=True, slots=True)
class Share:
    """What one added or changed test has of what was gained."""

    test: int
    gained: int
    unique: int
    verdict: str


def by_test(delta: Delta, tests: Sequence[Suited]) -> list[Share]:
    """For each test that the old suite did not have: what it gained, what it alone did, or why nothing."""
    gained: Counter[int] = Counter()
    unique: Counter[int] = Counter()
    for gain in delta.gained:
        gained.update(gain.killers)
        if len(gain.killers) == 1:
            unique.update(gain.killers)
    shares = []
    for index, test in enumerate(tests):
        if "new" not in test.suites or test.change in (None, "unchanged") or test.excluded is not None:
            continue
        nothing = NOTICED_NOTHING if delta.headroom_reached[index] else NOTHING_LEFT
        verdict = GAINED if gained[index] else nothing
        shares.append(Share(index, gained[index], unique[index], verdict))
    return shares


def as_json(
    delta: Delta, tests: Sequence[Suited], *, baseline: str, commit: str | None, scope: str, score_ref: Ratio | None
) -> dict[str, Any]:
    """The delta as the JSON report has it."""
    names = [test.nodeid for test in tests]
    listed: dict[str, list[Any]] = {"added": [], "removed": [], "changed": [], "renamed": []}
    for test in tests:
        if test.change == "renamed":
            if test.renamed_to is not None:
                listed["renamed"].append({"old": test.nodeid, "new": test.renamed_to})
        elif test.change in listed and (test.change != "changed" or "new" in test.suites):
            listed[test.change].append(test.nodeid)
    return {
        "baseline": baseline,
        "baseline_commit": commit,
        "scope": scope,
        "scope_depends_on_tests": scope == "covered",
        "verdict": delta.verdict,
        "gained_by_assertion": delta.gained_by_assertion,
        "headroom": delta.headroom,
        "gained": [
            {
                "mutant": gain.mutant,
                "by": gain.by,
                "origin": gain.origin,
                "killed_by": [names[test] for test in gain.killers],
            }
            for gain in delta.gained
        ],
        "lost": [
            {"mutant": gain.mutant, "by": gain.by, "was_killed_by": [names[test] for test in gain.killers]}
            for gain in delta.lost
        ],
        "upgraded": delta.upgraded,
        "downgraded": delta.downgraded,
        "unconfirmed": [{"mutant": key, "why": why} for key, why in delta.unconfirmed],
        "undecided": delta.undecided,
        "kept": delta.kept,
        "kept_by": {kind: delta.kept_how[kind] for kind in HOW},
        "still_alive": delta.still_alive,
        "by_test": [
            {
                "nodeid": names[share.test],
                "change": tests[share.test].change,
                "gained": share.gained,
                "unique": share.unique,
                "verdict": share.verdict,
            }
            for share in by_test(delta, tests)
        ],
        "tests": {
            **listed,
            "unchanged": sum(test.change == "unchanged" for test in tests),
            "excluded": [
                {
                    "nodeid": test.nodeid,
                    "reason": test.excluded,
                    "headroom_reached": delta.headroom_reached[index],
                }
                for index, test in enumerate(tests)
                if test.excluded is not None and "old" in test.suites
            ],
        },
        "score_old": ratio_object(delta.score_old),
        "score_new": ratio_object(delta.score_new),
        "score_ref": None if score_ref is None else ratio_object(score_ref),
    }


def ratio_object(ratio: Ratio) -> dict[str, Any]:
    """A ratio as the delta's JSON has it."""
    return {"numerator": ratio.numerator, "denominator": ratio.denominator, "value": ratio.value}
