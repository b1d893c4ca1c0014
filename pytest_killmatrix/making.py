"""From a collected session to a stored matrix, in seven steps; ``Maker.make`` reads top to bottom."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pytest_killmatrix import environment
from pytest_killmatrix.analysis.sampling import draw
from pytest_killmatrix.baseline.comparison import Comparison, stopping
from pytest_killmatrix.baseline.old import Looped
from pytest_killmatrix.baseline.scope import RunAgain, Said
from pytest_killmatrix.child.scratch import holder_of
from pytest_killmatrix.clean.runs import CleanRuns
from pytest_killmatrix.conclusion import conclude
from pytest_killmatrix.controls import NOT_EXERCISED, OK, Controls
from pytest_killmatrix.declared import apply as apply_declared
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.explaining import Explainer, Suspects, keep_texts
from pytest_killmatrix.gathering import gather
from pytest_killmatrix.jobs import Done
from pytest_killmatrix.matrix import Matrix
from pytest_killmatrix.model import Build, Excluded, Mutant, Route, RunInfo, Status
from pytest_killmatrix.oracle.subjects import mutant_of, place
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.planning import Planning, Population
from pytest_killmatrix.prepared import Prepared, Stop, Written
from pytest_killmatrix.projectfiles import ProjectFiles
from pytest_killmatrix.projecting import projection, seconds_in_a_row
from pytest_killmatrix.report.narrator import Narrator
from pytest_killmatrix.reusing import Reuse
from pytest_killmatrix.sharding import Shard
from pytest_killmatrix.static import StaticWays
from pytest_killmatrix.store.audits import add_audit
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar
from pytest_killmatrix.surroundings import Surroundings

if TYPE_CHECKING:
    from pytest_killmatrix.analysis.projection import Projection

_USAGE: Final = 4
_FLUSH_EVERY: Final = 1.0
_AT_LEAST: Final = 60.0  # seconds for each step of the old suite
_PATIENCE: Final = 30.0  # times what the new suite took clean, for the old one


class Maker:
    """Makes one kill matrix and stores it."""

    def __init__(self, prepared: Prepared, executor: Executor, terminal: Any) -> None:
        self.prepared = prepared
        self.settings = prepared.settings
        self.executor = executor
        self.narrator = Narrator(terminal)
        self.cpu = dict.fromkeys(("clean", "generate", "swap", "collection", "static", "confirm"), 0.0)
        self.info = RunInfo(
            id=uuid.uuid4().hex[:12],
            started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            python=environment.python_version(),
            platform=environment.platform_name(),
            hash_seed=environment.hash_seed(),
            options=prepared.settings.deciding(),
        )
        self._started = time.monotonic()
        self._ids = itertools.count(1)
        self.mutants: list[Mutant] = []
        self.builds: list[Build] = []
        self.hashes: dict[str, str] = {}
        self._flushed = 0.0
        self._filling_since = 0.0
        self.matrix: Matrix | None = None
        self.declared: frozenset[str] = frozenset()
        self.contradictions: list[str] = []
        self.refusals: Counter[str] = Counter()
        self.code_readers: frozenset[int] = frozenset()
        self.reuse: Reuse | None = None
        self.comparison = self._comparison()
        if prepared.lead is not None:
            self.narrator.watch = prepared.lead.check

    def make(self) -> int:
        """Make the matrix; the exit status that it alone would have."""
        try:
            if self.settings.plan:
                self._prepare()
                self._project_whole()
                return 0
            with Sidecar.open(self.settings.sidecar) as sidecar:
                return self._make(sidecar)
        except StoreError as error:
            raise Stop(f"no kill matrix: {error}", _USAGE) from error
        finally:
            self.narrator.clear()
            if self.comparison is not None:
                self.comparison.suite.close()

    def _comparison(self) -> Comparison | None:
        prepared = self.prepared
        if prepared.basis is None:
            return None
        from pytest_killmatrix.baseline.suite import OldSuite

        with stopping():
            suite = OldSuite(prepared.basis, prepared.config, prepared.sys_path, self.narrator.tick)
        assert prepared.today is not None
        return Comparison(prepared.basis, suite, prepared.today.known, self.settings.scope)

    def _make(self, sidecar: Sidecar) -> int:
        if sidecar.notice:
            self.info.notes.append(sidecar.notice)
        files = self._prepare()
        run = self._store(sidecar, files)
        try:
            self._refuse_long()
            self._control(sidecar, run)
            self._fill(sidecar, run)
            self._declare(sidecar, run)
            if self.comparison is not None:
                self._compare(self.comparison, sidecar, run)
            if self.prepared.lead is not None:
                sidecar.flush()
                self.prepared.lead.answer(run, self.mutants, self.tests, self._run_again(sidecar))
            else:
                self._explain(sidecar, run)
            self._end_children()
            if (change := files.changes()) is not None:
                self.info.notes.append(change)
        finally:
            self._account(sidecar, run)  # of an interrupted run too
        return conclude(self.settings, sidecar, run, self.info, self.contradictions)

    def _prepare(self) -> ProjectFiles:
        """Everything before a mutant runs; the project's files as they were."""
        if self.settings.generate:
            self.info.notes.append(self.prepared.targets.described())
        if self.prepared.executor_because is not None:
            self.info.notes.append(f"every mutant ran in a fresh interpreter: {self.prepared.executor_because}")
        if self.settings.sandbox == "copy":
            self.info.notes.append("tests and mutants ran in a disposable copy of the project")
        if self.settings.static == "reach":
            self.info.notes.append("code that runs at import met only the tests that run code of that module")
        if holder := holder_of(self.prepared.config.rootpath, self.prepared.modules.values()):
            self.info.notes.append(f"{holder} holds the temporary directory since its import: children share it")
        files = ProjectFiles(self.prepared.config, self.settings)
        if self.prepared.lead is not None and not self.prepared.lead.spec.alone:
            self.prepared.lead.say(Looped())
        if self.comparison is not None:
            self._begin_comparison(self.comparison)
        self._generate()
        self._run_clean()
        if self.comparison is not None:
            self._narrow_to_tests(self.comparison)
        self._take_sample()
        self._add_variants()
        self._take_shard(files)
        self._plan()
        self.facts = environment.facts()
        self.reuse = Reuse.of(self.prepared, files.hashes, self.facts, self.tests, self.reach, self.needs, self.leaving)
        return files

    def _project(self, plan: Sequence[Planned]) -> Projection:
        at_once = self.executor.at_once or self.settings.workers
        seconds = self._seconds_in_a_row()
        found = projection(plan, self.mutants, seconds, self.costs, at_once, self.settings.sidecar)
        self.prepared.projection = found
        return found

    def _seconds_in_a_row(self) -> list[float]:
        beside = [index for index, test in enumerate(self.tests) if test.excluded is None and index not in self.unsafe]
        needs = tuple((test, self.needs[test]) for test in beside if test in self.needs)
        task = Task(next(self._ids), Purpose.NOOP, tuple(beside), needs, lean=True)
        return seconds_in_a_row(self.pool, self.tests, task, self._add_clean_cpu, self.narrator.tick)

    def _add_clean_cpu(self, seconds: float) -> None:
        self.cpu["clean"] += seconds

    def _project_whole(self) -> None:
        """The projection of all that would run, given what the sidecar has."""
        self.finished: dict[int, Status] = {}
        if self.reuse is not None and not self.settings.fresh:
            with contextlib.suppress(StoreError), Reader(self.settings.sidecar) as reader:
                self.reuse.find(reader, None, self.plan, self.mutants, self.tests)
                self._project([self._without_kept(planned) for planned in self.plan])
                return
        self._project(self.plan)

    def _refuse_long(self) -> None:
        """Stop where what is left to run is projected to take longer than was allowed."""
        limit = self.settings.max_minutes
        if limit is None:
            return
        left = self._project([self._without_kept(planned) for planned in self._left()])
        if left.seconds > 60 * limit:
            raise Stop(
                f"no mutant was run: the matrix is projected to take {left.seconds / 60:.1f} minutes, and "
                f"--kill-matrix-max-minutes={limit:g}: allow more, or choose less with --mutate or --mutation-sample",
                _USAGE,
            )

    # -- the old suite, where there is a baseline ---------------------------------------------------------------------

    def _begin_comparison(self, comparison: Comparison) -> None:
        """Lay the old suite out; its tests are collected while the mutants are made."""
        self.narrator.say("laying out the old suite")
        with stopping():
            comparison.start()

    def _narrow_to_tests(self, comparison: Comparison) -> None:
        """Learn what became of the tests; keep only what added or changed ones reach, if that is the scope."""
        self.narrator.say("collecting the old suite")
        with stopping():
            comparison.collect(_AT_LEAST + _PATIENCE * self.prepared.collected_in)
            paths = {name: str(path) for name, path in self.prepared.targets.files.items()}
            self._keep(comparison.reached_by_contributors(self.mutants, self.tests, self.reach, paths))
        self.info.scope = comparison.scope

    def _keep(self, wanted: Sequence[bool]) -> None:
        kept = [pair for pair, keep in zip(zip(self.mutants, self.builds, strict=True), wanted, strict=True) if keep]
        self.mutants, self.builds = [mutant for mutant, _ in kept], [build for _, build in kept]

    def _compare(self, comparison: Comparison, sidecar: Sidecar, run: int) -> None:
        """Run the old suite's own tests, confirm what differs, store the delta."""
        self.narrator.clear()
        self.narrator.say("the old suite")
        sidecar.flush()
        wall = sum(test.seconds for test in self.tests) + self.prepared.collected_in
        unsteady = {index for index, test in enumerate(self.tests) if test.needs_predecessors}
        excluded = {index for index, test in enumerate(self.tests) if test.excluded not in (None, Excluded.SKIPPED)}
        with stopping():
            both = zip(self.mutants[: self.generated], self.builds, strict=False)  # variants come after these
            made = [(mutant, build) for mutant, build in both if mutant.verdict is None]
            comparison.run(made, self.hashes, unsteady, excluded, _AT_LEAST + _PATIENCE * wall)
            sidecar.add_tests(run, comparison.tests(self.tests))
            self.narrator.say("confirming what differs")
            with Reader(self.settings.sidecar, run) as reader:
                self.info.delta, met = comparison.meet(reader, self._run_again(sidecar))
            comparison.suite.go_home()
            if self.settings.score_ref:
                self.narrator.say("the tests of the baseline on its own source")
                self.info.delta["score_ref"] = comparison.score_at_ref()
        for one in met:
            comparison.store(sidecar, run, one)
            if one.key in self.declared and any(cell.outcome.kills for cell in one.old.values()):
                self.contradictions.append(f"--mutation-equivalents: a test of the old suite notices {one.key}")
        self.info.notes.extend(comparison.notes)
        self.info.noop_kills += [f"{name} (of the old suite)" for name in comparison.faults]
        self.cpu["baseline"] = comparison.cpu or comparison.suite.cpu  # where it only collected

    def _run_again(self, sidecar: Sidecar) -> RunAgain:
        def again(cells: Mapping[int, Sequence[int]]) -> dict[tuple[int, int], Said]:
            assert self.matrix is not None
            found = self.matrix.again(self.plan, cells, self._tick(sidecar))
            return {cell: Said(said.outcome, noop) for cell, (said, noop) in found.items()}

        return again

    # -- 1. mutants ------------------------------------------------------------------------------------------------

    def _generate(self) -> None:
        """Make mutants in a process of its own."""
        if not self.settings.generate:
            return
        self.narrator.say("making mutants")
        before = environment.own_cpu()
        found = gather(self.prepared)
        self.mutants, self.builds, self.hashes = found.mutants, found.builds, found.hashes
        self.info.notes.extend(found.notes)
        self.cpu["generate"] += environment.own_cpu() - before
        if self.comparison is not None:
            with stopping():
                targets = self.prepared.targets
                files = {name: targets.files[name] for name in targets.mutated}
                self._keep(self.comparison.in_changed_lines(self.mutants, files))

    def _take_sample(self) -> None:
        """Leave out what is not drawn, where a sample will do."""
        self.info.population = len(self.mutants)
        self.known = frozenset(mutant.key for mutant in self.mutants)
        if self.settings.sample is not None:
            amount, percent = self.settings.sample
            kept, self.info.sample = draw(self.mutants, amount, percent, self.settings.seed)
            self._keep(kept)

    def _add_variants(self) -> None:
        """Authored variants come after the generated mutants, and are told from them by that."""
        self.generated = len(self.mutants)
        audit = self.prepared.audit
        self.variants = place(audit, self.prepared.items) if audit is not None else []
        for placed in self.variants:
            self.mutants.append(mutant_of(placed))
            self.builds.append(Build())
            self.hashes.setdefault(placed.case.target, placed.case.target_sha256)
        sandbox = Surroundings.of(self.prepared.config).sandbox
        cases = {one.case.target: one.case for one in self.variants}.values() if sandbox is not None else ()
        for case in cases:
            if sandbox is not None and environment.digest_of(sandbox.root / case.target) != case.target_sha256:
                self.info.notes.append(f"in the copy the reference stood in {case.target}")
        judged = {one.case.name for one in self.variants}
        left_out = [case.name for case in audit.cases if case.name not in judged] if audit is not None else []
        if left_out:
            self.info.notes.append(f"cases without a test in this session, not judged: {', '.join(left_out)}")

    def _take_shard(self, files: ProjectFiles) -> None:
        """Leave other shards' mutants out; the controls still look at all, so that all shards have the same tests."""
        self.population = Population(self.mutants, self.builds, self.generated, self.variants)
        if self.settings.shard is None:
            return
        shard = Shard(*self.settings.shard)
        held = [shard.holds(mutant) for mutant in self.mutants[: self.generated]]
        judged = [shard.holds_case(placed.case.name) for placed in self.variants]
        self._keep([*held, *judged])
        self.generated = sum(held)
        self.variants = list(itertools.compress(self.variants, judged))
        self.info.shard = {"index": shard.index, "count": shard.count, "tree": files.tree()}

    # -- 2. clean runs and reach -----------------------------------------------------------------------------------

    def _run_clean(self) -> None:
        """The suite on unmutated code: outcomes that must agree, and who reaches what."""
        clean = CleanRuns(self.prepared, self.executor, self.narrator, self._ids)
        try:
            clean.run()
        finally:
            self.cpu["clean"] += clean.cpu
        self.info.notes.extend(clean.notes)
        self.tests, self.reach, self.pool = clean.tests, clean.reach, clean.pool
        self.needs, self.unsafe, self.leaving = clean.needs, clean.unsafe, clean.leaving
        self.costs = clean.costs

    # -- 3. plan ---------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Which tests meet which mutant."""
        static = StaticWays(self.prepared, self.settings.static)
        self.planning = Planning(self.prepared, self.tests, self.reach, static)
        self._plan_all()

    def _plan_all(self) -> None:
        """The plan of this run's mutants, and of all that there are."""
        own = Population(self.mutants, self.builds, self.generated, self.variants)
        self.plan = self.planning.plan(own)
        sharded = self.settings.shard is not None
        self.whole_plan = self.planning.plan(self.population) if sharded else self.plan
        self.subjects = self.planning.subjects(own, self.hashes, self.needs, self.unsafe)

    def _plan_again(self, not_twice: frozenset[str]) -> None:
        """Given what the controls refused."""
        self.planning.again(not_twice, self.refusals)
        self._plan_all()

    # -- 4. the sidecar --------------------------------------------------------------------------------------------

    def _store(self, sidecar: Sidecar, files: ProjectFiles) -> int:
        """Open a run, or go on with an interrupted one that was made of exactly the same."""
        root = self.prepared.config.rootpath
        self.info.commit, self.info.dirty = environment.commit_of(files.root)
        self.info.fingerprint = environment.fingerprint(
            self.facts,
            {**files.hashes, **self.hashes},
            self.info.options,
            (str(name) for name in self.prepared.identities),
            root,
        )
        found = None if self.settings.fresh else sidecar.find_resumable(self.info.fingerprint)
        self.finished = {}
        if found is None:
            run = sidecar.begin_run(self.info)
            sidecar.add_mutants(run, self.mutants)
            if self.prepared.audit is not None:
                add_audit(sidecar, run, self.prepared.audit, self.variants, self.generated)
        else:
            run = sidecar.resume_run(found)
            self.finished = {
                index: status
                for index, status in sidecar.finished_mutants(run).items()
                if self.plan[index].status is None
            }
            self.info.id = sidecar.info_of(run).id
            if self.finished:
                self.info.notes.append(f"resumed: {len(self.finished):,} mutants were judged before the interruption")
        keep_texts(sidecar, run, self.prepared.targets.files, self.hashes)
        for planned in self.plan:
            if planned.status is not None:
                sidecar.add_reach(run, planned.mutant, planned.reached_by)
                sidecar.set_status(run, planned.mutant, planned.status, planned.reason)
        sidecar.add_tests(run, self.tests)
        if self.settings.max_minutes is not None:
            self._find_kept(sidecar, run)
        self.prepared.written = Written(self.settings.sidecar, run)
        return run

    def _find_kept(self, sidecar: Sidecar, run: int) -> None:
        """Look for cells of earlier runs that still hold."""
        if self.reuse is not None and not self.settings.fresh:
            self.reuse.find(sidecar, run, self._left(), self.mutants, self.tests)
        if self.reuse is not None:
            self.reuse.begin(sidecar, run)

    def _left(self) -> list[Planned]:
        """The part of the plan that no interrupted run has done."""
        return [planned for planned in self.plan if planned.mutant not in self.finished]

    # -- 5. controls -----------------------------------------------------------------------------------------------

    def _control(self, sidecar: Sidecar, run: int) -> None:
        """The instrument checks itself before it judges."""
        self.narrator.say("controls")
        met = {test for planned in self.whole_plan for test in planned.tests}  # all others have nothing to prove
        usable = [index for index, test in enumerate(self.tests) if test.excluded is None and index in met]
        beside = [index for index in usable if index not in self.unsafe]
        watching = self.reuse is not None and not self.executor.collecting
        if self.reuse is not None and watching:
            self.reuse.watch(self.pool)
        controls = self._controls(beside)
        if self.reuse is not None and watching and (controls.result.noop_kills or controls.result.code_readers):
            self.reuse.watch_nothing(self.pool)  # it may be what they look at
            controls = self._controls(beside)
        result = controls.result
        self.unsafe |= result.unsafe
        for index, (why, message) in result.excluded.items():
            self.tests[index].excluded, self.tests[index].message = why, message
        for index in self.unsafe:
            self.tests[index].parallel_safe = False
        self.refusals.update(result.not_reloadable)
        self.code_readers = result.code_readers
        if result.code_readers:
            names = ", ".join(self.tests[index].nodeid for index in sorted(result.code_readers)[:3])
            self.info.notes.append(
                f"{len(result.code_readers)} test(s) look at code objects, where a swapped function shows; "
                f"they have no cells: {names}"
            )
        if result.excluded or result.not_twice or result.not_reloadable:
            self._plan_again(result.not_twice)
            if result.not_reloadable:  # the other way has to prove itself too
                controls.ways, files = self.planning.ways, self.planning.file_tests
                self.refusals.update(controls.again(beside, self.whole_plan, result.not_reloadable, files))
                self.cpu["confirm"] += result.cpu
                self._plan_again(result.not_twice)
            for planned in self.plan:
                if planned.status is not None:
                    sidecar.set_status(run, planned.mutant, planned.status, planned.reason)
        self.lean = result.lean
        self.said = result.said
        if not result.lean:
            self.info.notes.append("some tests differ without pytest's full protocol: every cell took the full one")
        self.info.routes = {**result.routes, "subprocess": self._executor_state(result.routes)}
        self.info.noop_kills = [f"{self.tests[test].nodeid}: {why}" for test, why in result.noop_kills.items()]

    def _controls(self, tests: Sequence[int]) -> Controls:
        """Run the controls on these tests."""
        controls = Controls(
            self.pool,
            self.population.builds,
            self.population.mutants,
            self.subjects.paths,
            self.prepared.loaded,
            self.hashes,
            self._ids,
            self.needs,
            self.planning.ways,
            self.narrator.tick,
        )
        controls.run(tests, self.settings.workers, self.whole_plan, self.planning.file_tests)
        result = controls.result
        self.cpu["confirm"], result.cpu = self.cpu["confirm"] + result.cpu, 0.0
        return controls

    def _executor_state(self, routes: dict[str, str]) -> str:
        """What the controls said of children that are fresh interpreters."""
        if not self.executor.collecting:
            return NOT_EXERCISED
        failed = next((state for state in routes.values() if state.startswith("failed")), None)
        return failed or (OK if OK in routes.values() else NOT_EXERCISED)

    # -- 6. the matrix ---------------------------------------------------------------------------------------------

    def _fill(self, sidecar: Sidecar, run: int) -> None:
        """Run every mutant that needs running, and store each as soon as it is judged."""
        sidecar.add_tests(run, self.tests)
        self._find_kept(sidecar, run)
        if self.reuse is not None:
            self.info.notes.extend(self.reuse.notes())
        todo = [self._without_kept(planned) for planned in self._left()]
        runnable = [planned for planned in todo if planned.status is None]
        self.narrator.cells(sum(len(planned.tests) for planned in runnable))
        everyone = self.population.mutants
        controlled = {everyone[planned.mutant].path for planned in self.whole_plan if planned.reload is not None}
        static = self.planning.other_ways(self.plan, self.mutants, controlled)
        subjects = replace(self.subjects, static=static, code_readers=self.code_readers)
        if self.reuse is not None:
            subjects = replace(subjects, kept=self.reuse.get)
        usable = {index for index, test in enumerate(self.tests) if test.excluded is None} - self.unsafe
        self.runs = self.executor.matrix_pool(
            self.pool, self.said, usable - self.code_readers, len(self.prepared.items)
        )
        matrix = Matrix(
            self.runs,
            subjects,
            self.settings.isolation == "test",
            not self.settings.alone,
            self.lean,
            self._ids,
            forks=not self.executor.collecting,
        )
        self._filling_since = environment.own_cpu()
        self.matrix = matrix
        for done in matrix.run(todo, self._tick(sidecar), lambda planned: self.narrator.advance(len(planned.tests))):
            _write(sidecar, run, done)
            if self.reuse is not None:
                self.reuse.write(sidecar, run, done)
        sidecar.flush()

    def _without_kept(self, planned: Planned) -> Planned:
        return planned if self.reuse is None else self.reuse.without(planned)

    def _declare(self, sidecar: Sidecar, run: int) -> None:
        """Mutants that a person declared equivalent leave the survivors; one that a test notices is an error."""
        if self.settings.equivalents is None:
            return
        found = apply_declared(self.settings.equivalents, self.mutants[: self.generated], self.known, sidecar, run)
        self.declared, self.contradictions = found.declared, found.contradictions
        self.info.notes.extend(found.notes)

    def _tick(self, sidecar: Sidecar) -> Callable[[], None]:
        def tick() -> None:
            self.narrator.tick()
            now = time.monotonic()
            if now - self._flushed > _FLUSH_EVERY:
                self._flushed = now
                sidecar.flush()

        return tick

    def _end_children(self) -> None:
        """Nothing more is run; what it took is known once the processes have ended."""
        matrix, self.matrix = self.matrix, None
        if matrix is None:
            return
        controller = environment.own_cpu() - self._filling_since
        self.info.notes.extend(self.executor.notes)
        self.executor.close()
        for phase, seconds in matrix.cpu.items():
            self.cpu[phase] += seconds
        self.cpu["static"] += self.pool.held_cpu
        self.cpu["swap"] += controller + self.pool.zygote_cpu
        if self.runs is not self.pool:
            self.cpu["confirm"] += self.runs.zygote_cpu

    def _explain(self, sidecar: Sidecar, run: int) -> None:
        """Ask the survivors why; whatever comes of that, the matrix is done."""
        self.narrator.clear()
        self.narrator.say("why mutants survived")
        suspects = Suspects(
            self.mutants,
            {planned.mutant for planned in self.plan if planned.route is Route.SWAP and planned.status is None},
            self.prepared.targets.files,
            self.hashes,
            self.needs,
            self.unsafe,
            self.code_readers,
        )
        explainer = Explainer(self.pool, suspects, self._ids, self.settings.workers, self.lean, self.narrator.tick)
        try:
            survivors = sidecar.survivors(run, self.generated)
            explainer.explain(survivors, sidecar, run, probe=not self.executor.collecting)
        except StoreError:
            raise
        except Exception as error:  # nothing that is only explained may cost what was judged
            self.info.notes.append(f"why mutants survived was not found out: {type(error).__name__}: {error}")
        finally:
            self.cpu["confirm"] += explainer.cpu

    # -- 7. the end ------------------------------------------------------------------------------------------------

    def _account(self, sidecar: Sidecar, run: int) -> None:
        self._end_children()
        self.info.seconds = time.monotonic() - self._started
        self.info.cpu = {**self.cpu, "total": sum(self.cpu.values())}
        sidecar.update_run(run, self.info)


def _write(sidecar: Sidecar, run: int, done: Done) -> None:
    sidecar.store(run, done.mutant, done.status, done.reason, done.cells, done.reached_by)
