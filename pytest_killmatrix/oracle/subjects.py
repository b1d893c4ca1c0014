"""Authored variants as mutants: each stands in for its whole file, and meets every test of its case."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.model import Build, Mutant, Route, Status, Test
from pytest_killmatrix.oracle.model import Audit, Case, Variant
from pytest_killmatrix.plan import Planned, Planner, StaticWay

OPERATOR: Final = "variant"
_MODULE: Final = "<module>"
_NEVER_LOADED: Final = "no test loads the target"


@dataclass(frozen=True, slots=True)
class Placed:
    """A variant among the mutants of a run, and the tests of its case."""

    case: Case
    variant: Variant
    tests: tuple[int, ...]


def tests_of(case: Case, items: Iterable[Any]) -> tuple[int, ...]:
    """The indexes of the collected items that are tests of the case's grader."""
    places: dict[str, str] = {}
    found = []
    for index, item in enumerate(items):
        file, colons, rest = item.nodeid.partition("::")
        place = places.setdefault(file, os.path.realpath(item.path))
        if case.grades(place, colons + rest):
            found.append(index)
    return tuple(found)


def targets_of(audit: Audit, items: Sequence[Any], test_files: Collection[Path]) -> dict[str, Path]:
    """The targets of cases with tests among the items; ValueError where there are none, or one is a test."""
    tests = {os.path.realpath(path) for path in test_files}
    found = {case.target: Path(case.target_path) for case in audit.cases if tests_of(case, items)}
    if not found:
        raise ValueError(f"{audit.file}: no test of any case's grader was collected; name the graders' files")
    wrong = next((name for name, path in found.items() if str(path) in tests), None)
    if wrong is not None:
        raise ValueError(
            f"{audit.file}: the target {wrong} is a test file of this session; name what its tests are about"
        )
    return found


def place(audit: Audit, items: Sequence[Any]) -> list[Placed]:
    """All variants of the cases that have tests, in the order of the file."""
    found = []
    for case in audit.cases:
        tests = tests_of(case, items)
        found += [Placed(case, variant, tests) for variant in case.variants if tests]
    return found


def mutant_of(placed: Placed) -> Mutant:
    """A variant as a mutant of its target."""
    case, variant = placed.case, placed.variant
    invalid = variant.invalid is not None
    return Mutant(
        key=f"{case.target}::{_MODULE}::{OPERATOR}:{variant.kind.value}:{case.name}/{variant.name}::{variant.sha256[:10]}",
        path=case.target,
        line=variant.line,
        column=0,
        end_line=variant.end_line,
        end_column=variant.end_column,
        definition=_MODULE,
        operator=f"{OPERATOR}:{variant.kind.value}",
        original=variant.original,
        replacement=variant.text,
        start=variant.start,
        end=variant.end,
        static=True,
        string_only=False,
        first_line=1,
        last_line=1,
        verdict=Status.INVALID if invalid else None,
        reason=variant.invalid,
    )


def plan(
    index: int,
    placed: Placed,
    contexts: AbstractSet[str],
    tests: Sequence[Test],
    followers: Mapping[str, frozenset[str]],
    way: StaticWay,
    not_twice: Collection[str],
) -> Planned:
    """The route of a variant, and its tests: all of its case's grader.

    ``contexts`` are those that execute anything of its target.
    """
    own = frozenset(placed.tests)
    if not way.reload.own and any(not context.startswith(("t:", "a:")) for context in contexts):
        return _anew(index, placed, tests)
    if contexts:
        contexts = contexts | {f"t:{test}" for test in own}
    by_file: dict[str, list[int]] = {}
    for test in placed.tests:
        by_file.setdefault(tests[test].nodeid.split("::", 1)[0], []).append(test)
    # what no module is loaded from gets the variant when a test loads it
    planner = Planner(tests, by_file, followers, not_twice)
    loaded = bool(way.reload.own)
    planned = planner.plan(index, mutant_of(placed), Build(), contexts, loaded, replace(way, tests=placed.tests))
    if planned.status is Status.NO_COVERAGE:
        return replace(planned, status=Status.PENDING, reason=_NEVER_LOADED)
    return replace(
        planned,
        reached_by=tuple(test for test in planned.reached_by if test in own),
        tests=tuple(test for test in planned.tests if test in own),
        alone=(),
        strangers=planned.strangers & own,
        whole=True,
    )


def _anew(index: int, placed: Placed, tests: Sequence[Test]) -> Planned:
    """In a fresh interpreter: its target is loaded while tests are collected, but under no name to import it by."""
    usable = tuple(test for test in placed.tests if tests[test].excluded is None)
    if mutant_of(placed).verdict is not None or not usable:
        status = mutant_of(placed).verdict or Status.NO_USABLE_TEST
        return Planned(index, Route.COLLECTION, placed.tests, status=status, reason=placed.variant.invalid)
    files = tuple(sorted({tests[test].nodeid.split("::", 1)[0] for test in usable}))
    return Planned(index, Route.COLLECTION, placed.tests, usable, files, anew=True, whole=True)
