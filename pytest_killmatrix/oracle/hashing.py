"""Hashes of what a case is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """One SHA-256 over named files, in whatever order they come."""
    digest = hashlib.sha256()
    for name, data in sorted(files):
        digest.update(f"{len(name.encode())}:{name}{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()
