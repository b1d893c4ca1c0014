"""The data plane: a folder of JSON lines with what every trial came to, and its trace.

``DIR/RUNSET/trials/VARIANT/TASK.N.jsonl``: the first line is the trial's record, the others are its spans in order.
A file appears whole or not at all, so that whatever interrupts a run, what is there counts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.harness.reading import HarnessError, write_atomically
from pytest_killmatrix.harness.spans import Span, normal_span

FORMAT: Final = 1


class Outcome(str, Enum):
    """What a trial came to. A fault is the infrastructure's: it says nothing about the harness."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial; ``trial`` counts from 1. Cost is in dollars; it and tokens are None where nothing recorded them.

    ``reason`` says why there was a fault or which graders failed; ``bad_spans`` counts lines of the trace that were no
    JSON objects.
    """

    harness: str
    variant: str
    variant_fingerprint: str
    task: str
    task_fingerprint: str
    trial: int
    outcome: Outcome
    reason: str | None = None
    attempts: int = 1
    started: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tests: Mapping[str, str] = field(default_factory=dict)
    bad_spans: int = 0
    spans: tuple[Span, ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        return self.variant, self.task, self.trial

    @property
    def judged(self) -> bool:
        return self.outcome is not Outcome.FAULT

    @property
    def tokens(self) -> int | None:
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class RunSet:
    """The trials of one plan or of several with the same base: a folder of the data plane."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name

    def exists(self) -> bool:
        return (self.folder / "runset.json").is_file()

    def harness(self) -> str:
        """Whose results these are; a run set is of one harness."""
        try:
            data = json.loads((self.folder / "runset.json").read_text(encoding="utf-8"))
            if data["format"] > FORMAT:
                raise HarnessError(f"the run set {self.folder} is of a newer pytest-killmatrix: upgrade this one")
            return str(data["harness"])
        except (OSError, ValueError, KeyError, TypeError):
            raise HarnessError(f"{self.folder} is no run set; give the name of one, or the folder it is in") from None

    @contextlib.contextmanager
    def claimed(self, harness: str) -> Iterator[None]:
        """Make it if need be, and keep other runs out of it."""
        if self.folder.exists() and not self.exists() and any(self.folder.iterdir()):
            raise HarnessError(f"{self.folder} is no run set and not empty, not touched; give another --set or --data")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HarnessError(f"cannot make {self.folder}: {error.strerror}; give another --data") from None
        if not self.exists():
            write_atomically(self.folder / "runset.json", json.dumps({"format": FORMAT, "harness": harness}) + "\n")
        if self.harness() != harness:
            raise HarnessError(
                f"the run set {self.folder} is of the harness {self.harness()!r}, the plan is for {harness!r}: results "
                "of different harnesses are never pooled; give another --set"
            )
        with open(self.folder / "runset.json", "r+", encoding="utf-8") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise HarnessError(
                    f"another run is using the run set {self.folder}: wait until it ends, or give another --set"
                ) from None
            yield

    def write(self, record: TrialRecord) -> None:
        """Keep a trial, in place of an earlier one of the same name."""
        path = self.folder / "trials" / record.variant / f"{record.task}.{record.trial}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HarnessError(f"cannot make {path.parent}: {error.strerror}; free or give another --data") from None
        data = asdict(replace(record, spans=()))
        del data["spans"]
        lines = [{"kind": "trial", "format": FORMAT, **data, "outcome": record.outcome.value}]
        lines += [{"kind": "span", "name": span.name, "attributes": dict(span.attributes)} for span in record.spans]
        write_atomically(path, "".join(json.dumps(line, default=str) + "\n" for line in lines))

    def records(self) -> list[TrialRecord]:
        """All trials, by variant, task and number."""
        found = [_read_record(path) for path in sorted((self.folder / "trials").glob("*/*.jsonl"))]
        return sorted(found, key=lambda record: record.key)


def run_sets(data: Path) -> list[RunSet]:
    """All run sets of a data plane."""
    if not data.is_dir():
        raise HarnessError(f"there is no data folder {data}; give the one that killmatrix harness run wrote to")
    return [found for found in (RunSet(path) for path in sorted(data.iterdir())) if found.exists()]


def find_run_set(name: str, data: Path) -> RunSet:
    """A run set by its name in the data plane, or by the path of its folder."""
    places = (data / name, Path(name))
    for place in places:
        if RunSet(place).exists():
            return RunSet(place)
    known = [found.name for found in run_sets(data)] if data.is_dir() else []
    hint = f"there are {', '.join(known)}" if known else "make one with killmatrix harness run"
    raise HarnessError(f"there is no run set {name!r} in {data}; {hint}")


def used_skills(records: Sequence[TrialRecord]) -> set[str]:
    """The skills that the traces name."""
    return {span.skill for record in records for span in record.spans if span.skill}


def _read_record(path: Path) -> TrialRecord:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        data = json.loads(lines[0])
        del data["kind"], data["format"]
        spans = [json.loads(line) for line in lines[1:]]
        data["outcome"] = Outcome(data["outcome"])
        return TrialRecord(**data, spans=tuple(normal_span(span) for span in map(_without_kind, spans)))
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise HarnessError(
            f"the trial {path} cannot be read; remove the file, then killmatrix harness run makes it again"
        ) from None


def _without_kind(span: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in span.items() if key != "kind"}
