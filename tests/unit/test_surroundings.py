"""What the process was before the project ran: every aspect that an import may change is noticed, looking is not."""

from __future__ import annotations

import atexit
import builtins
import copyreg
import locale
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_killmatrix import environment
from pytest_killmatrix.surroundings import Surroundings


def _nothing() -> None:
    pass


def _change_builtin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(builtins, "print", lambda *_: None)


def _add_builtin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(builtins, "SHOP", 1, raising=False)


def _add_finder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "meta_path", [*sys.meta_path, object()])


def _set_level(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(logging.getLogger("killmatrix.surroundings"), "level", 10)


def _add_handler(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(logging.root, "handlers", [*logging.root.handlers, logging.NullHandler()])


def _filter(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(warnings, "filters", [("error", None, UserWarning, None, 0), *warnings.filters])


def _limit(patch: pytest.MonkeyPatch) -> None:
    before = sys.getrecursionlimit()
    patch.setattr(sys, "getrecursionlimit", lambda: before + 1)


def _pickle(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(copyreg.dispatch_table, Surroundings, _nothing)  # type: ignore[arg-type]


def _variable(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("SHOP_LEVEL", "2")


def _other_locale(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(locale, "setlocale", lambda *_: "xx_YY")


CHANGES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a builtin replaced": ("builtins", _change_builtin),
    "a builtin added": ("builtins", _add_builtin),
    "a finder": ("finders", _add_finder),
    "a level": ("logging", _set_level),
    "a handler": ("logging", _add_handler),
    "a filter": ("warnings", _filter),
    "a limit": ("recursion", _limit),
    "a pickler": ("copyreg", _pickle),
    "a variable": ("environ", _variable),
    "a locale": ("locale", _other_locale),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    aspect, change = CHANGES[name]
    before = Surroundings()
    change(monkeypatch)
    assert before.changed() == {aspect}


def test_an_exit_handler_is_noticed() -> None:
    before = Surroundings()
    atexit.register(_nothing)
    try:
        assert before.changed() == {"atexit"}
    finally:
        atexit.unregister(_nothing)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    before = Surroundings()
    assert os.environ.get("PATH") is not None
    assert builtins.len("ab") == 2
    assert before.changed() == frozenset()
    assert before.environ == dict(os.environ)


def test_what_pytest_sets_for_itself_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Surroundings()
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another")
    assert before.changed() == frozenset()


def test_equal_values_are_the_same_and_equal_objects_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = object()
    monkeypatch.setattr(builtins, "SHOP", value, raising=False)
    before = Surroundings()
    monkeypatch.setattr(builtins, "SHOP", object())
    assert before.changed() == {"builtins"}
    monkeypatch.setattr(builtins, "SHOP", value)
    assert before.changed() == frozenset()


def test_a_file_that_the_screen_goes_into_is_known(tmp_path: Path) -> None:
    (tmp_path / "code.py").touch()
    with open(tmp_path / "screen.txt", "w") as screen, open(os.devnull) as null:
        wanted = [os.fstat(screen.fileno()), os.fstat(null.fileno())]
        assert environment.same_files(tmp_path, wanted) == [tmp_path / "screen.txt"]
        assert environment.same_files(tmp_path, wanted[1:]) == []
