"""Notices that a test, or what it calls, reads the source of the mutated file: it sees the text without the mutant.

By an audit hook, which stays as long as the process: one a child, and a child ends with its task. Opening the file to
import it, to measure it or to show a traceback is no reading.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

_FRAMES: Final = 12  # of the innermost: who opened the file, through which helpers
#: who opens source files without the tests' knowing, by the end of their own files' names
_HARMLESS: Final = tuple(
    name.replace("/", os.sep)
    for name in (
        "/traceback.py", "/warnings.py", "/_pytest/_code/code.py", "/_pytest/_code/source.py",
        "/_pytest/assertion/rewrite.py", "/coverage/python.py", "/coverage/parser.py",
        "/hypothesis/internal/reflection.py", "/activation/late.py",
    )
)  # fmt: skip

#: loads code, to which ``late`` gives the mutant; looks whether a path is an archive
_LOADERS: Final = frozenset({"get_code", "_get_code_from_file", "_read_directory"})


def watch(path: str, note: Callable[[], None]) -> None:
    """From now on call ``note`` when the file at ``path`` (resolved) is opened by somebody who uses its text."""
    name = os.path.basename(path)
    writing, exact = os.O_WRONLY, os.path.realpath
    frame_of, names = sys._getframe, (str, bytes)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or len(arguments) != 3 or type(arguments[0]) not in names:
            return
        candidate = os.fsdecode(arguments[0])
        is_read = candidate.endswith(name) and arguments[2] & writing == 0 and exact(candidate) == path
        if is_read and not is_harmless(frame_of(1)):
            note()

    sys.addaudithook(hook)


def forget(path: str) -> None:
    """Drop what ``linecache`` keeps of a file, so that the next who asks for its lines opens it."""
    linecache.cache.pop(path, None)


def is_harmless(frame: FrameType | None) -> bool:
    """Whether what opens a source file in this frame is no part of a test."""
    for _ in range(_FRAMES):
        if frame is None:
            return False
        code = frame.f_code
        if code.co_filename.endswith(_HARMLESS):
            return True
        if code.co_name in _LOADERS and (
            code.co_filename.startswith("<frozen ") or code.co_filename.endswith("runpy.py")
        ):
            return True
        frame = frame.f_back
    return False
