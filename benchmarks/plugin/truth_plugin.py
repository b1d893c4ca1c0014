"""A pytest plugin for ``verify.py``: runs the tests asked for, and writes down what pytest said of them.

Loaded with ``-p truth_plugin`` into plain pytest. It changes nothing but which items are run. ``TRUTH_REQUEST`` names a
JSON file ``{"out": PATH, "root": PATH, "file": relative path or null, "want": [[base, index], ...] or null}``; ``base``
is a node id less its parameters and ``index`` counts the items of that base, because ids may change under a mutant.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

REQUEST = json.loads(Path(os.environ["TRUTH_REQUEST"]).read_text(encoding="utf-8"))
SEEN: dict[str, dict[str, object]] = {}
NAMES: dict[str, tuple[str, int]] = {}
ERRORS: list[str] = []
ORDER: list[tuple[str, str, int]] = []


def base_of(item: pytest.Item) -> str:
    call = getattr(item, "callspec", None)
    suffix = f"[{call.id}]" if call is not None else ""
    return item.nodeid[: -len(suffix)] if suffix and item.nodeid.endswith(suffix) else item.nodeid


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    count: dict[str, int] = {}
    keep: list[pytest.Item] = []
    drop: list[pytest.Item] = []
    want = None if REQUEST["want"] is None else {(base, index) for base, index in REQUEST["want"]}
    for item in items:
        base = base_of(item)
        index = count.get(base, 0)
        count[base] = index + 1
        ORDER.append((item.nodeid, base, index))
        NAMES[item.nodeid] = (base, index)
        (keep if want is None or (base, index) in want else drop).append(item)
    if drop:
        items[:] = keep
        config.hook.pytest_deselected(items=drop)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        ERRORS.append(f"{report.nodeid}: {report.longrepr}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    report = yield
    if call.excinfo is not None and report.failed:
        report.truth_exception = call.excinfo.type.__name__
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seen = SEEN.setdefault(
        report.nodeid, {"outcome": "passed", "exception": None, "seconds": 0.0, "text": "", "done": False}
    )
    seen["seconds"] = float(str(seen["seconds"])) + getattr(report, "duration", 0.0)
    seen["done"] = report.when == "teardown"
    expected = hasattr(report, "wasxfail")
    if report.failed and seen["outcome"] != "failed":
        seen["outcome"] = "failed"
        seen["exception"] = getattr(report, "truth_exception", None)
        seen["text"] = report.longreprtext[-1500:]
    elif report.skipped and not expected and seen["outcome"] == "passed" and report.when != "teardown":
        if type(report).__name__ != "SubtestReport":  # one skipped subtest does not skip its test
            seen["outcome"] = "skipped"
    elif expected:
        seen["xfail"] = "xfailed" if report.skipped else "xpassed"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    root = os.path.realpath(REQUEST["root"])
    wanted, foreign, imported = REQUEST["file"], [], False
    if wanted is not None:
        expected = os.path.join(root, wanted)
        tail = "/" + (wanted[4:] if wanted.startswith("src/") else wanted)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str):
                file = os.path.realpath(file)
                imported |= file == expected
                if file != expected and file.endswith(tail) and "/" in tail[1:]:
                    foreign.append(file)
    result = {
        "exit": int(exitstatus),
        "items": [[*NAMES.get(nodeid, (nodeid, 0)), seen] for nodeid, seen in SEEN.items()],
        "order": ORDER if REQUEST["want"] is None else [],
        "errors": ERRORS,
        "imported": imported,
        "foreign": foreign,
        "threads": threading.active_count(),
    }
    Path(REQUEST["out"]).write_text(json.dumps(result), encoding="utf-8")
