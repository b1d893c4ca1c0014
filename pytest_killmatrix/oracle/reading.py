"""Reads and checks a variants file: everything that can be said before any test runs.

For the command line and for a process of its own (``fetching``): it loads YAML and parses sources.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from pytest_killmatrix.oracle import rounds, versions
from pytest_killmatrix.oracle.hashing import digest_of
from pytest_killmatrix.oracle.model import Audit, Case, Hashes, Kind, Material, Scoring, VariantsError
from pytest_killmatrix.oracle.nodes import Bad, Document, line_of
from pytest_killmatrix.oracle.texts import sha256
from pytest_killmatrix.oracle.variants import Received, read_variants, reference_file
from pytest_killmatrix.source import SourceError, SourceFile

_CASE: Final = ("case", "version", "materialized", "target", "grader", "variants")
_CASE_TOO: Final = ("fixtures", "scoring", "versions", "risks", "note")


def read(path: Path, root: Path | None = None, *, readings: bool = True) -> Audit:
    """The variants file at ``path``; VariantsError with all that is wrong with it and with what it names.

    Targets are called as they are below ``root``, where one is given. Without ``readings`` the ledger is not looked at.
    """
    doc = Document(path, path.name)
    problems: list[str] = []
    cases: list[Case] = []
    chosen_by = ""
    with doc.going_on():
        keys = doc.mapping(doc.load(), "a variants file", ("chosen_by", "cases"), ("rounds",))
        chosen_by = " ".join(doc.text(keys["chosen_by"], "chosen_by").split())
        for node in doc.items(keys["cases"], "cases", least=1):
            with doc.going_on():
                case = _case(doc, node, root)
                if any(case.name == other.name for other in cases):
                    doc.add(line_of(node), f"case {case.name}: the file has another of that name")
                cases.append(case)
        if readings and "rounds" in keys and not doc.problems:
            cases, problems = rounds.add_readings(doc, keys["rounds"], cases, path.parent)
    if doc.problems or problems:
        raise VariantsError([*doc.problems, *problems])
    return Audit(path.name, chosen_by, tuple(cases))


def _case(doc: Document, node: yaml.Node, root: Path | None) -> Case:
    keys = doc.mapping(node, "a case", _CASE, _CASE_TOO)
    name = doc.text(keys["case"], "case")
    what = f"case {name}"
    version = doc.whole(keys["version"], f"{what}: version")
    materialized, received, task = _materialized(doc, keys["materialized"], what)
    target, place, stands = _target(doc, keys["target"], keys["variants"], what, root)
    grader, grader_hash = _grader(doc, keys["grader"], what, place)
    fixtures, fixtures_hash = _fixtures(doc, keys.get("fixtures"), what)
    variants = read_variants(doc, keys["variants"], target, received)
    if sum(variant.kind is Kind.REFERENCE for variant in variants) != 1:
        doc.add(line_of(keys["variants"]), f"{what} needs one variant of the kind reference")
    hashes = Hashes(
        task, grader_hash, fixtures_hash, sha256(target.data), tuple((one.name, one.sha256) for one in variants)
    )
    scoring = Scoring.ALL_OR_NOTHING
    if "scoring" in keys:
        scoring = doc.choice(keys["scoring"], f"{what}: scoring", Scoring)
    case = Case(
        name=name,
        version=version,
        target=target.path,
        target_path=place,
        target_sha256=stands,
        materialized=materialized,
        grader=grader,
        fixtures=fixtures,
        scoring=scoring,
        hashes=hashes,
        variants=tuple(variants),
        risks=tuple(
            " ".join(doc.text(item, f"{what}: risks").split())
            for item in (doc.items(keys["risks"], f"{what}: risks") if "risks" in keys else ())
        ),
    )  # fmt: skip
    if "versions" in keys:
        recorded, repaired = versions.read_versions(doc, keys["versions"], what, version)
        case = replace(case, recorded=tuple(recorded), repaired=repaired)
    for line, problem in versions.problems(case, line_of(keys["version"])):
        doc.add(line, problem)
    return case


def _materialized(doc: Document, node: yaml.Node, what: str) -> tuple[tuple[Material, ...], Received, str]:
    """What the solver receives, its texts, and the hash of it all."""
    found: list[Material] = []
    received: dict[str, bytes] = {}
    names: dict[str, str] = {}
    for item in doc.items(node, f"{what}: materialized", least=1):
        with doc.going_on():
            if isinstance(item, yaml.MappingNode):
                keys = doc.mapping(item, f"{what}: materialized", ("file",), ("as",))
            else:
                keys = {"file": item}
            path = doc.file(keys["file"], f"{what}: materialized")
            given = keys["file"].value
            name = os.path.normpath(doc.text(keys["as"], "as") if "as" in keys else given).replace(os.sep, "/")
            if os.path.isabs(name) or name.split("/")[0] in ("..", "."):
                raise doc.fail(line_of(item), f"{what}: materialized: {name} lies outside; give its name with as:")
            if any(name == one or name.startswith(one + "/") or one.startswith(name + "/") for one in received):
                raise doc.fail(
                    line_of(item), f"{what}: materialized: {name} is there twice; give another name with as:"
                )
            data = doc.bytes_of(path, keys["file"], f"{what}: materialized")
            found.append(Material(given, name, sha256(data)))
            received[name] = data
            names[given] = name
    if not found:
        raise Bad
    texts = {name: data.decode("utf-8-sig", "replace") for name, data in received.items()}
    return tuple(found), Received(texts, names), digest_of(received.items())


def _target(
    doc: Document, node: yaml.Node, variants: yaml.Node, what: str, root: Path | None
) -> tuple[SourceFile, str, str]:
    """The reference, from which variants differ; the path of the target (resolved); the hash of what stands there now.

    The reference is what stands there, unless the variants give a file for it.
    """
    path = doc.file(node, f"{what}: target")
    if path.suffix != ".py":
        raise doc.fail(line_of(node), f"{what}: target: {node.value} is no Python file")
    resolved = path.resolve()
    inside = next((one for one in (path, resolved) if root is not None and one.is_relative_to(root)), None)
    name = node.value
    if root is not None:  # as ``targets`` calls it
        name = inside.relative_to(root).as_posix() if inside is not None else path.as_posix()
    stands = doc.bytes_of(path, node, f"{what}: target")
    data, called = stands, name
    given = reference_file(variants)
    if given is not None:
        reference = doc.file(given, f"{what}: the reference")
        data, called = doc.bytes_of(reference, given, f"{what}: the reference"), given.value
    try:
        SourceFile(called, data).tree  # noqa: B018 - its syntax errors are problems of the variants file
        target = SourceFile(name, data)
    except SourceError as error:
        raise doc.fail(line_of(given or node), f"{what}: {called}:{error.line}: {error.message}") from None
    return target, str(resolved), sha256(stands)


def _grader(doc: Document, node: yaml.Node, what: str, target: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """The grader as pairs of a path and the rest of a node id, and its hash."""
    found: list[tuple[str, str]] = []
    data: dict[str, bytes] = {}
    for item in doc.items(node, f"{what}: grader", least=1):
        with doc.going_on():
            name, colons, rest = doc.text(item, f"{what}: grader").partition("::")
            place = yaml.ScalarNode(item.tag, name, item.start_mark, item.end_mark)
            path = doc.file(place, f"{what}: grader")
            if str(path.resolve()) == target:
                raise doc.fail(line_of(item), f"{what}: grader: {name} is the target; name the tests")
            found.append((str(path.resolve()), colons + rest))
            data[name] = doc.bytes_of(path, item, f"{what}: grader")
    if not found:
        raise Bad
    return tuple(found), digest_of(data.items())


def _fixtures(doc: Document, node: yaml.Node | None, what: str) -> tuple[tuple[str, ...], str]:
    data: dict[str, bytes] = {}
    for item in doc.items(node, f"{what}: fixtures") if node is not None else ():
        with doc.going_on():
            data[item.value] = doc.bytes_of(doc.file(item, f"{what}: fixtures"), item, f"{what}: fixtures")
    return tuple(data), digest_of(data.items())
