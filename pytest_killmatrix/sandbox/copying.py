"""What of a project is copied, and how: never a hard link, and no link that leads back into the user's tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: made by tools and made again by them; version control, which is not the project's code
_LEFT_OUT: Final = frozenset(
    {
        ".git", ".hg", ".svn", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
        "__pycache__", "node_modules",
    }
)  # fmt: skip
#: ignored by git all the same, and imported or looked up: generated code, built extensions, an installation's metadata
_CODE: Final = (".py", ".so", ".pyd", ".dll", ".dylib", ".pth")
_METADATA: Final = (".egg-info", ".dist-info")


def copy_project(root: Path, copy: Path) -> None:
    """Copy the project below ``root`` to ``copy``, which does not exist.

    Where git knows the project: what is tracked or not ignored, and what is ignored but code or an installation's
    metadata. Otherwise everything but caches, virtual environments and version control.
    """
    known = known_to_git(root)
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        relative = here.relative_to(root)
        folders[:] = [name for name in folders if not _is_left_out(here / name)]
        target = copy / relative
        target.mkdir(mode=0o700)
        for name in (*folders, *names):
            source = here / name
            if source.is_symlink():
                if _is_wanted(relative / name, known):
                    os.symlink(_link(source, root, copy), target / name)
            elif name in names and source.is_file() and _is_wanted(relative / name, known):
                shutil.copy2(source, target / name)
    _copy_modes(root, copy)


def _is_left_out(folder: Path) -> bool:
    return folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").is_file()


def _is_wanted(path: Path, known: frozenset[str] | None) -> bool:
    if path.name.startswith(".killmatrix"):
        return False
    if known is None or path.name.endswith(_CODE):
        return True
    if any(part.endswith(_METADATA) for part in path.parts):
        return True
    # a folder that git lists is a repository of its own, of which everything is taken
    return any(place.as_posix() in known for place in (path, *path.parents))


def known_to_git(root: Path) -> frozenset[str] | None:
    """Paths that git tracks or would, relative to ``root``; None outside git, and where all of ``root`` is ignored."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"}, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    names = frozenset(os.fsdecode(name).rstrip("/") for name in done.stdout.split(b"\0") if name)
    return names if done.returncode == 0 and names else None


def _link(source: Path, root: Path, copy: Path) -> str:
    """Where the copy of a link leads: to the same place, but within the project to the copy of it."""
    text = os.readlink(source)
    place = Path(os.path.normpath(source.parent / text))
    inside = place.is_relative_to(root)
    if os.path.isabs(text):
        return str(copy / place.relative_to(root)) if inside else text
    return text if inside else str(place)


def _copy_modes(root: Path, copy: Path) -> None:
    """The folders' modes, last: a read-only one could not be filled."""
    for folder in _folders(copy):
        shutil.copystat(root / folder.relative_to(copy), folder)


def _folders(copy: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(copy, topdown=False):
        yield Path(folder)
