"""Every option, declared once; the reference page is generated from here (``python -m pytest_killmatrix.options``)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.model import SIDECAR_NAME

DEFAULT_SIDECAR: Final = SIDECAR_NAME
AUTO: Final = "auto"  # values of --kill-matrix-executor
FORK: Final = "fork"
SUBPROCESS: Final = "subprocess"
DASK: Final = "dask"
SANDBOX: Final = "KILLMATRIX_SANDBOX"  # the variable by which a process in a sandbox knows that it is in one
OLD_SUITE: Final = "killmatrix-old-suite"  # the plugin that marks the process of an old suite
NUMBERS: Final = "KILLMATRIX_NUMBERS"  # the variable that says which of a cluster's children are this session's
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
        "auto forks unless a thread runs or a connection is open when the tests are about to start; dask does the same "
        "on the workers of a Dask cluster",
        None,
        AUTO,
        "kill_matrix_executor",
        choices=(AUTO, FORK, SUBPROCESS, DASK),
    ),
    Option(
        "--kill-matrix-scheduler",
        "with --kill-matrix-executor=dask: the address of the Dask scheduler, such as tcp://10.0.0.1:8786",
        "ADDRESS",
        None,
        "kill_matrix_scheduler",
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
    return place_of(config, text, typed=bool(given)) if text else None


def files(config: pytest.Config) -> dict[str, Path]:
    """The files that a run writes, by the option that names them; asked as early as ``sandboxed``."""
    found: dict[str, Path] = {}
    for option in OPTIONS:
        given = getattr(config.known_args_namespace, option.dest)
        text = given or (config.getini(option.ini) if option.ini else None) or option.default
        if option.file and text:
            found[option.flag] = place_of(config, text, typed=bool(given))
    return found


def place_of(config: pytest.Config, text: str, *, typed: bool) -> Path:
    """A path relative to where the value was written: the directory of the command line, or the project's."""
    base = config.invocation_params.dir if typed else config.rootpath
    return Path(os.path.abspath(base / Path(text).expanduser()))


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
