"""Which modules write into what lies outside of the project when they are imported, by their source."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from pytest_killmatrix.outward import writes_outward


def line(tmp_path: Path, source: str) -> str | None:
    path = tmp_path / "mod.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    return writes_outward(str(path), lambda module: module.partition(".")[0] != "ours")


@pytest.mark.parametrize("source", [
    "import csv\ncsv.register_dialect('pipe')",
    "import a.b as c\nif True:\n  try: c.d.add(1)\n  except ValueError: pass",
    "from yaml import add_constructor\nadd_constructor('!x', f)",
    "import logging\nlog = logging.getLogger('x')\nlog.setLevel(10)",
    "import logging\nlogging.getLogger('x').addHandler(1)",
    "import decimal\ndecimal.getcontext().prec = 5",
    "import os\nos.environ['X'] = '1'",
    "import lib\nlib.count += 1",
    "import lib\ndel lib.table['x']",
    "import lib\nclass C:\n  lib.seen(1)",
    "import lib\n@lib.register('x')\ndef f(): pass",
    "import lib\n@lib.register\nclass C: pass",
    "import lib\nTOKEN = lib.events.register_listener(1)",
    "import lib\ndef set_up():\n  for x in 1, 2: lib.add(x)\nset_up()",
    "import lib\ndef one(): two()\ndef two(): lib.add(1)\none()",
    "from ours import x\nimport lib\nwith x: lib.push()",
])  # fmt: skip
def test_what_writes(tmp_path: Path, source: str) -> None:
    assert line(tmp_path, source) is not None


@pytest.mark.parametrize("source", [
    "'''csv.register()'''\nimport csv\nX = csv.reader([])",
    "import csv\ndef f(): csv.register_dialect('pipe')",
    "import lib\nif __name__ == '__main__':\n  lib.main()",
    "from typing import TYPE_CHECKING\nimport lib\nif TYPE_CHECKING:\n  lib.load()",
    "ITEMS = []\nITEMS.append(1)\nITEMS[0] = 2",
    "from ours.registry import register\nregister('x')",
    "from . import registry\nregistry.add(1)\nregistry.x = 1",
    "from functools import lru_cache\n@lru_cache(None)\ndef f(): pass",
    "import dataclasses\n@dataclasses.dataclass\nclass C: pass",
    "import warnings\nwarnings.warn('old')\nprint(1)",
    "import lib\nlib = []\nlib.append(1)",
    "import lib\ndef lib(): pass\nlib()",
    "def again(): again()\nagain()",
    "import re\nX = {}\nfor n in 'ab': X[n] = re.compile(n)",
    "not python",
])  # fmt: skip
def test_what_does_not(tmp_path: Path, source: str) -> None:
    assert line(tmp_path, source) is None


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert writes_outward(str(tmp_path / "nowhere.py"), lambda module: True) is None
