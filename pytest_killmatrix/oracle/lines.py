"""The audit's part of the terminal report."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.model import Outcome
from pytest_killmatrix.oracle.agreement import Round, compare, doubtful
from pytest_killmatrix.oracle.findings import Level, few
from pytest_killmatrix.oracle.model import Case, Kind, Scoring
from pytest_killmatrix.oracle.reporting import COUNTED, KILL, AuditReport, CaseReport
from pytest_killmatrix.oracle.verdicts import Judged, Verdict
from pytest_killmatrix.report.listing import Line, Style
from pytest_killmatrix.report.text import count, flow, percent, plain

_LABEL = 23
_DEEPER = "    "
_MARKUP: dict[Level, dict[str, bool]] = {
    Level.INSTRUMENT: {"red": True, "bold": True},
    Level.DEFECT: {"red": True},
    Level.FLAG: {"yellow": True},
    Level.NOTE: {},
}


def audit_lines(report: AuditReport, style: Style, verbosity: int = 0) -> Iterator[Line]:
    """The whole section; below 0 only counts, what qualifies them, and the caveat."""
    yield from _counts(report, style)
    if verbosity >= 0:
        for case in report.cases:
            yield from _case(case, style)
    yield "", {}
    for line in style.wrap(plain(report.caveat, ascii=style.ascii), first=""):
        yield line, {"bold": True}


# -- counts --------------------------------------------------------------------------------------------------------


def _counts(report: AuditReport, style: Style) -> Iterator[Line]:
    totals = report.totals
    full = totals.mutations.denominator and totals.mutations.numerator == totals.mutations.denominator
    # a full score that something qualifies is never printed as 100 %
    share = "" if full and report.qualified_by else f" ({percent(*totals.mutations)})"
    yield from _ratio("mutations killed", totals.mutations, f"cited and judged{share}", style, bold=True)
    if report.qualified_by:
        yield from _column("  qualified", "; ".join(report.qualified_by), style, red=True, bold=True)
    if totals.uncited:
        yield f"{'  not cited':{_LABEL}}{totals.uncited}, in no ratio: possible alternative readings", {"yellow": True}
    yield from _ratio("constant strategies", totals.constants, "rejected by an assertion", style)
    yield from _ratio("alternative readings", totals.readings, "accepted", style)
    yield from _ratio("underspecified tests", totals.underspecified, "reject an alternative reading", style)
    yield from _ratio("cases that flip", totals.flipped, "lost, all or nothing, by a permitted reading", style)
    if totals.unjudged:
        yield f"{'not judged':{_LABEL}}{count(totals.unjudged, 'variant')}", {"yellow": True}
    yield from _column("a kill", KILL.removeprefix("a kill: "), style)
    yield from _column("counted", COUNTED, style)


def _ratio(name: str, ratio: Ratio, words: str, style: Style, **markup: bool) -> Iterator[Line]:
    if ratio.denominator or markup:
        yield style.fit(f"{name:{_LABEL}}{ratio.numerator:,} of {ratio.denominator:,}   {words}"), markup


def _column(label: str, text: str, style: Style, **markup: bool) -> Iterator[Line]:
    """A label, and text in a column of its own."""
    for line in style.wrap(plain(text, ascii=style.ascii), first=f"{label:{_LABEL}}"):
        yield line, markup


def _wrapped(label: str, text: str, style: Style, **markup: bool) -> Iterator[Line]:
    """A label, text after it, and more of it below, a little to the right."""
    indent = " " * (len(label) - len(label.lstrip()))
    words = plain(label.strip() + " " + text, ascii=style.ascii).split(" ")
    first, *more = flow(words, style.width - len(_DEEPER), first=indent, separator=" ")
    yield first, markup
    for line in more:
        yield _DEEPER + line, markup


# -- one case ------------------------------------------------------------------------------------------------------


def _case(report: CaseReport, style: Style) -> Iterator[Line]:
    judged, case = report.judged, report.judged.case
    yield "", {}
    title = f"case {case.name}, version {case.version}: {case.target}, {count(len(judged.tests), 'test')}"
    yield style.fit(plain(title, ascii=style.ascii)), {"bold": True}
    for finding in report.findings:
        yield from _wrapped(f"  {finding.level.value}: ", finding.text, style, **_MARKUP[finding.level])
    for kind in Kind:
        for one in judged.of_kind(kind):
            yield from _variant(one, len(judged.tests), style)
    yield from _underspecified(report, style)
    yield from _rounds(report, style)


def _variant(one: Judged, tests: int, style: Style) -> Iterator[Line]:
    variant = one.variant
    named = "" if variant.name == variant.kind.value else f" {variant.name}"
    yield from _wrapped(f"  {variant.kind.value}{named}: ", _said(one, tests), style)
    if one.rejected and variant.kind not in (Kind.STARTER, Kind.DEGENERATE):
        for outcome in Outcome:
            names = one.by(outcome)
            if names:
                shown = names if style.verbose or variant.kind is Kind.READING else [few(names)]
                yield from _wrapped(f"      {outcome.value}: ", ", ".join(shown), style)
    for citation in variant.citations:
        yield from _wrapped("      forbidden by " if variant.kind is Kind.MUTATION else "      cites ",
                            f'{citation.file}:{citation.found_at} "{citation.quote}"', style)  # fmt: skip
    if variant.kind is Kind.READING:
        yield from _wrapped("      why: ", variant.why, style)
    for entry in variant.history if len(variant.history) > 1 else ():
        repaired = f", repaired {', '.join(part.value for part in entry.repaired)}" if entry.repaired else ""
        note = f": {entry.note}" if entry.note else ""
        words = f"{entry.kind.value} ({entry.source}{repaired}){note}"
        yield from _wrapped(f"      version {entry.version}: ", words, style)


def _said(one: Judged, tests: int) -> str:
    if one.variant.kind is Kind.DEGENERATE:
        return f"passes {len(one.passed)} of {tests} tests; {one.verdict.value}"
    if one.verdict.rejects:
        counts = one.variant.kind is Kind.MUTATION
        head = "killed" if one.counts else "not counted as killed, it cites nothing" if counts else one.verdict.value
        if counts and one.variant.cited and not one.counts:
            head = f"{one.verdict.value}, not killed"
        return f"{head}; {len(one.rejected)} of {tests} tests"
    if one.verdict is Verdict.ACCEPTED and one.variant.kind is Kind.MUTATION:
        return "survived: accepted by every test"
    return f"{one.verdict.value}" + (f" ({one.reason})" if one.reason else "")


def _underspecified(report: CaseReport, style: Style) -> Iterator[Line]:
    judged = report.judged
    names = judged.underspecified
    if not names:
        return
    yield from _wrapped(f"  underspecified {len(names)} of {len(judged.tests)}: ", ", ".join(names), style, bold=True)
    share = f"{len(names)} of {len(judged.tests)} tests"
    if judged.case.scoring is Scoring.ALL_OR_NOTHING:
        text = f"scored all or nothing, a permitted reading loses the case; scored by share, {share}"
    else:
        text = f"scored by share, a permitted reading loses {share}; scored all or nothing it would lose the case"
    yield from _wrapped("  ", text, style)


# -- readers -------------------------------------------------------------------------------------------------------


def _rounds(report: CaseReport, style: Style) -> Iterator[Line]:
    case = report.judged.case
    for one in report.rounds:
        yield from round_lines(one, case, style)
    yield from _failed(case, style)
    yield from _settled(report, style)


def _failed(case: Case, style: Style) -> Iterator[Line]:
    for reading in case.readings:
        if reading.failed is not None:
            yield from _wrapped(f"  round {reading.round} failed: ", f"{reading.reader}: {reading.failed}", style)


def _settled(report: CaseReport, style: Style) -> Iterator[Line]:
    for dispute in report.disputes:
        for name, kind, rejected in dispute.settled:
            how = "rejects it, so it is underspecified" if rejected else "accepts it, so it decides nothing"
            if kind is not Kind.READING:
                how = f"{'rejects' if rejected else 'accepts'} it; by now it is held to be a {kind.value}"
            text = f"{name} was written; {dispute.test} {how}"
            yield from _wrapped(f"  round {dispute.round} settled: ", text, style)


def rounds_lines(case: Case, report: CaseReport | None, style: Style) -> Iterator[Line]:
    """What readers said of a case; ``report`` is what was measured, if anything."""
    yield f"case {plain(case.name, ascii=style.ascii)}, version {case.version}, text {case.hashes.task}", {}
    if not case.readings:
        yield "  no round yet", {}
    for one in compare(case.readings):
        yield from round_lines(one, case, style)
    yield from _failed(case, style)
    if report is not None:
        yield from _settled(report, style)
    for reading, judgment in doubtful(case.readings):
        answer = f"{'' if judgment.derivable else 'not '}derivable, {judgment.confidence} confidence"
        note = f": {judgment.note}" if judgment.note else ""
        yield from _wrapped(
            f"  round {reading.round}, {plain(reading.reader)}: ", f"{judgment.test}: {answer}{note}", style
        )
    for risk in [*case.risks, *(risk for reading in case.readings for risk in reading.risks)]:
        yield from _wrapped("  open risk: ", risk, style)


def round_lines(one: Round, case: Case, style: Style) -> Iterator[Line]:
    """One comparison of readers."""
    version = version_of(case, one.text)
    old = "" if version == case.version else " (not the present text)"
    seen = {True: "had seen results", False: "had seen no results"}
    names = "; ".join(f"{reading.reader} ({seen[reading.results_seen]})" for reading in one.readings)
    yield from _wrapped(f"  round {one.number}, text of version {version}{old}: ", names, style)
    for pair in one.pairs:
        kappa = "undefined" if pair.kappa is None else f"{pair.kappa:.2f}"
        agreed = f"{pair.agreement.numerator} of {pair.agreement.denominator} tests"
        yield from _wrapped("    ", f"{pair.one} and {pair.other} agree on {agreed}, Cohen's kappa {kappa}", style)
    if one.disputed:
        yield from _wrapped("    disputed: ", ", ".join(one.disputed), style)
    if one.judged_once:
        yield from _wrapped("    judged by one reader only: ", ", ".join(one.judged_once), style)


def version_of(case: Case, text: str) -> int | None:
    """The version of a case whose task text has this hash."""
    if case.hashes.task == text:
        return case.version
    return next((one.version for one in case.recorded if one.hashes.task == text), None)
