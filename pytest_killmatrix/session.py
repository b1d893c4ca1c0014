"""One run between pytest's hooks: prepare before the suite, make the matrix after it, show it in the summary."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_killmatrix import environment, options, targets
from pytest_killmatrix.child.recollect import identities
from pytest_killmatrix.clean.outcomes import OutcomeLog
from pytest_killmatrix.importers import loaded_modules
from pytest_killmatrix.oracle.model import Audit
from pytest_killmatrix.prepared import Prepared, Stop, followers, is_python_test, loaded_files, uses_wide_fixture
from pytest_killmatrix.report.errors import BEGINNINGS, file_problem
from pytest_killmatrix.rewritten import Rewritten
from pytest_killmatrix.settings import read as read_settings
from pytest_killmatrix.store.place import place_problem
from pytest_killmatrix.surroundings import Surroundings

if TYPE_CHECKING:
    from pytest_killmatrix.baseline.old import Lead
    from pytest_killmatrix.baseline.repository import Repository
    from pytest_killmatrix.executor.base import Executor
    from pytest_killmatrix.executor.choice import Choice

_INTERRUPTED: Final = 2
_OUR_FAULT: Final = 3
_USAGE: Final = 4
_NOTHING: Final = 5


class KillMatrix:
    """One run's state; the plugin's hooks call its methods."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = read_settings(config)
        self.outcomes = OutcomeLog()
        self._began, self._began_cpu = time.monotonic(), environment.own_cpu()
        self._sys_path = list(sys.path)
        self._uncollectable: list[tuple[str, str]] = []
        self._executor: Executor | None = None
        self._prepared: Prepared | None = None
        self._loop_ended = False
        self._message: str | None = None
        self._asked_not_to = False  # by an option of pytest's: then its exit status is the answer
        self._cpu_before_loop = 0.0
        self._at_once = 0  # children on the cluster, where there is one
        self._lead: Lead | None = config.pluginmanager.get_plugin(options.OLD_SUITE)
        if self._lead is not None:
            self.settings = self._lead.adapt(self.settings)
        self._ref: tuple[Repository, str] | None = None
        self._audit: Audit | None = None
        self._check_input()
        self._undistribute()

    def _check_input(self) -> None:
        """What is wrong with the options, before the suite runs rather than after it."""
        settings = self.settings
        problem = place_problem(settings.sidecar)
        taken = {settings.sidecar: "--kill-matrix-db"}
        for name, option, path in settings.reports():
            if problem is None and path in taken:
                problem = f"{option} and {taken[path]} both name {path}; give each its own file"
            problem = problem or file_problem(path, option, BEGINNINGS[name])
            taken[path] = option
        if problem is None and settings.equivalents is not None:
            from pytest_killmatrix.equivalents import EquivalentsError, read

            try:
                read(settings.equivalents)
            except EquivalentsError as error:
                problem = f"--mutation-equivalents: {error}"
        if problem is None and settings.scheduler is not None:
            from pytest_killmatrix.cluster.checking import ClusterProblem, check

            try:
                self._at_once = check(settings.scheduler, Surroundings.of(self.config).environ)
            except ClusterProblem as error:
                problem = f"--kill-matrix-executor=dask: {error}"
        if problem is None and settings.operators:
            from pytest_killmatrix.generate import GenerationError, check_operators

            try:
                check_operators(settings.operators)
            except (ValueError, GenerationError) as error:
                problem = str(error)
        if problem is None and settings.variants is not None:
            from pytest_killmatrix.oracle.fetching import fetch_for_run

            sandbox = Surroundings.of(self.config).sandbox
            tree = None if sandbox is None else sandbox.root
            self._audit, problem = fetch_for_run(settings.variants, self.config.rootpath, tree)
        if problem is not None:
            raise pytest.UsageError(f"killmatrix: {problem}")
        if settings.baseline is not None:
            from pytest_killmatrix.baseline.beginning import resolve

            self._ref = resolve(self.config, settings.baseline)

    def _undistribute(self) -> None:
        """With pytest-xdist's ``-n N`` the children are ours; its own workers would run each test elsewhere."""
        option: Any = self.config.option
        if getattr(option, "numprocesses", None) is not None or getattr(option, "dist", "no") != "no":
            option.numprocesses, option.dist, option.tx = None, "no", []

    # -- around pytest's loop --------------------------------------------------------------------------------------

    def before_loop(self, session: pytest.Session) -> None:
        """Get ready to make children while no test has run; where that cannot be, remember why."""
        self._refuse_strangers()
        reason = self._why_not(session)
        if reason is None:
            from pytest_killmatrix.executor.choice import choose

            modules = {item.path for item in session.items if is_python_test(item)}
            chosen = targets.Targets({}, "nothing but authored variants")
            if self.settings.generate:
                chosen = targets.choose(self.config, self.settings.mutate, modules)
            if self._audit is not None:
                chosen = self._with_variants(session, chosen, modules)
            choice = choose(self.settings.executor)
            reason = choice.refused if chosen.files else "nothing to mutate; name files with --mutate=PATH"
        if reason is not None:
            self._message = f"no kill matrix: {reason}"
            return
        self.settings = replace(self.settings, executor=choice.executor)
        items = list(session.items)
        files = [str(path) for path in chosen.files.values()]
        self._prepared = Prepared(
            config=self.config,
            settings=self.settings,
            targets=chosen,
            items=items,
            identities=identities(items),
            loaded=loaded_files(files),
            followers=followers(items),
            wide=frozenset(index for index, item in enumerate(items) if uses_wide_fixture(item)),
            sys_path=self._sys_path,
            began=time.time() - (time.monotonic() - self._began),
            collected_in=time.monotonic() - self._began,
            collected_cpu=environment.own_cpu() - self._began_cpu,
            outcomes=self.outcomes,
            uncollectable=self._uncollectable,
            modules=loaded_modules(),
            changed=Surroundings.of(self.config).changed(),
            executor_because=choice.why,
            lead=self._lead,
            audit=self._audit,
        )
        if self._lead is None:
            from pytest_killmatrix.baseline.today import look

            self._prepared.today = look(self.config, self.settings, chosen, items)
            if self._ref is not None:
                from pytest_killmatrix.baseline.beginning import begin

                self._prepared.basis = begin(self.settings, self._ref, self._prepared.today)
        Rewritten.of(self.config).close()
        self._executor = self._make_executor(session, choice, files)
        self._cpu_before_loop = environment.own_cpu()

    def _with_variants(self, session: pytest.Session, chosen: targets.Targets, modules: set[Path]) -> targets.Targets:
        from pytest_killmatrix.oracle.subjects import targets_of

        assert self._audit is not None
        try:
            return chosen.with_authored(targets_of(self._audit, session.items, modules))
        except ValueError as error:
            raise pytest.UsageError(f"killmatrix: {error}") from None

    def _make_executor(self, session: pytest.Session, choice: Choice, files: list[str]) -> Executor:
        local = self._make_local(session, choice, files)
        if self.settings.scheduler is None:
            return local
        from pytest_killmatrix.cluster.executor import Clustered, snapshot

        assert self._prepared is not None
        held = snapshot(self._prepared, files, forks=not local.collecting)
        return Clustered(local, self.settings.scheduler, self._at_once, held)

    def _make_local(self, session: pytest.Session, choice: Choice, files: list[str]) -> Executor:
        # not before it is known which: one imports what platforms without fork lack
        if choice.executor == options.FORK:
            from pytest_killmatrix.executor.launch import launch

            return launch(session, files, self.settings.workers, self._shorten, self._sys_path)
        from pytest_killmatrix.child.anew import describe
        from pytest_killmatrix.clean.rerun import arguments
        from pytest_killmatrix.executor.spawn import Spawned

        environ = Surroundings.of(self.config).environ
        anew = describe(self.config, arguments(self.config), session.items, files, self._sys_path, environ)
        return Spawned(anew, self.settings.workers, self.config.invocation_params.dir)

    def _refuse_strangers(self) -> None:
        """In a copy of the project nothing may be loaded from the project itself."""
        sandbox = Surroundings.of(self.config).sandbox
        stranger = sandbox.stranger(list(sys.modules.values())) if sandbox is not None else None
        if stranger is not None and self._lead is not None:
            raise pytest.UsageError(
                f"killmatrix: the old suite would import {stranger}, and not today's source beside it; install the "
                "project so that its folder is on the path (pip install -e . --config-settings editable_mode=compat), "
                "or name that in pytest's pythonpath option"
            )
        if stranger is not None:
            raise pytest.UsageError(
                f"--kill-matrix-sandbox=copy: the tests import {stranger}, and not its copy; install the project so "
                "that its folder is on the path (pip install -e . --config-settings editable_mode=compat), or name "
                "that in pytest's pythonpath option"
            )

    def after_loop(self) -> None:
        """The loop came to its end by itself."""
        self._loop_ended = True
        if self._prepared is not None:
            self._prepared.loop_cpu = environment.own_cpu() - self._cpu_before_loop

    def _why_not(self, session: pytest.Session) -> str | None:
        option: Any = self.config.option
        for name in ("collectonly", "setupplan", "setuponly", "usepdb", "trace"):
            if getattr(option, name, False):
                self._asked_not_to = True
                return f"the run is one with --{_FLAGS[name]}"
        if session.testsfailed and not option.continue_on_collection_errors:
            return "some test files cannot be collected (--continue-on-collection-errors goes on without them)"
        if not session.items:
            return "no tests were collected"
        for name in ("snapshot_update", "update_snapshots", "force_regen"):
            if getattr(option, name, None):
                return "snapshots are being updated, and mutants must not write them"
        return None

    def _shorten(self, filename: str) -> str:
        root = str(self.config.rootpath) + os.sep
        return filename.removeprefix(root).replace(os.sep, "/") if filename.startswith(root) else filename

    def note_uncollectable(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be collected; the run may go on without it."""
        if report.failed:
            self._uncollectable.append((report.nodeid, str(report.longrepr).strip().rsplit("\n", 1)[-1][:200]))

    # -- after the suite -------------------------------------------------------------------------------------------

    def finish(self, session: pytest.Session, exitstatus: int) -> int:
        """Make the matrix; returns the exit status of the whole run."""
        if self._prepared is None or self._executor is None:
            return _NOTHING if self._message is not None and exitstatus == 0 and not self._asked_not_to else exitstatus
        if not self._loop_ended:
            self._message = "no kill matrix: the suite did not run to its end"
            return exitstatus
        from pytest_killmatrix.executor.pool import PoolBroken
        from pytest_killmatrix.making import Maker

        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        before = signal.signal(signal.SIGTERM, _raise_interrupt) if _in_main_thread() else None
        try:
            self._executor.begin()
            Rewritten.of(self.config).save(self._executor.temporary)
            own = Maker(self._prepared, self._executor, terminal).make()
        except Stop as stop:
            self._message, own = str(stop), stop.status
        except KeyboardInterrupt:
            self._message = "interrupted: what was finished is kept, the same command goes on"
            own = _INTERRUPTED
        except PoolBroken as error:
            words = self._executor.last_words() if self._executor is not None else None
            reason = f"{error} ({words})" if words else str(error)
            self._message, own = f"{reason}; what was finished is kept, the same command goes on", _OUR_FAULT
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)
            self.close()
        if not self._write_files():
            own = max(own, _USAGE)
        if terminal is None and self._message is not None:
            print(f"killmatrix: {self._message}", file=sys.stderr)
        return max(exitstatus, own)

    def _write_files(self) -> bool:
        from pytest_killmatrix.report.screen import write_files

        written = self._prepared.written if self._prepared is not None else None
        problem = write_files(self.settings, written, self._root()) if written is not None else None
        if problem is not None:
            self._message = f"{self._message}; {problem}" if self._message else problem
        return problem is None

    def _root(self) -> Path:
        """The project's directory, also where the run went on in a copy of it."""
        sandbox = Surroundings.of(self.config).sandbox
        return self.config.rootpath if sandbox is None else Path(sandbox.root)

    def summarize(self, terminal: Any) -> None:
        """Print the report, or why there is none."""
        if self._prepared is not None and self._prepared.written is not None:
            from pytest_killmatrix.report.screen import show

            problem = show(self.config, terminal, self.settings, self._prepared.written)
            self._message = self._message or problem
        if self._prepared is not None and self._prepared.projection is not None:
            from pytest_killmatrix.report.projected import projected_lines

            terminal.section("kill matrix plan", sep="=")
            for line in projected_lines(self._prepared.projection):
                terminal.write_line(line)
        if self._message is not None:
            terminal.ensure_newline()
            terminal.write_line(f"killmatrix: {self._message}", red=True)

    def close(self) -> None:
        """End our processes, remove our files."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None


_FLAGS: Final = {
    "collectonly": "collect-only",
    "setuponly": "setup-only",
    "setupplan": "setup-plan",
    "usepdb": "pdb",
    "trace": "trace",
}


def _raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _in_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()
