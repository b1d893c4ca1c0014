"""The worked example: one sentence makes the same kill by the same test legitimate, and nothing else changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix.oracle.model import VariantsError
from pytest_killmatrix.oracle.reading import read

pytestmark = pytest.mark.lengthy

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "oracle-audit"
HOW_TO = EXAMPLE.parents[1] / "docs" / "how-to" / "audit-a-grader.md"
TEST = "tests/test_release.py::test_an_unsigned_build_may_not"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("example") / "audit"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns(".killmatrix*", "__pycache__", ".pytest_cache"))
    return place


def run(example: Path, version: int) -> tuple[int, str, dict[str, Any]]:
    report = example.parent / "report.json"
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--mutation-variants=variants-v{version}.yaml"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    done = subprocess.run(
        [*words, f"--kill-matrix-json={report}"], cwd=example, capture_output=True, text=True, check=False,
        env=environment | {"COLUMNS": "80"}, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout, json.loads(report.read_text())["variants"]


def variant(audit: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in audit["cases"][0]["variants"] if one["name"] == name)


def test_the_two_versions(example: Path) -> None:
    status, screen, first = run(example, 1)
    assert status == 1
    assert first["cases"][0]["underspecified"] == [TEST]
    assert first["score"]["mutations"]["value"] == 1.0
    assert "a permitted reading is rejected" in first["score"]["mutations"]["qualified_by"]
    assert "100" not in screen.split("authored variants")[1].split("sidecar")[0]
    assert variant(first, "signature-optional")["kind"] == "alternative-reading"
    assert variant(first, "signature-optional")["counts"] is False

    lines = screen.splitlines()
    begins = next(at for at, line in enumerate(lines) if "= authored variants =" in line)
    ends = next(at for at, line in enumerate(lines) if line.startswith("time "))
    assert "\n".join(lines[begins:ends]).rstrip() in HOW_TO.read_text(encoding="utf-8")  # shows real output
    command = [sys.executable, "-m", "pytest_killmatrix.cli", "report"]
    told = subprocess.run(
        command, cwd=example, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"}
    ).stdout
    assert "\n".join(lines[begins + 1 : ends]).rstrip() in told  # the command says what the run said
    assert "nothing was mutated" not in told

    status, screen, second = run(example, 2)
    assert (status, second["score"]["mutations"]["qualified_by"]) == (0, [])
    assert second["cases"][0]["underspecified"] == []
    now = variant(second, "signature-optional")
    assert (now["kind"], now["counts"]) == ("mutation", True)
    assert now["rejected"] == variant(first, "signature-optional")["rejected"]  # the same kill by the same test
    assert [entry["kind"] for entry in now["history"]] == ["alternative-reading", "mutation"]
    assert now["history"][1]["repaired"] == ["wording"]
    assert now["citations"][0]["quote"] == "A build that is not signed must not be released."
    assert "nothing but the wording changed since version 1" in " ".join(screen.split())

    before, after = (dict(audit["cases"][0]["hashes"]) for audit in (first, second))
    assert before.pop("task") != after.pop("task")
    assert before == after  # grader, fixtures, reference and every variant


def test_one_sentence_was_added() -> None:
    old, new = ((EXAMPLE / "task" / f"task-v{number}.md").read_text() for number in (1, 2))
    assert new.replace(" A build that is not signed must not be released.", "") == old


@pytest.mark.parametrize(("name", "words"), [
    ("tests/test_release.py", "version 2 changes grader, and its history says repaired: wording"),
    ("release.py", "version 2 changes reference, and its history says repaired: wording"),
    ("variants/signature-optional.py", "variant signature-optional is not the one that version 1 recorded"),
])  # fmt: skip
def test_the_example_proves_that_nothing_else_changed(tmp_path: Path, name: str, words: str) -> None:
    place = tmp_path / "audit"
    shutil.copytree(EXAMPLE, place)
    assert read(place / "variants-v2.yaml").cases
    with open(place / name, "a") as file:
        file.write("# a comment\n")
    with pytest.raises(VariantsError) as caught:
        read(place / "variants-v2.yaml")
    assert any(words in problem for problem in caught.value.problems), caught.value.problems
