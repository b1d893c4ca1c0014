"""A variants file, read in a process of its own: YAML stays out of the one that runs tests."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

from pytest_killmatrix.executor.fresh import unmeasured
from pytest_killmatrix.oracle.model import Audit, VariantsError

_PROGRAM = (
    "import sys, pickle; given = pickle.load(sys.stdin.buffer); "
    "sys.path.extend(path for path in given[2] if path not in sys.path); "
    "from pytest_killmatrix.oracle.fetching import main; main(given[0], given[1])"
)


def fetch(path: Path, root: Path) -> Audit:
    """The variants file at ``path``, checked; VariantsError says what is wrong with it."""
    given = pickle.dumps((str(path), str(root), [place for place in sys.path if place]))
    done = subprocess.run(
        [sys.executable, "-I", "-c", _PROGRAM],
        input=given,
        capture_output=True,
        check=False,
        env=unmeasured(os.environ),
    )
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise VariantsError([f"{path.name}: could not be read: {lines[-1] if lines else 'no message'}"])
    answer = pickle.loads(done.stdout)
    if isinstance(answer, VariantsError):
        raise answer
    assert isinstance(answer, Audit)
    return answer


def main(path: str, root: str) -> None:
    """The process itself: an ``Audit`` or a ``VariantsError``, pickled, to standard output."""
    from pytest_killmatrix.oracle.reading import read

    answer: Audit | VariantsError
    try:
        answer = read(Path(path), Path(root))
    except VariantsError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


def fetch_for_run(path: Path, root: Path) -> tuple[Audit | None, str | None]:
    """The audit, or in one line why there is none."""
    if not path.is_file():
        return None, f"--mutation-variants={path}: no such file; give the YAML file with the variants"
    try:
        return fetch(path, root), None
    except VariantsError as error:
        more = len(error.problems) - 1
        rest = f" (and {more} more: killmatrix variants check {path.name})" if more else ""
        return None, f"{error.problems[0]}{rest}"
