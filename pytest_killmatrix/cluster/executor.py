"""The executor of a cluster: its workers make the matrix, and children of this machine all the rest."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from pytest_killmatrix import patterns
from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.child import hygiene
from pytest_killmatrix.clean.rerun import arguments
from pytest_killmatrix.cluster import broker, matter
from pytest_killmatrix.cluster.messages import Snapshot, Terms
from pytest_killmatrix.cluster.pool import ClusterPool
from pytest_killmatrix.cluster.proofs import Proof, chosen
from pytest_killmatrix.environment import digest_of
from pytest_killmatrix.executor.base import Executor, Runs
from pytest_killmatrix.executor.fresh import PACKAGE, unmeasured
from pytest_killmatrix.executor.pool import Limits, Pool, TaskResult
from pytest_killmatrix.prepared import Prepared
from pytest_killmatrix.sandbox.places import Places
from pytest_killmatrix.surroundings import Surroundings

_PATIENCE: Final = 40.0  # seconds for the broker to end what is on the workers
_COLLECTED_WITHIN: Final = (60.0, 30.0)  # seconds, and times what collecting took here


class Clustered(Executor):
    """``local`` makes the children of this machine; the cluster is that of the scheduler at ``address``."""

    def __init__(self, local: Executor, address: str, at_once: int, snapshot: Snapshot) -> None:
        super().__init__()
        self._local = local
        self.collecting = local.collecting
        self.at_once = at_once
        self._address = address
        self._snapshot = snapshot
        self._broker: subprocess.Popen[bytes] | None = None
        self._line: Line | None = None
        self._pool: ClusterPool | None = None

    @property
    def temporary(self) -> Path:  # type: ignore[override]
        """The run's directory."""
        return self._local.temporary

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """Where the matrix was made."""
        return self._pool.notes if self._pool is not None else ()

    def begin(self) -> None:
        """Start the broker too: it connects while the clean runs go on."""
        self._local.begin()
        our_reading, its_writing = os.pipe()
        its_reading, our_writing = os.pipe()
        self._line = Line(our_reading, our_writing)
        words = [sys.executable, "-c", broker.CODE, PACKAGE, self._address, str(its_reading), str(its_writing)]
        try:
            self._broker = subprocess.Popen(
                words,
                env=unmeasured(self._snapshot.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[its_reading, its_writing],
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(its_reading)
            os.close(its_writing)

    def pool(self, limits: Limits) -> Pool:
        """That of this machine, for the controls."""
        return self._local.pool(limits)

    def reach_pool(self, limits: Limits) -> Pool:
        """That of this machine."""
        return self._local.reach_pool(limits)

    def matrix_pool(self, pool: Pool, proofs: Sequence[TaskResult], usable: Collection[int], tests: int) -> Runs:
        """The cluster's workers, each of which has to say first what the controls said here."""
        assert self._line is not None
        limits = pool.limits
        terms = Terms(
            [limits.budget(test) for test in range(tests)],
            [limits.clean(test) for test in range(tests)],
            limits.collect,
            limits.memory,
            pool.narrow,
            patterns.known(),
        )
        wanted = chosen(map(Proof.of, proofs), usable)
        self._pool = ClusterPool(self._line, self._address, self._snapshot, terms, wanted)
        return self._pool

    def last_words(self) -> str | None:
        """Those of this machine's children."""
        return self._local.last_words()

    def close(self) -> None:
        """End what is on the workers, and what is here."""
        try:
            self._release()
        finally:
            self._local.close()

    def _release(self) -> None:
        line, process = self._line, self._broker
        self._line = self._broker = None
        if line is not None:
            with contextlib.suppress(LineBroken, OSError):
                line.say(None)
            line.close()
        if process is not None:
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def snapshot(prepared: Prepared, files: Sequence[str], *, forks: bool) -> Snapshot:
    """The session as it was collected; while no test has run, since tests may write."""
    config, settings = prepared.config, prepared.settings
    around, root = Surroundings.of(config), Path(os.path.realpath(config.rootpath))
    cwd = Path(os.path.realpath(config.invocation_params.dir))
    inside = f"{root}{os.sep}"
    modules = {
        name: os.path.realpath(origin).removeprefix(inside)
        for name, module in prepared.modules.items()
        if isinstance(origin := getattr(module, "__file__", None), str)
        and os.path.realpath(origin).startswith(inside)
        and f"{os.sep}site-packages{os.sep}" not in origin
    }
    read = {*modules.values(), *(file.removeprefix(inside) for file in files if file.startswith(inside))}
    read.update(nodeid.partition("::")[0] for nodeid in (item.nodeid for item in prepared.items))
    if config.inipath is not None and str(config.inipath).startswith(inside):
        read.add(str(config.inipath).removeprefix(inside))
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    low, times = _COLLECTED_WITHIN
    return Snapshot(
        key=f"killmatrix-{uuid.uuid4().hex}",
        root=str(root),
        cwd=str(cwd),
        arguments=tuple(arguments(config)),
        flags=tuple(flags),
        environ=dict(around.environ),
        folders=tuple(folders(root, cwd, prepared.sys_path)),
        manifest={name: digest_of(root / name) for name in sorted(read) if (root / name).is_file()},
        modules=modules,
        order=prepared.identities,
        names=[item.nodeid for item in prepared.items],
        files=list(files),
        random=hygiene.save_random(),
        matter=matter.listed(matter.plugins(), matter.loaded(prepared.modules, root)),
        forks=forks,
        unpack=settings.sandbox == "copy",
        seconds=low + times * prepared.collected_in,
    )


def folders(root: Path, cwd: Path, path: Sequence[str]) -> list[str]:
    """The parts of a ``sys.path`` in the project, with what editable installations add; relative to ``root``."""
    places = Places(root, root, cwd)
    absolute = [str(cwd / text) if not os.path.isabs(text) else text for text in path]
    found = (os.path.relpath(place, root) for place in places.imported_from(absolute, sys.meta_path))
    return [name for name in dict.fromkeys(found) if "site-packages" not in Path(name).parts]
