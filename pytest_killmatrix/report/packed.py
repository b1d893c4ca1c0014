"""All cells of a run as bytes, small enough for a page: what ``page/data.js`` unpacks.

For each mutant the number of its cells, then for each cell the distance to the test before it, a byte of codes, and for
a cell with more to say the numbers of its exception, message and place in a list of strings, plus one. Numbers are
unsigned, seven bits a byte, low ones first; the high bit says that more follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pytest_killmatrix.store.reader import Reader

PHASE: Final = 3  # where in the byte of codes each begins; the outcome has the three lowest bits
SUITE: Final = 5
ISOLATION: Final = 6
DETAILED: Final = 7
_MOST_TEXT: Final = 4_000_000
"""Characters of messages that a page holds; of further ones only the exception and its place."""

_LONGEST: Final = 200


class Strings:
    """Texts, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._room = _MOST_TEXT

    def number(self, text: str | None) -> int:
        """From 1; 0 for no text, and where there is no more room."""
        if not text:
            return 0
        short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        number = self._numbers.get(short)
        if number is None:
            if self._room < len(short):
                return 0
            self._room -= len(short)
            self.texts.append(short)
            number = self._numbers[short] = len(self.texts)
        return number


def packed_cells(reader: Reader) -> tuple[bytes, list[str]]:
    """The cells, and the strings that they name."""
    strings = Strings()
    details = _details(reader)
    detail = next(details, None)
    mutants = int(next(reader.query("SELECT count(*) FROM mutants WHERE run = ?", reader.run))[0])
    packed = bytearray()
    buffer, current, count, before = bytearray(), 0, 0, 0
    for mutant, test, suite, outcome, phase, isolation, detailed in reader.query(
        "SELECT mutant, test, suite, outcome, phase, isolation, detailed FROM cells WHERE run = ? "
        "ORDER BY run, mutant, test, suite",
        reader.run,
    ):
        while current < mutant:
            _append(packed, count)
            packed += buffer
            buffer, count, before, current = bytearray(), 0, 0, current + 1
        count += 1
        _append(buffer, test - before)
        before = test
        buffer.append(
            outcome | phase << PHASE | suite << SUITE | isolation << ISOLATION | (1 if detailed else 0) << DETAILED
        )
        if detailed:
            while detail is not None and detail[:3] < (mutant, test, suite):
                detail = next(details, None)
            texts = detail[3:] if detail is not None and detail[:3] == (mutant, test, suite) else (None, None, None)
            for text in texts:
                _append(buffer, strings.number(text))
    while current < mutants:
        _append(packed, count)
        packed += buffer
        buffer, count, current = bytearray(), 0, current + 1
    return bytes(packed), strings.texts


def _details(reader: Reader) -> Iterator[tuple[Any, ...]]:
    return reader.query(
        "SELECT d.mutant, d.test, d.suite, e.text, d.message, a.text FROM details d "
        "LEFT JOIN strings e ON e.id = d.exception LEFT JOIN strings a ON a.id = d.raised_at "
        "WHERE d.run = ? ORDER BY d.run, d.mutant, d.test, d.suite",
        reader.run,
    )


def _append(data: bytearray, number: int) -> None:
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
