"""What became of each variant, and what of it counts: pure functions over stored cells."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.model import Cell, Clean, Excluded, Outcome, Status, Test
from pytest_killmatrix.oracle.model import Case, Kind, Scoring, Variant


class Verdict(str, enum.Enum):
    """What all tests of a case together say of a variant; exactly one holds."""

    ASSERTION = "rejected by an assertion"
    EXCEPTION = "ended by an exception"
    TIMEOUT = "timed out"
    INVALID = "does not compile or import"
    FAULT = "not judged: infrastructure"
    ACCEPTED = "accepted by every test"
    PARTLY = "not rejected, but some tests did not judge it"
    UNJUDGED = "judged by no test"

    @property
    def rejects(self) -> bool:
        return self in _REJECTS


_REJECTS: Final = frozenset({Verdict.ASSERTION, Verdict.EXCEPTION, Verdict.TIMEOUT})
_EXCEPTIONS: Final = frozenset({Outcome.EXCEPTION, Outcome.CRASH})
_BROKEN: Final = frozenset({Status.PENDING, Status.RUN_ERROR})


@dataclass(frozen=True, slots=True)
class Judged:
    """One variant and what each test of its case said, by node id.

    ``rejected`` are pairs of a test and its outcome; ``faults`` are failures of the instrument, ``not_run`` pairs of a
    test and why it did not judge. ``cells`` are those of the matrix, by node id.
    """

    variant: Variant
    key: str
    verdict: Verdict
    reason: str | None
    passed: tuple[str, ...]
    rejected: tuple[tuple[str, Outcome], ...]
    skipped: tuple[str, ...]
    faults: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    cells: tuple[tuple[str, Cell], ...] = ()

    @property
    def rejectors(self) -> list[str]:
        """The tests that reject it, in whatever way."""
        return [test for test, _ in self.rejected]

    def by(self, *outcomes: Outcome) -> list[str]:
        """The tests with one of these outcomes."""
        return [test for test, outcome in self.rejected if outcome in outcomes]

    @property
    def counts(self) -> bool:
        """Whether it is a mutation that counts as killed: its citation was found, and an assertion rejects it."""
        return self.variant.kind is Kind.MUTATION and self.variant.cited and self.verdict is Verdict.ASSERTION


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case, its tests (node ids) and its variants; ``clean_failures`` are tests that the reference itself fails."""

    case: Case
    tests: tuple[str, ...]
    clean_failures: tuple[str, ...]
    variants: tuple[Judged, ...]

    def of_kind(self, kind: Kind) -> list[Judged]:
        return [one for one in self.variants if one.variant.kind is kind]

    @property
    def underspecified(self) -> list[str]:
        """The tests that reject an alternative reading, in the order of the suite."""
        rejectors = {test for one in self.of_kind(Kind.READING) for test in one.rejectors}
        return [test for test in self.tests if test in rejectors]

    @property
    def flips(self) -> bool:
        """Whether a solver who reads the task in a permitted way gets nothing, only because of underspecified tests."""
        return self.case.scoring is Scoring.ALL_OR_NOTHING and bool(self.underspecified)


def judge(
    variant: Variant,
    key: str,
    status: Status,
    reason: str | None,
    cells: Iterable[Cell],
    case_tests: Sequence[int],
    tests: Sequence[Test],
) -> Judged:
    """Read one variant's row of the matrix."""
    by_test = {cell.test: cell for cell in cells}
    passed, skipped, faults = [], [], []
    rejected: list[tuple[str, Outcome]] = []
    not_run: list[tuple[str, str]] = []
    for index in case_tests:
        name, cell = tests[index].nodeid, by_test.get(index)
        if cell is None:
            excluded = tests[index].excluded
            not_run.append(
                (name, f"excluded: {excluded.value}" if excluded is not None else reason or "not observable")
            )
        elif cell.outcome is Outcome.PASSED:
            passed.append(name)
        elif cell.outcome is Outcome.SKIPPED:
            skipped.append(name)
        elif cell.outcome is Outcome.ERROR:
            faults.append(name)
        else:
            rejected.append((name, cell.outcome))
    outcomes = {outcome for _, outcome in rejected}
    verdict = _verdict(status, outcomes, len(passed), len(case_tests), bool(faults))
    if verdict is Verdict.INVALID:
        passed, rejected = [], []
    return Judged(
        variant, key, verdict, reason, tuple(passed), tuple(rejected), tuple(skipped), tuple(faults), tuple(not_run),
        tuple((tests[index].nodeid, by_test[index]) for index in case_tests if index in by_test),
    )  # fmt: skip


def _verdict(status: Status, outcomes: set[Outcome], passed: int, tests: int, faults: bool) -> Verdict:
    """First match wins: a variant that cannot be imported is no kill, whatever its cells say."""
    if status is Status.INVALID:
        return Verdict.INVALID
    if Outcome.ASSERTION in outcomes:
        return Verdict.ASSERTION
    if not outcomes.isdisjoint(_EXCEPTIONS):
        return Verdict.EXCEPTION
    if Outcome.TIMEOUT in outcomes:
        return Verdict.TIMEOUT
    if faults or status in _BROKEN:
        return Verdict.FAULT
    if tests and passed == tests:
        return Verdict.ACCEPTED
    return Verdict.PARTLY if passed else Verdict.UNJUDGED


def clean_failures(case_tests: Iterable[int], tests: Sequence[Test]) -> tuple[str, ...]:
    """Tests of a case that fail on the target as it stands, which is the reference."""
    bad = (Excluded.FAILED, Excluded.ERROR)
    return tuple(
        tests[index].nodeid
        for index in case_tests
        if tests[index].excluded in bad or tests[index].clean in (Clean.FAILED, Clean.ERROR)
    )


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts over all cases; nothing of them is a ratio of generated mutants.

    ``mutations`` is killed by an assertion of all that are cited and were judged. ``constants`` and ``readings`` are
    rejected and accepted ones of those that were judged. ``underspecified`` is of all tests, ``flipped`` of the cases
    that are scored all or nothing.
    """

    mutations: Ratio
    constants: Ratio
    readings: Ratio
    underspecified: Ratio
    flipped: Ratio
    uncited: int
    unjudged: int


def totals(cases: Sequence[JudgedCase]) -> Totals:
    """Count, over the cases of one run."""
    mutations = [one for case in cases for one in case.of_kind(Kind.MUTATION)]
    cited = [one for one in mutations if one.variant.cited and is_judged(one)]
    constants = [one for case in cases for one in case.of_kind(Kind.DEGENERATE) if is_judged(one)]
    readings = [one for case in cases for one in case.of_kind(Kind.READING) if is_judged(one)]
    whole = [case for case in cases if case.case.scoring is Scoring.ALL_OR_NOTHING]
    tests = {test for case in cases for test in case.tests}
    return Totals(
        mutations=Ratio(sum(one.counts for one in cited), len(cited)),
        constants=Ratio(sum(one.verdict is Verdict.ASSERTION for one in constants), len(constants)),
        readings=Ratio(sum(one.verdict is Verdict.ACCEPTED for one in readings), len(readings)),
        underspecified=Ratio(len({test for case in cases for test in case.underspecified}), len(tests)),
        flipped=Ratio(sum(case.flips for case in whole), len(whole)),
        uncited=sum(not one.variant.cited for one in mutations),
        unjudged=sum(not is_judged(one) for case in cases for one in case.variants),
    )


def is_judged(one: Judged) -> bool:
    """Whether at least one test said anything of the variant that can be counted."""
    return one.verdict not in (Verdict.INVALID, Verdict.FAULT, Verdict.UNJUDGED)


def rejected_by(cases: Mapping[str, Judged]) -> dict[str, frozenset[str]]:
    """Which tests reject which variant, by name; those that were judged by every test."""
    return {name: frozenset(one.rejectors) for name, one in cases.items() if is_complete(one)}


def is_complete(one: Judged) -> bool:
    """Whether every test of the case judged the variant."""
    return is_judged(one) and not (one.skipped or one.faults or one.not_run)
