"""The partition of the mutants between two suites, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_killmatrix.analysis.delta import Delta, Meeting, Suited, as_json, by_test, compare, side_of
from pytest_killmatrix.model import Outcome

A, X, T, P, S = Outcome.ASSERTION, Outcome.EXCEPTION, Outcome.TIMEOUT, Outcome.PASSED, Outcome.SKIPPED
TESTS = [
    Suited("t::same", ("old", "new"), "unchanged"),
    Suited("t::added", ("new",), "added"),
    Suited("t::more", ("new",), "added"),
    Suited("t::replacing", ("new",), "changed", replaces_excluded=True),
    Suited("t::gone", ("old",), "removed"),
    Suited("t::broken", ("old",), "changed", excluded="failed"),
]
SAME, ADDED, MORE, REPLACING, GONE, BROKEN = range(6)


def met(new: dict[int, Outcome], old: dict[int, Outcome] | None = None, **facts: Any) -> Meeting:
    return Meeting("m", new, {} if old is None else old, **facts)


def only(meeting: Meeting) -> Delta:
    return compare([meeting], TESTS)


def place(meeting: Meeting) -> str:
    """Where the mutant came to stand; exactly one place."""
    delta = only(meeting)
    counts = {
        "gained": len(delta.gained), "lost": len(delta.lost), "kept": delta.kept, "alive": delta.still_alive,
        "unconfirmed": len(delta.unconfirmed), "undecided": len(delta.undecided),
    }  # fmt: skip
    assert sum(counts.values()) <= 1
    return next((name for name, times in counts.items() if times), "nowhere")


PLACES = {
    "gained": met({ADDED: A, SAME: P}, {SAME: P}),
    "gained where no old test reaches it": met({ADDED: A}),
    "lost": met({SAME: P}, {SAME: P, GONE: A}),
    "lost where no new test reaches it": met({}, {GONE: X}),
    "kept": met({SAME: A, ADDED: A}, {SAME: A}),
    "kept by others": met({ADDED: A}, {GONE: T}),
    "alive": met({ADDED: P, SAME: S}, {SAME: S}),
    "alive and never reached": met({}),
    "unconfirmed": met({ADDED: A}, refuted="it passed"),
    "undecided, the old outcome is missing": met({ADDED: A}, unknown=frozenset({"old"})),
    "undecided, the new outcome is missing": met({}, {GONE: A}, unknown=frozenset({"new"})),
    "undecided, both are": met({}, unknown=frozenset({"new", "old"})),
    "kept although something is missing": met({ADDED: A}, {GONE: A}, unknown=frozenset({"new", "old"})),
    "nowhere": met({ADDED: A}, judged=False),
}


@pytest.mark.parametrize("name", PLACES)
def test_every_mutant_has_one_place(name: str) -> None:
    assert place(PLACES[name]) == name.split()[0].rstrip(",")


@pytest.mark.parametrize("name", PLACES)
def test_what_is_run_again_is_what_would_be_gained_or_lost(name: str) -> None:
    kind = name.split()[0]
    expected = kind if kind in ("gained", "lost") else "gained" if kind == "unconfirmed" else None
    assert side_of(PLACES[name]) == expected


@pytest.mark.parametrize(
    ("outcomes", "by"), [((A, X), "assertion"), ((X, T), "crash"), ((Outcome.CRASH,), "crash"), ((T, P), "timeout")]
)
def test_how_a_mutant_was_gained(outcomes: tuple[Outcome, ...], by: str) -> None:
    (gain,) = only(met(dict(zip((ADDED, MORE), outcomes, strict=False)))).gained
    assert gain.by == by


@pytest.mark.parametrize(
    ("killers", "origin"), [((ADDED,), "new"), ((REPLACING,), "restored"), ((ADDED, REPLACING), "mixed")]
)
def test_where_a_gain_comes_from(killers: tuple[int, ...], origin: str) -> None:
    delta = only(met(dict.fromkeys(killers, A)))
    assert delta.gained[0].origin == origin
    assert delta.gained_by_assertion == (origin == "new")


def test_upgraded_and_downgraded_are_kept() -> None:
    up, down = only(met({ADDED: A}, {GONE: X})), only(met({ADDED: T}, {GONE: A}))
    assert (up.kept, up.upgraded, up.downgraded) == (1, ["m"], [])
    assert (down.kept, down.upgraded, down.downgraded) == (1, [], ["m"])


@pytest.mark.parametrize(
    ("meetings", "verdict"),
    [
        ([met({ADDED: A})], "gained"), ([met({ADDED: X})], "gained nothing"), ([met({ADDED: P})], "gained nothing"),
        ([met({SAME: A}, {SAME: A})], "nothing to gain"), ([], "nothing to gain"),
        ([met({REPLACING: A})], "gained nothing"),
    ],
)  # fmt: skip
def test_verdicts(meetings: list[Meeting], verdict: str) -> None:
    assert compare(meetings, TESTS).verdict == verdict


def test_headroom_leaves_out_what_is_not_known() -> None:
    delta = compare([*PLACES.values()], TESTS)
    assert delta.headroom == len(delta.gained) + delta.still_alive == 4


def test_a_test_that_asserts_nothing_raises_no_score() -> None:
    """Over each suite's own set it would: there its crashes take mutants out of the denominator."""
    old = [met({SAME: A}, {SAME: A}) for _ in range(4)] + [met({SAME: P, ADDED: X}, {SAME: P})]
    delta = compare(old, TESTS)
    assert delta.score_old == delta.score_new == (4, 4)
    assert delta.gained_by_assertion == 0
    assert [gain.by for gain in delta.gained] == ["crash"]


def test_both_scores_are_over_one_set() -> None:
    meetings = [
        met({ADDED: A}),
        met({SAME: A}, {SAME: A}),
        met({SAME: P}, {SAME: P}),
        met({}),
        met({ADDED: X}, {SAME: X}),
    ]
    delta = compare(meetings, TESTS)
    assert (delta.score_old, delta.score_new) == ((1, 3), (2, 3))


def test_who_gained_what() -> None:
    delta = compare([met({ADDED: A, MORE: A}), met({ADDED: A, MORE: P}), met({MORE: P, REPLACING: P})], TESTS)
    shares = [(share.test, share.gained, share.unique, share.verdict) for share in by_test(delta, TESTS)]
    assert shares == [(ADDED, 2, 1, "gained"), (MORE, 1, 0, "gained"), (REPLACING, 0, 0, "noticed nothing")]
    nothing = compare([met({SAME: A, ADDED: A}, {SAME: A})], TESTS)
    assert {share.verdict for share in by_test(nothing, TESTS)} == {"nothing left to gain"}


def test_excluded_old_tests_say_how_much_of_the_headroom_they_reach() -> None:
    delta = compare([met({ADDED: A}, excluded=[BROKEN]), met({SAME: A}, {SAME: A}, excluded=[BROKEN])], TESTS)
    facts = as_json(delta, TESTS, baseline="main", commit="c", scope="covered", score_ref=None)
    assert facts["tests"]["excluded"] == [{"nodeid": "t::broken", "reason": "failed", "headroom_reached": 1}]
    assert facts["scope_depends_on_tests"] is True
    assert (facts["tests"]["added"], facts["tests"]["removed"]) == (["t::added", "t::more"], ["t::gone"])
    assert (facts["tests"]["changed"], facts["tests"]["unchanged"]) == (["t::replacing"], 1)
