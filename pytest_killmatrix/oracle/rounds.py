"""Audit rounds: what independent readers said of the same tests, and the ledger that keeps every one of them.

The ledger is a YAML list of ``file``, ``sha256`` and ``chain``. Each ``chain`` depends on all entries before it, so
that one which was changed, exchanged or taken out is noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from pytest_killmatrix.oracle.model import Case, Judgment, Reading, VariantsError
from pytest_killmatrix.oracle.nodes import Bad, Document, line_of
from pytest_killmatrix.oracle.texts import sha256
from pytest_killmatrix.oracle.variants import find_quote, shorten

CONFIDENCES: Final = ("high", "medium", "low")
_READER: Final = ("case", "round", "reader", "text", "results_seen")


def chain_of(before: str, digest: str) -> str:
    """What ties a ledger entry to those before it."""
    return hashlib.sha256(f"{before}{digest}".encode()).hexdigest()[:16]


def add_readings(doc: Document, node: yaml.Node, cases: Sequence[Case], base: Path) -> tuple[list[Case], list[str]]:
    """The cases with all readings of the ledger that ``node`` names, and what is wrong with those files."""
    path = doc.path.parent / doc.text(node, "rounds")
    if not path.exists():
        raise doc.fail(
            line_of(node), f"rounds: {node.value} does not exist; killmatrix variants rounds --append makes it"
        )
    ledger = Document(path, path.name)
    problems: list[str] = []
    found: list[tuple[str, Reading]] = []
    for file, reader in _entries(ledger):
        with reader.going_on():
            found.append(read_reader(reader, file, cases, base))
        problems += reader.problems
    extended = [
        replace(case, readings=tuple(reading for name, reading in found if name == case.name)) for case in cases
    ]
    return extended, [*ledger.problems, *problems]


def _entries(ledger: Document) -> list[tuple[str, Document]]:
    """The readers' files in the order in which they were appended; those that are as they were then."""
    found: list[tuple[str, Document]] = []
    chain = ""
    with ledger.going_on():
        for item in ledger.items(ledger.load(), "the ledger"):
            keys = ledger.mapping(item, "a ledger entry", ("file", "sha256", "chain"))
            name = ledger.text(keys["file"], "file")
            digest = ledger.text(keys["sha256"], "sha256")
            chain = chain_of(chain, digest)
            if keys["chain"].value != chain:
                raise ledger.fail(
                    line_of(item), f"{name}: entries before it were changed or taken out; rounds are kept"
                )
            with ledger.going_on():
                path = ledger.file(keys["file"], "file")
                if sha256(ledger.bytes_of(path, item, "file")) != digest:
                    raise ledger.fail(line_of(item), f"{name} was changed after it was appended; append another round")
                found.append((name, Document(path, name)))
    return found


def read_reader(doc: Document, file: str, cases: Sequence[Case], base: Path) -> tuple[str, Reading]:
    """The name of the case, and what one reader said of its tests; Bad where it cannot be read."""
    keys = doc.mapping(doc.load(), "a reader's file", _READER, ("judgments", "failed", "risks"))
    names = [case.name for case in cases]
    name = doc.text(keys["case"], "case")
    if name not in names:
        raise doc.fail(line_of(keys["case"]), f"there is no case {name}; there are {', '.join(names)}")
    case = cases[names.index(name)]
    text = doc.text(keys["text"], "text")
    if text not in (case.hashes.task, *(one.hashes.task for one in case.recorded)):
        doc.add(
            line_of(keys["text"]),
            f"text: {text[:16]}... is the hash of no version of case {name}; that of version {case.version} is "
            f"{case.hashes.task} (killmatrix variants check prints it)",
        )
    failed = " ".join(doc.text(keys["failed"], "failed").split()) if "failed" in keys else None
    if "judgments" not in keys and failed is None:
        raise doc.fail(line_of(keys["case"]), "lacks judgments; a round that came to none says failed: and why")
    received = _received(case, base) if text == case.hashes.task else None
    judgments = []
    for key, value in doc.pairs(keys["judgments"], "judgments") if "judgments" in keys else ():
        with doc.going_on():
            judgments.append(_judgment(doc, key, value, case, received))
    risks = [doc.text(item, "risks") for item in (doc.items(keys["risks"], "risks") if "risks" in keys else ())]
    if doc.problems:
        raise Bad
    return name, Reading(
        file=file,
        sha256=sha256(doc.path.read_bytes()),
        round=doc.whole(keys["round"], "round"),
        reader=" ".join(doc.text(keys["reader"], "reader").split()),
        text=text,
        results_seen=doc.flag(keys["results_seen"], "results_seen"),
        judgments=tuple(judgments),
        failed=failed,
        risks=tuple(" ".join(risk.split()) for risk in risks),
    )


def _judgment(
    doc: Document, key: yaml.Node, value: yaml.Node, case: Case, received: Mapping[str, str] | None
) -> Judgment:
    test = doc.text(key, "test")
    keys = doc.mapping(value, test, ("derivable", "confidence"), ("quote", "note"))
    derivable = doc.flag(keys["derivable"], f"{test}: derivable")
    confidence = doc.text(keys["confidence"], f"{test}: confidence")
    if confidence not in CONFIDENCES:
        raise doc.fail(
            line_of(keys["confidence"]), f"{test}: confidence is {confidence!r}; choose one of {', '.join(CONFIDENCES)}"
        )
    if not belongs(test, case):
        doc.add(line_of(key), f"{test} is in no file of the grader of case {case.name}")
    quote = " ".join(doc.text(keys["quote"], f"{test}: quote").split()) if "quote" in keys else ""
    if derivable and not quote:
        doc.add(line_of(key), f"{test}: derivable lacks the quotation that it is derived from")
    if quote and received is not None and all(find_quote(one, quote) is None for one in received.values()):
        doc.add(
            line_of(keys["quote"]), f"{test}: the quotation {shorten(quote)!r} is in no file that the solver receives"
        )
    note = " ".join(doc.text(keys["note"], f"{test}: note").split()) if "note" in keys else ""
    return Judgment(test, derivable, confidence, quote, note)


def belongs(test: str, case: Case) -> bool:
    """Whether a node id (relative to whatever root) can be one of the case's grader."""
    file, colons, rest = test.partition("::")
    places = {path for path, _ in case.grader if path == file or path.endswith("/" + file)}
    return any(case.grades(path, colons + rest) for path in places)


def _received(case: Case, base: Path) -> dict[str, str]:
    return {one.name: (base / one.file).read_bytes().decode("utf-8-sig", "replace") for one in case.materialized}


# -- appending -----------------------------------------------------------------------------------------------------


def ledger_of(variants: Path) -> Path:
    """The ledger that a variants file names; VariantsError where it names none."""
    doc = Document(variants, variants.name)
    with doc.going_on():
        keys = dict(doc.pairs(doc.load(), "a variants file"))
        named = next((value for key, value in keys.items() if key.value == "rounds"), None)
        if named is None:
            raise doc.fail(0, "names no ledger; add rounds: rounds.yaml")
        return variants.parent / doc.text(named, "rounds")
    raise VariantsError(doc.problems)


def append(ledger: Path, file: Path, cases: Sequence[Case], base: Path) -> str:
    """Add a reader's file to the end of the ledger; the name of its case. VariantsError where it cannot be added."""
    doc = Document(ledger, ledger.name)
    known = _entries(doc) if ledger.exists() else []
    if doc.problems:
        raise VariantsError(doc.problems)
    try:
        name = file.resolve().relative_to(ledger.parent.resolve()).as_posix()
    except ValueError:
        raise VariantsError(
            [f"{file}: lies outside of {ledger.parent}; keep readers' files beside the ledger"]
        ) from None
    if any(name == other for other, _ in known):
        raise VariantsError([f"{name}: is in the ledger already; rounds are appended, so write another file"])
    reader = Document(file, name)
    with reader.going_on():
        case, reading = read_reader(reader, name, cases, base)
        chain = ""
        for _, other in known:
            chain = chain_of(chain, sha256(other.path.read_bytes()))
        entry = {"file": name, "sha256": reading.sha256, "chain": chain_of(chain, reading.sha256)}
        line = "- {" + ", ".join(f'{key}: "{value}"' for key, value in entry.items()) + "}\n"
        text = ledger.read_text(encoding="utf-8") if ledger.exists() else ""
        with open(ledger, "a", encoding="utf-8") as out:
            out.write(line if not text or text.endswith("\n") else "\n" + line)
        return case
    raise VariantsError(reader.problems)
