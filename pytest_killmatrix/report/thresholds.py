"""Gates: ratios that a run must reach, and what its tests must have gained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_killmatrix.analysis.score import Score
from pytest_killmatrix.settings import Settings


def unmet(thresholds: Iterable[tuple[str, float]], score: Score, flag: str = "--kill-matrix-fail-under") -> list[str]:
    """One line for every threshold (ratio, percent) that is not reached; a ratio over nothing is not reached.

    ``flag`` is the option that asks for them.
    """
    failures = []
    ratios = {"assertion": score.assertion, "detection": score.detection}
    for name, percent in thresholds:
        if name == "reached":
            numerator, denominator = score.reached
        else:
            numerator, denominator = ratios[name].numerator, ratios[name].denominator
        value = 100 * numerator / denominator if denominator else None
        if value is None:
            failures.append(f"{flag}={name}:{percent:g}: there is nothing to take that ratio of")
        elif value < percent:
            failures.append(f"{flag}={name}:{percent:g}: {name} is {value:.1f} % ({numerator} of {denominator})")
    return failures


def unmet_gains(settings: Settings, delta: Mapping[str, Any]) -> list[str]:
    """One line for every gate of the delta that is not passed; where there was nothing to gain, that is said."""
    failures = []
    gained, headroom = delta["gained_by_assertion"], delta["headroom"]
    if settings.min_gain is not None and headroom:
        number, percent = settings.min_gain
        flag = f"--mutation-min-gain={number:g}{'%' if percent else ''}"
        if percent and delta["scope_depends_on_tests"]:
            failures.append(
                f"{flag}: the scope came to be covered, where the new tests choose what they are measured by; give a "
                "number of mutants, or --mutation-scope=all"
            )
        elif (100 * gained / headroom if percent else gained) < number:
            failures.append(f"{flag}: {gained} of {headroom} mutants were gained by assertion")
    if settings.fail_on_lost and (delta["lost"] or delta["downgraded"]):
        failures.append(f"--mutation-fail-on-lost: {len(delta['lost'])} lost, {len(delta['downgraded'])} downgraded")
    return failures


def passed_for_lack(settings: Settings, delta: Mapping[str, Any]) -> str | None:
    """What to say where a gate is passed because there was nothing to gain."""
    if settings.min_gain is None or delta["headroom"]:
        return None
    return "--mutation-min-gain: passed, because there was nothing to gain"
