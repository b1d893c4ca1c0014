"""A small audit on disk, to be spoilt in one place, and judged cases made up in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_killmatrix.model import Cell, Outcome, Status, Test
from pytest_killmatrix.oracle.model import Case, Citation, Entry, Hashes, Kind, Reading, Scoring, Variant
from pytest_killmatrix.oracle.verdicts import Judged, JudgedCase, judge

TARGET = '''\
def gate(a, b, c):
    """Whether it may pass."""
    return a and b and c


class Box:
    @property
    def size(self):
        return 1
'''

FILES = {
    "task.md": "# Gate\n\nIt may pass when a holds\nand b holds.\n",
    "secret.md": "c must hold too.\n",
    "gate.py": TARGET,
    "test_gate.py": (
        "from gate import gate\n\ndef test_all(): assert gate(1, 1, 1)\n\ndef test_c(): assert not gate(1, 1, 0)\n"
    ),
    "reading.py": TARGET.replace("a and b and c", "a and b"),
    "starter.py": "def gate(a, b, c):\n    pass\n",
}

AUDIT = """\
chosen_by: somebody
cases:
  - case: gate
    version: 1
    materialized: [task.md]
    target: gate.py
    grader: [test_gate.py]
    variants:
      - {name: reference, kind: reference}
      - {name: starter, kind: starter, why: begins here, file: starter.py}
      - name: no-b
        kind: mutation
        why: forgets b
        replace: {definition: gate, find: "a and b and c", with: "a and c"}
        citations:
          - {file: task.md, quote: when a holds and b holds}
      - {name: reading, kind: alternative-reading, why: c is not asked for, file: reading.py}
"""


def write(folder: Path, files: Mapping[str, str] = FILES, audit: str = AUDIT) -> Path:
    """The files of an audit; the path of its variants file."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    variants = folder / "variants.yaml"
    variants.write_text(textwrap.dedent(audit), encoding="utf-8")
    return variants


# -- in memory -----------------------------------------------------------------------------------------------------

HASHES = Hashes("task", "grader", "fixtures", "reference", ())
CITED = (Citation("task.md", "when a holds", 3),)


def variant(name: str, kind: Kind, citations: Sequence[Citation] = (), history: Sequence[Entry] = ()) -> Variant:
    return Variant(
        name, kind, "why", "f" * 64, "file", 0, 0, 1, 1, 0, "", "", tuple(citations), tuple(history)
    )  # fmt: skip


def case(
    variants: Sequence[Variant] = (),
    *,
    name: str = "gate",
    version: int = 1,
    scoring: Scoring = Scoring.ALL_OR_NOTHING,
    hashes: Hashes = HASHES,
    readings: Sequence[Reading] = (),
    risks: Sequence[str] = (),
) -> Case:
    return Case(
        name, version, "gate.py", "/p/gate.py", "f" * 64, (), (("/p/test_gate.py", ""),), (), scoring, hashes,
        tuple(variants), (), (), tuple(readings), tuple(risks),
    )  # fmt: skip


def tests(number: int) -> list[Test]:
    return [Test(f"test_gate.py::test_{index}") for index in range(number)]


def judged(one: Variant, outcomes: str, status: Status = Status.SURVIVED, reason: str | None = None) -> Judged:
    """``outcomes`` has a letter for each test: p(assed), a(ssertion), e(xception), c(rash), t(imeout), s(kipped),
    f(ault), and - for a test without a cell.
    """
    words = {
        "p": Outcome.PASSED, "a": Outcome.ASSERTION, "e": Outcome.EXCEPTION, "c": Outcome.CRASH, "t": Outcome.TIMEOUT,
        "s": Outcome.SKIPPED, "f": Outcome.ERROR,
    }  # fmt: skip
    cells = [Cell(0, index, words[letter]) for index, letter in enumerate(outcomes) if letter != "-"]
    return judge(one, f"key:{one.name}", status, reason, cells, range(len(outcomes)), tests(len(outcomes)))


def judged_case(*variants: Judged, of: Case | None = None, clean_failures: Sequence[str] = ()) -> JudgedCase:
    number = max(
        (
            len(one.passed) + len(one.rejected) + len(one.skipped) + len(one.faults) + len(one.not_run)
            for one in variants
        ),
        default=0,
    )
    of = of or case([one.variant for one in variants])
    return JudgedCase(of, tuple(test.nodeid for test in tests(number)), tuple(clean_failures), variants)
