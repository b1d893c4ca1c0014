"""What the documentation and the example say about harness mutation is so."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from pytest_killmatrix.commands import harness
from pytest_killmatrix.harness.operators import IMPOSSIBLE, OPERATORS
from pytest_killmatrix.harness.spans import NAMES
from pytest_killmatrix.harness.specs import FORMS, read_specs
from pytest_killmatrix.harness.suite import read_suite
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "harness.md"
HOW_TO = ROOT / "docs" / "how-to" / "mutate-an-agent-harness.md"
EXAMPLE = ROOT / "examples" / "harness"
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [(page, text) for page in (REFERENCE, HOW_TO) for text in _YAML.findall(page.read_text(encoding="utf-8"))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with the files that the pages name."""
    for name in ("tests/test_form.py", "tests/test_evals.py", "tests/test_sums.py", "form.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in ("", "sub/"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "evals").mkdir()
        (tmp_path / name / "AGENTS.md").write_text("# Be kind\n", encoding="utf-8")
        (tmp_path / name / "config.yaml").write_text("a: 1\n", encoding="utf-8")
        (tmp_path / name / "evals" / "evals.json").write_text(
            '{"skill_name": "x", "evals": [{"id": 1, "prompt": "y"}]}'
        )
    return tmp_path


def test_there_are_examples_of_both_kinds_of_file() -> None:
    assert [text.startswith("specs:") for _, text in BLOCKS] == [False, True, False, True]


@pytest.mark.parametrize(("page", "text"), BLOCKS, ids=lambda value: getattr(value, "name", "text"))
def test_the_files_that_are_shown_can_be_read(folder: Path, page: Path, text: str) -> None:
    path = folder / "sub" / "file.yaml" if "root: .." in text else folder / "file.yaml"
    path.write_text(text, encoding="utf-8")
    if text.startswith("specs:"):
        assert read_specs(path)
    else:
        assert read_suite(path, "my-agent").tasks


def options() -> set[str]:
    """All options of the three steps."""
    parser = argparse.ArgumentParser()
    harness.configure(parser)
    (steps,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {
        option
        for step in steps.choices.values()
        for action in step._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }


def test_every_option_is_in_the_reference_and_no_other() -> None:
    rows = [line for line in REFERENCE.read_text(encoding="utf-8").splitlines() if line.startswith("| `--")]
    named = {option for row in rows for option in re.findall(r"(--[\w-]+)", row.split("|")[1])}
    assert named == options()


def test_every_operator_form_name_and_field_is_in_the_reference() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    fields = {*HarnessRun.__dataclass_fields__, *HarnessMutant.__dataclass_fields__} - {
        "id", "started", "scored", "low", "high", "run",
    }  # fmt: skip
    for name in (*OPERATORS, *IMPOSSIBLE, *NAMES, *NAMES.values(), *fields):
        assert f"`{name}`" in text, name
    for form in FORMS:
        assert f"`{form}: " in text


@pytest.mark.parametrize("name", ["suite.yaml", "stochastic.yaml"])
def test_the_example_is_a_suite(name: str) -> None:
    suite = read_suite(EXAMPLE / name)
    assert "write your own tests and make them pass" in suite.base.instructions.lower()
    assert len(suite.tasks) == (1 if name == "suite.yaml" else 10)
    assert read_specs(EXAMPLE / "specs" / "team.yaml")
