"""How a fresh interpreter that does one task is started: its command, its environment, and how it gets the task.

Its main program is ``child.anew``. Light, because the spawner lives on it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_killmatrix.executor.protocol import Task

SESSION: Final = "anew"  # in the run's directory: what all of them are told
PACKAGE: Final = str(Path(__file__).resolve().parents[2])
_CODE: Final = "import sys; sys.path.insert(0, sys.argv[2]); from pytest_killmatrix.child.anew import main; main()"
_SEED: Final = "PYTHONHASHSEED"


@dataclass(frozen=True, slots=True)
class Order:
    """A task, and the slot that takes what comes of it."""

    task: Task
    slot: int


@dataclass(frozen=True, slots=True)
class Start:
    """What starts one: the interpreter with its options, and the environment."""

    command: tuple[str, ...]
    environ: dict[str, str]
    temporary: str

    def words(self, task: Task, slot: int) -> list[str]:
        """The whole command line for a task, which is left where the interpreter will find it."""
        path = Path(self.temporary) / f"task-{task.id}-{slot}"
        path.write_bytes(pickle.dumps(Order(task, slot)))
        return [*self.command, "-c", _CODE, str(path), PACKAGE]


def unmeasured(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what has coverage.py measure every interpreter: those of ours are none of the user's."""
    return {name: value for name, value in environ.items() if not name.startswith(("COVERAGE_PROCESS", "COV_CORE"))}


def start_of(environ: Mapping[str, str], temporary: Path) -> Start:
    """For a session that was started in this environment: not what imports have made of it, which they will again.

    Where no hash seed is set, all get the same one, or no two of them would run the same program.
    """
    taken = unmeasured(environ)
    taken.setdefault(_SEED, "0")
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return Start((sys.executable, *flags), taken, str(temporary))


def forget_seed(environ: Mapping[str, str]) -> None:
    """In the interpreter: what tests find in the environment is what the session was started in."""
    if _SEED not in environ:
        os.environ.pop(_SEED, None)
