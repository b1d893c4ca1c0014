"""``killmatrix variants``: check, materialize, rounds, record."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_killmatrix.commands import CommandError

if TYPE_CHECKING:
    from pytest_killmatrix.oracle.model import Audit, Case
    from pytest_killmatrix.oracle.reporting import CaseReport

_DEFAULT = "variants.yaml"
_SIDECAR = ".killmatrix.sqlite"
_USAGE = 4


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's own commands."""
    commands = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)

    check = add("check", "read the file and everything that it names; say all that is wrong, and hint at strange words")
    record = add("record", "print the record of the present version, to be kept under versions:")
    rounds = add("rounds", "compare what independent readers said; with --append, add a reader's file to the ledger")
    for one in (check, record, rounds):
        one.add_argument("file", metavar="FILE", type=Path, help="the variants file")
        one.add_argument(
            "--db", metavar="PATH", type=Path, help=f"the sidecar (default: {_SIDECAR} beside or above it)"
        )
    for one in (check, rounds):
        one.add_argument("--json", action="store_true", help="for a program")
    rounds.add_argument("--append", metavar="READER", type=Path, action="append", default=[], help="a reader's file")
    write = add("materialize", "write what the solver of a case receives, and nothing else")
    write.add_argument("case", metavar="CASE")
    write.add_argument("destination", metavar="DEST", type=Path, help="a new or an empty directory")
    write.add_argument("--file", metavar="FILE", type=Path, default=Path(_DEFAULT), help=f"(default: {_DEFAULT})")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit status."""
    from pytest_killmatrix.oracle.model import VariantsError

    if not arguments.file.is_file():
        what = (
            "give the variants file" if arguments.action != "materialize" else "give the variants file with --file=FILE"
        )
        raise CommandError(f"{arguments.file}: no such file; {what}")
    try:
        return {"check": _check, "materialize": _materialize, "rounds": _rounds, "record": _record}[arguments.action](
            arguments
        )
    except VariantsError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return _USAGE


def _read(arguments: argparse.Namespace) -> Audit:
    from pytest_killmatrix.oracle.reading import read

    return read(arguments.file)


# -- check ---------------------------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace) -> int:
    audit = _read(arguments)
    reports, why = _results(arguments, audit)
    base = arguments.file.parent
    facts = {case.name: _Facts.of(case, reports.get(case.name), base) for case in audit.cases}
    if arguments.json:
        found = [{"case": name, **vars(one)} for name, one in facts.items()]
        print(json.dumps({"file": audit.file, "chosen_by": audit.chosen_by, "cases": found}, indent=1))
        return 0
    for name, one in facts.items():
        kinds = ", ".join(f"{number} {kind}" for kind, number in one.kinds.items())
        print(f"case {name}, version {one.version}: {kinds}")
        for part, digest in one.hashes.items():
            print(f"  {part:10} {digest}")
        if not one.stands:
            print("  flag: the target is not the reference: put it there, or run with --kill-matrix-sandbox=copy")
        for variant in one.uncited:
            print(f"  flag: {variant} cites no sentence that forbids it: a possible alternative reading")
        for variant in one.invalid:
            print(f"  flag: {variant} does not compile, and will not be judged")
        for test, words in one.hints or ():
            print(f"  hint: {test}: the solver never reads {', '.join(words)}")
    if why is not None:
        print(f"no hints: {why}")
    elif any(one.hints for one in facts.values()):
        print("hints are for a reader to judge: a word may be plain English, a rule may be stated in other words")
    print(f"{arguments.file}: no problem found")
    return 0


@dataclass(frozen=True)
class _Facts:
    """What ``check`` says of a case: ``stands`` that the reference is in the target; no ``hints`` without results."""

    version: int
    hashes: dict[str, str]
    kinds: dict[str, int]
    stands: bool
    uncited: list[str]
    invalid: list[str]
    hints: list[tuple[str, tuple[str, ...]]] | None

    @classmethod
    def of(cls, case: Case, report: CaseReport | None, base: Path) -> _Facts:
        """``base`` is the directory of the variants file."""
        from pytest_killmatrix.oracle.hints import hints
        from pytest_killmatrix.oracle.model import Kind

        received = {one.name: (base / one.file).read_bytes().decode("utf-8", "replace") for one in case.materialized}
        found = None if report is None else [(hint.test, hint.words) for hint in hints(report.judged, received)]
        hashes = case.hashes
        return cls(
            case.version,
            {
                "task": hashes.task,
                "grader": hashes.grader,
                "fixtures": hashes.fixtures,
                "reference": hashes.reference,
            },
            {kind.value: len(case.of_kind(kind)) for kind in Kind if case.of_kind(kind)},
            case.stands,
            [one.name for one in case.of_kind(Kind.MUTATION) if not one.cited],
            [one.name for one in case.variants if one.invalid is not None],
            found,
        )


def _results(arguments: argparse.Namespace, audit: Audit) -> tuple[dict[str, CaseReport], str | None]:
    """The newest results on each case, by its name, and why there are none."""
    from pytest_killmatrix.oracle.reporting import report_of
    from pytest_killmatrix.store.audits import newest_run
    from pytest_killmatrix.store.errors import StoreError
    from pytest_killmatrix.store.reader import Reader

    path = _sidecar(arguments)
    make = f"run pytest --mutation-variants={arguments.file}"
    if path is None:
        return {}, f"there are no results yet; {make}"
    found: dict[str, CaseReport] = {}
    try:
        with Reader(path) as reader:
            runs = {case.name: newest_run(reader, case) for case in audit.cases}
        for name, run in runs.items():
            if run is not None:
                with Reader(path, run) as reader:
                    report = report_of(reader)
                found |= {
                    one.judged.case.name: one
                    for one in (report.cases if report else ())
                    if one.judged.case.name == name
                }
    except StoreError as error:
        if arguments.db is not None:
            raise CommandError(str(error)) from error
        return {}, str(error)
    return found, None if found else f"{path} has no results of these versions; {make}"


def _sidecar(arguments: argparse.Namespace) -> Path | None:
    if arguments.db is not None:
        path: Path = arguments.db
        return path
    folders = arguments.file.absolute().parents
    return next((folder / _SIDECAR for folder in folders if (folder / _SIDECAR).is_file()), None)


# -- the others ----------------------------------------------------------------------------------------------------


def _materialize(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.oracle.materializing import DestinationError, materialize

    case = _case_of(_read(arguments).cases, arguments.case)
    try:
        written = materialize(case, arguments.file.parent, arguments.destination)
    except DestinationError as error:
        raise CommandError(str(error)) from error
    for path in written:
        print(path)
    print(f"text {case.hashes.task}")
    return 0


def _record(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.oracle.recording import entry_of, is_same
    from pytest_killmatrix.store.audits import newest_run, record_from
    from pytest_killmatrix.store.errors import StoreError
    from pytest_killmatrix.store.reader import Reader

    audit, path = _read(arguments), _sidecar(arguments)
    for case in audit.cases:
        found = None
        if path is not None:
            try:
                with Reader(path) as reader:
                    run = newest_run(reader, case)
                    found = None if run is None else record_from(reader, run, case.name)
            except StoreError as error:
                raise CommandError(str(error)) from error
        print(f"# case {case.name}: under versions:")
        if found is None or not is_same(case, found):
            print("# not judged as it is now: without rejected_by and tests a later version cannot be compared with it")
        print(entry_of(case, found), end="")
    return 0


def _case_of(cases: Iterable[Case], name: str) -> Case:
    known = {case.name: case for case in cases}
    if name not in known:
        raise CommandError(f"there is no case {name}; there are {', '.join(known)}")
    return known[name]


def _rounds(arguments: argparse.Namespace) -> int:
    from pytest_killmatrix.oracle.jsonable import rounds_object
    from pytest_killmatrix.oracle.lines import rounds_lines
    from pytest_killmatrix.oracle.rounds import append, ledger_of
    from pytest_killmatrix.report.terminal import style_of
    from pytest_killmatrix.report.text import is_ascii_only

    for file in arguments.append:
        if not file.is_file():
            raise CommandError(f"--append={file}: no such file")
        audit = _read_but_rounds(arguments)
        name = append(ledger_of(arguments.file), file, audit.cases, arguments.file.parent)
        print(f"{file}: appended, case {name}", file=sys.stderr)
    audit = _read(arguments)
    reports, _ = _results(arguments, audit)
    if arguments.json:
        print(json.dumps([rounds_object(case, reports.get(case.name)) for case in audit.cases], indent=1))
        return 0
    style = style_of(shutil.get_terminal_size().columns, 1, is_ascii_only(sys.stdout.encoding))
    for case in audit.cases:
        for line, _ in rounds_lines(case, reports.get(case.name), style):
            print(line)
    return 0


def _read_but_rounds(arguments: argparse.Namespace) -> Audit:
    from pytest_killmatrix.oracle.reading import read

    return read(arguments.file, readings=False)
