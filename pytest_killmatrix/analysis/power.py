"""What a number of tasks and trials can show, and how often it shows something that is not there."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean
from typing import Final

from pytest_killmatrix.analysis.bootstrap import LEVEL, Count, rate_difference

_CELLS: Final = 120  # tasks x trials up to which a simulated experiment is judged exactly; a few milliseconds
POWER: Final = 0.8


def false_kill_rate(
    tasks: int, trials: int, *, nested: bool = True, level: float = LEVEL, seed: int = 0, experiments: int = 1_000
) -> float:
    """How often two identical harnesses differ by :func:`rate_difference`, each task's true rate drawn from (0, 1).

    Beyond 120 tasks x trials the percentile interval is replaced by the normal one, which it has then come close to.
    """
    chance = random.Random(seed)
    if tasks * trials > 60:
        experiments = max(100, experiments // 4)
    false = 0
    for _ in range(experiments):
        rates = [chance.random() for _ in range(tasks)]
        base, other = ([_successes(rate, trials, chance) for rate in rates] for _ in range(2))
        pairs = list(zip(base, other, strict=True))
        false += _excludes_zero(pairs, nested, level)
    return false / experiments


def smallest_change(tasks: int, level: float = LEVEL) -> float | None:
    """The smallest share of tasks that has to change from always to never resolved for the interval to exclude 0.

    The rest is taken to be without any noise: no number of trials shows less. None where no change is enough.
    """
    for changed in range(1, tasks + 1):
        if (1 - changed / tasks) ** tasks <= (1 - level) / 2:
            return changed / tasks
    return None


def detectable_difference(base: Sequence[Count], trials: int, *, level: float = LEVEL, power: float = POWER) -> float:
    """The true difference that is found with probability ``power`` (normal approximation), at the base's noise.

    Each task's rate is shrunk towards one half, as if it had one success and one failure more: tasks that succeeded
    in every one of few trials are not taken to be free of noise.
    """
    normal = NormalDist()
    noise = fmean(rate * (1 - rate) for rate in ((c + 1) / (n + 2) for c, n in base))
    return (normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)) * sqrt(2 * noise / (trials * len(base)))


def _successes(rate: float, trials: int, chance: random.Random) -> Count:
    return Count(sum(chance.random() < rate for _ in range(trials)), trials)


def _excludes_zero(pairs: list[tuple[Count, Count]], nested: bool, level: float) -> bool:
    if len(pairs) * pairs[0][0].trials <= _CELLS:
        return rate_difference(pairs, nested=nested).p <= 1 - level
    differences = [mutant.successes / mutant.trials - base.successes / base.trials for base, mutant in pairs]
    mean = fmean(differences)
    spread = fmean((difference - mean) ** 2 for difference in differences)
    if nested:
        spread += fmean(_variance(count) for pair in pairs for count in pair) * 2
    return abs(mean) > NormalDist().inv_cdf((1 + level) / 2) * sqrt(spread / len(pairs))


def _variance(count: Count) -> float:
    rate = count.successes / count.trials
    return rate * (1 - rate) / count.trials
