"""Child interpreters of a test: the mutant is live there too, and what they execute is measured.

A test that starts Python passes its environment on; ``announce`` puts into it what ``startup/sitecustomize.py`` then
finds. Where a test clears the environment, or starts Python isolated, its child is not seen, neither in the clean run
nor under a mutant. Standard library only: the interpreter may belong to another environment.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final, NoReturn

VARIABLE: Final = "PYTEST_KILLMATRIX_CHILD"
_STARTUP: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
UNOBSERVED: Final = 2  # the byte of a slot's block that says what a test did with the mutated file, past the mutant
AS_SCRIPT: Final = 1
AS_TEXT: Final = 2


def announce(settings: dict[str, Any] | None) -> None:
    """Tell the interpreters that this process starts what to do; None for nothing."""
    import json

    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != _STARTUP]
    if settings is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = json.dumps(settings)
        paths.insert(0, _STARTUP)
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)


def mutant(path: str, start: int, end: int, text: bytes, sha256: str, whole: bool, slot: str) -> dict[str, Any]:
    """Settings that make a mutant live; ``slot`` is the file behind the slot's shared block."""
    return {"mutant": [path, start, end, text.hex(), sha256, whole], "slot": slot}


def reach(files: str, directory: str, context: str | None) -> dict[str, Any]:
    """Settings that measure reach: ``files`` names a list of the files to measure; data goes to ``directory``.

    The context is ``context``, or what the file ``context`` in ``directory`` says when the interpreter starts.
    """
    return {"reach": [files, directory, context]}


def start(text: str) -> None:
    """The child's side; a fault of ours must not be one of the test's."""
    import json

    settings = json.loads(text)
    try:
        if "mutant" in settings:
            _start_mutant(settings["mutant"], settings["slot"])
        elif "reach" in settings:
            _start_reach(*settings["reach"])
    except (OSError, ImportError, ValueError):
        return


def _start_mutant(splice: list[Any], slot: str) -> None:
    import mmap

    path, begin, end, text, sha256, whole = splice
    with open(slot, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 64)
    script = _script(sys.orig_argv)
    if script is not None and os.path.realpath(script) == path:
        memory[UNOBSERVED] = AS_SCRIPT  # the interpreter compiles a script in C, past every hook
        return
    late = _sibling("late")
    marking = _Lazy("marking")
    late.install_mutant(path, begin, end, bytes.fromhex(text), sha256, whole, memory.__setitem__, marking)


def _start_reach(files: str, directory: str, context: str | None) -> None:
    import atexit
    import signal

    import coverage

    with open(files, encoding="utf-8") as file:
        include = file.read().split("\0")
    if context is None:
        with open(os.path.join(directory, "context"), encoding="utf-8") as file:
            context = file.read()
    cover = coverage.Coverage(
        data_file=os.path.join(directory, "child"),
        data_suffix=True,
        config_file=False,
        branch=True,
        include=include,
        context=context,
        messages=False,
        check_preimported=False,
    )
    cover.set_option("run:core", "ctrace")
    cover.set_option("run:disable_warnings", ["no-data-collected", "module-not-measured", "already-imported"])

    leave = os._exit

    def finish() -> None:
        cover.stop()
        cover.save()

    def finish_and_leave(status: int) -> NoReturn:
        finish()
        leave(status)

    def finish_and_die(number: int, _: object) -> None:
        finish()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    atexit.register(finish)
    os._exit = finish_and_leave  # how workers of a pool end
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, finish_and_die)  # how a pool, or a test, ends them
    cover.start()


def _script(command: list[str]) -> str | None:
    """The script in a Python command line, if it names one."""
    arguments = iter(command[1:])
    for word in arguments:
        if word in ("-c", "-m") or word == "-":
            return None
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(arguments, None)
            continue
        if not word.startswith("-"):
            return word
        if word in ("-W", "-X"):
            next(arguments, None)
        elif word[1:2] in ("c", "m") or (len(word) > 2 and word[-1] in "cm" and word[1] not in "WX"):
            return None
    return None


def _sibling(name: str) -> Any:
    import importlib.util

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_killmatrix_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and typing look their module up
    spec.loader.exec_module(module)
    return module


class _Lazy:
    """A sibling module that is loaded when it is needed first: most children never load a target."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(_sibling(self._name), attribute)
