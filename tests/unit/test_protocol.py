"""Orders to a child that waits, and ending as another process ended."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest

from pytest_killmatrix.executor.protocol import Connection, Purpose, Task, die_alike, receive_order, send_order


def test_orders_arrive_one_by_one_however_long() -> None:
    reading, writing = os.pipe()
    tasks = [Task(1, Purpose.ROW, (0,)), Task(2, Purpose.CONFIRM, tuple(range(50_000)), apart=True), None]
    sender = threading.Thread(target=lambda: [send_order(writing, task) for task in tasks])
    sender.start()
    assert [receive_order(reading) for _ in tasks] == tasks
    sender.join()
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("sent", [b"", b"\1\0", b"\7\0\0\0abc"])
def test_nobody_to_give_an_order(sent: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, sent)
    os.close(writing)
    assert receive_order(reading) is None
    os.close(reading)


@pytest.mark.parametrize("code", [0, 3, 75, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGABRT])
def test_ending_as_another_did(code: int) -> None:
    def ended(how: int) -> int:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            die_alike(how)
        return os.waitpid(pid, 0)[1]

    status = code << 8 if code >= 0 else -code
    again = ended(status)
    assert os.waitstatus_to_exitcode(again) == code


def test_two_that_both_have_much_to_say_do_not_wait_for_each_other() -> None:
    ours, theirs = socket.socketpair()
    other = Connection(theirs)
    said = "x" * 10_000_000

    def answer() -> None:
        other.send(said)  # before it has read anything
        while not (heard := other.receive()):
            pass
        other.send(heard[0] == said)

    answering = threading.Thread(target=answer)
    answering.start()
    connection = Connection(ours)
    arrived = connection.exchange(said)
    while len(arrived) < 2:
        arrived += connection.receive() or []
    answering.join()
    assert arrived == [said, True]
    ours.close()
    theirs.close()
    with pytest.raises(BrokenPipeError):
        connection.exchange(said)
