"""What tests leave behind in a module: every kind of change shows, and looking at it changes nothing."""

from __future__ import annotations

import textwrap
import types

import pytest

from pytest_killmatrix.child.state import state_of

SOURCE = """
    import functools

    COUNT, NAMES, TABLE, SEEN, RATE = 0, ["a"], {"a": [1]}, {1}, float("nan")

    @functools.lru_cache(None)
    def cached(x): return x

    def plain(): pass

    class Thing:
        made = 0
        known = []
        def __eq__(self, other): raise TypeError
        __hash__ = None

    THING = Thing()
    THING.size = 1

    class Lazy:
        def __getattr__(self, name): raise RuntimeError(name)

    LAZY = Lazy()
"""


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType("made")
    exec(textwrap.dedent(SOURCE), vars(made))
    return made


def test_nothing_changes_by_itself(module: types.ModuleType) -> None:
    before = state_of([module])
    module.plain()
    module.NAMES.append(1)
    module.NAMES.pop()
    assert state_of([module]) == before
    assert module.cached.cache_info().currsize == 0


@pytest.mark.parametrize("change", [
    "COUNT = 1", "NAMES.append('b')", "NAMES = ['a']", "TABLE['b'] = 1", "TABLE['a'].append(2)", "SEEN.add(2)",
    "NEW = 1", "del COUNT", "cached(1)", "plain.calls = 1", "Thing.made += 1", "Thing.known.append(1)",
    "THING.size = 2", "RATE = 1.0", "NAMES[0] = 'c'", "COUNT = True", "plain = None",
])  # fmt: skip
def test_every_change_shows(module: types.ModuleType, change: str) -> None:
    before = state_of([module])
    exec(change, vars(module))
    assert state_of([module]) != before
