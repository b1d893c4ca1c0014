"""The delta between two suites as lines for a terminal, and as the facts that other reports show of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.text import count, fit, number, percent, plain

_LISTED: Final = 10


def headline(delta: dict[str, Any]) -> str:
    """The delta in one line."""
    return (
        f"{delta['verdict']}: {count(delta['gained_by_assertion'], 'mutant')} gained by assertion, of a headroom of "
        f"{number(delta['headroom'])}; {number(len(delta['lost']))} lost"
    )


def scores(delta: dict[str, Any]) -> str:
    """Both suites over the one set that they share."""
    parts = []
    for name, words in (("score_old", "old"), ("score_new", "new"), ("score_ref", "old tests on old source")):
        score = delta.get(name)
        if score is not None:
            fraction = f"{number(score['numerator'])} of {number(score['denominator'])}"
            parts.append(f"{words} {percent(score['numerator'], score['denominator'])} ({fraction})")
    return ", ".join(parts)


def delta_lines(delta: dict[str, Any], width: int, verbosity: int = 0, *, ascii: bool = False) -> Iterator[Line]:
    """The delta as a terminal shows it."""
    dots = "..." if ascii else "…"
    yield "", {}
    good = delta["verdict"] == "gained" and not delta["lost"]
    title = f"delta against {plain(str(delta['baseline']), ascii=ascii)}: {headline(delta)}"
    yield fit(title, width, dots), {"bold": True, "green": good, "red": bool(delta["lost"])}
    if verbosity < 0:
        return
    yield fit(f"  scores over one set: {scores(delta)}", width, dots), {}
    limit = None if verbosity > 0 else _LISTED
    gained = [f"{one['mutant']} by {', '.join(one['killed_by'])}" for one in delta["gained"]]
    lost = [f"{one['mutant']} was killed by {', '.join(one['was_killed_by'])}" for one in delta["lost"]]
    unconfirmed = [f"{one['mutant']}: {one['why']}" for one in delta["unconfirmed"]]
    for name, entries in (
        ("gained", gained), ("lost", lost), ("upgraded to an assertion", delta["upgraded"]),
        ("downgraded from an assertion", delta["downgraded"]), ("not confirmed", unconfirmed),
        ("undecided", delta["undecided"]), ("by test", [_by_test(one) for one in delta["by_test"]]),
    ):  # fmt: skip
        yield from _entries(name, entries, limit, width, dots, ascii)


def _by_test(one: dict[str, Any]) -> str:
    text = f"{one['nodeid']}, {one['change']}: gained {one['gained']}, {one['unique']} by it alone"
    return f"{text}, {one['verdict']}" if one.get("verdict") else text


def _entries(
    name: str, entries: Sequence[str], limit: int | None, width: int, dots: str, ascii: bool
) -> Iterator[Line]:
    if not entries:
        return
    yield f"  {name} ({len(entries):,})", {"bold": True}
    for entry in entries[:limit]:
        yield fit(f"    {plain(entry, ascii=ascii)}", width, dots), {}
    if limit is not None and len(entries) > limit:
        yield f"    {dots} {len(entries) - limit:,} more, -v shows all", {"light": True}
