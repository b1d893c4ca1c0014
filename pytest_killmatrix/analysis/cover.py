"""A smallest set of tests that keeps every kill: set cover, exact where that is quick, else with its bound."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

STEPS: Final = 1_000_000
"""Mutants that the search looks at before the best cover found so far has to do: about a second."""

_DEEPEST: Final = 400  # tests; Python's stack ends at some 1,000 calls
_CLOSE: Final = 1e-9  # differences of prices that are none


@dataclass(frozen=True, slots=True)
class Cover:
    """Tests that together kill all that all tests kill.

    No set with a smaller ``cost`` (number of tests, or seconds) than ``bound`` does; ``exact`` says that this one is
    smallest.
    """

    tests: tuple[int, ...]
    cost: float
    bound: float
    exact: bool


def smallest_cover(kills: Sequence[int], costs: Sequence[float] | None = None, steps: int = STEPS) -> Cover:
    """A cheapest set of tests that kills all mutants that any kills.

    :param kills: for each test the mutants it kills, as bits.
    :param costs: what each test costs, from 0 up; by default 1.
    """
    prices = [1.0] * len(kills) if costs is None else [float(cost) for cost in costs]
    rows = {test: mask for test, mask in enumerate(kills) if mask}
    chosen: list[int] = []
    rows, taken, columns = _reduce(rows, prices)
    chosen += taken
    base = sum(prices[test] for test in chosen)
    if not columns:
        return Cover(tuple(sorted(chosen)), base, base, True)
    search = _Search(rows, columns, prices, steps)
    best, exact = search.run()
    cost = base + sum(prices[test] for test in best)
    bound = cost if exact else base + search.bound()
    return Cover(tuple(sorted([*chosen, *best])), cost, min(bound, cost), exact)


def _reduce(rows: dict[int, int], prices: Sequence[float]) -> tuple[dict[int, int], list[int], list[int]]:
    """Repeat until nothing changes: take tests that alone kill a mutant, drop tests that another one makes superfluous
    and mutants that are killed whenever another one is. Gives the rest: tests, those taken, mutants' killers.
    """
    taken: list[int] = []
    while True:
        killers = _killers(rows)
        columns = minimal(killers.values())
        forced = {mask.bit_length() - 1 for mask in columns if mask & (mask - 1) == 0}
        if forced:
            covered = 0
            for test in forced:
                covered |= rows.pop(test)
            taken += sorted(forced)
            rows = {test: mask & ~covered for test, mask in rows.items() if mask & ~covered}
            continue
        # over the mutants that are left each test is worth less, so more tests are dominated
        small = _rows_of(columns)
        kept = _undominated(small, prices)
        if len(kept) == len(rows):
            return kept, taken, columns
        rows = kept


def _killers(rows: Mapping[int, int]) -> dict[int, int]:
    """For each mutant its killers as bits."""
    found: dict[int, int] = {}
    for test, mask in rows.items():
        bit = 1 << test
        for mutant in members(mask):
            found[mutant] = found.get(mutant, 0) | bit
    return found


def _rows_of(columns: Sequence[int]) -> dict[int, int]:
    rows: dict[int, int] = {}
    for index, mask in enumerate(columns):
        bit = 1 << index
        for test in members(mask):
            rows[test] = rows.get(test, 0) | bit
    return rows


def _undominated(rows: dict[int, int], prices: Sequence[float]) -> dict[int, int]:
    """Without the tests that kill nothing beyond what one other test kills that costs no more."""
    order = sorted(rows, key=lambda test: (-rows[test].bit_count(), prices[test], test))
    by_mutant: dict[int, list[int]] = {}
    kept: dict[int, int] = {}
    for test in order:
        mask = rows[test]
        lowest = (mask & -mask).bit_length() - 1
        if any(mask & ~kept[other] == 0 and prices[other] <= prices[test] for other in by_mutant.get(lowest, ())):
            continue
        kept[test] = mask
        for mutant in members(mask):
            by_mutant.setdefault(mutant, []).append(test)
    return {test: kept[test] for test in sorted(kept)}


def minimal(masks: Iterable[int]) -> list[int]:
    """The sets, each once, that contain no other of them; empty sets left out."""
    distinct = sorted({mask for mask in masks if mask}, key=lambda mask: (mask.bit_count(), mask))
    by_lowest: dict[int, list[int]] = {}
    kept: list[int] = []
    for mask in distinct:
        # a subset's lowest member is one of this set's members
        if any(other & ~mask == 0 for member in members(mask) for other in by_lowest.get(member, ())):
            continue
        kept.append(mask)
        by_lowest.setdefault((mask & -mask).bit_length() - 1, []).append(mask)
    return kept


def members(mask: int) -> list[int]:
    """The numbers whose bits are set."""
    found: list[int] = []
    if mask.bit_count() <= _FEW:
        while mask:
            found.append(mask.bit_length() - 1)
            mask ^= 1 << found[-1]
        return found[::-1]
    data = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
    for match in _ANY.finditer(data):  # most bytes of most sets are 0
        at = match.start()
        base = 8 * at
        found += [base + bit for bit in _BITS[data[at]]]
    return found


_FEW: Final = 12  # members that are quicker taken out one by one
_ANY: Final = re.compile(rb"[^\0]")
_BITS: Final = [tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256)]


class _Search:
    """Branch and bound over what reduction left; the mutants with fewest killers come first."""

    def __init__(self, rows: Mapping[int, int], columns: Sequence[int], prices: Sequence[float], steps: int) -> None:
        self.everything = (1 << len(columns)) - 1
        self._rows = rows
        self._columns = columns
        self._prices = prices
        self._left = steps
        self._cheapest = [min(prices[test] for test in members(mask)) for mask in columns]
        self._best = self._greedy()
        self._cost = self._price(self._best)

    def run(self) -> tuple[list[int], bool]:
        """The best cover, and whether nothing cheaper is left to be tried."""
        self._branch(self.everything, [], 0.0)
        return self._best, self._left > 0

    def bound(self) -> float:
        """What covering everything costs at least."""
        share = {test: self._prices[test] / mask.bit_count() for test, mask in self._rows.items()}
        # no test gets more for its mutants than it costs, so the sum over any cover is at most what that costs
        dual = sum(min(share[test] for test in members(killers)) for killers in self._columns)
        largest = max(mask.bit_count() for mask in self._rows.values())
        greedy = self._cost / sum(1 / size for size in range(1, largest + 1))
        return max(dual, greedy, self._apart(self.everything))

    def _apart(self, open_mutants: int) -> float:
        """What covering these costs at least: mutants that share no killer need a test each."""
        total, used = 0.0, 0
        for index in members(open_mutants):
            self._left -= 1
            if not self._columns[index] & used:
                used |= self._columns[index]
                total += self._cheapest[index]
        return total

    def _branch(self, open_mutants: int, chosen: list[int], cost: float) -> None:
        if not open_mutants:
            if cost < self._cost:
                self._best, self._cost = list(chosen), cost
            return
        if len(chosen) >= _DEEPEST:
            self._left = 0
        if self._left <= 0 or cost + self._apart(open_mutants) >= self._cost - _CLOSE:
            return
        rarest = (open_mutants & -open_mutants).bit_length() - 1
        for _, _, test in sorted(
            (-(self._rows[test] & open_mutants).bit_count(), self._prices[test], test)
            for test in members(self._columns[rarest])
        ):
            self._branch(open_mutants & ~self._rows[test], [*chosen, test], cost + self._prices[test])

    def _greedy(self) -> list[int]:
        """Always the test that kills most for its price; then without those that the later ones made superfluous."""
        chosen: list[int] = []
        left = self.everything

        def worth(test: int) -> tuple[float, int]:
            return -(self._rows[test] & left).bit_count() / (self._prices[test] + _CLOSE), test

        # what a test is worth never grows, so the first that is still worth what it was is the best
        heap = [worth(test) for test in self._rows]
        heapq.heapify(heap)
        while left:
            now = worth(heap[0][1])
            if now > heap[0]:
                heapq.heapreplace(heap, now)
                continue
            _, test = heapq.heappop(heap)
            chosen.append(test)
            left &= ~self._rows[test]
        times = Counter(mutant for test in chosen for mutant in members(self._rows[test]))
        for test in list(chosen):
            killed = members(self._rows[test])
            if all(times[mutant] > 1 for mutant in killed):
                chosen.remove(test)
                times.subtract(killed)
        return chosen

    def _price(self, tests: Sequence[int]) -> float:
        return sum(self._prices[test] for test in tests)
