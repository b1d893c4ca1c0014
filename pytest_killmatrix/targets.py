"""Which files are mutated, and which are not because they belong to the tests."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

_NOT_PRODUCT: Final = frozenset({"setup.py", "noxfile.py", "conftest.py", "tasks.py"})
_TEST_FOLDERS: Final = frozenset({"tests", "test"})
_SKIPPED_FOLDERS: Final = frozenset(
    {"__pycache__", "node_modules", "site-packages", "build", "dist", "docs", "examples"}
)


@dataclass(frozen=True, slots=True)
class Targets:
    """The files under mutation: resolved path by the name that people read; and how they were chosen."""

    files: dict[str, Path]
    chosen_by: str
    authored: frozenset[str] = frozenset()  # files that only have authored variants, which are no mutants to be made

    @property
    def mutated(self) -> list[str]:
        """The files of which mutants are made."""
        return [name for name in self.files if name not in self.authored]

    def with_authored(self, files: Mapping[str, Path]) -> Targets:
        """These, and the files that authored variants stand in for."""
        more = frozenset(files) - frozenset(self.files)
        return Targets({**self.files, **files}, self.chosen_by, self.authored | more)

    def described(self) -> str:
        """What was chosen, and how, in one line."""
        names = self.mutated
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"mutated ({self.chosen_by}): {', '.join(names[:3])}{more}"


def choose(config: pytest.Config, paths: Sequence[str], test_files: Iterable[Path]) -> Targets:
    """Files to mutate: those asked for, else coverage's, else the packages found; files of tests left out."""
    root = config.rootpath
    patterns = [str(pattern) for pattern in config.getini("python_files")]
    tests = {path.resolve() for path in test_files}
    if paths:
        asked = [_asked(config, path) for path in paths]
        chosen_by = "as asked"
    elif covered := _coverage_paths(root):
        asked, chosen_by = covered, "from coverage's configuration"
    else:
        asked, chosen_by = _packages(root, patterns, tests), "packages found in the project"
    files: dict[str, Path] = {}
    for path in asked:
        explicit = path.is_file() and bool(paths)
        if explicit and path.resolve() in tests:
            name = _name(path, root)
            raise pytest.UsageError(f"--mutate={name}: its tests are run; name the code that they are about")
        for file in _walk(path):
            if explicit or not _is_test(file, path, patterns, tests):
                files[_name(file, root)] = file.resolve()
    return Targets(dict(sorted(files.items())), chosen_by)


def chosen_at(
    place: Path, root: Path, paths: Sequence[Path], patterns: Sequence[str], test_files: Iterable[str]
) -> frozenset[str]:
    """What ``choose`` would take in another state of the project, which lies at ``place``: paths relative to that.

    ``root`` is the project, whose ``paths`` were chosen there (none: the packages found); ``test_files`` are relative.
    """
    tests = {(place / name).resolve() for name in test_files}
    if paths:
        asked = [place / path.relative_to(root) for path in paths if path.is_relative_to(root)]
    else:
        asked = _packages(place, patterns, tests) if place.is_dir() else []
    files = (
        file for path in asked if path.exists() for file in _walk(path) if not _is_test(file, path, patterns, tests)
    )
    return frozenset(file.relative_to(place).as_posix() for file in files)


def paths_of(config: pytest.Config, paths: Sequence[str]) -> list[Path]:
    """The files and folders that ``choose`` takes; none where it takes the packages that it finds."""
    return [_asked(config, path) for path in paths] if paths else _coverage_paths(config.rootpath)


def twins(files: Mapping[str, Path], modules: Mapping[str, Any]) -> dict[str, str]:
    """Files that are not loaded though a module of their name is, from elsewhere: a second, installed copy.

    By the name that people read, the path of what is loaded instead. ``modules`` is ``sys.modules``.
    """
    found = {}
    for name, path in files.items():
        module = modules.get(_dotted(path))
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and os.path.realpath(origin) != str(path):
            found[name] = origin
    return found


def _dotted(path: Path) -> str:
    """The name under which a file of a regular package is imported."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts))


def _asked(config: pytest.Config, text: str) -> Path:
    for base in (config.invocation_params.dir, config.rootpath):
        path = Path(os.path.abspath(base / text))
        if path.exists():
            if path.is_file() and path.suffix != ".py":
                raise pytest.UsageError(f"--mutate={text}: not a Python file")
            return path
    if text.replace(".", "").isidentifier():
        try:
            spec = getattr(sys.modules.get(text), "__spec__", None) or importlib.util.find_spec(text)
        except (ImportError, ValueError):
            spec = None
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations)))
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            return Path(spec.origin)
    raise pytest.UsageError(f"--mutate={text}: no such file, directory or importable module")


def _coverage_paths(root: Path) -> list[Path]:
    """What coverage.py is told to measure, where that names things below the project."""
    if not any("coverage" in _text(root / name) for name in ("setup.cfg", "tox.ini", "pyproject.toml")) and not any(
        (root / name).is_file() for name in (".coveragerc", ".coveragerc.toml")
    ):
        return []
    wanted = _ask_coverage(root)
    found: list[Path] = []
    for text in wanted:
        if any(char in text for char in "*?["):
            found.extend(path for path in sorted(root.glob(text.lstrip("/"))) if path.suffix == ".py" or path.is_dir())
        elif (root / text).exists():
            found.append(root / text)
        else:
            found.extend(place for base in (root / "src", root) if (place := base / text.replace(".", "/")).is_dir())
    return found


def _ask_coverage(root: Path) -> list[str]:
    """Its ``source`` and ``include``, asked in a process of its own: tests will run in this one."""
    code = (
        "import coverage, json; cover = coverage.Coverage(data_file=None, messages=False); "
        "print(json.dumps([*(cover.get_option('run:source') or ()), *(cover.get_option('run:include') or ())]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        return []  # its configuration is broken: coverage itself will tell
    found: list[str] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _packages(root: Path, patterns: Sequence[str], tests: set[Path]) -> list[Path]:
    for base in (root / "src", root):
        if not base.is_dir():
            continue
        packages = [
            folder
            for folder in sorted(base.iterdir())
            if (folder / "__init__.py").is_file() and not _is_skipped(folder) and folder.name not in _TEST_FOLDERS
        ]
        modules = [
            file
            for file in sorted(base.glob("*.py"))
            if file.name not in _NOT_PRODUCT and not _is_test(file, base, patterns, tests)
        ]
        if packages or modules:
            return packages + modules
    return []


def _walk(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(folder, name)))
        for name in sorted(names):
            if name.endswith(".py"):
                yield Path(folder, name)


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED_FOLDERS or (folder / "pyvenv.cfg").is_file()


def _is_test(file: Path, below: Path, patterns: Sequence[str], tests: set[Path]) -> bool:
    if file.name == "conftest.py" or file.resolve() in tests:
        return True
    if any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns if "/" not in pattern):
        return True
    return any(part in _TEST_FOLDERS for part in file.relative_to(below).parts[:-1]) if file != below else False


def _name(file: Path, root: Path) -> str:
    inside = next((path for path in (file, file.resolve()) if path.is_relative_to(root)), None)
    return inside.relative_to(root).as_posix() if inside is not None else file.as_posix()
