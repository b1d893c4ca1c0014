from release import may_release


def build(**changes):
    return {"tested": True, "reviewed": True, "signed": True, **changes}


def test_a_good_build_may_be_released():
    assert may_release(build()) is True


def test_an_untested_build_may_not():
    assert may_release(build(tested=False)) is False


def test_an_unreviewed_build_may_not():
    assert may_release(build(reviewed=False)) is False


def test_an_unsigned_build_may_not():
    assert may_release(build(signed=False)) is False


def test_a_build_with_nothing_may_not():
    assert may_release(build(tested=False, reviewed=False, signed=False)) is False
