"""``killmatrix test``: what one test kills, and what only it kills."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, reading
from pytest_killmatrix.model import Outcome, Test
from pytest_killmatrix.reading.find import find_test
from pytest_killmatrix.report.colour import Output
from pytest_killmatrix.report.json import test_object
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.text import cells as columns
from pytest_killmatrix.report.text import count, fit, one_line_diff, pad, plain
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.schema import OUTCOMES

_LISTED = 20
_KILLING = ", ".join(str(code) for code, outcome in enumerate(OUTCOMES) if outcome.kills)


@dataclass(frozen=True, slots=True)
class Met:
    """A mutant that the test met."""

    key: str
    path: str
    line: int
    operator: str
    original: str
    replacement: str
    outcome: Outcome
    only: bool  # no other test kills it


@dataclass(slots=True)
class Page:
    """One entry of the test, and the mutants it met."""

    test: Test
    met: list[Met] = field(default_factory=list)

    @property
    def kills(self) -> list[Met]:
        return [one for one in self.met if one.outcome.kills]

    @property
    def unique(self) -> list[Met]:
        return [one for one in self.met if one.only]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("test", metavar="NODEID", help="its node id, the end or a part of it, or a glob")
    parser.add_argument("-v", "--verbose", action="store_true", help="every mutant, those it lets pass too")
    add_sidecar(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading(arguments) as reader:
        tests = reader.tests()
        pages = [_read(reader, index, tests[index]) for index in find_test(reader, arguments.test)]
        if arguments.json:
            print_json([_object(page) for page in pages])
        else:
            screen = output(arguments)
            for page in pages:
                screen.write(_lines(page, screen, arguments.verbose))
    return 0


def _read(reader: Reader, index: int, test: Test) -> Page:
    # CROSS JOIN keeps the order: cells are found by mutant, and by test only by looking at all
    rows = reader.query(
        f"""
        SELECT m.key, m.path, m.line, m.operator, m.original, m.replacement, c.outcome,
               c.outcome IN ({_KILLING}) AND NOT EXISTS (
                   SELECT 1 FROM cells o WHERE o.run = c.run AND o.mutant = c.mutant AND o.suite = c.suite
                   AND o.test <> c.test AND o.outcome IN ({_KILLING}))
        FROM mutants m CROSS JOIN cells c ON c.run = m.run AND c.mutant = m.mutant
        WHERE m.run = ? AND c.test = ? AND c.suite = ? ORDER BY m.path, m.line, m.column
        """,
        reader.run,
        index,
        int("new" not in test.suite),
    )
    return Page(
        test,
        [
            Met(key, path, line, operator, original, replacement, OUTCOMES[outcome], bool(only))
            for key, path, line, operator, original, replacement, outcome, only in rows
        ],
    )


def _object(page: Page) -> dict[str, object]:
    return {
        **test_object(page.test),
        "mutants": len(page.met),
        "kills": [{"mutant": one.key, "outcome": one.outcome.value} for one in page.kills],
        "unique": [one.key for one in page.unique],
    }


def _lines(page: Page, screen: Output, verbose: bool) -> Iterator[Line]:
    test, kills, unique = page.test, page.kills, page.unique
    yield plain(test.nodeid, ascii=screen.ascii), {"bold": True}
    facts = [f"{test.clean.value} in {test.seconds * 1000:,.1f} ms"]
    if tuple(test.suite) != ("new",) or test.change:  # there is a baseline
        facts.append(f"suite {', '.join(test.suite)}")
    if test.change:
        facts.append(test.change)
    if test.excluded is not None:
        facts.append(f"left out: {test.excluded.value}")
    if not test.parallel_safe:
        facts.append("ran with nothing beside it")
    yield ", ".join(facts), {}
    assertions = sum(one.outcome is Outcome.ASSERTION for one in kills)
    yield (
        f"meets {count(len(page.met), 'mutant')}, kills {len(kills):,} ({assertions:,} by assertion), "
        f"{len(unique):,} that no other test kills",
        {"green": bool(unique), "yellow": not kills, "bold": True},
    )
    others = [one for one in kills if not one.only]
    yield from _list("only this test kills", unique, screen, verbose)
    yield from _list("others kill these too", others, screen, verbose)
    if verbose:
        yield from _list("met and not noticed", [one for one in page.met if not one.outcome.kills], screen, True)


def _list(title: str, found: Sequence[Met], screen: Output, verbose: bool) -> Iterator[Line]:
    if not found:
        return
    dots = "..." if screen.ascii else "…"
    yield "", {}
    yield f"{title} ({len(found):,})", {"bold": True}
    shown = found if verbose else found[:_LISTED]
    for one in shown:
        place = f"  {plain(one.path, ascii=screen.ascii)}:{one.line}: "
        right = f"  {one.outcome.value:9}  {one.key.rpartition('::')[2]}"
        place = fit(place, screen.width // 2, dots)
        room = max(screen.width - columns(place) - columns(right), 10)
        diff = one_line_diff(one.original, one.replacement, room, ascii=screen.ascii)
        yield place + pad(diff, room) + right, {}
    if len(shown) < len(found):
        yield f"  {dots} {len(found) - len(shown):,} more, -v shows all", {"light": True}
