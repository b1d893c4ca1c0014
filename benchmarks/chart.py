"""Draws how time grows, as an SVG that is legible on light and dark pages; nothing but text is needed for that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

WIDTH: Final = 1020
HEIGHT: Final = 432
TOP, BOTTOM = 104, 372  # of the plots
PLOT: Final = 168  # width of one
LEFTS: Final = (56, 376, 700)
LABEL_APART: Final = 15
STYLE: Final = """
  .page { fill: #ffffff; } .ink { fill: #1f2328; } .soft { fill: #59636e; }
  .grid { stroke: #e4e8ec; } .axis { stroke: #9aa4ae; }
  .a { --c: #0969da; } .b { --c: #bc4c00; } .c { --c: #1a7f37; } .d { --c: #8250df; } .e { --c: #bf3989; }
  .f { --c: #6e7781; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .ink { fill: #e6edf3; } .soft { fill: #9198a1; }
    .grid { stroke: #21262d; } .axis { stroke: #656c76; }
    .a { --c: #58a6ff; } .b { --c: #f0883e; } .c { --c: #3fb950; } .d { --c: #bc8cff; } .e { --c: #f778ba; }
    .f { --c: #9198a1; }
  }
  text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
  .title { font-size: 14px; font-weight: 600; } .name { font-weight: 600; fill: var(--c); }
  .line { stroke: var(--c); fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
  .dot { fill: var(--c); }
"""


@dataclass(frozen=True)
class Series:
    """A line: its name, its colour's class, its points."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


#: lines of the simulated projects: name in the chart, where the figure is, colour
SIMULATED: Final[Sequence[tuple[str, Callable[[Mapping[str, Any]], float], str]]] = (
    ("writing", lambda one: one["cpu"]["writing"], "a"),
    ("planning", lambda one: one["cpu"]["planning"], "b"),
    ("redundant", lambda one: one["reading_cpu"]["redundant"], "d"),
    ("report", lambda one: one["reading_cpu"]["report"], "c"),
    ("show", lambda one: one["reading_cpu"]["show"], "e"),
)


def draw(data: Mapping[str, Any]) -> str:
    """The chart of what ``size.py --grow`` stored."""
    simulated, real = data["simulated"], data["real"]
    most_tests = max(one["tests"] for one in simulated)
    by_mutants = sorted((one for one in simulated if one["tests"] == most_tests), key=lambda one: one["mutants"])
    sizes = [one["mutants"] for one in simulated]
    common = max(set(sizes), key=sizes.count)
    by_tests = sorted((one for one in simulated if one["mutants"] == common), key=lambda one: one["tests"])
    panels = [
        *_panel(
            LEFTS[0],
            "Mutants",
            f"{most_tests:,} tests, 50 cells a mutant",
            _simulated(by_mutants, "mutants"),
            "seconds of one processor",
        ),
        *_panel(
            LEFTS[1],
            "Tests",
            f"{common:,} mutants, 50 cells a mutant",
            _simulated(by_tests, "tests"),
            "seconds of one processor",
        ),
        *_panel(
            LEFTS[2],
            "Workers",
            "a whole run whose tests wait 20 ms each",
            _real(real),
            "seconds by the clock",
        ),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
            'aria-label="How time grows with mutants, tests and workers">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            _text(24, 32, "How time grows", "title ink"),
            *panels,
            _text(24, HEIGHT - 16, _where(data["where"]), "soft"),
            "</svg>",
            "",
        ]
    )


def _where(where: Mapping[str, Any]) -> str:
    words = f"Python {where['python']}, {where['system']}, {where['processors']} processors."
    return f"{words} Both axes of each plot are logarithmic; figures at the right end are those of the last point."


def _simulated(measured: Sequence[Mapping[str, Any]], by: str) -> list[Series]:
    return [
        Series(name, colour, [(float(one[by]), max(figure(one), 0.01)) for one in measured])
        for name, figure, colour in SIMULATED
    ]


def _real(measured: Sequence[Mapping[str, Any]]) -> list[Series]:
    found = []
    for colour, mutants in zip("abcdef", sorted({one["mutants"] for one in measured}, reverse=True), strict=False):
        rows = sorted((one for one in measured if one["mutants"] == mutants), key=lambda one: one["workers"])
        points = [(float(one["workers"]), float(one["seconds"])) for one in rows]
        found.append(Series(f"{mutants} mutants", colour, points))
    return found


def _panel(left: int, title: str, words: str, series: Sequence[Series], unit: str) -> list[str]:
    xs = sorted({x for one in series for x, _ in one.points})
    ys = [y for one in series for _, y in one.points]
    low, high = 10.0 ** math.floor(math.log10(min(ys))), 10.0 ** math.ceil(math.log10(max(ys)))

    def across(x: float) -> float:
        return left + PLOT * math.log(x / xs[0]) / math.log(xs[-1] / xs[0])

    def up(y: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * math.log(y / low) / math.log(high / low)

    drawn = [_text(left, 60, title, "title ink"), _text(left, 78, words, "soft"), _text(left, 95, unit, "soft")]
    decade = low
    while decade <= high * 1.001:
        y = up(decade)
        drawn.append(f'<line class="{"axis" if decade == low else "grid"}" {_ends(left, y, left + PLOT, y)}/>')
        drawn.append(_text(left - 8, y + 4, f"{decade:,g}", "soft", "end"))
        decade *= 10
    for x in xs:
        drawn.append(f'<line class="grid" {_ends(across(x), TOP, across(x), BOTTOM)}/>')
        drawn.append(_text(across(x), BOTTOM + 18, f"{x:,.0f}", "soft", "middle"))
    ends = []
    for one in series:
        places = [(across(x), up(y)) for x, y in one.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
        drawn.append(f'<g class="{one.colour}"><polyline class="line" points="{path}"/>{dots}</g>')
        ends.append((places[-1][1], one))
    for y, one in _apart(ends):
        label = f"{one.name} {one.points[-1][1]:.2g} s"
        drawn.append(f'<g class="{one.colour}">{_text(left + PLOT + 10, y + 4, label, "name")}</g>')
    return drawn


def _apart(ends: Sequence[tuple[float, Series]]) -> list[tuple[float, Series]]:
    """Labels moved down until none lies on another, then up where they went past the bottom."""
    placed: list[tuple[float, Series]] = []
    for y, one in sorted(ends, key=lambda end: end[0]):
        placed.append((max(y, placed[-1][0] + LABEL_APART) if placed else y, one))
    limit = float(BOTTOM)
    for index in range(len(placed) - 1, -1, -1):
        y, one = placed[index]
        placed[index] = min(y, limit), one
        limit = placed[index][0] - LABEL_APART
    return placed


def _text(x: float, y: float, text: str, names: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{names}" text-anchor="{anchor}">{escape(text)}</text>'


def _ends(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
