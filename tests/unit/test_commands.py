"""The command killmatrix: what each verb answers, and one clear line where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness_samples import store_runs
from store_samples import realistic

from pytest_killmatrix import cli
from pytest_killmatrix import open as open_results

KEY = "src/words.py::f::swap_op::0000000000"
VERBS = (
    ["report"], ["report", "-q"], ["report", "-v"], ["report", "--json"], ["show", KEY], ["show", KEY, "--json"],
    ["test", "test_1"], ["test", "test_1", "--json"], ["redundant"], ["redundant", "--json"], ["redundant", "-v"],
    ["runs"], ["runs", "--json"], ["export", "--format", "csv"], ["export", "--format", "json"],
    ["export", "--format", "stryker"], ["export", "--format", "html"], ["export", "--format", "markdown"],
    ["sql", "SELECT count(*) FROM cells"],
)  # fmt: skip


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return realistic(tmp_path_factory.mktemp("commands") / "a.sqlite")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit status, standard output, standard error)."""
    try:
        status = cli.main(list(words))
    except SystemExit as error:
        status = int(error.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_answers_and_writes_nothing(
    sidecar: Path, capsys: pytest.CaptureFixture[str], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    before = sidecar.read_bytes()
    status, out, err = run(capsys, *words, "--db", str(sidecar))
    assert (status, err) == (0, "")
    assert out
    assert "\x1b" not in out  # no colour in a pipe
    if "--json" in words:
        json.loads(out)
    elif words[0] in ("report", "show", "test", "redundant"):
        wide = [line for line in out.splitlines() if len(line) > 80 and not line.startswith("sidecar")]
        assert wide == []
    assert sidecar.read_bytes() == before
    assert [path.name for path in sidecar.parent.iterdir()] == [sidecar.name]


def test_it_works_where_nothing_can_be_written(sidecar: Path, tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir()
    copy = folder / ".killmatrix.sqlite"
    copy.write_bytes(sidecar.read_bytes())
    copy.chmod(0o444)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest_killmatrix.cli", "report", "-q"], cwd=folder, capture_output=True, text=True
        )
    finally:
        folder.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("assertion score")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "nonsense"], "no mutant 'nonsense' among the "),
        (["show", "0000000fff"], "did you mean"),
        (["test", "test_777"], "did you mean tests/test_words.py::test_"),
        (["report", "--run", "7"], "has no run 7; make one with pytest --kill-matrix"),
        (["sql", "DELETE FROM cells"], "only reading is allowed"),
        (["sql", "PRAGMA journal_mode = WAL"], "only reading is allowed"),
        (["sql", "ATTACH 'x.sqlite' AS x"], "only reading is allowed"),
        (["sql", "SELECT load_extension('x')"], "SQLite says: "),
        (["sql", "SELEC"], 'SQLite says: near "SELEC": syntax error'),
        (["sql", "SELECT 1; SELECT 2"], "SQLite says: "),
        (["export", "--format", "csv", "-o", "/nonexistent/x.csv"], "no directory /nonexistent"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    sidecar: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    status, out, err = run(capsys, *words, "--db", str(sidecar))
    assert status == 4
    assert out == ""
    assert err.startswith(f"killmatrix {words[0]}: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
@pytest.mark.parametrize("words", [["report"], ["sql", "SELECT 1"]])
def test_what_is_no_sidecar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: list[str]
) -> None:
    path = tmp_path / "x.sqlite"
    if content is not None:
        path.write_bytes(content)
    status, out, err = run(capsys, *words, "--db", str(path))
    assert (status, out, err.count("\n")) == (4, "", 1)
    assert str(path) in err
    assert (path.read_bytes() if content is not None else None) == content


def test_another_programs_database_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (secret)")
    connection.commit()
    connection.close()
    assert run(capsys, "sql", "SELECT * FROM mine", "--db", str(path))[:2] == (4, "")


def test_help_teaches(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert "which tests can go?" in out
    assert max(map(len, out.splitlines())) <= 80
    for name, summary in cli.COMMANDS.items():
        assert summary.split()[0] in out
        status, page, _ = run(capsys, name, "--help")
        assert status == 0
        assert "usage: killmatrix " + name in page


@pytest.mark.parametrize("words", [["repot"], [], ["report", "--nope"], ["export"], ["export", "--format", "pdf"]])
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (4, "")
    assert "usage: killmatrix" in err


def test_colour_where_it_is_asked_for(
    sidecar: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = run(capsys, "show", KEY, "--color", "always", "--db", str(sidecar))
    assert "\x1b[31m" in out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(capsys, "show", KEY, "--db", str(sidecar))[1]


def test_the_answers_agree_with_the_report(sidecar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(run(capsys, "export", "--format", "json", "--db", str(sidecar))[1])
    mutant = next(one for one in whole["mutants"] if one["key"] == KEY)
    assert json.loads(run(capsys, "show", KEY, "--json", "--db", str(sidecar))[1]) == mutant
    assert json.loads(run(capsys, "report", "--json", "--db", str(sidecar))[1])["score"] == whole["score"]
    test = json.loads(run(capsys, "test", "test_1", "--json", "--db", str(sidecar))[1])[0]
    kills = {one["key"] for one in whole["mutants"] if test["nodeid"] in one["killed_by"]}
    only = {one["key"] for one in whole["mutants"] if one["killed_by"] == [test["nodeid"]]}
    assert {one["mutant"] for one in test["kills"]} == kills
    assert set(test["unique"]) == only
    found = json.loads(run(capsys, "redundant", "--json", "--db", str(sidecar))[1])
    keeps: set[str] = set()
    for name in found["smallest"]["by_count"]["tests"]:
        keeps |= {one["key"] for one in whole["mutants"] if name in one["killed_by"]}
    assert keeps == {one["key"] for one in whole["mutants"] if one["killed_by"]}


def test_more_than_one_mutant_is_a_choice(sidecar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "show", "src/tables.py", "--db", str(sidecar))
    assert status == 0
    assert "mutants; show one by its ten digits" in out


def test_a_reader_that_goes_away(sidecar: Path) -> None:
    command = f"{sys.executable} -m pytest_killmatrix.cli export --format json --db {sidecar} | head -c 10"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [["show", "tables.py"], ["show", "tables.py", "--json"], ["report", "-v"], ["export", "--format", "json"],
     ["sql", "SELECT original FROM mutants"]],
    ids=" ".join,
)  # fmt: skip
def test_whatever_the_terminal_speaks(sidecar: Path, words: list[str]) -> None:
    encoding = "utf-8" if words[0] == "export" else "ascii"
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "pytest_killmatrix.cli", *words, "--db", str(sidecar)]
    done = subprocess.run(command, capture_output=True, env=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode(encoding)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_sql(sidecar: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    query = "SELECT outcome, count(*) AS cells FROM matrix GROUP BY outcome ORDER BY cells DESC LIMIT 1"
    _, out, _ = run(capsys, "sql", query, "--format", form, "--db", str(sidecar))
    expected = {
        "table": "outcome    cells\n---------  -----\nassertion  711\n",
        "csv": "outcome,cells\nassertion,711\n",
        "json": '[\n  {\n    "outcome": "assertion",\n    "cells": 711\n  }\n]\n',
    }
    assert out == expected[form]


@pytest.mark.parametrize("form", ["json", "html"])
@pytest.mark.parametrize("to_file", [False, True])
def test_harness_runs_alone_are_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, to_file: bool
) -> None:
    path, place = store_runs(tmp_path / "a.sqlite"), tmp_path / "report"
    words = ["-o", str(place)] if to_file else []
    status, out, err = run(capsys, "export", "--format", form, "--db", str(path), *words)
    assert (status, err) == (0, "")
    text = place.read_text() if to_file else out
    assert (out == "") is to_file
    if form == "json":
        assert [one["harness"] for one in json.loads(text)["harness"]] == ["toy", "toy", "other"]
    else:
        assert text.endswith("</html>\n")
    if to_file:
        place.write_text("my notes\n")
        status, _, err = run(capsys, "export", "--format", form, "--db", str(path), *words)
        assert (status, place.read_text(), err.count("\n")) == (4, "my notes\n", 1)


@pytest.mark.parametrize(
    "words",
    [["report"], ["report", "--json"], ["runs"], ["runs", "--json"], ["show", "x"], ["redundant"],
     ["export", "--format", "csv"], ["export", "--format", "html", "--run", "1"]],
    ids=" ".join,
)  # fmt: skip
def test_what_is_about_code_says_where_harness_runs_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    status, out, err = run(capsys, *words, "--db", str(store_runs(tmp_path / "a.sqlite")))
    assert (status, out, err.count("\n")) == (4, "", 1)
    assert "has harness runs only: judge them with killmatrix harness score, or look at them with" in err


def test_tables_for_notebooks(sidecar: Path) -> None:
    results = open_results(sidecar)
    assert len(results.runs) == 1
    assert len(results.tests) == 57
    assert {row["status"] for row in results.mutants} >= {"killed", "survived"}
    assert all({"mutant", "test", "outcome"} <= row.keys() for row in results.cells)
    assert results.score["assertion"] == {"numerator": 237, "denominator": 253, "value": 237 / 253, "interval": None}
    assert results.delta is None
    assert repr(results) == f"<run 1 of {sidecar}>"


def test_frames(sidecar: Path) -> None:
    pandas: Any = pytest.importorskip("pandas")
    frame = open_results(sidecar).cells.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert (frame.outcome == "assertion").sum() == 711
