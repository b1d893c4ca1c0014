"""Import again, in a child, the mutated module and all that imports connect with it."""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from pytest_killmatrix.child.verdict import first_line
from pytest_killmatrix.executor.protocol import Splice


def start(modules: Sequence[str], own: Sequence[str], splice: Splice | None) -> str | None:
    """Drop ``modules``, import ``own`` anew; why the mutated file cannot be imported, or None.

    An importer that cannot be imported is another matter: its tests will say so when they are collected.
    """
    for name in modules:
        module = sys.modules.pop(name, None)
        parent, _, attribute = name.rpartition(".")
        package = sys.modules.get(parent)
        if module is not None and package is not None and vars(package).get(attribute) is module:
            delattr(package, attribute)  # or ``from package import module`` would find the old one
    for name in own:
        why = why_not(name, splice)
        if why is not None:
            return why
    return None


def why_not(name: str, splice: Splice | None) -> str | None:
    """Why the mutated file cannot be imported under this name, or None; where it is loaded already, nothing happens."""
    try:
        importlib.import_module(name)
    except BaseException as error:  # a mutated guard may well exit
        if splice is not None and _raised_in(error, splice.path):
            return _text(error)
        if isinstance(error, KeyboardInterrupt):
            raise
    return None


def note_failure(path: str) -> list[str]:
    """From now on the first failure to import the file at ``path`` (resolved) is noted in the list that is returned."""
    noted: list[str] = []
    loader: Any = importlib.machinery.SourceFileLoader
    execute = loader.exec_module

    def exec_module(self: Any, module: Any) -> Any:
        try:
            return execute(self, module)
        except BaseException as error:
            if not noted and os.path.realpath(getattr(module, "__file__", "") or "") == path:
                noted.append(_text(error))
            raise

    loader.exec_module = exec_module
    return noted


def _text(error: BaseException) -> str:
    return f"cannot be imported: {type(error).__name__}: {first_line(error)}"


def finish(modules: Sequence[str]) -> None:
    """Import what the test files did not; without it, code that finds modules in ``sys.modules`` would miss them."""
    for name in modules:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except KeyboardInterrupt:
                raise
            except BaseException:
                sys.modules.pop(name, None)  # whoever needs it gets the same error


def _raised_in(error: BaseException, path: str) -> bool:
    """Whether the module-level code of the file was running when the exception arrived."""
    return any(
        frame.f_code.co_name == "<module>" and os.path.realpath(frame.f_code.co_filename) == path
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ) or (isinstance(error, SyntaxError) and os.path.realpath(error.filename or "") == path)
