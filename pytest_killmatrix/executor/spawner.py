"""The server that starts interpreters: small, single-threaded, and nothing of the session is in it.

``python -I -S -c "..." DIRECTORY CONTROLLER DESCRIPTOR PACKAGE SLOTS``: the run's directory, the controller's process
number, the inherited end of its control connection, where we are found, and how many slots there are.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Final

from pytest_killmatrix.child.scratch import Scratch
from pytest_killmatrix.executor.fresh import Start
from pytest_killmatrix.executor.protocol import Task
from pytest_killmatrix.executor.server import LAST_WORDS, Server

START: Final = "start"  # in the run's directory: how interpreters are started
CODE: Final = "import sys; sys.path.insert(0, sys.argv[4]); from pytest_killmatrix.executor.spawner import main; main()"
#: what Python ignores from its start on, and a program that it starts should not
_RESTORED: Final = [
    number
    for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ")
    if (number := getattr(signal, name, None)) is not None
]  # fmt: skip


def main() -> None:
    """Entry point of the spawner."""
    directory, controller, descriptor = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.set_inheritable(descriptor, False)
    start: Start = pickle.loads((directory / START).read_bytes())

    def spawn(task: Task, slot: int) -> int:
        words = start.words(task, slot)
        try:
            return os.posix_spawn(words[0], words, start.environ, setpgroup=0, setsigdef=_RESTORED)
        except OSError as error:
            (directory / LAST_WORDS).write_text(f"{words[0]}: {error.strerror}", encoding="utf-8")
            raise

    scratch = Scratch(directory, None)
    scratch.prepare(int(sys.argv[5]))
    Server(
        socket.socket(fileno=descriptor),
        controller,
        spawn,
        orphaned=lambda: shutil.rmtree(directory, ignore_errors=True),
        ended=scratch.empty,
    ).serve()
