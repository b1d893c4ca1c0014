"""From a collected session to a stored matrix, in seven steps; ``Maker.make`` reads top to bottom."""

from __future__ import annotations

import datetime
import fnmatch
import itertools
import time
import tokenize
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any, Final

from pytest_killmatrix import environment
from pytest_killmatrix.child.scratch import holder_of
from pytest_killmatrix.clean.runs import CleanRuns
from pytest_killmatrix.controls import NOT_EXERCISED, OK, Controls
from pytest_killmatrix.executor.base import Executor
from pytest_killmatrix.generate import FileError, FileMutants, GenerationError, Spec, generate
from pytest_killmatrix.matrix import Done, Matrix, Subjects
from pytest_killmatrix.model import Build, Mutant, Replacement, RunInfo, Status
from pytest_killmatrix.options import SUBPROCESS
from pytest_killmatrix.oracle.reporting import Audited, outcome_of
from pytest_killmatrix.oracle.subjects import mutant_of, place
from pytest_killmatrix.oracle.subjects import plan as plan_variant
from pytest_killmatrix.plan import Planned, plan_mutant, plan_static
from pytest_killmatrix.prepared import Prepared, Stop, Written
from pytest_killmatrix.report.narrator import Narrator
from pytest_killmatrix.report.thresholds import unmet
from pytest_killmatrix.source import encoding_of
from pytest_killmatrix.static import StaticWays
from pytest_killmatrix.store.audits import add_audit
from pytest_killmatrix.store.errors import StoreError
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar
from pytest_killmatrix.surroundings import Surroundings

_FAILED: Final = 1
_OUR_FAULT: Final = 3
_USAGE: Final = 4
_NOTHING: Final = 5
_FLUSH_EVERY: Final = 1.0


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
        self._flushed = 0.0
        self.not_twice: frozenset[str] = frozenset()
        self.refusals: Counter[str] = Counter()
        self.static = StaticWays(prepared, prepared.settings.static)
        self.code_readers: frozenset[int] = frozenset()

    def make(self) -> int:
        """Make the matrix; the exit status that it alone would have."""
        try:
            with Sidecar.open(self.settings.sidecar) as sidecar:
                return self._make(sidecar)
        except StoreError as error:
            raise Stop(f"no kill matrix: {error}", _USAGE) from error
        finally:
            self.narrator.clear()

    def _make(self, sidecar: Sidecar) -> int:
        if sidecar.notice:
            self.info.notes.append(sidecar.notice)
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
        files = environment.file_hashes(self.prepared.config.rootpath, without=[self.settings.sidecar])
        self.mutants: list[Mutant] = []
        self.builds: list[Build] = []
        self.hashes: dict[str, str] = {}
        self._generate()
        self._add_variants()
        self._run_clean()
        self._plan()
        run = self._store(sidecar, files)
        try:
            self._control(sidecar, run)
            self._fill(sidecar, run)
            self._note_changes(files)
        finally:
            self._account(sidecar, run)  # of an interrupted run too
        return self._conclude(sidecar, run)

    # -- 1. mutants ------------------------------------------------------------------------------------------------

    def _generate(self) -> None:
        """Make mutants in a process of its own."""
        if not self.settings.generate:
            return
        self.narrator.say("making mutants")
        before = environment.own_cpu()
        chosen = self.prepared.targets.mutated
        root = str(self.prepared.config.rootpath)
        spec = Spec(root, chosen, self.settings.operators, self._extra())
        try:
            for record in generate(spec):
                if isinstance(record, FileError):
                    raise Stop(f"no kill matrix: {record.path}:{record.line}: {record.message}", _USAGE)
                self._take_file(record)
        except (ValueError, GenerationError) as error:
            raise Stop(f"no kill matrix: {error}", _USAGE) from error
        self.cpu["generate"] += environment.own_cpu() - before
        self.info.population = len(self.mutants)
        if not self.mutants and self.prepared.audit is None:
            wanted = f" that match {', '.join(self.settings.mutants)}" if self.settings.mutants else ""
            raise Stop(f"no kill matrix: no mutants{wanted} in {len(chosen)} file(s)", _NOTHING)

    def _take_file(self, record: FileMutants) -> None:
        if record.note:
            self.info.notes.append(f"{record.path}: {record.note}")
        self.hashes[record.path] = record.sha256
        for mutant, build in zip(record.mutants, record.builds, strict=True):
            if not self.settings.mutants or any(
                mutant.key == wanted or fnmatch.fnmatchcase(mutant.key, wanted) for wanted in self.settings.mutants
            ):
                self.mutants.append(mutant)
                self.builds.append(build)

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

    def _extra(self) -> dict[str, list[tuple[str, list[Replacement]]]]:
        """Other plugins' replacements, by file and plugin."""
        implementations = self.prepared.config.hook.pytest_killmatrix_mutants.get_hookimpls()
        extra: dict[str, list[tuple[str, list[Replacement]]]] = {}
        for name in self.prepared.targets.mutated if implementations else ():
            path = self.prepared.targets.files[name]
            try:
                with tokenize.open(path) as file:
                    source = file.read()
            except (OSError, SyntaxError, UnicodeDecodeError):
                continue  # the generator says what is wrong with the file
            arguments: dict[str, str] = {"path": name, "source": source}
            for implementation in implementations:
                given: Any = implementation.function(*[arguments[word] for word in implementation.argnames])
                made = [_replacement(one, implementation.plugin_name) for one in given or ()]
                extra.setdefault(name, []).append((implementation.plugin_name, made))
        return extra

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
        self.needs, self.unsafe = clean.needs, clean.unsafe

    # -- 3. plan ---------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Which tests meet which mutant; made again where the controls say so."""
        prepared = self.prepared
        self.file_tests: dict[str, list[int]] = {}
        for index, item in enumerate(prepared.items):
            self.file_tests.setdefault(item.nodeid.split("::", 1)[0], []).append(index)
        paths = {name: str(path) for name, path in prepared.targets.files.items()}
        self.ways = {
            name: self.static.way(path, self.tests, self.file_tests, self.reach, self.refusals)
            for name, path in paths.items()
        }
        self.plan: list[Planned] = [
            plan_mutant(
                index,
                mutant,
                build,
                self.reach.contexts(paths[mutant.path], mutant),
                self.tests,
                self.file_tests,
                prepared.followers,
                paths[mutant.path] in prepared.loaded,
                self.ways[mutant.path],
                self.not_twice,
            )
            for index, (mutant, build) in enumerate(
                zip(self.mutants[: self.generated], self.builds[: self.generated], strict=True)
            )
        ]
        for index, placed in enumerate(self.variants, self.generated):
            contexts, way = self.reach.anywhere(placed.case.target_path), self.ways[placed.case.target]
            self.plan.append(plan_variant(index, placed, contexts, self.tests, prepared.followers, way, self.not_twice))
        self.subjects = Subjects(
            self.mutants,
            self.builds,
            paths,
            self.hashes,
            {name: encoding_of(path.read_bytes()) for name, path in prepared.targets.files.items()},
            self.needs,
            self.unsafe,
            prepared.wide,
            self.file_tests,
            [item.nodeid for item in prepared.items],
        )

    # -- 4. the sidecar --------------------------------------------------------------------------------------------

    def _store(self, sidecar: Sidecar, files: dict[str, str]) -> int:
        """Open a run, or go on with an interrupted one that was made of exactly the same."""
        root = self.prepared.config.rootpath
        sandbox = Surroundings.of(self.prepared.config).sandbox
        self.info.commit, self.info.dirty = environment.commit_of(root if sandbox is None else sandbox.root)
        self.info.fingerprint = environment.fingerprint(
            {**files, **self.hashes}, self.info.options, (str(name) for name in self.prepared.identities), root
        )
        found = None if self.settings.fresh else sidecar.find_resumable(self.info.fingerprint)
        self.finished: dict[int, Status] = {}
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
        for planned in self.plan:
            if planned.status is not None:
                sidecar.add_reach(run, planned.mutant, planned.reached_by)
                sidecar.set_status(run, planned.mutant, planned.status, planned.reason)
        sidecar.add_tests(run, self.tests)
        self.prepared.written = Written(self.settings.sidecar, run)
        return run

    # -- 5. controls -----------------------------------------------------------------------------------------------

    def _control(self, sidecar: Sidecar, run: int) -> None:
        """The instrument checks itself before it judges."""
        self.narrator.say("controls")
        usable = [index for index, test in enumerate(self.tests) if test.excluded is None]
        controls = Controls(
            self.pool,
            self.builds,
            self.mutants,
            self.subjects.paths,
            self.prepared.loaded,
            self.hashes,
            self._ids,
            self.needs,
            self.ways,
            self.narrator.tick,
        )
        beside = [index for index in usable if index not in self.unsafe]
        controls.run(beside, self.settings.workers, self.plan, self.file_tests)
        result = controls.result
        self.cpu["confirm"], result.cpu = self.cpu["confirm"] + result.cpu, 0.0
        self.unsafe |= result.unsafe
        for index, (why, message) in result.excluded.items():
            self.tests[index].excluded, self.tests[index].message = why, message
        for index in self.unsafe:
            self.tests[index].parallel_safe = False
        self.not_twice = result.not_twice
        self.refusals.update(result.not_reloadable)
        self.code_readers = result.code_readers
        if result.code_readers:
            names = ", ".join(self.tests[index].nodeid for index in sorted(result.code_readers)[:3])
            self.info.notes.append(
                f"{len(result.code_readers)} test(s) look at code objects, where a swapped function shows; "
                f"they have no cells: {names}"
            )
        if result.excluded or result.not_twice or result.not_reloadable:
            self._plan()
            if result.not_reloadable:  # the other way has to prove itself too
                controls.ways = self.ways
                self.refusals.update(controls.again(beside, self.plan, result.not_reloadable, self.file_tests))
                self.not_twice = result.not_twice
                self.cpu["confirm"] += result.cpu
                self._plan()
            for planned in self.plan:
                if planned.status is not None:
                    sidecar.set_status(run, planned.mutant, planned.status, planned.reason)
        self.lean = result.lean
        if not result.lean:
            self.info.notes.append("some tests differ without pytest's full protocol: every cell took the full one")
        self.info.routes = {**result.routes, "subprocess": self._executor_state(result.routes)}
        self.info.noop_kills = [f"{self.tests[test].nodeid}: {why}" for test, why in result.noop_kills.items()]

    def _executor_state(self, routes: dict[str, str]) -> str:
        """What the controls said of children that are fresh interpreters."""
        if self.settings.executor != SUBPROCESS:
            return NOT_EXERCISED
        failed = next((state for state in routes.values() if state.startswith("failed")), None)
        return failed or (OK if OK in routes.values() else NOT_EXERCISED)

    # -- 6. the matrix ---------------------------------------------------------------------------------------------

    def _fill(self, sidecar: Sidecar, run: int) -> None:
        """Run every mutant that needs running, and store each as soon as it is judged."""
        sidecar.add_tests(run, self.tests)
        todo = [planned for planned in self.plan if planned.mutant not in self.finished]
        runnable = [planned for planned in todo if planned.status is None]
        self.narrator.cells(sum(len(planned.tests) for planned in runnable))
        controlled = {self.mutants[planned.mutant].path for planned in self.plan if planned.reload is not None}
        static = {
            planned.mutant: plan_static(planned.mutant, planned.reached_by, self.tests, self.ways[path])
            for planned in self.plan
            if planned.status is None and planned.reload is None and not planned.whole
            for path in [self.mutants[planned.mutant].path]
            if path in controlled
        }
        subjects = replace(self.subjects, static=static, code_readers=self.code_readers)
        matrix = Matrix(
            self.pool,
            subjects,
            self.settings.isolation == "test",
            not self.settings.alone,
            self.lean,
            self._ids,
            forks=not self.executor.collecting,
        )

        def tick() -> None:
            self.narrator.tick()
            now = time.monotonic()
            if now - self._flushed > _FLUSH_EVERY:
                self._flushed = now
                sidecar.flush()

        before = environment.own_cpu()
        try:
            for done in matrix.run(todo, tick, lambda planned: self.narrator.advance(len(planned.tests))):
                _write(sidecar, run, done)
            sidecar.flush()
        finally:
            controller = environment.own_cpu() - before
            self.executor.close()
            for phase, seconds in matrix.cpu.items():
                self.cpu[phase] += seconds
            self.cpu["static"] += self.pool.held_cpu
            self.cpu["swap"] += controller + self.pool.zygote_cpu

    def _note_changes(self, before: dict[str, str]) -> None:
        after = environment.file_hashes(self.prepared.config.rootpath, without=[self.settings.sidecar])
        changed = sorted(name for name in before if after.get(name) != before[name])
        if changed:
            more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
            self.info.notes.append(
                f"files of the project changed during the run: {', '.join(changed[:5])}{more}; "
                "what was judged after the change is not to be trusted"
            )

    # -- 7. the end ------------------------------------------------------------------------------------------------

    def _account(self, sidecar: Sidecar, run: int) -> None:
        self.info.seconds = time.monotonic() - self._started
        self.info.cpu = {**self.cpu, "total": sum(self.cpu.values())}
        sidecar.update_run(run, self.info)

    def _conclude(self, sidecar: Sidecar, run: int) -> int:
        with Reader(self.settings.sidecar, run) as reader:
            judged = reader.score()
            audited = outcome_of(reader)
        failures = unmet(self.settings, judged) if self.settings.generate else []
        self.info.notes.extend(failures)
        sidecar.finish_run(run, self.info)
        broken = audited is Audited.INSTRUMENT
        if broken or self.info.noop_kills or any(state.startswith("failed") for state in self.info.routes.values()):
            return _OUR_FAULT
        if failures or audited is Audited.DEFECTS:
            return _FAILED
        return 0 if judged.detection.denominator or audited is Audited.CLEAN else _NOTHING


def _write(sidecar: Sidecar, run: int, done: Done) -> None:
    sidecar.drop_cells(run, done.mutant)  # those of an interrupted run's half-judged mutant
    sidecar.add_reach(run, done.mutant, done.reached_by)
    for cell in done.cells:
        sidecar.add_cell(run, cell)
    sidecar.set_status(run, done.mutant, done.status, done.reason)


def _replacement(given: Any, plugin: str) -> Replacement:
    if isinstance(given, Replacement):
        return given
    try:
        return Replacement(*given)
    except TypeError:
        raise Stop(
            f"no kill matrix: plugin {plugin} gave {given!r} in pytest_killmatrix_mutants; a replacement is "
            "(operator, line, column, end_line, end_column, text)",
            _USAGE,
        ) from None
