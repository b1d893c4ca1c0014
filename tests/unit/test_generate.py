from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_killmatrix.generate import FileError, FileMutants, Spec, generate
from pytest_killmatrix.model import Replacement


def test_records_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(x):\n    return x + 1\n")
    (tmp_path / "b.py").write_text("def f(:\n")
    (tmp_path / "c.py").write_text("")
    first, second, third, fourth = generate(Spec(str(tmp_path), ["a.py", "b.py", "c.py", "d.py"]))
    assert isinstance(first, FileMutants)
    assert first.sha256 == hashlib.sha256((tmp_path / "a.py").read_bytes()).hexdigest()
    assert len(first.mutants) == len(first.builds) > 2
    assert all(mutant.key.startswith("a.py::f::") for mutant in first.mutants)
    assert second == FileError("b.py", 1, "syntax error: invalid syntax")
    assert isinstance(third, FileMutants)
    assert third.mutants == []
    assert isinstance(fourth, FileError)
    assert "cannot be read" in fourth.message


def test_operators_and_third_parties(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    extra = {"a.py": [("theirs", [Replacement("case:M1", 1, 4, 1, 5, "7"), Replacement("other", 1, 4, 1, 5, "8")])]}
    (record,) = generate(Spec(str(tmp_path), ["a.py"], "case:*", extra))
    assert isinstance(record, FileMutants)
    assert [mutant.replacement for mutant in record.mutants] == ["7"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"operators": "nonsense"}, "unknown mutation operator 'nonsense'"),
        ({"extra": {"a.py": [("theirs", [Replacement("case:M1", 9, 0, 9, 1, "7")])]}}, "plugin theirs"),
    ],
)
def test_what_was_asked_wrongly_is_a_value_error(tmp_path: Path, spec: dict[str, object], message: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=message):
        list(generate(Spec(str(tmp_path), ["a.py"], **spec)))  # type: ignore[arg-type]


def test_nothing_in_the_working_directory_is_run(tmp_path: Path) -> None:
    for name in ("json", "pickle", "ast", "libcst", "mutmut", "enum", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    (tmp_path / "a.py").write_text("raise SystemExit('run')\n")
    (record,) = generate(Spec(str(tmp_path), ["a.py"]))
    assert isinstance(record, FileMutants)


def test_the_caller_imports_neither_libcst_nor_mutmut() -> None:
    code = (
        "import sys, pytest_killmatrix.generate as g; list(g.generate(g.Spec('.', []))); "
        "print('libcst' in sys.modules, 'mutmut' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]
