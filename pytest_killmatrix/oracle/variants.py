"""Reads the variants of one case: their text, their citations and their history."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import yaml

from pytest_killmatrix.oracle import diffs, texts
from pytest_killmatrix.oracle.model import Citation, Entry, Kind, Part, Settles, Variant
from pytest_killmatrix.oracle.nodes import Document, line_of
from pytest_killmatrix.source import SourceFile

_MADE_BY: Final = ("file", "diff", "replace")
_NEEDS_WHY: Final = frozenset({Kind.STARTER, Kind.MUTATION, Kind.DEGENERATE, Kind.READING})
_SAME: Final = frozenset({Kind.REFERENCE, Kind.NOOP})  # the target as it stands
_LEAST_WORDS: Final = 2  # of a quotation: one word is found nearly anywhere


@dataclass(frozen=True, slots=True)
class Received:
    """The files that the solver of a case receives, as text by name; ``names`` leads from a path to that name."""

    texts: Mapping[str, str]
    names: Mapping[str, str]


def read_variants(doc: Document, node: yaml.Node, target: SourceFile, received: Received) -> list[Variant]:
    """The variants of a case, those that can be read."""
    found: list[Variant] = []
    meanings: dict[str, str] = {}
    names: set[str] = set()
    for item in doc.items(node, "variants", least=1):
        with doc.going_on():
            variant = _variant(doc, item, target, received, meanings)
            if variant.name in names:
                doc.add(line_of(item), f"variant {variant.name}: the case has another of that name")
            names.add(variant.name)
            found.append(variant)
    return found


def _variant(
    doc: Document, node: yaml.Node, target: SourceFile, received: Received, meanings: dict[str, str]
) -> Variant:
    keys = doc.mapping(node, "a variant", ("name", "kind"), ("why", *_MADE_BY, "citations", "history", "settles"))
    name = doc.text(keys["name"], "name")
    what = f"variant {name}"
    kind = doc.choice(keys["kind"], f"{what}: kind", Kind)
    if kind in _NEEDS_WHY and "why" not in keys:
        doc.add(line_of(node), f"{what} lacks why: say what a solver who wrote it had in mind")
    text, made_from = _text(doc, node, keys, kind, what, target)
    _compare(doc, node, kind, name, text, target, meanings)
    try:
        data = texts.encoded(target, text)
    except texts.TextError as error:
        raise doc.fail(line_of(node), f"{what} {error}") from None
    span = texts.span(target, text)
    history = _history(doc, keys["history"], what, kind) if "history" in keys else []
    return Variant(
        name=name,
        kind=kind,
        why=" ".join(doc.text(keys["why"], f"{what}: why").split()) if "why" in keys else "",
        sha256=texts.sha256(data),
        made_from=made_from,
        start=span.start,
        end=span.end,
        line=span.line,
        end_line=span.end_line,
        end_column=span.end_column,
        original=span.original,
        text=span.text,
        citations=tuple(_citations(doc, keys["citations"], what, received)) if "citations" in keys else (),
        history=tuple(history),
        settles=_settles(doc, keys["settles"], what, kind, history) if "settles" in keys else None,
        invalid=texts.compile_problem(target, text),
    )


def reference_file(node: yaml.Node) -> yaml.Node | None:
    """The file that a case's variants give for the reference, before anything of them is checked."""
    for item in node.value if isinstance(node, yaml.SequenceNode) else ():
        pairs = item.value if isinstance(item, yaml.MappingNode) else ()
        keys = {key.value: value for key, value in pairs if isinstance(key, yaml.ScalarNode)}
        kind, file = keys.get("kind"), keys.get("file")
        if isinstance(kind, yaml.ScalarNode) and kind.value == Kind.REFERENCE.value:
            return file if isinstance(file, yaml.ScalarNode) else None
    return None


# -- the text ----------------------------------------------------------------------------------------------------------


def _text(
    doc: Document, node: yaml.Node, keys: Mapping[str, yaml.Node], kind: Kind, what: str, target: SourceFile
) -> tuple[str, str]:
    """A variant's text, and what it was made from."""
    given = [key for key in _MADE_BY if key in keys]
    if len(given) > 1:
        raise doc.fail(line_of(keys[given[1]]), f"{what} has {' and '.join(given)}; give one of them")
    if not given:
        if kind in _SAME:
            return target.text, "target"
        raise doc.fail(line_of(node), f"{what} lacks its text: give file, diff or replace")
    (way,) = given
    try:
        if way == "file":
            path = doc.file(keys[way], f"{what}: file")
            return texts.decoded(target, doc.bytes_of(path, keys[way], f"{what}: file")), keys[way].value
        if way == "diff":
            return diffs.apply(target.text, _diff(doc, keys[way], what, target)), "diff"
        parts = doc.mapping(keys[way], f"{what}: replace", ("definition", "find", "with"))
        find = doc.text(parts["find"], f"{what}: find")
        new = parts["with"].value if isinstance(parts["with"], yaml.ScalarNode) else doc.text(parts["with"], "with")
        definition = doc.text(parts["definition"], f"{what}: definition")
        return texts.replaced(target, definition, find, new), "replace"
    except (texts.TextError, diffs.DiffError) as error:
        raise doc.fail(line_of(keys[way]), f"{what}: {way}: {error}") from None


def _diff(doc: Document, node: yaml.Node, what: str, target: SourceFile) -> str:
    """A diff that stands in the YAML, or in a file that it names."""
    text = doc.text(node, f"{what}: diff")
    if "\n" in text.strip():
        return text
    path = doc.file(node, f"{what}: diff")
    return texts.decoded(target, doc.bytes_of(path, node, f"{what}: diff"))


def _compare(
    doc: Document, node: yaml.Node, kind: Kind, name: str, text: str, target: SourceFile, meanings: dict[str, str]
) -> None:
    """What is no reference and no noop must be something new."""
    if kind is Kind.NOOP and text != target.text:
        doc.add(line_of(node), f"variant {name}: a noop is the reference, byte for byte; leave its text out")
    if kind in _SAME or (meaning := texts.meaning(text)) is None:
        return
    if meaning == texts.meaning(target.text):
        same = text == target.text
        say = "is the reference" if same else "differs from the reference in comments or layout only"
        doc.add(line_of(node), f"variant {name} {say}; only a reference or a noop may")
    other = meanings.setdefault(meaning, name)
    if other != name:
        doc.add(line_of(node), f"variant {name} is the same program as variant {other}; it would be counted twice")


# -- citations ---------------------------------------------------------------------------------------------------------


def _citations(doc: Document, node: yaml.Node, what: str, received: Received) -> list[Citation]:
    found = []
    for item in doc.items(node, f"{what}: citations", least=1):
        with doc.going_on():
            keys = doc.mapping(item, f"{what}: a citation", ("file", "quote"))
            file = doc.text(keys["file"], f"{what}: file")
            quote = " ".join(doc.text(keys["quote"], f"{what}: quote").split())
            found.append(cite(doc, item, what, file, quote, received))
    return found


def cite(doc: Document, node: yaml.Node, what: str, file: str, quote: str, received: Received) -> Citation:
    """The citation, if the solver receives that file and the quotation stands in it."""
    name = file if file in received.texts else received.names.get(file)
    known = ", ".join(received.texts)
    if name is None:
        say = "which the solver does not receive" if (doc.path.parent / file).is_file() else "which does not exist"
        raise doc.fail(line_of(node), f"{what} cites {file}, {say}; materialized are: {known}")
    if len(quote.split()) < _LEAST_WORDS:
        raise doc.fail(
            line_of(node), f"{what}: the quotation {quote!r} is too short to forbid anything; quote a phrase"
        )
    line = find_quote(received.texts[name], quote)
    if line is None:
        others = [other for other, text in received.texts.items() if find_quote(text, quote) is not None]
        say = f"; it is in {', '.join(others)}" if others else ""
        raise doc.fail(line_of(node), f"{what}: the quotation {shorten(quote)!r} is not in {name}{say}")
    return Citation(name, quote, line)


def find_quote(text: str, quote: str) -> int | None:
    """The line on which a quotation begins, or None; it is literal but for the white space between words."""
    words = [re.escape(word) for word in quote.split()]
    found = re.search(r"\s+".join(words), text) if words else None
    return None if found is None else text.count("\n", 0, found.start()) + 1


def shorten(text: str, width: int = 60) -> str:
    """A text for a message."""
    return text if len(text) <= width else text[: width - 3] + "..."


# -- history -----------------------------------------------------------------------------------------------------------


def _history(doc: Document, node: yaml.Node, what: str, kind: Kind) -> list[Entry]:
    entries: list[Entry] = []
    for item in doc.items(node, f"{what}: history", least=1):
        with doc.going_on():
            keys = doc.mapping(item, f"{what}: a history entry", ("version", "kind", "source"), ("note", "repaired"))
            entry = Entry(
                doc.whole(keys["version"], f"{what}: version"),
                doc.choice(keys["kind"], f"{what}: kind", Kind),
                " ".join(doc.text(keys["source"], f"{what}: source").split()),
                " ".join(doc.text(keys["note"], f"{what}: note").split()) if "note" in keys else "",
                repaired_of(doc, keys.get("repaired"), what),
            )
            if entries and entry.version < entries[-1].version:
                doc.add(line_of(item), f"{what}: history goes back from version {entries[-1].version}; append to it")
            if entries and entry.kind is not entries[-1].kind and "repaired" not in keys:
                doc.add(
                    line_of(item),
                    f"{what}: a history entry that changes the kind lacks repaired: wording, grader, reference, "
                    "fixture, or [] for a second judgment of the same text",
                )
            entries.append(entry)
    if entries and entries[-1].kind is not kind:
        doc.add(
            line_of(node),
            f"{what} is {kind.value}, its last history entry says {entries[-1].kind.value}; append one that says why",
        )
    return entries


def repaired_of(doc: Document, node: yaml.Node | None, what: str) -> tuple[Part, ...]:
    """What a version repaired."""
    if node is None:
        return ()
    return tuple(doc.choice(item, f"{what}: repaired", Part) for item in doc.items(node, f"{what}: repaired"))


def _settles(doc: Document, node: yaml.Node, what: str, kind: Kind, history: Sequence[Entry]) -> Settles:
    keys = doc.mapping(node, f"{what}: settles", ("round", "tests"))
    if kind is not Kind.READING and all(entry.kind is not Kind.READING for entry in history):
        doc.add(line_of(node), f"{what} settles a dispute, so it is an alternative-reading, or its history says it was")
    tests = tuple(doc.text(item, f"{what}: tests") for item in doc.items(keys["tests"], f"{what}: tests", least=1))
    return Settles(doc.whole(keys["round"], f"{what}: round"), tests)
