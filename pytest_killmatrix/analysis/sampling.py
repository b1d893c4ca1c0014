"""A reproducible sample of mutants, and what it says of all of them.

Drawn by a hash of seed and key, stratified by file and operator in proportion: with the quotas rounded from one random
start, every mutant has the same chance, also where strata are smaller than one mutant of the sample.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pytest_killmatrix.model import Mutant

LEVEL: Final = 0.95
METHOD: Final = (
    "stratified ratio estimate, finite population correction, Wilson interval at its effective sample size (at most "
    "that of a simple random sample)"
)
_Z: Final = 1.959963984540054  # normal quantile of LEVEL, two-sided

Stratum = tuple[str, str]
"""A file and an operator."""


class Judged(NamedTuple):
    """A drawn mutant: its stratum, whether it stands in the numerator and in the denominator of a ratio."""

    stratum: Stratum
    above: bool
    below: bool


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a ratio over all mutants is likely to be; ``population`` is the number of mutants that were drawn from."""

    estimate: float
    low: float
    high: float
    population: int
    level: float = LEVEL
    method: str = METHOD
    unit: str = "mutant"


def draw(mutants: Sequence[Mutant], amount: float, percent: bool, seed: int) -> tuple[list[bool], dict[str, Any]]:
    """Which mutants to keep, and what the run keeps of the sample (``RunInfo.sample``).

    Drawn are mutants whose status is not known without a run; duplicates of those that are drawn stay with them, the
    others go. ``amount`` is a number of mutants, or their percentage, rounded up.
    """
    strata: defaultdict[Stratum, list[str]] = defaultdict(list)
    for mutant in mutants:
        if mutant.verdict is None:
            strata[mutant.path, mutant.operator].append(mutant.key)
    frame = sum(map(len, strata.values()))
    wanted = min(frame, math.ceil(frame * amount / 100) if percent else int(amount))
    drawn: set[str] = set()
    table = []
    before, start = 0, _fraction(seed, "")
    for stratum in sorted(strata):
        keys = sorted(strata[stratum], key=lambda key: (_fraction(seed, key), key))
        after = before + len(keys)
        size = _quota(after, wanted, frame, start) - _quota(before, wanted, frame, start)
        drawn.update(keys[:size])
        table.append({"path": stratum[0], "operator": stratum[1], "frame": len(keys), "size": size})
        before = after
    kept = [(mutant.duplicate_of or mutant.key) in drawn for mutant in mutants]
    asked = f"{amount:g}%" if percent else f"{amount:g}"
    sample = {"asked": asked, "seed": seed, "frame": frame, "size": wanted, "mutants": sum(kept), "strata": table}
    return kept, sample


def _quota(before: int, wanted: int, frame: int, start: float) -> int:
    """How many of the first ``before`` mutants are drawn; all of ``wanted`` at the end."""
    return wanted if before == frame else min(wanted, math.floor(before * wanted / frame + start)) if before else 0


def _fraction(seed: int, key: str) -> float:
    """A number from 0 to below 1."""
    digest = hashlib.sha256(f"{seed} {key}".encode("utf-8", "backslashreplace")).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)


def interval(judged: Iterable[Judged], sample: Mapping[str, Any]) -> Interval | None:
    """The interval of a ratio; None where everything was drawn (a census has none) or nothing is in its denominator.

    ``judged`` are all drawn mutants; ``sample`` is ``RunInfo.sample``.
    """
    frames = {(entry["path"], entry["operator"]): entry["frame"] for entry in sample["strata"]}
    by_stratum: defaultdict[Stratum, list[Judged]] = defaultdict(list)
    for one in judged:
        by_stratum[one.stratum].append(one)
    groups = [(sum(frames[name] for name in names), drawn) for names, drawn in _groups(frames, by_stratum)]
    size = sum(len(drawn) for _, drawn in groups)
    counted = sum(one.below for _, drawn in groups for one in drawn)
    if not counted or size >= sample["frame"]:
        return None
    above = sum(frame * sum(one.above for one in drawn) / len(drawn) for frame, drawn in groups if drawn)
    below = sum(frame * sum(one.below for one in drawn) / len(drawn) for frame, drawn in groups if drawn)
    ratio = above / below
    variance = sum(_variance(frame, drawn, ratio) for frame, drawn in groups) / below**2
    most = counted / (1 - size / sample["frame"])
    effective = min(ratio * (1 - ratio) / variance, most) if variance > 0 and 0 < ratio < 1 else most
    low, high = _wilson(ratio, effective)
    return Interval(ratio, low, high, sample["frame"])


def _groups(
    frames: Mapping[Stratum, int], drawn: Mapping[Stratum, list[Judged]]
) -> list[tuple[list[Stratum], list[Judged]]]:
    """Strata as they are estimated from: those with fewer than two drawn are taken together, by file, else all."""
    whole: list[tuple[list[Stratum], list[Judged]]] = []
    files: defaultdict[str, list[Stratum]] = defaultdict(list)
    for name in frames:
        if len(drawn.get(name, ())) >= 2:
            whole.append(([name], drawn[name]))
        else:
            files[name[0]].append(name)
    rest: list[Stratum] = []
    for names in files.values():
        together = [one for name in names for one in drawn.get(name, ())]
        if len(together) >= 2:
            whole.append((names, together))
        else:
            rest += names
    if rest:
        whole.append((rest, [one for name in rest for one in drawn.get(name, ())]))
        if len(whole[-1][1]) < 2 and len(whole) > 1:  # too few for a variance: with the largest of the others
            names, few = whole.pop()
            largest = max(range(len(whole)), key=lambda number: len(whole[number][1]))
            whole[largest] = ([*whole[largest][0], *names], [*whole[largest][1], *few])
    return whole


def _variance(frame: int, drawn: Sequence[Judged], ratio: float) -> float:
    """Of the estimated total of what differs from the ratio."""
    size = len(drawn)
    if size < 2:
        return 0.0
    rests = [one.above - ratio * one.below for one in drawn]
    mean = sum(rests) / size
    spread = sum((rest - mean) ** 2 for rest in rests) / (size - 1)
    return frame**2 * (1 - size / frame) * spread / size


def _wilson(ratio: float, size: float) -> tuple[float, float]:
    square = _Z**2
    middle = (ratio + square / (2 * size)) / (1 + square / size)
    half = _Z * math.sqrt(ratio * (1 - ratio) / size + square / (4 * size**2)) / (1 + square / size)
    return max(0.0, middle - half), min(1.0, middle + half)
