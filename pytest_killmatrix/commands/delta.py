"""``killmatrix delta``: what a suite gained on another, of a run with a baseline or of two stored runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_killmatrix.commands import CommandError
from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, translated
from pytest_killmatrix.reading.comparison import Compared, compare_runs
from pytest_killmatrix.reading.find import find_sidecar
from pytest_killmatrix.report.delta import markdown, render
from pytest_killmatrix.report.listing import Style
from pytest_killmatrix.report.terminal import NARROWEST
from pytest_killmatrix.report.text import number, plain
from pytest_killmatrix.store.reader import Reader


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="two runs, the old suite's first: a number in `killmatrix runs`, the path of another sidecar, or "
        "PATH#NUMBER (none: the delta that the newest run has)",
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-v", "--verbose", action="store_true", help="lists without limits")
    amount.add_argument("-q", "--quiet", action="store_true", help="only the headline")
    parser.add_argument("--markdown", action="store_true", help="print a block of Markdown for a pull request")
    add_sidecar(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with translated():
        compared = _compared(arguments)
    if arguments.json:
        print_json({**compared.delta, "unmatched": {"old": compared.only_old, "new": compared.only_new}})
        return 0
    if arguments.markdown:
        print(markdown(compared.delta, compared.mutants), end="")
        return 0
    screen = output(arguments)
    style = Style(max(screen.width, NARROWEST), arguments.verbose, screen.ascii)
    screen.write(render(compared.delta, compared.mutants, style, arguments.quiet))
    for which, keys in (("first", compared.only_old), ("second", compared.only_new)):
        if keys and not arguments.quiet:
            screen.line()
            screen.line(
                f"mutants that only the {which} run has ({number(len(keys))}): compared with nothing", yellow=True
            )
            for key in keys if arguments.verbose else keys[:8]:
                screen.line(style.fit(f"  {plain(key, ascii=style.ascii)}"))
            if len(keys) > 8 and not arguments.verbose:
                screen.line(f"  {style.dots} {number(len(keys) - 8)} more, -v shows all")
    return 0


def _compared(arguments: argparse.Namespace) -> Compared:
    if not arguments.runs:
        with Reader(find_sidecar(arguments.db), arguments.run) as reader:
            if reader.info.delta is None:
                raise CommandError(
                    "this run has no baseline; make one with pytest --mutation-baseline=REF, or name two runs"
                )
            mutants = {row.mutant.key: row.mutant for row in reader.mutants(cells=False, reach=False)}
            return Compared(reader.info.delta, mutants, [], [])
    if len(arguments.runs) != 2:
        raise CommandError("name two runs, the old suite's first, or none")
    old, new = (_place(word, arguments.db) for word in arguments.runs)
    with Reader(*old) as before, Reader(*new) as now:
        return compare_runs(before, now, arguments.runs[0])


def _place(word: str, sidecar: str | None) -> tuple[Path, int | None]:
    """(the sidecar, the number of the run in it or None for its newest)."""
    if word.isdigit():
        return find_sidecar(sidecar), int(word)
    path, mark, tail = word.rpartition("#")
    if mark and tail.isdigit():
        return Path(path), int(tail)
    return Path(word), None
