"""A sidecar for notebooks and scripts: ``pytest_killmatrix.open()`` gives its tables."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pytest_killmatrix.reading.delta import delta_of
from pytest_killmatrix.reading.find import find_sidecar
from pytest_killmatrix.report.cells import cell_object
from pytest_killmatrix.report.json import mutant_object, run_object, score_object, test_object
from pytest_killmatrix.store.reader import Reader

_IN_CELLS: Final = frozenset({"cells", "reached_by", "killed_by"})


class Table(list[dict[str, Any]]):
    """Rows of one kind, with the names of the JSON report; ``frame()`` gives them as a pandas ``DataFrame``."""

    def frame(self) -> Any:
        """The rows as a ``DataFrame``; ImportError without pandas."""
        return importlib.import_module("pandas").DataFrame(list(self))


class Results:
    """One run of a sidecar, read when asked for; nothing stays open.

    :param path: the sidecar; by default the one here, or in a directory above.
    :param run: the run's number; by default the newest.

    Raises ``store.errors.StoreError`` or ``reading.find.NotFoundError``, whose message is one line.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, run: int | None = None) -> None:
        self.path = find_sidecar(None if path is None else str(path))
        with Reader(self.path, run) as reader:
            self.run = reader.run

    def __repr__(self) -> str:
        return f"<run {self.run} of {self.path}>"

    @property
    def runs(self) -> Table:
        """All runs in the file, a row each, with their number in ``run``."""
        with self._reader() as reader:
            return Table({"run": run, **run_object(info)} for run, info in reader.runs())

    @property
    def tests(self) -> Table:
        """The run's tests."""
        with self._reader() as reader:
            return Table(test_object(test) for test in reader.tests())

    @property
    def mutants(self) -> Table:
        """The run's mutants, without their cells; ``reached`` and ``killers`` are numbers of tests."""
        with self._reader() as reader:
            names = [test.nodeid for test in reader.tests()]
            causes = reader.causes()
            rows = Table()
            for row in reader.mutants():
                made = mutant_object(row, names, causes.get(row.index))
                counts = {"reached": len(row.reached_by), "killers": len(made["killed_by"])}  # type: ignore[arg-type]
                rows.append({name: value for name, value in made.items() if name not in _IN_CELLS} | counts)
            return rows

    @property
    def cells(self) -> Table:
        """The run's cells: the mutant's key, the test's node id, what came of it."""
        with self._reader() as reader:
            names = [test.nodeid for test in reader.tests()]
            return Table(
                {"mutant": row.mutant.key, **cell_object(cell, names)}
                for row in reader.mutants(reach=False)
                for cell in row.cells
            )

    @property
    def score(self) -> dict[str, object]:
        """Both scores, as in the JSON report."""
        with self._reader() as reader:
            return score_object(reader.score())

    @property
    def delta(self) -> dict[str, Any] | None:
        """The delta, as in the JSON report; None without a baseline."""
        with self._reader() as reader:
            return delta_of(reader)

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        with Reader(self.path, self.run) as reader:
            yield reader
