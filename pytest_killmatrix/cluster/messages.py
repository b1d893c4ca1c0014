"""What controller, broker and held session say to each other, and how a session is told what to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_killmatrix.child.recollect import Identity
from pytest_killmatrix.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The project as it was collected, and what another interpreter needs in order to collect it again.

    ``root`` and ``cwd`` are absolute paths of the controller's, ``files`` (those under mutation) too. ``folders`` are
    the parts of ``sys.path`` in the project, ``manifest`` the SHA-256 of its files that were loaded, ``modules`` the
    file that each of its modules came from: all relative to ``root``. ``order`` and ``names`` are the items;
    ``random`` the states of the random generators. With ``unpack`` every session works in an unpacked archive, also
    where the project can be seen. ``forks`` says whether children of the session are forked.
    """

    key: str
    root: str
    cwd: str
    arguments: tuple[str, ...]
    flags: tuple[str, ...]
    environ: dict[str, str]
    folders: tuple[str, ...]
    manifest: dict[str, str]
    modules: dict[str, str]
    order: list[Identity]
    names: list[str]
    files: list[str]
    random: bytes
    matter: tuple[str, ...]
    forks: bool
    unpack: bool
    seconds: float  # in which it must have been collected


@dataclass(frozen=True, slots=True)
class Terms:
    """How tasks are run: budget and clean duration of every test, seconds for collecting, bytes of growth."""

    budgets: list[float]
    clean: list[float]
    collect: float
    memory: int
    narrow: bool
    patterns: list[Pattern]


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of a session among all: how many children it has at once, and the numbers of its tests' workers."""

    slots: int
    first: int
    total: int


@dataclass(frozen=True, slots=True)
class Brought:
    """What came of one task: the fields of a ``TaskResult`` but the task."""

    task: int
    values: dict[str, Any]


# -- controller to broker ----------------------------------------------------------------------------------------------
# What workers get stays pickled on its way: neither broker nor Dask has to look into it.


@dataclass(frozen=True, slots=True)
class Begin:
    """Watch the workers; these distributions have to be the same there."""

    matter: tuple[str, ...]
    root: str


@dataclass(frozen=True, slots=True)
class Open:
    """Have a worker hold a session: ``told`` is the pickled (Snapshot, Terms, Seat), ``place`` where to look for it."""

    worker: str
    key: str
    place: tuple[str, str, dict[str, str]] | None  # root, cwd, manifest; None where it is to be unpacked anyway
    told: bytes


@dataclass(frozen=True, slots=True)
class Run:
    """Have a worker's session run these tasks, a pickled tuple of them."""

    batch: int
    worker: str
    key: str
    tasks: bytes


# -- broker to controller ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers that there are now, with their threads, and how those ``differ`` that cannot be used."""

    threads: dict[str, int]
    differ: dict[str, str]


@dataclass(frozen=True, slots=True)
class Opened:
    """A worker holds a session, which took so many CPU seconds; or it does not, and ``why``.

    ``again`` says that it may do so at another attempt.
    """

    worker: str
    cpu: float = 0.0
    why: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """A batch is done: a pickled list of ``Brought``; or it is not, since the session ended (``why``)."""

    batch: int
    brought: bytes = b""
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """The scheduler cannot be spoken to any more."""

    why: str
