from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from store_samples import Plot, assertion, make_info, make_mutant, realistic

from pytest_killmatrix import __version__
from pytest_killmatrix.model import Cell, Outcome, Status, Test
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.json import write_json
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

# The published shape, names and order.
TOP = "schema_version tool run tests mutants score variants harness delta"
RUN = (
    "id started seconds commit dirty baseline scope python platform hash_seed complete population sample shard options"
)
MUTANT = (
    "key path line column end_line end_column definition operator original replacement static string_only duplicate_of "
    "status reason why reached_by killed_by cells"
)
TEST = "nodeid suite change clean seconds excluded parallel_safe"
CELL = "test suite outcome phase exception message seconds isolation confirmed raised_at reason flags"


def written(reader: Reader, path: Path) -> Any:
    write_json(reader, path)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    with Sidecar.open(path) as sidecar:
        info = make_info(cpu={"swap": 1.0, "clean": 0.5}, routes={"swap": "ok"}, population=9)
        run = sidecar.begin_run(info)
        sidecar.add_tests(
            run, [Test("t::x", suite=("old",)), Test("t::x", suite=("new",)), Test("t::é\udc80"), Test("t::z")]
        )
        sidecar.add_mutants(run, [make_mutant(0), make_mutant(1, verdict=Status.DUPLICATE, duplicate_of="k")])
        sidecar.add_reach(run, 0, [3])
        sidecar.add_cell(run, assertion(0, 0, suite="old"))
        sidecar.add_cell(run, assertion(0, 1, flags=("provisional",), confirmed=True))
        sidecar.add_cell(run, Cell(0, 2, Outcome.CRASH, reason="memory"))
        sidecar.set_status(run, 0, Status.KILLED)
        sidecar.finish_run(run, info)
    return path


def test_names_and_order(small: Path, tmp_path: Path) -> None:
    with Reader(small) as reader:
        report = written(reader, tmp_path / "out.json")
    assert list(report) == TOP.split()
    assert report["schema_version"] == 1
    assert report["tool"] == {"name": "pytest-killmatrix", "version": __version__}
    assert report["variants"] is None
    assert report["harness"] == []
    assert report["delta"] is None
    run = report["run"]
    assert list(run) == [*RUN.split(), "cpu", "controls"]
    assert run["cpu"] == {
        "clean": 0.5,
        "generate": 0.0,
        "swap": 1.0,
        "collection": 0.0,
        "static": 0.0,
        "confirm": 0.0,
        "total": 1.5,
    }
    assert list(run["cpu"])[-1] == "total"
    not_used = "not exercised"
    assert run["controls"] == {
        "noop_kills": [],
        "routes": {"swap": "ok", "static": not_used, "collection": not_used, "subprocess": not_used},
    }
    assert list(report["tests"][0]) == TEST.split()
    assert list(report["mutants"][0]) == MUTANT.split()
    assert list(report["mutants"][0]["cells"][0]) == CELL.split()
    assert list(report["score"]) == ["reference_set", "reached", "assertion", "detection", "counts"]
    assert list(report["score"]["assertion"]) == ["numerator", "denominator", "value", "interval"]


def test_values(small: Path, tmp_path: Path) -> None:
    with Reader(small) as reader:
        report = written(reader, tmp_path / "out.json")
    first, second = report["mutants"]
    odd = "t::é\\udc80"
    assert first["reached_by"] == ["t::x", odd, "t::z"]
    assert first["killed_by"] == ["t::x", odd]
    assert [cell["suite"] for cell in first["cells"]] == ["old", "new", "new"]
    assert first["cells"][1]["flags"] == ["provisional"]
    assert first["cells"][1]["confirmed"] is True
    assert first["cells"][2]["reason"] == "memory"
    assert (second["status"], second["duplicate_of"], second["cells"]) == ("duplicate", "k", [])
    assert report["score"]["reached"] == [1, 1]
    assert report["score"]["assertion"] == {"numerator": 1, "denominator": 1, "value": 1.0, "interval": None}


def test_killed_by_is_about_the_new_suite(tmp_path: Path) -> None:
    with Sidecar.open(tmp_path / "a.sqlite") as sidecar:
        run = sidecar.begin_run(make_info())
        sidecar.add_tests(run, [Test("t::x", suite=("old",))])
        sidecar.add_mutants(run, [make_mutant(0)])
        sidecar.add_cell(run, assertion(0, 0, suite="old"))
    with Reader(tmp_path / "a.sqlite") as reader:
        assert written(reader, tmp_path / "out.json")["mutants"][0]["killed_by"] == []


def test_an_empty_run_is_valid_json(tmp_path: Path) -> None:
    path = Plot(0).write(tmp_path / "a.sqlite", make_info())
    with Reader(path) as reader:
        report = written(reader, tmp_path / "out.json")
    assert (report["tests"], report["mutants"]) == ([], [])
    assert report["score"]["assertion"]["value"] is None


def test_counts_add_up(tmp_path: Path) -> None:
    with Reader(realistic(tmp_path / "a.sqlite")) as reader:
        report = written(reader, tmp_path / "out.json")
    counts = report["score"]["counts"]
    assert sum(counts.values()) - counts["survived_string_only"] == len(report["mutants"])


def test_places_that_will_not_do(small: Path, tmp_path: Path) -> None:
    with Reader(small) as reader:
        for place, message in ((tmp_path / "no" / "out.json", "no directory"), (tmp_path, "is a directory")):
            with pytest.raises(ReportError, match=message) as caught:
                write_json(reader, place)
            assert "\n" not in str(caught.value)


def test_a_failure_leaves_the_old_file_and_no_litter(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_text('{"old": 1}')
    before = sorted(tmp_path.iterdir())
    reader = Reader(small)
    reader.close()  # so that reading fails half-way
    with pytest.raises(Exception, match="closed"):
        write_json(reader, out)
    assert out.read_text() == '{"old": 1}'
    assert sorted(tmp_path.iterdir()) == before
