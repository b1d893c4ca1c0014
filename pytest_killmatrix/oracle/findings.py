"""What an audit has to say of one judged case, besides its counts: pure functions."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_killmatrix.model import Outcome
from pytest_killmatrix.oracle.agreement import Round, compare, doubtful
from pytest_killmatrix.oracle.comparing import Change, Difference
from pytest_killmatrix.oracle.model import Case, Kind, Recorded
from pytest_killmatrix.oracle.verdicts import Judged, JudgedCase, Verdict

SHOWN = 5
_LATER = " (of an earlier text; judged again on the present one)"


class Level(str, enum.Enum):
    """How much a finding weighs."""

    INSTRUMENT = "instrument fault"  # nothing below is to be believed
    DEFECT = "defect"  # what the kind of a variant demands does not hold
    FLAG = "flag"  # a reader should look
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line; ``short`` is what it adds to a score that it qualifies, or None."""

    level: Level
    text: str
    short: str | None = None


@dataclass(frozen=True, slots=True)
class Dispute:
    """A test that readers judged differently, and the variants that were written to settle it.

    Of each: its name, what it is now, whether the test rejects it.
    """

    round: int
    text: str
    test: str
    settled: tuple[tuple[str, Kind, bool], ...]


def findings(judged: JudgedCase, differences: Sequence[Difference], earlier: Sequence[Recorded]) -> Iterator[Finding]:
    """Everything that is worth a line, the gravest first."""
    found = [
        *_self_test(judged), *_kinds(judged), *_gaps(judged), *_versions(differences),
        *_history(judged.case, earlier), *_readers(judged),
    ]  # fmt: skip
    order = list(Level)
    yield from sorted(found, key=lambda one: order.index(one.level))


def few(names: Sequence[str], limit: int = SHOWN) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def tests(number: int) -> str:
    return f"{number} test{'' if number == 1 else 's'}"


# -- kinds ---------------------------------------------------------------------------------------------------------


def _self_test(judged: JudgedCase) -> Iterator[Finding]:
    fails = "the self-test fails"
    if judged.clean_failures:
        names = few(judged.clean_failures)
        yield Finding(
            Level.DEFECT, f"self-test: the reference fails {tests(len(judged.clean_failures))}: {names}", fails
        )
    for one in judged.of_kind(Kind.REFERENCE):
        if one.verdict.rejects:
            text = f"self-test: the reference is rejected by {tests(len(one.rejected))}: {few(one.rejectors)}"
            yield Finding(Level.DEFECT, text, fails)
        elif one.verdict not in (Verdict.ACCEPTED, Verdict.PARTLY):
            yield Finding(Level.DEFECT, f"self-test: the reference: {_why(one)}", fails)
    for one in judged.of_kind(Kind.NOOP):
        if one.verdict.rejects:
            text = f"{one.variant.name} changes nothing and is rejected by {few(one.rejectors)}"
            yield Finding(Level.INSTRUMENT, text, "the instrument is at fault")
    starters = judged.of_kind(Kind.STARTER)
    if not starters:
        yield Finding(Level.FLAG, "self-test: no starter, so nobody saw that an untouched answer fails", "no starter")
    for one in starters:
        if one.verdict is Verdict.ASSERTION:
            continue
        text = f"self-test: no assertion rejects the starter {one.variant.name}: {_why(one)}"
        yield Finding(Level.DEFECT, text, fails)


def _kinds(judged: JudgedCase) -> Iterator[Finding]:
    for one in judged.of_kind(Kind.READING):
        if one.verdict.rejects:
            yield Finding(
                Level.DEFECT,
                f"{one.variant.name} can be defended from the text and is rejected by {tests(len(one.rejected))}: "
                f"{few(one.rejectors)}",
                "a permitted reading is rejected",
            )
        elif one.verdict is not Verdict.ACCEPTED:
            yield Finding(Level.FLAG, f"{one.variant.name}: {_why(one)}", "a permitted reading is not fully judged")
    for one in judged.of_kind(Kind.MUTATION):
        if not one.variant.cited:
            yield Finding(
                Level.FLAG,
                f"{one.variant.name} cites no sentence that forbids it: a possible alternative reading, not counted",
                "mutations without a citation",
            )
        elif one.verdict in (Verdict.EXCEPTION, Verdict.TIMEOUT):
            yield Finding(Level.NOTE, f"{one.variant.name}: {one.verdict.value}; no assertion, so no kill that counts")
    for one in judged.of_kind(Kind.DEGENERATE):
        if one.verdict is Verdict.ACCEPTED:
            text = f"{one.variant.name} answers always alike and passes every test"
            yield Finding(Level.DEFECT, text, "a constant strategy passes")


def _gaps(judged: JudgedCase) -> Iterator[Finding]:
    """What was not judged is neither a pass nor a kill."""
    said_before = (Kind.REFERENCE, Kind.STARTER, Kind.READING)
    for one in judged.variants:
        if one.verdict in (Verdict.INVALID, Verdict.FAULT, Verdict.UNJUDGED):
            if one.variant.kind in said_before:
                continue
            yield Finding(
                Level.FLAG, f"{one.variant.name}: {_why(one)}; neither a pass nor a kill", "variants not judged"
            )
        elif one.faults or one.skipped:
            parts = [("failed in our machinery", one.faults), ("skipped themselves", one.skipped)]
            said = ", ".join(f"{tests(len(names))} {what} ({few(names)})" for what, names in parts if names)
            yield Finding(
                Level.FLAG, f"{one.variant.name}: {said}: neither a pass nor a kill", "tests that did not judge"
            )
    silent = {test: why for one in judged.variants for test, why in one.not_run if why.startswith("excluded")}
    if silent:
        told = few([f"{test} ({why})" for test, why in silent.items()])
        yield Finding(Level.FLAG, f"{tests(len(silent))} judge nothing: {told}", "tests that did not judge")


def _why(one: Judged) -> str:
    crashed = len(one.by(Outcome.EXCEPTION, Outcome.CRASH))
    more = f" ({one.reason})" if one.reason and not one.verdict.rejects else f" ({tests(crashed)})" if crashed else ""
    return f"{one.verdict.value}{more}"


# -- versions and readers ------------------------------------------------------------------------------------------


def _versions(differences: Sequence[Difference]) -> Iterator[Finding]:
    levels = {
        Change.BROKEN: Level.DEFECT,
        Change.ORACLE: Level.FLAG,
        Change.FIXTURES: Level.FLAG,
        Change.SAME: Level.NOTE,
    }
    shorts = {Change.BROKEN: "divergence is not stable", Change.ORACLE: "the oracle changed"}
    for one in differences:
        yield Finding(levels[one.kind], one.text, shorts.get(one.kind))


def _history(case: Case, earlier: Sequence[Recorded]) -> Iterator[Finding]:
    """What earlier runs in the sidecar were told of the kinds is still in the history."""
    variants = {variant.name: variant for variant in case.variants}
    for record in earlier:
        for name, kind in record.kinds:
            variant = variants.get(name)
            if variant is None:
                text = f"{record.origin} judged {name} ({kind.value}, version {record.version}), and it is gone"
                yield Finding(Level.FLAG, f"{text}; variants are kept", "history was lost")
            elif variant.kind is not kind and not any(
                entry.kind is kind and entry.version <= record.version for entry in variant.history
            ):
                yield Finding(
                    Level.DEFECT if record.version < case.version else Level.FLAG,
                    f"{record.origin} was told that {name} is {kind.value} in version {record.version}, its history "
                    "does not say so; history is appended to, never rewritten",
                    "history was lost",
                )


def _readers(judged: JudgedCase) -> Iterator[Finding]:
    case = judged.case
    for risk in [*case.risks, *(risk for reading in case.readings for risk in reading.risks)]:
        yield Finding(Level.FLAG, f"open risk: {risk}", "open risks")
    again = judged_again(case)
    for reading, one in doubtful(case.readings):
        old = reading.text != case.hashes.task and one.test in again
        yield Finding(
            Level.NOTE if old else Level.FLAG,
            f"{reading.reader}, round {reading.round}: {one.test}: {'' if one.derivable else 'not '}derivable, "
            f"{one.confidence} confidence{': ' + one.note if one.note else ''}{_LATER if old else ''}",
            None if old else "judgments without high confidence",
        )
    for dispute in disputes(judged):
        if not dispute.settled:
            old = dispute.text != case.hashes.task and dispute.test in again
            text = f"round {dispute.round}: readers disagree on {dispute.test}, and no variant settles it"
            yield Finding(
                Level.NOTE if old else Level.FLAG, text + (_LATER if old else ""), None if old else "open disputes"
            )
    known = set(judged.tests)
    absent = {one.test for reading in case.readings for one in reading.judgments} - known
    if absent:
        yield Finding(
            Level.FLAG, f"readers judged {tests(len(absent))} that this session has not: {few(sorted(absent))}"
        )


def judged_again(case: Case) -> set[str]:
    """Tests that readers judged on the present text, all alike and surely: what was said of an older one is history."""
    present = [reading for reading in case.readings if reading.text == case.hashes.task and reading.failed is None]
    unsure = {one.test for _, one in doubtful(present)}.union(*(one.disputed for one in compare(present)))
    return {one.test for reading in present for one in reading.judgments} - unsure


def disputes(judged: JudgedCase) -> list[Dispute]:
    """The tests on which readers disagreed, round by round, and how the variants written for them came out."""
    found: list[Dispute] = []
    for one in compare(judged.case.readings):
        found += [Dispute(one.number, one.text, test, tuple(_settlers(judged, one, test))) for test in one.disputed]
    return found


def _settlers(judged: JudgedCase, one: Round, test: str) -> Iterator[tuple[str, Kind, bool]]:
    for other in judged.variants:
        settles = other.variant.settles
        meant = settles is not None and settles.round == one.number and test in settles.tests
        if meant and (test in other.passed or test in other.rejectors):
            yield other.variant.name, other.variant.kind, test in other.rejectors
