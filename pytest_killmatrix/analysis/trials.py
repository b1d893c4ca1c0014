"""Statistics of repeated trials: pass^k, an interval for a share, and a level for many comparisons at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb, sqrt
from statistics import NormalDist, fmean

from pytest_killmatrix.analysis.bootstrap import LEVEL, Count


def pass_k(counts: Iterable[Count], k: int) -> float | None:
    """pass^k: how likely k trials of a task all succeed; the mean over tasks of C(c, k) / C(n, k).

    That is unbiased where (c / n)^k is not (Yao et al. 2024). A task with fewer than k trials stands in no mean; None
    where no task is left.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it counts trials, from 1")
    shares = [comb(successes, k) / comb(trials, k) for successes, trials in counts if trials >= k]
    return fmean(shares) if shares else None


def wilson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """The score interval of a binomial share (Wilson 1927), for independent trials; (0, 1) where there are none."""
    if not trials:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, centre - half) if successes else 0.0, min(1.0, centre + half) if successes < trials else 1.0


def holm(ps: Sequence[float]) -> list[float]:
    """p values adjusted for being many (Holm 1979), in the order given: compare them with the level of the family."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def holm_levels(ps: Sequence[float], level: float = LEVEL) -> list[float]:
    """The level of each comparison's own interval, such that it excludes 0 exactly where Holm's procedure rejects.

    From the first comparison on that is not rejected, in the order of p, all have that one's level.
    """
    levels = [level] * len(ps)
    divisor, rejecting = len(ps), True
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        if rejecting:
            divisor = len(ps) - rank
            rejecting = ps[index] <= (1 - level) / divisor
        levels[index] = 1 - (1 - level) / divisor
    return levels
