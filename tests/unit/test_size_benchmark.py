"""The benchmark of size, on a size that takes seconds: that it measures, and that its limits can be missed."""

from __future__ import annotations

import importlib
import itertools
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="benchmarks are not in the distribution")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.lengthy
def test_it_measures(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "size.py"), "--mutants=300", "--tests=40", "--cells=5"]
    done = subprocess.run([*command, f"--keep={tmp_path / 'a.sqlite'}"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("300 mutants, 40 tests, ")
    names = [line.split()[0] for line in lines[1:]]
    assert names[:9] == [
        "planning", "written", "sidecar", "memory", "report", "show", "test", "runs", "redundant"
    ]  # fmt: skip
    assert (tmp_path / "a.sqlite").is_file()


def test_limits_can_be_missed(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    size = module("size")
    cpu = {"writing": 1.0, "planning": 1.0}
    kept = {"mutants": 1, "tests": 1, "cells": 2_000_000, "cpu": cpu, "reading_cpu": {}, "reach": 1.0, "judging": 1.0}
    kept |= {"planning": 10.0, "written": 1e5, "sidecar": 40.0, "memory": 500.0}
    kept |= {"report": 2.0, "show": 0.4, "test": 1.0, "runs": 1.0, "redundant": 1.0}
    assert size.show(kept) == []
    worse = {"planning": 10.1, "written": 99_999.0, "sidecar": 40.1, "memory": 501.0, "report": 2.1, "show": 0.5}
    assert size.show({**kept, **worse}) == list(worse)
    assert capsys.readouterr().out.count("MISSED") == len(worse)


def test_the_chart_is_drawn_from_what_is_stored(module: Any) -> None:
    explanation = ROOT / "docs" / "explanation"
    drawn = module("chart").draw(json.loads((explanation / "size.json").read_text("utf-8")))
    assert drawn == (explanation / "size.svg").read_text("utf-8")
    labels = [element.text for element in ET.fromstring(drawn).iter() if element.tag.endswith("text")]
    assert {"Mutants", "Tests", "Workers"} <= set(labels)


def test_labels_do_not_lie_on_each_other(module: Any) -> None:
    chart = module("chart")
    lines = [chart.Series(str(y), "a", [(1.0, 1.0)]) for y in range(6)]
    for ys in ([200, 201, 202, 203, 204, 205], [371, 372, 372, 372, 372, 372]):
        placed = [y for y, _ in chart._apart(list(zip(ys, lines, strict=True)))]
        assert all(b - a >= chart.LABEL_APART for a, b in itertools.pairwise(placed))
        assert max(placed) <= chart.BOTTOM
