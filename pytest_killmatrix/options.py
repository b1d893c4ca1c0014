"""Every option, declared once; the reference page is generated from here (``python -m pytest_killmatrix.options``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.model import SIDECAR_NAME

DEFAULT_SIDECAR: Final = SIDECAR_NAME
AUTO: Final = "auto"  # values of --kill-matrix-executor
FORK: Final = "fork"
SUBPROCESS: Final = "subprocess"
MOST_SHARDS: Final = 10_000
MOST_WORKERS: Final = 256  # each has a file, a few descriptors and 4 MiB of address space
SANDBOX: Final = "KILLMATRIX_SANDBOX"  # the variable by which a process in a sandbox knows that it is in one
OLD_SUITE: Final = "killmatrix-old-suite"  # the plugin that marks the process of an old suite
OBSERVED: Final = "killmatrix-observer"  # the plugin that marks the fresh interpreter of a clean run


@dataclass(frozen=True, slots=True)
class Option:
    """One option; ``ini`` is None where it is for the command line only."""

    flag: str
    help: str
    metavar: str | None = None
    default: str | None = None
    ini: str | None = None
    repeat: bool = False
    switch: bool = False
    choices: tuple[str, ...] = ()
    file: bool = False  # one of the user's that a run writes

    @property
    def dest(self) -> str:
        """The name under which pytest keeps the value."""
        return "killmatrix_" + self.flag.lstrip("-").replace("-", "_")


OPTIONS: Final = (
    Option("--kill-matrix", "run the suite, then every mutant against every test that reaches it", switch=True),
    Option(
        "--mutation-baseline",
        "also run the suite as it was at this git ref (merge-base:REF: where the branch left REF) on the same mutants, "
        "and report what the change of the tests contributed; implies --kill-matrix",
        "REF",
    ),
    Option(
        "--mutation-scope",
        "which mutants: all, those in lines of source changed since the baseline (changed), those in lines that added "
        "or changed tests reach (covered); auto is changed if source changed, else covered, and all where tests "
        "were removed or there is no baseline",
        None,
        "auto",
        "mutation_scope",
        choices=("auto", "all", "changed", "covered"),
    ),
    Option(
        "--mutation-test-side",
        "with a baseline: what belongs to the tests, as globs on paths relative to rootdir; repeatable (default: test "
        "files, conftests, folders of nothing else with all that is in them, and the helpers that they import)",
        "GLOB",
        ini="mutation_test_side",
        repeat=True,
    ),
    Option(
        "--mutation-score-ref",
        "with a baseline: also score the tests of REF on the source of REF",
        ini="mutation_score_ref",
        switch=True,
    ),
    Option(
        "--mutation-equivalents",
        "mutants that a person declared equivalent: a YAML list of key, reason, who, when; one that a test kills is an "
        "error",
        "FILE",
        None,
        "mutation_equivalents",
    ),
    Option(
        "--mutate",
        "file, directory or importable module to mutate; repeatable (default: coverage's source or include, else the "
        "packages in rootdir or src/, tests excluded)",
        "PATH",
        ini="mutation_paths",
        repeat=True,
    ),
    Option(
        "--mutation-operators",
        "operators by name, group (mutmut, own) or glob, comma separated; -name leaves one out",
        "LIST",
        "",
        "mutation_operators",
    ),
    Option(
        "--mutation-sample",
        "only a sample of so many mutants, or of that percentage: drawn by a hash of the key, stratified by file and "
        "operator; the scores get intervals",
        "N|P%",
        ini="mutation_sample",
    ),
    Option("--mutation-seed", "another seed draws another sample", "S", "0", "mutation_seed"),
    Option("--mutants", "only the mutants with this key; a glob is allowed; repeatable", "KEY", repeat=True),
    Option(
        "--mutation-variants",
        "judge the tests by the authored variants in a YAML file; mutants only with --kill-matrix or --mutate",
        "FILE",
        ini="mutation_variants",
    ),
    Option("--kill-matrix-db", "the sidecar", "PATH", DEFAULT_SIDECAR, "kill_matrix_db", file=True),
    Option(
        "--kill-matrix-workers",
        "children at once, at most 256; auto is the number of processors, or N of pytest-xdist's -n N",
        "N",
        "auto",
        "kill_matrix_workers",
    ),
    Option(
        "--kill-matrix-isolation",
        "one child per mutant, or one per test and mutant",
        None,
        "mutant",
        "kill_matrix_isolation",
        choices=("mutant", "test"),
    ),
    Option(
        "--kill-matrix-executor",
        "how children are made: forked from the collected session (fork), or a fresh interpreter each (subprocess); "
        "auto forks unless a thread runs or a connection is open when the tests are about to start",
        None,
        AUTO,
        "kill_matrix_executor",
        choices=(AUTO, FORK, SUBPROCESS),
    ),
    Option(
        "--kill-matrix-static",
        "mutants of code that runs at import: against every test whose outcome could change (all), only against tests "
        "that run code of that module (reach), or leave them out as ignored (skip)",
        None,
        "all",
        "kill_matrix_static",
        choices=("all", "reach", "skip"),
    ),
    Option(
        "--kill-matrix-timeout",
        "a test's budget: its clean duration times FACTOR, at least FLOOR seconds",
        "FACTOR[:FLOOR]",
        "10:1",
        "kill_matrix_timeout",
    ),
    Option(
        "--kill-matrix-memory",
        "megabytes that a child may grow; 0 for no limit",
        "MB",
        "2048",
        "kill_matrix_memory",
    ),
    Option(
        "--kill-matrix-clean-runs",
        "runs of the whole suite on unmutated code; from 2 on, one of them in a fresh interpreter with another hash "
        "seed finds flaky tests",
        "N",
        "2",
        "kill_matrix_clean_runs",
    ),
    Option(
        "--kill-matrix-no-alone",
        "skip running each test alone: order-dependent tests are not found, every kill is provisional",
        ini="kill_matrix_no_alone",
        switch=True,
    ),
    Option(
        "--kill-matrix-sandbox",
        "where tests and mutants run: in the project itself (off), or all in a disposable copy of it (copy)",
        None,
        "off",
        "kill_matrix_sandbox",
        choices=("off", "copy"),
    ),
    Option(
        "--kill-matrix-plan",
        "after the clean runs print how many mutants and cells there are, by which route, and the projected time; "
        "run nothing more",
        switch=True,
    ),
    Option(
        "--kill-matrix-max-minutes",
        "refuse, with exit status 4, to run a matrix that is projected to take longer; the clean run is kept",
        "M",
        None,
        "kill_matrix_max_minutes",
    ),
    Option("--kill-matrix-fresh", "do not resume an interrupted run", switch=True),
    Option(
        "--kill-matrix-shard",
        "the I-th of N disjoint shards of the mutants; `killmatrix merge` joins them",
        "I/N",
    ),
    Option(
        "--kill-matrix-fail-under",
        "exit 1 when a ratio is below PCT percent: assertion:PCT (also plain PCT), detection:PCT, reached:PCT",
        "[RATIO:]PCT",
        ini="kill_matrix_fail_under",
        repeat=True,
    ),
    Option(
        "--mutation-min-gain",
        "with a baseline: exit 1 when fewer mutants were gained by assertion, or a smaller share of the headroom",
        "N|P%",
        None,
        "mutation_min_gain",
    ),
    Option(
        "--mutation-fail-on-lost",
        "with a baseline: exit 1 when a mutant was lost or downgraded",
        ini="mutation_fail_on_lost",
        switch=True,
    ),
    Option("--kill-matrix-json", "write the whole result as JSON", "PATH", None, "kill_matrix_json", file=True),
    Option("--kill-matrix-html", "write it as one HTML page", "PATH", None, "kill_matrix_html", file=True),
    Option("--kill-matrix-markdown", "write a summary as Markdown", "PATH", None, "kill_matrix_markdown", file=True),
    Option(
        "--kill-matrix-stryker",
        "write JSON for the viewers and dashboards of mutation-testing-elements",
        "PATH",
        None,
        "kill_matrix_stryker",
        file=True,
    ),
    Option(
        "--kill-matrix-github",
        "on GitHub: add the summary to the job's page, and annotate survivors, those on changed lines first",
        ini="kill_matrix_github",
        switch=True,
    ),
)


#: options that ask for a run, where they are typed
ASKING: Final = tuple(
    option.dest for option in OPTIONS if option.flag in ("--kill-matrix", "--mutation-baseline", "--mutation-variants")
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options' values, checked."""

    baseline: str | None
    scope: str
    test_side: tuple[str, ...]
    score_ref: bool
    equivalents: Path | None
    min_gain: tuple[float, bool] | None
    fail_on_lost: bool
    mutate: tuple[str, ...]
    operators: str
    mutants: tuple[str, ...]
    sidecar: Path
    workers: int
    isolation: str
    executor: str
    static: str
    factor: float
    floor: float
    memory: int
    clean_runs: int
    alone: bool
    sandbox: str
    fresh: bool
    fail_under: tuple[tuple[str, float], ...]
    json: Path | None
    html: Path | None = None
    markdown: Path | None = None
    stryker: Path | None = None
    github: bool = False
    variants: Path | None = None
    generate: bool = True  # mutants, besides the authored variants
    shard: tuple[int, int] | None = None  # the I-th of N
    sample: tuple[float, bool] | None = None  # how many mutants, or which percentage of them
    seed: int = 0
    plan: bool = False
    max_minutes: float | None = None

    def reports(self) -> list[tuple[str, str, Path]]:
        """The report files that were asked for: the format's name, the option, the place."""
        places = {"json": self.json, "html": self.html, "markdown": self.markdown, "stryker": self.stryker}
        return [(name, f"--kill-matrix-{name}", path) for name, path in places.items() if path is not None]

    def budget(self, clean_seconds: float) -> float:
        """Seconds that a test which takes ``clean_seconds`` may use under a mutant."""
        return max(self.factor * clean_seconds, self.floor)

    def deciding(self) -> dict[str, object]:
        """The values that can change a result; part of a run's fingerprint and of its record."""
        return {
            "baseline": self.baseline,
            "scope": self.scope,
            "test_side": list(self.test_side),
            "mutate": list(self.mutate),
            "operators": self.operators,
            "mutants": list(self.mutants),
            "isolation": self.isolation,
            "executor": self.executor,
            "static": self.static,
            "timeout": f"{self.factor:g}:{self.floor:g}",
            "memory": self.memory,
            "clean_runs": self.clean_runs,
            "alone": self.alone,
            **({"variants": self.variants.name, "generate": self.generate} if self.variants is not None else {}),
            **({"sample": "{:g}{}".format(self.sample[0], "%" * self.sample[1])} if self.sample is not None else {}),
            **({"seed": self.seed} if self.sample is not None else {}),
            **({"shard": f"{self.shard[0]}/{self.shard[1]}"} if self.shard is not None else {}),
        }


def register(parser: pytest.Parser) -> None:
    """Add every option and ini key to pytest's."""
    group = parser.getgroup("killmatrix", "kill matrix (mutation testing)")
    for option in OPTIONS:
        words = option.help + (f" (default: {option.default})" if option.default else "")
        if option.switch:
            group.addoption(option.flag, action="store_true", dest=option.dest, default=None, help=words)
        elif option.repeat:
            group.addoption(
                option.flag, action="append", dest=option.dest, metavar=option.metavar, default=None, help=words
            )
        else:
            group.addoption(
                option.flag, action="store", dest=option.dest, metavar=option.metavar, default=None, help=words
            )
        if option.ini is not None:
            kind: Any = "bool" if option.switch else "linelist" if option.repeat else "string"
            parser.addini(option.ini, option.help, type=kind, default=None)


def enabled(config: pytest.Config) -> bool:
    """Whether this run is to make a kill matrix."""
    return any(config.getoption(dest, None) for dest in ASKING)


def enabled_early(config: pytest.Config) -> bool:
    """The same, while no conftest is loaded yet."""
    return any(getattr(config.known_args_namespace, dest, None) for dest in ASKING)


def sandboxed(config: pytest.Config) -> bool:
    """Whether this run is to go on in a copy; asked before conftests are loaded, when no value is checked yet."""
    option = next(option for option in OPTIONS if option.flag == "--kill-matrix-sandbox")
    value = getattr(config.known_args_namespace, option.dest) or config.getini(str(option.ini))
    return enabled_early(config) and value == "copy"


def variants_early(config: pytest.Config) -> Path | None:
    """The variants file, where one is named; asked as early as ``sandboxed``."""
    option = next(option for option in OPTIONS if option.flag == "--mutation-variants")
    given = getattr(config.known_args_namespace, option.dest)
    text = given or config.getini(str(option.ini))
    base = config.invocation_params.dir if given else config.rootpath
    return Path(os.path.abspath(base / Path(text).expanduser())) if text else None


def files(config: pytest.Config) -> dict[str, Path]:
    """The files that a run writes, by the option that names them; asked as early as ``sandboxed``."""
    found: dict[str, Path] = {}
    for option in OPTIONS:
        given = getattr(config.known_args_namespace, option.dest)
        text = given or (config.getini(option.ini) if option.ini else None) or option.default
        if option.file and text:
            base = config.invocation_params.dir if given else config.rootpath
            found[option.flag] = Path(os.path.abspath(base / Path(text).expanduser()))
    return found


def refuse_alone(config: pytest.Config) -> None:
    """UsageError where an option of ours was typed that does nothing without the one that asks for a matrix.

    In ``addopts`` they may stand without it: there they are what the project wants once somebody asks.
    """
    flags = {option.flag for option in OPTIONS if option.dest not in ASKING}
    typed = next((word for word in map(str, config.invocation_params.args) if word.split("=", 1)[0] in flags), None)
    if typed is not None:
        raise pytest.UsageError(
            f"{typed.split('=', 1)[0]} does nothing without {OPTIONS[0].flag}: add {OPTIONS[0].flag}"
        )


def read(config: pytest.Config) -> Settings:
    """The settings of this run; a UsageError names the option, what was given and what would do."""
    values = {option.flag: _value(config, option) for option in OPTIONS}
    factor, floor = _timeout(values["--kill-matrix-timeout"])
    baseline = values["--mutation-baseline"] or None
    _refuse_without_baseline(values, baseline)
    variants = values["--mutation-variants"]
    if variants and values["--kill-matrix-static"] == "skip":
        raise pytest.UsageError(
            "--kill-matrix-static=skip cannot be with --mutation-variants, which imports modules anew; leave one out"
        )

    def place(flag: str) -> Path | None:
        return _path(config, flag, values[flag]) if values[flag] else None

    return Settings(
        baseline=baseline,
        scope="all" if baseline is None else values["--mutation-scope"],
        test_side=tuple(values["--mutation-test-side"] or ()),
        score_ref=bool(values["--mutation-score-ref"]),
        equivalents=place("--mutation-equivalents"),
        min_gain=_gain(values["--mutation-min-gain"], values["--mutation-scope"]),
        fail_on_lost=bool(values["--mutation-fail-on-lost"]),
        mutate=tuple(values["--mutate"] or ()),
        operators=values["--mutation-operators"] or "",
        mutants=tuple(values["--mutants"] or ()),
        sidecar=_path(config, "--kill-matrix-db", values["--kill-matrix-db"]),
        workers=_workers(config, values["--kill-matrix-workers"]),
        isolation=values["--kill-matrix-isolation"],
        executor=values["--kill-matrix-executor"],
        static=values["--kill-matrix-static"],
        factor=factor,
        floor=floor,
        memory=_whole("--kill-matrix-memory", values["--kill-matrix-memory"], 0) << 20,
        clean_runs=_whole("--kill-matrix-clean-runs", values["--kill-matrix-clean-runs"], 1),
        alone=not values["--kill-matrix-no-alone"],
        sandbox=values["--kill-matrix-sandbox"],
        fresh=bool(values["--kill-matrix-fresh"]),
        fail_under=tuple(threshold(text) for text in values["--kill-matrix-fail-under"] or ()),
        json=place("--kill-matrix-json"),
        html=place("--kill-matrix-html"),
        markdown=place("--kill-matrix-markdown"),
        stryker=place("--kill-matrix-stryker"),
        github=bool(values["--kill-matrix-github"]),
        variants=place("--mutation-variants"),
        generate=bool(values["--kill-matrix"] or baseline or config.getoption("killmatrix_mutate") or not variants),
        plan=bool(values["--kill-matrix-plan"]),
        max_minutes=minutes(values["--kill-matrix-max-minutes"]),
        sample=sample(values["--mutation-sample"]),
        seed=_whole("--mutation-seed", values["--mutation-seed"], 0),
        shard=shard(config.getoption("killmatrix_kill_matrix_shard"), baseline),
    )


def _value(config: pytest.Config, option: Option) -> Any:
    value = config.getoption(option.dest)
    if value is None and option.ini is not None:
        value = config.getini(option.ini)
    if value is None or value == "" or value == []:
        value = option.default
    if option.choices and value not in option.choices:
        raise pytest.UsageError(f"{option.flag}={value}: choose one of {', '.join(option.choices)}")
    return value


def _path(config: pytest.Config, flag: str, text: str) -> Path:
    """Relative to where the value was written: the command line's directory, or the project's."""
    given = any(option.flag == flag and config.getoption(option.dest) is not None for option in OPTIONS)
    base = config.invocation_params.dir if given else config.rootpath
    return Path(os.path.abspath(base / Path(text).expanduser()))


def _whole(flag: str, text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise pytest.UsageError(f"{flag}={text}: give a whole number from {least} up")
    return number


def _workers(config: pytest.Config, text: str) -> int:
    if text != "auto":
        number = _whole("--kill-matrix-workers", text, 1)
        if number > MOST_WORKERS:
            raise pytest.UsageError(f"--kill-matrix-workers={text}: give at most {MOST_WORKERS}")
        return number
    asked = config.getoption("numprocesses", None)
    if isinstance(asked, int) and asked > 0:
        return min(asked, MOST_WORKERS)
    return min(processors(), MOST_WORKERS)


def processors() -> int:
    """Processors this process may use."""
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _timeout(text: str) -> tuple[float, float]:
    factor, _, floor = text.partition(":")
    try:
        values = float(factor), float(floor or 1)
    except ValueError:
        values = 0.0, 0.0
    if not (0 < values[0] < float("inf") and 0 < values[1] < float("inf")):
        raise pytest.UsageError(
            f"--kill-matrix-timeout={text}: give FACTOR or FACTOR:FLOOR_SECONDS, both above 0, such as 10:1"
        )
    return values


def _refuse_without_baseline(values: Mapping[str, Any], baseline: str | None) -> None:
    """UsageError for a scope that is one of a baseline; the other options may stand in a configuration file."""
    scope = values["--mutation-scope"]
    if baseline is None and scope in ("changed", "covered"):
        raise pytest.UsageError(
            f"--mutation-scope={scope}: what changed is known with --mutation-baseline=REF only; add it, or choose all"
        )


def _gain(text: str | None, scope: str) -> tuple[float, bool] | None:
    """(number, whether it is a percentage) of ``--mutation-min-gain``."""
    if not text:
        return None
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("%"))
    except ValueError:
        number = -1.0
    if number < 0 or (percent and number > 100) or (not percent and number != int(number)):
        raise pytest.UsageError(f"--mutation-min-gain={text}: give a number of mutants, or a percentage such as 20%")
    if percent and scope == "covered":
        raise pytest.UsageError(
            f"--mutation-min-gain={text}: with --mutation-scope=covered the new tests choose what they are measured "
            "by; give a number of mutants, or another scope"
        )
    return number, percent


def minutes(text: str | None) -> float | None:
    """The value of ``--kill-matrix-max-minutes``; UsageError says what would do."""
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise pytest.UsageError(f"--kill-matrix-max-minutes={text}: give a number of minutes above 0, such as 30")
    return number


def sample(text: str | None) -> tuple[float, bool] | None:
    """(number, whether it is a percentage) of ``--mutation-sample``; UsageError says what would do."""
    if not text:
        return None
    percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf") or (number > 100 if percent else number != int(number)):
        raise pytest.UsageError(f"--mutation-sample={text}: give a number of mutants, or a percentage such as 10%")
    return number, percent


def shard(text: str | None, baseline: str | None) -> tuple[int, int] | None:
    """(I, N) of ``--kill-matrix-shard``; UsageError says what would do."""
    if text is None:
        return None
    index, slash, count = text.partition("/")
    plain = slash and all(word.isascii() and word.isdigit() for word in (index, count))
    if not plain or not 1 <= int(index) <= int(count) <= MOST_SHARDS:
        raise pytest.UsageError(
            f"--kill-matrix-shard={text}: give I/N, the I-th of N shards, such as 1/4; N is at most {MOST_SHARDS}"
        )
    if baseline is not None:
        raise pytest.UsageError(
            f"--kill-matrix-shard={text} cannot be with --mutation-baseline: deltas of shards cannot be joined; "
            "leave one out"
        )
    return int(index), int(count)


def threshold(text: str, flag: str = "--kill-matrix-fail-under") -> tuple[str, float]:
    """(ratio, percent) of what was given with that option; UsageError says what would do."""
    name, colon, number = text.rpartition(":")
    name = name if colon else "assertion"
    try:
        percent = float(number)
    except ValueError:
        percent = -1.0
    if name not in ("assertion", "detection", "reached") or not 0 <= percent <= 100:
        raise pytest.UsageError(
            f"{flag}={text}: give a percentage from 0 to 100, or assertion:PCT, detection:PCT, reached:PCT"
        )
    return name, percent


def reference() -> str:
    """The options as a Markdown page."""
    lines = [
        "# Options",
        "",
        "Generated by `python -m pytest_killmatrix.options`. Ini keys go into `pytest.ini`, `tox.ini`,",
        "`[tool.pytest.ini_options]` or `[tool.pytest]`; the command line wins.",
        "",
        "| option | ini key | default | meaning |",
        "|---|---|---|---|",
    ]
    for option in OPTIONS:
        value = f"={option.metavar or ','.join(option.choices)}" if not option.switch else ""
        ini = f"`{option.ini}`" if option.ini else "command line only"
        default = f"`{option.default}`" if option.default else "off" if option.switch else "none"
        lines.append(f"| `{option.flag}{value}` | {ini} | {default} | {option.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
