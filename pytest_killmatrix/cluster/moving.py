"""Tasks and results where the project lies elsewhere: paths from the controller's tree to the session's, and back."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, replace
from typing import Any

from pytest_killmatrix.cluster.messages import Brought
from pytest_killmatrix.executor.pool import Found, TaskResult
from pytest_killmatrix.executor.protocol import Task


@dataclass(frozen=True, slots=True)
class Moving:
    """The project's directory here (at the controller) and there (at the session)."""

    here: str
    there: str

    def path(self, path: str) -> str:
        """A path there; one that is not in the project is the same everywhere."""
        inside = self.here + os.sep
        return self.there + os.sep + path.removeprefix(inside) if path.startswith(inside) else path

    def task(self, task: Task) -> Task:
        """A task there, whose child waits for no more of its mutant: that may be given to another worker."""
        splice = task.splice
        return replace(
            task,
            swaps=tuple(replace(swap, path=self.path(swap.path)) for swap in task.swaps),
            splice=None if splice is None else replace(splice, path=self.path(splice.path)),
            hold=False,
        )

    def text(self, text: str | None) -> str | None:
        """What is said there, as it would have been said here."""
        return text if text is None or self.here == self.there else text.replace(self.there, self.here)

    def brought(self, result: TaskResult) -> Brought:
        """A result, on its way back."""
        values: dict[str, Any] = {
            field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name != "task"
        }
        for name in ("obstacle", "invalid", "fault"):
            values[name] = self.text(values[name])
        values["found"] = [self._found(found) for found in result.found]
        return Brought(result.task.id, values)

    def _found(self, found: Found) -> Found:
        if self.here == self.there:
            return found
        return replace(found, message=self.text(found.message), raised_at=self.text(found.raised_at))


def taken(task: Task, brought: Brought) -> TaskResult:
    """The result of a task that ran elsewhere."""
    return TaskResult(task, **brought.values)
