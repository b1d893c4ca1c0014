"""Each test alone in a fresh child: what it says then, and what it reaches when nothing ran before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_killmatrix.activation import interpreter
from pytest_killmatrix.child.worker import Reach
from pytest_killmatrix.clean.observer import FILES, test_context
from pytest_killmatrix.executor.pool import Found, Pool, TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.model import Excluded, Outcome, Test

_PROOFS: Final = 4  # further runs alone that must pass before a failure is put down to the tests beside it


def reach_of(files: Sequence[str], directory: Path, *, warm: bool = True) -> Reach:
    """A tracer over these files, ``warm`` where children fork with it; ``directory`` takes what tests start finds."""
    from pytest_killmatrix.clean.tracing import Recorder

    recorder = Recorder(files, None)
    if warm:
        recorder.warm()
    recorder.follow_forks(directory)

    def start(test: int) -> None:
        interpreter.announce(interpreter.reach(str(directory / FILES), str(directory), test_context(test)))
        recorder.start(test_context(test))

    def stop() -> list[tuple[str, list[tuple[int, int]]]]:
        measured = recorder.stop()
        return [(path, arcs) for path, contexts in measured.items() for arcs in contexts.values()]

    return Reach(start, stop)


Reached = Callable[[int, str, list[tuple[int, int]]], None]


@dataclass(slots=True)
class AloneResult:
    """What the alone runs found; ``seconds`` with every fixture set up anew.

    ``leaving`` are tests that leave files under mutation in another state.

    What a test executed goes to ``reached`` as soon as that is known: (test, file, arcs), far too much to keep.
    """

    reached: Reached = lambda test, path, arcs: None
    excluded: dict[int, tuple[Excluded, str]] = field(default_factory=dict)
    needs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    unsafe: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)
    seconds: dict[int, float] = field(default_factory=dict)
    cpu: float = 0.0


def run_alone(
    pool: Pool,
    tests: Sequence[Test],
    predecessors: Callable[[int], tuple[int, ...]],
    task_ids: Iterator[int],
    tick: Callable[[], None],
    advance: Callable[[], None],
    reached: Reached,
    *,
    wanted: Callable[[int], bool] = lambda test: True,
    collecting: bool = False,
) -> AloneResult:
    """Run every usable test that is wanted alone; where one differs, find out why (flaky, order-dependent, not
    parallel-safe).

    ``reached`` is told what each executes. ``collecting`` says that every child collects the session itself: then also
    how much of it they have to collect (``pool.narrow``).
    """
    result = AloneResult(reached)
    usable = [index for index, test in enumerate(tests) if test.excluded is None and wanted(index)]
    first = _together(pool, usable, task_ids, tick, advance, result)
    different = _different(usable, first)
    if different and collecting:
        pool.narrow = False  # they may need what the import of another test file does
        first.update(_together(pool, different, task_ids, tick, lambda: None, result))
        still = _different(different, first)
        pool.narrow, different = still == different, still
    again = _serially(pool, different, task_ids, tick, {}, result)
    for test in different:
        second = again.get(test)
        if second is not None and second.outcome is Outcome.PASSED:
            more = [_serially(pool, [test], task_ids, tick, {}, result).get(test) for _ in range(_PROOFS)]
            if all(found is not None and found.outcome is Outcome.PASSED for found in more):
                result.unsafe.add(test)  # it failed only while other children ran
            else:
                result.excluded[test] = (Excluded.FLAKY, "passes alone only now and then")
        elif _same(first.get(test), second):
            _order_dependent(pool, test, predecessors(test), task_ids, tick, result, _text(second))
        else:
            result.excluded[test] = (Excluded.FLAKY, "two runs alone differ")
    return result


def _together(
    pool: Pool,
    tests: Sequence[int],
    task_ids: Iterator[int],
    tick: Callable[[], None],
    advance: Callable[[], None],
    result: AloneResult,
) -> dict[int, Found]:
    seen: dict[int, Found] = {}
    for done in _each(pool, tests, task_ids, tick, needs={}, lean=True):
        advance()
        result.cpu += done.cpu
        for one in done.reach:
            result.reached(*one)
        for found in done.found:
            seen[found.test] = found
            if found.test in done.left:
                result.leaving.add(found.test)
            result.seconds[found.test] = found.seconds
    return seen


def _different(tests: Sequence[int], found: Mapping[int, Found]) -> list[int]:
    return [test for test in tests if test not in found or found[test].outcome is not Outcome.PASSED]


def _order_dependent(
    pool: Pool,
    test: int,
    before: tuple[int, ...],
    task_ids: Iterator[int],
    tick: Callable[[], None],
    result: AloneResult,
    why: str,
) -> None:
    needs = {test: before}
    found = _serially(pool, [test], task_ids, tick, needs, result).get(test) if before else None
    if found is not None and found.outcome is Outcome.PASSED:
        result.needs[test] = before
    else:
        result.excluded[test] = (Excluded.ORDER, f"passes only after tests of other files: alone {why}")


def _serially(
    pool: Pool,
    tests: Sequence[int],
    task_ids: Iterator[int],
    tick: Callable[[], None],
    needs: Mapping[int, tuple[int, ...]],
    result: AloneResult,
) -> dict[int, Found]:
    seen: dict[int, Found] = {}
    for done in _each(pool, tests, task_ids, tick, needs, width=1):
        result.cpu += done.cpu
        for one in done.reach:
            result.reached(*one)
        seen.update((found.test, found) for found in done.found)
    return seen


def _each(
    pool: Pool,
    tests: Iterable[int],
    task_ids: Iterator[int],
    tick: Callable[[], None],
    needs: Mapping[int, tuple[int, ...]],
    width: int | None = None,
    lean: bool = False,
) -> Iterator[TaskResult]:
    tasks = (
        Task(
            next(task_ids),
            Purpose.ALONE,
            (test,),
            ((test, needs[test]),) if test in needs else (),
            reach=True,
            lean=lean,
            watch=True,
        )
        for test in tests
    )
    return pool.run(tasks, width=width, tick=tick)


def _same(first: Found | None, second: Found | None) -> bool:
    return (first.outcome if first else None) == (second.outcome if second else None)


def _text(found: Found | None) -> str:
    if found is None:
        return "it does not run"
    return f"{found.outcome.value}: {found.message or found.exception or 'no message'}"
