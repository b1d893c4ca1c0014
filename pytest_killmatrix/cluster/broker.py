"""The process that loads Dask: it speaks with the scheduler for the controller, which runs tests and must not.

``python -c "from pytest_killmatrix.cluster.broker import main; main()" ADDRESS READ WRITE`` obeys until nobody is left;
with ``check`` and the distributions that have to be the same in place of the descriptors it looks once who is there,
says so as JSON, and leaves.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.baseline.line import Line, LineBroken
from pytest_killmatrix.cluster import facts, project, remote
from pytest_killmatrix.cluster.messages import Begin, Broken, Open, Opened, Ran, Run, Workers

CHECK: Final = "check"
CODE: Final = "import sys; sys.path.insert(0, sys.argv[1]); from pytest_killmatrix.cluster.broker import main; main()"
_CONNECTED_WITHIN: Final = 10  # seconds
_LOOK: Final = 0.3  # seconds between looks who is there
_SILENCE: Final = 15.0  # seconds after which a scheduler that does not answer is gone
_CLOSING: Final = 25.0  # seconds for the sessions to end


class Cluster:
    """The client, and what is asked of the workers."""

    def __init__(self, address: str) -> None:
        """OSError where there is no scheduler at the address."""
        # heavy, and not everybody has them
        cloudpickle, distributed = importlib.import_module("cloudpickle"), importlib.import_module("distributed")
        logging.disable(logging.CRITICAL)  # what there is to say is said by us
        cloudpickle.register_pickle_by_value(facts)
        self.client: Any = distributed.Client(
            address, timeout=_CONNECTED_WITHIN, set_as_default=False, name="killmatrix"
        )
        self._ours = facts.gather()

    def threads(self) -> dict[str, int]:
        """The workers, with their threads."""
        found: dict[str, int] = self.client.nthreads()
        return found

    def differ(self, workers: Iterable[str], matter: Iterable[str]) -> dict[str, str]:
        """Of these workers those that cannot be used, and why; one that went meanwhile is none of them."""
        asked = list(workers)
        said = self.client.run(facts.gather, workers=asked, on_error="return") if asked else {}
        found = {}
        for worker, theirs in said.items():
            if isinstance(theirs, OSError):
                continue
            if not isinstance(theirs, dict):
                found[worker] = f"it could not say what it is: {theirs}"
            elif different := facts.differences(self._ours, theirs, matter):
                more = f" and {len(different) - 3} more" if len(different) > 3 else ""
                found[worker] = f"it has {', '.join(different[:3])}{more}"
        return found

    def wait(self, futures: Iterable[Any]) -> None:
        """Until they are done, or for as long as anybody waits for that."""
        until = time.monotonic() + _CLOSING
        for future in list(futures):
            with contextlib.suppress(Exception):
                future.result(timeout=max(until - time.monotonic(), 0.1))

    def submit(self, worker: str, function: Any, *words: Any) -> Any:
        """Have this worker, and no other, call a function."""
        return self.client.submit(
            function, *words, workers=[worker], allow_other_workers=False, pure=False, retries=0, priority=1
        )


class Broker:
    """Obeys the controller; ``line`` leads there."""

    def __init__(self, cluster: Cluster, line: Line) -> None:
        self._cluster = cluster
        self._line = line
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._begin: Begin | None = None
        self._known: dict[str, int] = {}
        self._differ: dict[str, str] = {}
        self._anchors: dict[str, Any] = {}  # by worker
        self._futures: dict[Any, tuple[str, Any]] = {}  # what waits for a worker's answer: the worker, the future
        self._archive: bytes | None = None
        self._key = ""

    def serve(self) -> None:
        """Until the controller says that it is over, or is gone."""
        threading.Thread(target=self._listen, daemon=True).start()
        heard, looked = time.monotonic(), 0.0
        while True:
            with contextlib.suppress(queue.Empty):
                verb, *rest = self._events.get(timeout=_LOOK)
                if verb == "leave":
                    return
                getattr(self, f"_{verb}")(*rest)
            if self._begin is None or time.monotonic() - looked < _LOOK:
                continue
            looked = time.monotonic()
            try:
                self._look()
                heard = time.monotonic()
            except Exception as error:
                if isinstance(error, LineBroken):
                    return
                if time.monotonic() - heard > _SILENCE or self._cluster.client.status in ("closed", "closing"):
                    self._line.say(Broken(f"the Dask scheduler is gone ({type(error).__name__})"))
                    return

    def close(self) -> None:
        """End every session; the scheduler forgets us."""
        cluster, workers = self._cluster, list(self._anchors)
        with contextlib.suppress(Exception):
            alive = [worker for worker in workers if worker in cluster.threads()]
            cluster.client.run(remote.leave_session, self._key, workers=alive, on_error="ignore")
            cluster.wait(cluster.submit(worker, remote.close_session, self._key) for worker in alive)
        self._anchors.clear()
        self._futures.clear()
        with contextlib.suppress(Exception):
            cluster.client.close(timeout=5)

    def _listen(self) -> None:
        """Read whatever the controller says at once, so that neither waits for the other."""
        with contextlib.suppress(LineBroken, OSError):
            while True:
                if self._line.heard(60.0):
                    message = self._line.next()
                    if message is None:
                        break
                    self._events.put(("obey", message))
        self._events.put(("leave",))

    def _look(self) -> None:
        """Say who is there, when that changed."""
        assert self._begin is not None
        now = self._cluster.threads()
        if now == self._known:
            return
        new = now.keys() - self._known.keys()
        self._differ.update(self._cluster.differ(new, self._begin.matter))
        for worker in self._known.keys() - now.keys():
            self._anchors.pop(worker, None)
            for what in [what for what, (owner, _) in self._futures.items() if owner == worker]:
                _, future = self._futures.pop(what)
                future.cancel()
        self._known = now
        self._line.say(Workers(now, {worker: why for worker, why in self._differ.items() if worker in now}))

    # -- what the controller wants ---------------------------------------------------------------------------------

    def _obey(self, message: Any) -> None:
        if isinstance(message, Begin):
            self._begin = message
        elif isinstance(message, Open):
            self._key = message.key
            self._anchors.pop(message.worker, None)
            if message.place is None:
                self._open(message, False)
            else:
                self._ask(("see", message), message.worker, remote.is_visible, *message.place)
        elif isinstance(message, Run):
            self._ask(("ran", message.batch), message.worker, remote.run_batch, message.key, message.tasks)

    def _open(self, message: Open, visible: bool) -> None:
        if not visible and self._archive is None:
            assert self._begin is not None
            try:
                self._archive = project.pack(Path(self._begin.root))
            except OSError as error:
                self._line.say(Opened(message.worker, why=f"the project cannot be packed: {error}"))
                return
        archive = None if visible else self._archive
        self._ask(("opened", message.worker), message.worker, remote.open_session, message.told, archive)

    def _ask(self, what: tuple[str, Any], worker: str, function: Any, *words: Any) -> None:
        number = object()
        future = self._cluster.submit(worker, function, *words)
        self._futures[number] = worker, future
        future.add_done_callback(lambda _: self._events.put(("answered", number, what)))

    # -- what workers answer ---------------------------------------------------------------------------------------

    def _answered(self, number: object, what: tuple[str, Any]) -> None:
        if number not in self._futures:
            return  # of a worker that is gone
        worker, future = self._futures.pop(number)
        if future.status == "cancelled":
            return
        try:
            said, error = future.result(timeout=60), None
        except Exception as raised:
            said, error = None, raised
        verb, subject = what
        if verb == "ran":
            self._line.say(Ran(subject, said or b"", _words(error)))
        elif verb == "see":
            if error is None:
                self._open(subject, said)
            else:
                self._line.say(Opened(worker, why=_words(error)))
        else:
            if error is None:
                self._anchors[worker] = future
            cpu = said.cpu if said is not None else 0.0
            self._line.say(Opened(worker, cpu, _words(error), isinstance(error, remote.SessionLost)))


def _words(error: BaseException | None) -> str | None:
    if error is None or isinstance(error, (remote.SessionLost, remote.SessionRefused)):
        return None if error is None else str(error)
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}"


def _check(address: str, matter: Iterable[str]) -> dict[str, Any]:
    """Who is there, and who cannot be used."""
    try:
        cluster = Cluster(address)
    except (OSError, ValueError, TypeError) as error:
        return {"unreachable": f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"}
    try:
        threads = cluster.threads()
        return {"threads": threads, "differ": cluster.differ(threads, matter)}
    finally:
        cluster.client.close(timeout=5)


def main() -> None:
    """Entry point of the process."""
    address = sys.argv[2]
    if sys.argv[3] == CHECK:
        print("\n" + json.dumps(_check(address, sys.argv[4:])), flush=True)
        os._exit(0)  # Dask's threads need not agree
    line = Line(int(sys.argv[3]), int(sys.argv[4]))
    for descriptor in (line.reading, line.writing):
        os.set_inheritable(descriptor, False)
    try:
        broker = Broker(Cluster(address), line)
    except (OSError, ValueError, TypeError) as error:
        with contextlib.suppress(LineBroken):
            line.say(Broken(f"the Dask scheduler at {address} cannot be reached ({type(error).__name__})"))
        os._exit(1)
    with contextlib.suppress(LineBroken):
        broker.serve()
    broker.close()
    os._exit(0)
