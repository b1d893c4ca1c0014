"""What a run was made in: commit, interpreter, and a fingerprint that says whether it may be resumed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules"})


def commit_of(root: Path) -> tuple[str | None, bool]:
    """(commit, dirty) of the repository at ``root``; (None, False) outside git. Neither tree nor index is touched."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}

    def ask(*words: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *words], cwd=root, env=environment, capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = ask("rev-parse", "HEAD")
    return commit, bool(commit and ask("status", "--porcelain", "--untracked-files=no"))


def platform_name() -> str:
    """Operating system and processor, such as ``linux-x86_64``."""
    return f"{sys.platform}-{platform.machine()}"


def python_version() -> str:
    """The running Python's version."""
    return platform.python_version()


def hash_seed() -> int | None:
    """The hash seed, where one was set."""
    text = os.environ.get("PYTHONHASHSEED", "")
    return int(text) if text.isdigit() else None


def file_hashes(root: Path, sidecar: Path, written: Iterable[Path] = ()) -> dict[str, str]:
    """SHA-256 of every file below ``root`` that could matter: hidden folders, caches and environments left out.

    Nor do the ``sidecar``, with what SQLite puts beside it, and the files ``written`` by the run matter.
    """
    skip = frozenset(written)
    return {
        str(path.relative_to(root)): digest_of(path)
        for path in _files(root)
        if path not in skip and not str(path).startswith(str(sidecar))
    }


def linked_folders(root: Path) -> dict[str, str]:
    """Where links to folders below ``root`` lead, by their names; nothing of those folders is in ``file_hashes``."""
    found = {}
    for folder, folders, _ in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
        for name in folders:
            path = Path(folder, name)
            if path.is_symlink():
                found[path.relative_to(root).as_posix()] = os.readlink(path)
    return found


def same_files(root: Path, wanted: Sequence[os.stat_result]) -> list[Path]:
    """The files below ``root`` that are one of these."""
    regular = [status for status in wanted if stat.S_ISREG(status.st_mode)]
    if not regular:
        return []
    return [path for path in _files(root) if any(os.path.samestat(path.stat(), status) for status in regular)]


def facts() -> dict[str, object]:
    """The interpreter, the platform, the hash seed, and what is installed."""
    return {
        "python": sys.version,
        "platform": platform.platform(),
        "installed": sorted(
            f"{distribution.metadata['Name']}=={distribution.version}"
            for distribution in importlib.metadata.distributions()
        ),
        "hash_seed": hash_seed(),
        "flags": [str(sys.flags), list(sys.warnoptions), sorted(map(str, sys._xoptions.items()))],
    }


def fingerprint(
    around: Mapping[str, object],
    files: Mapping[str, str],
    options: Mapping[str, object],
    selection: Iterable[str],
    root: Path,
) -> str:
    """One hash over sources, tests, configuration, options, environment (``facts``) and the tests selected.

    Where the project is does not matter: a sandbox is somewhere else every time.
    """
    everything = {
        **around,
        "files": dict(sorted(files.items())),
        "options": dict(options),
        "selection": list(selection),
    }
    text = json.dumps(everything, sort_keys=True, default=str).replace(json.dumps(str(root))[1:-1], "")
    return hashlib.sha256(text.encode()).hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _LEFT_OUT and not Path(folder, name, "pyvenv.cfg").is_file()
        )
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".killmatrix") and not name.endswith((".pyc", ".pyo")) and path.is_file():
                yield path


def digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        return f"unreadable: {error.errno}"
    return digest.hexdigest()


def own_cpu() -> float:
    """CPU seconds of this process and of the children it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
