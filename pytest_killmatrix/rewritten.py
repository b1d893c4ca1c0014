"""The code of test modules whose assertions pytest rewrote, kept: collecting a file again need not rewrite it again."""

from __future__ import annotations

import marshal
import os
import sys
import types
from pathlib import Path
from typing import Any, Final

import _pytest.assertion.rewrite as rewriting
import pytest

_FILE: Final = "rewritten"  # in the run's directory
_Key = tuple[str, int, int]  # path, modification time in ns, size


class Rewritten:
    """Remembers what pytest rewrites or reads from its cache in this process, from ``install`` to ``close``.

    Without a cache on disk (PYTHONDONTWRITEBYTECODE, a read-only tree) rewriting is most of what collecting costs.
    """

    NAME: Final = "killmatrix-rewritten"

    def __init__(self) -> None:
        self._code: dict[_Key, types.CodeType] = {}
        self._open = True

    def install(self) -> Rewritten:
        """From now on pytest asks here first."""
        rewrite: Any = rewriting._rewrite_test
        read: Any = rewriting._read_pyc

        def _rewrite_test(path: Path, config: Any) -> Any:
            key = _key(path)
            stamp, code = rewrite(path, config)
            self._keep(key, code)
            return stamp, code

        def _read_pyc(source: Path, *rest: Any) -> types.CodeType | None:
            key = _key(source)
            code: types.CodeType | None = self._code.get(key) if key is not None else None
            if code is None:
                code = read(source, *rest)
                self._keep(key, code)
            return code

        _spare_our_own()
        patched: Any = rewriting
        patched._rewrite_test, patched._read_pyc = _rewrite_test, _read_pyc
        return self

    def close(self) -> None:
        """Remember no more."""
        self._open = False

    def save(self, directory: Path) -> None:
        """Write what is known, for other interpreters of this kind."""
        (directory / _FILE).write_bytes(marshal.dumps(self._code))

    @classmethod
    def of(cls, config: pytest.Config) -> Rewritten:
        """That of this session; one that knows nothing where there is none."""
        found = config.pluginmanager.get_plugin(cls.NAME)
        return found if isinstance(found, cls) else cls()

    @classmethod
    def load(cls, directory: Path) -> Rewritten:
        """What another process saved."""
        known = cls()
        path = directory / _FILE
        if path.exists():
            known._code = marshal.loads(path.read_bytes())
        return known

    def _keep(self, key: _Key | None, code: types.CodeType | None) -> None:
        if self._open and key is not None and code is not None:
            self._code[key] = code


def _spare_our_own() -> None:
    """Our modules have no assertions to rewrite; without a cache, finding that out costs time in every process."""
    ours = __name__.partition(".")[0]
    for finder in sys.meta_path:
        if isinstance(finder, rewriting.AssertionRewritingHook):
            finder._must_rewrite.discard(ours)
            finder._marked_for_rewrite_cache.clear()


def _key(path: Path) -> _Key | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return str(path), found.st_mtime_ns, found.st_size
