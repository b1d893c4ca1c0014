"""The record of a version, as it is kept in the variants file."""

from __future__ import annotations

import yaml

from pytest_killmatrix.oracle.model import Case, Recorded
from pytest_killmatrix.oracle.versions import changed_parts


def entry_of(case: Case, found: Recorded | None) -> str:
    """YAML for ``versions``: hashes and kinds as they are now, and what was found out where that is about the same."""
    hashes = case.hashes
    entry: dict[str, object] = {
        "version": case.version,
        "hashes": {
            "task": hashes.task,
            "grader": hashes.grader,
            "fixtures": hashes.fixtures,
            "reference": hashes.reference,
            "variants": dict(hashes.variants),
        },
        "kinds": {variant.name: variant.kind.value for variant in case.variants},
    }
    if found is not None and is_same(case, found):
        entry["rejected_by"] = {name: list(tests) for name, tests in found.rejected_by}
        entry["tests"] = list(found.tests or ())
    text: str = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=110)
    return text


def is_same(case: Case, found: Recorded) -> bool:
    """Whether a run was about the case just as it is now."""
    hashes = dict(found.hashes.variants) == dict(case.hashes.variants)
    return found.version == case.version and hashes and not changed_parts(found.hashes, case.hashes)
