"""A variants file, read in a process of its own: YAML stays out of the one that runs tests."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from pytest_killmatrix.executor.fresh import unmeasured
from pytest_killmatrix.oracle.model import Audit, Kind, VariantsError

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


def fetch_for_run(path: Path, root: Path, tree: Path | None = None) -> tuple[Audit | None, str | None]:
    """The audit, or in one line why there is none.

    Where ``root`` is a copy, ``tree`` is what it was made of: there the files are as their owner has them, whatever
    was put in their place in the copy.
    """
    if not path.is_file():
        return None, f"--mutation-variants={path}: no such file; give the YAML file with the variants"
    try:
        if tree is None:
            audit = fetch(path, root)
        else:
            original = tree / path.relative_to(root) if path.is_relative_to(root) else path
            audit = _moved(fetch(original, tree), tree, root)
    except VariantsError as error:
        more = len(error.problems) - 1
        rest = f" (and {more} more: killmatrix variants check {path.name})" if more else ""
        return None, f"{error.problems[0]}{rest}"
    other = next((case for case in audit.cases if not case.stands), None)
    if other is None:
        return audit, None
    return None, (
        f"{path.name}: case {other.name}: what stands in {other.target} is not the reference; put the reference there, "
        "or give --kill-matrix-sandbox=copy, which does so in its copy"
    )


def _moved(audit: Audit, tree: Path, root: Path) -> Audit:
    """The audit for a copy of the tree; both are resolved, as are the paths of cases."""

    def place(text: str) -> str:
        path = Path(text)
        return str(root / path.relative_to(tree)) if path.is_relative_to(tree) else text

    cases = []
    for case in audit.cases:
        target = Path(place(case.target_path))
        grader = tuple((place(path), below) for path, below in case.grader)
        stands = hashlib.sha256(target.read_bytes()).hexdigest()
        cases.append(replace(case, target_path=str(target), grader=grader, target_sha256=stands))
    return replace(audit, cases=tuple(cases))


def references(path: Path, root: Path) -> dict[Path, Path]:
    """The targets (resolved) in which something else than the reference stands, and where that is; none where wrong."""
    try:
        audit = fetch(path, root)
    except VariantsError:
        return {}  # whoever reads the file for the run says what is wrong
    return {
        Path(case.target_path): path.parent / variant.made_from
        for case in audit.cases
        if not case.stands
        for variant in case.of_kind(Kind.REFERENCE)
    }
