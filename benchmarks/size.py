#!/usr/bin/env python3
"""How big a project may get: a simulated one is planned and written, and its sidecar is read.

    python benchmarks/size.py                              100,000 mutants, 5,000 tests, 50 cells a mutant
    python benchmarks/size.py --mutants 20000 --check      and fail where a limit is missed
    python benchmarks/size.py --grow                       several sizes, and a real project by 1 and 2 workers
    python benchmarks/size.py --chart                      draw what --grow measured

Everything but the children is real: mutants, builds, reach, planning, the engine that feeds children and judges what
they say, the sidecar and the commands that read it. Planning and writing are one process, as in a run; each command is
one. Needs Linux.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
DOCS: Final = HERE.parent / "docs" / "explanation"
DATA, CHART = DOCS / "size.json", DOCS / "size.svg"
GROWTH: Final = ((10_000, 5_000), (30_000, 5_000), (100_000, 5_000), (30_000, 500), (30_000, 1_500))
COMMANDS: Final = ("report", "show", "test", "runs", "redundant")
#: what is measured, and by how much it may miss: (name, unit, limit, whether that is the least)
LIMITS: Final = (
    ("planning", "s", 10.0, False),
    ("written", "cells/s", 100_000.0, True),
    ("sidecar", "bytes/cell", 40.0, False),
    ("memory", "MB", 500.0, False),
)
#: of a sidecar of a million cells and less; in proportion above
READING: Final = {"report": 1.0, "show": 0.2}
MILLION: Final = 1_000_000


def main() -> int:
    options = parse()
    if options.stage:
        print(json.dumps(STAGES[options.stage](options)))
        return 0
    if options.chart or options.grow:
        if options.grow:
            from growing import grow

            grow(GROWTH, measure_size, DATA)
        from chart import draw

        CHART.write_text(draw(json.loads(DATA.read_text("utf-8"))), "utf-8")
        print(f"drawn: {CHART}")
        return 0
    figures = measure_size(options.mutants, options.tests, options.cells, options.keep)
    missed = show(figures)
    return 1 if missed and options.check else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--tests", type=int, default=5_000)
    parser.add_argument("--cells", type=int, default=50, help="cells a mutant, on average")
    parser.add_argument("--check", action="store_true", help="fail where a limit is missed")
    parser.add_argument("--keep", type=Path, metavar="PATH", help="keep the sidecar there")
    parser.add_argument("--grow", action="store_true", help="measure several sizes, store the figures, draw them")
    parser.add_argument("--chart", action="store_true", help="draw the figures that are stored")
    parser.add_argument("--stage", choices=("fill", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--sidecar", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_size(mutants: int, tests: int, cells: int = 50, keep: Path | None = None) -> dict[str, Any]:
    """All figures of one size."""
    with tempfile.TemporaryDirectory() as folder:
        sidecar = Path(folder, "size.sqlite") if keep is None else keep
        sidecar.unlink(missing_ok=True)
        size = ["--mutants", str(mutants), "--tests", str(tests), "--cells", str(cells), "--sidecar", str(sidecar)]
        figures: dict[str, Any] = {"mutants": mutants, "tests": tests}
        for stage in STAGES:
            command = [sys.executable, __file__, "--stage", stage, *size]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            figures |= json.loads(done.stdout)
    return figures


def show(figures: Mapping[str, Any]) -> list[str]:
    """Print the figures beside their limits; the names of those that miss them."""
    print(f"{figures['mutants']:,} mutants, {figures['tests']:,} tests, {figures['cells']:,} cells")
    missed = []
    scale = max(1.0, figures["cells"] / MILLION)
    reading = [(name, "s", limit * scale, False) for name, limit in READING.items()]
    others = [(name, "s", None, False) for name in COMMANDS if name not in READING]
    for name, unit, limit, least in (*LIMITS, *reading, *others):
        value = figures[name]
        words = "" if limit is None else f"limit {limit:,g}"
        if limit is not None and (value < limit if least else value > limit):
            missed.append(name)
            words += "  MISSED"
        cpu = {**figures["cpu"], **figures["reading_cpu"]}
        if name == "written":
            words += f"  ({figures['cells'] / cpu['writing']:,.0f} a second of its processor)"
        elif name in cpu:
            words += f"  ({cpu[name]:.3g} s of a processor)"
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        print(f"  {name:<12}{number:>10} {unit:<12}{words.strip()}".rstrip())
    print(f"  taking in reach {figures['reach']:.3g} s, judging {figures['judging']:.3g} s: no limits")
    return missed


def fill(options: argparse.Namespace) -> dict[str, Any]:
    """Plan, judge and write, as the controller does."""
    from simulated import Children, Sizes, make_cause, make_project, measured

    from pytest_killmatrix.jobs import Subjects
    from pytest_killmatrix.matrix import Matrix
    from pytest_killmatrix.model import RunInfo, Status
    from pytest_killmatrix.plan import OtherWays, Planner
    from pytest_killmatrix.reach import ReachMap
    from pytest_killmatrix.store.writer import Sidecar

    project = make_project(Sizes(options.mutants, options.tests, options.cells))
    watch = Watch()
    reach = ReachMap()
    for path, context, arcs in measured(project):
        with watch("reach"):
            reach.add(path, context, arcs)
    with watch("planning"):
        planner = Planner(project.tests, project.file_tests, {})
        plan = [
            planner.plan(
                index,
                mutant,
                build,
                reach.contexts(project.paths[mutant.path], mutant),
                True,
                project.ways[mutant.path],
            )
            for index, (mutant, build) in enumerate(zip(project.mutants, project.builds, strict=True))
        ]
    planned = peak()
    paths = project.paths
    subjects = Subjects(
        project.mutants,
        project.builds,
        paths,
        dict.fromkeys(paths, "0" * 64),
        dict.fromkeys(paths, "utf-8"),
        {},
        frozenset(range(0, len(project.tests), 100)),  # one test in a hundred cannot run beside others
        frozenset(),
        project.file_tests,
        [test.nodeid for test in project.tests],
        OtherWays(plan, planner, lambda one: project.ways[project.mutants[one.mutant].path]),
    )
    info = RunInfo("simulated", "2026-11-30T00:00:00+00:00", population=len(plan))
    matrix = Matrix(Children(project), subjects, False, False, True, itertools.count(1), forks=True)  # type: ignore[arg-type]
    cells, begun = 0, time.perf_counter()
    with Sidecar.open(options.sidecar) as sidecar:
        run = sidecar.begin_run(info)
        sidecar.add_mutants(run, project.mutants)
        sidecar.add_tests(run, project.tests)
        for name, text in project.texts():
            sidecar.add_file(run, name, hashlib.sha256(text.encode()).hexdigest(), text)
        for done in matrix.run(plan, lambda: None, lambda one: None):
            cells += len(done.cells)
            with watch("writing"):
                sidecar.store(run, done.mutant, done.status, done.reason, done.cells, done.reached_by)
                if done.status is Status.SURVIVED and done.mutant % 3:
                    sidecar.set_cause(run, done.mutant, make_cause(done.mutant))
        with watch("writing"):
            sidecar.flush()
        judging = time.perf_counter() - begun - watch.seconds["writing"]
        with watch("writing"):
            sidecar.finish_run(run, info)
    size = Path(options.sidecar).stat().st_size
    return {
        **watch.seconds,
        "judging": judging,
        "cpu": watch.cpu,
        "cells": cells,
        "written": cells / watch.seconds["writing"],
        "sidecar": size / cells,
        "memory_planned": planned,
        "memory": peak(),
    }


def read(options: argparse.Namespace) -> dict[str, Any]:
    """Each command that reads: the best of five, as a person would start it."""
    from simulated import Sizes, make_mutant

    middle = make_mutant(Sizes(options.mutants, options.tests, options.cells), options.mutants // 2)
    arguments = {
        "show": [middle.key.rpartition("::")[2]],
        "test": [f"::test_number_{options.tests // 2}_of_what_is_asked_for"],
    }
    figures: dict[str, float] = {}
    cpu: dict[str, float] = {}
    for command in COMMANDS:
        start = [sys.executable, "-m", "pytest_killmatrix.cli", command, *arguments.get(command, [])]
        taken, used = [], []
        while len(taken) < 5 and sum(taken) < 10:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begun = time.perf_counter()
            command_line = [*start, "--db", options.sidecar]
            subprocess.run(command_line, stdout=subprocess.DEVNULL, check=True, env=as_installed())
            taken.append(time.perf_counter() - begun)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        figures[command], cpu[command] = min(taken), min(used)
    return {**figures, "reading_cpu": cpu}


def as_installed() -> dict[str, str]:
    """The environment with compiled modules, as they are where a package is installed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


STAGES: Final = {"fill": fill, "read": read}


class Watch:
    """Adds up seconds by name: of the clock, and of this process on a processor."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self._name = ""
        self._since = (0.0, 0.0)

    def __call__(self, name: str) -> Watch:
        self._name = name
        return self

    def __enter__(self) -> None:
        self._since = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        seconds, cpu = time.perf_counter() - self._since[0], time.process_time() - self._since[1]
        self.seconds[self._name] = self.seconds.get(self._name, 0.0) + seconds
        self.cpu[self._name] = self.cpu.get(self._name, 0.0) + cpu


def peak() -> float:
    """Memory that this process had at most, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
