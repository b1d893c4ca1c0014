"""``killmatrix merge``: the shards of one run become one run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_killmatrix.analysis.score import Score
from pytest_killmatrix.commands import CommandError
from pytest_killmatrix.commands.common import translated
from pytest_killmatrix.merging.checking import MergeError, joined, read_source
from pytest_killmatrix.merging.writing import write_joint
from pytest_killmatrix.report.text import count
from pytest_killmatrix.sharding import in_words
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.place import DB_OPTION
from pytest_killmatrix.store.reader import Reader

_FAILED: Final = 1


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sidecars", metavar="DB", nargs="+", type=Path, help="sidecars whose newest run is a shard, or merged shards"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DB",
        required=True,
        type=Path,
        help="the sidecar that gets the run; a new one, or one whose runs stay",
    )
    parser.add_argument(
        "--partial", action="store_true", help="merge though shards are missing or interrupted; marked incomplete"
    )
    parser.add_argument(
        "--fail-under",
        metavar="[RATIO:]PCT",
        action="append",
        default=[],
        help="exit 1 when a ratio of the merged run is below, as pytest's --kill-matrix-fail-under; repeatable",
    )


def run(arguments: argparse.Namespace) -> int:
    wanted = _thresholds(arguments.fail_under)
    with translated():
        try:
            joint = joined([read_source(path) for path in arguments.sidecars], partial=arguments.partial)
            written = write_joint(joint, arguments.output)
        except (MergeError, StoreError) as error:
            raise CommandError(str(error).replace(DB_OPTION, "-o DB")) from error
        with Reader(arguments.output, written.run) as reader:
            score, cells = reader.score(), reader.cell_count()
    if written.notice is not None:
        print(written.notice, file=sys.stderr)
    words = f"{in_words(joint.info.shard or {})}: {count(score.mutants, 'mutant')}, {count(cells, 'cell')}"
    print(f"{words}, {'as run' if written.added else 'there already as run'} {written.run} in {arguments.output}")
    return _FAILED if wanted and _fails(wanted, score) else 0


def _thresholds(given: Sequence[str]) -> list[tuple[str, float]]:
    if not given:
        return []
    import pytest  # slow to load, and most merges have none

    from pytest_killmatrix.settings import threshold

    try:
        return [threshold(text, "--fail-under") for text in given]
    except pytest.UsageError as error:
        raise CommandError(str(error)) from error


def _fails(wanted: Sequence[tuple[str, float]], score: Score) -> bool:
    from pytest_killmatrix.report.thresholds import unmet

    failures = unmet(wanted, score, "--fail-under")
    for failure in failures:
        print(failure, file=sys.stderr)
    return bool(failures)
