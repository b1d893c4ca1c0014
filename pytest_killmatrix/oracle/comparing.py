"""One version of a case against another: what a repair did to the oracle. Pure functions."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_killmatrix.oracle.model import Case, Part, Recorded
from pytest_killmatrix.oracle.versions import changed_parts


class Change(str, enum.Enum):
    """What two versions show."""

    SAME = "same tests diverge"
    BROKEN = "other tests diverge though nothing but the wording changed"
    ORACLE = "oracle change"
    FIXTURES = "fixtures added"


@dataclass(frozen=True, slots=True)
class Difference:
    """One finding, in words."""

    kind: Change
    variant: str | None
    text: str


def compare(
    case: Case, before: Recorded, now: Mapping[str, frozenset[str]], tests: tuple[str, ...]
) -> Iterator[Difference]:
    """What became of a case since ``before``; ``now`` says which tests reject which variant (judged by every test)."""
    changed = changed_parts(before.hashes, case.hashes)
    since = f"version {before.version} ({before.origin})"
    then = {name: frozenset(rejectors) for name, rejectors in before.rejected_by}
    texts = changed - {Part.WORDING}
    same: list[str] = []
    others: list[str] = []
    for name, rejectors in now.items():
        if name not in then or before.hashes.of(name) != case.hashes.of(name):
            continue
        if not texts:
            (same if then[name] == rejectors else others).append(name)
        elif then[name] and not rejectors:
            yield Difference(
                Change.ORACLE, name,
                f"{name} was wrong in {since} and is right now: an oracle change, the {_listed(texts)} changed",
            )  # fmt: skip
        elif rejectors and not then[name]:
            yield Difference(
                Change.ORACLE, name,
                f"{name} was right in {since} and is wrong now: an oracle change, the {_listed(texts)} changed",
            )  # fmt: skip
    for name in others:
        gone, come = sorted(then[name] - now[name]), sorted(now[name] - then[name])
        yield Difference(
            Change.BROKEN, name,
            f"{name}: grader, reference, fixtures and variant are byte for byte those of {since}, and other tests "
            f"reject it now (no longer: {', '.join(gone) or 'none'}; new: {', '.join(come) or 'none'}): a test is not "
            "deterministic, or the surroundings changed",
        )  # fmt: skip
    if same and not others and before.version != case.version:
        which = "nothing but the wording" if Part.WORDING in changed else "nothing"
        yield Difference(
            Change.SAME, None,
            f"{which} changed since {since}, and the same tests diverge for {', '.join(same)}: checked",
        )  # fmt: skip
    added = [test for test in tests if test not in before.tests] if before.tests is not None else []
    if Part.FIXTURE in changed or added:
        names = f": {', '.join(added[:5])}{' and more' if len(added) > 5 else ''}" if added else ""
        yield Difference(
            Change.FIXTURES, None,
            f"{len(added)} tests are new since {since}{names}"
            f"{', fixture files changed' if Part.FIXTURE in changed else ''}: the oracle demands more, or other things",
        )  # fmt: skip


def _listed(parts: set[Part]) -> str:
    return " and ".join(sorted(part.value for part in parts))
