"""Specs: what the trace of a trial has to show, whatever the graders say.

The four forms are the patterns of Dwyer, Avrunin and Corbett (1999) over the spans of one trial: existence
(``eventually``), absence (``never``), universality (``always``) and precedence (``before``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.harness.reading import Fields, HarnessError, parse_yaml, read_text
from pytest_killmatrix.harness.spans import NAMES, OPERATION, SKILL, TOOL, Span

FORMS: Final = ("eventually", "never", "always", "before")
_TOOL_KEYS: Final = {"name": TOOL, "skill": SKILL}

Pattern = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Clause:
    """One form of a spec. ``first`` is the condition: of ``before`` what has to come first, of ``always`` its when."""

    form: str
    pattern: Pattern
    first: Pattern | None = None

    def holds(self, spans: Sequence[Span]) -> bool:
        """Whether the trace of one trial satisfies it."""
        if self.form == "eventually":
            return any(matches(span, self.pattern) for span in spans)
        if self.form == "never":
            return not any(matches(span, self.pattern) for span in spans)
        if self.form == "always":
            return all(matches(span, self.pattern) for span in spans if self.first is None or matches(span, self.first))
        for span in spans:  # before: whichever of the two comes first decides
            if self.first is not None and matches(span, self.first):
                return True
            if matches(span, self.pattern):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Spec:
    """A named spec: all its clauses hold. ``tasks`` are globs; none means every task."""

    name: str
    clauses: tuple[Clause, ...]
    tasks: tuple[str, ...] = ()
    description: str | None = None

    def holds(self, spans: Sequence[Span]) -> bool:
        """Whether the trace of one trial satisfies it."""
        return all(clause.holds(spans) for clause in self.clauses)

    def applies_to(self, task: str) -> bool:
        return not self.tasks or any(fnmatchcase(task, glob) for glob in self.tasks)


def matches(span: Span, pattern: Pattern) -> bool:
    """Whether a span has everything that a pattern asks for."""
    return all(_key_matches(span, key, wanted) for key, wanted in pattern.items())


def _key_matches(span: Span, key: str, wanted: Any) -> bool:
    if key == "tool":
        if not isinstance(wanted, Mapping):
            return _value_matches(span.tool, wanted)
        called = span.tool or span.skill or span.attributes.get(OPERATION) == "execute_tool"
        return bool(called) and all(_tool_key_matches(span, inner, value) for inner, value in wanted.items())
    if key == "name":
        return _value_matches(span.name, wanted)
    return _attribute_matches(span.attributes, NAMES.get(key, key), wanted)


def _tool_key_matches(span: Span, key: str, wanted: Any) -> bool:
    known = _TOOL_KEYS.get(key) or NAMES.get(key)
    if known is None:
        known = next(
            (name for name in (f"gen_ai.tool.{key}", f"gen_ai.tool.call.{key}") if name in span.attributes), key
        )
    return _attribute_matches(span.attributes, known, wanted)


def _attribute_matches(attributes: Mapping[str, Any], name: str, wanted: Any) -> bool:
    """``a: {b: 1}`` asks for the attribute ``a.b``, or for ``b`` within the attribute ``a``."""
    if name in attributes:
        return _value_matches(attributes[name], wanted)
    if isinstance(wanted, Mapping):
        return bool(wanted) and all(
            _attribute_matches(attributes, f"{name}.{key}", value) for key, value in wanted.items()
        )
    return _value_matches(None, wanted)


def _value_matches(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_value_matches(value.get(key), want) for key, want in wanted.items())
    if isinstance(wanted, list):
        return any(_value_matches(value, one) for one in wanted)
    if isinstance(value, list):
        return any(_value_matches(one, wanted) for one in value)
    if isinstance(wanted, str) and isinstance(value, str):
        return fnmatchcase(value, wanted.replace("[", "[[]"))
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return bool(value == wanted)


def named_skills(spec: Spec) -> set[str]:
    """The skills that a spec asks for by name."""
    return {
        skill
        for clause in spec.clauses
        for pattern in (clause.pattern, clause.first or {})
        for skill in _skills(pattern)
        if not set("*?") & set(skill)
    }


def _skills(pattern: Any) -> Iterator[str]:
    if not isinstance(pattern, Mapping):
        return
    for key, value in pattern.items():
        if key in ("skill", SKILL):
            yield from (str(one) for one in (value if isinstance(value, list) else [value]))
        else:
            yield from _skills(value)


def read_specs(path: Path) -> tuple[Spec, ...]:
    """Read and check a file of specs: a list, or a mapping with the list under ``specs``."""
    where = f"specs {path}"
    data = parse_yaml(read_text(path, "file of specs"), where)
    if isinstance(data, list):
        data = {"specs": data}
    fields = Fields(data, where)
    specs = tuple(_spec(entry) for entry in fields.mappings("specs"))
    fields.done()
    if not specs:
        raise HarnessError(f"{where}: no spec; list some under 'specs', each with a name and one of {', '.join(FORMS)}")
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HarnessError(f"{where}: two specs are named {twice!r}; give each its own name")
    return specs


def _spec(entry: Fields) -> Spec:
    name = str(entry.needed("name"))
    clauses = tuple(_clause(entry, form) for form in FORMS if form in entry)
    for form in FORMS:
        entry.any(form)
    spec = Spec(name, clauses, entry.texts("tasks"), entry.text("description"))
    entry.done()
    if not clauses:
        raise HarnessError(f"{entry.where}: {name!r} asks for nothing; give it one of {', '.join(FORMS)}")
    return spec


def _clause(entry: Fields, form: str) -> Clause:
    value = entry.any(form)
    if form == "before":
        if isinstance(value, list) and len(value) == 2:
            value = {"first": value[0], "then": value[1]}
        if not isinstance(value, dict) or set(value) != {"first", "then"}:
            raise entry.error(form, "two patterns are needed: {first: PATTERN, then: PATTERN}")
        return Clause(form, _pattern(entry, form, value["then"]), _pattern(entry, form, value["first"]))
    if form == "always" and isinstance(value, dict) and "then" in value:
        if set(value) - {"when", "then"}:
            raise entry.error(form, "a pattern is needed, or {when: PATTERN, then: PATTERN}")
        when = None if value.get("when") is None else _pattern(entry, form, value["when"])
        return Clause(form, _pattern(entry, form, value["then"]), when)
    return Clause(form, _pattern(entry, form, value))


def _pattern(entry: Fields, form: str, value: Any) -> Pattern:
    if not isinstance(value, dict) or not value:
        raise entry.error(form, "a pattern is needed, such as {tool: {name: run_tests}}")
    if any(not isinstance(key, str) for key in value):
        raise entry.error(form, "the keys of a pattern are texts; put them in quotes")
    return value
