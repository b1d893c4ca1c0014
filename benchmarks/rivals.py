"""Other mutation testing tools on the same files, with what each says about how many mutants it ran.

Each runs in a copy of the project of its own, with its defaults (they stop at the first killing test) and two workers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import measure
from packages import Package, copy_project, environment, make_venv, python_files


@dataclass
class Result:
    """What a tool did. ``executed`` are mutants that it ran tests for; None where it does not say."""

    tool: str
    cost: measure.Cost
    made: int | None = None
    executed: int | None = None
    statuses: dict[str, int] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True)
class Tool:
    """How to install a tool, start it and read its result."""

    install: tuple[str, ...]
    start: Callable[[Package, Path, Path, int], list[str]]
    read: Callable[[Path, str], tuple[int, int, dict[str, int]]]


def run(name: str, package: Package, project: Path, work: Path, workers: int, limit: float) -> Result:
    """Run one tool on a fresh copy of the project."""
    tool = TOOLS[name]
    python = make_venv(work / "venvs" / name, [*tool.install, *package.requires])
    copy = copy_project(project, work / package.name / name)
    output = work / package.name / f"{name}.txt"
    env = environment(package, copy)
    if name == "mutmut":  # it sets the path to its own copy, and a second copy on the path would hide that
        env.pop("PYTHONPATH", None)
    cost = measure.run(tool.start(package, python, copy, workers), cwd=copy, env=env, output=output, limit=limit)
    result = Result(name, cost)
    screen = output.read_text(encoding="utf-8", errors="replace")
    try:
        result.made, result.executed, result.statuses = tool.read(copy, screen)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        last = (screen.strip().splitlines() or ["nothing printed"])[-1][-200:]
        result.failure = f"no result ({type(error).__name__}, exit {cost.returncode}): {last}"
    if cost.timed_out:
        result.failure = f"stopped after {limit:.0f} s"
    return result


def _start_mutmut(package: Package, python: Path, copy: Path, workers: int) -> list[str]:
    settings = {
        "source_paths": package.source_paths,
        "only_mutate": python_files(package, copy),
        "also_copy": package.also_copy,
        "pytest_add_cli_args": (*package.truth_args, *package.mutmut_args),
    }
    lines = ["", "[mutmut]"]
    for key, values in settings.items():
        if values:
            lines += [f"{key} =", *(f"    {value}" for value in values)]
    with (copy / "setup.cfg").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return [str(python), "-m", "mutmut", "run", "--max-children", str(workers)]


def _read_mutmut(copy: Path, screen: str) -> tuple[int, int, dict[str, int]]:
    names = {0: "survived", 1: "killed", 3: "killed", 5: "no tests", 33: "no tests", 34: "skipped", 36: "timeout"}
    names |= {24: "timeout", -24: "timeout", 152: "timeout", 255: "timeout", -9: "segfault", -11: "segfault"}
    codes: list[int | None] = []
    for meta in (copy / "mutants").rglob("*.meta"):
        codes += json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"].values()
    statuses = Counter("not checked" if code is None else names.get(code, "suspicious") for code in codes)
    if not codes or statuses["not checked"] == len(codes):
        raise ValueError("no mutant was run")
    executed = len(codes) - sum(statuses[kind] for kind in ("not checked", "no tests", "skipped"))
    return len(codes), executed, dict(statuses)


def _start_gremlins(package: Package, python: Path, copy: Path, workers: int) -> list[str]:
    targets = f"--gremlin-targets={','.join(package.files)}"
    options = ["--gremlins", targets, "--gremlin-report=json", f"--gremlin-workers={workers}"]
    return [str(python), "-m", "pytest", "-q", *package.truth_args, *options]


def _read_gremlins(copy: Path, screen: str) -> tuple[int, int, dict[str, int]]:
    report = json.loads((copy / "coverage/gremlins/gremlins.json").read_text(encoding="utf-8"))
    statuses = Counter(result["status"] for result in report["results"])
    executed = sum(1 for result in report["results"] if result["selected_tests"] and result["status"] != "pardoned")
    return len(report["results"]), executed, dict(statuses)


def _start_fermut(package: Package, python: Path, copy: Path, workers: int) -> list[str]:
    # It takes one root; what is beside the files to mutate is excluded.
    root = package.source_paths[0]
    wanted = set(python_files(package, copy))
    top = copy / root
    every = [str(path.relative_to(copy)) for path in top.rglob("*.py")] if top.is_dir() else [root]
    excluded = [path[len(root) + 1 :] for path in every if path not in wanted]
    options = ["--jobs", str(workers), "--json", "fermut.json", "--python", str(python), "--tests", package.tests]
    options += ["--no-fail", "--no-cache", "--no-history"]
    options += [part for path in excluded for part in ("--exclude", path)]
    options += [f"--pytest-arg={arg}" for arg in package.truth_args]
    return [str(python.parent / "fermut"), "run", root, *options]


def _read_fermut(copy: Path, screen: str) -> tuple[int, int, dict[str, int]]:
    summary = json.loads((copy / "fermut.json").read_text(encoding="utf-8"))["summary"]
    kinds = ("killed", "survived", "timed_out", "skipped", "equivalent", "errored")
    return summary["total"], summary["total"] - summary["skipped"], {kind: summary[kind] for kind in kinds}


def _start_pytestmut(package: Package, python: Path, copy: Path, workers: int) -> list[str]:
    options = ["--level", "all", "-j", str(workers), "-r", "text", "--no-cache"]
    extra = ["--pytest-args", " ".join(package.truth_args)] if package.truth_args else []
    return [str(python.parent / "pytestmut"), "run", *python_files(package, copy), *options, *extra]


def _read_pytestmut(copy: Path, screen: str) -> tuple[int, int, dict[str, int]]:
    last = re.findall(r"^\[(\d+)/(\d+)\]((?:\s+[a-z_ ]+ \d+)+)", screen, re.MULTILINE)
    if not last:
        raise ValueError("no progress line")
    done, total, rest = last[-1]
    statuses = {kind.strip(): int(number) for kind, number in re.findall(r"([a-z_ ]+) (\d+)", rest)}
    return int(total), int(done), statuses


TOOLS = {
    "mutmut": Tool(("mutmut>=3.8,<3.9", "pytest<10"), _start_mutmut, _read_mutmut),
    "pytest-gremlins": Tool(("pytest-gremlins",), _start_gremlins, _read_gremlins),
    "fermut": Tool(("fermut", "pytest<10", "pytest-cov"), _start_fermut, _read_fermut),
    "pytestmut": Tool(("pytestmut",), _start_pytestmut, _read_pytestmut),
}
