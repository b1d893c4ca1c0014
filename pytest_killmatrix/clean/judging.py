"""Which tests may judge a mutant: those whose clean runs agree and pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from pytest_killmatrix.child.recollect import Identity
from pytest_killmatrix.clean.outcomes import Observed
from pytest_killmatrix.model import Clean, Excluded, Test

_UNUSABLE: Final = {
    Clean.FAILED: Excluded.FAILED,
    Clean.ERROR: Excluded.ERROR,
    Clean.SKIPPED: Excluded.SKIPPED,
    Clean.UNCOLLECTABLE: Excluded.UNCOLLECTABLE,
}


def clean_tests(
    items: Sequence[pytest.Item], names: Sequence[Identity], observed: Mapping[str, Observed]
) -> list[Test]:
    """One Test an item, from the parent's own loop."""
    tests = []
    for item, name in zip(items, names, strict=True):
        seen = observed.get(item.nodeid)
        if seen is None:
            tests.append(Test(item.nodeid, name[0], Clean.SKIPPED, excluded=Excluded.SKIPPED, message="did not run"))
            continue
        tests.append(
            Test(item.nodeid, name[0], seen.clean, seen.seconds, _UNUSABLE.get(seen.clean), message=seen.message)
        )
    return tests


def exclude_differing(tests: Sequence[Test], fresh: Mapping[int, Observed]) -> None:
    """Mark as flaky what another whole run, under another hash seed, saw otherwise."""
    for index, test in enumerate(tests):
        other = fresh.get(index)
        if test.excluded is Excluded.UNCOLLECTABLE:
            continue
        if test.excluded is Excluded.SKIPPED and other is None:
            continue
        if other is None:
            test.excluded, test.message = Excluded.FLAKY, "is not collected under another hash seed"
        elif other.clean is not test.clean:
            test.excluded = Excluded.FLAKY
            test.message = f"{test.clean.value}, then {other.clean.value} in a second run of the same suite"
