"""Where mutants come from: the catalogue of mutation operators.

The only package that imports libcst and mutmut; it runs in the generator's own process.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from pytest_killmatrix.model import Replacement
from pytest_killmatrix.operators import mutmut_adapter, own
from pytest_killmatrix.operators.mutmut_adapter import LayoutError
from pytest_killmatrix.operators.selection import Selection, select
from pytest_killmatrix.source import SourceFile

__all__ = ["CATALOGUE", "LayoutError", "catalogue_names", "replacements", "replacements_of", "selection"]

CATALOGUE: Mapping[str, Sequence[str]] = {"mutmut": mutmut_adapter.NAMES, "own": own.NAMES}


def catalogue_names() -> Sequence[str]:
    """The names of all operators, mutmut's first."""
    return [name for names in CATALOGUE.values() for name in names]


def selection(text: str) -> Selection:
    """What ``--mutation-operators`` selects from the catalogue; ValueError for an unknown name."""
    return select(text, CATALOGUE)


def replacements(text: str, names: Container[str]) -> list[Replacement]:
    """Every change that the operators in ``names`` make to a text, in source order."""
    return replacements_of(SourceFile("<text>", text.encode(), "utf-8"), names)


def replacements_of(source: SourceFile, names: Container[str]) -> list[Replacement]:
    """Every change that the operators in ``names`` make to a file, in source order; no two make the same text.

    LayoutError where libcst cannot read what Python can; ``own`` operators alone would still work.
    """
    seen: dict[tuple[int, int, str], str] = {}
    for name, start, end, new in (*mutmut_adapter.edits(source.text, names), *own.edits(source, names)):
        if source.text[start:end] != new:
            seen.setdefault((start, end, new), name)
    position = source.position
    order = {name: rank for rank, name in enumerate(catalogue_names())}
    found = sorted(seen.items(), key=lambda item: (item[0][0], item[0][1], order[item[1]]))
    return [Replacement(name, *position(start), *position(end), new) for (start, end, new), name in found]
