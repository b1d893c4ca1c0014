"""Spans: the steps of an agent as a trace has them. The standard library only: graders write them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOOL: Final = "gen_ai.tool.name"
SKILL: Final = "skill_name"
OPERATION: Final = "gen_ai.operation.name"
COST: Final = "cost_usd"

NAMES: Final = {
    "tool": TOOL,
    "skill": SKILL,
    "gen_ai.skill.name": SKILL,
    "operation": OPERATION,
    "agent": "gen_ai.agent.name",
    "model": "gen_ai.request.model",
    "arguments": "gen_ai.tool.call.arguments",
    "result": "gen_ai.tool.call.result",
    "input_tokens": INPUT_TOKENS,
    "output_tokens": OUTPUT_TOKENS,
}
"""Short names of attributes, and those of the OpenTelemetry conventions for generative AI where there are any."""

_SUMMARY: Final = ("invoke_agent", "invoke_workflow")  # spans that sum up what others have


@dataclass(frozen=True, slots=True)
class Span:
    """One step of an agent, with attributes by their full names."""

    name: str
    attributes: Mapping[str, Any]

    @property
    def tool(self) -> str | None:
        value = self.attributes.get(TOOL)
        return None if value is None else str(value)

    @property
    def skill(self) -> str | None:
        value = self.attributes.get(SKILL)
        return None if value is None else str(value)


def normal_span(data: Mapping[str, Any]) -> Span:
    """A span as somebody wrote it: attributes apart or beside the name, by short or full names.

    They may be a list of keys and values, as in OpenTelemetry's own JSON, and what concerns the tool a mapping in it.
    """
    beside = {key: value for key, value in data.items() if key not in ("name", "attributes")}
    found = {**beside, **_as_mapping(data.get("attributes"))}
    tool = found.get("tool")
    if isinstance(tool, Mapping):
        del found["tool"]
        called = {"name": TOOL, "skill": SKILL, "arguments": NAMES["arguments"], "result": NAMES["result"]}
        found |= {called.get(key, f"gen_ai.tool.{key}"): value for key, value in tool.items()}
    attributes = {NAMES.get(key, key): value for key, value in found.items() if value is not None}
    arguments = attributes.get(NAMES["arguments"])
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            attributes[NAMES["arguments"]] = json.loads(arguments)
    return Span(str(data.get("name") or attributes.get(TOOL) or ""), attributes)


def _as_mapping(raw: Any) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return raw
    found: dict[str, Any] = {}
    for entry in raw if isinstance(raw, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("key"), str):
            value = entry.get("value")
            if isinstance(value, Mapping) and len(value) == 1:  # {"stringValue": "x"}
                ((kind, value),) = value.items()
                value = int(value) if kind == "intValue" and str(value).lstrip("-").isdigit() else value
            found[entry["key"]] = value
    return found


def read_spans(path: Path) -> tuple[tuple[Span, ...], int]:
    """The spans of a trace, and how many of its lines were no spans."""
    spans, bad = [], 0
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                data = None
            if isinstance(data, dict):
                spans.append(normal_span(data))
            else:
                bad += 1
    return tuple(spans), bad


def total(spans: Iterable[Span], attribute: str) -> float | None:
    """The sum of a number over a trace; of spans that sum up others only where those others say nothing."""
    values: dict[bool, list[float]] = {False: [], True: []}
    for span in spans:
        value = span.attributes.get(attribute)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf"):
            values[span.attributes.get(OPERATION) in _SUMMARY].append(value)
    chosen = values[False] or values[True]
    return sum(chosen) if chosen else None
