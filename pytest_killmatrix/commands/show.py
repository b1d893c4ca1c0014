"""``killmatrix show``: one mutant with its diff, its cells, and what would kill it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, reading
from pytest_killmatrix.model import Cause, Cell, Status, Test
from pytest_killmatrix.reading.find import Named, find_mutants
from pytest_killmatrix.report.colour import Output
from pytest_killmatrix.report.json import mutant_object
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.source_diff import diff_lines
from pytest_killmatrix.report.text import cells as columns
from pytest_killmatrix.report.text import count, fit, fit_left, flow, one_line_diff, plain, printable
from pytest_killmatrix.report.why import TITLES, need, reason, samples
from pytest_killmatrix.store.reader import MutantRow, Reader

_KILLERS = 20
_OTHERS = 20
_CHOICE = 40


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "mutant",
        metavar="MUTANT",
        help="its key, the ten digits at the end of that, PATH:LINE, a glob, or any part that names only one",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="every cell, however many there are")
    add_sidecar(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading(arguments) as reader:
        found = find_mutants(reader, arguments.mutant)
        causes = reader.causes(found[0].number if len(found) == 1 else None)
        if arguments.json:
            names = [test.nodeid for test in reader.tests()]
            objects = [mutant_object(reader.mutant(one.number), names, causes.get(one.number)) for one in found]
            print_json(objects[0] if len(objects) == 1 else objects)
            return 0
        screen = output(arguments)
        if len(found) > 1:
            screen.write(_choice(reader, arguments.mutant, found, screen))
        else:
            row = reader.mutant(found[0].number)
            screen.write(
                _page(reader, row, reader.tests_of(row.index), causes.get(row.index), screen, arguments.verbose)
            )
    return 0


def _choice(reader: Reader, word: str, found: Sequence[Named], screen: Output) -> Iterator[Line]:
    """The mutants that a word may mean, a line each."""
    yield f"{plain(word, ascii=screen.ascii)} names {len(found):,} mutants; show one by its ten digits", {"bold": True}
    dots = "..." if screen.ascii else "…"
    for one in found[:_CHOICE]:
        row = reader.mutant(one.number)
        left = f"  {one.key.rpartition('::')[2]}  {row.status.value:12} "
        place = fit_left(f"{plain(one.path, ascii=screen.ascii)}:{one.line}", screen.width // 3, dots)
        room = max(screen.width - columns(left) - columns(place) - 2, 10)
        diff = one_line_diff(row.mutant.original, row.mutant.replacement, room, ascii=screen.ascii)
        yield f"{left}{place}  {diff}", {"red": row.status is Status.SURVIVED}
    if len(found) > _CHOICE:
        yield f"  {dots} {len(found) - _CHOICE:,} more", {"light": True}


def _page(
    reader: Reader, row: MutantRow, tests: Mapping[int, Test], cause: Cause | None, screen: Output, verbose: bool
) -> Iterator[Line]:
    mutant, dots = row.mutant, "..." if screen.ascii else "…"
    killers = {cell.test for cell in row.cells if cell.outcome.kills and cell.suite == "new"}
    alarming = row.status.value in ("survived", "no_coverage", "silenced", "no_usable_test")
    yield plain(mutant.key, ascii=screen.ascii), {"bold": True}
    words = f"{row.status.value}" + (f" ({plain(row.reason, ascii=screen.ascii)})" if row.reason else "")
    yield (
        f"{words}: {count(len(killers), 'test')} of the {len(row.reached_by):,} that reach it "
        f"{'kills' if len(killers) == 1 else 'kill'} it",
        {"red": alarming, "green": bool(killers), "bold": True},
    )
    where = f"{mutant.path}:{mutant.line}, {mutant.definition}, {mutant.operator}"
    if mutant.static:
        where += ", runs at import"
    yield plain(where, ascii=screen.ascii), {}
    if mutant.duplicate_of:
        yield f"same code as {plain(mutant.duplicate_of, ascii=screen.ascii)}", {}
    yield "", {}
    for sign, number, text in diff_lines(mutant, reader.text_of(mutant.path)):
        shown = printable(text.expandtabs(4), ascii=screen.ascii)
        yield (
            fit(f"{'' if number is None else number:>5} {sign} {shown}", screen.width, dots),
            {"red": sign == "-", "green": sign == "+", "light": sign == " "},
        )
    if cause is not None:
        yield "", {}
        yield f"why     {TITLES[cause.kind]}", {"yellow": True, "bold": True}
        yield fit(f"        {plain(reason(cause), ascii=screen.ascii)}", screen.width, dots), {}
        for line in samples(cause):
            yield fit(f"        {plain(line, ascii=screen.ascii)}", screen.width, dots), {}
    wanted = need(mutant, row.status, cause, len(row.reached_by), row.reason)
    if wanted is not None:
        yield "", {}
        yield from _wrapped("needs   ", wanted, screen.width)
    yield from _cells(row, tests, screen, verbose, dots)


def _wrapped(first: str, text: str, width: int) -> Iterator[Line]:
    for line in flow(text.split(" "), width, first=first, separator=" "):
        yield line, {"bold": True}


def _cells(row: MutantRow, tests: Mapping[int, Test], screen: Output, verbose: bool, dots: str) -> Iterator[Line]:
    killing = [cell for cell in row.cells if cell.outcome.kills]
    others = [cell for cell in row.cells if not cell.outcome.kills]
    for title, group, most in (("killed by", killing, _KILLERS), ("not noticed by", others, _OTHERS)):
        if not group:
            continue
        yield "", {}
        yield f"{title} ({len(group):,})", {"bold": True}
        shown = group if verbose else group[:most]
        for cell in shown:
            yield from _cell(cell, tests[cell.test], screen, dots)
        if len(shown) < len(group):
            yield f"  {dots} {len(group) - len(shown):,} more, -v shows all", {"light": True}
    judged = {cell.test for cell in row.cells}
    left = [tests[test] for test in row.reached_by if test not in judged and tests[test].excluded is not None]
    if left:
        yield "", {}
        yield f"reached by, but left out ({len(left):,})", {"bold": True}
        for test in left[: None if verbose else _OTHERS]:
            assert test.excluded is not None
            yield fit(f"  {test.excluded.value:10} {plain(test.nodeid, ascii=screen.ascii)}", screen.width, dots), {}


def _cell(cell: Cell, test: Test, screen: Output, dots: str) -> Iterator[Line]:
    marks = [cell.isolation.value]
    if cell.phase.value != "call":
        marks.append(cell.phase.value)
    if cell.suite != "new":
        marks.append(cell.suite)
    if cell.confirmed is not None:
        marks.append("confirmed" if cell.confirmed else "not confirmed")
    marks += cell.flags
    right = f"{cell.seconds * 1000:,.1f} ms, {', '.join(marks)}"
    head = f"  {cell.outcome.value:10} {plain(test.nodeid, ascii=screen.ascii)}"
    room = screen.width - columns(right) - 2
    yield f"{fit(head, room, dots)}  {right}", {"red": cell.outcome.kills}
    if cell.exception or cell.message or cell.raised_at or cell.reason:
        parts = [
            cell.exception or "",
            cell.message or "",
            f"at {cell.raised_at}" if cell.raised_at else "",
            cell.reason or "",
        ]
        text = " · ".join(part for part in parts if part) if not screen.ascii else ", ".join(filter(None, parts))
        yield fit(f"             {plain(text, ascii=screen.ascii)}", screen.width, dots), {"light": True}
