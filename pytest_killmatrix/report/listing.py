"""The lists of the terminal report: mutants by file, definitions without a test, excluded tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_killmatrix.model import Status, Test
from pytest_killmatrix.report.summary import Listed, Summary
from pytest_killmatrix.report.text import cells, count, fit, flow, number, one_line_diff, pad, plain

Line = tuple[str, dict[str, bool]]

SURVIVORS = 20
OTHERS = 3
DEFINITIONS = 8
TESTS = 8
PLACES = 6

PENDING = {
    "interrupted": "the run was interrupted",
    "not live": "not live: tests run the line, the changed function was never entered",
    "not observable": "not observable: a test runs the mutated file as a script",
    "flags differ": "flags differ: the change makes another kind of function",
    "free variables differ": "free variables differ: the function closes over other names",
    "not live in every test": "not live in every test: some of them ran unchanged code",
}
"""Reasons that need more words than their name."""


@dataclass(frozen=True, slots=True)
class Style:
    """How much there is room for."""

    width: int
    verbose: bool
    ascii: bool

    @property
    def dots(self) -> str:
        return "..." if self.ascii else "…"

    @property
    def separator(self) -> str:
        return ", " if self.ascii else " · "

    def fit(self, text: str) -> str:
        return fit(text, self.width, self.dots)

    def limit(self, number: int) -> int | None:
        return None if self.verbose else number

    def wrap(self, text: str, *, first: str) -> list[str]:
        return flow(text.split(" "), self.width, first=first, separator=" ")


def mutant_lists(summary: Summary, style: Style) -> Iterator[Line]:
    """Everything that calls for a look, the survivors first."""
    yield from _listing("survived: all tests that reach them passed", summary.of(Status.SURVIVED), style, SURVIVORS)
    if style.verbose:
        yield from _listing("survived, only a string literal changed", summary.string_only, style, SURVIVORS)
    yield from _listing("silenced: tests skip themselves", summary.of(Status.SILENCED), style, OTHERS)
    yield from _uncovered(summary, style)
    yield from _pending(summary, style)
    yield from _listing("run error: our fault, not judged", summary.of(Status.RUN_ERROR), style, OTHERS, {"red": True})
    yield from _detected_otherwise(summary, style)


def excluded_tests(summary: Summary, style: Style) -> Iterator[Line]:
    """Tests that judged nothing, and tests that need to be alone."""
    if summary.excluded:
        lonely = summary.of(Status.NO_USABLE_TEST)
        yield "", {}
        title = _title("tests that judge no mutant", len(summary.excluded))
        if lonely:
            title += f"; {count(len(lonely), 'mutant')} reached by nothing but these"
        yield style.fit(title), {"yellow": True, "bold": True}
        yield from _tests(summary.excluded, style)
        if style.verbose:
            yield from _listing("only excluded tests reach them", lonely, style, OTHERS)
    if summary.serial:
        yield "", {}
        title = _title("tests that cannot run beside others; they ran one at a time", len(summary.serial))
        yield style.fit(title), {"bold": True}
        yield from _tests(summary.serial, style)


def _tests(tests: Sequence[Test], style: Style) -> Iterator[Line]:
    for test in tests[: style.limit(TESTS)]:
        reason = "" if test.excluded is None else f"{test.excluded.value}: "
        yield style.fit(f"  {reason}{plain(test.nodeid, ascii=style.ascii)}"), {}
    yield from _more(len(tests), TESTS, style)


def _listing(
    title: str, entries: Sequence[Listed], style: Style, limit: int, markup: dict[str, bool] | None = None
) -> Iterator[Line]:
    if not entries:
        return
    yield "", {}
    yield _title(title, len(entries)), {"bold": True, **(markup or {})}
    # The mutants come file by file, but nothing promises it.
    ordered = sorted(entries, key=lambda entry: (entry.mutant.path, entry.mutant.line, entry.mutant.column))
    shown = ordered[: style.limit(limit)]
    rights = [_right(entry, style) for entry in shown]
    line_width = max(len(str(entry.mutant.line)) for entry in shown)
    for path, group in groupby(zip(shown, rights, strict=True), key=lambda pair: pair[0].mutant.path):
        yield style.fit(f"  {plain(path, ascii=style.ascii)}"), {"cyan": True}
        for entry, full in group:
            right = fit(full, style.width // 2, style.dots)
            room = style.width - line_width - cells(right) - len("    " + ": " + "  ")
            mutant = entry.mutant
            diff = one_line_diff(mutant.original, mutant.replacement, room, ascii=style.ascii)
            yield f"    {mutant.line:>{line_width}}: {pad(diff, room)}  {right}", {}
    yield from _more(len(entries), limit, style)


def _right(entry: Listed, style: Style) -> str:
    text = f"{plain(entry.mutant.operator, ascii=style.ascii)}, {count(entry.tests, 'test')}"
    return f"{text}, {plain(entry.reason, ascii=style.ascii)}" if entry.reason else text


def _uncovered(summary: Summary, style: Style) -> Iterator[Line]:
    if not summary.uncovered:
        return
    yield "", {}
    yield _title("no coverage: no test reaches them", sum(summary.uncovered.values())), {"bold": True}
    by_path: dict[str, list[str]] = {}
    for (path, definition), mutants in summary.uncovered.most_common(style.limit(DEFINITIONS)):
        by_path.setdefault(path, []).append(f"{plain(definition, ascii=style.ascii)} {number(mutants)}")
    for path, items in by_path.items():
        for line in flow(items, style.width, first=f"  {plain(path, ascii=style.ascii)}  ", separator=style.separator):
            yield style.fit(line), {}
    yield from _more(len(summary.uncovered), DEFINITIONS, style, "definitions")


def _detected_otherwise(summary: Summary, style: Style) -> Iterator[Line]:
    """Detected, but by no assertion: worth knowing where, not worth a line each."""
    crashed = [f"{plain(path, ascii=style.ascii)} {number(n)}" for path, n in summary.crashed.most_common()]
    places = Counter(f"{entry.mutant.path}:{entry.mutant.line}" for entry in summary.of(Status.TIMEOUT))
    timeouts = [plain(place, ascii=style.ascii) + (f" x{n}" if n > 1 else "") for place, n in places.items()]
    if crashed or timeouts:
        yield "", {}
    for name, items in (("crashed", crashed), ("timeout", timeouts)):
        if items:
            shown = items[: style.limit(PLACES)]
            if len(shown) < len(items):
                shown.append(f"{number(len(items) - len(shown))} more")
            for line in flow(shown, style.width, first=f"{name}  ", separator=style.separator):
                yield style.fit(line), {}


def _pending(summary: Summary, style: Style) -> Iterator[Line]:
    number_of = summary.score.counts[Status.PENDING.value]
    if not number_of:
        return
    reasons = summary.reasons.get(Status.PENDING, Counter())
    yield "", {}
    yield _title("pending: not judged, in no score", number_of), {"yellow": True, "bold": True}
    for reason, how_many in reasons.most_common():
        words = PENDING.get(reason, plain(reason, ascii=style.ascii))
        yield style.fit(f"  {number(how_many):>5}  {words}"), {}
    unexplained = number_of - sum(reasons.values())
    if unexplained:
        yield f"  {number(unexplained):>5}  no reason recorded", {}


def _title(text: str, number_of: int) -> str:
    return f"{text} ({number(number_of)})"


def _more(total: int, limit: int, style: Style, noun: str = "") -> Iterator[Line]:
    if not style.verbose and total > limit:
        what = f"{number(total - limit)} more {noun}".rstrip()
        yield f"  {style.dots} {what}, -v shows all", {"light": True}
