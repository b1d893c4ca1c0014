"""The other side of ``old``: lays the old suite out, starts its process, asks it, and leaves nothing of it behind."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from pytest_killmatrix import options
from pytest_killmatrix.analysis.score import Ratio
from pytest_killmatrix.baseline import tree
from pytest_killmatrix.baseline.fingerprints import Fingerprints
from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.baseline.old import SCREEN, SIDECAR, SPEC, Again, Answer, Collected, Go, Looped, Made, OldSpec
from pytest_killmatrix.baseline.repository import Repository
from pytest_killmatrix.baseline.testside import Project, TestSide
from pytest_killmatrix.executor.fresh import unmeasured
from pytest_killmatrix.sandbox import disposal
from pytest_killmatrix.sandbox.places import Places
from pytest_killmatrix.store.reader import Reader as StoredRun
from pytest_killmatrix.surroundings import Surroundings

_TICK: Final = 0.05
_CODE: Final = "import sys; sys.path.insert(0, sys.argv[4]); from pytest_killmatrix.baseline.old import main; main()"
#: where plugins write what the user asked of this run: their options by destination
_WRITTEN: Final = {
    "basetemp": "--basetemp", "xmlpath": "--junitxml", "log_file": "--log-file", "report_log": "--report-log",
    "htmlpath": "--html", "json_report_file": "--json-report-file",
}  # fmt: skip
_TAKE_A_VALUE: Final = ("-k", "-m", "-c", "-p", "-o", "-n", "-W", "-r")
_PACKAGE: Final = Path(__file__).resolve().parents[2]


class OldSuiteFailed(Exception):
    """The old suite cannot be run; the message is one line and says why."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What the old suite is made of: the ref and its commit, today's project and its test side."""

    ref: str
    repository: Repository
    commit: str
    project: Project
    side: TestSide
    looks: tree.Looks


class OldSuite:
    """The old suite in a tree and a process of its own; ``close`` ends and removes both."""

    alone: ClassVar[bool] = False  # it makes its matrix without being led

    def __init__(self, basis: Basis, config: pytest.Config, sys_path: Sequence[str], tick: Callable[[], None]) -> None:
        self.basis = basis
        self.cpu = 0.0
        self._config = config
        self._sys_path = sys_path
        self._tick = tick
        self._line: Line | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher = 0
        self._hangs = False
        temporary = Path(os.path.realpath(tempfile.gettempdir()))
        if temporary.is_relative_to(os.path.realpath(basis.repository.top)):
            raise OldSuiteFailed(f"the temporary directory {temporary} is inside the repository; set TMPDIR")
        disposal.remove_stale(temporary)
        self.folder = Path(tempfile.mkdtemp(prefix=disposal.PREFIX, dir=temporary))

    def start(self) -> tuple[str, ...]:
        """Lay the tree out and start the process; notes for the report."""
        disposal.sign(self.folder)
        self._watcher = disposal.watch(self.folder)
        self.old = self._lay_out()
        config, basis = self._config, self.basis
        inside = Surroundings.of(config).sandbox
        here = Path(os.path.realpath(config.rootpath))
        root, copy = (here, self.old.root) if inside is not None else (basis.repository.top, self.old.top)
        places = Places(Path(os.path.realpath(root)), copy, Path(os.path.realpath(config.invocation_params.dir)))
        self._start(places)
        return self.old.notes

    def _lay_out(self) -> tree.Old:
        basis = self.basis
        return tree.lay_out(
            basis.repository, basis.commit, basis.project, basis.side, basis.looks, self.folder, self._config.inipath
        )

    def _start(self, places: Places) -> None:
        arguments, selection = self._arguments(places)
        maker = Fingerprints(self.old.project, self.old.side, list(self._config.getini("python_functions")))
        path = [str(places.mapped(Path(entry)) or entry) if entry else entry for entry in self._sys_path]
        # what an editable installation finds in the user's tree without naming a folder is found here first
        more = places.imported_from(self._sys_path, sys.meta_path)
        path += [folder for folder in dict.fromkeys(map(str, more)) if folder not in path]
        spec = OldSpec(path, arguments, str(self.folder), selection, maker, self.alone)
        (self.folder / SPEC).write_bytes(pickle.dumps(spec))
        environ = self._environ(places)
        down, up = os.pipe(), os.pipe()
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        package = places.mapped(_PACKAGE) or _PACKAGE
        places.new_cwd.mkdir(parents=True, exist_ok=True)
        with open(self.folder / SCREEN, "wb") as screen:
            self._process = subprocess.Popen(
                [sys.executable, *flags, "-c", _CODE, str(self.folder), str(down[0]), str(up[1]), str(package)],
                cwd=places.new_cwd,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
                pass_fds=(down[0], up[1]),
                start_new_session=True,
            )
        os.close(down[0])
        os.close(up[1])
        self._line = Line(up[0], down[1])

    def _arguments(self, places: Places) -> tuple[list[str], tuple[str, ...]]:
        """(pytest's arguments in the tree, the node ids that limit the suite)."""
        config = self._config
        asked = [str(word) for word in config.option.file_or_dir or ()]
        words = [str(word) for word in config.invocation_params.args]
        kept = options.files(config)
        rest = places.arguments(_without(words, asked), kept)
        found, selection = [], []
        for word in asked:
            path, colons, node = word.partition("::")
            place = places.mapped(Path(os.path.normpath(places.cwd / path)))
            if place is None:
                continue  # the old suite does not have it
            found.append(str(place))
            name = os.path.relpath(place, self.old.root).replace(os.sep, "/")
            selection.append(f"{name}{colons}{node}" if name != "." else "")
        if asked and not found:
            selection = ["<none>"]
            found = [str(self.old.root)]
        ini = places.mapped(Path(os.path.realpath(config.inipath))) if config.inipath is not None else None
        own = [
            "--kill-matrix",
            "--continue-on-collection-errors",  # one such file is no reason to do without the others
            f"--kill-matrix-db={self.folder / SIDECAR}",
            f"--rootdir={self.old.root}",
            "-o",
            f"cache_dir={self.folder / 'cache'}",
            *(["-c", str(ini)] if ini is not None else []),
            *self._elsewhere(),
        ]
        return [*rest, *own, *found], tuple(selection) if "" not in selection else ()

    def _elsewhere(self) -> Iterator[str]:
        """What keeps other plugins of this process from the files that the user wants of the run."""
        config: Any = self._config
        for name, flag in _WRITTEN.items():
            if getattr(config.option, name, None):
                yield f"{flag}={self.folder / name}"
        if config.getini("log_file") and not config.option.log_file:
            yield f"--log-file={self.folder / 'log_file'}"
        if config.pluginmanager.hasplugin("pytest_cov"):
            yield "--no-cov"

    def _environ(self, places: Places) -> dict[str, str]:
        from pytest_killmatrix.sandbox.entering import environ_in

        environ = unmeasured(environ_in(places, Surroundings.of(self._config).environ))
        environ[options.SANDBOX] = json.dumps([str(places.root), str(self.folder), None])
        return environ

    # -- the conversation ------------------------------------------------------------------------------------------

    def collected(self, patience: float) -> Collected:
        """The old suite's tests, collected within so many seconds."""
        found: Collected = self._hear("cannot be collected with today's source", patience)
        return found

    def go(self, go: Go | None) -> None:
        """Have it run these tests against these mutants, or leave."""
        self._say(go)
        if go is None:
            self._end()

    def made(self, patience: float) -> Path:
        """Wait for its matrix; the sidecar that has it. ``patience`` are the seconds that the suite may take clean."""
        answer = self._hear("did not come to their end", patience)
        if isinstance(answer, Looped):
            answer = self._hear("could not be finished")
        assert isinstance(answer, Made)
        return self.folder / SIDECAR

    def again(self, cells: Mapping[str, Sequence[str]]) -> list[Answer]:
        """Run these cells once more, each alone: node ids by mutant."""
        self._say(Again(tuple((key, tuple(tests)) for key, tests in cells.items())))
        answers: list[Answer] = self._hear("did not answer")
        return answers

    def at_ref(self) -> RefSuite:
        """The same tests on the source that they were written for."""
        return RefSuite(self.basis, self._config, self._sys_path, self._tick)

    def go_home(self) -> None:
        """There is nothing more to ask."""
        if self._process is not None:
            self._say(None)
            self._end()

    def _say(self, message: Any) -> None:
        assert self._line is not None
        try:
            self._line.say(message)
        except LineBroken as error:
            raise OldSuiteFailed(f"the old suite ended early: {self._last_words()}") from error

    def _hear(self, what: str, patience: float | None = None) -> Any:
        assert self._line is not None
        until = None if patience is None else time.monotonic() + patience
        try:
            while not self._line.heard(_TICK):
                self._tick()
                if until is not None and time.monotonic() > until:
                    self._hangs = True
                    raise OldSuiteFailed(f"the tests of {self.basis.ref} {what} within {patience:.0f} s")
                if self._process is not None and self._ended():
                    raise LineBroken
        except LineBroken as error:
            raise OldSuiteFailed(f"the tests of {self.basis.ref} {what}: {self._last_words()}") from error
        return self._line.next()

    def _ended(self) -> bool:
        assert self._process is not None
        found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return found is not None and self._line is not None and not self._line.heard(0)

    def _last_words(self) -> str:
        path = self.folder / SCREEN
        text = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip(" =-")]
        own = [line.removeprefix("killmatrix: ") for line in lines if line.startswith("killmatrix: ")]
        errors = [line for line in lines if line.startswith(("E ", "ERROR"))]
        return " | ".join(own[-1:] or errors[-2:] or lines[-2:])[:300] or "it printed nothing"

    # -- the end ---------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Let the process leave by itself for a moment, then make it."""
        process = self._process
        if process is None:
            return
        for _ in range(0 if self._hangs else 200):
            pid, _, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                self.cpu = usage.ru_utime + usage.ru_stime
                process.returncode = 0
                break
            self._tick()
            time.sleep(_TICK)
        else:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            process.wait()
        self._process = None

    def close(self) -> None:
        """End the process, remove the tree."""
        if self._line is not None:
            with contextlib.suppress(LineBroken):
                self._line.say(None)
            self._line.close()
            self._line = None
        self._end()
        disposal.remove(self.folder)
        if self._watcher:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._watcher, signal.SIGKILL)


class RefSuite(OldSuite):
    """The project as it was at the ref, its tests on its own source."""

    alone = True

    def _lay_out(self) -> tree.Old:
        return tree.whole(self.basis.repository, self.basis.commit, self.basis.looks, self.folder)

    def score(self) -> Ratio:
        """What its tests assert of its mutants: killed of killed and survived."""
        made: Made = self._hear("could not be scored on their own source")
        with StoredRun(self.folder / SIDECAR, made.run) as reader:
            self.cpu = reader.info.cpu.get("total", 0.0)
            return reader.score().assertion


def _without(words: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The options of a command line: its words without the files and folders that were asked for.

    Where a word stands there twice, as in ``-k tests tests``, the one after an option is rather that option's value.
    """
    left = [word for word in words if word != "--"]

    def is_value(index: int) -> int:
        before = left[index - 1] if index else ""
        return (before in _TAKE_A_VALUE) + before.startswith("-")

    for word in asked:
        places = [index for index, given in enumerate(left) if given == word]
        if places:
            del left[min(places, key=is_value)]
    return left
