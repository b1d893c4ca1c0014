"""``killmatrix runs``: what is in the sidecar."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, reading
from pytest_killmatrix.report.extent import unfinished
from pytest_killmatrix.report.json import run_object
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.text import duration, number, percent
from pytest_killmatrix.sharding import in_words
from pytest_killmatrix.store.reader import Reader


def configure(parser: argparse.ArgumentParser) -> None:
    add_sidecar(parser, run=False)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading(arguments) as reader:
        if arguments.json:
            print_json([{"run": run, **run_object(info)} for run, info in reader.runs()])
        else:
            output(arguments).write(_table(reader))
    return 0


def _table(reader: Reader) -> Iterator[Line]:
    yield (
        f"{'run':>4}  {'started':25}  {'commit':9}  {'mutants':>7}  {'assertion':>9}  {'detection':>9}  {'took':>11}",
        {"bold": True},
    )
    for run, info in reader.runs():
        with Reader(reader.path, run) as one:
            score = one.score()
        commit = (info.commit or "-")[:8] + ("+" if info.dirty else "")
        line = (
            f"{run:>4}  {info.started:25}  {commit:9}  {number(score.mutants):>7}  {percent(*score.assertion):>9}  "
            f"{percent(*score.detection):>9}  {duration(info.seconds):>11}"
        )
        if info.shard is not None:
            line += f"  {in_words(info.shard)}"
        yield line if info.complete else f"{line}  {unfinished(info).split(':')[0]}", {"yellow": not info.complete}
