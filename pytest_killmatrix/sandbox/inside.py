"""What a process in the copy knows of the user's tree."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_killmatrix import options
from pytest_killmatrix.sandbox import disposal


@dataclass(frozen=True, slots=True)
class Inside:
    """The user's tree, the folder of the sandbox, and who removes that if nobody else does.

    None where it is another process that made the sandbox and will remove it.
    """

    root: Path
    folder: Path
    watcher: int | None

    @classmethod
    def begin(cls, environ: MutableMapping[str, str]) -> Inside:
        """Take the note that ``entering`` left; when this process ends, the sandbox is removed."""
        root, folder, watcher = json.loads(environ.pop(options.SANDBOX))
        inside = cls(Path(root), Path(folder), watcher)
        if inside.watcher is not None:
            atexit.register(inside.leave, os.getpid())
        return inside

    def leave(self, process: int) -> None:
        """Remove the sandbox, unless this is a process that a test forked."""
        if os.getpid() != process or self.watcher is None:
            return
        os.chdir("/")
        disposal.remove(self.folder)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.watcher, signal.SIGKILL)
            for _ in range(100):
                os.kill(self.watcher, 0)
                time.sleep(0.005)

    def stranger(self, modules: Iterable[Any]) -> str | None:
        """A module of the project that was loaded from the user's tree, with its file; None if all is well."""
        for module in modules:
            file = getattr(module, "__file__", None)
            if not isinstance(file, str):
                continue
            path = Path(os.path.realpath(file))
            if path.is_relative_to(self.root) and not self._installed(path):
                return f"{module.__name__} from {path}"
        return None

    def _installed(self, path: Path) -> bool:
        """Whether a file belongs to a virtual environment in the project, which is not copied."""
        folders = [folder for folder in path.parents if folder.is_relative_to(self.root)]
        return any((folder / "pyvenv.cfg").is_file() or folder.name == "site-packages" for folder in folders)
