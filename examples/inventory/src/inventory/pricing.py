"""What a customer pays. All amounts are whole cents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

VAT = {"standard": 20, "reduced": 5, "books": 0}
TIERS = ((10, 5), (50, 10), (100, 15))  # from this quantity on, this many per cent off
MAX_DISCOUNT = 40
FREE_DELIVERY_FROM = 5_000
DELIVERY = 490

Rule = Callable[[int, int, bool], int]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register a discount rule: (unit price, quantity, member) -> cents off."""

    def register(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return register


def percent(amount: int, rate: int) -> int:
    """``rate`` per cent of ``amount``, half a cent rounded up."""
    return (amount * rate + 50) // 100


@lru_cache(maxsize=256)
def tier(quantity: int) -> int:
    """The volume discount for this quantity, in per cent."""
    best = 0
    for least, rate in TIERS:
        if quantity >= least:
            best = rate
    return best


@rule("volume")
def volume(unit_price: int, quantity: int, member: bool) -> int:
    return percent(unit_price * quantity, tier(quantity))


@rule("third one free")
def third_free(unit_price: int, quantity: int, member: bool) -> int:
    return quantity // 3 * unit_price if member else 0


@rule("member")
def loyalty(unit_price: int, quantity: int, member: bool) -> int:
    if not member:
        return 0
    return percent(unit_price * quantity, 3)


@dataclass(frozen=True)
class Quote:
    """A price with all that it is made of."""

    goods: int
    discount: int
    rule: str | None
    vat: int
    delivery: int

    @property
    def net(self) -> int:
        return self.goods - self.discount

    @property
    def total(self) -> int:
        return self.net + self.vat + self.delivery

    def __str__(self) -> str:
        saved = f", {self.discount / 100:.2f} off ({self.rule})" if self.discount else ""
        return f"{self.total / 100:.2f}{saved}"


def best_rule(unit_price: int, quantity: int, member: bool) -> tuple[str | None, int]:
    """The one rule that saves most, and how much; never more than MAX_DISCOUNT per cent."""
    offers = [(name, apply(unit_price, quantity, member)) for name, apply in RULES.items()]
    name, saved = max(offers, key=lambda offer: offer[1])
    limit = percent(unit_price * quantity, MAX_DISCOUNT)
    return (name, min(saved, limit)) if saved > 0 else (None, 0)


def quote(unit_price: int, quantity: int = 1, *, member: bool = False, vat: str = "standard") -> Quote:
    """Price ``quantity`` pieces."""
    if quantity < 1:
        raise ValueError(f"cannot sell {quantity} pieces")
    goods = unit_price * quantity
    name, discount = best_rule(unit_price, quantity, member)
    net = goods - discount
    delivery = 0 if net >= FREE_DELIVERY_FROM else DELIVERY
    return Quote(goods, discount, name, percent(net, VAT[vat]), delivery)
