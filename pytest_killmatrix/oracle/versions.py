"""What a case was in earlier versions, and whether what changed since is what its history says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import yaml

from pytest_killmatrix.oracle.model import Case, Hashes, Kind, Part, Recorded
from pytest_killmatrix.oracle.nodes import Document, line_of
from pytest_killmatrix.oracle.variants import repaired_of

_HASHES: Final = ("task", "grader", "fixtures", "reference")
_OF_PART: Final = (
    (Part.WORDING, "task"),
    (Part.GRADER, "grader"),
    (Part.REFERENCE, "reference"),
    (Part.FIXTURE, "fixtures"),
)
_RECORD: Final = "killmatrix variants record"


def read_versions(doc: Document, node: yaml.Node, what: str, current: int) -> tuple[list[Recorded], tuple[Part, ...]]:
    """The versions that were recorded, and what the current one says that it repaired."""
    found: list[Recorded] = []
    repaired: tuple[Part, ...] = ()
    for item in doc.items(node, f"{what}: versions"):
        with doc.going_on():
            keys = doc.mapping(
                item, f"{what}: a version", ("version",),
                ("note", "repaired", "hashes", "kinds", "rejected_by", "tests"),
            )  # fmt: skip
            number = doc.whole(keys["version"], f"{what}: version")
            about = f"{what}, version {number}"
            if number > current:
                raise doc.fail(line_of(item), f"{about}: the case is at version {current}; raise its version")
            if any(other.version == number for other in found):
                raise doc.fail(line_of(item), f"{about}: is recorded twice")
            if number == current:
                repaired = repaired_of(doc, keys.get("repaired"), about)
            if "hashes" in keys:
                found.append(_recorded(doc, keys, about, number))
            elif number < current:
                doc.add(line_of(item), f"{about}: lacks hashes; {_RECORD} prints them while it is the current one")
    return sorted(found, key=lambda one: one.version), repaired


def _recorded(doc: Document, keys: dict[str, yaml.Node], what: str, number: int) -> Recorded:
    hashes = doc.mapping(keys["hashes"], f"{what}: hashes", _HASHES, ("variants",))
    parts = {name: _hash(doc, hashes[name], what) for name in _HASHES}
    variants = [
        (key.value, _hash(doc, value, what))
        for key, value in (doc.pairs(hashes["variants"], f"{what}: variants") if "variants" in hashes else ())
    ]
    kinds = [
        (key.value, doc.choice(value, f"{what}: kind of {key.value}", Kind))
        for key, value in (doc.pairs(keys["kinds"], f"{what}: kinds") if "kinds" in keys else ())
    ]
    rejected = [
        (key.value, _tests(doc, value, f"{what}: rejected_by"))
        for key, value in (doc.pairs(keys["rejected_by"], f"{what}: rejected_by") if "rejected_by" in keys else ())
    ]
    tests = _tests(doc, keys["tests"], f"{what}: tests") if "tests" in keys else None
    return Recorded(number, Hashes(**parts, variants=tuple(variants)), tuple(kinds), tuple(rejected), tests)


def _hash(doc: Document, node: yaml.Node, what: str) -> str:
    value = doc.text(node, f"{what}: hash")
    if len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise doc.fail(line_of(node), f"{what}: {value!r} is no SHA-256; {_RECORD} prints it")
    return value


def _tests(doc: Document, node: yaml.Node, what: str) -> tuple[str, ...]:
    return tuple(doc.text(item, what) for item in doc.items(node, what))


# -- checks --------------------------------------------------------------------------------------------------------


def changed_parts(before: Hashes, after: Hashes) -> set[Part]:
    """What is not byte for byte the same in two versions, variants aside."""
    return {part for part, name in _OF_PART if getattr(before, name) != getattr(after, name)}


def claimed(case: Case, version: int) -> set[Part]:
    """What the history says that a version repaired."""
    own = set(case.repaired) if version == case.version else set()
    return own.union(*(entry.repaired for one in case.variants for entry in one.history if entry.version == version))


def problems(case: Case, line: int) -> Iterator[tuple[int, str]]:
    """Where versions, history and files contradict each other; at the line of the case's version."""
    what = f"case {case.name}"
    for one in case.variants:
        late = next((entry for entry in one.history if entry.version > case.version), None)
        if late is not None:
            yield line, f"variant {one.name}: history speaks of version {late.version}, {what} is at {case.version}"
    current = next((one for one in case.recorded if one.version == case.version), None)
    if current is not None:
        changed = changed_parts(current.hashes, case.hashes)
        if changed:
            yield (
                line,
                (
                    f"{what}: version {case.version} is recorded already, and its {_listed(changed)} changed since; "
                    "raise version, and say what was repaired"
                ),
            )
        yield from _variants_kept(case, current, line)
    before = [one for one in case.recorded if one.version < case.version]
    if case.version > 1 and not (before and before[-1].version == case.version - 1):
        yield (
            line,
            (
                f"{what}: version {case.version} lacks the record of version {case.version - 1} under versions; "
                f"{_RECORD} prints it for the version that a file is at"
            ),
        )
    elif before:
        yield from _claims_hold(case, before[-1], line)
        yield from _variants_kept(case, before[-1], line)
    yield from _kinds_kept(case, before, line)


def _variants_kept(case: Case, record: Recorded, line: int) -> Iterator[tuple[int, str]]:
    """A variant keeps its text, unless the reference that it differs from became another."""
    if Part.REFERENCE in changed_parts(record.hashes, case.hashes):
        return
    for name, digest in record.hashes.variants:
        now = case.hashes.of(name)
        if now is not None and now != digest:
            yield line, f"variant {name} is not the one that version {record.version} recorded; give it another name"


def _claims_hold(case: Case, before: Recorded, line: int) -> Iterator[tuple[int, str]]:
    """Of the step to the current version: what changed was said, and what was said changed."""
    changed = changed_parts(before.hashes, case.hashes)
    said = claimed(case, case.version)
    what = f"case {case.name}: version {case.version}"
    if changed - said:
        yield (
            line,
            f"{what} changes {_listed(changed - said)}, and its history says repaired: {_listed(said) or 'nothing'}",
        )
    for part in sorted(said - changed, key=lambda one: one.value):
        yield (
            line,
            (f"{what} says that {part.value} was repaired, and it is byte for byte that of version {before.version}"),
        )


def _kinds_kept(case: Case, before: Sequence[Recorded], line: int) -> Iterator[tuple[int, str]]:
    """What was recorded of a variant is still in its history."""
    variants = {one.name: one for one in case.variants}
    for record in before:
        for name, kind in record.kinds:
            one = variants.get(name)
            if one is None:
                yield (
                    line,
                    f"variant {name} was {kind.value} in version {record.version} and is gone; variants are kept",
                )
                continue
            entries = [entry for entry in one.history if entry.version <= record.version]
            then = entries[-1].kind if entries else one.history[0].kind if one.history else one.kind
            if then is not kind:
                yield (
                    line,
                    (
                        f"variant {name} was recorded as {kind.value} in version {record.version}, and its history "
                        f"says {then.value}; history is appended to, never rewritten"
                    ),
                )


def _listed(parts: set[Part]) -> str:
    return ", ".join(sorted(part.value for part in parts))
