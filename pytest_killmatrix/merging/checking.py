"""Whether shards are parts of one run, and what that run is: decided before anything is written.

What is made of a set of shards depends on the set alone: not on the order in which they are named, nor on whether some
were merged before (each keeps what stood in its own run, as a *part*).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.model import RunInfo, Test
from pytest_killmatrix.sharding import listed, missing
from pytest_killmatrix.store.reader import Reader

TestName = tuple[str, tuple[str, ...], int]
"""What a test is known by: node id, suites, and which of those with the same."""

_OF_ITS_OWN: Final = ("started", "seconds", "complete", "fingerprint", "cpu", "noop_kills", "routes", "notes")
_SHOWN: Final = 60  # characters of a value in a message


class MergeError(Exception):
    """These runs are not parts of one; the message is one line and says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """One run of a sidecar: what it says of itself, its tests in their order, the hashes of the mutated files."""

    path: Path
    run: int
    info: RunInfo
    tests: tuple[Test, ...]
    files: Mapping[str, str]

    @property
    def shard(self) -> dict[str, Any]:
        """What ``RunInfo.shard`` says; MergeError where the run is one over all mutants."""
        if self.info.shard is None:
            raise MergeError(f"{self.path} holds a run over all mutants (made without --kill-matrix-shard): no shard")
        return self.info.shard

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The shards in it, each with what stood in its own run."""
        if "parts" in self.shard:
            return list(self.shard["parts"])
        own = {name: getattr(self.info, name) for name in _OF_ITS_OWN}
        return [{"index": self.shard["index"], "run": self.info.id, **own}]


@dataclass(frozen=True, slots=True)
class Joint:
    """The run that shards are parts of.

    ``takes`` are the sources with the shards that are taken from each; ``tests`` all tests, and ``places`` where those
    of each source, in the order of ``takes``, are among them.
    """

    info: RunInfo
    tests: tuple[Test, ...]
    takes: tuple[tuple[Source, frozenset[int]], ...]
    places: tuple[tuple[int, ...], ...]


def read_source(path: Path) -> Source:
    """The newest run of a sidecar."""
    with Reader(path) as reader:
        files: dict[str, str] = dict(reader.query("SELECT path, sha256 FROM files WHERE run = ?", reader.run))
        return Source(path, reader.run, reader.info, tuple(reader.tests()), files)


def joined(sources: Sequence[Source], *, partial: bool = False) -> Joint:
    """The run that these make; MergeError where they are no shards of one run, or where shards are missing."""
    first = sources[0]
    for source in sources:
        _refuse_difference(first, source)
    parts, takes = _parts(sources)
    takes.sort(key=lambda take: min(take[1]))  # where they may differ, the lowest shard has the word
    shard = {"count": first.shard["count"], "tree": takes[0][0].shard["tree"], "parts": parts}
    if not partial:
        _refuse_gaps(shard)
    tests, places = _tests([source for source, _ in takes])
    return Joint(_info(shard, [source.info for source, _ in takes]), tests, tuple(takes), places)


# -- whether they belong together ----------------------------------------------------------------------------------


def _refuse_difference(one: Source, other: Source) -> None:
    facts, others = _reference(one), _reference(other)
    for fact, value in facts.items():
        if others.get(fact) != value:
            raise MergeError(
                f"{one.path} and {other.path} are not parts of one run: {fact} {_brief(value)} and "
                f"{_brief(others.get(fact))}"
            )
    named, known = _named(one.tests), _named(other.tests)
    if named.keys() != known.keys():
        odd = min(named.keys() ^ known.keys())[0]
        which, lacks = (one, other) if any(name[0] == odd for name in named.keys() - known.keys()) else (other, one)
        raise MergeError(f"{which.path} and {lacks.path} do not have the same tests: only the first has {odd}")
    for name, test in named.items():
        if (test.excluded is None) != (known[name].excluded is None):
            why = test.excluded or known[name].excluded
            out, judges = (one, other) if test.excluded is not None else (other, one)
            raise MergeError(
                f"the test {name[0]} is left out in {out.path} ({why.value if why else ''}) and judges in "
                f"{judges.path}: make it steady, or deselect it in every shard"
            )


def _reference(source: Source) -> dict[str, Any]:
    """What has to be the same in all parts of one run."""
    info = source.info
    by_commit = info.commit is not None and not info.dirty
    return {
        "shards in all": source.shard["count"],
        "commit": info.commit,
        "changes that are not committed": info.dirty,
        "files that no commit vouches for": None if by_commit else source.shard["tree"],
        "python": info.python,
        "platform": info.platform,
        "scope": info.scope,
        "baseline": info.baseline,
        **{f"option {name}": value for name, value in info.options.items() if name != "shard"},
        "options": sorted(name for name in info.options if name != "shard"),
        "sample": info.sample,
        "mutants in all": info.population,
        "mutated files": source.files,
    }


def _brief(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _parts(sources: Iterable[Source]) -> tuple[list[dict[str, Any]], list[tuple[Source, frozenset[int]]]]:
    """All shards by index, and which source gives which; one that is there twice is taken once."""
    owners: dict[int, tuple[Source, dict[str, Any]]] = {}
    takes = []
    for source in sources:
        fresh = set()
        for part in source.parts:
            index = part["index"]
            if index not in owners:
                owners[index] = source, part
                fresh.add(index)
                continue
            owner, known = owners[index]
            if known["run"] != part["run"]:
                raise MergeError(
                    f"{owner.path} and {source.path} overlap: both hold shard {index}, from different runs; "
                    "leave one out"
                )
            if known != part:
                raise MergeError(
                    f"{owner.path} and {source.path} hold shard {index} as it was at different times of one run; give "
                    "the newer one only"
                )
        if fresh:
            takes.append((source, frozenset(fresh)))
    return [owners[index][1] for index in sorted(owners)], takes


def _refuse_gaps(shard: Mapping[str, Any]) -> None:
    absent = missing(shard)
    if absent:
        raise MergeError(
            f"{listed(absent)} of {shard['count']} missing; add their sidecars, or merge what there is with --partial"
        )
    stopped = [part["index"] for part in shard["parts"] if not part["complete"]]
    if stopped:
        raise MergeError(
            f"{listed(stopped)} of {shard['count']} was interrupted; run it to its end, or merge what there is with "
            "--partial"
        )


# -- what they make ------------------------------------------------------------------------------------------------


def _named(tests: Iterable[Test]) -> dict[TestName, Test]:
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    found: dict[TestName, Test] = {}
    for test in tests:
        same = test.nodeid, test.suite
        found[test.nodeid, test.suite, seen[same]] = test
        seen[same] += 1
    return found


def _tests(sources: Sequence[Source]) -> tuple[tuple[Test, ...], tuple[tuple[int, ...], ...]]:
    """All tests, in the order of the first source, and where those of each source are among them."""
    named = [_named(source.tests) for source in sources]
    place = {name: index for index, name in enumerate(named[0])}
    tests = tuple(_test([one[name] for one in named]) for name in named[0])
    return tests, tuple(tuple(place[name] for name in one) for one in named)


def _test(seen: Sequence[Test]) -> Test:
    """A test as all shards saw it."""
    return replace(
        seen[0],
        seconds=max(test.seconds for test in seen),
        parallel_safe=all(test.parallel_safe for test in seen),
        needs_predecessors=any(test.needs_predecessors for test in seen),
        message=next((test.message for test in seen if test.message is not None), None),
    )


def _info(shard: dict[str, Any], infos: Sequence[RunInfo]) -> RunInfo:
    parts, first = shard["parts"], infos[0]
    cpu: Counter[str] = Counter()
    for part in parts:
        cpu.update(part["cpu"])
    seeds = {info.hash_seed for info in infos}
    identity = json.dumps([(part["index"], part["run"], part["complete"], part["seconds"]) for part in parts])
    return replace(
        first,
        id=hashlib.sha256(identity.encode()).hexdigest()[:12],
        started=min(part["started"] for part in parts),
        seconds=max(part["seconds"] for part in parts),  # jobs run beside one another
        hash_seed=seeds.pop() if len(seeds) == 1 else None,
        complete=not missing(shard) and all(part["complete"] for part in parts),
        fingerprint=hashlib.sha256("".join(part["fingerprint"] for part in parts).encode()).hexdigest(),
        options={name: value for name, value in first.options.items() if name != "shard"},
        cpu=dict(cpu),
        noop_kills=list(dict.fromkeys(name for part in parts for name in part["noop_kills"])),
        routes=_routes(parts),
        notes=list(dict.fromkeys(note for part in parts for note in part["notes"])),
        shard=shard,
    )


def _routes(parts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The controls' verdict on each route: the worst of any shard; exercised where it was in one."""
    found: dict[str, str] = {}
    for part in parts:
        for route, verdict in part["routes"].items():
            known = found.get(route)
            if known is None or known == "not exercised" or (known == "ok" and verdict != "not exercised"):
                found[route] = verdict
    return found
