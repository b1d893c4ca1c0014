"""The project as it would be with the tests that it had at a ref: a copy in which the test side is exchanged."""

from __future__ import annotations

import configparser
import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_killmatrix import targets
from pytest_killmatrix.baseline import testside
from pytest_killmatrix.baseline.repository import Repository
from pytest_killmatrix.baseline.testside import Project, TestSide
from pytest_killmatrix.sandbox.copying import copy_project, known_to_git


@dataclass(frozen=True, slots=True)
class Old:
    """The laid out tree: the copy of the repository's top, and of the project in it; the test side that it has now.

    ``side`` is the one in the user's tree; ``notes`` are for the report.
    """

    top: Path
    root: Path
    project: Project
    side: TestSide
    now: TestSide
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Looks:
    """What says which files belong to the tests, in any state of the project (``testside.Project``).

    ``root`` is where the project is now, ``paths`` is what of it was chosen to be mutated (``targets.paths_of``).
    """

    patterns: Sequence[str]
    mutated: frozenset[str]
    collected: frozenset[str]
    globs: Sequence[str]
    root: Path
    paths: Sequence[Path] = ()
    documents: Sequence[str] = ()

    def at(self, place: Path, files: frozenset[str], tests: frozenset[str] = frozenset()) -> Project:
        """The project in the state that lies at ``place``; ``tests`` belong to the tests today.

        What would have been mutated in that state is no test's either, such as a module that has another name today.
        """
        product = self.mutated
        if place != self.root:
            then = targets.chosen_at(place, self.root, self.paths, self.patterns, self.collected)
            names = frozenset(map(_import_name, self.mutated))
            then |= frozenset(path for path in files if path.endswith(".py") and _import_name(path) in names)
            product |= then - tests
        return Project(files, Reader(place), self.patterns, product, self.collected, self.globs, self.documents)


def current(root: Path, looks: Looks) -> Project:
    """The project in the user's tree: what git tracks or would, or all files where it knows none."""
    known = known_to_git(root)
    files = (
        frozenset(_files(root)) if known is None else frozenset(path for path in known if _is_file(root / path, root))
    )
    return looks.at(root, files)


def lay_out(
    repository: Repository, commit: str, here: Project, side: TestSide, looks: Looks, folder: Path, ini: Path | None
) -> Old:
    """Copy the repository into ``folder``, which is empty, and put the test side of ``commit`` in place of today's."""
    checkout = folder / "ref"
    checkout.mkdir()
    repository.check_out(commit, checkout)
    there = checkout / "tree" / repository.prefix
    project = looks.at(there, frozenset(_files(there)) if there.is_dir() else frozenset(), side.files)
    old_side = testside.find(project)
    top = folder / repository.top.name
    copy_project(repository.top, top)
    root = top / repository.prefix
    for path in side.files:
        _remove(root / path, root)
    for path in sorted(old_side.files):
        target = root / path
        _make_way(target, root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)  # of today, and nothing of it belongs to the tests
        _remove(target, root)
        shutil.move(there / path, target)
    now = (here.files - side.files) | old_side.files
    notes = []
    if ini is not None and ini.is_relative_to(repository.root):
        name = ini.relative_to(repository.root)
        if _settings(there / name) != _settings(ini):
            notes.append(f"pytest's settings in {name.as_posix()} have changed; both suites ran with today's")
    shutil.rmtree(checkout, ignore_errors=True)
    project = looks.at(root, now, side.files | old_side.files)
    return Old(top, root, project, testside.find(project), side, tuple(notes))


def whole(repository: Repository, commit: str, looks: Looks, folder: Path) -> Old:
    """Everything as it was at ``commit``, below ``folder``, which is empty."""
    repository.check_out(commit, folder)
    top = folder / "tree"
    root = top / repository.prefix
    project = looks.at(root, frozenset(_files(root)) if root.is_dir() else frozenset())
    side = testside.find(project)
    return Old(top, root, project, side, side)


def _import_name(path: str) -> str:
    """The dotted name of a file's module, as far as its path tells."""
    return path.removesuffix(".py").removesuffix("/__init__").removeprefix("src/").replace("/", ".")


class Reader:
    """Reads files below a folder, each once; where one is a link that leads nowhere, where it leads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, bytes] = {}

    def __call__(self, path: str) -> bytes:
        if path not in self._read:
            place = self._root / path
            self._read[path] = place.read_bytes() if place.is_file() else os.fsencode(os.readlink(place))
        return self._read[path]

    def __reduce__(self) -> tuple[type[Reader], tuple[Path]]:
        return Reader, (self._root,)  # what was read stays here


def _files(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__")]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*names, *links):
            yield Path(folder, name).relative_to(root).as_posix()


def _is_file(path: Path, root: Path) -> bool:
    """A link to a folder is one too, as where it leads can change; what is found through such a link is not."""
    return (path.is_symlink() or path.is_file()) and not _through_link(path, root)


def _through_link(path: Path, root: Path) -> bool:
    """Whether a folder on the way from ``root`` is a link."""
    return any(folder.is_symlink() for folder in path.parents if folder != root and folder.is_relative_to(root))


def _make_way(path: Path, root: Path) -> None:
    """Take away what stands where a folder above ``path`` has to be: through a link one would write somewhere else."""
    for folder in reversed(path.parents):
        if folder != root and folder.is_relative_to(root) and (folder.is_symlink() or folder.is_file()):
            folder.unlink()


def _remove(path: Path, root: Path) -> None:
    """Take a file away, and the folders that it leaves empty: an empty package is a namespace."""
    if not os.path.lexists(path) or _through_link(path, root):
        return
    path.unlink()
    for folder in path.parents:
        if folder == root or not folder.is_relative_to(root):
            break
        try:
            folder.rmdir()
        except OSError:
            break


def _settings(path: Path) -> object:
    """What a configuration file says to pytest."""
    try:
        if path.suffix == ".toml":
            if sys.version_info < (3, 11):
                return None  # nothing to read it with
            toml: Any = importlib.import_module("tomllib")
            return toml.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("pytest")
        parser = configparser.RawConfigParser(strict=False)
        parser.read(path, encoding="utf-8")
        return [sorted(parser.items(name)) for name in ("pytest", "tool:pytest") if parser.has_section(name)]
    except (OSError, ValueError, configparser.Error):
        return None
