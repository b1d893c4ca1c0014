"""Every module of the standard library goes through generation; here a sample that another day draws anew.

``KILLMATRIX_WHOLE_STDLIB=1`` takes all of it (an hour of CPU time); ``KILLMATRIX_STDLIB_SEED`` draws a certain sample;
``KILLMATRIX_STDLIB_ONLY`` is a glob on the paths.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import random
import sysconfig
import time
from pathlib import Path

import pytest
from generation_checks import faults, generated

from pytest_killmatrix.source import SourceError

LIBRARY = Path(sysconfig.get_path("stdlib"))
WHOLE = bool(os.environ.get("KILLMATRIX_WHOLE_STDLIB"))
ONLY = os.environ.get("KILLMATRIX_STDLIB_ONLY", "*")
SEED = int(os.environ.get("KILLMATRIX_STDLIB_SEED") or datetime.date.today().toordinal())
SECONDS_PER_KILOBYTE = 1.0

#: syntax in plenty, encodings, generated tables, odd layouts
NASTY = [
    "keyword.py",
    "this.py",
    "__future__.py",
    "test/test_global.py",
    "test/test_named_expressions.py",
    "test/encoded_modules/module_iso_8859_1.py",
    "test/encoded_modules/module_koi8_r.py",
    "test/test_with.py",
]


def modules() -> list[str]:
    """Every module's path below the library, without what was installed into it."""
    return [
        path.relative_to(LIBRARY).as_posix()
        for path in sorted(LIBRARY.rglob("*.py"))
        if "site-packages" not in path.parts and "__pycache__" not in path.parts
    ]


def chosen() -> list[str]:
    """The modules of this run."""
    every = modules()
    if WHOLE:
        return [name for name in every if fnmatch.fnmatch(name, ONLY)]
    nasty = [name for name in NASTY if (LIBRARY / name).is_file()]
    small = [name for name in every if (LIBRARY / name).stat().st_size < 8_000]
    return list(dict.fromkeys([*nasty, *random.Random(SEED).sample(small, min(32, len(small)))]))


@pytest.mark.parametrize("name", chosen())
def test_a_module_goes_through_generation(name: str) -> None:
    data = (LIBRARY / name).read_bytes()
    started = time.process_time()
    try:
        source, made = generated(data)
    except SourceError:
        with pytest.raises((SyntaxError, ValueError)):
            compile(data, name, "exec", dont_inherit=True)
        return
    seconds = time.process_time() - started
    assert faults(source, made, most=40, seed=SEED) == []
    assert seconds < 2 + SECONDS_PER_KILOBYTE * len(data) / 1000
