"""The paired bootstrap over tasks: how far the difference of two variants can be told from chance.

Tasks are drawn with replacement, and within each drawn task its trials, on both sides. For rates of success the
distribution of the mean difference is computed exactly, as the ideal bootstrap with infinitely many resamples
(Efron, Tibshirani 1993): within a task the resampled successes are binomial, so that one draw is a mixture over the
tasks, and the mean of T draws is its T-fold convolution. Where that would be too big, and for other measures, it is
simulated with a seed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product
from math import comb, lcm
from statistics import fmean
from typing import Final, NamedTuple

LEVEL: Final = 0.95
RESAMPLES: Final = 10_000
_LARGEST: Final = 4_000  # points of a distribution up to which it is computed exactly: about a second
_POOL: Final = 256  # resamples of the trials of one task

_Mixture = Mapping[Fraction, float]


class Count(NamedTuple):
    """What the trials of one task came to, on one side."""

    successes: int
    trials: int


class Interval(NamedTuple):
    """An interval of a difference; ``level`` between 0 and 1."""

    low: float
    high: float
    level: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Mutant minus base: the observed difference and the bootstrap distribution of it.

    ``values`` ascend; ``masses`` are their probabilities; ``resamples`` is None where they are exact.
    """

    observed: float
    values: tuple[float, ...]
    masses: tuple[float, ...]
    resamples: int | None

    @property
    def p(self) -> float:
        """Two-sided: the smallest ``1 - level`` at which the interval excludes 0."""
        below = sum(mass for value, mass in zip(self.values, self.masses, strict=True) if value <= 0)
        above = sum(mass for value, mass in zip(self.values, self.masses, strict=True) if value >= 0)
        return min(1.0, 2 * min(below, above))

    def interval(self, level: float = LEVEL) -> Interval:
        """The percentile interval: it holds every value that leaves more than half of ``1 - level`` on both sides."""
        tail = (1 - level) / 2
        low = _first_above(zip(self.values, self.masses, strict=True), tail)
        high = _first_above(zip(reversed(self.values), reversed(self.masses), strict=True), tail)
        return Interval(low, high, level)


def rate_difference(
    pairs: Sequence[tuple[Count, Count]], *, nested: bool = True, seed: int = 0, resamples: int = RESAMPLES
) -> Difference:
    """The difference of two success rates, the mean over tasks; ``pairs`` has (base, mutant) for each task.

    Every count needs at least one trial. ``nested=False`` draws tasks only, and takes their trials as they are: that
    leaves out what chance does within a task. ``seed`` and ``resamples`` matter only where the distribution is too
    big to be exact.
    """
    if not pairs:
        raise ValueError("no task to compare")
    mixture: dict[Fraction, float] = {}
    for base, mutant in pairs:
        for value, mass in _within(base, mutant, nested).items():
            mixture[value] = mixture.get(value, 0.0) + mass / len(pairs)
    observed = fmean(mutant.successes / mutant.trials - base.successes / base.trials for base, mutant in pairs)
    step = lcm(*(value.denominator for value in mixture))
    if 2 * step * len(pairs) + 1 <= _LARGEST:
        return _exact(mixture, step, len(pairs), observed)
    values = [float(value) for value in mixture]
    heaps = list(accumulate(mixture.values()))
    chance = random.Random(seed)
    means = [fmean(chance.choices(values, cum_weights=heaps, k=len(pairs))) for _ in range(resamples)]
    return _simulated(means, observed)


def mean_difference(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], *, seed: int = 0, resamples: int = 2_000
) -> Difference:
    """The difference of two means of anything measured in a trial, such as dollars; the mean over tasks.

    ``pairs`` has (base, mutant) for each task: what each trial measured, at least one on each side.
    """
    if not pairs:
        raise ValueError("no task to compare")
    chance = random.Random(seed)
    drawn = [(_drawn_means(base, chance), _drawn_means(mutant, chance)) for base, mutant in pairs]
    means = [
        sum(chance.choice(after) - chance.choice(before) for before, after in chance.choices(drawn, k=len(pairs)))
        / len(pairs)
        for _ in range(resamples)
    ]
    return _simulated(means, fmean(fmean(mutant) - fmean(base) for base, mutant in pairs))


def _within(base: Count, mutant: Count, nested: bool) -> dict[Fraction, float]:
    """The difference of one task after drawing its trials again."""
    found: dict[Fraction, float] = {}
    for successes, mass in _drawn(base, nested):
        for other, share in _drawn(mutant, nested):
            value = Fraction(other, mutant.trials) - Fraction(successes, base.trials)
            found[value] = found.get(value, 0.0) + mass * share
    return found


def _drawn(count: Count, nested: bool) -> list[tuple[int, float]]:
    successes, trials = count
    if not nested or successes in (0, trials):
        return [(successes, 1.0)]
    rate = successes / trials
    return [(k, comb(trials, k) * rate**k * (1 - rate) ** (trials - k)) for k in range(trials + 1)]


def _exact(mixture: _Mixture, step: int, tasks: int, observed: float) -> Difference:
    one = [0.0] * (2 * step + 1)
    for value, mass in mixture.items():
        one[int(value * step) + step] += mass
    total = _self_convolved(one, tasks)
    points = [(index - step * tasks, mass) for index, mass in enumerate(total) if mass > 0]
    return Difference(
        observed, tuple(point / (step * tasks) for point, _ in points), tuple(mass for _, mass in points), None
    )


def _self_convolved(masses: list[float], times: int) -> list[float]:
    result = [1.0]
    while times:
        if times & 1:
            result = _convolved(result, masses)
        times >>= 1
        if times:
            masses = _convolved(masses, masses)
    return result


def _convolved(one: list[float], other: list[float]) -> list[float]:
    result = [0.0] * (len(one) + len(other) - 1)
    for index, mass in enumerate(one):
        if mass:
            for place, share in enumerate(other, index):
                result[place] += mass * share
    return result


def _simulated(means: list[float], observed: float) -> Difference:
    means.sort()
    return Difference(observed, tuple(means), (1 / len(means),) * len(means), len(means))


def _drawn_means(values: Sequence[float], chance: random.Random) -> list[float]:
    """The means of all resamples of one task's trials, each equally likely; of some of them where there are many."""
    if min(values) == max(values):
        return [values[0]]
    if len(values) ** len(values) <= _POOL:
        return [fmean(drawn) for drawn in product(values, repeat=len(values))]
    return [fmean(chance.choices(values, k=len(values))) for _ in range(_POOL)]


def _first_above(points: zip[tuple[float, float]], tail: float) -> float:
    heap, last = 0.0, 0.0
    for value, mass in points:
        heap, last = heap + mass, value
        if heap > tail + 1e-12:  # sums of many masses are not exact
            break
    return last
