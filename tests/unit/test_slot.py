"""The log of a slot: what is read while it is written, in every state that the other process can be seen in."""

from __future__ import annotations

import struct
import threading
from pathlib import Path

import pytest

from pytest_killmatrix.executor import slots
from pytest_killmatrix.executor.slots import Slot

RECORDS = [("cell", number, "x" * (number * 37 % 300)) for number in range(200)]


def set_tail(slot: Slot, tail: int) -> None:
    struct.pack_into("@Q", slot.memory, slots._TAIL, tail)


@pytest.mark.parametrize("read_before", [0, 7, 199])
def test_a_counter_that_is_seen_half_written_loses_nothing(tmp_path: Path, read_before: int) -> None:
    slot = Slot(tmp_path / "slot")
    for record in RECORDS[:read_before]:
        slot.write(record)
    found = slot.read()
    for record in RECORDS[read_before:]:
        slot.write(record)
    tail = slot.written()
    # its low bytes are new and its high ones old, or the other way: never more than it is going to be
    for seen in (0, 1, tail & 0xFF, tail & ~0xFF, tail & ~0xFFFF, tail - 1, tail - 5):
        set_tail(slot, seen)
        found += slot.read()
    set_tail(slot, tail)
    assert found + slot.read() == RECORDS
    assert slot.read() == []
    slot.close()


def test_the_log_goes_round_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_SIZE", 1 << 12)
    slot, found = Slot(tmp_path / "slot"), list[tuple[object, ...]]()
    writer = threading.Thread(target=lambda: [slot.write(record) for _ in range(20) for record in RECORDS])
    writer.start()
    while writer.is_alive() or slot.written() != struct.unpack_from("@Q", slot.memory, slots._HEAD)[0]:
        found += slot.read()
    writer.join()
    assert found == RECORDS * 20
    slot.close()
