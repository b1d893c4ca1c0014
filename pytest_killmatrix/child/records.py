"""Kinds of record in a slot's log."""

from __future__ import annotations

import enum
from typing import Final

from pytest_killmatrix.model import Phase

CELL: Final = "cell"
END: Final = "end"
LEFT: Final = "left"  # a test changed the state of the mutated module
HELD: Final = "held"  # done, and ready for more with the same mutant
OBSTACLE: Final = "obstacle"
FAULT: Final = "fault"
REACH: Final = "reach"
COLLECTED: Final = "collected"
SEEN: Final = "seen"  # what the probes saw while a test ran

INVALID: Final = "invalid"  # the mutated module cannot be imported


class Stage(enum.IntEnum):
    """Where the running test is, as the child notes it in its slot: a death leaves no other word."""

    BEGUN = 0
    SET_UP = 1
    CALL = 2
    TEAR_DOWN = 3
    SHARED_TEAR_DOWN = 4  # what other tests of the row used ends with this one

    @property
    def phase(self) -> Phase:
        """The phase that a cell names."""
        return _PHASES[self]


_PHASES: Final = {
    Stage.BEGUN: Phase.SETUP,
    Stage.SET_UP: Phase.SETUP,
    Stage.CALL: Phase.CALL,
    Stage.TEAR_DOWN: Phase.TEARDOWN,
    Stage.SHARED_TEAR_DOWN: Phase.TEARDOWN,
}

#: a cell's flag: the test, or what it calls, read the source of the mutated file, which is there without the mutant
READ: Final = "source_read"

#: a cell's flag: a child interpreter ran a mutated file as a script, unmutated
UNOBSERVED: Final = "not_observable"
