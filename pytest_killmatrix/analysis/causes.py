"""Why a mutant survived, from what probes saw in the tests that reach it: said only where it can be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_killmatrix.model import Cause, CauseKind, Sample

SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What one test showed of one mutant: how often its expression was evaluated, how often the mutant's value differs,
    how often that cannot be told.
    """

    evaluated: int
    infected: int
    unknown: int
    samples: tuple[Sample, ...] = ()


def cause_of(
    tests: Sequence[int],
    seen: Mapping[int, Seen],
    *,
    in_message: bool = False,
    differs: str | None = None,
    dropped: bool = False,
) -> Cause | None:
    """The cause; None where it cannot be told.

    :param tests: those that reach the mutant and passed; ``seen`` says of each what it showed.
    :param in_message: the change is inside what a raise or a warning says.
    :param differs: for which operands original and mutant differ, in words.
    :param dropped: an argument is left out, and the values compared are that argument and the callee's default.
    """
    if in_message:
        return Cause(CauseKind.MESSAGE, len(tests))
    looked = [seen[test] for test in tests if test in seen and seen[test].evaluated]
    infected = [one for one in looked if one.infected]
    if dropped:
        if infected or not _complete(tests, seen):
            return None  # another value is passed: what the callee makes of that, nobody looked at
        return Cause(CauseKind.DEFAULT, len(tests), 0, None, _samples(looked))
    if infected:
        return Cause(CauseKind.NOT_NOTICED, len(looked), len(infected), differs, _samples(infected))
    if _complete(tests, seen):
        return Cause(CauseKind.NOT_INFECTED, len(tests), 0, differs, _samples(looked))
    return None


def _complete(tests: Sequence[int], seen: Mapping[int, Seen]) -> bool:
    """Whether every evaluation in every test was seen and understood."""
    return bool(tests) and all(test in seen and seen[test].evaluated and not seen[test].unknown for test in tests)


def _samples(looked: Sequence[Seen]) -> tuple[Sample, ...]:
    """Different ones, of as many tests as there are."""
    longest = max((len(one.samples) for one in looked), default=0)
    taken = (one.samples[at] for at in range(longest) for one in looked if at < len(one.samples))
    return tuple(dict.fromkeys(taken))[:SAMPLES]
