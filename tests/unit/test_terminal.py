from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import Plot, make_info, realistic

from pytest_killmatrix.model import Cause, CauseKind, Excluded, Status
from pytest_killmatrix.report import text
from pytest_killmatrix.report.terminal import render
from pytest_killmatrix.store.reader import Reader
from pytest_killmatrix.store.writer import Sidecar


def shown(path: Path, **options: Any) -> list[str]:
    with Reader(path) as reader:
        return [line for line, _ in render(reader, **options)]


def made(tmp_path: Path, plot: Plot, *, finish: bool = True, **info: Any) -> list[str]:
    return shown(plot.write(tmp_path / "a.sqlite", make_info(**info), finish=finish))


@pytest.mark.parametrize("width", [64, 80, 120])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize("ascii", [False, True])
def test_lines_fit_and_stay_lines(tmp_path: Path, width: int, verbosity: int, ascii: bool) -> None:
    lines = shown(realistic(tmp_path / "a.sqlite"), width=width, verbosity=verbosity, ascii=ascii)
    for line in lines[:-1]:  # the sidecar's path is never cut
        assert text.cells(line) <= width, line
    for line in lines:
        assert not line or line.isprintable()
        assert line.isascii() or not ascii


def test_the_realistic_run(tmp_path: Path) -> None:
    lines = shown(realistic(tmp_path / "a.sqlite"))
    assert lines[0] == "assertion score     93.7%    237 of 253   killed / (killed + survived)"
    assert lines[1] == "detection score     92.0%    288 of 313   detected / (detected + not detected)"
    assert lines[2] == "reached             97.6%    327 of 335   mutants, by 22 tests in 979 cells"
    page = "\n".join(lines)
    for expected in (
        "detected              288   killed 237 · crashed 49 · timeout 2",
        "survived 16 (8 in string literals)",
        "mutants               340",
        "survived: all tests that reach them passed (8)",
        "len(word) > 3 → len(word) >= 3",
        "boundary, 14 tests",
        "src/tables.py  Table.__repr__ 5",
        "   20  held by shop, which cannot be imported again",
        "timeout  src/words.py:61 x2",
        "crashed  src/words.py 30 · src/tables.py 19",
        "tests that judge no mutant (2); 1 mutant reached by nothing but these",
        "  failed: tests/test_words.py::test_12",
        "  flaky: tests/test_words.py::test_30",
        "one at a time (1)",
        "note     1 file of the project changed",
        "next     14 tests run src/",
        f"sidecar  {tmp_path / 'a.sqlite'}",
    ):
        assert expected in page
    assert "XXwidthXX" not in page


def test_verbose_shows_everything(tmp_path: Path) -> None:
    plot = Plot(3)
    plot.add(Status.SURVIVED, times=30)
    plot.add(Status.SURVIVED, times=2, string_only=True, replacement="XX")
    path = plot.write(tmp_path / "a.sqlite", make_info())
    brief, full = shown(path), shown(path, verbosity=1)
    assert "  … 10 more, -v shows all" in brief
    assert sum("a + b → a - b" in line for line in brief) == 20
    assert sum("a + b → a - b" in line for line in full) == 30
    assert sum("a + b → XX" in line for line in full) == 2
    assert not any("more" in line for line in full)


def test_quiet_is_the_headline_and_the_sidecar(tmp_path: Path) -> None:
    lines = shown(realistic(tmp_path / "a.sqlite"), verbosity=-1)
    assert [line.split()[0] for line in lines] == ["assertion", "detection", "reached", "sidecar"]


def test_zero_is_left_out_and_nothing_is_no_ratio(tmp_path: Path) -> None:
    lines = made(tmp_path, Plot(2))
    assert lines[0].split()[:5] == ["assertion", "score", "-", "0", "of"]
    assert "mutants                 0" in lines
    assert not any(line.startswith(("detected", "not ")) for line in lines)
    assert any("--mutate=PATH" in line for line in lines)


def test_an_interrupted_run_says_so_first(tmp_path: Path) -> None:
    plot = Plot(2)
    plot.add(Status.KILLED)
    assert made(tmp_path, plot, finish=False)[0].startswith("interrupted")


def test_a_control_that_failed_comes_first(tmp_path: Path) -> None:
    plot = Plot(2)
    plot.add(Status.KILLED)
    lines = made(tmp_path, plot, noop_kills=["t::x"], routes={"swap": "no test entered"})
    assert lines[0] == "NOT TO BE TRUSTED: a control that changes nothing was killed by 1 test"
    assert lines[1] == "  t::x"
    assert lines[2] == "NOT TO BE TRUSTED: control of route swap: no test entered"


@pytest.mark.parametrize(
    ("statuses", "advice"),
    [
        ([Status.KILLED], "nothing: the suite detects every mutant"),
        ([Status.KILLED, Status.NO_COVERAGE], "write a test that runs f in src/words.py"),
        ([Status.SURVIVED, Status.NO_COVERAGE], "does not notice the change"),
        ([Status.KILLED, Status.PENDING], "1 mutant could not be judged"),
        ([Status.PENDING], "no mutant was judged"),
        ([Status.KILLED, Status.NO_USABLE_TEST], "make the tests above usable"),
    ],
)
def test_one_thing_to_do_next(tmp_path: Path, statuses: list[Status], advice: str) -> None:
    plot = Plot(2)
    plot.tests[1].excluded = Excluded.FAILED
    for status in statuses:
        plot.add(status, reach=0 if status is Status.NO_COVERAGE else 1)
    assert advice in " ".join(line.strip() for line in made(tmp_path, plot))


def test_source_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    plot = Plot(1)
    plot.add(
        Status.SURVIVED, reach=1, original="'\x1b[2J'", replacement="'\r\x07'", path="a\x1bb.py", operator="o\x9bp"
    )
    lines = made(tmp_path, plot, notes=["bad \x1b note"])
    assert all(line.isprintable() for line in lines)
    assert any("'\\x1b[2J' → '\\x07'" in line or "\\x1b[2J" in line for line in lines)


@pytest.mark.parametrize(
    ("original", "replacement", "expected"),
    [
        ("a + b", "a - b", "a + b → a - b"),
        ("foo()", "", "foo() → (deleted)"),
        ("", "x", "(nothing) → x"),
        ("if x:\n        return 1", "if x:\n        return 2", "if x: return 1 → if x: return 2"),
        ("'a  b'", "'a b'", "'a  b' → 'a b'"),
    ],
)
def test_one_line_diffs(original: str, replacement: str, expected: str) -> None:
    assert text.one_line_diff(original, replacement, 60) == expected


def test_a_long_diff_keeps_the_change() -> None:
    common = "alpha(beta, gamma, delta) + epsilon(zeta, eta, theta)"
    diff = text.one_line_diff(f"{common} < limit and {common}", f"{common} <= limit and {common}", 50)
    before, after = diff.split(" → ")
    assert "< limit" in before
    assert "<= " in after


@given(st.text(max_size=80), st.text(max_size=80), st.integers(20, 100), st.booleans())
def test_any_diff_fits(original: str, replacement: str, width: int, ascii: bool) -> None:
    diff = text.one_line_diff(original, replacement, width, ascii=ascii)
    assert text.cells(diff) <= width
    assert diff.isprintable()
    assert diff.isascii() or not ascii


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_percent_never_rounds_to_what_is_not_true(one: int, other: int) -> None:
    low, high = sorted((one, other))
    shown = text.percent(low, high)
    if high:
        assert (shown == "100.0%") == (low == high)
        assert (shown == "0.0%") == (low == 0)
    else:
        assert shown == "-"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.44, "0.4 s"), (9.96, "10 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"), (7805, "2 h 10 min")],
)
def test_durations(seconds: float, expected: str) -> None:
    assert text.duration(seconds) == expected


@pytest.mark.parametrize(
    ("encoding", "expected"), [("utf-8", False), ("ascii", True), ("latin-1", True), (None, True), ("no such", True)]
)
def test_what_a_stream_can_take(encoding: str | None, expected: bool) -> None:
    assert text.is_ascii_only(encoding) is expected


def test_why_they_survived_is_summed_up(tmp_path: Path) -> None:
    path = realistic(tmp_path / "a.sqlite")
    with Sidecar.open(path) as sidecar:
        survivors = list(sidecar.survivors(1))
        for index in survivors[:3]:
            sidecar.set_cause(1, index, Cause(CauseKind.NOT_INFECTED, 3))
        sidecar.set_cause(1, survivors[3], Cause(CauseKind.MESSAGE, 1))
    lines = shown(path)
    assert "why they survived  3 inputs too weak · 1 in a message nobody checks" in lines
    assert "                   12 cannot be told" in lines
