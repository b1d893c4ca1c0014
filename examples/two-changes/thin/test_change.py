"""A change in a thin place: the suite runs this code, and asserts little of it."""

from inventory import Item, Warehouse, quote


def test_quote_shows_what_was_saved():
    price = quote(1000, 12, member=True)
    assert str(price).endswith(" off (third one free)")


def test_shipped_pieces_are_no_longer_reserved():
    book = Warehouse([Item("nut", 40, 20)])
    book.reserve("nut", 10)
    book.ship("nut", 10)
    assert book["nut"].free == 30
