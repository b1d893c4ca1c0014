"""Removing a sandbox touches nothing but the sandbox."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pytest_killmatrix.sandbox import disposal


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def protected(folder: Path) -> None:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text("")
    (folder / "link").symlink_to(folder.parent / "elsewhere")
    (folder / "inner").chmod(0o500)
    folder.chmod(0o500)


@pytest.mark.parametrize("kind", ["gone", "protected", "plain"])
def test_the_folder_that_it_is_in_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "killmatrix-sandbox-x"
    elsewhere.mkdir(mode=0o755)
    os.chmod(tmp_path, 0o751)
    if kind != "gone":
        folder.mkdir()
    if kind == "protected":
        protected(folder)
    disposal.remove(folder)
    assert not folder.exists()
    assert mode(tmp_path) == 0o751
    assert mode(elsewhere) == 0o755
