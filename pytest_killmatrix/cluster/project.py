"""The project at a worker: seen at the same place, or unpacked from an archive; and what is started there.

The standard library, and the sandbox's: Dask workers load this.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.environment import digest_of
from pytest_killmatrix.sandbox.copying import copy_project
from pytest_killmatrix.sandbox.places import Places

#: set to anything for a worker that is not to work in the project's own directory
UNPACK: Final = "KILLMATRIX_UNPACK"
#: what the environment says of the machine and its user, and not of the project
_OF_THE_MACHINE: Final = frozenset(
    {
        "CONDA_DEFAULT_ENV", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES", "HOME", "HOSTNAME", "LD_LIBRARY_PATH", "LOGNAME",
        "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD", "PYTHONHOME", "SHELL", "TEMP",
        "TMP", "TMPDIR", "USER", "VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
    }
)  # fmt: skip


def is_visible(root: str, cwd: str, manifest: Mapping[str, str]) -> bool:
    """Whether the same project is at the same place here."""
    if os.environ.get(UNPACK):
        return False
    return os.path.isdir(cwd) and not changed(root, manifest)


def changed(root: str, manifest: Mapping[str, str]) -> list[str]:
    """The files of the manifest that are not the same below ``root``."""
    return [name for name, digest in manifest.items() if digest_of(Path(root, name)) != digest]


def pack(root: Path) -> bytes:
    """An archive of what the sandbox would copy."""
    with tempfile.TemporaryDirectory(prefix="killmatrix-archive-") as folder:
        copy = Path(os.path.realpath(folder)) / "project"
        copy_project(root, copy)

        def relative(member: tarfile.TarInfo) -> tarfile.TarInfo:
            if member.issym() and os.path.isabs(member.linkname) and Path(member.linkname).is_relative_to(copy):
                here = copy / os.path.dirname(member.name)
                member.linkname = os.path.relpath(member.linkname, here)
            return member

        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            archive.add(copy, ".", filter=relative)
        return buffer.getvalue()


def unpack(archive: bytes, target: Path) -> None:
    """Make the project at ``target``, which does not exist."""
    target.mkdir(mode=0o700)
    safely: dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        opened.extractall(target, **safely)


def free_for(archive: bytes, folder: str) -> bool:
    """Whether a folder's file system has room for several times the archive."""
    return shutil.disk_usage(folder).free > 4 * len(archive)


def environment(ours: Mapping[str, str], machine: Mapping[str, str]) -> dict[str, str]:
    """The controller's environment, but for what a worker's says of its machine."""
    kept = {name: value for name, value in ours.items() if name not in _OF_THE_MACHINE}
    return kept | {name: value for name, value in machine.items() if name in _OF_THE_MACHINE}


def moved(
    root: str, copy: str, cwd: str, arguments: Iterable[str], environ: Mapping[str, str], folders: Iterable[str]
) -> tuple[list[str], dict[str, str], str]:
    """Arguments, environment and directory of the same command in an unpacked copy of the project."""
    places = Places(Path(root), Path(copy), Path(cwd))
    words = places.arguments(list(arguments), ())
    if not any(word.split("=", 1)[0] == "--rootdir" for word in words):
        at = words.index("--") if "--" in words else len(words)
        words.insert(at, f"--rootdir={copy}")
    return words, places.environment(environ, (Path(copy, folder) for folder in folders)), str(places.new_cwd)
