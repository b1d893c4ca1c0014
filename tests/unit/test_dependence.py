"""What cells depend on: definitions and frames of modules, and which cells of an earlier run still hold."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace
from typing import Any

import pytest

from pytest_killmatrix.model import Cell, Outcome, Route, Status
from pytest_killmatrix.plan import Planned
from pytest_killmatrix.reuse.definitions import find, install, mark, outermost, parts_of
from pytest_killmatrix.reuse.dependence import Bond, Changes, Dependence, Kept, Past, Row
from pytest_killmatrix.store.dependence_tables import as_ranges, of_ranges

MODULE = '''\
"""Shop."""
import os
LIMIT = 3

@os.fspath
def outer(n, step=1):
    """Of a thing."""
    def inner():
        return n
    return inner

class Box:
    size = 2

    def grow(self):
        self.size += 1

    @property
    def full(self):
        return self.size > LIMIT

    @full.setter
    def full(self, value):
        pass

    class Lid:
        def lift(self): return 1

if LIMIT:
    async def later(): return 1
else:
    later = lambda: 2
'''


def parts(text: str) -> Any:
    return parts_of(ast.parse(textwrap.dedent(text)))


def test_definitions_are_the_outermost_functions_of_modules_and_classes() -> None:
    names = [name for name, _ in find(ast.parse(MODULE))]
    assert names == ["outer", "Box.grow", "Box.full", "Box.full", "Box.Lid.lift", "later"]
    spans = {name: (first, last) for first, last, name in parts(MODULE).spans}
    assert spans["outer"] == (5, 10)  # its decorator included


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("        return n\n", "        return n + 1\n", {"outer"}),
        ("self.size += 1", "self.size += 1  # more", set()),
        ("self.size += 1", "\n        self.size += 1", set()),
        ("        pass\n", "        raise ValueError\n", {"Box.full"}),
        ("return self.size > LIMIT", "return self.size >= LIMIT", {"Box.full"}),
    ],
)
def test_a_body_is_its_definitions_own(before: str, after: str, changed: set[str]) -> None:
    assert MODULE.count(before) == 1
    old, new = parts(MODULE), parts(MODULE.replace(before, after))
    assert {name for name in old.definitions if old.definitions[name] != new.definitions[name]} == changed
    assert old.frame == new.frame


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("step=1", "step=2"),
        ("@os.fspath", "@os.fsencode"),
        ("Of a thing.", "Of something."),  # a test may look at it
        ("size = 2", "size = 3"),
        ("lambda: 2", "lambda: 3"),
        ("def grow(self):", "def grow(self, by=1):"),
        ("self.size += 1", "yield"),  # a generator function is another thing to whoever looks
        ("async def", "def"),
        ("    class Lid", "    class Cap"),
    ],
)
def test_the_frame_is_what_runs_at_import_and_what_can_be_seen_from_outside(before: str, after: str) -> None:
    assert MODULE.count(before) == 1
    assert parts(MODULE).frame != parts(MODULE.replace(before, after)).frame


def test_a_mutant_lies_in_the_outermost_definition() -> None:
    known = {"shop.py::outer": "", "shop.py::Box.grow": ""}
    assert outermost("shop.py::", "outer.inner", known) == "shop.py::outer"
    assert outermost("shop.py::", "Box.grow", known) == "shop.py::Box.grow"
    assert outermost("shop.py::", "Box", known) is None
    assert outermost("shop.py::", "<module>", known) is None


def test_marked_definitions_do_what_they_did_and_note_it() -> None:
    text = MODULE.replace("@os.fspath\n", "")
    tree = ast.parse(text)
    names = list(dict.fromkeys(name for name, _ in find(tree)))
    memory = bytearray(len(names))
    code = install(compile(mark(tree, {name: at for at, name in enumerate(names)}), "shop.py", "exec"), memory)
    module: dict[str, Any] = {"__name__": "shop"}
    exec(code, module)
    assert not any(memory), "nothing but the import has run"
    assert module["outer"](5)() == 5
    assert module["outer"].__doc__ == "Of a thing."
    box = module["Box"]()
    box.grow()
    assert box.size == 3
    assert not box.full
    assert {name for name, noted in zip(names, memory, strict=True) if noted} == {"outer", "Box.grow", "Box.full"}
    plain: dict[str, Any] = {"__name__": "shop"}
    exec(compile(text, "shop.py", "exec"), plain)
    for name in ("outer", "later"):
        one, other = module[name].__code__, plain[name].__code__
        assert list(one.co_lines())[-1] == (*list(one.co_lines())[-1][:2], list(other.co_lines())[-1][2])
        assert (one.co_firstlineno, one.co_freevars, one.co_flags) == (
            other.co_firstlineno,
            other.co_freevars,
            other.co_flags,
        )


def test_ranges() -> None:
    for numbers in ([], [3], [0, 1], [0, 2], [0, 1, 2, 7, 9, 10]):
        assert list(of_ranges(as_ranges(numbers))) == numbers
    assert as_ranges([0, 1, 2, 7, 9, 10]) == "0-2,7,9-10"


NAMES = ("t.py::a", "t.py::b", "t.py::c")
THEN = Past(
    3, "targets", {"m.py::f": "1", "m.py::g": "1"}, {name: (10 + at, "key") for at, name in enumerate(NAMES)}, {"k": 5}
)
NOW = Dependence("common", "targets", ["key", "key", "key"], {"m.py::f": "1", "m.py::g": "1"})
PLANNED = Planned(0, Route.SWAP, (0, 1, 2), (0, 1, 2))


def row(status: Status = Status.KILLED, bonds: dict[int, Bond] | None = None, **more: Any) -> Row:
    cells = {10: Cell(5, 10, Outcome.PASSED), 11: Cell(5, 11, Outcome.ASSERTION)}
    return replace(Row(status, None, cells, frozenset({12}), bonds or {}, ()), **more)


def kept(found: Row, now: Dependence = NOW, then: Past = THEN, names: tuple[str, ...] = NAMES) -> Kept:
    result = Kept()
    Changes(then, now, names).keep(result, PLANNED, found)
    return result


def test_what_did_not_change_is_kept_under_new_numbers() -> None:
    found = kept(row())
    assert found.cells == {0: Cell(0, 0, Outcome.PASSED), 1: Cell(0, 1, Outcome.ASSERTION)}
    assert found.unreached == {2}
    assert found.covers(PLANNED.tests)


def test_a_test_that_changed_runs_again() -> None:
    found = kept(row(), replace(NOW, tests=["key", "other", "key"]))
    assert found.cells.keys() == {0}
    assert not found.covers(PLANNED.tests)
    assert kept(row(), replace(NOW, tests=["key", None, "key"])).cells.keys() == {0}, "nothing is known of it"


def test_tests_of_one_name_are_never_taken_for_each_other() -> None:
    assert kept(row(), names=("t.py::a", "t.py::a", "t.py::c")).bonds.keys() == {2}


def test_what_ran_beside_the_clean_run_must_not_have_changed() -> None:
    now = replace(NOW, definitions={"m.py::f": "1", "m.py::g": "2"}, targets="others")
    assert kept(row(bonds={11: ("m.py::g",)}), now).bonds.keys() == {0, 2}
    assert kept(row(bonds={11: ("m.py::f",)}), now).bonds.keys() == {0, 1, 2}
    assert kept(row(bonds={11: None}), now).bonds.keys() == {0, 2}, "unknown: it may have run anything"
    assert kept(row(usual=None, bonds={11: ()}), now).bonds.keys() == {1}
    assert kept(row(bonds={11: None})).bonds.keys() == {0, 1, 2}, "no mutated file changed at all"
    gone = replace(now, definitions={"m.py::f": "1"})
    assert kept(row(bonds={11: ("m.py::g",)}), gone).bonds.keys() == {0, 2}


def test_what_is_no_result_runs_again() -> None:
    for status in (Status.PENDING, Status.RUN_ERROR):
        assert not kept(row(status)).bonds
    error = {11: Cell(5, 11, Outcome.ERROR)}
    assert not kept(row(cells=error, unreached=frozenset())).bonds
    assert not kept(row(cells={}, unreached=frozenset())).bonds, "no word on why there is no cell"


def test_a_mutant_that_cannot_be_imported_is_kept_as_such() -> None:
    found = kept(row(Status.INVALID, cells={}, unreached=frozenset(), reason="why"))
    assert found.invalid == "why"
    assert found.covers(PLANNED.tests)
    changed = replace(NOW, definitions={"m.py::f": "2", "m.py::g": "1"})
    assert kept(row(Status.INVALID, cells={}, usual=("m.py::f",)), changed).invalid is None


def test_a_mutant_that_nothing_evaluated_is_kept_as_such() -> None:
    found = kept(row(Status.NO_COVERAGE, cells={}, unreached=frozenset(), reason="line_reached"))
    assert found.unreached == {0, 1, 2}


def test_newer_runs_come_first_and_older_ones_fill_in() -> None:
    found = Kept()
    Changes(THEN, replace(NOW, tests=["key", "other", "key"]), NAMES).keep(found, PLANNED, row())
    older = replace(THEN, tests={name: (10 + at, "other") for at, name in enumerate(NAMES)})
    cells = {at: Cell(5, at, Outcome.EXCEPTION) for at in (10, 11, 12)}
    Changes(older, replace(NOW, tests=["key", "other", "key"]), NAMES).keep(found, PLANNED, row(cells=cells))
    assert [found.cells[test].outcome for test in sorted(found.cells)] == [Outcome.PASSED, Outcome.EXCEPTION]


def test_what_is_left_to_run() -> None:
    assert kept(row(), replace(NOW, tests=["key", "other", None])).left(PLANNED.tests) == (1, 2)
    assert kept(row()).left(PLANNED.tests) == ()
