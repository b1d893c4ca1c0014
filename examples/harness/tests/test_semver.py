"""The graders: they do not look at every part of a version, as graders often do not."""


def test_a_patch(bump):
    assert bump("1.2.3", "patch") == "1.2.4"


def test_a_major_version(bump):
    assert bump("1.2.3", "major") == "2.0.0"
