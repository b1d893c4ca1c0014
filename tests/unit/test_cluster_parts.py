"""The pure parts of the cluster: batches, what has to agree, where things are, what the controls said."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.cluster import facts, matter, project
from pytest_killmatrix.cluster.batches import Batches
from pytest_killmatrix.cluster.moving import Moving, taken
from pytest_killmatrix.cluster.proofs import Proof, chosen, refuted
from pytest_killmatrix.executor.pool import Found, TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Splice, Swap, Task
from pytest_killmatrix.model import Outcome, Phase


def tasks(count: int) -> list[Task]:
    return [Task(number, Purpose.ROW, (number,)) for number in range(count)]


# -- batches -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["done", "lost", "late"]))))
def test_no_task_is_lost_and_none_is_counted_twice(count: int, events: list[tuple[int, str]]) -> None:
    batches, source, counted = Batches(), iter(tasks(count)), Counter[int]()
    names, given_up, gone = ["a", "b", "c"], Counter[int](), list[int]()
    out: dict[str, list[int]] = {name: [] for name in names}
    clock = itertools.count()

    def give(name: str, *, only: bool = False) -> bool:
        batch = batches.give(name, 2, source, next(clock), single=False, only=only)
        if batch is not None:
            out[name].append(batch.number)
        return batch is not None

    def back(number: int) -> None:
        done = batches.done(number, next(clock))
        counted.update(task.id for task in (done.tasks if done is not None else ()))

    for which, event in events:
        name = names[which]
        give(name)
        if event == "done" and out[name]:
            back(out[name].pop(0))
        elif event == "lost":
            gone.extend(out[name])
            out[name] = []
            given_up.update(task.id for task in batches.lost(name)[0])
        elif event == "late" and gone:
            back(gone.pop())  # a batch that runs elsewhere meanwhile
    while any(out.values()) or give("a", only=True):
        for name in names:
            while out[name]:
                back(out[name].pop())
    assert not batches
    assert counted + given_up == Counter(range(count))


def failing(batches: Batches, source: Iterable[Task], only: bool = True) -> list[tuple[int, ...]]:
    """What a worker is given that ends whenever it is given something, until there is nothing left."""
    seen, given = [], iter(source)
    while (batch := batches.give("w", 2, given, 0.0, single=False, only=only)) is not None:
        seen.append(tuple(task.id for task in batch.tasks))
        batches.lost("w")
    return seen


def test_what_fails_is_tried_by_itself_and_given_up_in_the_end() -> None:
    batches = Batches()
    seen = failing(batches, tasks(4))
    assert Counter(task for batch in seen for task in batch) == dict.fromkeys(range(4), 3)
    assert {next(batch for batch in reversed(seen) if task in batch) for task in range(4)} == {(0,), (1,), (2,), (3,)}
    assert not batches


def test_what_is_left_is_divided_among_the_workers() -> None:
    batches, source = Batches(), iter(tasks(24))
    given = [batches.give(name, 4, source, 0.0, single=False, only=False, workers=3) for name in "abcabc"]
    assert [len(batch.tasks) for batch in given if batch is not None] == [4] * 6
    batches, source = Batches(), iter(tasks(24))
    batches._pace["a"] = 0.05
    first = batches.give("a", 1, source, 0.0, single=False, only=False, workers=3)
    assert first is not None
    assert len(first.tasks) == 4  # and not 20


def test_what_failed_on_a_worker_goes_to_another() -> None:
    batches, none = Batches(), iter(())
    batches.add(tasks(1)[0])
    assert batches.give("a", 2, none, 0.0, single=False, only=False) is not None
    batches.lost("a")
    assert batches.give("a", 2, none, 0.0, single=False, only=False) is None
    assert batches.give("b", 2, none, 0.0, single=False, only=False) is not None


def test_a_batch_that_had_not_begun_has_not_failed() -> None:
    batches, source = Batches(), iter(tasks(32))
    for _ in range(2):
        batches.give("a", 2, source, 0.0, single=False, only=True)
    batches.lost("a")
    again = [batches.give("b", 2, source, 0.0, single=False, only=False) for _ in range(2)]
    assert [(batch.failures, len(batch.tasks)) for batch in again if batch is not None] == [(1, 4), (0, 4)]


def test_one_at_a_time() -> None:
    batches, source = Batches(), iter(tasks(5))
    batch = batches.give("a", 2, source, 0.0, single=True, only=True)
    assert batch is not None
    assert len(batch.tasks) == 1


def test_batches_grow_with_the_pace_of_their_worker() -> None:
    batches, source = Batches(), iter(tasks(2000))
    sizes = []
    for number in range(6):
        batch = batches.give("a", 2, source, float(number), single=False, only=True)
        assert batch is not None
        sizes.append(len(batch.tasks))
        batches.done(batch.number, number + len(batch.tasks) * 0.01)
    assert sizes[0] == 4
    assert sizes[-1] == 100


# -- what has to agree -------------------------------------------------------------------------------------------------

HERE = {"python": "CPython 3.11.7", "platform": "linux-x86_64", "installed": {"pytest": "9.2.0", "a": "1", "c": "1"}}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({}, []),
        ({"python": "CPython 3.11.8"}, ["CPython 3.11.8 instead of CPython 3.11.7"]),
        ({"platform": "linux-aarch64"}, ["linux-aarch64 instead of linux-x86_64"]),
        ({"installed": {"pytest": "9.1.0", "a": "1"}}, ["pytest 9.1.0 instead of 9.2.0"]),
        ({"installed": {"pytest": "9.2.0"}}, ["no a (here 1)"]),
        ({"installed": {"pytest": "9.2.0", "a": "1", "b": "2"}}, ["b 2, which is not here"]),
        ({"installed": {"pytest": "9.2.0", "a": "1", "unused": "2"}}, []),
    ],
)
def test_differences(there: dict[str, object], said: list[str]) -> None:
    assert facts.differences(HERE, {**HERE, **there}, ("pytest", "a", "b")) == said


def test_this_interpreter_is_like_itself() -> None:
    ours = facts.gather()
    assert facts.differences(ours, facts.gather(), ours["installed"]) == []
    assert {"pytest", "pytest-killmatrix"} <= set(ours["installed"])
    assert "pytest-killmatrix" in matter.plugins()


def test_what_holds_the_session_is_looked_at_first() -> None:
    assert matter.listed(frozenset({"a", "pytest"}), frozenset({"b"})) == (
        "pluggy", "pytest", "pytest-killmatrix", "a", "b",
    )  # fmt: skip


def test_the_project_itself_need_not_be_installed_on_a_worker() -> None:
    modules = {"pytest": pytest, "_pytest.config": pytest}
    assert "pytest" in matter.loaded(modules, Path("/nowhere"))
    inside = Path(os.path.realpath(pytest.__file__)).parents[1]
    assert ("pytest" in matter.loaded(modules, inside)) == ("site-packages" in str(pytest.__file__))


# -- where things are --------------------------------------------------------------------------------------------------


def test_tasks_and_results_move() -> None:
    moving = Moving("/here/shop", "/tmp/there/shop")
    splice = Splice("/here/shop/code.py", 0, 1, b"x", "hash")
    task = Task(1, Purpose.ROW, (0,), swaps=(Swap("/here/shop/code.py", 1, b"", b""),), splice=splice, hold=True)
    there = moving.task(task)
    assert {there.swaps[0].path, there.splice.path if there.splice else ""} == {"/tmp/there/shop/code.py"}
    assert not there.hold
    assert moving.path("/here/shopping/code.py") == "/here/shopping/code.py"
    found = Found(0, Outcome.ASSERTION, Phase.CALL, "E", "no /tmp/there/shop/a", "a.py:1", 0.1, (), True, True)
    result = taken(task, moving.brought(TaskResult(there, [found], fault="in /tmp/there/shop/b")))
    assert result.task is task
    assert (result.found[0].message, result.fault) == ("no /here/shop/a", "in /here/shop/b")


def test_the_machine_keeps_what_is_its_own() -> None:
    ours = {"HOME": "/home/me", "PATH": "/my/bin", "SETTING": "1", "VIRTUAL_ENV": "/my/venv"}
    assert project.environment(ours, {"HOME": "/root", "PATH": "/bin", "SETTING": "2"}) == {
        "HOME": "/root", "PATH": "/bin", "SETTING": "1",
    }  # fmt: skip


def test_an_archive_is_the_project_elsewhere(tmp_path: Path) -> None:
    root, there = tmp_path / "shop", tmp_path / "there"
    (root / "src").mkdir(parents=True)
    (root / "src" / "code.py").write_text("X = 1\n")
    (root / "__pycache__").mkdir()
    (root / "relative").symlink_to("src/code.py")
    (root / "absolute").symlink_to(root / "src" / "code.py")
    project.unpack(project.pack(root), there)
    assert sorted(path.name for path in there.iterdir()) == ["absolute", "relative", "src"]
    for name in ("relative", "absolute"):
        assert (there / name).resolve() == (there / "src" / "code.py").resolve()
    manifest = {"src/code.py": project.digest_of(root / "src" / "code.py")}
    assert project.changed(str(there), manifest) == []
    assert project.is_visible(str(there), str(there), manifest)
    (there / "src" / "code.py").write_text("X = 2\n")
    assert project.changed(str(there), manifest) == ["src/code.py"]
    assert not project.is_visible(str(there), str(there), manifest)
    words, environ, cwd = project.moved(
        str(root), str(there), str(root / "src"), [f"{root}/src/code.py", "-q"], {"PYTHONPATH": f"{root}/src"}, ["src"]
    )
    assert words == ["code.py", "-q", f"--rootdir={there}"]
    assert (environ["PYTHONPATH"], cwd) == (f"{there}/src", f"{there}/src")


def test_a_worker_may_be_told_to_unpack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert project.is_visible(str(tmp_path), str(tmp_path), {})
    monkeypatch.setenv(project.UNPACK, "1")
    assert not project.is_visible(str(tmp_path), str(tmp_path), {})


# -- the controls ------------------------------------------------------------------------------------------------------

NOOP = Task(1, Purpose.NOOP, (0, 1, 2))
LIFE = Task(2, Purpose.LIFE, (0,))


def said(task: Task, outcomes: dict[int, Outcome], **more: str) -> TaskResult:
    found = [
        Found(test, outcome, Phase.CALL, None, "because", None, 0.0, (), True, True)
        for test, outcome in outcomes.items()
    ]
    return TaskResult(task, found, **more)  # type: ignore[arg-type]


ALL_PASS = dict.fromkeys((0, 1, 2), Outcome.PASSED)
NAMES = ["t0", "t1", "t2"]


def test_controls_are_those_over_most_tests_that_judge() -> None:
    fewer = replace(NOOP, id=3, tests=(0,))
    proofs = [Proof.of(said(task, ALL_PASS)) for task in (NOOP, fewer)]
    quiet = Proof.of(said(LIFE, {0: Outcome.PASSED}))
    assert [(proof.task.id, proof.task.tests) for proof in chosen([*proofs, quiet], {0, 2})] == [(1, (0, 2))]


@pytest.mark.parametrize(
    ("here", "there", "why"),
    [
        (said(NOOP, ALL_PASS), said(NOOP, ALL_PASS), None),
        (said(NOOP, {**ALL_PASS, 1: Outcome.ASSERTION}), said(NOOP, {**ALL_PASS, 1: Outcome.CRASH}), None),
        (
            said(NOOP, ALL_PASS),
            said(NOOP, {**ALL_PASS, 1: Outcome.ASSERTION}),
            "t1 says otherwise *assertion: because*",
        ),
        (said(NOOP, ALL_PASS), said(NOOP, {0: Outcome.PASSED, 1: Outcome.PASSED}), "t2 says otherwise *no result*"),
        (said(NOOP, ALL_PASS), said(NOOP, {}, fault="lines\nthe last"), "t0 says otherwise *(the last)"),
        (said(LIFE, {0: Outcome.CRASH}), said(LIFE, {0: Outcome.ASSERTION}), None),
        (said(LIFE, {0: Outcome.CRASH}), said(LIFE, {0: Outcome.PASSED}), "no test notices*"),
        (said(NOOP, {}, invalid="raised"), said(NOOP, {}, invalid="raised"), None),
        (said(NOOP, {}, invalid="raised"), said(NOOP, ALL_PASS), "*imported again without the mutant"),
    ],
)
def test_what_a_worker_says_of_the_controls(here: TaskResult, there: TaskResult, why: str | None) -> None:
    proofs = chosen([Proof.of(here)], {0, 1, 2})
    assert len(proofs) == 1
    found = refuted(proofs, {there.task.id: there}, NAMES)
    assert found is None if why is None else fnmatch.fnmatch(found or "", why)


def test_a_control_without_an_answer() -> None:
    assert refuted([Proof.of(said(NOOP, ALL_PASS))], {}, NAMES) == "a control gave no answer"
