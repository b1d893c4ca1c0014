"""Everything that is reported of an audit, read back from the sidecar."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pytest_killmatrix.oracle.agreement import Round, compare
from pytest_killmatrix.oracle.comparing import compare as compare_versions
from pytest_killmatrix.oracle.findings import Dispute, Finding, Level, disputes, findings
from pytest_killmatrix.oracle.verdicts import JudgedCase, Totals, clean_failures, judge, rejected_by, totals
from pytest_killmatrix.store.audits import StoredCase, earlier_runs, read_cases
from pytest_killmatrix.store.reader import Reader

KILL = (
    "a kill: an assertion of a test rejects the variant; exceptions, timeouts, variants that do not compile or import, "
    "skipped tests and faults of the instrument are none"
)
COUNTED = "mutations that quote a sentence found in what the solver receives, and that at least one test judged"
CAVEAT = (
    "A full score says that the tests are sensitive to this set of variants, chosen by {}. It does not say that the "
    "expected answers are right. Kinds are judgments that reviewers recorded, not computed. Underspecified does not "
    "mean wrong."
)


class Audited(enum.Enum):
    """What an audit means for the exit status."""

    NONE = enum.auto()  # no variant was judged
    CLEAN = enum.auto()
    DEFECTS = enum.auto()
    INSTRUMENT = enum.auto()


@dataclass(frozen=True, slots=True)
class CaseReport:
    """A case, its findings, its disputes and its rounds."""

    judged: JudgedCase
    findings: tuple[Finding, ...]
    disputes: tuple[Dispute, ...]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit; ``qualified_by`` is what stands beside its score, shortest words, each once."""

    file: str
    chosen_by: str
    cases: tuple[CaseReport, ...]
    totals: Totals
    qualified_by: tuple[str, ...]

    @property
    def caveat(self) -> str:
        return CAVEAT.format(self.chosen_by)


def report_of(reader: Reader) -> AuditReport | None:
    """The audit of the reader's run, or None."""
    stored = read_cases(reader)
    if not stored:
        return None
    cases = tuple(_case(reader, one) for one in stored)
    qualified = dict.fromkeys(finding.short for case in cases for finding in case.findings if finding.short)
    return AuditReport(
        stored[0].file,
        stored[0].chosen_by,
        cases,
        totals([case.judged for case in cases]),
        tuple(word for word in qualified if word is not None),
    )


def _case(reader: Reader, stored: StoredCase) -> CaseReport:
    tests = reader.tests()
    judged = JudgedCase(
        stored.case,
        tuple(tests[index].nodeid for index in stored.tests),
        clean_failures(stored.tests, tests),
        tuple(
            judge(variant, row.mutant.key, row.status, row.reason, row.cells, stored.tests, tests)
            for variant, row in zip(stored.case.variants, stored.rows, strict=True)
        ),
    )
    now = rejected_by({one.variant.name: one for one in judged.variants})
    runs = [one for one in earlier_runs(reader, stored.case) if one.version <= stored.case.version]
    recorded = {one.version for one in stored.case.recorded}
    differences = [
        difference
        for before in [*stored.case.recorded, *(one for one in runs if one.version not in recorded)]
        for difference in compare_versions(stored.case, before, now, judged.tests)
    ]
    return CaseReport(
        judged,
        tuple(findings(judged, differences, runs)),
        tuple(disputes(judged)),
        tuple(compare(stored.case.readings)),
    )


def outcome_of(reader: Reader) -> Audited:
    """What the run's audit means for the exit status."""
    report = report_of(reader)
    if report is None:
        return Audited.NONE
    levels = {finding.level for case in report.cases for finding in case.findings}
    if Level.INSTRUMENT in levels:
        return Audited.INSTRUMENT
    return Audited.DEFECTS if Level.DEFECT in levels else Audited.CLEAN
