"""The files of the project, as they were when the mutants were made: a run of other files is another run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_killmatrix import environment
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.store.opening import is_sidecar
from pytest_killmatrix.surroundings import Surroundings


class ProjectFiles:
    """``hashes`` are SHA-256 by path below rootdir; ``root`` is the project, also where a copy of it is run."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        around = Surroundings.of(config)
        self._base, self._sidecar = config.rootpath, settings.sidecar
        self._reports = [path for _, _, path in settings.reports()]
        # those that the screen was sent to, as by ``pytest --kill-matrix > out.txt``
        self._screens = environment.same_files(self._base, around.screens)
        self.root = self._base if around.sandbox is None else around.sandbox.root
        self.hashes = self._now()

    def changes(self) -> str | None:
        """In one sentence what became another file since; None where nothing did."""
        now = self._now()
        changed = sorted(name for name in self.hashes if now.get(name) != self.hashes[name])
        if not changed:
            return None
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        return (
            f"files of the project changed during the run: {', '.join(changed[:5])}{more}; "
            "what was judged after the change is not to be trusted"
        )

    def tree(self) -> str:
        """A hash of all, by which shards of one tree are known where no commit tells."""
        left_out = {os.path.relpath(path, self.root) for path in self._reports}
        facts = sorted(
            (name, digest)
            for name, digest in self.hashes.items()
            if name not in left_out and not is_sidecar(self._base / name)
        )
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def _now(self) -> dict[str, str]:
        """Without what this run writes itself: were that of the project, no run could go on where another ended."""
        written: Iterable[Path] = [*self._reports, *self._screens]
        return environment.file_hashes(self._base, self._sidecar, written)
