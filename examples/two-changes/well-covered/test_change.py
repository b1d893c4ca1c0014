"""A change in a well covered place: right assertions, all of which the suite makes already."""

from inventory.pricing import percent, tier


def test_percent_of_a_round_amount():
    assert percent(2000, 20) == 400
    assert percent(1000, 5) == 50


def test_tier_of_a_dozen():
    assert tier(12) == 5
    assert tier(1) == 0
