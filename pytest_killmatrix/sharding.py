"""Which shard a mutant belongs to: from its key alone, so that jobs which never heard of each other agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_killmatrix.model import Mutant


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th (from 1) of ``count`` disjoint shards."""

    index: int
    count: int

    def holds(self, mutant: Mutant) -> bool:
        """Whether the mutant is in this shard; a duplicate is where the mutant with the same code is."""
        return index_of(representative(mutant), self.count) == self.index

    def holds_case(self, name: str) -> bool:
        """Whether the authored variants of the case of this name are: all of them, as they are judged together."""
        return index_of_case(name, self.count) == self.index


def index_of(key: str, count: int) -> int:
    """The shard, from 1 to ``count``, of the mutant with this key."""
    digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).digest()  # as it is stored
    return int.from_bytes(digest[:8], "big") % count + 1


def index_of_case(name: str, count: int) -> int:
    """The shard, from 1 to ``count``, of the case of authored variants with this name."""
    return index_of(f"case {name}", count)


def representative(mutant: Mutant) -> str:
    """The key under which the mutant is judged: its own, or that of the mutant with the same code."""
    return mutant.duplicate_of or mutant.key


def held(stored: Mapping[str, Any]) -> list[int]:
    """The shards, by index, that a run holds; ``stored`` is what its sidecar says of it (``RunInfo.shard``)."""
    return [part["index"] for part in stored["parts"]] if "parts" in stored else [stored["index"]]


def in_words(stored: Mapping[str, Any]) -> str:
    """``shard 1 of 3``, ``shards 1 and 3 of 3``."""
    indexes = held(stored)
    return f"{listed(indexes)} of {stored['count']}"


def listed(indexes: list[int]) -> str:
    """``shard 2``, ``shards 1, 2 and 4``."""
    names = [str(index) for index in indexes]
    return f"shard {names[0]}" if len(names) == 1 else f"shards {', '.join(names[:-1])} and {names[-1]}"


def missing(stored: Mapping[str, Any]) -> list[int]:
    """The shards that a run does not hold."""
    have = set(held(stored))
    return [index for index in range(1, stored["count"] + 1) if index not in have]
