"""``killmatrix harness plan|run|score``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from pytest_killmatrix.commands import CommandError

DB: Final = ".killmatrix.sqlite"
_FAILED: Final = 1
_INTERRUPTED: Final = 2
_FAULT: Final = 3
_USAGE: Final = 4

Number = TypeVar("Number", int, float)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the three steps."""
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP", parser_class=type(parser))
    plan = steps.add_parser("plan", help="choose the mutants of a suite's base", allow_abbrev=False)
    plan.add_argument("suite", type=Path, metavar="SUITE", help="the suite file (YAML)")
    plan.add_argument("--out", type=Path, required=True, metavar="PLAN", help="where the plan is written (YAML)")
    plan.add_argument("--harness", metavar="NAME", help="which harness, where the suite names several")
    plan.add_argument("--ops", metavar="LIST", help="operators, comma separated (default: all)")
    plan.add_argument("--max", type=_count, default=12, metavar="N", help="mutants at most (default: 12)")
    plan.add_argument(
        "--n", type=_count, metavar="N", help="trials of each variant and task (default: the suite's, or 2)"
    )
    plan.add_argument("--data", type=Path, metavar="DIR", help="data folder with earlier trials of the base")
    plan.add_argument("--no-control", action="store_true", help="plan no noop control")

    run = steps.add_parser("run", help="run the trials of a plan", allow_abbrev=False)
    run.add_argument("plan", type=Path, metavar="PLAN")
    run.add_argument("--max-usd", type=_amount, metavar="USD", help="refuse above this projected cost (default: 40)")
    run.add_argument("--dry-run", action="store_true", help="print the projection only")
    run.add_argument("--workers", type=_workers, default=1, metavar="N", help="trials at once (default: 1)")
    run.add_argument("--only", action="append", default=[], metavar="VARIANT", help="only these (glob); repeatable")
    run.add_argument("--set", metavar="NAME", help="name of the run set (default: made of harness, base and tasks)")

    score = steps.add_parser("score", help="judge the mutants of a plan by a run set", allow_abbrev=False)
    score.add_argument("plan", type=Path, metavar="PLAN")
    score.add_argument("run_set", metavar="RUNSET", help="name of a run set in the data folder, or its own folder")
    score.add_argument("--specs", type=Path, metavar="FILE", help="specs over traces (YAML)")
    score.add_argument("--out", type=Path, metavar="FILE", help="write the report there (Markdown)")
    score.add_argument(
        "--bound", type=_share, default=0.9, metavar="B", help="pass^k a spec has to reach (default: 0.9)"
    )
    score.add_argument("--k", type=_count, metavar="K", help="k of pass^k (default: n)")
    score.add_argument("--seed", type=int, default=0, metavar="S", help="of what is simulated (default: 0)")
    score.add_argument("--json", action="store_true", help="print JSON instead of Markdown")

    for step in (run, score):
        step.add_argument(
            "--data", type=Path, default=Path("harness-data"), metavar="DIR", help="data folder (default: harness-data)"
        )
        step.add_argument("--db", type=Path, default=Path(DB), metavar="PATH", help=f"the sidecar (default: {DB})")


def run(arguments: argparse.Namespace) -> int:
    """Do the step that was asked for."""
    from pytest_killmatrix.harness.reading import HarnessError
    from pytest_killmatrix.store.errors import StoreError

    try:
        return {"plan": _plan, "run": _run, "score": _score}[arguments.step](arguments)
    except (HarnessError, StoreError) as error:
        raise CommandError(f"{arguments.step}: {error}") from error


def _plan(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.harness.plan import plan_command

    lines = plan_command(
        arguments.suite, arguments.out, harness=arguments.harness, ops=arguments.ops, largest=arguments.max,
        trials=arguments.n, data=arguments.data, control=not arguments.no_control,
    )  # fmt: skip
    print("\n".join(lines))
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.harness.reading import HarnessError
    from pytest_killmatrix.harness.run import Asked, run_command
    from pytest_killmatrix.harness.score import unscored_run
    from pytest_killmatrix.store.errors import StoreError
    from pytest_killmatrix.store.harness import store_harness_run
    from pytest_killmatrix.store.place import place_problem

    problem = place_problem(arguments.db)
    if problem is not None and not arguments.dry_run:
        raise HarnessError(problem.replace("--kill-matrix-db", "--db"))
    asked = Asked(
        arguments.plan, arguments.data, arguments.set, arguments.max_usd, arguments.workers, arguments.dry_run,
        tuple(arguments.only),
    )  # fmt: skip
    ran = run_command(asked, lambda line: print(line, flush=True))
    if ran is None:
        return 0
    try:
        store_harness_run(arguments.db, unscored_run(ran.plan, ran.run_set))
    except StoreError as error:  # the trials are kept all the same
        print(f"warning: not in the sidecar yet, the score will put it there: {error}")
    if ran.interrupted:
        return _INTERRUPTED
    if ran.over_budget and ran.left:
        return _USAGE
    if ran.faults:
        print(f"{ran.faults} trials ended in faults twice; the same command tries them again")
        return _FAILED
    print(f"score it with killmatrix harness score {arguments.plan} {ran.run_set.name}{_data(arguments)}")
    return 0


def _score(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.harness.reading import HarnessError
    from pytest_killmatrix.harness.report import markdown, report_problem, write_report
    from pytest_killmatrix.harness.score import score_command
    from pytest_killmatrix.report.harness import headline
    from pytest_killmatrix.store.harness import store_harness_run
    from pytest_killmatrix.store.place import place_problem

    problem = place_problem(arguments.db)
    if problem is not None:
        raise HarnessError(problem.replace("--kill-matrix-db", "--db"))
    if arguments.out is not None and (problem := report_problem(arguments.out)):
        raise HarnessError(problem)
    scored = score_command(
        arguments.plan, arguments.run_set, arguments.data, specs=arguments.specs, bound=arguments.bound,
        k=arguments.k, seed=arguments.seed,
    )  # fmt: skip
    scored = replace(scored, run=store_harness_run(arguments.db, scored))
    if arguments.out is not None:
        write_report(scored, arguments.out)
    if arguments.json:
        print(json.dumps({"schema_version": 1, **scored.as_dict()}, indent=1))
    elif arguments.out is None:
        print(markdown(scored), end="")
    else:
        print(headline(scored))
        print(f"{arguments.out}: the report")
    for note in scored.notes if arguments.json or arguments.out is not None else ():
        print(f"note: {note}", file=sys.stderr)
    return _FAULT if scored.withheld is not None else 0


def _data(arguments: argparse.Namespace) -> str:
    return "" if arguments.data == Path("harness-data") else f" --data {arguments.data}"


def _count(text: str) -> int:
    return _checked(int, text, lambda number: number >= 1, "a whole number from 1 on")


def _workers(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    return _checked(int, text, lambda number: 1 <= number <= 256, "auto, or a whole number from 1 to 256")


def _amount(text: str) -> float:
    return _checked(float, text, lambda number: 0 <= number < float("inf"), "dollars, 0 or more")


def _share(text: str) -> float:
    return _checked(float, text, lambda number: 0 < number <= 1, "a number above 0, up to 1")


def _checked(kind: Callable[[str], Number], text: str, good: Callable[[Number], bool], wanted: str) -> Number:
    """A number of a certain kind; argparse names the option."""
    try:
        number = kind(text)
        if good(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} will not do; {wanted} will")
