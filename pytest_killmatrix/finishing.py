"""What becomes of a mutant, once all of its tests have said their last word: its status and its cells."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_killmatrix.analysis.status import status_of
from pytest_killmatrix.child.records import READ, UNOBSERVED
from pytest_killmatrix.executor.pool import Found
from pytest_killmatrix.jobs import Done, Job, Subjects
from pytest_killmatrix.model import Cell, Isolation, Outcome, Status
from pytest_killmatrix.reuse.dependence import Kept
from pytest_killmatrix.rows import why_lost


class Finisher:
    """Judges; ``provisional`` says that no alone runs were made, so that no kill is above doubt."""

    def __init__(self, subjects: Subjects, *, provisional: bool) -> None:
        self._subjects = subjects
        self._provisional = provisional

    def done(self, job: Job) -> Done:
        """The mutant's result, with what is kept of earlier runs."""
        planned, mutant = job.planned, self._subjects.mutants[job.planned.mutant]
        kept = self.kept(job)
        known = kept.cells.keys() | job.cells.keys()
        met = kept.bonds.keys() | set(planned.tests)
        reached_by = tuple(test for test in planned.reached_by if test in known or (test not in met and known))
        if kept.invalid is not None:
            return Done(planned.mutant, Status.INVALID, kept.invalid, (), ())
        if job.invalid is not None:
            return Done(planned.mutant, Status.INVALID, job.invalid, (), (), loaded=job.loaded)
        if job.not_live is not None:
            return Done(planned.mutant, Status.PENDING, job.not_live, (), planned.reached_by)
        if planned.whole and not job.evaluated and job.error is None and (lost := why_lost(job.cells, job.entered)):
            return Done(planned.mutant, *lost, (), planned.reached_by)
        ran = {test: tuple(sorted(job.ran[test])) if test in job.ran else None for test in planned.tests}
        killed = any(outcome.kills for outcome in self.outcomes(job))
        if not job.evaluated and not kept.cells and not planned.whole and not killed:
            if not job.entered and not kept.unreached and not mutant.static and job.error is None:
                return Done(planned.mutant, Status.PENDING, "not live", (), planned.reached_by)
            if job.error is None:
                return Done(planned.mutant, Status.NO_COVERAGE, "line_reached", (), (), planned.tests, ran)
        # the file was read, or ran as a script, without the mutant: what that test says is no outcome of this mutant
        seen = {
            test: cell
            for test, cell in job.cells.items()
            if test not in self._subjects.code_readers
            and READ not in cell.flags
            and (cell.outcome.kills or (UNOBSERVED not in cell.flags and test not in job.absent))
        }
        status = status_of(
            None,
            [*(cell.outcome for cell in seen.values()), *(cell.outcome for cell in kept.cells.values())],
            missing=len(seen) < len(job.cells),
            reached=bool(known),
            only_excluded=False,
        )
        reason = "string_only" if mutant.string_only and status is Status.SURVIVED else job.error
        if status is Status.PENDING:
            reason = "not observable"
            reader = next((test for test, cell in sorted(job.cells.items()) if READ in cell.flags), None)
            if reader is not None:
                reason = f"not observable: {self._subjects.names[reader]} reads the source of {mutant.path} itself"
            if job.absent or not self._subjects.code_readers.isdisjoint(job.cells):
                reason = "not live in every test"
        return Done(
            planned.mutant,
            status,
            reason,
            tuple(
                self._cell(job, seen[test]) if test in seen else kept.cells[test]
                for test in sorted(seen.keys() | (kept.cells.keys() - job.cells.keys()))
            ),
            reached_by,
            tuple(test for test in planned.tests if test in job.unreached and test not in job.cells),
            ran,
        )

    def outcomes(self, job: Job) -> Iterator[Outcome]:
        """Of all tests so far, those that are kept included."""
        yield from (cell.outcome for cell in job.cells.values())
        yield from (cell.outcome for cell in self.kept(job).cells.values())

    def kept(self, job: Job) -> Kept:
        """What earlier runs found out about the mutant."""
        return self._subjects.kept(job.planned.mutant)

    def _cell(self, job: Job, found: Found) -> Cell:
        flags = found.flags
        doubtful = self._provisional or found.test in job.provisional
        if doubtful and found.outcome.kills and found.test not in job.confirmed and found.test not in job.alone:
            flags = (*flags, "provisional")
        return Cell(
            job.planned.mutant,
            found.test,
            found.outcome,
            found.phase,
            found.exception,
            found.message,
            found.raised_at,
            found.seconds,
            Isolation.ALONE if found.test in job.alone else Isolation.ROW,
            job.confirmed.get(found.test),
            found.reason,
            flags,
        )
