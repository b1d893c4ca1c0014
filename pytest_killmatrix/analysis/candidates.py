"""Mutants are never promoted: whatever picks a best variant of a harness picks among what this leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

MUTANT: Final = "mutant-"
"""How the names of mutants begin, and no other's: a variant of such a name is never a candidate for anything."""


def is_mutant(name: str) -> bool:
    """Whether a variant of this name is a mutant."""
    return name.lower().startswith(MUTANT)


def candidates(names: Iterable[str]) -> list[str]:
    """The variants that may be chosen: no mutants."""
    return [name for name in names if not is_mutant(name)]


def best(rates: Mapping[str, float]) -> str | None:
    """The variant with the highest resolved rate, the first by name of equals; mutants are not seen."""
    names = candidates(sorted(rates))
    return max(names, key=lambda name: rates[name], default=None)
