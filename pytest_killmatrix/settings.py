"""The values of the options (``options``), read and checked: what one run was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_killmatrix.options import AUTO, DASK, OPTIONS, Option, place_of

MOST_SHARDS: Final = 10_000
MOST_WORKERS: Final = 256  # each has a file, a few descriptors and 4 MiB of address space


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
    scheduler: str | None = None  # of the Dask cluster on which the matrix is made

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
            "executor": self.executor if self.scheduler is None else DASK,
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


def read(config: pytest.Config) -> Settings:
    """The settings of this run; a UsageError names the option, what was given and what would do."""
    values = {option.flag: _value(config, option) for option in OPTIONS}
    factor, floor = _timeout(values["--kill-matrix-timeout"])
    baseline = values["--mutation-baseline"] or None
    _refuse_without_baseline(values, baseline)
    scheduler = _scheduler(config, values)
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
        min_gain=gain(values["--mutation-min-gain"], values["--mutation-scope"]),
        fail_on_lost=bool(values["--mutation-fail-on-lost"]),
        mutate=tuple(values["--mutate"] or ()),
        operators=values["--mutation-operators"] or "",
        mutants=tuple(values["--mutants"] or ()),
        sidecar=_path(config, "--kill-matrix-db", values["--kill-matrix-db"]),
        workers=_workers(config, values["--kill-matrix-workers"]),
        isolation=values["--kill-matrix-isolation"],
        executor=AUTO if scheduler is not None else values["--kill-matrix-executor"],
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
        scheduler=scheduler,
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
    typed = any(option.flag == flag and config.getoption(option.dest) is not None for option in OPTIONS)
    return place_of(config, text, typed=typed)


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


def _scheduler(config: pytest.Config, values: Mapping[str, Any]) -> str | None:
    """The scheduler of the cluster to use; in a configuration file it may stand without being used."""
    address: str | None = values["--kill-matrix-scheduler"] or None
    if values["--kill-matrix-executor"] == DASK:
        if address is None:
            raise pytest.UsageError(
                "--kill-matrix-executor=dask: name the cluster with --kill-matrix-scheduler=ADDRESS, such as "
                "tcp://10.0.0.1:8786"
            )
        return address
    if config.getoption("killmatrix_kill_matrix_scheduler") is not None:
        raise pytest.UsageError(
            f"--kill-matrix-scheduler={address} does nothing without --kill-matrix-executor=dask: add that"
        )
    return None


def gain(text: str | None, scope: str) -> tuple[float, bool] | None:
    """(number, whether it is a percentage) of ``--mutation-min-gain``; UsageError says what would do."""
    found = _amount("--mutation-min-gain", text, 20)
    if found is not None and found[1] and scope == "covered":
        raise pytest.UsageError(
            f"--mutation-min-gain={text}: with --mutation-scope=covered the new tests choose what they are measured "
            "by; give a number of mutants, or another scope"
        )
    return found


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
    """The same of ``--mutation-sample``, which is not 0."""
    found = _amount("--mutation-sample", text, 10)
    if found is not None and found[0] == 0:
        raise pytest.UsageError(f"--mutation-sample={text}: give a number above 0: a sample of nothing says nothing")
    return found


def _amount(flag: str, text: str | None, example: int) -> tuple[float, bool] | None:
    """(number, whether it is a percentage) of what counts mutants."""
    if not text:
        return None
    percent = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (number > 100 if percent else number != int(number)):
        raise pytest.UsageError(f"{flag}={text}: give a number of mutants, or a percentage such as {example}%")
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
