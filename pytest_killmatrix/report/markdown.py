"""The report as Markdown: for a pull request, a job's summary page, a file in a repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from pytest_killmatrix.analysis.score import DETECTED, UNDETECTED, UNJUDGED, Ratio
from pytest_killmatrix.model import Cause, Status
from pytest_killmatrix.reading.delta import delta_of
from pytest_killmatrix.report.delta import markdown as delta_block
from pytest_killmatrix.report.extent import interval_notes, reference_notes, unfinished
from pytest_killmatrix.report.summary import Listed, Summary, summarize
from pytest_killmatrix.report.text import count, duration, number, one_line_diff, percent, plain
from pytest_killmatrix.report.why import TITLES, reason
from pytest_killmatrix.store.reader import Reader

MARK: Final = "<!-- pytest-killmatrix -->\n"
_SURVIVORS: Final = 200
_TESTS: Final = 50
_DELTA: Final = 50
_DIFF: Final = 90
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_chunks(reader: Reader) -> Iterator[str]:
    """The document, section by section."""
    summary = summarize(reader)
    yield MARK
    yield "# Kill matrix\n\n"
    yield from _alarms(summary)
    yield from _scores(summary)
    delta = delta_of(reader)
    if delta is not None:
        yield delta_block(delta, {row.mutant.key: row.mutant for row in reader.mutants(cells=False, reach=False)})
        yield "\n"
    yield from _survivors(summary, reader.causes())
    yield from _uncovered(summary)
    yield from _excluded(summary)
    yield from _footer(summary)


def _alarms(summary: Summary) -> Iterator[str]:
    info = summary.info
    alarms = [f"a control that changes nothing was killed: {name}" for name in info.noop_kills]
    alarms += [
        f"control of route {route}: {verdict}"
        for route, verdict in info.routes.items()
        if verdict not in ("ok", "not exercised")
    ]
    for alarm in alarms:
        yield f"> **Not to be trusted:** {text(alarm)}\n\n"
    if not info.complete:
        kind, _, words = unfinished(info).partition(": ")
        yield f"> **{kind.capitalize()}:** {words}.\n\n"
    for words in reference_notes(info):
        yield f"> {text(words)}\n\n"


def _scores(summary: Summary) -> Iterator[str]:
    score = summary.score
    yield "| | | | |\n|---|---:|---:|---|\n"
    yield _ratio("**assertion score**", score.assertion, "killed / (killed + survived)")
    yield _ratio("**detection score**", score.detection, "detected / (detected + not detected)")
    words = f"mutants, by {count(summary.judges, 'test')} in {count(summary.cells, 'cell')}"
    yield _ratio("reached", score.reached, words)
    yield "\n"
    for note in interval_notes(score):
        yield f"* {text(note)}\n"
    for title, statuses in (("detected", DETECTED), ("not detected", UNDETECTED), ("not judged", UNJUDGED)):
        parts = [
            f"{status.value.replace('_', ' ')} {number(score.counts[status.value])}"
            for status in statuses
            if score.counts[status.value]
        ]
        if parts:
            yield f"* {title}: {text(', '.join(parts))}\n"
    yield "\n"


def _ratio(name: str, ratio: Ratio, words: str) -> str:
    fraction = f"{number(ratio.numerator)} of {number(ratio.denominator)}"
    return f"| {name} | {percent(ratio.numerator, ratio.denominator)} | {fraction} | {words} |\n"


def _survivors(summary: Summary, causes: dict[int, Cause]) -> Iterator[str]:
    survivors = [*summary.of(Status.SURVIVED), *summary.string_only]
    if not survivors:
        return
    yield f"## Survived ({len(survivors):,})\n\nTests ran these changes and none failed.\n\n"
    shown = sorted(survivors, key=lambda entry: (entry.mutant.path, entry.mutant.line, entry.mutant.column))
    for path, group in groupby(shown[:_SURVIVORS], key=lambda entry: entry.mutant.path):
        yield f"### {code(path)}\n\n| line | change | tests | why |\n|---:|---|---:|---|\n"
        for entry in group:
            yield _survivor(entry, causes.get(entry.index))
        yield "\n"
    yield _more(len(survivors), _SURVIVORS)


def _survivor(entry: Listed, cause: Cause | None) -> str:
    diff = one_line_diff(entry.mutant.original, entry.mutant.replacement, _DIFF)
    why = f"{TITLES[cause.kind]} ({reason(cause)})" if cause is not None else ""
    return f"| {entry.mutant.line} | {code(diff)} | {entry.tests} | {text(why)} |\n"


def _uncovered(summary: Summary) -> Iterator[str]:
    if summary.uncovered:
        yield f"## No test reaches them ({sum(summary.uncovered.values()):,})\n\n"
        for (path, definition), mutants in summary.uncovered.most_common():
            yield f"* {code(definition)} in {code(path)}: {count(mutants, 'mutant')}\n"
        yield "\n"


def _excluded(summary: Summary) -> Iterator[str]:
    if summary.excluded:
        yield f"## Tests that judge no mutant ({len(summary.excluded):,})\n\n"
        for test in summary.excluded[:_TESTS]:
            yield f"* {code(test.nodeid)}: {'' if test.excluded is None else test.excluded.value}\n"
        yield _more(len(summary.excluded), _TESTS)
        yield "\n"


def _footer(summary: Summary) -> Iterator[str]:
    info = summary.info
    if info.notes:
        yield "## Notes\n\n"
    for note in info.notes:
        yield f"* {text(note)}\n"
    commit = f" of commit {code(info.commit[:12])}{' with changes' if info.dirty else ''}" if info.commit else ""
    yield f"\nRun {code(info.id)}{commit}, {text(info.started)}, {duration(info.seconds)}.\n"


def _more(total: int, limit: int) -> str:
    return f"\n… {total - limit:,} more\n\n" if total > limit else "\n"


def text(words: str) -> str:
    """One line in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", plain(words))


def code(words: str) -> str:
    """One line of code, safe in a table."""
    line = plain(words).replace("|", "\\|")
    ticks = max((len(run) for run in re.findall(r"`+", line)), default=0) + 1
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{'`' * ticks}{space}{line}{space}{'`' * ticks}"
