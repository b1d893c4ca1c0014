"""A temporary directory of its own for every child: what a mutant leaves, fills or deletes there is nobody else's."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

_VARIABLES: Final = ("TMPDIR", "TEMP", "TMP")
_LONGEST: Final = 75  # of the 107 that a socket's path may have; multiprocessing adds 32


class Scratch:
    """The directories, one a slot: made once, emptied after a child that touched its own."""

    def __init__(self, folder: Path, holder: str | None) -> None:
        self._folder = folder
        self._off = holder is not None or len(self._of(99)) > _LONGEST
        self._untouched: dict[int, int] = {}

    def _of(self, slot: int) -> str:
        return f"{self._folder}/t{slot}"

    def prepare(self, slots: int) -> None:
        """Make the directories, in the process that forks."""
        for slot in range(0 if self._off else slots):
            self._make(slot)

    def enter(self, slot: int) -> None:
        """The slot's directory is this process's, and of those it starts."""
        if not self._off:
            path = self._of(slot)
            os.environ.update(dict.fromkeys(_VARIABLES, path))
            tempfile.tempdir = path

    def empty(self, slot: int) -> None:
        """Remove what the slot's child left; its process group has ended."""
        path = self._of(slot)
        if self._off or _changed(path) == self._untouched.get(slot):
            return
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
        shutil.rmtree(path, ignore_errors=True)
        self._make(slot)

    def _make(self, slot: int) -> None:
        path = self._of(slot)
        with contextlib.suppress(OSError):
            os.mkdir(path, 0o700)
        self._untouched[slot] = _changed(path)


def _changed(path: str) -> int:
    """When anything in a directory, or its mode, changed last."""
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return 0


def holder_of(root: Path, modules: Iterable[Any]) -> str | None:
    """A name of the project's that holds the temporary directory since it was imported; tests may compare it.

    Given another directory, code and tests would disagree where they agree in plain pytest.
    """
    temporary = tempfile.gettempdir()
    inside = f"{root}{os.sep}"
    for module in list(modules):
        if not str(getattr(module, "__file__", None) or "").startswith(inside):
            continue
        for name, value in list(vars(module).items()):
            if type(value) is str or isinstance(value, Path):
                folder = f"{value}{os.sep}"
                # the project may be among temporary files itself
                own = folder.startswith(inside) or (inside.startswith(folder) and str(value) != temporary)
                if folder.startswith(temporary + os.sep) and not own:
                    return f"{module.__name__}.{name}"
    return None
