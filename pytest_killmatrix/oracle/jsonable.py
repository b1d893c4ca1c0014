"""The audit's part of the JSON report."""

from __future__ import annotations

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.oracle.agreement import Round, compare
from pytest_killmatrix.oracle.model import Case, Scoring
from pytest_killmatrix.oracle.reporting import COUNTED, KILL, AuditReport, CaseReport
from pytest_killmatrix.oracle.verdicts import Judged
from pytest_killmatrix.report.cells import cell_object
from pytest_killmatrix.store.plain import to_plain


def audit_object(report: AuditReport) -> dict[str, object]:
    """The value of ``variants``; its ratios are of authored variants only."""
    totals = report.totals
    return {
        "file": report.file,
        "chosen_by": report.chosen_by,
        "caveat": report.caveat,
        "score": {
            "kill": KILL,
            "reference_set": COUNTED,
            "mutations": {**_ratio(totals.mutations), "qualified_by": list(report.qualified_by)},
            "constants_rejected": _ratio(totals.constants),
            "readings_accepted": _ratio(totals.readings),
            "underspecified": _ratio(totals.underspecified),
            "flipped": _ratio(totals.flipped),
            "uncited": totals.uncited,
            "not_judged": totals.unjudged,
        },
        "cases": [_case(case) for case in report.cases],
    }


def _ratio(ratio: Ratio) -> dict[str, object]:
    return {"numerator": ratio.numerator, "denominator": ratio.denominator, "value": ratio.value}


def _case(report: CaseReport) -> dict[str, object]:
    judged, case = report.judged, report.judged.case
    return {
        "case": case.name,
        "version": case.version,
        "target": case.target,
        "scoring": case.scoring.value,
        "hashes": {**to_plain(case.hashes), "variants": dict(case.hashes.variants)},
        "materialized": [to_plain(material) for material in case.materialized],
        "tests": list(judged.tests),
        "clean_failures": list(judged.clean_failures),
        "underspecified": judged.underspecified,
        "flips": judged.flips if case.scoring is Scoring.ALL_OR_NOTHING else None,
        "variants": [_variant(one) for one in judged.variants],
        "findings": [to_plain(finding) for finding in report.findings],
        **rounds_object(case, report),
    }


def rounds_object(case: Case, report: CaseReport | None) -> dict[str, object]:
    """What readers said of a case; ``disputes`` is null where nothing was measured."""
    return {
        "case": case.name,
        "version": case.version,
        "rounds": [_round(one) for one in compare(case.readings)],
        "failed_rounds": [to_plain(reading) for reading in case.readings if reading.failed is not None],
        "risks": [*case.risks, *(risk for reading in case.readings for risk in reading.risks)],
        "disputes": None
        if report is None
        else [
            {
                "round": one.round,
                "test": one.test,
                "settled_by": [
                    {"variant": name, "kind": kind.value, "rejected": rejected} for name, kind, rejected in one.settled
                ],
            }
            for one in report.disputes
        ],
    }


def _variant(one: Judged) -> dict[str, object]:
    variant = one.variant
    names: dict[int, str] = {cell.test: test for test, cell in one.cells}
    return {
        "name": variant.name,
        "key": one.key,
        "kind": variant.kind.value,
        "why": variant.why,
        "sha256": variant.sha256,
        "made_from": variant.made_from,
        "citations": [to_plain(citation) for citation in variant.citations],
        "history": [to_plain(entry) for entry in variant.history],
        "settles": to_plain(variant.settles),
        "verdict": one.verdict.name.lower(),
        "reason": one.reason,
        "counts": one.counts,
        "passed": list(one.passed),
        "rejected": [{"test": test, "outcome": outcome.value} for test, outcome in one.rejected],
        "skipped": list(one.skipped),
        "faults": list(one.faults),
        "not_run": [{"test": test, "why": why} for test, why in one.not_run],
        "cells": [cell_object(cell, names) for _, cell in one.cells],
    }


def _round(one: Round) -> dict[str, object]:
    return {
        "round": one.number,
        "text": one.text,
        "readings": [to_plain(reading) for reading in one.readings],
        "pairs": [
            {"readers": [pair.one, pair.other], "agreement": _ratio(pair.agreement), "kappa": pair.kappa}
            for pair in one.pairs
        ],
        "disputed": list(one.disputed),
        "judged_once": list(one.judged_once),
    }
