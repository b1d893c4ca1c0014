"""Merging shards: what is joined, what is refused and why, and that neither order nor repetition matters."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_samples import assertion, make_info, make_mutant

from pytest_killmatrix import cli
from pytest_killmatrix.merging.checking import MergeError, joined, read_source
from pytest_killmatrix.merging.writing import write_joint
from pytest_killmatrix.model import Cause, CauseKind, Cell, Excluded, Mutant, Outcome, Sample, Status, Test
from pytest_killmatrix.report.files import FORMATS
from pytest_killmatrix.sharding import Shard
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

COUNT = 3
MUTANTS = [
    *(make_mutant(number, start=100 * number) for number in range(20)),
    *(make_mutant(number, start=100 * number, path="src/a.py") for number in range(20, 30)),
    make_mutant(30, start=3000, verdict=Status.DUPLICATE, duplicate_of=make_mutant(3).key),
]
TESTS = [Test(f"test_words.py::test_{number}", "test_words.py", seconds=0.1) for number in range(4)]


def write(
    path: Path,
    index: int | None = None,
    *,
    mutants: Sequence[Mutant] = MUTANTS,
    tests: Sequence[Test] = TESTS,
    finish: bool = True,
    shard: dict[str, Any] | None = None,
    text: str = "x = 1\n",
    **changes: Any,
) -> Path:
    """A shard (a run over all mutants with None) with something in every table that a run of mutants fills."""
    if index is not None:
        shard = {"index": index, "count": COUNT, "tree": "t"} | (shard or {})
        mutants = [mutant for mutant in mutants if Shard(index, COUNT).holds(mutant)]
    numbers = {test.nodeid: number for number, test in enumerate(tests)}
    names = [test.nodeid for test in TESTS]
    plain = {"commit": "c" * 40, "population": len(MUTANTS), "options": {"static": "all"}, "shard": shard}
    info = make_info(**{**plain, "id": f"run-{index}", "cpu": {"total": 1.5}, "seconds": 3.0 + (index or 0), **changes})
    with Sidecar.open(path) as sidecar:
        sidecar.begin_run(make_info(id="earlier", fingerprint="e"))
        run = sidecar.begin_run(info)
        sidecar.add_tests(run, tests)
        sidecar.add_mutants(run, mutants)
        for name in ("src/words.py", "src/a.py"):
            sidecar.add_file(run, name, f"{name} {text}", text)
        for number, mutant in enumerate(mutants):
            if mutant.verdict is not None:
                continue
            seed = int(mutant.key[-10:], 16)
            test, other = (numbers[names[(seed + more) % 4]] for more in (0, 1))
            sidecar.add_reach(run, number, [test, other])
            sidecar.add_cell(run, Cell(number, other, Outcome.PASSED, flags=("xpassed",) if seed % 2 else ()))
            if seed % 3:
                sidecar.add_cell(run, assertion(number, test, message=mutant.key, raised_at=f"test_words.py:{seed}"))
                sidecar.set_status(run, number, Status.KILLED)
            else:
                sidecar.set_status(run, number, Status.SURVIVED)
                sidecar.set_cause(run, number, Cause(CauseKind.NOT_NOTICED, 1, 1, "a", (Sample("a", "1", mutant.key),)))
        (sidecar.finish_run if finish else sidecar.update_run)(run, info)
    return path


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{index}.sqlite", index) for index in range(1, COUNT + 1)]


def merge(paths: Sequence[Path], out: Path, *, partial: bool = False) -> int:
    return write_joint(joined([read_source(path) for path in paths], partial=partial), out).run


def content(path: Path) -> dict[str, Any]:
    """All that the newest run of a sidecar says, by names instead of numbers."""
    with Reader(path) as reader:
        tests = [test.nodeid for test in reader.tests()]
        causes = reader.causes()
        return {
            "info": replace(reader.info),
            "tests": reader.tests(),
            "files": [(name, reader.text_of(name)) for name in ("src/words.py", "src/a.py")],
            "mutants": [
                (
                    row.mutant,
                    row.status,
                    row.reason,
                    [tests[test] for test in row.reached_by],
                    [(tests[cell.test], replace(cell, mutant=0, test=0)) for cell in row.cells],
                    causes.get(row.index),
                )
                for row in reader.mutants()
            ],
        }


def test_all_shards_are_the_whole_run(shards: list[Path], tmp_path: Path) -> None:
    run = merge(shards, tmp_path / "merged.sqlite")
    merged, whole = content(tmp_path / "merged.sqlite"), content(write(tmp_path / "whole.sqlite"))
    by_key = {"key": lambda entry: entry[0].key}
    assert run == 1
    assert sorted(merged["mutants"], **by_key) == sorted(whole["mutants"], **by_key)
    assert [entry[0].path for entry in merged["mutants"]] == ["src/a.py"] * 10 + ["src/words.py"] * 21
    assert (merged["tests"], merged["files"]) == (whole["tests"], whole["files"])
    assert merged["info"].complete
    assert merged["info"].cpu == {"total": 4.5}
    assert merged["info"].options == {"static": "all"}
    with Reader(tmp_path / "merged.sqlite") as reader, Reader(tmp_path / "whole.sqlite") as other:
        assert reader.score() == other.score()
        assert len(list(reader.query("SELECT * FROM texts"))) == 2
        for made in FORMATS.values():
            assert "".join(made.chunks(reader))


@pytest.mark.parametrize("order", list(itertools.permutations(range(COUNT))), ids=str)
def test_the_order_does_not_matter(shards: list[Path], tmp_path: Path, order: tuple[int, ...]) -> None:
    merge(shards, tmp_path / "one.sqlite")
    merge([shards[number] for number in order], tmp_path / "other.sqlite")
    assert content(tmp_path / "one.sqlite") == content(tmp_path / "other.sqlite")


def test_nor_that_some_were_merged_before_or_are_named_twice(shards: list[Path], tmp_path: Path) -> None:
    merge(shards, tmp_path / "one.sqlite")
    merge(shards[1:], tmp_path / "two.sqlite", partial=True)
    merge(shards[:2], tmp_path / "three.sqlite", partial=True)
    for paths in (["two", "1"], ["1", "two"], ["three", "two"], ["two", "three"], ["one", "two", "3", "3"], ["one"]):
        merge([tmp_path / f"{name}.sqlite" for name in paths], tmp_path / "other.sqlite")
        assert content(tmp_path / "one.sqlite") == content(tmp_path / "other.sqlite"), paths
        with Reader(tmp_path / "other.sqlite") as reader:
            assert len(reader.runs()) == 1


def test_a_sidecar_keeps_its_runs(shards: list[Path], tmp_path: Path) -> None:
    before = content(shards[0])
    assert merge(shards, shards[0]) == 3
    assert merge(shards, shards[0]) == 3
    with Reader(shards[0]) as reader:
        assert [info.id for _, info in reader.runs()][:2] == ["earlier", "run-1"]
    connection = sqlite3.connect(shards[0])
    connection.execute("PRAGMA foreign_keys = ON")
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.execute("UPDATE runs SET run = 9 WHERE run = 3 AND 0")
    connection.close()
    merge(shards, tmp_path / "new.sqlite")
    assert content(tmp_path / "new.sqlite") == content(shards[0])
    assert before["info"].shard["index"] == 1


def test_tests_in_another_order_are_the_same_tests(shards: list[Path], tmp_path: Path) -> None:
    write(tmp_path / "shuffled.sqlite", 2, tests=[TESTS[2], TESTS[0], TESTS[3], TESTS[1]])
    merge(shards, tmp_path / "one.sqlite")
    merge([tmp_path / "shuffled.sqlite", shards[2], shards[0]], tmp_path / "other.sqlite")
    assert content(tmp_path / "one.sqlite") == content(tmp_path / "other.sqlite")


def test_what_shards_saw_differently_of_a_test(tmp_path: Path) -> None:
    slow = [replace(test, seconds=0.2, parallel_safe=False) for test in TESTS]
    paths = [write(tmp_path / f"{i}.sqlite", i, tests=slow if i == 2 else TESTS, hash_seed=i) for i in (1, 2, 3)]
    merge(paths, tmp_path / "merged.sqlite")
    with Reader(tmp_path / "merged.sqlite") as reader:
        assert all(test.seconds == 0.2 and not test.parallel_safe for test in reader.tests())
        assert reader.info.hash_seed is None


def test_faults_of_any_shard_are_faults_of_all(tmp_path: Path) -> None:
    routes = [{"swap": "ok"}, {"swap": "failed", "static": "ok"}, {"swap": "ok", "static": "not exercised"}]
    paths = [write(tmp_path / f"{i}.sqlite", i, routes=routes[i - 1], notes=["n", f"{i}"]) for i in (1, 2, 3)]
    merge(paths, tmp_path / "merged.sqlite")
    with Reader(tmp_path / "merged.sqlite") as reader:
        assert reader.info.routes == {"swap": "failed", "static": "ok"}
        assert reader.info.notes == ["n", "1", "2", "3"]


def test_a_part_is_marked_incomplete(shards: list[Path], tmp_path: Path) -> None:
    merge([shards[0], write(tmp_path / "stopped.sqlite", 2, finish=False)], tmp_path / "part.sqlite", partial=True)
    with Reader(tmp_path / "part.sqlite") as reader:
        assert not reader.info.complete
        text = "".join(FORMATS["markdown"].chunks(reader))
    assert "**Incomplete:** shard 3 of 3 missing, shard 2 interrupted." in text
    assert "shards 1 and 2 of 3: a part of 31 mutants" in text


EXCLUDED = [replace(TESTS[0], excluded=Excluded.FLAKY), *TESTS[1:]]
REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "another commit": (lambda path: write(path, 2, commit="d" * 40), "not parts of one run: commit"),
    "no commit": (lambda path: write(path, 2, commit=None), "not parts of one run: commit"),
    "changes": (lambda path: write(path, 2, dirty=True), "changes that are not committed false and true"),
    "options": (lambda path: write(path, 2, options={"static": "skip"}), 'option static "all" and "skip"'),
    "more options": (lambda path: write(path, 2, options={"static": "all", "new": 1}), "options"),
    "python": (lambda path: write(path, 2, python="3.13.0"), 'python "3.11.7" and "3.13.0"'),
    "platform": (lambda path: write(path, 2, platform="darwin"), "platform"),
    "scope": (lambda path: write(path, 2, scope="changed"), "scope"),
    "population": (lambda path: write(path, 2, population=7), "mutants in all 31 and 7"),
    "sources": (lambda path: write(path, 2, text="x = 2\n"), "mutated files"),
    "a test less": (lambda path: write(path, 2, tests=[*TESTS, Test("test_words.py::test_9")]), "only the first has"),
    "a flaky test": (lambda path: write(path, 2, tests=EXCLUDED), "is left out in 2.sqlite (flaky) and judges in"),
    "another split": (lambda path: write(path, 2, shard={"count": 4}), "shards in all 3 and 4"),
    "no shard": (write, "no shard"),
    "a whole twice": (lambda path: write(path, 1, id="again"), "overlap: both hold shard 1, from different runs"),
    "two states": (lambda path: write(path, 1, seconds=99.0), "shard 1 as it was at different times of one run"),
    "interrupted": (lambda path: write(path, 2, finish=False), "shard 2 of 3 was interrupted"),
    "strangers": (lambda path: write(path, shard={"index": 2, "count": 3, "tree": "t"}), "split in another way"),
    "lost mutants": (lambda path: write(path, 2, mutants=MUTANTS[:20]), "of 31: they were not made of the same"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make, words = REFUSED[name]
    write(Path("1.sqlite"), 1)
    make(Path("2.sqlite"))
    write(Path("3.sqlite"), 3)
    for order in (["1", "2", "3"], ["3", "2", "1"]):
        assert cli.main(["merge", *(f"{number}.sqlite" for number in order), "-o", "out.sqlite"]) == 4
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert said.startswith("killmatrix merge: ")
        assert words in said or order != ["1", "2", "3"]
    assert not Path("out.sqlite").exists()


def test_changes_that_no_commit_vouches_for(tmp_path: Path) -> None:
    for dirty, commit in ((True, "c" * 40), (False, None)):
        state: dict[str, Any] = {"dirty": dirty, "commit": commit}
        paths = [write(tmp_path / f"{i}-{dirty}.sqlite", i, **state) for i in (1, 2)]
        assert merge(paths, tmp_path / f"out-{dirty}.sqlite", partial=True) == 1
        other = write(tmp_path / f"other-{dirty}.sqlite", 3, shard={"tree": "another"}, **state)
        with pytest.raises(MergeError, match="files that no commit vouches for"):
            joined([read_source(path) for path in (*paths, other)])


def test_missing_shards(shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["merge", str(shards[1]), "-o", str(tmp_path / "out.sqlite")]
    assert cli.main(words) == 4
    assert "shards 1 and 3 of 3 missing" in capsys.readouterr().err
    assert cli.main([*words, "--partial"]) == 0
    assert capsys.readouterr().out.startswith("shard 2 of 3: ")


def test_a_threshold_of_all_shards(shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["merge", *map(str, shards), "-o", str(tmp_path / "out.sqlite")]
    assert cli.main([*words, "--fail-under=50", "--fail-under=reached:100"]) == 0
    assert cli.main([*words, "--fail-under=90"]) == 1
    assert capsys.readouterr().err == "--fail-under=assertion:90: assertion is 66.7 % (20 of 30)\n"
    assert cli.main([*words, "--fail-under=some"]) == 4


def test_a_place_that_is_not_ours(shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, database, folder = tmp_path / "text", tmp_path / "database", tmp_path / "folder"
    text.write_text("mine")
    folder.mkdir()
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = database.read_bytes()
    for place in (text, database, folder, tmp_path / "none" / "a.sqlite"):
        assert cli.main(["merge", *map(str, shards), "-o", str(place)]) == 4
        said = capsys.readouterr().err
        assert "-o DB" in said
        assert "--kill-matrix-db" not in said
    assert (text.read_text(), database.read_bytes()) == ("mine", before)
    with Sidecar.open(shards[0]):  # a run is using it
        assert cli.main(["merge", *map(str, shards), "-o", str(shards[0])]) == 4
        assert "is using the sidecar" in capsys.readouterr().err


def test_a_failure_in_the_middle_leaves_nothing(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = joined([read_source(path) for path in shards])
    before = content(shards[0])

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_killmatrix.merging.writing._Joiner._texts", fail)
    for place in (tmp_path / "new.sqlite", shards[0]):
        with pytest.raises(KeyboardInterrupt):
            write_joint(joint, place)
    assert content(shards[0]) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.sqlite", "2.sqlite", "3.sqlite"]
