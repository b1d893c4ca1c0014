"""What a run comes to in the end: gates, contradictions, and the exit status that it alone would have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_killmatrix.model import RunInfo
from pytest_killmatrix.oracle.reporting import Audited, outcome_of
from pytest_killmatrix.report.thresholds import passed_for_lack, unmet, unmet_gains
from pytest_killmatrix.settings import Settings
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar

_FAILED: Final = 1
_OUR_FAULT: Final = 3
_USAGE: Final = 4
_NOTHING: Final = 5


def conclude(settings: Settings, sidecar: Sidecar, run: int, info: RunInfo, contradictions: Sequence[str]) -> int:
    """Store that the run is finished; its exit status. ``contradictions`` are declarations that a test disproved."""
    with Reader(settings.sidecar, run) as reader:
        judged = reader.score()
        audited = outcome_of(reader)
    # a threshold is one of the whole run: `killmatrix merge --fail-under`
    failures = unmet(settings.fail_under, judged) if settings.generate and settings.shard is None else []
    if info.delta is not None:
        failures += unmet_gains(settings, info.delta)
        if (word := passed_for_lack(settings, info.delta)) is not None:
            info.notes.append(word)
    info.notes.extend(contradictions)
    sidecar.finish_run(run, info)
    broken = audited is Audited.INSTRUMENT or any(state.startswith("failed") for state in info.routes.values())
    if broken or info.noop_kills:
        return _OUR_FAULT
    if contradictions:
        return _USAGE
    if failures or audited is Audited.DEFECTS:
        return _FAILED
    # that a shard has nothing to judge says nothing of the others
    judges = judged.detection.denominator or audited is Audited.CLEAN or settings.shard is not None
    return 0 if judges else _NOTHING
