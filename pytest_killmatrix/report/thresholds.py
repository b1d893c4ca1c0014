"""Gates: ratios that a run must reach."""

from __future__ import annotations

from pytest_killmatrix.analysis.score import Score
from pytest_killmatrix.options import Settings


def unmet(settings: Settings, score: Score) -> list[str]:
    """One line for every threshold that is not reached; a ratio over nothing is not reached."""
    failures = []
    ratios = {"assertion": score.assertion, "detection": score.detection}
    for name, percent in settings.fail_under:
        if name == "reached":
            numerator, denominator = score.reached
        else:
            numerator, denominator = ratios[name].numerator, ratios[name].denominator
        value = 100 * numerator / denominator if denominator else None
        if value is None:
            failures.append(f"--kill-matrix-fail-under={name}:{percent:g}: there is nothing to take that ratio of")
        elif value < percent:
            failures.append(
                f"--kill-matrix-fail-under={name}:{percent:g}: {name} is {value:.1f} % ({numerator} of {denominator})"
            )
    return failures
