"""Kinds of record in a slot's log."""

from __future__ import annotations

from typing import Final

CELL: Final = "cell"
END: Final = "end"
OBSTACLE: Final = "obstacle"
FAULT: Final = "fault"
REACH: Final = "reach"
COLLECTED: Final = "collected"

INVALID: Final = "invalid"  # the mutated module cannot be imported

#: a cell's flag: the test, or what it calls, read the source of the mutated file, which is there without the mutant
READ: Final = "source_read"

#: a cell's flag: a child interpreter ran a mutated file as a script, unmutated
UNOBSERVED: Final = "not_observable"
