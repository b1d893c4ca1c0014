"""From a mutant and some of its tests to the task of a child."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_killmatrix.executor.protocol import Purpose, Splice, Swap, Task
from pytest_killmatrix.jobs import Job, Kind, Subjects
from pytest_killmatrix.plan import Planned


class Tasks:
    """Makes tasks; ``forks`` says whether a child may be forked once more."""

    def __init__(self, subjects: Subjects, ids: Iterator[int], *, lean: bool, forks: bool) -> None:
        self._subjects = subjects
        self._ids = ids
        self._lean = lean
        self._forks = forks

    def make(
        self,
        job: Job,
        tests: tuple[int, ...],
        kind: Kind,
        purpose: Purpose,
        *,
        marked: bool,
        apart: bool,
        hold: bool,
    ) -> Task:
        """The task that runs these tests; ``apart`` each in a process of its own, with ``hold`` in one that waits."""
        subjects, planned = self._subjects, job.planned
        mutant, build = subjects.mutants[planned.mutant], subjects.builds[planned.mutant]
        path = subjects.paths[mutant.path]
        recollected = {test for file in planned.recollect for test in subjects.file_tests.get(file, ())}
        needs = tuple((test, subjects.needs[test]) for test in tests if test in subjects.needs)
        ordered = set(tests).union(*(before for _, before in needs))
        files = tuple(file for file in planned.recollect if not ordered.isdisjoint(subjects.file_tests.get(file, ())))
        reload = planned.reload
        # by themselves these load nothing of it
        quiet = planned.strangers.issuperset(tests) and (apart or len(tests) == 1)
        return Task(
            next(self._ids),
            purpose,
            tests,
            needs,
            ()
            if reload is not None or planned.anew
            else tuple(
                Swap(path, code.line, code.original, code.marked if marked else code.plain) for code in build.codes
            ),
            subjects.splice(mutant, marked=marked, whole=planned.whole),
            files,
            tuple(test for test in tests if test in recollected),
            reload.modules if reload is not None else (),
            reload.own if reload is not None and not quiet else (),
            planned.renew,
            planned.anew,
            apart,
            hold=hold,
            watch=kind in (Kind.REVERSE, Kind.SPLIT),
            split=kind is Kind.SPLIT,
            lean=self._lean,
            collect=self._files_of(planned) if planned.renew else (),
        )

    def _files_of(self, planned: Planned) -> tuple[str, ...]:
        """The test files of all tests that meet a mutant, and of those that these need."""
        subjects, found = self._subjects, dict[str, None]()
        for test in planned.tests:
            for index in (*subjects.needs.get(test, ()), test):
                found[subjects.names[index].partition("::")[0]] = None
        return tuple(found)

    def groups(self, planned: Planned, tests: Sequence[int]) -> list[tuple[int, ...]]:
        """The tasks that run each of these tests by itself.

        What it costs to import and collect again, one child pays for all tests, which are forks of it; but tests that
        would not load the module by themselves must not find it loaded.
        """
        if planned.reload is None or not self._forks:
            return [(test,) for test in tests]
        strangers = tuple(test for test in tests if test in planned.strangers)
        others = tuple(test for test in tests if test not in planned.strangers)
        return [group for group in (others, strangers) if group]

    def unchanged(self, task: Task, name: str) -> Task:
        """The same task with nothing changed."""
        swaps = tuple(Swap(swap.path, swap.line, swap.original, swap.original) for swap in task.swaps)
        splice = Splice(self._subjects.paths[name], 0, 0, b"", self._subjects.hashes[name])
        return replace(task, purpose=Purpose.NOOP, swaps=swaps, splice=splice)
