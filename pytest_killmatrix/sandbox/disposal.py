"""Removing sandboxes, whatever became of the process that used them.

The standard library only: it is also run as a program (``disposal.py PROCESS FOLDER``), which waits for the end of a
process and then removes its sandbox.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

PREFIX: Final = "killmatrix-sandbox-"
_OWNER: Final = "owner"
_ABANDONED: Final = 3600.0  # seconds after which a folder that nobody signed is nobody's
_CHILDREN_NOTICE: Final = 3.0  # seconds after which the children of a killed process have noticed, and ended


def sign(folder: Path) -> None:
    """Note that this process uses a sandbox."""
    (folder / _OWNER).write_text(str(os.getpid()), encoding="ascii")


def remove(folder: Path) -> None:
    """Remove a sandbox, also where something in it is write-protected."""

    inside = f"{folder}{os.sep}"

    def again(function: Callable[[str], object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            if os.fspath(path).startswith(inside):  # what the sandbox itself is in is none of ours
                os.chmod(os.path.dirname(path), 0o700)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
            function(path)

    with contextlib.suppress(OSError):
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=again)
        else:
            shutil.rmtree(folder, onerror=again)
    shutil.rmtree(folder, ignore_errors=True)


def remove_stale(temporary: Path) -> None:
    """Remove the sandboxes of this user whose processes are gone."""
    for folder in temporary.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            owner = folder / _OWNER
            if not owner.exists():
                abandoned = time.time() - folder.stat().st_mtime > _ABANDONED
            else:
                abandoned = not _alive(int(owner.read_text(encoding="ascii")))
            if abandoned:
                remove(folder)


def watch(folder: Path) -> int:
    """Start the program that removes the sandbox if this process cannot; its process number.

    It is nobody's child: a test that waits for any child must not find it.
    """
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(folder)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/") as process:
        assert process.stdout is not None
        return int(process.stdout.readline())


def main() -> None:
    """The program."""
    watched, folder = int(sys.argv[1]), Path(sys.argv[2])
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        os._exit(0)
    os.setsid()
    for number in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    _wait_for(watched)
    if folder.exists():
        time.sleep(_CHILDREN_NOTICE)
    for _ in range(30):
        if not folder.exists():
            break
        remove(folder)
        time.sleep(1)


def _wait_for(process: int) -> None:
    wait: Any = getattr(os, "pidfd_open", None)
    if wait is not None:
        with contextlib.suppress(OSError):  # gone, or a kernel without it
            select.select([wait(process)], [], [])
    while _alive(process):
        time.sleep(0.5)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    main()
