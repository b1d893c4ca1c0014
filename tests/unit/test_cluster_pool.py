"""The controller's side of a cluster, with a broker that says what the test wants."""

from __future__ import annotations

import os
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.cluster import pool as pooling
from pytest_killmatrix.cluster.messages import (
    Begin,
    Broken,
    Brought,
    Open,
    Opened,
    Ran,
    Run,
    Snapshot,
    Terms,
    Workers,
)
from pytest_killmatrix.cluster.pool import ClusterPool
from pytest_killmatrix.cluster.proofs import Proof
from pytest_killmatrix.executor.pool import Found
from pytest_killmatrix.executor.protocol import Purpose, Task
from pytest_killmatrix.model import Outcome, Phase
from pytest_killmatrix.prepared import Stop

SNAPSHOT = Snapshot(
    "key", "/shop", "/shop", (), (), {}, (), {}, {}, [], ["t0"], [], b"", (), True, False, 1.0
)  # fmt: skip
TERMS = Terms([1.0], [0.1], 5.0, 0, True, [])
NOOP = Task(1000, Purpose.NOOP, (0,))
PROOFS = [Proof(NOOP, frozenset({0}), False, False)]

Say = Callable[[Any], None]


def brought(run: Run, outcome: Outcome = Outcome.PASSED) -> bytes:
    """What a session says of a batch in which every test has this outcome."""
    found = [Found(0, outcome, Phase.CALL, None, None, None, 0.0, (), True, True)]
    return pickle.dumps([Brought(task.id, {"found": found}) for task in pickle.loads(run.tasks)])


class Broker:
    """Two workers, ``a`` and ``b``, that do what they are told; a test replaces parts of it."""

    def __init__(self) -> None:
        self.began: list[Any] = [Workers({"a": 1, "b": 2}, {})]
        self.opened: Callable[[Open], list[Any]] = lambda message: [Opened(message.worker, 0.5)]
        self.ran: Callable[[Run], list[Any]] = lambda message: [Ran(message.batch, brought(message))]
        self.batches: list[Run] = []

    def answer(self, message: Any) -> list[Any]:
        if isinstance(message, Begin):
            return self.began
        if isinstance(message, Open):
            return self.opened(message)
        assert isinstance(message, Run)
        if NOOP in pickle.loads(message.tasks):
            return [Ran(message.batch, brought(message))]
        self.batches.append(message)
        return self.ran(message)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def cluster(broker: Broker) -> Iterator[ClusterPool]:
    here, there = os.pipe(), os.pipe()
    ours, theirs = Line(here[0], there[1]), Line(there[0], here[1])

    def serve() -> None:
        try:
            while True:
                if theirs.heard(0.1):
                    for answer in broker.answer(theirs.next()):
                        if answer is None:
                            raise LineBroken
                        theirs.say(answer)
        except LineBroken:
            theirs.close()

    server = threading.Thread(target=serve)
    server.start()
    yield ClusterPool(ours, "tcp://x", SNAPSHOT, TERMS, PROOFS)
    ours.close()
    server.join()


def tasks(count: int) -> list[Task]:
    return [Task(number, Purpose.ROW, (0,)) for number in range(count)]


def done(cluster: ClusterPool, count: int, width: int | None = None) -> Counter[int]:
    return Counter(result.task.id for result in cluster.run(tasks(count), width))


def test_every_task_once(cluster: ClusterPool, broker: Broker) -> None:
    assert done(cluster, 50) == Counter(range(50))
    count = len({run.worker for run in broker.batches})  # where one is so quick, the other may come too late
    assert cluster.notes == [f"the matrix ran on {count} worker{'s' * (count > 1)} of the Dask cluster at tcp://x"]
    assert cluster.zygote_cpu in (0.5, 1.0)


def test_more_may_be_added_while_results_are_taken(cluster: ClusterPool) -> None:
    seen = []
    for result in cluster.run(tasks(3)):
        seen.append(result.task.id)
        if result.task.id < 3:
            cluster.follow(Task(10 + result.task.id, Purpose.CONFIRM, (0,)))
    assert sorted(seen) == [0, 1, 2, 10, 11, 12]


def test_with_a_width_there_is_one_task_on_the_whole_cluster(cluster: ClusterPool, broker: Broker) -> None:
    """The answer to a task comes only after a while: nothing else may have been given until then."""
    assert done(cluster, 6, width=1) == Counter(range(6))
    assert [len(pickle.loads(run.tasks)) for run in broker.batches] == [1] * 6


def test_nothing_to_do_needs_no_cluster(cluster: ClusterPool, broker: Broker) -> None:
    broker.began = [Broken("asked for nothing")]
    assert done(cluster, 0) == Counter()
    assert cluster.notes == []


def test_a_worker_that_goes_costs_nothing_and_late_answers_do_not_count(cluster: ClusterPool, broker: Broker) -> None:
    kept: list[Run] = []

    def ran(message: Run) -> list[Any]:
        if message.worker == "a":
            kept.append(message)
            return [Workers({"b": 2}, {}), Ran(message.batch, brought(message))] if len(kept) == 2 else []
        return [Ran(message.batch, brought(message))]

    broker.ran = ran
    assert done(cluster, 40) == Counter(range(40))
    assert len(kept) == 2
    assert "1 worker(s) were lost" in cluster.notes[1]


def test_a_worker_that_comes_late_joins(cluster: ClusterPool, broker: Broker) -> None:
    kept: list[Run] = []

    def ran(message: Run) -> list[Any]:
        """What ``a`` was given it has done when ``c`` has."""
        if message.worker == "a":
            kept.append(message)
            return [Workers({"a": 1, "c": 1}, {})] if len(kept) == 1 else []
        answers, kept[:] = [*kept, message], []
        broker.ran = lambda message: [Ran(message.batch, brought(message))]
        return [Ran(one.batch, brought(one)) for one in answers]

    broker.began, broker.ran = [Workers({"a": 1}, {})], ran
    assert done(cluster, 40) == Counter(range(40))
    assert {run.worker for run in broker.batches} == {"a", "c"}


def test_a_late_worker_that_differs_is_left_out(cluster: ClusterPool, broker: Broker) -> None:
    broker.began = [Workers({"a": 1}, {}), Workers({"a": 1, "c": 1}, {"c": "it has a 1"})]
    assert done(cluster, 40) == Counter(range(40))
    assert {run.worker for run in broker.batches} == {"a"}
    assert cluster.notes[1:] == ["the worker at c was left out: it has a 1"]


def test_a_session_that_ends_is_opened_again(cluster: ClusterPool, broker: Broker) -> None:
    broker.began = [Workers({"a": 1}, {})]
    failed: list[int] = []

    def ran(message: Run) -> list[Any]:
        if not failed:
            failed.append(message.batch)
            return [Ran(message.batch, why="it ended")]
        return [Ran(message.batch, brought(message))]

    broker.ran = ran
    assert done(cluster, 20) == Counter(range(20))


def test_a_task_that_ends_every_session_is_a_fault(cluster: ClusterPool, broker: Broker) -> None:
    def ran(message: Run) -> list[Any]:
        if 7 in (task.id for task in pickle.loads(message.tasks)):
            return [Ran(message.batch, why="it ended")]
        return [Ran(message.batch, brought(message))]

    broker.ran = ran
    results = {result.task.id: result for result in cluster.run(tasks(20))}
    assert len(results) == 20
    assert {number for number, result in results.items() if result.fault is not None} == {7}
    assert results[7].fault == "3 sessions on the cluster ended with it, the last one because it ended"


def test_a_worker_whose_session_does_not_open_is_left_out(cluster: ClusterPool, broker: Broker) -> None:
    tried = Counter[str]()

    def opened(message: Open) -> list[Any]:
        tried[message.worker] += 1
        return [Opened(message.worker, why="died", again=True) if message.worker == "a" else Opened(message.worker)]

    broker.opened = opened
    assert done(cluster, 40) == Counter(range(40))
    assert tried == {"a": 3, "b": 1}
    assert cluster.notes[1:] == ["the worker at a was left out: died"]


DIFFER = [Workers({"a": 1}, {"a": "it has pytest 1"})]


@pytest.mark.parametrize(
    ("began", "opened", "ran", "said", "status"),
    [
        (DIFFER, None, None, "the worker at a is not like this interpreter: it has pytest 1", 4),
        (None, lambda message: [Opened(message.worker, why="no such test")], None, "cannot be used: no such test", 4),
        ([Broken("it is gone")], None, None, "interrupted: it is gone; what was finished is kept", 2),
        (None, None, lambda message: [Broken("it went")], "interrupted: it went; what was finished is kept", 2),
        (None, None, lambda message: [None], "interrupted: the process that speaks with the Dask scheduler is gone", 2),
        ([Workers({}, {})], None, None, "all workers of the Dask cluster at tcp://x are gone", 2),
        (None, None, lambda message: [Workers({}, {})], "all workers of the Dask cluster at tcp://x are gone", 2),
    ],
)
def test_what_ends_a_run(
    cluster: ClusterPool, broker: Broker, began: Any, opened: Any, ran: Any, said: str, status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(pooling, "_RETURNS_WITHIN", 0.2)
    broker.began, broker.opened, broker.ran = began or broker.began, opened or broker.opened, ran or broker.ran
    with pytest.raises(Stop, match=said) as stopped:
        done(cluster, 5)
    assert stopped.value.status == status


def test_a_worker_where_the_controls_say_otherwise_gets_nothing(cluster: ClusterPool, broker: Broker) -> None:
    answer = broker.answer

    def strange(message: Any) -> list[Any]:
        if isinstance(message, Run) and message.worker == "a" and NOOP in pickle.loads(message.tasks):
            return [Ran(message.batch, brought(message, Outcome.ASSERTION))]
        return answer(message)

    broker.answer = strange  # type: ignore[method-assign]
    assert done(cluster, 40) == Counter(range(40))
    assert {run.worker for run in broker.batches} == {"b"}
    assert cluster.notes[1].startswith("the worker at a was left out: t0 says otherwise where nothing is changed")
