"""Keeping what pytest makes of test modules: asked before it rewrites or reads its cache, and never out of date."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import _pytest.assertion.rewrite as rewriting
import pytest

from pytest_killmatrix.rewritten import Rewritten


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `install` puts in place goes with the test that put it there."""
    for name in ("_rewrite_test", "_read_pyc"):
        monkeypatch.setattr(rewriting, name, getattr(rewriting, name))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A name for each time that pytest itself rewrites the test file, from here on."""
    names: list[str] = []
    patched: Any = rewriting
    rewrite = patched._rewrite_test

    def _rewrite_test(path: Path, config: Any) -> Any:
        names.extend([path.name] if path.name == "test_it.py" else [])  # not the plugins that happen to be installed
        return rewrite(path, config)

    monkeypatch.setattr(rewriting, "_rewrite_test", _rewrite_test)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    return names


def _collect(pytester: pytest.Pytester) -> None:
    pytester.inline_run("-p", "no:cacheprovider").assertoutcome(passed=1)


def test_a_file_is_rewritten_once(pytester: pytest.Pytester, counted: list[str]) -> None:
    pytester.makepyfile(test_it="def test_it(): assert 1 == 1")
    Rewritten().install()
    for _ in range(3):
        _collect(pytester)
    assert counted == ["test_it.py"]


def test_a_file_that_changed_is_rewritten_again(pytester: pytest.Pytester, counted: list[str]) -> None:
    path = pytester.makepyfile(test_it="def test_it(): assert 1 == 1")
    Rewritten().install()
    _collect(pytester)
    path.write_text("def test_it(): assert 2 == 2")
    os.utime(path, ns=(1, 1))
    _collect(pytester)
    assert counted == ["test_it.py"] * 2


def test_another_interpreter_takes_it_over(pytester: pytest.Pytester, counted: list[str], tmp_path: Path) -> None:
    pytester.makepyfile(test_it="def test_it(): assert 1 == 1")
    first = Rewritten().install()
    _collect(pytester)
    first.save(tmp_path)
    again = Rewritten.load(tmp_path)
    patched: Any = rewriting
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(patched, "_read_pyc", lambda *_: None)
        again.install()
        _collect(pytester)
    assert counted == ["test_it.py"]


def test_what_was_closed_keeps_no_more(pytester: pytest.Pytester, counted: list[str]) -> None:
    pytester.makepyfile(test_it="def test_it(): assert 1 == 1")
    known = Rewritten().install()
    known.close()
    _collect(pytester)
    _collect(pytester)
    assert counted == ["test_it.py"] * 2


def test_nothing_saved_is_nothing_known(tmp_path: Path) -> None:
    assert Rewritten.load(tmp_path).install()


def test_our_own_modules_are_spared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        from unittest.mock import Mock
        from _pytest.assertion.rewrite import AssertionRewritingHook
        from pytest_killmatrix.rewritten import Rewritten

        def test_it():
            hook = next(finder for finder in sys.meta_path if isinstance(finder, AssertionRewritingHook))
            hook.mark_rewrite("pytest_killmatrix", "another")
            assert hook._is_marked_for_rewrite("pytest_killmatrix.model", Mock())
            Rewritten().install()
            assert not hook._is_marked_for_rewrite("pytest_killmatrix.model", Mock())
            assert hook._is_marked_for_rewrite("another", Mock())
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
