"""Writes what a solver receives, exactly that and nothing else."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from pytest_killmatrix.oracle.model import Case


class DestinationError(Exception):
    """What the solver receives cannot be written there; the message is one line."""


def materialize(case: Case, base: Path, destination: Path) -> list[Path]:
    """Write the case's materials below ``destination``, an empty or a new directory; the files.

    ``base`` is the directory of the variants file. Where something goes wrong, what was written is taken away again.
    """
    if destination.exists() and not destination.is_dir():
        raise DestinationError(f"{destination} is no directory; name a new one")
    if destination.is_dir() and any(destination.iterdir()):
        raise DestinationError(f"{destination} is not empty, and nothing else may be there; name a new directory")
    made = [*reversed([one for one in destination.absolute().parents if not one.exists()])]
    made += [] if destination.exists() else [destination.absolute()]
    written: list[Path] = []
    try:
        for material in case.materialized:
            source, place = base / material.file, destination / material.name
            for folder in reversed([place.parent, *place.parent.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder.absolute())
            written.append(place)
            place.write_bytes(source.read_bytes())
            place.chmod(source.stat().st_mode & 0o777)
    except OSError as error:
        for place in written:
            place.unlink(missing_ok=True)
        for folder in reversed(dict.fromkeys(made)):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise DestinationError(f"cannot write {error.filename}: {error.strerror}; nothing was left there") from error
    return written
