"""Compare cells of a report with the truth: the mutant written into a copy of the file, one test, plain pytest.

Nothing of the plugin takes part: it is switched off in these runs, the mutant is spliced in by the positions that the
JSON report gives, and every test runs in a fresh process of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

from packages import HERE, Package, copy_project, environment

KILLS = {"assertion", "exception", "crash", "timeout"}
CLEAN = {"passed": "passed", "xfailed": "passed", "xpassed": "passed", "failed": "failed", "error": "failed"}
MEMORY = 4 << 30
INVALID_ONE_IN = 20  # beside so many cells one mutant that is said to be invalid
OFF = ("killmatrix", "cacheprovider", "randomly")


@dataclass(frozen=True)
class Sample:
    """One cell to check."""

    mutant: dict[str, Any]
    cell: dict[str, Any]

    @property
    def kills(self) -> bool:
        return self.cell["outcome"] in KILLS


@dataclass
class Truth:
    """What plain pytest said: passed, failed, skipped, missing, died or timeout."""

    outcome: str
    exception: str | None = None
    seconds: float = 0.0
    text: str = ""
    imported: bool = False
    foreign: list[str] = field(default_factory=list)


@dataclass
class Verdict:
    """How the verification went."""

    checked: int = 0
    kills: int = 0
    mutants: int = 0
    unobserved: int = 0
    invalid: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


def choose(report: dict[str, Any], number: int, seed: int) -> list[Sample]:
    """``number`` cells, half of them kills; rare kinds first, then at random."""
    usable = {"killed", "crashed", "timeout", "survived", "silenced"}
    every = [
        Sample(mutant, cell)
        for mutant in report["mutants"]
        if mutant["status"] in usable
        for cell in mutant["cells"]
        if cell["suite"] == "new" and cell["outcome"] != "error"
    ]
    dice = random.Random(seed)
    chosen: list[Sample] = []
    for kills in (True, False):
        pool = [sample for sample in every if sample.kills is kills]
        dice.shuffle(pool)
        share = number // 2
        rare: list[Sample] = []
        for kind in (_is_static, _is_collected, _is_crash, _is_timeout, _is_skipped, _is_confirmed):
            rare += [sample for sample in pool if kind(sample) and sample not in rare][: max(1, share // 8)]
        chosen += (rare + [sample for sample in pool if sample not in rare])[:share]
    return chosen


def choose_invalid(report: dict[str, Any], number: int, seed: int) -> list[dict[str, Any]]:
    """Mutants that are said to be no program, those that cannot be imported first."""
    pool = [mutant for mutant in report["mutants"] if mutant["status"] == "invalid"]
    random.Random(seed).shuffle(pool)
    return sorted(pool, key=lambda mutant: not _says_import(mutant))[:number]


def _says_import(mutant: dict[str, Any]) -> bool:
    return "cannot be imported" in (mutant["reason"] or "")


def _is_static(sample: Sample) -> bool:
    return bool(sample.mutant["static"])


def _is_collected(sample: Sample) -> bool:
    return bool(sample.cell["phase"] == "collect")


def _is_crash(sample: Sample) -> bool:
    return bool(sample.cell["outcome"] == "crash")


def _is_timeout(sample: Sample) -> bool:
    return bool(sample.cell["outcome"] == "timeout")


def _is_skipped(sample: Sample) -> bool:
    return bool(sample.cell["outcome"] == "skipped")


def _is_confirmed(sample: Sample) -> bool:
    return sample.cell["confirmed"] is not None


def splice(data: bytes, mutant: dict[str, Any]) -> bytes:
    """The file with the mutant in it; encoding, BOM and line ends stay as they are."""
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    text = data.decode(encoding)
    starts = [0] + [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    start = starts[mutant["line"] - 1] + mutant["column"]
    end = starts[mutant["end_line"] - 1] + mutant["end_column"]
    found, said = (re.sub(r"\r\n|\r", "\n", part) for part in (text[start:end], mutant["original"]))
    if found != said:
        raise ValueError(f"the file has {found!r} at that place, the report says {said!r}")
    return (text[:start] + mutant["replacement"] + text[end:]).encode(encoding)


class Verifier:
    """Runs tests of one package by plain pytest."""

    def __init__(self, package: Package, python: Path, project: Path, report: dict[str, Any], **options: Any) -> None:
        self.package = package
        self.python = python
        self.project = project
        self.report = report
        self.workers: int = options["workers"]
        self.factor, self.floor = options["budget"]
        self.startup: float = options["startup"]
        self.keep: Path = options["keep"]
        self.tests = {test["nodeid"]: test for test in report["tests"] if "new" in test["suite"]}
        self.places: dict[str, tuple[str, int]] = {}
        self.order: dict[str, list[str]] = {}
        self.predecessors: dict[str, list[str]] = {}

    def verify(self, number: int, seed: int) -> Verdict:
        verdict = Verdict()
        samples = choose(self.report, number, seed)
        shutil.rmtree(self.keep, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="truth-") as name:
            self.scratch = Path(name)
            self.clean = copy_project(self.project, self.scratch / "clean")
            self._list_tests(verdict)
            self._clean_runs(sorted({sample.cell["test"] for sample in samples if sample.kills}), verdict)
            groups: dict[str, list[Sample]] = {}
            for sample in samples:
                groups.setdefault(sample.mutant["key"], []).append(sample)
            slots: Queue[int] = Queue()
            for slot in range(self.workers):
                slots.put(slot)

            def check(group: list[Sample]) -> Verdict:
                slot = slots.get()
                try:
                    return self._check_mutant(group, self.scratch / f"slot{slot}")
                finally:
                    slots.put(slot)

            with ThreadPoolExecutor(self.workers) as pool:
                for part in pool.map(check, groups.values()):
                    verdict.checked += part.checked
                    verdict.kills += part.kills
                    verdict.unobserved += part.unobserved
                    verdict.problems += part.problems
                    verdict.notes += part.notes
                    verdict.kinds += part.kinds
            verdict.mutants = len(groups)
            for mutant in choose_invalid(self.report, max(3, number // INVALID_ONE_IN), seed):
                verdict.invalid += 1
                verdict.problems += self._check_invalid(mutant, self.scratch / "invalid")
        return verdict

    def _list_tests(self, verdict: Verdict) -> None:
        """Which place in the suite each node id has, and the order of each module's tests."""
        listed = self._pytest(self.clean, None, None, ["--collect-only", "-q"], limit=300)
        if not isinstance(listed, dict) or not listed["order"]:
            verdict.problems.append(f"plain pytest collects nothing: {listed}")
            return
        for nodeid, base, index in listed["order"]:
            self.places[nodeid] = (base, index)
            self.order.setdefault(nodeid.partition("::")[0], []).append(nodeid)

    def _clean_runs(self, nodeids: Sequence[str], verdict: Verdict) -> None:
        """Each killing test alone on clean code; where that differs from the suite, with its predecessors."""

        def run(nodeid: str) -> str | None:
            said = self.tests[nodeid]["clean"] if nodeid in self.tests else "not in the report's tests"
            expected = CLEAN.get(said, said)
            alone = self.truth(self.clean, nodeid, None)
            if alone.outcome == expected:
                return None
            before = self.order[nodeid.partition("::")[0]]
            self.predecessors[nodeid] = before[: before.index(nodeid)]
            together = self.truth(self.clean, nodeid, None)
            if together.outcome == expected:
                return None
            found = f"{alone.outcome} alone and {together.outcome} after the tests before it"
            return f"{nodeid}: clean is {said}, plain pytest says {found}"

        known = [nodeid for nodeid in nodeids if nodeid in self.places]
        with ThreadPoolExecutor(self.workers) as pool:
            verdict.problems += [problem for problem in pool.map(run, known) if problem]

    def _check_mutant(self, group: Iterable[Sample], slot: Path) -> Verdict:
        part = Verdict()
        copy: Path | None = None
        for sample in group:
            mutant, cell = sample.mutant, sample.cell
            part.checked += 1
            part.kills += sample.kills
            part.kinds[cell["outcome"]] += 1
            if cell["test"] not in self.places:
                part.problems.append(f"{mutant['key']}: plain pytest does not collect {cell['test']}")
                continue
            if copy is None:
                copy = copy_project(self.project, slot)
                target = copy / mutant["path"]
                try:
                    target.write_bytes(splice(target.read_bytes(), mutant))
                except (ValueError, IndexError) as error:
                    part.problems.append(f"{mutant['key']}: {error}")
                    return part
            truth = self.truth(copy, cell["test"], mutant["path"])
            if not self._agree(sample, truth):
                part.problems.append(self._describe(sample, truth, copy))
            elif truth.exception and _bare(cell["exception"]) not in (None, truth.exception):
                exceptions = f"{cell['exception']} here, {truth.exception} in plain pytest"
                part.notes.append(f"{mutant['key']} × {cell['test']}: {exceptions}")
            if truth.foreign:
                part.problems.append(f"{mutant['key']}: plain pytest imported {truth.foreign[0]}, not the mutated copy")
            part.unobserved += not truth.imported and truth.outcome in ("passed", "failed", "skipped")
        return part

    def _check_invalid(self, mutant: dict[str, Any], slot: Path) -> list[str]:
        """A mutant that cannot be compiled, or whose module plain pytest cannot import."""
        copy = copy_project(self.project, slot)
        target = copy / mutant["path"]
        mutated = splice(target.read_bytes(), mutant)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(mutated, str(target), "exec")
        except (SyntaxError, ValueError):
            return []
        target.write_bytes(mutated)
        got = self._pytest(copy, mutant["path"], None, ["--collect-only", "-q"], limit=10 + 20 * self.startup)
        if isinstance(got, str) or not got["imported"]:
            return []
        return [f"{mutant['key']}: said to be invalid ({mutant['reason']}), but plain pytest imports it"]

    def _agree(self, sample: Sample, truth: Truth) -> bool:
        outcome = sample.cell["outcome"]
        if outcome == "passed":
            return truth.outcome == "passed"
        if outcome == "skipped":
            return truth.outcome in ("skipped", "missing")
        if outcome == "timeout" and truth.outcome == "passed":
            return truth.seconds > self._budget(sample.cell["test"])
        return truth.outcome in ("failed", "died", "timeout")

    def _budget(self, nodeid: str) -> float:
        test = self.tests.get(nodeid)
        return max(self.floor, self.factor * (test["seconds"] if test else 0.0))

    def _describe(self, sample: Sample, truth: Truth, copy: Path) -> str:
        """The disagreement, with a copy of the project kept to look at it."""
        mutant, cell = sample.mutant, sample.cell
        again = self.truth(copy, cell["test"], mutant["path"])
        kept = self.keep / re.sub(r"\W+", "_", mutant["key"])
        copy_project(copy, kept)
        path = "".join(f"PYTHONPATH={shlex.quote(str(kept / part))} " for part in self.package.path)
        off = " ".join(f"-p no:{name}" for name in OFF)
        last = truth.text.strip().splitlines()[-1:] or [""]
        lines = [
            f"{mutant['path']}:{mutant['line']}:{mutant['column']}",
            f"  change {mutant['original']!r} -> {mutant['replacement']!r}",
            f"  mutant {mutant['key']} (status {mutant['status']}, static {mutant['static']})",
            f"  test   {cell['test']}",
            f"  cell   {cell['outcome']} in {cell['phase']} ({cell['exception']}: {cell['message']}; "
            f"{cell['isolation']}, confirmed {cell['confirmed']}, flags {cell['flags']}, reason {cell['reason']})",
            f"  truth  {truth.outcome} ({truth.exception}) {last[0]}",
        ]
        if again.outcome != truth.outcome:
            lines.append(f"  NOTE   run again, plain pytest says {again.outcome}: the test is not stable")
        if self.predecessors.get(cell["test"]):
            lines.append(f"  needs the {len(self.predecessors[cell['test']])} tests before it in its module")
        lines.append(
            f"  (cd {shlex.quote(str(kept))} && {path}PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 "
            f"{shlex.quote(str(self.python))} -m pytest {off} "
            f"{' '.join([*self.package.truth_args, shlex.quote(cell['test'])])})"
        )
        return "\n".join(lines)

    def truth(self, project: Path, nodeid: str, mutated: str | None) -> Truth:
        """One test in a fresh process, with the predecessors it needs."""
        wanted = [*self.predecessors.get(nodeid, ()), nodeid]
        budget = self._budget(nodeid)
        got = self._pytest(
            project,
            mutated,
            [self.places[name] for name in wanted],
            [nodeid.partition("::")[0]],
            limit=10 + 5 * self.startup + 1.5 * budget,
        )
        if isinstance(got, str):
            return Truth(got)
        items = {(base, index): seen for base, index, seen in got["items"]}
        seen = items.get(self.places[nodeid])
        common = {"imported": got["imported"], "foreign": got["foreign"]}
        if seen is not None and (seen["done"] or seen["outcome"] == "failed"):
            return Truth(seen["outcome"], seen["exception"], seen["seconds"], seen["text"], **common)
        if got["errors"]:
            return Truth("failed", None, 0.0, got["errors"][0], **common)
        if seen is None and got["exit"] in (0, 5):
            return Truth("missing", **common)
        return Truth("died", None, 0.0, f"pytest ended with status {got['exit']} and no result of the test", **common)

    def _pytest(
        self, project: Path, mutated: str | None, want: list[tuple[str, int]] | None, args: list[str], limit: float
    ) -> dict[str, Any] | str:
        """Plain pytest; its result, or how it ended without one."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            here = Path(name)
            out = here / "out.json"
            request = {"out": str(out), "root": str(project), "file": mutated, "want": want}
            (here / "request.json").write_text(json.dumps(request), encoding="utf-8")
            env = environment(self.package, project)
            env["TRUTH_REQUEST"] = str(here / "request.json")
            env["PYTHONPATH"] = os.pathsep.join([*filter(None, [env.get("PYTHONPATH")]), str(HERE / "plugin")])
            off = [part for name in OFF for part in ("-p", f"no:{name}")]
            plugin = ["-p", "truth_plugin", f"--basetemp={here / 'tmp'}"]
            command = [str(self.python), "-m", "pytest", *off, *plugin, *self.package.truth_args, *args]
            with (here / "screen").open("wb") as screen:
                process = subprocess.Popen(
                    command,
                    cwd=project,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=screen,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_limit_memory,
                )
            try:
                process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                return "timeout"
            finally:
                _end_group(process)
            return json.loads(out.read_text(encoding="utf-8")) if out.exists() else "died"


def _bare(exception: str | None) -> str | None:
    """The name of a type without its module."""
    return exception and exception.rpartition(".")[2]


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
