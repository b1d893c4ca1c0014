"""Making the copy and going over to it: this process becomes the same command in the copy.

The same process, so that screen, exit status and signals are the user's without anybody passing them on.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_killmatrix import options
from pytest_killmatrix.sandbox import disposal
from pytest_killmatrix.sandbox.copying import copy_project
from pytest_killmatrix.sandbox.places import Places

_FLAG = "--kill-matrix-sandbox=copy"


def enter(config: pytest.Config, environ: dict[str, str]) -> NoReturn:
    """Copy the project, and start over in the copy; ``environ`` is what this process was started with."""
    words = [str(word) for word in config.invocation_params.args]
    command = sys.orig_argv[: len(sys.orig_argv) - len(words)]
    if sys.argv[1:] != words or [*command, *words] != sys.orig_argv:
        raise pytest.UsageError(f"{_FLAG}: pytest has to be started as a command, such as python -m pytest")
    root = Path(os.path.realpath(config.rootpath))
    temporary = Path(os.path.realpath(tempfile.gettempdir()))
    if temporary.is_relative_to(root):
        raise pytest.UsageError(f"{_FLAG}: the temporary directory {temporary} is inside the project; set TMPDIR")
    disposal.remove_stale(temporary)
    folder = Path(tempfile.mkdtemp(prefix=disposal.PREFIX, dir=temporary))
    try:
        disposal.sign(folder)
        places = Places(root, folder / root.name, Path(os.path.realpath(config.invocation_params.dir)))
        copy_project(root, places.copy)
        _place_references(config, root, places)
        watcher = disposal.watch(folder)
        new = environ_in(places, environ)
        new[options.SANDBOX] = json.dumps([str(root), str(folder), watcher])
        line = [*_started_from(command, places), *_fixed(config, places, words)]
        os.chdir(places.new_cwd)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, line, new)
    except OSError as error:
        disposal.remove(folder)
        raise pytest.UsageError(f"{_FLAG}: the project cannot be copied to {folder}: {error}") from error
    except BaseException:
        disposal.remove(folder)
        raise


def _place_references(config: pytest.Config, root: Path, places: Places) -> None:
    """In the copy, targets of authored variants hold their references."""
    variants = options.variants_early(config)
    if variants is None or not variants.is_file():
        return
    from pytest_killmatrix.oracle.fetching import references

    for target, reference in references(variants, root).items():
        place = places.mapped(target)
        if place is not None:
            place.write_bytes(reference.read_bytes())


def environ_in(places: Places, environ: dict[str, str]) -> dict[str, str]:
    """The environment in the copy, where modules of the project come from the copy."""
    path = sys.path[1:] if sys.path and os.path.realpath(sys.path[0]) == str(places.cwd) else sys.path
    return places.environment(environ, places.imported_from(path, sys.meta_path))


def _started_from(command: list[str], places: Places) -> list[str]:
    """The interpreter and what comes before pytest's own words; a script stays where it is."""
    scripts = [str(places.cwd / word) if os.sep in word and (places.cwd / word).is_file() else word for word in command]
    return [sys.executable, *scripts[1:]]


def _fixed(config: pytest.Config, places: Places, words: list[str]) -> list[str]:
    """The words for the copy, and what would otherwise be looked for, or written, elsewhere."""
    files = options.files(config)
    more = [f"{flag}={path}" for flag, path in files.items()]
    if not any(word.split("=", 1)[0] == "--rootdir" for word in words):
        more.append(f"--rootdir={places.copy}")
    new = places.arguments(words, files)
    at = new.index("--") if "--" in new else len(new)
    return [*new[:at], *more, *new[at:]]
