"""``killmatrix report``: the summary of a run, as pytest printed it."""

from __future__ import annotations

import argparse

from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, reading
from pytest_killmatrix.reading.delta import delta_of
from pytest_killmatrix.report.colour import Output
from pytest_killmatrix.report.delta import render as render_delta
from pytest_killmatrix.report.json import run_object, score_object, variants_object
from pytest_killmatrix.report.terminal import render, style_of
from pytest_killmatrix.store.reader import Reader


def configure(parser: argparse.ArgumentParser) -> None:
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("-v", "--verbose", action="store_true", help="lists without limits")
    amount.add_argument("-q", "--quiet", action="store_true", help="only the scores")
    add_sidecar(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading(arguments) as reader:
        delta = delta_of(reader)
        if arguments.json:
            facts = {"run": run_object(reader.info), "score": score_object(reader.score()), "delta": delta}
            print_json({**facts, "variants": variants_object(reader)})
            return 0
        screen = output(arguments)
        verbosity = 1 if arguments.verbose else -1 if arguments.quiet else 0
        _matrix(reader, screen, verbosity)
        if delta is not None:
            screen.line()
            screen.line(f"delta since {delta['baseline']}", bold=True)
            mutants = {row.mutant.key: row.mutant for row in reader.mutants(cells=False, reach=False)}
            screen.write(render_delta(delta, mutants, style_of(screen.width, verbosity, screen.ascii), verbosity < 0))
    return 0


def _matrix(reader: Reader, screen: Output, verbosity: int) -> None:
    """The mutants, and the authored variants where the run judged some; as in the run, no score mixes the two."""
    if not reader.has_variants():
        screen.write(render(reader, width=screen.width, verbosity=verbosity, ascii=screen.ascii))
        return
    from pytest_killmatrix.oracle.lines import audit_lines  # most runs have none
    from pytest_killmatrix.oracle.reporting import report_of

    audit = report_of(reader)
    assert audit is not None
    lines = audit_lines(audit, style_of(screen.width, verbosity, screen.ascii), verbosity)
    if not reader.score().mutants:
        screen.write(render(reader, width=screen.width, verbosity=verbosity, ascii=screen.ascii, instead=lines))
        return
    qualified = audit.qualified_by
    screen.write(render(reader, width=screen.width, verbosity=verbosity, ascii=screen.ascii, qualified_by=qualified))
    screen.line()
    screen.line("authored variants", bold=True)
    screen.write(lines)
