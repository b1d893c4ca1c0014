"""``killmatrix variants``: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from oracle_samples import AUDIT, FILES, write
from test_oracle_rounds import READER

from pytest_killmatrix.cli import main
from pytest_killmatrix.oracle import materializing
from pytest_killmatrix.oracle.reading import read


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    return write(tmp_path, audit=AUDIT.replace("chosen_by: somebody\n", "chosen_by: somebody\nrounds: ledger.yaml\n"))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return write(tmp_path)


def test_check(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants", "check", str(plain)]) == 0
    said = capsys.readouterr().out
    assert "case gate, version 1: 1 reference, 1 starter, 1 mutation, 1 alternative-reading" in said
    assert "no hints: there are no results yet" in said
    assert main(["variants", "check", str(plain), "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert case["hashes"]["task"] == read(plain).cases[0].hashes.task
    assert case["hints"] is None


def test_check_flags_what_is_not_cited_and_what_does_not_compile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = AUDIT.replace("        citations:\n          - {file: task.md, quote: when a holds and b holds}\n", "")
    path = write(tmp_path, {**FILES, "starter.py": "def gate(:\n"}, audit)
    assert main(["variants", "check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "flag: no-b cites no sentence that forbids it" in said
    assert "flag: starter does not compile" in said


def test_everything_that_is_wrong_is_said(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain.write_text(AUDIT.replace("kind: starter", "kind: x").replace("[task.md]", "[task.md, y]"))
    assert main(["variants", "check", str(plain)]) == 4
    told = capsys.readouterr()
    assert [line.split(": ")[0] for line in told.err.splitlines()] == ["variants.yaml:5", "variants.yaml:10"]
    assert told.out == ""


@pytest.mark.parametrize(("words", "said"), [
    (["check", "none.yaml"], "none.yaml: no such file; give the variants file"),
    (["materialize", "gate", "there"], "variants.yaml: no such file; give the variants file with --file=FILE"),
    (["materialize", "gait", "there", "--file=FILE"], "there is no case gait; there are gate"),
    (["check", "FILE", "--db=none.sqlite"], "there is no sidecar none.sqlite"),
    (["rounds", "FILE", "--append=none.yaml"], "--append=none.yaml: no such file"),
])  # fmt: skip
def test_what_it_cannot_do(
    plain: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], words: list[str], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["variants", *(word.replace("FILE", str(plain)) for word in words)]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not list(Path.cwd().iterdir())


# -- materialize -----------------------------------------------------------------------------------------------------


def test_materialize_writes_what_the_solver_receives_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = AUDIT.replace("[task.md]", "[{file: task.md, as: docs/README.md}, {file: starter.py, as: gate.py}]")
    path, there = write(tmp_path, audit=audit), tmp_path / "new" / "seen"
    assert main(["variants", "materialize", "gate", str(there), f"--file={path}"]) == 0
    files = {one.relative_to(there).as_posix(): one.read_bytes() for one in there.rglob("*") if one.is_file()}
    assert files == {"docs/README.md": FILES["task.md"].encode(), "gate.py": FILES["starter.py"].encode()}
    assert capsys.readouterr().out.splitlines()[-1] == f"text {read(path).cases[0].hashes.task}"


@pytest.mark.parametrize("there", ["file", "full"])
def test_a_place_that_is_taken(plain: Path, there: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = plain.parent / "place"
    if there == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "mine").write_text("mine")
    assert main(["variants", "materialize", "gate", str(place), f"--file={plain}"]) == 4
    assert "name a new" in capsys.readouterr().err
    assert [one.read_text() for one in (place, place / "mine") if one.is_file()] == ["mine"]


def test_nothing_is_left_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, audit=AUDIT.replace("[task.md]", "[task.md, {file: starter.py, as: deep/er/gate.py}]"))

    def full(self: Path, data: bytes) -> int:
        if self.name == "gate.py":
            raise OSError(28, "No space left on device", str(self))
        with open(self, "wb") as file:
            return file.write(data)

    monkeypatch.setattr(materializing.Path, "write_bytes", full)
    assert main(["variants", "materialize", "gate", str(tmp_path / "a" / "b"), f"--file={path}"]) == 4
    assert "No space left" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


# -- record and rounds -----------------------------------------------------------------------------------------------


def test_record_prints_what_a_later_version_needs(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["variants", "record", str(plain)]) == 0
    (entry,) = yaml.safe_load(capsys.readouterr().out)
    case = read(plain).cases[0]
    assert entry["hashes"]["grader"] == case.hashes.grader
    assert entry["kinds"]["reading"] == "alternative-reading"
    assert "rejected_by" not in entry  # nobody judged it


def test_rounds(variants: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = variants.parent
    task = read(variants, readings=False).cases[0].hashes.task
    sure = "derivable: true, confidence: high, quote: b holds"
    other = READER.replace("a person", "another").replace("derivable: false, confidence: medium", sure)
    (folder / "a.yaml").write_text(READER.replace("TEXT", task))
    (folder / "b.yaml").write_text(other.replace("TEXT", task))
    words = ["variants", "rounds", str(variants)]
    assert main([*words, f"--append={folder / 'a.yaml'}", f"--append={folder / 'b.yaml'}"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    parts = (
        "a person and another agree on 1 of 2 tests, Cohen's kappa 0.00",
        "disputed: test_gate.py::test_c",
        "not derivable, medium confidence: not said",
        "open risk: the task may be read otherwise",
    )
    for part in parts:
        assert part in said, said
    assert main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["rounds"][0]["pairs"][0]["agreement"] == {"numerator": 1, "denominator": 2, "value": 0.5}
    assert found["disputes"] is None
