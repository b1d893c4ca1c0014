"""What the trials that are left will cost, before any of them runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_killmatrix.harness.dataplane import TrialRecord


@dataclass(frozen=True, slots=True)
class Projection:
    """Of ``trials`` out of ``total``; dollars and minutes are None where nothing tells, the sources say what did."""

    trials: int
    total: int
    usd: float | None
    usd_source: str
    minutes: float | None
    minutes_source: str

    def lines(self) -> list[str]:
        done = "" if self.trials == self.total else f", {self.total - self.trials} of {self.total} are there already"
        usd = "unknown" if self.usd is None else f"${self.usd:,.2f}"
        minutes = "unknown" if self.minutes is None else f"{self.minutes:,.1f}"
        return [
            f"trials   {self.trials} to run{done}",
            f"dollars  {usd} ({self.usd_source})",
            f"minutes  {minutes} ({self.minutes_source})",
        ]


def project(
    tasks: Sequence[str], total: int, recorded: Sequence[TrialRecord], workers: int,
    *, cost_usd: float | None, minutes: float | None,
) -> Projection:  # fmt: skip
    """Project the trials of these tasks (one entry each), ``workers`` at once.

    A recorded trial of the base tells about its task; the mean of the tasks that have one stands for the others; what
    the plan says (``cost_usd``, ``minutes``, of one trial) is used where nothing was recorded.
    """
    costs = {record.task: [] for record in recorded}  # type: dict[str, list[float]]
    times = {record.task: [] for record in recorded}  # type: dict[str, list[float]]
    for record in recorded:
        times[record.task].append(record.seconds / 60)
        if record.cost_usd is not None:
            costs[record.task].append(record.cost_usd)
    usd, usd_source = _sum(tasks, costs, cost_usd, "cost_usd")
    took, minutes_source = _sum(tasks, times, minutes, "minutes")
    return Projection(
        len(tasks), total, usd, usd_source, None if took is None else took / max(1, min(workers, len(tasks))),
        f"{minutes_source}; {workers} at once",
    )  # fmt: skip


def _sum(
    tasks: Sequence[str], recorded: dict[str, list[float]], stated: float | None, key: str
) -> tuple[float | None, str]:
    means = {task: fmean(values) for task, values in recorded.items() if values}
    count = sum(len(values) for values in recorded.values())
    if not tasks:
        return 0.0, "nothing to run"
    if means:
        other = fmean(means.values())
        return sum(means.get(task, other) for task in tasks), f"from {count} recorded trials of the base"
    if stated is not None:
        return stated * len(tasks), f"{key} in the plan"
    return None, f"no trial of the base recorded it, and the suite file has no {key}"
