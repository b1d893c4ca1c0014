"""What the fixtures ``harness_variant`` and ``trial`` give; the standard library and pytest only.

Outside of a trial the first skips its test, and the second records to memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from pytest_killmatrix.harness.spans import COST, INPUT_TOKENS, NAMES, OPERATION, OUTPUT_TOKENS, Span, normal_span
from pytest_killmatrix.harness.variants import Variant

VARIANT: Final = "KILLMATRIX_VARIANT"
TRIAL: Final = "KILLMATRIX_TRIAL"
SPANS: Final = "KILLMATRIX_SPANS"
"""Environment variables that name files: the variant (JSON), the trial (JSON), and the trace (JSON lines to append)."""

FAULT: Final = "fault"


class TrialFault(Exception):
    """The infrastructure failed: the trial says nothing about the harness."""


@dataclass(frozen=True, slots=True)
class TrialTask:
    """The task of a trial; ``files`` are absolute."""

    name: str
    prompt: str | None
    files: tuple[Path, ...]
    assertions: tuple[str, ...]


class Trial:
    """One trial: what it is about, and where its cost, tokens and steps are recorded.

    ``number`` counts from 1. ``seed`` differs from trial to trial and is the same when one is run again. ``directory``
    is empty at the start, the current directory, and gone after the trial.
    """

    def __init__(self, task: TrialTask, number: int, seed: int, directory: Path, trace: Path | None = None) -> None:
        self.task = task
        self.number = number
        self.seed = seed
        self.directory = directory
        self._trace = trace
        self._spans: list[Span] = []

    @property
    def spans(self) -> tuple[Span, ...]:
        """What this process has recorded."""
        return tuple(self._spans)

    def span(self, name: str, **attributes: Any) -> None:
        """Record a step. Short names of attributes (``tool``, ``skill``, ``arguments``, ...) get their full ones."""
        self._record({"name": name, "attributes": attributes})

    def tool(self, tool: str, *, skill: str | None = None, arguments: Any = None, **attributes: Any) -> None:
        """Record that the agent called a tool, of a skill where it was one."""
        called = {OPERATION: "execute_tool", "tool": tool, "skill": skill, "arguments": arguments}
        self._record({"name": f"execute_tool {tool}", "attributes": {**called, **attributes}})

    def usage(
        self, *, input_tokens: int | None = None, output_tokens: int | None = None, cost_usd: float | None = None,
        model: str | None = None,
    ) -> None:  # fmt: skip
        """Record what a request to a model used; calls add up."""
        used = {INPUT_TOKENS: input_tokens, OUTPUT_TOKENS: output_tokens, COST: cost_usd, NAMES["model"]: model}
        self._record({"name": f"chat {model}" if model else "chat", "attributes": {OPERATION: "chat", **used}})

    def fault(self, reason: str) -> NoReturn:
        """Say that the infrastructure failed, and end the test: the trial is run once more, never judged."""
        if self._trace is not None:
            self._trace.with_name(FAULT).write_text(" ".join(reason.split()), encoding="utf-8")
        raise TrialFault(reason)

    def _record(self, data: Mapping[str, Any]) -> None:
        span = normal_span(data)
        self._spans.append(span)
        if self._trace is not None:
            line = json.dumps({"name": span.name, "attributes": dict(span.attributes)}, default=str)
            with open(self._trace, "a", encoding="utf-8") as file:
                file.write(line + "\n")


def current_variant() -> Variant:
    """The variant under test; skips where there is none."""
    place = os.environ.get(VARIANT)
    if not place:
        pytest.skip(f"a grader: it needs a variant of a harness; use killmatrix harness run, or set {VARIANT}")
    try:
        return Variant.from_dict(json.loads(Path(place).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise pytest.UsageError(f"{VARIANT}={place} is no file with a variant: {error}") from None


def current_trial(factory: pytest.TempPathFactory) -> Trial:
    """The trial that this process is; one that records to memory where it is none."""
    place = os.environ.get(TRIAL)
    if not place:
        return Trial(TrialTask("none", None, (), ()), 1, 0, factory.mktemp("trial"))
    data = json.loads(Path(place).read_text(encoding="utf-8"))
    task = data["task"]
    return Trial(
        TrialTask(task["name"], task["prompt"], tuple(Path(name) for name in task["files"]), tuple(task["assertions"])),
        data["trial"], data["seed"], Path(data["directory"]), Path(data["spans"]),
    )  # fmt: skip
