"""GitHub: the job's summary page, and annotations on the lines of a pull request."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_killmatrix.model import Cause, Status
from pytest_killmatrix.report.errors import ReportError
from pytest_killmatrix.report.markdown import markdown_chunks
from pytest_killmatrix.report.summary import Listed, Summary, summarize
from pytest_killmatrix.report.text import count, one_line_diff
from pytest_killmatrix.report.why import reason
from pytest_killmatrix.store.reader import Reader

ANNOTATIONS: Final = 10
"""Warnings that GitHub shows of one step."""

SUMMARY_BYTES: Final = 1_000_000
"""GitHub takes 1 MiB for a step; what is above is refused as a whole."""

_HUNK: Final = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_CUT: Final = "\n\n… cut: the whole report is in the sidecar (`killmatrix report`)\n"
Changed = Mapping[str, frozenset[int]]


def write_step_summary(reader: Reader, path: Path) -> None:
    """Append the Markdown report to the step's summary file."""
    document = "".join(markdown_chunks(reader))
    data = document.encode("utf-8", "backslashreplace")
    if len(data) > SUMMARY_BYTES:
        data = data[:SUMMARY_BYTES].rpartition(b"\n")[0] + _CUT.encode()
    with path.open("ab") as file:
        file.write(data + b"\n")


def to_github(reader: Reader, root: Path) -> None:
    """What a step of a workflow leaves behind: its summary, and annotations on standard output.

    Elsewhere the annotations are all there is; a summary file that cannot be written is a ``ReportError``.
    """
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        try:
            write_step_summary(reader, Path(place))
        except OSError as error:
            raise ReportError(
                f"--kill-matrix-github: cannot write the job's summary {place}: {error.strerror}"
            ) from error
    base = base_of(os.environ, reader.info.baseline)
    changed = changed_lines(root, base) if base else {}
    lines = list(annotate(reader, changed, _prefix(root)))
    if lines:
        print("", *lines, sep="\n", flush=True)


def _prefix(root: Path) -> str:
    """What leads from the repository to the project, with a slash at its end; empty where they are the same."""
    workspace, here = os.environ.get("GITHUB_WORKSPACE"), root.resolve()
    if workspace and here != Path(workspace).resolve() and here.is_relative_to(Path(workspace).resolve()):
        return here.relative_to(Path(workspace).resolve()).as_posix() + "/"
    return ""


def annotate(reader: Reader, changed: Changed, prefix: str = "") -> Iterator[str]:
    """Workflow commands: the survivors, those on changed lines first, and how many more there are.

    ``prefix`` leads from the repository's root, to which GitHub's paths are relative, to the project's.
    """
    summary = summarize(reader)
    causes = reader.causes()
    ordered = order(summary, changed, causes)
    for entry in ordered[:ANNOTATIONS]:
        yield _warning(entry, causes.get(entry.index), prefix)
    if len(ordered) > ANNOTATIONS:
        more = len(ordered) - ANNOTATIONS
        there = sum(_is_changed(entry, changed) for entry in ordered[ANNOTATIONS:])
        lines = f", {there:,} of them on changed lines" if changed else ""
        yield f"::notice title=Kill matrix::{count(more, 'more survivor')}{lines}: see the job's summary"


def order(summary: Summary, changed: Changed, causes: Mapping[int, Cause]) -> list[Listed]:
    """Survivors: those on changed lines first, changed strings last, those with a known cause before the others."""
    survivors = [*summary.of(Status.SURVIVED), *summary.string_only]
    return sorted(
        survivors,
        key=lambda entry: (
            not _is_changed(entry, changed),
            entry.mutant.string_only,
            entry.index not in causes,
            entry.mutant.path,
            entry.mutant.line,
            entry.mutant.column,
        ),
    )


def changed_lines(root: Path, ref: str) -> Changed:
    """Lines of the working tree that differ from where it left ``ref``, by path below ``root``; none outside git."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-c", "core.quotePath=false", "diff", "--merge-base", "--unified=0", "--no-color", "--relative",
               "--no-ext-diff", ref, "--", "."]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_diff(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else {}


def parse_diff(diff: str) -> Changed:
    """The new line numbers of a diff without context, by path."""
    found: dict[str, set[int]] = {}
    path: str | None = None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:].rstrip("\t") if line.startswith("+++ b/") else None
        elif path is not None and (hunk := _HUNK.match(line)):
            first, number = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(path, set()).update(range(first, first + number))
    return {path: frozenset(lines) for path, lines in found.items()}


def base_of(environ: Mapping[str, str], baseline: str | None) -> str | None:
    """What the changes are relative to: the baseline, or the branch that a pull request goes into."""
    if baseline:
        return baseline.removeprefix("merge-base:")
    branch = environ.get("GITHUB_BASE_REF")
    return f"origin/{branch}" if branch else None


def _is_changed(entry: Listed, changed: Changed) -> bool:
    lines = changed.get(entry.mutant.path, frozenset())
    return not lines.isdisjoint(range(entry.mutant.line, entry.mutant.end_line + 1))


def _warning(entry: Listed, cause: Cause | None, prefix: str) -> str:
    mutant = entry.mutant
    why = reason(cause) if cause is not None else f"{count(entry.tests, 'test')} ran it, none failed"
    message = f"{one_line_diff(mutant.original, mutant.replacement, 100)}: {why}"
    properties: Sequence[tuple[str, object]] = (
        ("file", prefix + mutant.path),
        ("line", mutant.line),
        ("endLine", mutant.end_line),
        ("title", f"Mutant survived ({mutant.operator})"),
    )
    words = ",".join(f"{name}={_property(str(value))}" for name, value in properties)
    return f"::warning {words}::{_data(message)}"


def _data(text: str) -> str:
    """Escaped as workflow commands want it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
