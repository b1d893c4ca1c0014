#!/usr/bin/env python3
"""Run the kill matrix on real packages, say what it cost, compare it with other tools, and verify its cells.

    python benchmarks/run.py                              the four default packages
    python benchmarks/run.py toolz --verify 300           and check 300 cells against plain pytest
    python benchmarks/run.py inflection --against mutmut  and run mutmut on the same files
    python benchmarks/run.py semver -- --kill-matrix-static=skip    options after -- go to pytest

Needs Linux, and a package index that pip can reach. Everything is kept in benchmarks/work (or --work).
Exit status 1: a cell disagrees with the truth, a control is wrong, or a package could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import measure
import rivals
from packages import DEFAULT, HERE, PACKAGES, Package, copy_project, environment, fetch, own_venv
from verify import KILLS, OFF, Verifier

STATUSES = [
    "killed",
    "crashed",
    "timeout",
    "survived",
    "silenced",
    "no_usable_test",
    "no_coverage",
    "invalid",
    "equivalent",
    "duplicate",
    "ignored",
    "pending",
    "run_error",
]
EXECUTED = {"killed", "crashed", "timeout", "survived", "silenced"}
FORKER_LIMIT = 120
MS_PER_MUTANT, MS_PER_CELL = 15.0, 0.3


def main() -> int:
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    chosen = [PACKAGES[name] for name in options.packages or DEFAULT]
    python = Path(os.path.abspath(options.python)) if options.python else own_venv(work, chosen)
    failures: list[str] = []
    summary: dict[str, Any] = {}
    for package in chosen:
        print(f"\n{package.name} {package.version}", flush=True)
        try:
            summary[package.name] = one_package(package, python, work, options, failures)
        except Unusable as error:
            failures.append(f"{package.name}: {error}")
            say("FAILED", str(error))
        (work / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    print()
    for failure in failures:
        print(f"FAILED  {failure}")
    print(f"{len(chosen)} packages, {len(failures)} failures; figures in {work / 'summary.json'}")
    return 1 if failures else 0


class Unusable(Exception):
    """A package that cannot be measured, and why."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--verify", type=int, default=0, metavar="N", help="check N random cells against plain pytest")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells")
    parser.add_argument("--against", action="append", default=[], choices=[*rivals.TOOLS, "all"], help="another tool")
    parser.add_argument("--twice", action="store_true", help="run the matrix again and compare the cells")
    parser.add_argument("--check", action="store_true", help="fail where the project's limits on cost are not kept")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1800, metavar="S", help="seconds that one tool may take")
    parser.add_argument(
        "--python", metavar="PATH", help="an interpreter that has the project (default: an own environment)"
    )
    parser.add_argument("--work", type=Path, default=HERE / "work", help="where everything is kept")
    arguments = sys.argv[1:]
    extra: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1 :]
    options = parser.parse_args(arguments)
    options.pytest = extra
    if unknown := set(options.packages) - set(PACKAGES):
        parser.error(f"unknown package {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}")
    if "all" in options.against:
        options.against = list(rivals.TOOLS)
    return options


def say(label: str, text: str) -> None:
    print(f"  {label:<13}{text}", flush=True)


def one_package(
    package: Package, python: Path, work: Path, options: argparse.Namespace, failures: list[str]
) -> dict[str, Any]:
    project = fetch(package, work)
    clean = run_clean(package, python, project, work)
    report, cost = run_matrix(package, python, project, work, options)
    problems = inspect(report, cost)
    figures = describe(package, report, cost, clean, options, problems)
    if options.twice:
        again, _ = run_matrix(package, python, project, work, options)
        problems += compare_runs(report, again)
    if options.verify:
        problems += verify(package, python, project, work, report, clean, options, figures)
    for name in options.against:
        compare_tool(name, package, project, work, options, figures)
    failures += [f"{package.name}: {problem}" for problem in problems]
    return figures


def run_clean(package: Package, python: Path, project: Path, work: Path) -> measure.Cost:
    """The suite by plain pytest, which has to pass."""
    copy = copy_project(project, work / package.name / "project")
    output = work / package.name / "clean.txt"
    off = [part for name in OFF for part in ("-p", f"no:{name}")]
    command = [str(python), "-m", "pytest", "-q", *off, *package.args, *package.truth_args]
    cost = measure.run(command, cwd=copy, env=environment(package, copy), output=output, limit=600)
    last = (output.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""])[-1]
    if cost.returncode != 0:
        raise Unusable(f"the suite does not pass unmutated (exit {cost.returncode}): {last}; see {output}")
    say("clean suite", f"{last.strip('= ')}; {cost.cpu:.1f} CPU s")
    return cost


def run_matrix(
    package: Package, python: Path, project: Path, work: Path, options: argparse.Namespace
) -> tuple[dict[str, Any], measure.Cost]:
    """The kill matrix in a fresh copy, with a fresh sidecar."""
    home = work / package.name
    copy = copy_project(project, home / "project")
    out, output, sidecar = home / "killmatrix.json", home / "killmatrix.txt", home / "killmatrix.sqlite"
    for old in (out, *home.glob("killmatrix.sqlite*")):
        old.unlink(missing_ok=True)
    command = [str(python), "-m", "pytest", "--kill-matrix", f"--kill-matrix-json={out}", f"--kill-matrix-db={sidecar}"]
    command += [f"--kill-matrix-workers={options.workers}", *(f"--mutate={file}" for file in package.files)]
    command += [*package.args, *options.pytest]
    cost = measure.run(command, cwd=copy, env=environment(package, copy), output=output, limit=options.limit)
    if not out.exists():
        last = " | ".join(output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:])
        raise Unusable(f"no report (exit {cost.returncode}): {last}; see {output}")
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return report, cost


def inspect(report: dict[str, Any], cost: measure.Cost) -> list[str]:
    """What has to hold in every report."""
    problems = []
    mutants, run = report["mutants"], report["run"]
    counts = {name: number for name, number in report["score"]["counts"].items() if name != "survived_string_only"}
    if sum(counts.values()) != len(mutants) or counts != dict.fromkeys(counts, 0) | _statuses(mutants):
        problems.append(f"states do not add up: {counts} for {len(mutants)} mutants")
    if unknown := set(_statuses(mutants)) - set(STATUSES):
        problems.append(f"unknown states {unknown}")
    if len({mutant["key"] for mutant in mutants}) != len(mutants):
        problems.append("two mutants have one key")
    if run["controls"]["noop_kills"]:
        problems.append(f"the noop control killed: {run['controls']['noop_kills'][:3]}")
    routes = run["controls"]["routes"].items()
    if wrong := {route: said for route, said in routes if said != "ok" and not said.startswith("not ")}:
        problems.append(f"controls: {wrong}")
    if not run["complete"]:
        problems.append("the run is not complete")
    for mutant in mutants:
        new = [cell for cell in mutant["cells"] if cell["suite"] == "new"]
        names = [cell["test"] for cell in new]
        killers = {cell["test"] for cell in new if cell["outcome"] in KILLS}
        if len(set(names)) != len(names):
            problems.append(f"{mutant['key']}: two cells of one test")
        if killers != set(mutant["killed_by"]):
            problems.append(f"{mutant['key']}: killed_by and cells differ")
        if not set(names) <= set(mutant["reached_by"]):
            problems.append(f"{mutant['key']}: a cell of a test that does not reach it")
    if cost.left:
        problems.append(f"processes left behind: {cost.left}")
    if cost.timed_out:
        problems.append("the run was stopped at the limit")
    return problems


def _statuses(mutants: list[dict[str, Any]]) -> Counter[str]:
    return Counter(mutant["status"] for mutant in mutants)


def describe(
    package: Package,
    report: dict[str, Any],
    cost: measure.Cost,
    clean: measure.Cost,
    options: argparse.Namespace,
    problems: list[str],
) -> dict[str, Any]:
    """Print the figures of one run, and return them."""
    mutants = report["mutants"]
    cells = [cell for mutant in mutants for cell in mutant["cells"] if cell["suite"] == "new"]
    executed = sum(1 for mutant in mutants if mutant["status"] in EXECUTED)
    statuses = _statuses(mutants)
    outcomes = Counter(cell["outcome"] for cell in cells)
    phases = {name: value for name, value in report["run"]["cpu"].items() if value}
    own = sum(cell["seconds"] for cell in cells)
    swapped = [m for m in mutants if m["status"] in EXECUTED and not m["static"]]
    swapped_cells = [c for m in swapped for c in m["cells"] if c["phase"] != "collect" and c["outcome"] != "timeout"]
    once = {test["nodeid"]: test["seconds"] for test in report["tests"] if "new" in test["suite"]}
    swap_own = sum(min(c["seconds"], once[c["test"]]) for c in swapped_cells)
    overhead = report["run"]["cpu"].get("swap", 0.0) - swap_own
    allowed = (MS_PER_MUTANT * len(swapped) + MS_PER_CELL * len(swapped_cells)) / 1000
    say("mutants", f"{len(mutants)} ({executed} executed), {sum(m['static'] for m in mutants)} of them static")
    say("states", ", ".join(f"{name} {statuses[name]}" for name in STATUSES if statuses[name]))
    say("cells", f"{len(cells)}: " + ", ".join(f"{name} {number}" for name, number in outcomes.most_common()))
    bound = package.static_limit if any(m["static"] for m in mutants if m["status"] in EXECUTED) else package.cpu_limit
    limit = f" (limit {bound:.0f})" if bound else ""
    say("CPU", f"{cost.cpu:.1f} s{limit}, wall {cost.seconds:.1f} s; the clean suite once: {clean.cpu:.1f} s")
    say("by phase", ", ".join(f"{name} {value:.1f}" for name, value in phases.items()) + " s, as the report says")
    per_mutant, per_cell = 1000 * cost.cpu / max(1, executed), 1000 * cost.cpu / max(1, len(cells))
    say(
        "per unit",
        f"{per_mutant:.1f} CPU ms a mutant, {per_cell:.2f} a cell; the cells' own time is {own:.1f} s by the clock",
    )
    late = sum(c["seconds"] for m in swapped for c in m["cells"] if c["outcome"] == "timeout")
    say("swap", f"{overhead:.1f} s above the tests' own time, {allowed:.1f} allowed; {late:.1f} s are tests timing out")
    forker = f"the one that forks {cost.forker_peak:.0f} MB (limit {FORKER_LIMIT})"
    say("memory", f"largest process {cost.peak:.0f} MB; {forker}")
    if options.check:
        if bound and cost.cpu > bound:
            problems.append(f"{cost.cpu:.1f} CPU s, limit {bound}")
        if cost.forker_peak > FORKER_LIMIT:
            problems.append(f"the process that forks has {cost.forker_peak:.0f} MB, limit {FORKER_LIMIT}")
        if overhead > allowed:
            problems.append(f"phase swap: {overhead:.1f} s above the tests' own time, allowed {allowed:.1f}")
    return {
        "version": package.version,
        "python": report["run"]["python"],
        "options": options.pytest,
        "mutants": len(mutants),
        "executed": executed,
        "statuses": dict(statuses),
        "cells": len(cells),
        "outcomes": dict(outcomes),
        "cpu": round(cost.cpu, 2),
        "wall": round(cost.seconds, 2),
        "cpu_by_phase": report["run"]["cpu"],
        "ms_per_mutant": round(per_mutant, 2),
        "ms_per_cell": round(per_cell, 3),
        "tests_own_seconds": round(own, 2),
        "swap_overhead": [round(overhead, 2), round(allowed, 2)],
        "peak_mb": round(cost.peak),
        "forker_mb": round(cost.forker_peak),
        "rivals": {},
    }


def compare_runs(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Two runs have to give the same cells."""
    one, two = (
        {(m["key"], c["suite"], c["test"]): c["outcome"] for m in report["mutants"] for c in m["cells"]}
        for report in (first, second)
    )
    states = [{m["key"]: m["status"] for m in report["mutants"]} for report in (first, second)]
    differing = [cell for cell in {**one, **two} if one.get(cell) != two.get(cell)]
    moved = [key for key in {**states[0], **states[1]} if states[0].get(key) != states[1].get(key)]
    say("twice", f"{len(differing)} of {len(one)} cells and {len(moved)} of {len(states[0])} states differ")
    problems = [f"two runs differ: {cell}: {one.get(cell)} / {two.get(cell)}" for cell in differing[:20]]
    problems += [f"two runs differ: {key}: {states[0].get(key)} / {states[1].get(key)}" for key in moved[:20]]
    for problem in problems:  # at once: verifying takes minutes more
        say("", problem)
    return problems


def verify(
    package: Package,
    python: Path,
    project: Path,
    work: Path,
    report: dict[str, Any],
    clean: measure.Cost,
    options: argparse.Namespace,
    figures: dict[str, Any],
) -> list[str]:
    """Check cells against plain pytest, and print what was found."""
    budget = next((arg.partition("=")[2] for arg in options.pytest if arg.startswith("--kill-matrix-timeout=")), "10:1")
    factor, _, floor = budget.partition(":")
    start = time.monotonic()
    verdict = Verifier(
        package,
        python,
        project,
        report,
        workers=options.workers,
        budget=(float(factor), float(floor or 1)),
        startup=clean.seconds,
        keep=work / package.name / "disagreements",
    ).verify(options.verify, options.seed)
    kinds = ", ".join(f"{name} {number}" for name, number in verdict.kinds.most_common())
    say(
        "verified",
        f"{verdict.checked} cells ({verdict.kills} kills; {kinds}) of {verdict.mutants} mutants, and {verdict.invalid} "
        f"invalid ones, by plain pytest in {time.monotonic() - start:.0f} s: {len(verdict.problems)} disagreements",
    )
    if verdict.unobserved:
        say("", f"{verdict.unobserved} ran the mutated file only in a process that the test started, or not at all")
    for note in verdict.notes[:5]:
        say("note", note)
    if len(verdict.notes) > 5:
        say("note", f"and {len(verdict.notes) - 5} more kills with another exception than in plain pytest")
    figures["verified"] = {
        "cells": verdict.checked,
        "kills": verdict.kills,
        "kinds": dict(verdict.kinds),
        "invalid": verdict.invalid,
        "disagreements": len(verdict.problems),
        "seed": options.seed,
    }
    if verdict.checked < options.verify:
        verdict.problems.append(f"only {verdict.checked} of {options.verify} cells could be chosen for verification")
    return verdict.problems


def compare_tool(
    name: str, package: Package, project: Path, work: Path, options: argparse.Namespace, figures: dict[str, Any]
) -> None:
    """Run another tool on the same files, and print ratios (above 1: it needs more than the kill matrix)."""
    result = rivals.run(name, package, project, work, options.workers, options.limit)
    cost = result.cost
    entry: dict[str, Any] = {"cpu": round(cost.cpu, 2), "wall": round(cost.seconds, 2), "failure": result.failure}
    figures["rivals"][name] = entry
    if result.made is None or not result.executed:
        say(name, f"{result.failure}; {cost.cpu:.1f} CPU s")
        return
    per_mutant = 1000 * cost.cpu / result.executed
    entry |= {"made": result.made, "executed": result.executed, "statuses": result.statuses}
    entry |= {"ms_per_mutant": round(per_mutant, 2), "peak_mb": round(cost.peak)}
    states = ", ".join(f"{kind} {number}" for kind, number in result.statuses.items() if number)
    made = f"{result.made} mutants ({result.executed} executed: {states})"
    say(name, f"{made}, {cost.cpu:.1f} CPU s, wall {cost.seconds:.1f} s")
    mine = figures["ms_per_mutant"]
    ratio, total = per_mutant / max(mine, 1e-9), cost.cpu / max(figures["cpu"], 1e-9)
    unit = f"{per_mutant:.1f} CPU ms a mutant: {ratio:.1f} × the kill matrix"
    say("", f"{unit}; in all {total:.1f} ×; peak {cost.peak:.0f} MB")
    if result.failure:
        say("", result.failure)


if __name__ == "__main__":
    raise SystemExit(main())
