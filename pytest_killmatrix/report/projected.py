"""A projection in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_killmatrix.analysis.projection import Projection
from pytest_killmatrix.report.text import count, duration, number


def projected_lines(projection: Projection) -> Iterator[str]:
    """Routes with their mutants and cells, and the time."""
    for route, share in projection.routes.items():
        cells = f"{number(share.cells)} cells"
        yield f"{route.value:12}{number(share.mutants):>8} mutants {cells:>16}   {duration(share.cpu)} CPU"
    if projection.idle:
        yield f"{'no run':12}{number(projection.idle):>8} mutants"
    yield f"{'all':12}{number(projection.mutants):>8} mutants {f'{number(projection.cells)} cells':>16}"
    at_once = count(projection.workers, "worker")
    yield f"projected time {duration(projection.seconds)} with {at_once}, {duration(projection.cpu)} CPU"
    yield f"               from {projection.source}"
