"""The summary of a run for a terminal: one screen, most important first, and lines that fit the width.

``render`` yields ``(text, markup)`` pairs, so that pytest's ``TerminalReporter.write_line(text, **markup)`` decides
about colours; nothing here knows whether there is a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_killmatrix.analysis.score import DETECTED, NO_CANDIDATE, UNDETECTED, UNJUDGED, Ratio
from pytest_killmatrix.model import Status
from pytest_killmatrix.report.extent import interval_notes, is_partial, reference_notes, unfinished
from pytest_killmatrix.report.listing import Line, Style, excluded_tests, mutant_lists
from pytest_killmatrix.report.summary import Summary, summarize
from pytest_killmatrix.report.text import count, duration, flow, number, percent, plain, printable
from pytest_killmatrix.report.why import BRIEF
from pytest_killmatrix.store.reader import Reader

NAMES = {
    Status.NO_USABLE_TEST: "only excluded tests",
    Status.NO_COVERAGE: "no coverage",
    Status.RUN_ERROR: "run error",
}
NARROWEST = 64
"""Columns below which lines are left to the terminal to wrap."""

LABEL = 17
"""Columns of the first column of the headline and the counts."""


def render(
    reader: Reader,
    *,
    width: int = 80,
    verbosity: int = 0,
    ascii: bool = False,
    instead: Iterable[Line] | None = None,
    qualified_by: Sequence[str] = (),
) -> Iterator[Line]:
    """The report on ``reader``'s run; below 0 only the headline, above 0 everything without limits.

    ``ascii`` is for terminals whose encoding has no arrow (``text.is_ascii_only``). Where no mutants were to be made,
    ``instead`` stands in place of all that is said of them. What an audit of the same tests found (``qualified_by``)
    stands beside the scores: tests that kill everything may still be wrong. The caller writes the title.
    """
    summary = summarize(reader)
    style = style_of(width, verbosity, ascii)
    yield from _alarms(summary, style)
    for words in reference_notes(summary.info):
        for line in style.wrap(words, first=""):
            yield line, {"bold": True}
    yield from _headline(summary, style) if instead is None else instead
    if qualified_by:
        words = f"authored variants, below: {'; '.join(qualified_by)}"
        for line in style.wrap(plain(words, ascii=ascii), first=f"{'qualified':{LABEL}}"):
            yield line, {"red": True, "bold": True}
    if verbosity >= 0 and instead is None:
        yield from _counts(summary, style)
    if verbosity > 0 or (verbosity == 0 and summary.info.delta is None):  # else the delta has the screen
        if instead is None:
            yield from mutant_lists(summary, style)
            yield from _causes(summary, style)
        yield from excluded_tests(summary, style)
    if verbosity >= 0:
        advice = _advice(summary) if not qualified_by else "look at the authored variants below first"
        yield from _footer(summary, style, advice if instead is None else None)
    # In full, whatever the width: it is there to be copied.
    yield f"sidecar  {printable(str(reader.path), ascii=ascii)}", {}


def style_of(width: int, verbosity: int, ascii: bool) -> Style:
    """How much there is room for on a terminal."""
    return Style(width=max(width, NARROWEST), verbose=verbosity > 0, ascii=ascii)


def _alarms(summary: Summary, style: Style) -> Iterator[Line]:
    """What makes the numbers below worth less, or nothing; so it comes before them."""
    info = summary.info
    bad = {"red": True, "bold": True}
    if info.noop_kills:
        killers = count(len(info.noop_kills), "test")
        yield style.fit(f"NOT TO BE TRUSTED: a control that changes nothing was killed by {killers}"), bad
        for name in info.noop_kills[: None if style.verbose else 3]:
            yield style.fit(f"  {plain(name, ascii=style.ascii)}"), bad
    for route, verdict in info.routes.items():
        if verdict not in ("ok", "not exercised"):
            yield style.fit(plain(f"NOT TO BE TRUSTED: control of route {route}: {verdict}", ascii=style.ascii)), bad
    if not info.complete:
        yield style.fit(unfinished(info)), {"yellow": True, "bold": True}


def _headline(summary: Summary, style: Style) -> Iterator[Line]:
    score = summary.score
    yield style.fit(_score("assertion score", score.assertion, "killed / (killed + survived)")), {"bold": True}
    yield style.fit(_score("detection score", score.detection, "detected / (detected + not detected)")), {"bold": True}
    words = f"mutants, by {count(summary.judges, 'test')} in {count(summary.cells, 'cell')}"
    for note in interval_notes(score):
        for line in style.wrap(note, first="  "):
            yield line, {}
    yield style.fit(_score("reached", score.reached, words)), {}


def _score(name: str, ratio: Ratio, words: str) -> str:
    fraction = f"{number(ratio.numerator)} of {number(ratio.denominator)}"
    return f"{name:{LABEL}}{percent(ratio.numerator, ratio.denominator):>8} {fraction:>13}   {words}"


def _counts(summary: Summary, style: Style) -> Iterator[Line]:
    yield "", {}
    groups = (("detected", DETECTED), ("not detected", UNDETECTED), ("not judged", UNJUDGED))
    counts = summary.score.counts
    for name, statuses in groups:
        total = sum(counts[status.value] for status in statuses)
        if not total:
            continue
        items = [_count(summary, status) for status in statuses if counts[status.value]]
        first = f"{name:{LABEL}}{number(total):>8}   "
        for line in flow(items, style.width, first=first, separator=style.separator):
            yield line, {}
    yield f"{'mutants':{LABEL}}{number(summary.score.mutants):>8}", {"bold": True}


def _count(summary: Summary, status: Status) -> str:
    text = f"{NAMES.get(status, status.value)} {number(summary.score.counts[status.value])}"
    if status is Status.SURVIVED and summary.string_only:
        text += f" ({number(len(summary.string_only))} in string literals)"
    return text


def _causes(summary: Summary, style: Style) -> Iterator[Line]:
    """Why mutants survived, as far as that is known."""
    survivors = len(summary.of(Status.SURVIVED)) + len(summary.string_only)
    known = Counter(cause.kind for cause in summary.causes.values())
    if not known:
        return
    parts = [f"{number(known[kind])} {words}" for kind, words in BRIEF.items() if known[kind]]
    if survivors > sum(known.values()):
        parts.append(f"{number(survivors - sum(known.values()))} cannot be told")
    yield "", {}
    for line in flow(parts, style.width, first="why they survived  ", separator=style.separator):
        yield line, {}
    for line in style.wrap("killmatrix show PATH:LINE says more of one", first=" " * len("why they survived  ")):
        yield line, {"light": True}


def _footer(summary: Summary, style: Style, advice: str | None) -> Iterator[Line]:
    info = summary.info
    yield "", {}
    for note in info.notes:
        for line in style.wrap(plain(note, ascii=style.ascii), first="note     "):
            yield line, {}
    phases = {name: seconds for name, seconds in info.cpu.items() if name != "total" and seconds >= 0.05}
    total = info.cpu.get("total", sum(info.cpu.values()))
    parts = [duration(info.seconds), f"{duration(total)} CPU"]
    parts += [f"{name} {duration(seconds)}" for name, seconds in phases.items()]
    for line in flow(parts, style.width, first="time     ", separator=style.separator):
        yield line, {}
    for line in style.wrap(advice, first="next     ") if advice is not None else ():
        yield line, {"bold": True}


def _advice(summary: Summary) -> str:
    """The one thing to do next."""
    score = summary.score
    if is_partial(summary.info):
        return "merge again when the others are there: killmatrix merge DB... -o DB"
    if not summary.info.complete:
        return "run the same command again: it goes on with the mutants that are left"
    if not score.mutants:
        return "nothing was mutated: choose what to mutate with --mutate=PATH"
    survivors = summary.of(Status.SURVIVED)
    if survivors:
        # code that runs at import meets every test: that many "run" it says little
        entry = max(survivors, key=lambda listed: (listed.tests < summary.judges, listed.tests))
        place = f"{plain(entry.mutant.path)}:{entry.mutant.line}"
        if entry.tests == 1:
            return f"1 test runs {place} and does not notice the change: assert what it does"
        return f"{count(entry.tests, 'test')} run {place} and none notices the change: assert what it does"
    if summary.uncovered:
        (path, definition), _ = summary.uncovered.most_common(1)[0]
        return f"write a test that runs {definition} in {path}"
    if summary.of(Status.NO_USABLE_TEST) or summary.of(Status.SILENCED):
        return "make the tests above usable: mutants depend on them alone"
    judged = score.detection.denominator
    left = sum(score.counts[status.value] for status in UNJUDGED if status not in NO_CANDIDATE)
    if not judged:
        return "no mutant was judged: see the reasons above"
    if left:
        return f"every mutant that was judged is detected; {count(left, 'mutant')} could not be judged"
    return "nothing: the suite detects every mutant"
