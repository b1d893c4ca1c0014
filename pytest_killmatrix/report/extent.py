"""Which part of all mutants a run speaks of, in words: shards, merged shards."""

from __future__ import annotations

from pytest_killmatrix.analysis.score import Score
from pytest_killmatrix.model import RunInfo
from pytest_killmatrix.report.text import count
from pytest_killmatrix.sharding import in_words, listed, missing


def reference_notes(info: RunInfo) -> list[str]:
    """A line for each way in which the run is not one over all mutants."""
    notes = []
    if info.sample is not None:
        size, frame = info.sample["size"], count(info.sample["frame"], "mutant")
        notes.append(f"sample ({info.sample['asked']}, seed {info.sample['seed']}): {size:,} drawn of {frame} to judge")
    if info.shard is not None and missing(info.shard):
        notes.append(f"{in_words(info.shard)}: a part of {count(info.population, 'mutant')}")
    return notes


def interval_notes(score: Score) -> list[str]:
    """A line for each interval: where the score over all mutants is likely to be, how that is known, the method."""
    notes = [
        f"{name} score over all mutants: {100 * one.low:.1f} to {100 * one.high:.1f} %, level {100 * one.level:g} %"
        for name, one in score.intervals.items()
    ]
    one = next(iter(score.intervals.values()), None)
    if one is not None:
        notes.append(f"{one.method}; unit: the {one.unit}, {one.population:,} in all")
    return notes


def is_partial(info: RunInfo) -> bool:
    """Whether shards were merged of which some are missing or were interrupted."""
    return info.shard is not None and "parts" in info.shard and not info.complete


def unfinished(info: RunInfo) -> str:
    """Why a run is not complete."""
    if not is_partial(info) or info.shard is None:
        return "interrupted: the same command goes on from here"
    absent = missing(info.shard)
    stopped = [part["index"] for part in info.shard["parts"] if not part["complete"]]
    reasons = [f"{listed(absent)} of {info.shard['count']} missing"] if absent else []
    reasons += [f"{listed(stopped)} interrupted"] if stopped else []
    return f"incomplete: {', '.join(reasons)}"
