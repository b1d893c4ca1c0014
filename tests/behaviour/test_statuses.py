"""Every mutant has exactly one status, the right one, and the counts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from projects import Case, Project, Run

CODE = """\
import os

LIMIT = 10

class Settings:
    size = 20

def killed(n):
    return n + 1

def crashed(n):
    return n + 2

def endless(n):
    return n + 3

def survived(n):
    return n + 4

def words():
    return "some words"

def unused(n):
    return n + 5

def short(n):
    return n or 5 + 6

def skipping(n):
    return n + 7

def only_bad(n):
    return n + 8

def same(n):
    return n + 9

def decide(n, limit=30):
    return n < limit

@property
def at_import(n):
    return n

def registered(n):
    return n * 40

REGISTRY = registered(1)
"""
TESTS = """\
import pytest
import shop

def test_killed(): assert shop.killed(1) == 2
def test_crashed(): shop.crashed(1)
def test_endless(): shop.endless(1)
def test_survived(): shop.survived(1)
def test_words(): assert shop.words()
def test_short(): assert shop.short(1) == 1
def test_skipping():
    if shop.skipping(1) != 8: pytest.skip("no")
def test_only_bad(): assert shop.only_bad(1) == 0
def test_same(): assert shop.same(1) == 10
def test_decide(): assert shop.decide(1)
def test_limit(): assert shop.LIMIT == 10 and shop.Settings.size == 20
def test_registered(): assert shop.registered(2) == 80
"""
#: name, before, after, status, reason
CASES = [
    ("killed", "n + 1", "n - 1", "killed", None),
    ("crashed", "n + 2", "n + None", "crashed", None),
    ("endless", "return n + 3", "while True: pass", "timeout", None),
    ("survived", "n + 4", "n - 4", "survived", None),
    ("string", '"some words"', '"other words"', "survived", "string_only"),
    ("unused", "n + 5", "n - 5", "no_coverage", None),
    ("line_reached", "5 + 6", "5 - 6", "no_coverage", "line_reached"),
    ("silenced", "n + 7", "n - 7", "silenced", None),
    ("only_bad", "n + 8", "n - 8", "no_usable_test", None),
    ("equivalent", "n + 9", "(n + 9)", "equivalent", ""),
    ("first", "n < limit", "n > limit", "killed", None),
    ("second", "n < limit", "n > (limit)", "duplicate", ""),
    ("broken", "n < limit", "n <", "invalid", ""),
    ("module", "LIMIT = 10", "LIMIT = 11", "killed", None),
    ("in_class", "size = 20", "size = 21", "killed", None),
    ("default", "limit=30", "limit=31", "survived", None),
    ("decorator", "@property", "", "survived", None),
    ("also_at_import", "n * 40", "n * 41", "killed", None),
]


def prepared(project: Project) -> Project:
    project.write({"shop.py": CODE, "test_shop.py": TESTS})
    return project.cases(Case(name, before, after, "shop.py") for name, before, after, *_ in CASES)


@pytest.fixture(scope="module")
def ran(new_project: Callable[[], Project]) -> Run:
    return prepared(new_project()).run("--mutate=shop.py")


@pytest.mark.parametrize(("name", "status", "reason"), [(row[0], row[3], row[4]) for row in CASES])
def test_status(ran: Run, name: str, status: str, reason: str | None) -> None:
    mutant = ran.mutant(name)
    assert mutant["status"] == status
    if reason is None or reason:
        assert mutant["reason"] == reason
    else:
        assert mutant["reason"] or mutant["duplicate_of"] or status == "equivalent"


def test_counts_add_up(ran: Run) -> None:
    counts = Counter(mutant["status"] for mutant in ran.data["mutants"])
    listed = dict(ran.data["score"]["counts"])
    assert listed.pop("survived_string_only") == 1
    assert {status: number for status, number in listed.items() if number} == dict(counts)
    assert sum(listed.values()) == len(ran.data["mutants"]) == ran.data["run"]["population"] == len(CASES)


def test_scores_are_of_what_they_say(ran: Run) -> None:
    score = ran.data["score"]
    assert (score["assertion"]["numerator"], score["assertion"]["denominator"]) == (5, 9)
    assert (score["detection"]["numerator"], score["detection"]["denominator"]) == (7, 15)


def test_the_screen_says_the_same(ran: Run) -> None:
    ran.lines.fnmatch_lines(["assertion score *55.6%*5 of 9*", "detection score *46.7%*7 of 15*"])
    ran.lines.fnmatch_lines(["mutants *18"])
    ran.lines.fnmatch_lines(["*failed: test_shop.py::test_only_bad*"])


def test_duplicates_and_cells(ran: Run) -> None:
    assert ran.mutant("second")["duplicate_of"] == ran.mutant("first")["key"]
    for name in ("second", "broken", "equivalent", "unused", "line_reached", "only_bad"):
        assert ran.mutant(name)["cells"] == [], name
    assert ran.mutant("only_bad")["reached_by"] == ["test_shop.py::test_only_bad"]


def test_static_mutants_left_out(project: Project) -> None:
    ran = prepared(project).run("--mutate=shop.py", "--kill-matrix-static=skip")
    statuses = ran.statuses()
    for name in ("module", "in_class", "decorator"):
        assert (statuses[name], ran.mutant(name)["reason"]) == ("ignored", "static"), name
    assert (statuses["killed"], statuses["survived"]) == ("killed", "survived")


def test_the_catalogue_on_a_whole_file(project: Project) -> None:
    project.write({"shop.py": CODE, "test_shop.py": TESTS.replace("== 0", "== 9")})
    ran = project.run("--mutate=shop.py")
    counts = Counter(mutant["status"] for mutant in ran.data["mutants"])
    assert sum(counts.values()) == ran.data["run"]["population"] > 40
    assert len({mutant["key"] for mutant in ran.data["mutants"]}) == sum(counts.values())
    assert counts["killed"] >= 10
    assert counts["run_error"] == 0
