"""Making mutants in a process of its own, so that libcst and mutmut stay out of the one that runs tests.

``generate`` starts ``python -c`` with a pickled ``Spec`` on its standard input and reads a pickle stream: a record for
each file, None at the end.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_killmatrix.executor.fresh import unmeasured
from pytest_killmatrix.model import Build, Mutant, Replacement

if TYPE_CHECKING:
    from pytest_killmatrix.operators.selection import Selection

_BOOTSTRAP = (
    "import sys, pickle; given = pickle.load(sys.stdin.buffer); "
    "sys.path.extend(path for path in given['path'] if path not in sys.path); "
    "from pytest_killmatrix.generate import main; main(given['spec'])"
)

_ALWAYS_KNOWN = frozenset("*?[:")  # a glob, or a plugin's operator, which only the plugin knows


@dataclass(frozen=True, slots=True)
class Spec:
    """What to generate: files relative to ``root`` (POSIX), the operators, and third parties' replacements.

    ``extra`` maps a file to pairs of a plugin's name and its replacements.
    """

    root: str
    files: Sequence[str]
    operators: str = ""
    extra: Mapping[str, Sequence[tuple[str, Sequence[Replacement]]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileMutants:
    """A file's mutants, each with its build, and the digest of the bytes they were made from.

    ``note`` says what could not be done for the file, in one line.
    """

    path: str
    sha256: str
    mutants: list[Mutant]
    builds: list[Build]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that cannot be mutated, and why, in one line."""

    path: str
    line: int
    message: str


class GenerationError(Exception):
    """The generator could not do its work; ``str()`` is one line."""


def generate(spec: Spec) -> Iterator[FileMutants | FileError]:
    """Run the generator on a spec, and yield its records in the order of the files.

    ValueError for an unknown operator or a third party's impossible replacement, GenerationError if the process fails.
    """
    command = [sys.executable, *_interpreter_flags(), "-c", _BOOTSTRAP]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=unmeasured(os.environ)
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                with process.stdin as stdin:
                    pickle.dump({"path": [path for path in sys.path if path], "spec": pickle.dumps(spec)}, stdin)
            except BrokenPipeError:
                pass  # it ended before it read: the missing records say so
            yield from _records(process, process.stdout, errors)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def check_operators(text: str) -> None:
    """ValueError where ``--mutation-operators`` names what is not there; the generator knows."""
    if any(not _ALWAYS_KNOWN.intersection(item) for item in text.split(",")):
        for _ in generate(Spec("", (), text)):
            pass


def _interpreter_flags() -> list[str]:
    """This interpreter's own flags, isolated: nothing in the working directory may stand in for a module."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return ["-I", *(flag for flag in flags if flag not in {"-E", "-s", "-I", "-P"})]


def _records(
    process: subprocess.Popen[bytes], stream: IO[bytes], errors: IO[bytes]
) -> Iterator[FileMutants | FileError]:
    while True:
        try:
            record = pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):
            process.wait()  # it may still be writing its last words
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            raise GenerationError(f"the mutant generator failed: {lines[-1] if lines else 'no message'}") from None
        if record is None:
            return
        if isinstance(record, ValueError):
            raise record
        yield record


def main(pickled: bytes) -> None:
    """The generator's process: records to standard output, None at the end, or a ValueError for a bad spec."""
    spec: Spec = pickle.loads(pickled)
    # what anything prints goes to standard error: the stream holds records only
    with os.fdopen(os.dup(1), "wb") as stream:
        os.dup2(2, 1)
        try:
            for record in mutants_of(spec):
                pickle.dump(record, stream, pickle.HIGHEST_PROTOCOL)
                stream.flush()
            pickle.dump(None, stream)
        except ValueError as error:
            pickle.dump(ValueError(str(error)), stream)


def mutants_of(spec: Spec) -> Iterator[FileMutants | FileError]:
    """The records of a spec, made in this process."""
    from pytest_killmatrix import operators

    selected = operators.selection(spec.operators)
    for path in spec.files:
        yield _of_file(spec, path, selected)


def _of_file(spec: Spec, path: str, selected: Selection) -> FileMutants | FileError:
    from pytest_killmatrix.source import SourceError

    try:
        return _mutants_of_file(spec, path, selected)
    except SourceError as error:
        return FileError(path, error.line, error.message)
    except OSError as error:
        return FileError(path, 0, f"cannot be read: {error.strerror or error}")


def _mutants_of_file(spec: Spec, path: str, selected: Selection) -> FileMutants:
    from pytest_killmatrix import operators
    from pytest_killmatrix.compiling import build_all
    from pytest_killmatrix.mutants import make_mutants
    from pytest_killmatrix.source import SourceFile

    filename = Path(spec.root, path)
    source = SourceFile(path, filename.read_bytes())
    note = None
    try:
        found = operators.replacements_of(source, selected)
    except operators.LayoutError as error:
        note = f"{path}: mutmut's operators left out: {error}"
        found = operators.replacements_of(source, selected.without(operators.CATALOGUE["mutmut"]))
    extra = [
        (plugin, [item for item in theirs if item.operator in selected]) for plugin, theirs in spec.extra.get(path, ())
    ]
    mutants, builds = build_all(source, make_mutants(source, found, extra), str(filename))
    return FileMutants(path, hashlib.sha256(source.data).hexdigest(), mutants, builds, note)
