"""``killmatrix redundant``: tests and mutants that add nothing, with respect to the mutants of this run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from pytest_killmatrix.analysis.cover import Cover
from pytest_killmatrix.analysis.redundancy import Redundancy, redundancy_of
from pytest_killmatrix.commands.common import add_output, add_sidecar, output, print_json, reading
from pytest_killmatrix.model import Status, Test
from pytest_killmatrix.reading.matrix import read_kills
from pytest_killmatrix.report.colour import Output
from pytest_killmatrix.report.listing import Line
from pytest_killmatrix.report.text import count, fit, flow, percent, plain

_LISTED = 10
_WITH_RESPECT_TO = (
    "All of this is with respect to these mutants: another set of mutants, or a person, may have use for a test that "
    "adds nothing here."
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kills",
        choices=("any", "assertion"),
        default="any",
        help="what counts as a kill: any detection, or assertions only (default: any)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="lists without limits")
    add_sidecar(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading(arguments) as reader:
        kills = read_kills(reader)
        counted = kills.asserted if arguments.kills == "assertion" else kills.by_test
        survived = reader.score().counts[Status.SURVIVED.value]
        found = redundancy_of(counted, kills.asserted, kills.cells, [test.seconds for test in kills.tests], survived)
        keys = [str(row[0]) for row in reader.query(
            "SELECT key FROM mutants WHERE run = ? ORDER BY mutant", reader.run
        )]  # fmt: skip
    if arguments.json:
        print_json(_object(found, kills.tests, keys))
    else:
        screen = output(arguments)
        screen.write(_lines(found, kills.tests, counted, screen, None if arguments.verbose else _LISTED))
    return 0


def _object(found: Redundancy, tests: Sequence[Test], keys: Sequence[str]) -> dict[str, object]:
    def names(numbers: Sequence[int]) -> list[str]:
        return [tests[test].nodeid for test in numbers]

    def cover(one: Cover) -> dict[str, object]:
        seconds = sum(tests[test].seconds for test in one.tests)
        return {"tests": names(one.tests), "seconds": seconds, "cost": one.cost, "bound": one.bound, "exact": one.exact}

    return {
        "reference_set": "the mutants of this run and no others",
        "judges": len(found.judges),
        "idle": names(found.idle),
        "subsumed": [{"test": tests[test].nodeid, "by": tests[other].nodeid} for test, other in found.subsumed.items()],
        "needless": names(found.needless),
        "smallest": {"by_count": cover(found.by_count), "by_time": cover(found.by_time)},
        "alike": [[keys[mutant] for mutant in group] for group in found.alike],
        "dominators": [[keys[mutant] for mutant in group] for group in found.dominators],
        "dominator_score": {
            "numerator": found.dominator_score.numerator,
            "denominator": found.dominator_score.denominator,
            "value": found.dominator_score.value,
        },
    }


def _lines(
    found: Redundancy, tests: Sequence[Test], kills: Sequence[int], screen: Output, limit: int | None
) -> Iterator[Line]:
    everything = 0
    for mask in kills:
        everything |= mask
    seconds = sum(tests[test].seconds for test in found.judges)
    yield (
        f"{count(len(found.judges), 'test')} in {seconds:.3g} s kill {count(everything.bit_count(), 'mutant')}",
        {"bold": True},
    )
    for line in flow(_WITH_RESPECT_TO.split(" "), screen.width, first="", separator=" "):
        yield line, {}
    names = [plain(test.nodeid, ascii=screen.ascii) for test in tests]
    yield from _names("kill nothing", [names[test] for test in found.idle], screen, limit)
    pairs = [f"{names[test]}  as {_beside(names[other], names[test])}" for test, other in found.subsumed.items()]
    yield from _names("kill nothing that one other test does not kill", pairs, screen, limit)
    alone = [names[test] for test in found.needless if test not in found.subsumed]
    yield from _names("kill nothing that no other test kills: each can go, not all of them", alone, screen, limit)
    yield "", {}
    yield "a smallest set of tests that keeps every kill", {"bold": True}
    yield _cover("by count", found.by_count, tests, f"at least {found.by_count.bound:.0f} tests are needed"), {}
    yield _cover("by time", found.by_time, tests, f"at least {found.by_time.bound:.3g} s are needed"), {}
    yield from _names("these are (by count)", [names[test] for test in found.by_count.tests], screen, limit)
    yield "", {}
    yield "mutants", {"bold": True}
    alike = sum(len(group) for group in found.alike)
    words = [
        f"{count(len(found.alike), 'group')} of mutants that no test tells apart ({alike:,} mutants)",
        f"{count(len(found.dominators), 'dominator')}: whatever kills one mutant of each kills all that is killed",
    ]
    for line in words:
        yield from _wrap(line, screen)
    score = found.dominator_score
    yield from _wrap(
        f"dominator score {percent(*score)} ({score.numerator:,} of {score.denominator:,}): dominators killed by an "
        "assertion / (those + survived)",
        screen,
    )


def _beside(name: str, other: str) -> str:
    """A test's name where another is named already: without the file, if that is the same."""
    path, separator, rest = name.partition("::")
    return separator + rest if other.partition("::")[0] == path and rest else name


def _wrap(text: str, screen: Output) -> Iterator[Line]:
    for line in flow(text.split(" "), screen.width, first="  ", separator=" "):
        yield line, {}


def _cover(name: str, cover: Cover, tests: Sequence[Test], bound: str) -> str:
    seconds = sum(tests[test].seconds for test in cover.tests)
    how = "smallest" if cover.exact else f"the best found; {bound}"
    return f"  {name:8}  {count(len(cover.tests), 'test')}, {seconds:.3g} s ({how})"


def _names(title: str, names: Sequence[str], screen: Output, limit: int | None) -> Iterator[Line]:
    if not names:
        return
    dots = "..." if screen.ascii else "…"
    yield "", {}
    yield f"{title} ({len(names):,})", {"bold": True}
    for name in names[:limit]:
        yield fit(f"  {name}", screen.width, dots), {}
    if limit is not None and len(names) > limit:
        yield f"  {dots} {len(names) - limit:,} more, -v shows all", {"light": True}
