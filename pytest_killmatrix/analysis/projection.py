"""What a plan will take, before any mutant runs: from what the clean run measured, corrected by an earlier run.

The model of a mutant is a child, what its route imports or collects again, and the clean durations of its tests. What
the model leaves out (kills that are confirmed, survivors that run twice, mutants that hang) is a factor: a usual one,
or what an earlier run took beyond the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_killmatrix.model import Route

USUAL: Final = {Route.SWAP: 1.8, Route.COLLECTION: 0.4, Route.STATIC: 0.95}
"""CPU time of a route for each second of the model, confirmations included, where no earlier run tells."""

_AGAIN: Final = 0.5  # of a session's cost where a forked child collects once more: plugins are loaded there

ENOUGH: Final = 20
"""Mutants of a route that an earlier run had too, from which on it is believed."""


class Row(NamedTuple):
    """One mutant to run: its route, whether it needs a fresh interpreter, its tests and their clean seconds."""

    route: Route
    anew: bool
    tests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds that the clean run measured: of an empty child, of an interpreter with a collected session."""

    child: float
    session: float

    def of(self, row: Row) -> float:
        """What the model says of a mutant."""
        if row.anew:
            return self.child + self.session + row.seconds
        again = 0.0 if row.route is Route.SWAP else _AGAIN * self.session
        return self.child + again + row.seconds


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier run took: the keys of the mutants that it ran, and the CPU seconds of each route.

    Those have their share of confirmations; ``wall`` are seconds of wall time for each of CPU time.
    """

    run: int
    started: str
    keys: frozenset[str]
    cpu: Mapping[Route, float]
    wall: float


@dataclass(frozen=True, slots=True)
class Share:
    """A route's part of the plan; CPU time in seconds."""

    mutants: int
    cells: int
    cpu: float


@dataclass(frozen=True, slots=True)
class Projection:
    """What is left to run will take ``seconds`` of wall time: as an earlier run did, else with processors for itself.

    ``idle`` are the mutants that need no run. ``source`` says what the projection rests on.
    """

    routes: Mapping[Route, Share]
    idle: int
    workers: int
    seconds: float
    source: str

    @property
    def mutants(self) -> int:
        return self.idle + sum(share.mutants for share in self.routes.values())

    @property
    def cells(self) -> int:
        return sum(share.cells for share in self.routes.values())

    @property
    def cpu(self) -> float:
        return sum(share.cpu for share in self.routes.values())


def project(rows: Mapping[str, Row], idle: int, costs: Costs, workers: int, earlier: Earlier | None) -> Projection:
    """Project these rows, by the mutant's key; ``workers`` children run at once, in the earlier run too."""
    by_route: dict[Route, list[Row]] = {route: [] for route in Route}
    for row in rows.values():
        by_route[row.route].append(row)
    factors, known = dict(USUAL), False
    for route in Route if earlier is not None else ():
        assert earlier is not None
        same = [row for key, row in rows.items() if row.route is route and key in earlier.keys]
        if len(same) >= ENOUGH:
            share = len(earlier.keys & rows.keys()) / len(earlier.keys)
            factors[route] = share * earlier.cpu.get(route, 0.0) / sum(map(costs.of, same))
            known = True
    shares = {
        route: Share(len(found), sum(row.tests for row in found), factors[route] * sum(map(costs.of, found)))
        for route, found in by_route.items()
        if found
    }
    source = "the clean run"
    if known and earlier is not None:
        source += f" and what run {earlier.run} of {earlier.started} took"
    # tests and mutants that wait take no processor: an earlier run knows of them
    wall = earlier.wall if known and earlier is not None else 1 / max(1, workers)
    return Projection(shares, idle, workers, wall * sum(share.cpu for share in shares.values()), source)
