"""A project that is simulated as far as nothing of it runs: real mutants, builds, tests and reach, children that never
were.

Files of 200 mutants; in each ten functions of twelve lines, which make three blocks that fewer and fewer of the
function's tests execute. One file in ten is a core that five times as many tests execute as the others. Builds are
the real ones of modules of the project itself, over and over. Of the mutants about 70 % are killed by assertions, 4 %
by exceptions alone, 0.5 % by a timeout; about 10 % of the cells are kills.
"""

from __future__ import annotations

import itertools
import pickle
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from pytest_killmatrix.clean.observer import IMPORT, alone_context, test_context
from pytest_killmatrix.executor.pool import Found, TaskResult
from pytest_killmatrix.executor.protocol import Task
from pytest_killmatrix.generate import FileMutants, Spec, generate
from pytest_killmatrix.importers import Reload
from pytest_killmatrix.model import Build, Cause, CauseKind, Mutant, Outcome, Phase, Sample, Test
from pytest_killmatrix.plan import StaticWay

A_FILE: Final = 200  # mutants
A_FUNCTION: Final = 20
LINES: Final = 12  # of a function
BLOCK: Final = 4  # lines
STATIC: Final = 2  # of a file's mutants, in lines that run at import
ROOT: Final = Path(__file__).resolve().parents[1]
MODULES: Final = ("importers.py", "rows.py", "analysis/cover.py", "reach.py")

OPERATORS: Final = ("comparison", "number", "argument_removal", "condition_negation", "statement_removal", "string")
ORIGINALS: Final = ("self._left <= most", "3", "calculate(first, second)", "not found", "index += 1", '"utf-8"')
REPLACEMENTS: Final = ("self._left < most", "4", "calculate(first, None)", "found", "pass", '"XXutf-8XX"')
ASSERTIONS: Final = (
    "assert {a} == {b}",
    "assert [{a}, {b}, 7] == [{b}, {a}, 7]",
    "assert '{a} items were found' == '{b} items were found'",
    "assert Order(number={a}, lines=3).total() == Decimal('{b}.00')",
)
EXCEPTIONS: Final = (
    ("TypeError", "unsupported operand type(s) for +: 'int' and 'NoneType'"),
    ("IndexError", "list index out of range"),
    ("AttributeError", "'NoneType' object has no attribute 'total'"),
    ("KeyError", "'key-{a}'"),
)


@dataclass(frozen=True)
class Sizes:
    """How big the project is: mutants, tests, and cells a mutant on average."""

    mutants: int = 100_000
    tests: int = 5_000
    cells: int = 50

    @property
    def files(self) -> int:
        return -(-self.mutants // A_FILE)

    def file_of(self, mutant: int) -> int:
        return mutant // A_FILE

    def path(self, file: int) -> str:
        return f"src/shop/part_{file // 20:02}/module_{file:04}.py"

    def is_static(self, mutant: int) -> bool:
        return mutant % A_FILE < STATIC

    def first_line(self, function: int) -> int:
        """Of a function of a file, by its number there."""
        return 10 + function * (LINES + 2)

    def line(self, mutant: int) -> int:
        if self.is_static(mutant):
            return 1 + mutant % A_FILE
        function, place = divmod(mutant % A_FILE, A_FUNCTION)
        return self.first_line(function) + place * LINES // A_FUNCTION

    def tests_of(self, file: int, function: int) -> list[int]:
        """The tests that enter a function, in an order of which each block's are a beginning."""
        wanted = self.cells * (5 if file % 10 == 0 else 1) / 1.4 * 1.2
        drawn = random.Random(f"{file} {function}")
        window = min(max(round(3 * wanted), 30), self.tests)
        first = round(file / self.files * (self.tests - window))
        return drawn.sample(range(first, first + window), min(round(wanted), window))


@dataclass
class Project:
    """What the controller has after the clean runs."""

    sizes: Sizes
    mutants: list[Mutant] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)

    @cached_property
    def file_tests(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, test in enumerate(self.tests):
            found.setdefault(test.path, []).append(index)
        return found

    @cached_property
    def paths(self) -> dict[str, str]:
        """The files by name: where they would be."""
        return {name: "/project/" + name for name in map(self.sizes.path, range(self.sizes.files))}

    @cached_property
    def ways(self) -> dict[str, StaticWay]:
        """A file's import-time code is met by all tests of three test files."""
        ways = {}
        names = list(self.file_tests)
        for file in range(self.sizes.files):
            name = self.sizes.path(file)
            module = name.removesuffix(".py").replace("/", ".")
            chosen = [names[(file + step) % len(names)] for step in range(3)]
            meet = sorted({test for one in chosen for test in self.file_tests[one]})
            reload = Reload((module,), (module,), frozenset({self.paths[name]}), ())
            ways[name] = StaticWay(reload, tuple(chosen), meet)
        return ways

    def texts(self) -> Iterator[tuple[str, str]]:
        """The mutated files, by name, as long as they would be."""
        for name in self.paths:
            functions = (
                f"    def method_{number}(self, first, second):  # of {name}\n"
                + "".join(f"        self.total += first * {line} + second  # {number}\n" for line in range(LINES + 1))
                for number in range(A_FILE // A_FUNCTION)
            )
            yield name, "class Order:\n" + "\n".join(functions)


def make_project(sizes: Sizes) -> Project:
    project = Project(sizes)
    for index in range(sizes.tests):
        path = f"tests/part_{index // 400:02}/test_module_{index // 20:04}.py"
        nodeid = f"{path}::TestOrders::test_number_{index}_of_what_is_asked_for"
        project.tests.append(Test(nodeid, path, seconds=0.0004 * (1 + index % 7)))
    project.mutants = [make_mutant(sizes, index) for index in range(sizes.mutants)]
    templates = make_templates()
    while len(project.builds) < sizes.mutants:
        # unpickled, as they come from the process that makes mutants: what one function's share is one object
        project.builds += pickle.loads(templates[len(project.builds) // A_FUNCTION % len(templates)])
    del project.builds[sizes.mutants :]
    return project


def make_mutant(sizes: Sizes, index: int) -> Mutant:
    file, line, kind = sizes.file_of(index), sizes.line(index), index % len(OPERATORS)
    path, start = sizes.path(file), 40 * (index % A_FILE)
    function = f"Order.method_{index % A_FILE // A_FUNCTION}"
    definition = "<module>" if sizes.is_static(index) else function
    return Mutant(
        f"{path}::{definition}::{OPERATORS[kind]}::{random.Random(index).getrandbits(40):010x}",
        path,
        line,
        8,
        line,
        8 + len(ORIGINALS[kind]),
        definition,
        OPERATORS[kind],
        ORIGINALS[kind],
        REPLACEMENTS[kind],
        start,
        start + len(ORIGINALS[kind]),
        sizes.is_static(index),
        False,
        line,
        line,
    )


def make_templates() -> list[bytes]:
    """Pickled lists of ``A_FUNCTION`` builds, made by the real generator."""
    found: list[Build] = []
    for record in generate(Spec(str(ROOT), [f"pytest_killmatrix/{name}" for name in MODULES])):
        assert isinstance(record, FileMutants)
        found += [build for build in record.builds if build.codes]
    return [pickle.dumps(found[at : at + A_FUNCTION]) for at in range(0, len(found) - A_FUNCTION + 1, A_FUNCTION)]


def measured(project: Project) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """What the clean runs measured: a file, a context, the arcs that it executed there; test by test.

    Each test ran among the others and alone.
    """
    sizes = project.sizes
    by_test: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for file in range(sizes.files):
        for function in range(A_FILE // A_FUNCTION):
            entering = sizes.tests_of(file, function)
            for place, test in enumerate(entering):
                blocks = 3 - (6 * place >= 5 * len(entering)) - (6 * place >= 4 * len(entering))
                by_test[test].append((file, function, blocks))
        yield project.paths[sizes.path(file)], IMPORT, [(line, line + 1) for line in range(1, 9)]
    for test in range(sizes.tests):
        for file, parts in itertools.groupby(by_test.pop(test, ()), key=lambda part: part[0]):
            executed = []
            for _, function, blocks in parts:
                first = sizes.first_line(function)
                executed += [(-first, first), *((line, line + 1) for line in range(first, first + blocks * BLOCK - 1))]
            path = project.paths[sizes.path(file)]
            yield path, test_context(test), executed
            yield path, alone_context(test), executed


def make_cause(mutant: int) -> Cause:
    """Why a mutant survived, as probes find it."""
    samples = tuple(Sample(f"self._left={mutant % 7 + n}, most={n + 3}", "True", "True") for n in range(2))
    return Cause(CauseKind.NOT_INFECTED, 40, 0, "self._left == most", samples)


class Children:
    """In the place of the pool: says of each test what the mutant's fate is, without running anything."""

    def __init__(self, project: Project) -> None:
        self._first = {project.paths[project.sizes.path(file)]: file * A_FILE for file in range(project.sizes.files)}
        self._queue: deque[Task] = deque()

    def run(
        self, tasks: Iterable[Task], width: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> Iterator[TaskResult]:
        source = iter(tasks)
        while (task := self._queue.popleft() if self._queue else next(source, None)) is not None:
            yield self._result(task)
            tick()

    def add(self, task: Task) -> None:
        self._queue.append(task)

    follow = add

    def _result(self, task: Task) -> TaskResult:
        assert task.splice is not None
        mutant = self._first[task.splice.path] + task.splice.start // 40
        drawn = random.Random(mutant * 7919)
        fate = drawn.random()
        result = TaskResult(task, collected=(True, True), cpu=0.01)
        for test in task.tests:
            result.found.append(_found(mutant, test, fate, task.tests[0]))
        return result


def _found(mutant: int, test: int, fate: float, first: int) -> Found:
    mixed = (mutant * 2654435761 + test * 40503) >> 5 & 0xFFFF
    seconds = 0.0002 + mixed / 0xFFFF * 0.004
    outcome, exception, message, raised = Outcome.PASSED, None, None, None
    kills = fate < 0.745 and (test == first or mixed % 100 < 11)
    if kills:
        a, b = mixed % 97, mixed % 89
        raised = f"tests/part_{test // 400:02}/test_module_{test // 20:04}.py:{20 + test % 20 * 8 + mixed % 3}"
        if fate < 0.7 and mixed % 4:
            outcome, exception = Outcome.ASSERTION, "AssertionError"
            message = ASSERTIONS[mixed % len(ASSERTIONS)].format(a=a, b=b)
        else:
            outcome = Outcome.EXCEPTION
            exception, message = EXCEPTIONS[mixed % len(EXCEPTIONS)]
            message = message.format(a=a)
    elif fate > 0.995 and test == first:
        outcome, message, seconds = Outcome.TIMEOUT, "no end after 1.2 s", 1.2
    return Found(test, outcome, Phase.CALL, exception, message, raised, seconds, (), True, True)
