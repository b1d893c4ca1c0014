"""A variants file: everything that is wrong is said in one line with its number, and what is right is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oracle_samples import AUDIT, FILES, TARGET, write

from pytest_killmatrix.oracle.fetching import fetch, fetch_for_run
from pytest_killmatrix.oracle.model import Case, Kind, VariantsError
from pytest_killmatrix.oracle.reading import read
from pytest_killmatrix.source import SourceFile
from pytest_killmatrix.store.plain import from_plain, to_plain

H = "0" * 64


def problems(path: Path) -> list[str]:
    with pytest.raises(VariantsError) as caught:
        read(path)
    assert all("\n" not in problem for problem in caught.value.problems)
    return caught.value.problems


def test_a_good_file(tmp_path: Path) -> None:
    path = write(tmp_path)
    audit = read(path, tmp_path)
    (case,) = audit.cases
    assert (audit.chosen_by, case.name, case.target, case.version) == ("somebody", "gate", "gate.py", 1)
    assert [variant.kind for variant in case.variants] == [Kind.REFERENCE, Kind.STARTER, Kind.MUTATION, Kind.READING]
    mutation = case.variants[2]
    assert (mutation.original, mutation.text) == ("    return a and b and c\n", "    return a and c\n")
    assert (mutation.line, mutation.citations[0].found_at) == (3, 3)  # the quotation goes over a line end
    source = SourceFile("gate.py", TARGET.encode())
    for variant in case.variants:
        whole = source.splice(variant.start, variant.end, variant.text)
        assert whole in {FILES["reading.py"].encode(), FILES["starter.py"].encode(), TARGET.encode(),
                         TARGET.replace("a and b and c", "a and c").encode()}  # fmt: skip
    assert fetch(path, tmp_path) == audit  # the same from a process of its own
    assert from_plain(Case, json.loads(json.dumps(to_plain(case)))) == case  # and from the sidecar


@pytest.mark.parametrize(("before", "after", "line", "words"), [
    ("chosen_by: somebody\n", "", 1, ["lacks chosen_by"]),
    ("chosen_by: somebody", "chosen_by:", 1, ["chosen_by is empty"]),
    ("    version: 1\n", "    version: one\n", 4, ["version is 'one'", "whole number"]),
    ("    version: 1\n", "    version: 1\n    verson: 1\n", 5, ["unknown key 'verson'", "known are"]),
    ("    version: 1\n", "    version: 1\n    version: 1\n", 5, ["'version' twice"]),
    ("[task.md]", "[tusk.md]", 5, ["tusk.md does not exist", "relative to variants.yaml"]),
    ("[task.md]", "[]", 5, ["materialized is empty"]),
    ("[task.md]", "[task.md, task.md]", 5, ["task.md is there twice"]),
    ("[task.md]", "[{file: task.md, as: ../task.md}]", 5, ["lies outside"]),
    ("[task.md]", "[.]", 5, ["is a directory"]),
    ("target: gate.py", "target: task.md", 6, ["no Python file"]),
    ("target: gate.py", "target: none.py", 6, ["none.py does not exist"]),
    ("[test_gate.py]", "[none.py]", 7, ["none.py does not exist"]),
    ("[test_gate.py]", "[gate.py]", 7, ["is the target"]),
    ("[test_gate.py]", "[test_gate.py]\n    scoring: best", 8, ["choose one of all-or-nothing, share"]),
    ("{name: reference, kind: reference}", "{name: reference, kind: noop}", 9,
     ["needs one variant of the kind reference"]),
    ("{name: reference, kind: reference}", "{name: reference, kind: reference, file: none.py}", 9,
     ["the reference: none.py does not exist"]),
    ("{name: reference, kind: reference}", "{name: reference, kind: reference, file: task.md}", 9,
     ["task.md:3: syntax error"]),
    ("{name: reference, kind: reference}", "{name: reference, kind: reference}\n"
     "      - {name: noop, kind: noop, file: reading.py}", 10, ["a noop is the reference, byte for byte"]),
    ("kind: starter", "kind: begin", 10, ["kind is 'begin'", "alternative-reading"]),
    ("kind: starter, ", "", 10, ["lacks kind"]),
    ("name: starter, kind", "name: reference, kind", 10, ["another of that name"]),
    ("why: begins here, ", "", 10, ["starter lacks why"]),
    ("file: starter.py", "file: stater.py", 10, ["stater.py does not exist"]),
    (", file: starter.py", "", 10, ["lacks its text: give file, diff or replace"]),
    ("file: starter.py", "file: starter.py, diff: x", 10, ["file and diff; give one"]),
    ("file: starter.py", "file: gate.py", 10, ["is the reference"]),
    ("file: starter.py", "file: reading.py", 17, ["same program as variant starter"]),
    ("definition: gate", "definition: gat", 14, ["no definition gat", "it has: gate, Box, Box.size"]),
    ('find: "a and b and c"', 'find: "x"', 14, ["'x' is not in gate"]),
    ('find: "a and b and c"', 'find: "and"', 14, ["stands 2 times in gate"]),
    ("definition: gate, ", "", 14, ["lacks definition"]),
    ("quote: when a holds and b holds", "quote: when c holds and b holds", 16, ["is not in task.md"]),
    ("quote: when a holds and b holds", "quote: holds", 16, ["too short"]),
    ("{file: task.md, quote: when a holds and b holds}", "{file: secret.md, quote: c must hold too}", 16,
     ["cites secret.md", "the solver does not receive", "materialized are: task.md"]),
    ("{file: task.md, quote: when a holds and b holds}", "{file: test_gate.py, quote: def test_all}", 16,
     ["does not receive"]),
    ("{file: task.md, quote", "{file: other.md, quote", 16, ["which does not exist"]),
    ("why: c is not asked for", "why: [c]", 17, ["why is a list"]),
    ("file: reading.py}", "file: reading.py, history: [{version: 1, kind: mutation, source: me}]}", 17,
     ["last history entry says mutation"]),
    ("file: reading.py}", "file: reading.py, history: [{version: 2, kind: alternative-reading, source: me}]}", 4,
     ["history speaks of version 2"]),
    ("file: reading.py}", "file: reading.py, history: [{version: 1, kind: mutation, source: me}, "
     "{version: 1, kind: alternative-reading, source: me}]}", 17, ["lacks repaired"]),
    ("file: reading.py}", "file: reading.py, history: [{version: 1, kind: alternative-reading, source: me, "
     "repaired: weather}]}", 17, ["repaired is 'weather'", "wording, grader, reference, fixture"]),
    ("kind: mutation\n", "kind: mutation\n        settles: {round: 1, tests: [x]}\n", 13, ["settles a dispute"]),
    ("    version: 1\n", "    version: 2\n", 4, ["lacks the record of version 1"]),
    ("    version: 1\n", "    version: 1\n    versions: [{version: 2}]\n", 5, ["is at version 1; raise its version"]),
    ("    version: 1\n", "    version: 2\n    versions: [{version: 1}]\n", 5, ["lacks hashes"]),
    ("    version: 1\n", "    version: 1\n    versions: [{version: 1, hashes: {task: x, grader: x, fixtures: x, "
     "reference: x}}]\n", 5, ["'x' is no SHA-256"]),
    ("chosen_by: somebody\n", "chosen_by: somebody\nrounds: none.yaml\n", 2, ["none.yaml does not exist", "--append"]),
])  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, before: str, after: str, line: int, words: list[str]
) -> None:
    assert before in AUDIT
    found = problems(write(tmp_path, audit=AUDIT.replace(before, after, 1)))
    wanted = [problem for problem in found if all(word in problem for word in words)]
    assert wanted, found
    assert wanted[0].startswith(f"variants.yaml:{line}: "), wanted


@pytest.mark.parametrize(("text", "words"), [
    ("", "is empty"), ("a: [", "is no YAML"), ("- x\n", "give keys"), ("chosen_by: me\ncases: []\n", "cases is empty"),
    ("chosen_by: me\ncases: [3]\n", "a case is a single value"),
    ("cases: &a [*a]\nchosen_by: me\n", "a case is a list"),
])  # fmt: skip
def test_no_variants_file(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in problem for problem in problems(write(tmp_path, audit=text)))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    assert problems(path) == ["variants.yaml: is no UTF-8 text"]


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    audit = (
        AUDIT.replace("kind: starter", "kind: x")
        .replace("quote: when", "quote: whenever")
        .replace("[task.md]", "[task.md, y]")
    )
    assert [problem.split(":")[1] for problem in problems(write(tmp_path, audit=audit))] == ["5", "10", "16"]


def test_a_target_that_is_no_program(tmp_path: Path) -> None:
    path = write(tmp_path, {**FILES, "gate.py": "def gate(:\n"})
    assert any("gate.py:1: syntax error" in problem for problem in problems(path))


def test_the_reference_may_be_elsewhere(tmp_path: Path) -> None:
    audit = AUDIT.replace("kind: reference}", "kind: reference, file: solution.py}")
    path = write(tmp_path, {**FILES, "solution.py": TARGET, "gate.py": "def gate(:"}, audit)
    (case,) = read(path).cases
    assert not case.stands
    (same,) = read(write(tmp_path / "same", {**FILES, "solution.py": TARGET}, audit)).cases
    assert same.stands
    assert same.variants == case.variants
    assert same.hashes == case.hashes
    audited, problem = fetch_for_run(path, tmp_path)
    assert audited is None
    assert problem is not None
    assert "what stands in gate.py is not the reference" in problem


def test_comments_make_no_variant(tmp_path: Path) -> None:
    path = write(tmp_path, {**FILES, "starter.py": "# the same\n" + TARGET})
    assert any("differs from the reference in comments or layout only" in problem for problem in problems(path))


def test_a_variant_that_does_not_compile_is_no_error_of_the_file(tmp_path: Path) -> None:
    (case,) = read(write(tmp_path, {**FILES, "starter.py": "def gate(:\n"})).cases
    assert case.variants[1].invalid is not None
    assert case.variants[1].invalid.startswith("does not compile")


def test_the_solver_may_receive_a_file_under_another_name(tmp_path: Path) -> None:
    audit = AUDIT.replace("[task.md]", "[{file: task.md, as: docs/README.md}]")
    (case,) = read(write(tmp_path, audit=audit)).cases
    assert case.variants[2].citations[0].file == "docs/README.md"
    (same,) = read(write(tmp_path, audit=audit.replace("{file: task.md, quote", "{file: docs/README.md, quote"))).cases
    assert same.variants == case.variants
    (other,) = read(write(tmp_path)).cases
    assert other.hashes.task != case.hashes.task  # names are part of what is received


# -- versions --------------------------------------------------------------------------------------------------------


def recorded(tmp_path: Path, **files: str) -> tuple[str, str]:
    """The record of version 1, and an audit of version 2 that has it; files by name, with _ for the dot."""
    from pytest_killmatrix.oracle.recording import entry_of

    (case,) = read(write(tmp_path)).cases
    entry = "".join(f"      {line}\n" for line in entry_of(case, None).splitlines())
    audit = AUDIT.replace("    version: 1\n", f"    version: 2\n    versions:\n{entry}", 1)
    write(
        tmp_path, {**FILES, **{name.replace("_md", ".md").replace("_py", ".py"): text for name, text in files.items()}}
    )
    return entry, audit


REWORDED = FILES["task.md"] + "It must not pass when c does not hold.\n"
RECLASSIFIED = """\
      - name: reading
        kind: mutation
        why: c is not asked for
        file: reading.py
        citations: [{file: task.md, quote: It must not pass when c does not hold.}]
        history:
          - {version: 1, kind: alternative-reading, source: me}
          - {version: 2, kind: mutation, source: me, repaired: [wording]}
"""
FIRST = "          - {version: 1, kind: alternative-reading, source: me}\n"
READING = "      - {name: reading, kind: alternative-reading, why: c is not asked for, file: reading.py}\n"


def test_a_later_version_re_classifies_with_history(tmp_path: Path) -> None:
    _, audit = recorded(tmp_path, task_md=REWORDED)
    (case,) = read(write(tmp_path, {"task.md": REWORDED}, audit.replace(READING, RECLASSIFIED))).cases
    assert [entry.kind for entry in case.variants[3].history] == [Kind.READING, Kind.MUTATION]
    assert case.recorded[0].hashes.grader == case.hashes.grader
    assert from_plain(Case, json.loads(json.dumps(to_plain(case)))) == case


@pytest.mark.parametrize(("files", "reclassified", "words"), [
    ({"task_md": REWORDED}, READING, "changes wording, and its history says repaired: nothing"),
    ({}, RECLASSIFIED.replace("It must not pass when c does not hold.", "when a holds"),
     "says that wording was repaired"),
    ({"task_md": REWORDED, "test_gate_py": FILES["test_gate.py"] + "# more\n"}, RECLASSIFIED,
     "changes grader, and its history says repaired: wording"),
    ({"task_md": REWORDED}, RECLASSIFIED.replace("[wording]", "[wording, grader]"), "says that grader was repaired"),
    ({"task_md": REWORDED}, RECLASSIFIED.replace(FIRST, ""),
     "history is appended to, never rewritten"),
    ({"task_md": REWORDED}, RECLASSIFIED.replace("name: reading", "name: renamed"),
     "was alternative-reading in version 1"),
    ({"task_md": REWORDED}, RECLASSIFIED.replace(FIRST, FIRST.replace("alternative-reading", "mutation")),
     "was recorded as alternative-reading"),
])  # fmt: skip
def test_history_that_does_not_hold(tmp_path: Path, files: dict[str, str], reclassified: str, words: str) -> None:
    _, audit = recorded(tmp_path, **files)
    (tmp_path / "variants.yaml").write_text(audit.replace(READING, reclassified), encoding="utf-8")
    found = problems(tmp_path / "variants.yaml")
    assert any(words in problem for problem in found), found


def test_what_is_recorded_of_the_present_version_must_still_hold(tmp_path: Path) -> None:
    entry, _ = recorded(tmp_path)
    audit = AUDIT.replace("    version: 1\n", f"    version: 1\n    versions:\n{entry}", 1)
    assert read(write(tmp_path, audit=audit)).cases
    found = problems(write(tmp_path, {"task.md": REWORDED, "starter.py": "def gate(*_): pass\n"}, audit))
    assert any("version 1 is recorded already, and its wording changed since" in problem for problem in found)
    assert any("variant starter is not the one that version 1 recorded" in problem for problem in found)
