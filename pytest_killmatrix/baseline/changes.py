"""Which tests of two suites are the same, and what became of the others: pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_killmatrix.baseline.fingerprints import Fingerprint

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
RENAMED: Final = "renamed"
UNCHANGED: Final = "unchanged"


@dataclass(frozen=True, slots=True)
class Known:
    """A collected test: its node id and what it is."""

    nodeid: str
    fingerprint: Fingerprint

    @property
    def function(self) -> str:
        """The node id without parameters."""
        return self.nodeid.partition("[")[0]

    @property
    def parameters(self) -> str:
        return self.nodeid[len(self.function) :]


@dataclass(slots=True)
class Changes:
    """What became of every test, by its index in its suite.

    ``pairs`` leads from an old test to the new one that has its node id or, where it was renamed, its code; ``shared``
    are the old tests whose outcomes cannot differ from those of their pair.
    """

    new: list[str]
    old: list[str]
    pairs: dict[int, int] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)

    def demand(self, indexes: Iterable[int]) -> None:
        """These old tests are not known to be the same after all."""
        for index in indexes:
            if index in self.shared:
                self.shared.discard(index)
                if self.old[index] == UNCHANGED:
                    self.old[index] = self.new[self.pairs[index]] = CHANGED


def compare(new: Sequence[Known], old: Sequence[Known]) -> Changes:
    """Tell unchanged, changed, renamed, added and removed tests apart."""
    changes = Changes([ADDED] * len(new), [REMOVED] * len(old))
    by_name = {test.nodeid: index for index, test in enumerate(new)}
    for index, test in enumerate(old):
        other = by_name.get(test.nodeid)
        if other is None or new[other].nodeid != test.nodeid:
            continue
        changes.pairs[index] = other
        same = new[other].fingerprint == test.fingerprint
        changes.old[index] = changes.new[other] = UNCHANGED if same else CHANGED
        if same:
            changes.shared.add(index)
    _match_renamed(changes, new, old, lambda test: (test.fingerprint.body, test.parameters))
    _match_renamed(changes, new, old, lambda test: (test.fingerprint.body, test.function))
    return changes


def _match_renamed(
    changes: Changes, new: Sequence[Known], old: Sequence[Known], key: Callable[[Known], tuple[str, str]]
) -> None:
    """Pair what is gone with what is there under another node id, in order, where there are as many of the one."""
    gone: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    come: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, test in enumerate(old):
        if changes.old[index] == REMOVED:
            gone[key(test)].append(index)
    for index, test in enumerate(new):
        if changes.new[index] == ADDED:
            come[key(test)].append(index)
    for name, before in gone.items():
        after = come.get(name, [])
        if len(before) != len(after):
            continue
        for index, other in zip(before, after, strict=True):
            changes.pairs[index] = other
            changes.old[index] = changes.new[other] = RENAMED
