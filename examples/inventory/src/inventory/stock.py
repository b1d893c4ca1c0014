"""How many of each thing are left, and what to order."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACK = 6
FIELDS = ("sku", "on_hand", "minimum")


class OutOfStock(Exception):
    """Fewer pieces are free than somebody asked for."""


@dataclass
class Item:
    """One line of the stock book."""

    sku: str
    on_hand: int = 0
    minimum: int = PACK * 2
    reserved: int = field(default=0, compare=False)

    @property
    def free(self) -> int:
        return self.on_hand - self.reserved

    @property
    def short(self) -> bool:
        return self.free < self.minimum

    def packs_to_order(self, pack: int = PACK) -> int:
        """Whole packs that bring the free stock back to the minimum."""
        missing = self.minimum - self.free
        return max(0, -(-missing // pack))


class Warehouse:
    """A stock book that can be kept in a CSV file."""

    def __init__(self, items: list[Item] | None = None) -> None:
        self._items = {item.sku: item for item in items or []}

    def __getitem__(self, sku: str) -> Item:
        return self._items[sku]

    def __len__(self) -> int:
        return len(self._items)

    def receive(self, sku: str, pieces: int) -> None:
        item = self._items.setdefault(sku, Item(sku))
        item.on_hand += pieces

    def reserve(self, sku: str, pieces: int) -> None:
        item = self[sku]
        if pieces > item.free:
            raise OutOfStock(f"{sku}: {pieces} wanted, {item.free} free")
        item.reserved += pieces

    def ship(self, sku: str, pieces: int) -> None:
        """Send out pieces that were reserved before."""
        item = self[sku]
        item.on_hand -= pieces
        item.reserved -= pieces

    def to_order(self) -> Iterator[tuple[str, int]]:
        """What to order, the emptiest shelf first: (sku, packs)."""
        for item in sorted(self._items.values(), key=lambda item: item.free):
            if item.short:
                yield item.sku, item.packs_to_order()

    def save(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(FIELDS)
            writer.writerows((i.sku, i.on_hand, i.minimum) for i in self._items.values())

    @classmethod
    def load(cls, path: Path) -> Warehouse:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return cls([Item(row["sku"], int(row["on_hand"]), int(row["minimum"])) for row in rows])
