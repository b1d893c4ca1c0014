"""What goes wrong, in which phase, under which executor: the table, and the project of one phase's faults."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from projects import Case, Project, Run

#: every fault under the other executor too, which takes a fresh interpreter for every test: KILLMATRIX_FAULTS=all
_ALL = os.environ.get("KILLMATRIX_FAULTS") == "all"
_DISASTER = Path(__file__).with_name("disaster.py")
_MEMORY = "200"
_TIMEOUT = "10:0.7"


@dataclass(frozen=True)
class Fault:
    """A function of ``disaster.py``; ``outcomes`` are what its cell may say."""

    name: str
    outcomes: frozenset[str]

    def __str__(self) -> str:
        return self.name


def _faults(outcome: str, names: str) -> dict[str, Fault]:
    return {name: Fault(name, frozenset(outcome.split("/"))) for name in names.split()}


HANGS = _faults(
    "timeout",
    "loop sleep lock regex swallow joined deaf stopped waits_for_child waits_for_fork full_pipe endless_output",
)
LEFTOVERS = _faults("passed", "leaves_thread leaves_child leaves_deaf_child leaves_fork leaves_session leaves_daemon")
DEATHS = _faults(
    "crash",
    "segfault exit_green exit_red abort pytest_exit interrupt kill kill_group terminate alarm memory",
) | _faults("exception", "sys_exit") | _faults("crash/exception", "c_stack")  # fmt: skip
CHANGES = _faults(
    "passed",
    "chdir gone_directory environ umask handlers sys_path recursion_limit filters set_locale no_logs patched "
    "no_streams close_0 close_1",
) | _faults("exception", "close_stdout") | _faults("crash/exception", "close_all")  # fmt: skip
FAULTS = HANGS | LEFTOVERS | DEATHS | CHANGES

#: for phases in which not every fault is worth its time
SHORT = (
    "loop", "sleep", "leaves_child", "leaves_daemon", "segfault", "exit_green", "pytest_exit", "interrupt", "kill",
    "memory", "sys_exit", "gone_directory", "environ", "handlers", "patched", "close_1", "close_stdout", "close_all",
)  # fmt: skip

STATE = """\
import colorsys, logging, os, signal, sys, time, warnings
import pytest

@pytest.fixture
def state(tmp_path):
    '''Whatever another test did to the process, a test that is run alone finds it as it should be.'''
    os.getcwd()
    assert os.environ["PATH"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    print("x"); sys.stdout.flush(); sys.stderr.flush(); os.write(1, b"x"); os.read(0, 1)
    del sys.modules["colorsys"]
    import colorsys
    def deep(n): return n and deep(n - 1)
    deep(400)
    for number in (signal.SIGTERM, signal.SIGALRM): assert signal.getsignal(number) == signal.SIG_DFL
    with warnings.catch_warnings(record=True): warnings.warn("x")
    assert time.monotonic() > 0 and os.getpid() > 1
    assert logging.getLogger("x").isEnabledFor(logging.ERROR)
"""


@dataclass
class Layout:
    """The files of one phase's project: what the phase's own builder adds for each fault."""

    code: list[str] = field(default_factory=lambda: ["import disaster\n"])
    tests: list[str] = field(default_factory=lambda: ["import code_, pytest\nfrom state import state\n"])
    other: list[str] = field(default_factory=lambda: ["import code_, pytest\nfrom state import state\n"])
    conftest: list[str] = field(default_factory=lambda: ["import pytest\n"])
    files: dict[str, str] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def mutated(self, fault: str) -> str:
        """A function in which the mutant has the fault where the argument is 2."""
        number = 1000 + len(self.cases)  # makes it unique
        self.code.append(f"def {fault}(n):\n    return n + 0 * {number}\n")
        before = f"return n + 0 * {number}"
        self.cases.append(Case(fault, before, f"if n == 2: disaster.{fault}()\n    {before}", "code_.py"))
        return f"code_.{fault}"


def good(layout: Layout) -> None:
    """Mutants beside the faults: one that is killed, one that survives."""
    layout.code.append("def honest(n):\n    return n + 100\n\ndef quiet(n):\n    return n + 200\n")
    layout.other.append("def test_honest(): assert code_.honest(1) == 101\ndef test_quiet(): code_.quiet(1)\n")
    layout.cases += [
        Case("honest", "n + 100", "n - 100", "code_.py"), Case("quiet", "n + 200", "n - 200", "code_.py"),
    ]  # fmt: skip


def run(
    project: Project, executor: str, faults: Iterable[str], build: Callable[[Layout, str], None], *words: str
) -> Run:
    """Run a project with one mutant a fault."""
    layout = Layout()
    for name in faults:
        build(layout, name)
    good(layout)
    project.write({
        "code_.py": "\n".join(layout.code), "state.py": STATE, "conftest.py": "\n".join(layout.conftest),
        "test_main.py": "\n".join(layout.tests), "test_other.py": "\n".join(layout.other), **layout.files,
    })  # fmt: skip
    shutil.copy(_DISASTER, project.path)
    project.cases(layout.cases)
    limits = [
        f"--kill-matrix-executor={executor}",
        f"--kill-matrix-memory={_MEMORY}",
        f"--kill-matrix-timeout={_TIMEOUT}",
    ]
    ran = project.run("--mutate=code_.py", *limits, *words, timeout=1200 if executor == "subprocess" else 300)
    check_end(project, ran)
    return ran


def check_end(project: Project, ran: Run) -> None:
    """The run came to its end by itself, judged what is beside the faults, and left no file."""
    assert ran.status == 0, ran.screen
    assert ran.data["run"]["complete"] is True
    assert ran.data["run"]["controls"]["noop_kills"] == []
    assert [test["nodeid"] for test in ran.data["tests"] if test["excluded"]] == []
    assert ran.outcomes("honest") == {"test_honest": "assertion"}
    assert ran.outcomes("quiet") == {"test_quiet": "passed"}
    # what pytest's own tmp_path leaves, and nothing else
    assert [path.name for path in project.temporary.iterdir() if not path.name.startswith("pytest-of-")] == []


def check_row(ran: Run, fault: Fault, hit: Iterable[str], phase: str | None = None) -> None:
    """The tests named have one of the fault's outcomes in the phase, all others of the row pass."""
    cells = {cell["test"].split("::")[1]: cell for cell in ran.mutant(fault.name)["cells"]}
    hit = set(hit)
    assert hit <= cells.keys()
    assert {name: cell["outcome"] for name, cell in cells.items() if name not in hit} == dict.fromkeys(
        cells.keys() - hit, "passed"
    )
    for name in hit:
        cell = cells[name]
        assert cell["outcome"] in fault.outcomes, cell
        # closed streams are found when the test is over
        if phase is not None and cell["outcome"] != "passed" and not fault.name.startswith("close_"):
            assert cell["phase"] == phase, cell
        if fault.name == "memory" and cell["outcome"] == "crash":
            assert cell["reason"] == "memory"


def fault_rows(faults: Collection[str], few: Collection[str] = ()) -> pytest.MarkDecorator:
    """Each fault under each executor; ``few`` of them, if not all, where every test takes a fresh interpreter."""
    pairs = [("fork", fault) for fault in faults]
    pairs += [("subprocess", fault) for fault in chosen("subprocess", faults, few)]
    return pytest.mark.parametrize(("executor", "fault"), pairs)


def chosen(executor: str, faults: Collection[str], few: Collection[str] = ()) -> list[str]:
    """The faults of this table that are tried under an executor."""
    return [fault for fault in faults if executor == "fork" or _ALL or fault in few]
