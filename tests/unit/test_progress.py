from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.report.progress import Progress, ProgressWriter, clock_time


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_comes_from_the_cost_done() -> None:
    clock = Clock()
    progress = Progress(cells=1000, weight=50.0, clock=clock)
    assert progress.text() == "kill matrix   0%, estimating, 0 of 1,000 cells"
    clock.now += 10
    progress.advance(900, 10.0)  # many cheap cells: most of the cost is ahead
    assert progress.seconds_left() == pytest.approx(40.0)
    assert progress.text() == "kill matrix  20%, 0:40 left, 900 of 1,000 cells"
    progress.advance(100, 40.0)
    assert progress.seconds_left() == 0.0
    assert progress.text() == "kill matrix 100%, running again what decides, 1,000 of 1,000 cells"


def test_nothing_to_do_is_done() -> None:
    assert Progress(0, 0.0).fraction == 1.0


@given(st.integers(0, 100), st.floats(0, 1e9), st.integers(0, 10**9))
def test_the_line_fits(width: int, weight: float, cells: int) -> None:
    progress = Progress(cells, 1e9)
    progress.advance(cells, weight)
    assert len(progress.text(width)) <= width


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (7.4, "0:07"), (754, "12:34"), (3723, "1:02:03")])
def test_clock_time(seconds: float, text: str) -> None:
    assert clock_time(seconds) == text


def test_a_terminal_sees_one_line_at_most_ten_times_a_second() -> None:
    clock, stream = Clock(), io.StringIO()
    writer = ProgressWriter(stream, terminal=True, width=80, clock=clock)
    progress = Progress(100, 100.0, clock)
    for _ in range(100):
        writer.update(progress)
        progress.advance(1, 1.0)
        clock.now += 0.01
    assert 9 <= stream.getvalue().count("\r") <= 11
    assert "\n" not in stream.getvalue()
    writer.clear()
    writer.clear()
    assert stream.getvalue().endswith("\r")
    assert not stream.getvalue().split("\r")[-2].strip()


def test_a_shorter_line_covers_a_longer_one() -> None:
    clock, stream = Clock(), io.StringIO()
    writer = ProgressWriter(stream, terminal=True, clock=clock)
    writer.update(Progress(10**9, 1.0, clock))
    clock.now += 1
    writer.update(Progress(1, 1.0, clock))
    _, first, second = stream.getvalue().split("\r")
    assert len(first) == len(second)


def test_a_log_sees_a_line_every_half_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    writer = ProgressWriter(stream, terminal=False, clock=clock)
    progress = Progress(95, 95.0, clock)
    for _ in range(95):
        writer.update(progress)
        progress.advance(1, 1.0)
        clock.now += 1
    writer.clear()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert "\r" not in stream.getvalue()
    assert lines[0] == "kill matrix  31%, 1:05 left, 30 of 95 cells"


def test_it_can_be_off() -> None:
    stream = io.StringIO()
    writer = ProgressWriter(stream, terminal=True, enabled=False)
    writer.update(Progress(1, 1.0))
    writer.clear()
    assert stream.getvalue() == ""
