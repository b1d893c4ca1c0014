"""What counts, and what is said: pure functions over made-up cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracle_samples import CITED, HASHES, case, judged, judged_case, variant

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.model import Outcome, Status
from pytest_killmatrix.oracle.comparing import Change, compare
from pytest_killmatrix.oracle.findings import Level, findings
from pytest_killmatrix.oracle.hints import hints, words_of
from pytest_killmatrix.oracle.model import Entry, Hashes, Kind, Recorded, Scoring
from pytest_killmatrix.oracle.verdicts import Judged, JudgedCase, Verdict, rejected_by, totals

MUTATION = variant("mutation", Kind.MUTATION, CITED)
READING = variant("reading", Kind.READING)
GOOD = (
    judged(variant("reference", Kind.REFERENCE), "ppp"), judged(variant("starter", Kind.STARTER), "aaa", Status.KILLED),
)  # fmt: skip


@pytest.mark.parametrize(("outcomes", "status", "verdict"), [
    ("ppp", Status.SURVIVED, Verdict.ACCEPTED),
    ("ppa", Status.KILLED, Verdict.ASSERTION),
    ("eca", Status.KILLED, Verdict.ASSERTION),
    ("ppe", Status.CRASHED, Verdict.EXCEPTION),
    ("ppc", Status.CRASHED, Verdict.EXCEPTION),
    ("ppt", Status.TIMEOUT, Verdict.TIMEOUT),
    ("---", Status.INVALID, Verdict.INVALID),
    ("eee", Status.INVALID, Verdict.INVALID),  # what cannot be imported kills nothing, whatever its cells say
    ("ppf", Status.RUN_ERROR, Verdict.FAULT),
    ("---", Status.PENDING, Verdict.FAULT),
    ("pps", Status.SURVIVED, Verdict.PARTLY),
    ("pp-", Status.SURVIVED, Verdict.PARTLY),
    ("sss", Status.SILENCED, Verdict.UNJUDGED),
    ("---", Status.NO_USABLE_TEST, Verdict.UNJUDGED),
    ("psa", Status.KILLED, Verdict.ASSERTION),
])  # fmt: skip
def test_verdicts_are_kept_apart(outcomes: str, status: Status, verdict: Verdict) -> None:
    one = judged(MUTATION, outcomes, status)
    assert one.verdict is verdict
    assert one.counts is (verdict is Verdict.ASSERTION)
    if verdict is not Verdict.INVALID:
        seen = [len(one.passed), len(one.rejected), len(one.skipped), len(one.faults), len(one.not_run)]
        assert sum(seen) == 3  # each test is in exactly one list
    assert len(one.skipped) == outcomes.count("s")
    assert one.verdict.rejects is bool({"a", "e", "c", "t"} & set(outcomes)) or verdict is Verdict.INVALID


def test_only_a_cited_mutation_that_an_assertion_kills_counts() -> None:
    uncited = judged(variant("uncited", Kind.MUTATION), "paa", Status.KILLED)
    reading = judged(READING, "ppa", Status.KILLED)
    crash = judged(variant("crash", Kind.MUTATION, CITED), "ppe", Status.CRASHED)
    broken = judged(variant("broken", Kind.MUTATION, CITED), "---", Status.INVALID)
    fault = judged(variant("fault", Kind.MUTATION, CITED), "fff", Status.RUN_ERROR)
    count = totals([judged_case(*GOOD, judged(MUTATION, "ppa", Status.KILLED), uncited, reading, crash, broken, fault)])
    assert count.mutations == Ratio(1, 2)  # the crash is in the denominator, what was not judged is not
    assert (count.uncited, count.unjudged) == (1, 2)
    assert count.readings == Ratio(0, 1)
    assert (count.underspecified, count.flipped) == (Ratio(1, 3), Ratio(1, 1))


def test_underspecified_tests_are_counted_over_all_tests_and_by_case() -> None:
    """The shape of a published count: 20 of 138 tests."""
    one = judged_case(judged(READING, "a" * 12 + "p" * 88, Status.KILLED))
    other = judged_case(judged(READING, "p" * 118 + "a" * 8 + "p" * 12, Status.KILLED))
    assert (len(one.underspecified), len(other.underspecified)) == (12, 8)
    count = totals([other, one])
    assert count.underspecified == Ratio(20, 138)
    assert count.flipped == Ratio(2, 2)


def test_a_share_does_not_flip() -> None:
    of = case([READING], scoring=Scoring.SHARE)
    one = judged_case(judged(READING, "pa", Status.KILLED), of=of)
    assert not one.flips
    assert totals([one]).flipped == Ratio(0, 0)


def test_a_constant_that_passes_everything() -> None:
    constant = variant("always", Kind.DEGENERATE)
    assert totals([judged_case(judged(constant, "ppp"))]).constants == Ratio(0, 1)
    assert "passes every test" in said(judged_case(*GOOD, judged(constant, "ppp")), Level.DEFECT)


# -- findings --------------------------------------------------------------------------------------------------------


def said(of: JudgedCase, level: Level) -> str:
    return "\n".join(finding.text for finding in findings(of, (), ()) if finding.level is level)


def test_nothing_to_say_of_a_good_case() -> None:
    good = judged_case(*GOOD, judged(MUTATION, "ppa", Status.KILLED), judged(READING, "ppp"))
    assert list(findings(good, (), ())) == []


@pytest.mark.parametrize(("others", "level", "words"), [
    ([judged(READING, "paa", Status.KILLED)], Level.DEFECT,
     "rejected by 2 tests: test_gate.py::test_1, test_gate.py::test_2"),
    ([judged(READING, "ppe", Status.CRASHED)], Level.DEFECT, "rejected by 1 test"),
    ([judged(READING, "pps")], Level.FLAG, "did not judge it"),
    ([judged(variant("x", Kind.MUTATION), "ppa", Status.KILLED)], Level.FLAG, "possible alternative reading"),
    ([judged(variant("x", Kind.MUTATION, CITED), "ppe", Status.CRASHED)], Level.NOTE, "no kill that counts"),
    ([judged(variant("x", Kind.NOOP), "ppa", Status.KILLED)], Level.INSTRUMENT, "changes nothing"),
    ([judged(MUTATION, "---", Status.INVALID, "does not compile: x")], Level.FLAG, "does not compile: x"),
    ([judged(MUTATION, "paf", Status.KILLED)], Level.FLAG, "failed in our machinery"),
    ([judged(MUTATION, "pas", Status.KILLED)], Level.FLAG, "skipped themselves"),
])  # fmt: skip
def test_findings(others: list[Judged], level: Level, words: str) -> None:
    assert words in said(judged_case(*GOOD, *others), level)


@pytest.mark.parametrize(("reference", "starter", "words"), [
    ("ppa", "aaa", "the reference is rejected by 1 test"),
    ("ppp", "ppp", "no assertion rejects the starter"),
    ("ppp", "eee", "no assertion rejects the starter starter: ended by an exception (3 tests)"),
    ("ppp", "pps", "no assertion rejects the starter"),
])  # fmt: skip
def test_the_self_test(reference: str, starter: str, words: str) -> None:
    status = Status.KILLED if "a" in starter else Status.CRASHED if "e" in starter else Status.SURVIVED
    one = judged_case(
        judged(variant("reference", Kind.REFERENCE), reference, Status.KILLED if "a" in reference else Status.SURVIVED),
        judged(variant("starter", Kind.STARTER), starter, status),
    )
    assert words in said(one, Level.DEFECT)


def test_a_starter_that_cannot_be_imported_fails_the_self_test() -> None:
    one = judged_case(GOOD[0], judged(variant("starter", Kind.STARTER), "---", Status.INVALID, "does not compile: x"))
    assert "no assertion rejects the starter starter: does not compile or import (does not compile: x)" in said(
        one, Level.DEFECT
    )


def test_a_test_that_the_reference_fails() -> None:
    assert "the reference fails 1 test: t" in said(judged_case(*GOOD, clean_failures=["t"]), Level.DEFECT)


def test_no_starter() -> None:
    assert "no starter" in said(judged_case(GOOD[0]), Level.FLAG)


def test_a_kind_that_an_earlier_run_was_told_is_in_the_history() -> None:
    before = Recorded(1, HASHES, (("mutation", Kind.READING),), origin="a run")
    silent = judged_case(*GOOD, judged(MUTATION, "ppa", Status.KILLED), of=case([MUTATION], version=2))
    assert [one.level for one in findings(silent, (), [before])] == [Level.DEFECT]
    entries = (Entry(1, Kind.READING, "me"), Entry(2, Kind.MUTATION, "me"))
    kept = variant("mutation", Kind.MUTATION, CITED, entries)
    honest = judged_case(*GOOD, judged(kept, "ppa", Status.KILLED), of=case([kept], version=2))
    assert list(findings(honest, (), [before])) == []


# -- versions --------------------------------------------------------------------------------------------------------

OLD = Hashes("old", "grader", "fixtures", "reference", (("mutation", "m"), ("reading", "r")))


def changes(
    now: Hashes, rejected: dict[str, set[str]], tests: tuple[str, ...] = ("x", "y")
) -> list[tuple[Change, str | None]]:
    before = Recorded(1, OLD, (), (("mutation", ("x",)), ("reading", ("y",))), ("x", "y"))
    of = case([MUTATION, READING], version=2, hashes=now)
    found = compare(of, before, {name: frozenset(tests) for name, tests in rejected.items()}, tests)
    return [(one.kind, one.variant) for one in found]


def new(**parts: str) -> Hashes:
    return Hashes(**{"task": "new", "grader": "grader", "fixtures": "fixtures", "reference": "reference", **parts},
                  variants=OLD.variants)  # fmt: skip


def test_rewording_alone_changes_no_divergence() -> None:
    assert changes(new(), {"mutation": {"x"}, "reading": {"y"}}) == [(Change.SAME, None)]
    assert changes(new(), {"mutation": {"x"}, "reading": set()}) == [(Change.BROKEN, "reading")]
    assert changes(new(), {"mutation": {"x", "y"}, "reading": {"y"}}) == [(Change.BROKEN, "mutation")]


@pytest.mark.parametrize("part", ["grader", "fixtures", "reference"])
def test_a_repair_that_makes_an_answer_right_is_an_oracle_change(part: str) -> None:
    found = changes(new(**{part: "changed"}), {"mutation": {"x"}, "reading": set()})
    assert (Change.ORACLE, "reading") in found
    assert (Change.ORACLE, "mutation") not in found


def test_added_fixtures_are_said() -> None:
    found = changes(new(grader="changed"), {"mutation": {"x"}, "reading": {"y"}}, ("x", "y", "z"))
    assert found == [(Change.FIXTURES, None)]
    assert (Change.FIXTURES, None) in changes(new(fixtures="changed"), {"mutation": {"x"}, "reading": {"y"}})


def test_a_variant_that_was_rewritten_is_not_compared() -> None:
    other = Hashes("new", "grader", "fixtures", "reference", (("mutation", "m"), ("reading", "other")))
    assert changes(other, {"mutation": {"x"}, "reading": set()}) == [(Change.SAME, None)]


def test_what_was_not_judged_by_every_test_is_not_compared() -> None:
    assert rejected_by({"x": judged(MUTATION, "pas", Status.KILLED)}) == {}
    assert rejected_by({"x": judged(MUTATION, "pap", Status.KILLED)}) == {"x": frozenset({"test_gate.py::test_1"})}


# -- hints -----------------------------------------------------------------------------------------------------------


def test_hints_name_words_that_the_solver_never_reads() -> None:
    one = judged(MUTATION, "pa", Status.KILLED)
    test, cell = one.cells[1]
    assert cell.outcome is Outcome.ASSERTION
    told = replace(one, cells=(one.cells[0], (test, replace(cell, message="AssertionError: quorum of signedBuilds"))))
    of = judged_case(told)
    assert [hint.words for hint in hints(of, {"task.md": "unsigned builds"})] == [("quorum",)]
    assert hints(of, {"task.md": "The quorum signs each building at the gate."}) == []
    assert hints(judged_case(judged(MUTATION, "pp")), {"task.md": ""}) == []


def test_words() -> None:
    assert words_of("test_maxRetries[3-None] a_b HTTPError") == {"test", "max", "retries", "none", "httperror"}
