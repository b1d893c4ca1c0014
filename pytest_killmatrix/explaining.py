"""What a run keeps for whoever reads it later: the text of the mutated files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pytest_killmatrix.source import SourceError, SourceFile
from pytest_killmatrix.store.writer import Sidecar


def keep_texts(sidecar: Sidecar, run: int, files: Mapping[str, Path], hashes: Mapping[str, str]) -> None:
    """Store the text of every mutated file, where it is still the one that the mutants were made from."""
    for name, sha256 in hashes.items():
        text = _text_of(files[name], sha256)
        if text is not None:
            sidecar.add_file(run, name, sha256, text)


def _text_of(path: Path, sha256: str) -> str | None:
    """The file's text; None where it is another by now: the run itself says what is wrong with it."""
    try:
        data = path.read_bytes()
        return SourceFile(str(path), data).text if hashlib.sha256(data).hexdigest() == sha256 else None
    except (OSError, SourceError):
        return None
