"""Checks of the instrument in every run: a change that changes nothing kills nothing, one that raises is noticed."""

from __future__ import annotations

import ast
import marshal
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_killmatrix.executor.pool import Found, Pool, TaskResult
from pytest_killmatrix.executor.protocol import Purpose, Splice, Swap, Task
from pytest_killmatrix.model import Build, Excluded, Mutant, Outcome, Route
from pytest_killmatrix.plan import Planned, StaticWay

_LIFE_ATTEMPTS: Final = 10
OK: Final = "ok"
NOT_EXERCISED: Final = "not exercised"


@dataclass(slots=True)
class ControlResult:
    """``noop_kills`` are faults of ours; ``unsafe`` tests fail beside themselves, ``excluded`` only in rows.

    ``said`` is what came of every task.
    """

    noop_kills: dict[int, str] = field(default_factory=dict)
    unsafe: set[int] = field(default_factory=set)
    excluded: dict[int, tuple[Excluded, str]] = field(default_factory=dict)
    routes: dict[str, str] = field(default_factory=dict)
    lean: bool = True
    not_twice: frozenset[str] = frozenset()
    not_reloadable: frozenset[str] = frozenset()
    code_readers: frozenset[int] = frozenset()
    said: list[TaskResult] = field(default_factory=list)
    cpu: float = 0.0


class Controls:
    """Runs the controls on a pool."""

    def __init__(
        self,
        pool: Pool,
        builds: Sequence[Build],
        mutants: Sequence[Mutant],
        paths: Mapping[str, str],
        loaded: Collection[str],
        hashes: Mapping[str, str],
        task_ids: Iterator[int],
        needs: Mapping[int, tuple[int, ...]],
        ways: Mapping[str, StaticWay],
        tick: Callable[[], None],
    ) -> None:
        self._pool = pool
        self._builds = builds
        self._mutants = mutants
        self._paths = paths
        self._loaded = loaded
        self._hashes = hashes
        self._ids = task_ids
        self._needs = tuple(needs.items())
        self.ways = ways
        self._tick = tick
        self.result = ControlResult()

    def run(
        self, usable: Sequence[int], width: int, plan: Sequence[Planned], files: Mapping[str, Sequence[int]]
    ) -> None:
        """Noop on every route that is in use, then life."""
        swapped = [planned for planned in plan if planned.tests and planned.route is Route.SWAP]
        noop = self._noop_swaps()
        if swapped:
            self._noop("swap", usable, noop, (), (), width)
            self._compare_lean(usable, noop)
        self._collection(usable, plan, files, width)
        self._imports(usable, plan, width)
        self.result.routes.setdefault("swap", NOT_EXERCISED)
        if swapped and self.result.routes["swap"] == OK:
            self._life(swapped)

    def _noop_swaps(self) -> tuple[Swap, ...]:
        seen: dict[tuple[str, int, bytes], Swap] = {}
        for mutant, build in zip(self._mutants, self._builds, strict=True):
            path = self._paths[mutant.path]
            for code in build.codes:
                seen.setdefault((path, code.line, code.original), Swap(path, code.line, code.original, code.original))
        return tuple(seen.values())

    def _noop(
        self,
        route: str,
        tests: Sequence[int],
        swaps: tuple[Swap, ...],
        recollect: tuple[str, ...],
        recollected: tuple[int, ...],
        width: int,
    ) -> None:
        def task(wanted: Iterable[int]) -> Task:
            return Task(
                next(self._ids), Purpose.NOOP, tuple(wanted), self._needs, swaps, None, recollect, recollected
            )  # fmt: skip

        live = [test for test in tests if test not in self.result.excluded]
        beside = [test for test in live if test not in self.result.unsafe]
        suspects = self._differing([task(beside) for _ in range(width)], width)
        for test in sorted(suspects):
            if width > 1 and not self._differing([task([test])], 1):
                in_row = self._differing([task(beside)], 1)
                if test in in_row:
                    self.result.excluded[test] = (Excluded.ORDER, f"fails after some of the others: {in_row[test]}")
                else:
                    self.result.unsafe.add(test)
            elif not self._differing([task([test])], 1):
                self.result.excluded[test] = (Excluded.ORDER, f"fails after some of the others: {suspects[test]}")
            else:
                self.result.noop_kills[test] = suspects[test]
        self.result.routes[route] = "failed" if self.result.noop_kills else OK

    def _collection(
        self, usable: Sequence[int], plan: Sequence[Planned], files: Mapping[str, Sequence[int]], width: int
    ) -> None:
        """Where mutants are live before anything is collected, nothing is collected twice (``_imports``)."""
        route = [planned for planned in plan if planned.route is Route.COLLECTION and planned.tests]
        collected = sorted({file for planned in route if not planned.anew for file in planned.recollect})
        self.result.routes.setdefault("collection", OK if any(planned.anew for planned in route) else NOT_EXERCISED)
        if collected:
            tests = sorted({test for file in collected for test in files.get(file, ()) if test in set(usable)})
            self._collect_twice(collected, tests, self._noop_swaps(), files, width)

    def _collect_twice(
        self,
        collected: Sequence[str],
        tests: Sequence[int],
        noop: tuple[Swap, ...],
        files: Mapping[str, Sequence[int]],
        width: int,
    ) -> None:
        """A file whose tests differ once it was collected again keeps state somewhere: its mutants stay unjudged."""
        live = [test for test in tests if test not in self.result.excluded and test not in self.result.noop_kills]
        tasks = [
            Task(next(self._ids), Purpose.NOOP, tuple(live), self._needs, noop, None, tuple(collected), tuple(live))
            for _ in range(width)
        ]
        different = self._differing(tasks, width)
        for file in collected if different else ():
            own = tuple(test for test in files.get(file, ()) if test in set(live))
            alone = Task(next(self._ids), Purpose.NOOP, own, self._needs, noop, None, (file,), own)
            if own and self._differing([alone], 1):
                self.result.not_twice |= {file}
        # one that differs only beside the others is not above suspicion either
        self.result.not_twice |= {file for file in collected if not different.keys().isdisjoint(files.get(file, ()))}
        trusted = [file for file in collected if file not in self.result.not_twice]
        self.result.routes["collection"] = OK if trusted else NOT_EXERCISED

    def again(
        self, usable: Sequence[int], plan: Sequence[Planned], paths: Collection[str], files: Mapping[str, Sequence[int]]
    ) -> frozenset[str]:
        """The controls for some files that now go another way; those whose static route is refused again."""
        wanted = [planned for planned in plan if self._paths[self._mutants[planned.mutant].path] in paths]
        before = dict(self.result.routes)
        self._collection(usable, wanted, files, 1)
        self._imports(usable, wanted, 1)
        for route in ("static", "collection"):
            if before[route] != NOT_EXERCISED and self.result.routes[route] in (OK, NOT_EXERCISED):
                self.result.routes[route] = before[route]
        return self.result.not_reloadable

    def _imports(self, usable: Sequence[int], plan: Sequence[Planned], width: int) -> None:
        """A file that is loaded again, or by our hook, as it is changes nothing; one that raises cannot be loaded."""
        tests: dict[str, set[int]] = {}
        static: set[str] = set()
        for planned in plan:
            if planned.tests and (planned.reload is not None or planned.anew):
                name = self._mutants[planned.mutant].path
                tests.setdefault(name, set()).update(planned.tests)
                if planned.reload is not None:
                    static.add(name)
        bad = self.result.unsafe | set(self.result.excluded) | set(self.result.noop_kills)
        refused: set[str] = set()
        verdict = OK
        for number, (name, reaching) in enumerate(tests.items()):
            path, way = self._paths[name], self.ways[name]
            wanted = tuple(test for test in usable if test in reaching and test not in bad)
            end = os.stat(path).st_size
            quiet = Splice(path, 0, 0, b"", self._hashes[name])
            loud = Splice(path, end, end, _RAISING, self._hashes[name])
            at_once = width if number == 0 else 1
            if self._differing([self._again(way, wanted, quiet) for _ in range(at_once)], at_once):
                refused.add(path)
                continue
            if not way.reload.own:
                continue  # nothing loads it before a test does
            for result in self._pool.run([self._again(way, wanted[:1], loud)], tick=self._tick):
                self._note(result)
                if result.invalid is None or "killmatrix: life control" not in result.invalid:
                    verdict = f"failed: {name} was imported again without the mutant"
        self.result.not_reloadable = frozenset(refused)
        judged = {self._paths[name] for name in static} - refused
        self.result.routes["static"] = verdict if judged or verdict != OK else NOT_EXERCISED

    def _again(self, way: StaticWay, tests: tuple[int, ...], splice: Splice) -> Task:
        return Task(
            next(self._ids), Purpose.NOOP, tests, self._needs, (), splice, () if way.anew else way.recollect, tests,
            way.reload.modules, way.reload.own, way.renew, way.anew, lean=self.result.lean,
        )  # fmt: skip

    def _compare_lean(self, usable: Sequence[int], noop: tuple[Swap, ...]) -> None:
        """What the full path passes, the lean path must pass too, or it is not used in this session.

        Then once more with a mark in every function: tests that differ look at code objects, and a swap shows there.
        """
        bad = self.result.unsafe | set(self.result.excluded) | set(self.result.noop_kills)
        tests = tuple(test for test in usable if test not in bad)
        task = Task(next(self._ids), Purpose.NOOP, tests, self._needs, noop, lean=True)
        self.result.lean = not self._differing([task], 1)
        marked = Task(next(self._ids), Purpose.NOOP, tests, self._needs, noop, lean=self.result.lean, marked=True)
        self.result.code_readers = frozenset(self._differing([marked], 1))

    def _differing(self, tasks: Sequence[Task], width: int) -> dict[int, str]:
        different: dict[int, str] = {}
        for result in self._pool.run(tasks, width=width, tick=self._tick):
            self._note(result)
            broken = result.fault or result.obstacle
            found = {cell.test: cell for cell in result.found}
            for test in result.task.tests:
                cell = found.get(test)
                if cell is None or cell.outcome is not Outcome.PASSED:
                    different[test] = _say(cell, broken)
        return different

    def _note(self, result: TaskResult) -> None:
        self.result.cpu += result.cpu
        self.result.said.append(result)

    def _life(self, swapped: Sequence[Planned]) -> None:
        """A function that raises must be noticed by at least one of the tests that reach it."""
        tried: set[bytes] = set()
        for planned in swapped:
            swap = self._raising(planned)
            if swap is None or swap.original in tried:
                continue
            splice = self._raising_source(planned, swap) if planned.anew else None
            if planned.anew and splice is None:
                continue
            tried.add(swap.original)
            swaps = () if planned.anew else (swap,)
            task = Task(
                next(self._ids), Purpose.LIFE, planned.tests, self._needs, swaps, splice, anew=planned.anew
            )  # fmt: skip
            for result in self._pool.run([task], tick=self._tick):
                self._note(result)
                if _noticed(result):
                    return
            if len(tried) == _LIFE_ATTEMPTS:
                break
        if not tried:
            self.result.routes["swap"] = NOT_EXERCISED
        else:
            self.result.routes["swap"] = "failed: no test noticed a function that raises"

    def _raising(self, planned: Planned) -> Swap | None:
        mutant, build = self._mutants[planned.mutant], self._builds[planned.mutant]
        if not build.codes or self._paths[mutant.path] not in self._loaded:
            return None
        code = build.codes[-1]  # the innermost: an outer function may have run at import only
        original = marshal.loads(code.original)
        if original.co_freevars or original.co_flags & _GENERATORS:
            return None
        return Swap(self._paths[mutant.path], code.line, code.original, marshal.dumps(_raise.__code__))

    def _raising_source(self, planned: Planned, swap: Swap) -> Splice | None:
        """The same as a change to the file, where its source is plain enough."""
        with open(swap.path, "rb") as file:
            source = file.read()
        found = raising(source, swap.line, marshal.loads(swap.original).co_name)
        if found is None:
            return None
        at, text = found
        return Splice(swap.path, at, at, text, self._hashes[self._mutants[planned.mutant].path])


def raising(source: bytes, line: int, name: str) -> tuple[int, bytes] | None:
    """Where to put what, so that the function ``name`` at ``line`` raises before all else; None where unclear."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != name:
            continue
        if min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) != line:
            continue
        first = node.body[0]
        indent = lines[first.lineno - 1][: first.col_offset]
        at = sum(map(len, lines[: first.lineno - 1])) + first.col_offset
        if indent.isspace() and not getattr(first, "decorator_list", ()):
            return at, _RAISE + b"\n" + indent
        if not indent.isspace() and source.isascii():
            return at, _RAISE + b"; "
    return None


#: generators, coroutines and asynchronous generators: the setter of ``__code__`` wants their like
_GENERATORS: Final = 0x20 | 0x80 | 0x200


_RAISE: Final = b"raise SystemError('killmatrix: life control')"
_RAISING: Final = b"\n" + _RAISE + b"\n"


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise SystemError("killmatrix: life control")


def _noticed(result: TaskResult) -> bool:
    return any(cell.outcome.kills for cell in result.found)


def _say(cell: Found | None, broken: str | None) -> str:
    if broken is not None:
        return broken.strip().rsplit("\n", 1)[-1]
    if cell is None:
        return "no outcome arrived"
    return f"{cell.outcome.value}: {cell.message or cell.exception or 'no message'}"
