"""Who executes which lines: the compact map against sets of strings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from store_samples import make_mutant

from pytest_killmatrix.reach import ReachMap

PATH = "/project/words.py"

arcs = st.lists(st.tuples(st.integers(-6, 6).filter(bool), st.integers(-6, 6).filter(bool)), max_size=8)
measured = st.lists(st.tuples(st.sampled_from(["import", "end", "t:0", "t:1", "t:12", "a:1", "c:x.py"]), arcs))


@given(measured, st.integers(1, 6), st.integers(0, 3), st.none() | st.integers(1, 6))
def test_contexts_are_those_that_execute_the_lines(
    measured: list[tuple[str, list[tuple[int, int]]]], first: int, more: int, entry: int | None
) -> None:
    reach = ReachMap()
    lines: dict[int, set[str]] = {}
    entries: dict[int, set[str]] = {}
    for context, executed in measured:
        reach.add(PATH, context, executed)
        for start, end in executed:
            if start < 0:
                entries.setdefault(-start, set()).add(context)
            for line in (start, end):
                if line > 0:
                    lines.setdefault(line, set()).add(context)
    expected = set().union(*(lines.get(line, set()) for line in range(first, first + more + 1)))
    if entry is not None:
        expected &= entries.get(entry, set())
    mutant = make_mutant(first_line=first, last_line=first + more, entry_line=entry)
    assert reach.contexts(PATH, mutant) == expected
    assert reach.contexts("/project/other.py", mutant) == frozenset()
    assert reach.anywhere(PATH) == set().union(*lines.values())
    assert reach.tests_of(PATH) == {int(name[2:]) for name in set().union(*lines.values()) if name.startswith("t:")}
    assert reach.files() == ({PATH} if lines else set())


def test_lines_with_one_history_share_one_integer_and_mutants_of_one_place_one_set() -> None:
    reach = ReachMap()
    for test in range(300):
        reach.add(PATH, f"t:{test}", [(-1, 1), (1, 2), (2, 3), *([(3, 4), (4, 5)] if test % 2 else [])])
    held = reach._lines[PATH]
    assert len({id(held[line]) for line in (1, 2, 3)}) == 1
    assert len({id(held[line]) for line in (4, 5)}) == 1
    one, other = make_mutant(first_line=1, last_line=1), make_mutant(first_line=2, last_line=3)
    assert reach.contexts(PATH, one) is reach.contexts(PATH, other)
