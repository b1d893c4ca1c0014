"""The operators of harness mutation: each drops one component of a variant, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from pytest_killmatrix.analysis.candidates import MUTANT
from pytest_killmatrix.harness.documents import items_dropped, keys_dropped
from pytest_killmatrix.harness.markdown import blocks, sections
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.suite import slug
from pytest_killmatrix.harness.variants import AUTO, DENY_RISKY, Variant, skill_name

NOOP: Final = "noop"
DROP_SKILL: Final = "drop-skill"
DROP_INSTRUCTION: Final = "drop-instruction-line"
APPROVALS: Final = "approvals"
_YAML: Final = (".yaml", ".yml")
_MARKDOWN: Final = (".md", ".markdown")

IMPOSSIBLE: Final = {
    "drop-hook": "a suite file describes no hooks",
    "widen-egress": "a suite file describes no rules of egress",
}
"""Operators that are known and make nothing, and why."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A mutant that could be run: ``component`` is part of its name, ``title`` says what was dropped."""

    operator: str
    component: str
    title: str
    variant: Variant


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operator that makes no mutant of this base, and why."""

    operator: str
    reason: str


def propose(base: Variant, operators: Iterable[str], used_skills: Collection[str]) -> list[Proposal | Refusal]:
    """All mutants of a base by these operators; ``used_skills`` are those that its traces name."""
    found: list[Proposal | Refusal] = []
    names: set[str] = set()
    for operator in operators:
        if operator in IMPOSSIBLE:
            found.append(Refusal(operator, IMPOSSIBLE[operator]))
            continue
        for made in OPERATORS[operator](base, used_skills):
            if isinstance(made, Refusal):
                found.append(made)
                continue
            name, number = f"{MUTANT}{operator}-{made.component}", 1
            while name in names:
                number += 1
                name = f"{MUTANT}{operator}-{made.component}-{number}"
            names.add(name)
            found.append(replace(made, variant=made.variant.renamed(name)))
    return found


def dropped_skill(title: str) -> str:
    """The name of the skill that a mutant of ``drop-skill`` with this title drops."""
    return skill_name(title.removeprefix("skill "))


_Made = Iterator[Proposal | Refusal]


def _drop_skill(base: Variant, used: Collection[str]) -> _Made:
    active = base.active_skills
    if active is not None:
        for skill in active:
            kept = tuple(other for other in base.skills or () if other != skill)
            yield Proposal(DROP_SKILL, slug(skill_name(skill)), f"skill {skill}", replace(base, skills=kept))
        if not active:
            yield Refusal(DROP_SKILL, "the base has no skills")
        return
    removed = {skill_name(skill) for skill in base.skills_remove}
    seen = [skill for skill in sorted(used) if skill not in removed]
    for skill in seen:
        dropped = replace(base, skills_remove=(*base.skills_remove, skill))
        yield Proposal(DROP_SKILL, slug(skill), f"skill {skill}", dropped)
    if not seen:
        yield Refusal(DROP_SKILL, "the base names no skills, and no trace of it does: name them, or give --data")


def _drop_instruction(base: Variant, used: Collection[str]) -> _Made:
    count = 0
    for part in blocks(base.instructions):
        count += 1
        dropped = replace(base, instructions=part.dropped_from(base.instructions))
        yield Proposal(DROP_INSTRUCTION, slug(part.title), f"instructions: {part.title}", dropped)
    for part in blocks(base.instructions_append):
        count += 1
        dropped = replace(base, instructions_append=part.dropped_from(base.instructions_append))
        yield Proposal(DROP_INSTRUCTION, slug(part.title), f"instructions_append: {part.title}", dropped)
    if not count:
        yield Refusal(DROP_INSTRUCTION, "the base has no instructions")


def _approvals(base: Variant, used: Collection[str]) -> _Made:
    if base.approvals == DENY_RISKY:
        yield Proposal(APPROVALS, AUTO, f"approvals {DENY_RISKY} (now {AUTO})", replace(base, approvals=AUTO))
    else:
        yield Refusal(APPROVALS, f"the base's approvals are {base.approvals or 'not given'}, not {DENY_RISKY}")


def _noop(base: Variant, used: Collection[str]) -> _Made:
    yield Proposal(NOOP, "control", "nothing", base)


def _drop_list_item(base: Variant, used: Collection[str]) -> _Made:
    return _in_files(
        base, "drop-list-item", _YAML, lambda text, what: [(cut.label, cut.text) for cut in items_dropped(text, what)]
    )


def _drop_key(base: Variant, used: Collection[str]) -> _Made:
    return _in_files(
        base, "drop-key", _YAML, lambda text, what: [(cut.label, cut.text) for cut in keys_dropped(text, what)]
    )


def _drop_section(base: Variant, used: Collection[str]) -> _Made:
    return _in_files(
        base, "drop-section", _MARKDOWN,
        lambda text, what: [(part.title, part.dropped_from(text)) for part in sections(text)],
    )  # fmt: skip


def _in_files(
    base: Variant, operator: str, suffixes: tuple[str, ...], cut: Callable[[str, str], list[tuple[str, str]]]
) -> _Made:
    count = 0
    for place, (name, text) in enumerate(base.files):
        if PurePosixPath(name).suffix.lower() not in suffixes:
            continue
        try:
            parts = cut(text, f"file {name}")
        except HarnessError as error:
            yield Refusal(operator, str(error))
            continue
        for label, left in parts:
            count += 1
            files = (*base.files[:place], (name, left), *base.files[place + 1 :])
            component = slug(f"{PurePosixPath(name).stem}-{label}")
            yield Proposal(operator, component, f"{name}: {label}", replace(base, files=files))
    if not count:
        kind = "YAML" if suffixes == _YAML else "Markdown"
        yield Refusal(operator, f"no {kind} file of the base has one; name files under 'files'")


OPERATORS: Final[dict[str, Callable[[Variant, Collection[str]], _Made]]] = {
    DROP_SKILL: _drop_skill,
    DROP_INSTRUCTION: _drop_instruction,
    APPROVALS: _approvals,
    "drop-section": _drop_section,
    "drop-key": _drop_key,
    "drop-list-item": _drop_list_item,
    NOOP: _noop,
}
