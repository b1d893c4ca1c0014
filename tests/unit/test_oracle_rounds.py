"""Readers: what is wrong with their files is said, all of them are kept, and their agreement is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle_samples import AUDIT, case, judged, judged_case, variant, write

from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.model import Status
from pytest_killmatrix.oracle.agreement import cohens_kappa, compare, doubtful
from pytest_killmatrix.oracle.findings import Level, disputes, findings
from pytest_killmatrix.oracle.model import Judgment, Kind, Reading, Settles, VariantsError
from pytest_killmatrix.oracle.reading import read
from pytest_killmatrix.oracle.rounds import append, ledger_of

GOOD = (
    judged(variant("reference", Kind.REFERENCE), "pp"), judged(variant("starter", Kind.STARTER), "aa", Status.KILLED),
)  # fmt: skip


@pytest.mark.parametrize(("counts", "kappa"), [
    ((20, 5, 10, 15), 0.4),  # both yes, yes/no, no/yes, both no
    ((45, 15, 25, 15), 0.1304), ((25, 35, 5, 35), 0.2593),
    ((10, 0, 0, 10), 1.0), ((0, 10, 10, 0), -1.0), ((5, 5, 5, 5), 0.0),
])  # fmt: skip
def test_kappa(counts: tuple[int, int, int, int], kappa: float) -> None:
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    answers = [pair for pair, count in zip(pairs, counts, strict=True) for _ in range(count)]
    assert cohens_kappa(answers) == pytest.approx(kappa, abs=5e-5)


def test_kappa_is_undefined_where_chance_explains_all() -> None:
    assert cohens_kappa([]) is None
    assert cohens_kappa([(True, True)] * 5) is None


def reading(reader: str, answers: str, *, number: int = 1, text: str = "task", failed: str | None = None) -> Reading:
    """``answers`` has y, n or - for each test; a capital letter is a judgment of medium confidence."""
    judgments = tuple(
        Judgment(f"test_gate.py::test_{index}", letter in "yY", "medium" if letter.isupper() else "high")
        for index, letter in enumerate(answers)
        if letter != "-"
    )
    return Reading(f"{reader}.yaml", "f" * 64, number, reader, text, False, judgments, failed)


def test_readers_are_compared_round_by_round() -> None:
    found = compare([
        reading("a", "yyn-"), reading("b", "yny-"), reading("c", "yyyy"), reading("d", "nnnn", failed="lost its way"),
        reading("a", "yyyy", number=2), reading("a", "yyyy", text="another"),
    ])  # fmt: skip
    assert [(one.number, one.text, len(one.readings)) for one in found] == [
        (1, "task", 3),
        (1, "another", 1),
        (2, "task", 1),
    ]
    first = found[0]
    assert [(pair.one, pair.other, pair.agreement) for pair in first.pairs] == [
        ("a", "b", Ratio(1, 3)), ("a", "c", Ratio(2, 3)), ("b", "c", Ratio(2, 3))
    ]  # fmt: skip
    assert first.disputed == ("test_gate.py::test_1", "test_gate.py::test_2")
    assert first.judged_once == ("test_gate.py::test_3",)


def test_doubts_disputes_and_risks_stand_beside_the_score() -> None:
    first, second = reading("a", "yY"), reading("b", "yn")
    assert [one.test for _, one in doubtful([first, second])] == ["test_gate.py::test_1"]
    of = case(readings=[first, second], risks=["nobody knows"])
    good = [
        judged(variant("reference", Kind.REFERENCE), "pp"),
        judged(variant("starter", Kind.STARTER), "aa", Status.KILLED),
    ]
    found = list(findings(judged_case(*good, of=of), (), ()))
    assert {one.short for one in found} == {"open risks", "open disputes", "judgments without high confidence"}
    assert {one.level for one in found} == {Level.FLAG}


def test_what_was_judged_again_on_the_present_text_is_history() -> None:
    of = case(readings=[reading("a", "yY", text="old"), reading("b", "yn", text="old"), reading("a", "yy", number=2)])
    good = [
        judged(variant("reference", Kind.REFERENCE), "pp"),
        judged(variant("starter", Kind.STARTER), "aa", Status.KILLED),
    ]
    found = list(findings(judged_case(*good, of=of), (), ()))
    assert [(one.level, one.short) for one in found] == [(Level.NOTE, None), (Level.NOTE, None)]


@pytest.mark.parametrize(("outcomes", "rejected"), [("pa", True), ("ap", False)])
def test_a_dispute_is_settled_by_measuring(outcomes: str, rejected: bool) -> None:
    from dataclasses import replace

    one = replace(variant("other", Kind.READING), settles=Settles(1, ("test_gate.py::test_1",)))
    of = case([one], readings=[reading("a", "yy"), reading("b", "yn")])
    (dispute,) = disputes(judged_case(judged(one, outcomes, Status.KILLED), of=of))
    assert dispute.settled == (("other", Kind.READING, rejected),)
    (open_one,) = disputes(judged_case(judged(one, "p-", Status.PENDING), of=of))
    assert open_one.settled == ()  # a test that did not run settles nothing


# -- files -----------------------------------------------------------------------------------------------------------

READER = """\
case: gate
round: 1
reader: a person
text: TEXT
results_seen: false
judgments:
  test_gate.py::test_all: {derivable: true, confidence: high, quote: when a holds}
  test_gate.py::test_c: {derivable: false, confidence: medium, note: not said}
risks: [the task may be read otherwise]
"""


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    return write(tmp_path, audit=AUDIT.replace("chosen_by: somebody\n", "chosen_by: somebody\nrounds: ledger.yaml\n"))


def added(variants: Path, name: str, text: str = READER) -> None:
    file = variants.parent / name
    audit = read(variants, readings=False)
    file.write_text(text.replace("TEXT", audit.cases[0].hashes.task), encoding="utf-8")
    append(ledger_of(variants), file, audit.cases, variants.parent)


def test_rounds_are_appended(variants: Path) -> None:
    added(variants, "a.yaml")
    added(
        variants,
        "b.yaml",
        READER.replace("a person", "another").replace("derivable: false", "derivable: true, quote: b holds"),
    )
    added(variants, "c.yaml", READER.split("judgments")[0] + "failed: gave up half way\n")
    (one,) = read(variants).cases
    assert [reading.reader for reading in one.readings] == ["a person", "another", "a person"]
    assert one.readings[2].failed == "gave up half way"
    assert one.readings[0].risks == ("the task may be read otherwise",)
    before = (variants.parent / "ledger.yaml").read_bytes()
    with pytest.raises(VariantsError, match="in the ledger already"):
        added(variants, "a.yaml")
    assert (variants.parent / "ledger.yaml").read_bytes() == before


@pytest.mark.parametrize(("before", "after", "line", "words"), [
    ("case: gate", "case: gait", 1, "there is no case gait"),
    ("text: TEXT", "text: " + "0" * 64, 4, "is the hash of no version"),
    ("results_seen: false", "results_seen: perhaps", 5, "give true or false"),
    ("reader: a person\n", "", 1, "lacks reader"),
    ("confidence: high", "confidence: sure", 7, "choose one of high, medium, low"),
    (", quote: when a holds", "", 7, "lacks the quotation"),
    ("quote: when a holds", "quote: when c holds", 7, "in no file that the solver receives"),
    ("test_gate.py::test_c", "test_other.py::test_c", 8, "in no file of the grader"),
    ("test_gate.py::test_c", "test_gate.py::test_all", 8, "twice"),
    ("risks: [", "risk: [", 9, "unknown key 'risk'"),
])  # fmt: skip
def test_what_is_wrong_with_a_reader(variants: Path, before: str, after: str, line: int, words: str) -> None:
    with pytest.raises(VariantsError) as caught:
        added(variants, "a.yaml", READER.replace(before, after, 1))
    wanted = [problem for problem in caught.value.problems if words in problem]
    assert wanted, caught.value.problems
    assert wanted[0].startswith(f"a.yaml:{line}: ")
    assert not (variants.parent / "ledger.yaml").exists()


@pytest.mark.parametrize("spoil", ["reader", "entry", "order", "first"])
def test_what_was_appended_may_not_change(variants: Path, spoil: str) -> None:
    for name in ("a.yaml", "b.yaml"):
        added(variants, name, READER.replace("a person", name))
    ledger = variants.parent / "ledger.yaml"
    lines = ledger.read_text().splitlines(keepends=True)
    if spoil == "reader":
        file = variants.parent / "a.yaml"
        file.write_text(file.read_text().replace("medium", "high"))
    elif spoil == "order":
        ledger.write_text("".join(reversed(lines)))
    elif spoil == "first":
        ledger.write_text(lines[1])
    else:
        ledger.write_text(lines[0].replace("a.yaml", "b.yaml") + lines[1])
    with pytest.raises(VariantsError) as caught:
        read(variants)
    assert any(words in problem for problem in caught.value.problems for words in ("taken out", "was changed after"))


def test_an_untouched_reader_file_may_not_be_outside(variants: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("elsewhere") / "a.yaml"
    file.write_text(READER.replace("TEXT", read(variants, readings=False).cases[0].hashes.task))
    with pytest.raises(VariantsError, match="lies outside"):
        append(ledger_of(variants), file, read(variants, readings=False).cases, variants.parent)


def test_a_variants_file_without_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(VariantsError, match="names no ledger"):
        ledger_of(write(tmp_path))
