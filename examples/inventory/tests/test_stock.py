import pytest
from inventory import Item, OutOfStock, Warehouse


@pytest.fixture
def warehouse():
    return Warehouse([Item("nut", 40, 20), Item("bolt", 5, 20), Item("washer", 19, 20)])


def test_free_is_what_is_not_reserved(warehouse):
    warehouse.reserve("nut", 15)
    assert warehouse["nut"].free == 25


def test_cannot_reserve_more_than_there_is(warehouse):
    with pytest.raises(OutOfStock):
        warehouse.reserve("bolt", 6)


def test_ship(warehouse):
    warehouse.reserve("nut", 10)
    warehouse.ship("nut", 10)
    assert warehouse["nut"].on_hand == 30


def test_receive_a_new_thing(warehouse):
    warehouse.receive("screw", 12)
    assert warehouse["screw"].on_hand == 12
    assert len(warehouse) == 4


def test_order_the_emptiest_first(warehouse):
    assert list(warehouse.to_order()) == [("bolt", 3), ("washer", 1)]


def test_minimum_by_default():
    assert Item("nut").minimum == 12


def test_saved_and_loaded(warehouse, tmp_path):
    warehouse.save(tmp_path / "stock.csv")
    loaded = Warehouse.load(tmp_path / "stock.csv")
    assert len(loaded) == 3
    assert loaded["bolt"] == warehouse["bolt"]
