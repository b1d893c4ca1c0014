"""The controls, once more on every worker: what they said at the controller they have to say there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_killmatrix.executor.pool import TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.model import Outcome


@dataclass(frozen=True, slots=True)
class Proof:
    """A control's task, which tests passed, whether any noticed it, and whether the module could not be imported."""

    task: Task
    passed: frozenset[int]
    noticed: bool
    invalid: bool

    @classmethod
    def of(cls, result: TaskResult) -> Proof:
        """What a control said."""
        passed = frozenset(found.test for found in result.found if found.outcome is Outcome.PASSED)
        noticed = any(found.outcome.kills for found in result.found)
        return cls(result.task, passed, noticed, result.invalid is not None)


def chosen(proofs: Iterable[Proof], usable: Collection[int]) -> list[Proof]:
    """One for each way of making a change: that over most tests, and of these only those that judge."""
    best: dict[Task, Proof] = {}
    for proof in proofs:
        tests = tuple(test for test in proof.task.tests if test in usable)
        if proof.task.purpose is Purpose.NOOP and not proof.invalid:
            tests = tuple(test for test in tests if test in proof.passed)
        elif not (proof.noticed or proof.invalid):
            continue
        kept = Proof(replace(proof.task, tests=tests), frozenset(tests), proof.noticed, proof.invalid)
        way = replace(proof.task, id=0, tests=(), recollected=())
        if tests and (way not in best or len(best[way].task.tests) < len(tests)):
            best[way] = kept
    return list(best.values())


def refuted(proofs: Sequence[Proof], results: Mapping[int, TaskResult], names: Sequence[str]) -> str | None:
    """In words the first thing that was said otherwise; ``results`` are by the tasks' numbers."""
    for proof in proofs:
        result = results.get(proof.task.id)
        if result is None:
            return "a control gave no answer"
        there = Proof.of(result)
        if proof.task.purpose is not Purpose.NOOP:
            if not there.noticed:
                return "no test notices a function that raises"
        elif proof.invalid:
            if not there.invalid:
                return "a module was imported again without the mutant"
        elif odd := sorted(proof.passed - there.passed):
            said = {found.test: found for found in result.found}
            found, broken = said.get(odd[0]), result.fault or result.obstacle or result.invalid
            why = (broken or "it gave no result").strip().rsplit("\n", 1)[-1]
            if found is not None:
                why = f"{found.outcome.value}: {found.message or found.exception or 'no reason given'}"
            return f"{names[odd[0]]} says otherwise where nothing is changed ({why})"
    return None
