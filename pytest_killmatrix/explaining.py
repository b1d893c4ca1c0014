"""After the matrix: the text of the mutated files is kept, and survivors are asked why they survived.

One more pass over the tests that reach survivors, on the original program with probes in it. It judges nothing: what it
finds is stored beside the cells and changes none.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pytest_killmatrix.analysis.causes import Seen, cause_of
from pytest_killmatrix.executor.pool import Pool, TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Swap, Task
from pytest_killmatrix.model import Mutant, Outcome, Sample, Site
from pytest_killmatrix.probing import Found, Prober
from pytest_killmatrix.source import SourceError, SourceFile
from pytest_killmatrix.store.survivors import Survivors
from pytest_killmatrix.store.writer import Sidecar

_MOST_APART: Final = 500  # tests that run once more, each in a fork of its own
_BEYOND_US: Final = (SyntaxError, ValueError, RecursionError, MemoryError)  # of trees and of compiling them
_CHUNK: Final = 25  # tests of one child
_AT_ONCE: Final = 100_000  # cells of survivors that are looked at in one go, unless those of one file are more
_BUDGET: Final = (4.0, 2.0)  # of a test under probes: factor of its clean duration, least seconds
_PATIENCE: Final = (3.0, 30.0)  # of the whole pass: factor of what its tests take, and seconds more


def keep_texts(sidecar: Sidecar, run: int, files: Mapping[str, Path], hashes: Mapping[str, str]) -> None:
    """Store the text of every mutated file, where it is still the one that the mutants were made from."""
    for name, sha256 in hashes.items():
        source = _source(files[name], sha256)
        if source is not None:
            sidecar.add_file(run, name, sha256, source.text)


@dataclass(frozen=True, slots=True)
class Suspects:
    """What the survivors are looked for in, by index.

    ``swapped`` are the mutants that only running functions evaluates, and no collection of a test file. ``unsafe``
    tests run with nothing beside them; ``blind`` ones look at code objects and are not run.
    """

    mutants: Sequence[Mutant]
    swapped: Collection[int]
    files: Mapping[str, Path]
    hashes: Mapping[str, str]
    needs: Mapping[int, tuple[int, ...]]
    unsafe: Collection[int]
    blind: Collection[int]


@dataclass(slots=True)
class Explainer:
    """Finds out why mutants survived; ``cpu`` is in seconds.

    Probes cost time where they stand in loops. So a test gets less of it than under a mutant, and the whole pass has an
    end: what was not seen by then is not told.
    """

    pool: Pool
    suspects: Suspects
    ids: Iterator[int]
    width: int
    lean: bool
    tick: Callable[[], None]
    cpu: float = 0.0
    _found: dict[int, Found] = field(default_factory=dict)
    _sites: list[Site] = field(default_factory=list)
    _swaps: list[Swap] = field(default_factory=list)
    _seen: dict[int, dict[int, Seen]] = field(default_factory=dict)
    _until: float = 0.0

    def explain(self, survivors: Survivors, sidecar: Sidecar, run: int, *, probe: bool) -> None:
        """Store a cause for every survivor of which one can be told, given the tests that passed under each.

        Without ``probe`` nothing is run.
        """
        for part in self._parts(survivors):
            self._found, self._sites, self._swaps, self._seen = {}, [], [], {}
            self._explain(part, survivors, sidecar, run, probe)
            sidecar.flush()

    def _parts(self, survivors: Survivors) -> Iterator[list[int]]:
        """Survivors file by file, as many at a time as what is seen of them may be kept."""
        by_path: dict[str, list[int]] = {}
        for mutant in survivors:
            by_path.setdefault(self.suspects.mutants[mutant].path, []).append(mutant)
        part: list[int] = []
        cells = 0
        for members in by_path.values():
            more = sum(survivors.sizes[mutant] for mutant in members)
            if part and cells + more > _AT_ONCE:
                yield part
                part, cells = [], 0
            part += members
            cells += more
        if part:
            yield part

    def _explain(self, part: Sequence[int], survivors: Survivors, sidecar: Sidecar, run: int, probe: bool) -> None:
        self._place(part, probe)
        if self._sites:
            limits = self.pool.limits
            factor, least = _BUDGET
            self.pool.limits = replace(limits, budget=lambda test: max(factor * limits.clean(test), least))
            try:
                self._watch(survivors)
            finally:
                self.pool.limits = limits
        dropped = {mutant for site in self._sites if site.follows is not None for mutant, _ in site.variants}
        for mutant in part:
            found = self._found.get(mutant, Found())
            cause = cause_of(
                survivors[mutant],
                self._seen.get(mutant, {}),
                in_message=found.in_message,
                differs=found.differs,
                dropped=mutant in dropped,
            )
            if cause is not None:
                sidecar.set_cause(run, mutant, cause)

    def _place(self, survivors: Sequence[int], probe: bool) -> None:
        """Find where probes can stand, file by file."""
        suspects = self.suspects
        by_path: dict[str, list[int]] = {}
        for mutant in survivors:
            by_path.setdefault(suspects.mutants[mutant].path, []).append(mutant)
        for path, members in by_path.items():
            source = _source(suspects.files[path], suspects.hashes[path])
            if source is None:
                continue
            file = str(suspects.files[path])
            prober = Prober(source, file)
            for index in members:
                self._look(prober, index, probe and index in suspects.swapped)
                self.tick()
            try:
                sites, codes = prober.sites(len(self._sites))
            except _BEYOND_US:
                continue
            self._sites += sites
            self._swaps += [Swap(file, code.line, code.original, code.plain) for code in codes]

    def _look(self, prober: Prober, index: int, probed: bool) -> None:
        with contextlib.suppress(*_BEYOND_US):
            self._found[index] = prober.look_at(index, self.suspects.mutants[index], probed=probed)

    def _watch(self, survivors: Survivors) -> None:
        """Run the tests together; then, each in a fork of its own, those in which something was not evaluated that they
        evaluate alone: a cache or a shared fixture kept what an earlier test had made.
        """
        watched = {mutant for site in self._sites for mutant, _ in site.variants}
        wanted = {test for mutant in watched for test in survivors[mutant]} - set(self.suspects.blind)
        factor, more = _PATIENCE
        takes = sum(self.pool.limits.clean(test) for test in wanted) / self.width
        self._until = time.monotonic() + factor * takes + more
        self._run(sorted(wanted), apart=False)
        missing = {
            test
            for mutant in watched
            for test in survivors[mutant]
            if test in wanted and test not in self._seen.get(mutant, {})
        }
        self._run(sorted(missing)[:_MOST_APART], apart=True)

    def _run(self, tests: Sequence[int], *, apart: bool) -> None:
        together = [test for test in tests if test not in self.suspects.unsafe]
        serial = [test for test in tests if test in self.suspects.unsafe]
        for chosen, width in ((together, self.width), (serial, 1)):
            size = max(1, min(-(-len(chosen) // width), _CHUNK))
            starts = itertools.takewhile(lambda _: time.monotonic() < self._until, range(0, len(chosen), size))
            tasks = (self._task(chosen[at : at + size], apart) for at in starts)
            for result in self.pool.run(tasks, width=width, tick=self.tick):
                self._take(result)

    def _task(self, tests: Sequence[int], apart: bool) -> Task:
        needs = tuple((test, self.suspects.needs[test]) for test in tests if test in self.suspects.needs)
        return Task(
            next(self.ids),
            Purpose.PROBE,
            tuple(tests),
            needs,
            tuple(self._swaps),
            apart=apart,
            lean=self.lean,
            sites=tuple(self._sites),
        )

    def _take(self, result: TaskResult) -> None:
        self.cpu += result.cpu
        passed = {found.test for found in result.found if found.outcome is Outcome.PASSED}
        for test, observations in result.seen.items():
            if test not in passed:
                continue  # probes disturb it
            for mutant, evaluated, infected, unknown, samples in observations:
                seen = Seen(evaluated, infected, unknown, tuple(Sample(*sample) for sample in samples))
                self._seen.setdefault(mutant, {}).setdefault(test, seen)


def _source(path: Path, sha256: str) -> SourceFile | None:
    """The file; None where it is another by now: the run itself says what is wrong with it."""
    try:
        data = path.read_bytes()
        return SourceFile(str(path), data) if hashlib.sha256(data).hexdigest() == sha256 else None
    except (OSError, SourceError):
        return None
