"""Reports in files: what each says of the same made-up run, and that bad input stays text."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness_samples import store_runs
from store_samples import Plot, assertion, make_info, make_mutant, realistic

from pytest_killmatrix.model import Cause, CauseKind, Cell, Outcome, Sample, Status
from pytest_killmatrix.report import github, markdown, packed
from pytest_killmatrix.report.delta import render as render_delta
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.files import FORMATS, write_report
from pytest_killmatrix.report.source_diff import diff_lines
from pytest_killmatrix.report.terminal import style_of
from pytest_killmatrix.store.harness import harness_runs
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

EVIL = "</script><b>|`*\u2028\x1b[31m\ud800"
DELTA: dict[str, Any] = {
    "baseline": "v1", "baseline_commit": "c0ffee", "scope": "changed", "scope_depends_on_tests": False,
    "verdict": "gained", "gained_by_assertion": 1, "headroom": 9,
    "gained": [
        {"mutant": "src/a.py::f::swap_op::0000000000", "by": "assertion", "origin": "new", "killed_by": ["t.py::n"]},
    ],
    "lost": [{"mutant": "k2", "by": "assertion", "was_killed_by": ["t.py::o"]}],
    "upgraded": ["k3"], "downgraded": ["k4"], "unconfirmed": [{"mutant": "k5", "why": "timeout"}], "undecided": ["k6"],
    "kept": 3, "still_alive": 8,
    "by_test": [{"nodeid": "t.py::n", "change": "added", "gained": 1, "unique": 1, "verdict": "nothing left to gain"}],
    "tests": {"added": ["t.py::n"], "removed": [], "changed": [], "renamed": [], "unchanged": 1, "excluded": []},
    "score_old": {"numerator": 1, "denominator": 12, "value": 0.083},
    "score_new": {"numerator": 2, "denominator": 12, "value": 0.167}, "score_ref": None,
}  # fmt: skip


def with_delta(path: Path) -> Path:
    """The sidecar with a delta in it, as a run with a baseline leaves one."""
    import sqlite3

    connection = sqlite3.connect(path)
    if "delta" not in {row[1] for row in connection.execute("PRAGMA table_info(runs)")}:
        connection.execute("ALTER TABLE runs ADD COLUMN delta TEXT")
    connection.execute("UPDATE runs SET delta = ?", (json.dumps(DELTA),))
    connection.commit()
    connection.close()
    return path


NOTHING = {"verdict": "gained nothing", "gained_by_assertion": 0, "gained": [], "headroom": 2}
HEADLINES = {
    "gained nothing": (NOTHING, "no assertion of a new test notices one"),
    "nothing to gain": ({**NOTHING, "verdict": "nothing to gain", "headroom": 0}, "detects every mutant in scope"),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_the_delta_says_its_headline_whole_on_a_narrow_screen(name: str) -> None:
    changed, words = HEADLINES[name]
    lines = [line for line, _ in render_delta({**DELTA, **changed}, {}, style_of(80, 0, ascii=False), quiet=True)]
    assert words in " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80


def test_a_renamed_test_is_not_said_to_notice_nothing() -> None:
    share = {"nodeid": "t.py::n", "change": "renamed", "gained": 0, "unique": 0, "verdict": "noticed nothing"}
    tests = {**DELTA["tests"], "added": [], "renamed": [{"old": "t.py::o", "new": "t.py::n"}]}
    changed = {**DELTA, **NOTHING, "by_test": [share], "tests": tests}
    screen = "\n".join(line for line, _ in render_delta(changed, {}, style_of(80, 0, ascii=False), quiet=False))
    for text in (screen, markdown.delta_block(changed, {})):
        assert "renamed: the old suite has it too" in text
        assert "noticed nothing" not in text


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with Reader(realistic(tmp_path_factory.mktemp("reports") / "a.sqlite")) as reader:
        yield reader


def small(path: Path, **changes: Any) -> Path:
    """Two mutants of a file whose text is kept, one killed by two tests, one survived for a reason that is known."""
    text = "def f(a, b):\n    if a < b:\n        return '😀', a + b\n"
    with Sidecar.open(path) as sidecar:
        run = sidecar.begin_run(make_info(**changes))
        plot = Plot(3)
        sidecar.add_tests(run, plot.tests)
        sidecar.add_file(run, "src/a.py", "0" * 64, text)
        place = {"path": "src/a.py", "line": 3, "column": 20, "end_column": 25}
        sidecar.add_mutants(run, [
            make_mutant(0, **place),
            make_mutant(1, path="src/a.py", line=2, column=7, end_column=12, original="a < b", replacement="a <= b"),
        ])  # fmt: skip
        sidecar.add_reach(run, 0, range(3))
        sidecar.add_reach(run, 1, range(2))
        for cell in (assertion(0, 0), assertion(0, 2, outcome=Outcome.EXCEPTION, exception="KeyError", message="'x'"),
                     Cell(0, 1, Outcome.PASSED), Cell(1, 0, Outcome.PASSED), Cell(1, 1, Outcome.PASSED)):  # fmt: skip
            sidecar.add_cell(run, cell)
        sidecar.set_status(run, 0, Status.KILLED)
        sidecar.set_status(run, 1, Status.SURVIVED)
        sample = Sample("a=1, b=2", "True", "True")
        sidecar.set_cause(run, 1, Cause(CauseKind.NOT_INFECTED, 2, 0, "a == b", (sample,)))
        sidecar.finish_run(run, make_info(**changes))
    return path


def made(name: str, reader: Reader) -> str:
    return "".join(FORMATS[name].chunks(reader))


# -- mutation-testing-elements -------------------------------------------------------------------------------------


def check_stryker(document: dict[str, Any]) -> None:
    """What the published schema (version 2) asks for, and what a viewer takes for granted."""
    statuses = {
        "Killed", "Survived", "NoCoverage", "CompileError", "RuntimeError", "Timeout", "Ignored", "Pending",
    }  # fmt: skip
    assert {"schemaVersion", "thresholds", "files"} <= document.keys()
    assert document["schemaVersion"].startswith("2")
    known = [test["id"] for file in document["testFiles"].values() for test in file["tests"]]
    assert len(known) == len(set(known))
    for file in document["files"].values():
        assert isinstance(file["source"], str)
        assert file["language"] == "python"
        keys = [mutant["id"] for mutant in file["mutants"]]
        assert len(keys) == len(set(keys))
        for mutant in file["mutants"]:
            assert mutant["status"] in statuses
            assert all(place[name] >= 1 for place in mutant["location"].values() for name in ("line", "column"))
            assert set(mutant["killedBy"]) <= set(mutant["coveredBy"]) <= set(known)
            assert mutant["testsCompleted"] <= len(mutant["coveredBy"])
            assert isinstance(mutant.get("statusReason", ""), str)


def test_stryker(tmp_path: Path, run: Reader) -> None:
    check_stryker(json.loads(made("stryker", run)))
    with Reader(small(tmp_path / "b.sqlite")) as reader:
        document = json.loads(made("stryker", reader))
    check_stryker(document)
    killed, survived = document["files"]["src/a.py"]["mutants"]
    assert killed["killedBy"] == ["tests/test_words.py::test_0", "tests/test_words.py::test_2"]
    assert killed["coveredBy"] == [f"tests/test_words.py::test_{n}" for n in range(3)]
    assert killed["testsCompleted"] == 3
    assert "test_2: KeyError: 'x'" in killed["statusReason"]
    # JavaScript counts the emoji as two
    assert killed["location"] == {"start": {"line": 3, "column": 22}, "end": {"line": 3, "column": 27}}
    assert "no test infects it" in survived["statusReason"]
    assert document["files"]["src/a.py"]["source"].startswith("def f")


@pytest.mark.skipif("KILLMATRIX_STRYKER_SCHEMA" not in os.environ, reason="names no copy of the published schema")
def test_stryker_against_the_published_schema(run: Reader) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(os.environ["KILLMATRIX_STRYKER_SCHEMA"]).read_text())
    jsonschema.validate(json.loads(made("stryker", run)), schema)


# -- CSV, Markdown, HTML -------------------------------------------------------------------------------------------


def test_csv(tmp_path: Path, run: Reader) -> None:
    rows = list(csv.DictReader(io.StringIO(made("csv", run))))
    assert len({row["mutant"] for row in rows}) == sum(1 for _ in run.mutants(cells=False))
    assert sum(bool(row["test"]) for row in rows) == run.cell_count()
    with Reader(small(tmp_path / "b.sqlite")) as reader:
        rows = list(csv.DictReader(io.StringIO(made("csv", reader))))
    assert [row["outcome"] for row in rows] == ["assertion", "passed", "exception", "passed", "passed"]


def test_markdown(tmp_path: Path, run: Reader) -> None:
    text = made("markdown", run)
    assert "| **assertion score** | 93.7% | 237 of 253 |" in text
    assert "## Survived (16)" in text
    with Reader(small(tmp_path / "b.sqlite")) as reader:
        text = made("markdown", reader)
    assert "2 tests reach it, none has a == b" in text


@pytest.mark.parametrize("words", [EVIL, "`", "``x``", "a|b", "# head", "[x](y)"])
def test_in_markdown_nothing_of_the_users_is_markup(words: str) -> None:
    shown = markdown.text(words)
    assert "\n" not in shown
    assert re.search(r"(?<!\\)[<>|`*#\[\]]", shown) is None
    code = markdown.code(words)
    assert re.search(r"(?<!\\)\|", code) is None
    ticks = re.match(r"`+", code)
    assert ticks is not None
    assert code.count(ticks[0]) >= 2


def unpacked(page: str, name: str) -> bytes:
    found = re.search(rf'<script type="text/plain" id="{name}">\n(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1]))


def unpacked_cells(data: bytes, mutants: int) -> list[tuple[int, int, int]]:
    """(mutant, test, outcome), as ``page/data.js`` reads them."""
    at, cells = 0, []

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    for mutant in range(mutants):
        test = 0
        for _ in range(number()):
            test += number()
            code = data[at]
            at += 1
            cells.append((mutant, test, code & 7))
            if code >> packed.DETAILED:
                number(), number(), number()
    assert at == len(data)
    return cells


def test_html_holds_every_cell(tmp_path: Path, run: Reader) -> None:
    for path in (run.path, small(tmp_path / "b.sqlite")):
        with Reader(path) as reader:
            page = made("html", reader)
            facts = json.loads(unpacked(page, "data"))
            rows = list(reader.mutants())
            cells = unpacked_cells(unpacked(page, "cells"), len(rows))
            codes = list(Outcome)
            assert [(m, t, codes[o]) for m, t, o in cells] == [
                (c.mutant, c.test, c.outcome) for r in rows for c in r.cells
            ]
            assert facts["mutants"]["key"] == [row.mutant.key for row in rows]
            assert facts["score"]["assertion"]["numerator"] == reader.score().assertion.numerator


def test_html_asks_for_nothing(run: Reader) -> None:
    page = made("html", run)
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*", page) == []
    assert "http://" not in page
    assert "https://" not in page
    assert "innerHTML" not in page


def test_nothing_of_the_users_leaves_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    plot = Plot(3)
    plot.tests[0].nodeid = f"tests/t.py::test[{EVIL}]"
    plot.add(Status.SURVIVED, original=EVIL, replacement=EVIL + "x", path=f"src/{EVIL}.py", definition=EVIL)
    plot.write(path, make_info(notes=[EVIL]))
    with Reader(path) as reader:
        for name in FORMATS:
            text = made(name, reader)
            text.encode()  # a lone surrogate was spelled before it came here
            if name in ("html", "markdown"):
                outside = re.sub(r"(`+).*?\1", "", text)  # in Markdown's code everything is text
                assert re.search(r"(?<!\\)<b>", outside) is None
                assert "\x1b" not in text
        assert "</script><b>" not in made("html", reader)
        json.loads(made("stryker", reader))
        assert all("\n" not in line for line in github.annotate(reader, {}))


# -- GitHub --------------------------------------------------------------------------------------------------------


def test_annotations_are_ten_and_say_how_many_more(run: Reader) -> None:
    changed = {"src/tables.py": frozenset({103, 9}), "src/words.py": frozenset({27})}
    lines = list(github.annotate(run, changed, "pkg/"))
    assert len(lines) == 11
    assert lines[0].startswith("::warning file=pkg/src/tables.py,line=9,endLine=9,title=Mutant survived (assignment)::")
    assert {re.search(r"line=(\d+)", line)[1] for line in lines[:3]} == {"9", "103", "27"}  # type: ignore[index]
    assert (
        lines[-1] == "::notice title=Kill matrix::6 more survivors, 0 of them on changed lines: see the job's summary"
    )


def test_escapes_of_workflow_commands() -> None:
    assert github._property("a:b,c%\n") == "a%3Ab%2Cc%25%0A"


def test_the_lines_of_a_diff() -> None:
    diff = (
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3 +3,2 @@ def f():\n+a\n+b\n@@ -9,2 +10,0 @@\n"
        "--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n--- /dev/null\n+++ b/with space.py\t\n@@ -0,0 +1 @@\n"
    )
    assert github.parse_diff(diff) == {"x.py": frozenset({3, 4}), "with space.py": frozenset({1})}


def test_changed_lines_of_a_repository(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    project = tmp_path / "project"
    project.mkdir()
    (project / "é.py").write_text("1\n2\n3\n")
    (tmp_path / "outside.py").write_text("1\n")
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "first")
    git("checkout", "-b", "topic")
    (project / "é.py").write_text("1\nchanged\n3\nadded\n")
    (tmp_path / "outside.py").write_text("2\n")
    git("commit", "-am", "second")
    git("checkout", "main")
    (project / "é.py").write_text("other\n2\n3\n")
    git("commit", "-am", "of others")  # what came to main since is no change of ours
    git("checkout", "topic")
    assert github.changed_lines(project, "main") == {"é.py": frozenset({2, 4})}
    assert github.changed_lines(project, "no-such-ref") == {}


def test_no_repository_no_changed_lines(tmp_path: Path) -> None:
    assert github.changed_lines(tmp_path, "main") == {}


@pytest.mark.parametrize(
    ("environ", "baseline", "base"),
    [({}, None, None), ({"GITHUB_BASE_REF": "main"}, None, "origin/main"), ({"GITHUB_BASE_REF": "main"}, "v1", "v1"),
     ({}, "merge-base:main", "main"), ({"GITHUB_BASE_REF": ""}, None, None)],
)  # fmt: skip
def test_what_changes_are_relative_to(environ: dict[str, str], baseline: str | None, base: str | None) -> None:
    assert github.base_of(environ, baseline) == base


def test_a_summary_that_is_too_long_is_cut(run: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "SUMMARY_BYTES", 600)
    place = tmp_path / "summary.md"
    place.write_text("before\n")
    github.write_step_summary(run, place)
    text = place.read_text()
    assert text.startswith("before\n<!-- pytest-killmatrix -->")
    assert len(text) < 800
    assert text.rstrip().endswith("(`killmatrix report`)")


# -- the delta -----------------------------------------------------------------------------------------------------


def test_every_report_shows_a_delta(tmp_path: Path) -> None:
    path = with_delta(small(tmp_path / "a.sqlite"))
    with Reader(path) as reader:
        text = made("markdown", reader)
        assert "### Mutants: what the tests gained since `v1`" in text
        assert "**1 mutant gained by assertion**, of 9 that the old suite misses." in text
        assert "**1 mutant lost**" in text
        facts = json.loads(unpacked(made("html", reader), "data"))
        assert facts["delta"] == DELTA
        assert facts["delta_words"][0].startswith("gained: 1 mutant")


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_the_delta_on_a_terminal(verbosity: int) -> None:
    lines = [line for line, _ in render_delta(DELTA, {}, style_of(80, verbosity, False), verbosity < 0)]
    assert lines[0].split()[:6] == ["gained", "by", "assertion", "1", "of", "9"]
    assert all(len(line) <= 80 for line in lines)
    assert (verbosity < 0) == (len(lines) == 2)


# -- harness runs --------------------------------------------------------------------------------------------------


def in_words(page: str) -> list[str]:
    return [run["headline"] for run in json.loads(unpacked(page, "data"))["harness"]]


HARNESS_SCORES = [
    "score 50%: 1 of 2 mutants killed, killed / (killed + survived), 95% Wilson interval 9% to 91%; 1 of the kills "
    "unconfirmed",
    "score withheld: the noop control did not come out equivalent",
    "not scored yet: killmatrix harness score does it",
]


def test_harness_runs_stand_beside_the_run_of_code(tmp_path: Path) -> None:
    path = store_runs(small(tmp_path / "a.sqlite"))
    with Reader(path) as reader:
        page, document = made("html", reader), json.loads(made("json", reader))
    assert in_words(page) == HARNESS_SCORES
    assert len(json.loads(unpacked(page, "data"))["mutants"]["key"]) == len(document["mutants"]) == 2
    assert document["harness"] == json.loads(json.dumps([run.as_dict() for run in harness_runs(path)]))
    assert [run["score"]["value"] for run in document["harness"]] == [0.5, None, None]
    assert document["score"]["assertion"]["denominator"] == 2  # of mutants of code alone


def test_without_harness_runs_the_page_has_none(run: Reader) -> None:
    assert in_words(made("html", run)) == []


def test_reports_on_harness_runs_alone(tmp_path: Path) -> None:
    words = EVIL.removesuffix("\ud800")  # what people write is UTF-8
    path = store_runs(tmp_path / "a.sqlite", words)
    page = "".join(FORMATS["html"].harness_chunks(path))
    assert "</script><b>" not in page
    assert in_words(page) == HARNESS_SCORES
    facts = json.loads(unpacked(page, "data"))
    assert facts["run"] is None
    assert facts["harness"][0]["mutants"][0]["drops"] == words
    assert unpacked_cells(unpacked(page, "cells"), len(facts["mutants"]["key"])) == []
    document = json.loads("".join(FORMATS["json"].harness_chunks(path)))
    with Reader(small(tmp_path / "b.sqlite")) as reader:
        assert list(document) == list(json.loads(made("json", reader)))
    assert (document["run"], document["mutants"], document["score"], len(document["harness"])) == (None, [], None, 3)


# -- diffs and files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "replacement", "place", "expected"),
    [
        ("a < b", "a <= b", (2, 7, 2, 12), ["-    if a < b:", "+    if a <= b:"]),
        ("return a", "pass", (3, 8, 3, 16), ["-        return a", "+        pass"]),
        ("if a < b:\n        return a", "pass", (2, 4, 3, 16), ["-    if a < b:", "-        return a", "+    pass"]),
        ("    return b\n", "", (4, 0, 5, 0), ["-    return b"]),
    ],
)
def test_a_diff(original: str, replacement: str, place: tuple[int, int, int, int], expected: list[str]) -> None:
    text = "def f(a, b):\n    if a < b:\n        return a\n    return b\n"
    line, column, end_line, end_column = place
    mutant = make_mutant(original=original, replacement=replacement, line=line, column=column, end_line=end_line,
                         end_column=end_column)  # fmt: skip
    lines = diff_lines(mutant, text)
    assert [one.sign + one.text for one in lines if one.sign != " "] == expected
    whole = [one.text for one in lines if one.sign != "+"]
    assert whole == text.split("\n")[: len(whole)]


@pytest.mark.parametrize("text", [None, "", "something else\n" * 40])
def test_a_diff_without_its_file(text: str | None) -> None:
    lines = diff_lines(make_mutant(line=12), text)
    assert [(one.sign, one.text) for one in lines] == [("-", "a + b"), ("+", "a - b")]


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_file_is_replaced_only_if_it_is_a_report(tmp_path: Path, run: Reader, name: str) -> None:
    path = tmp_path / "report"
    write_report(run, path, FORMATS[name], "--x")
    first = path.read_text()
    assert first.startswith(FORMATS[name].begins)
    write_report(run, path, FORMATS[name], "--x")
    assert path.read_text() == first
    path.write_text("my notes\n")
    with pytest.raises(ReportError, match="no report of ours, not touched; give another place with --x=PATH"):
        write_report(run, path, FORMATS[name], "--x")
    assert path.read_text() == "my notes\n"
    assert [one.name for one in tmp_path.iterdir() if ".tmp-" in one.name] == []
