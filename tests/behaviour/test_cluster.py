"""The matrix on a Dask cluster: a real scheduler and real workers; what is killed, differs or is missing there."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("distributed")

from clusters import Cluster, Worker, wait_until
from projects import PLUGIN, Case, Project, Run

pytestmark = pytest.mark.lengthy

DASK: Final = "--kill-matrix-executor=dask"
#: every plugin costs every interpreter its import
BARE: Final = [
    word for name in ("asyncio", "hypothesispytest", "pytest_cov", "timeout", "xdist") for word in ("-p", f"no:{name}")
]
QUICK: Final = [*BARE, "--kill-matrix-clean-runs=1", "--kill-matrix-no-alone"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def scheduler_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("other"))
    yield made
    made.close()


@pytest.fixture
def other(scheduler_alone: Cluster) -> Iterator[Cluster]:
    """One without workers: each test has its own."""
    yield scheduler_alone
    for worker in scheduler_alone.workers:
        worker.kill()


def scheduler(cluster: Cluster) -> str:
    return f"--kill-matrix-scheduler={cluster.address}"


def nothing_left(worker: Worker) -> list[str]:
    wait_until(lambda: not worker.left(), 20)
    return worker.left()


def told(run: Run) -> dict[tuple[str, str], tuple[object, ...]]:
    """Every cell, without the seconds that a timeout names, and without the place of the project."""
    project = str(run.report.parents[1] / "project")

    def plain(part: object) -> object:
        return re.sub(r"within [\d.]+ s", "", part).replace(project, "PROJECT") if isinstance(part, str) else part

    return {cell: tuple(map(plain, said)) for cell, said in run.cells().items()}


# -- the same cells ----------------------------------------------------------------------------------------------------

#: functions whose mutants take some time, and say on which worker they are
SLOW: Final = 18
PROJECT: Final = {
    "shop/__init__.py": "",
    "shop/code.py": """\
        import os, tempfile, time

        RATE = 3
        LIMITS = {"most": 5}

        def note(value):
            with open(os.environ["SEEN"], "a") as file:
                file.write(tempfile.gettempdir() + "\\n")
            until = time.monotonic() + 4.5
            while not os.path.exists(os.environ["GO"]) and time.monotonic() < until:
                time.sleep(0.05)
            return value

        def cases():
            return [1, 2]

        def loop(n):
            while n > 0:
                n = n - 1
            return n

        def die(n):
            return n * 2

        def serial(n):
            return n + 7

        def missing():
            return open(__file__ + ".none").read()
        """,
    "shop/slow.py": "from shop.code import note\n"
    + "".join(f"def slow{n}():\n    return {1000 + n}\n" for n in range(SLOW)),
    "shop/late.py": "def late():\n    return 'late'\n",
    "tests/conftest.py": "import pytest\nfrom shop import code\n",
    "tests/test_first.py": """\
        import pytest
        from shop import code

        @pytest.mark.parametrize("n", code.cases())
        def test_cases(n):
            assert n in (1, 2)

        def test_loop():
            assert code.loop(2) == 0

        def test_die():
            assert code.die(2) == 4

        def test_rate():
            assert code.RATE == 3 and code.LIMITS["most"] == 5

        def test_late():
            from shop.late import late
            assert late() == "late"

        def test_missing():
            with pytest.raises(FileNotFoundError):
                code.missing()
        """,
    "tests/test_alone.py": """\
        import os, time
        import pytest
        from shop import code

        def test_alone():
            try:
                os.close(os.open(os.environ["LOCK"], os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pytest.fail("not alone")
            try:
                time.sleep(0.2)
                assert code.serial(1) == 8
            finally:
                os.unlink(os.environ["LOCK"])
        """,
    "tests/test_slow.py": "from shop import slow\n"
    + "".join(f"def test_slow{n}():\n    assert slow.slow{n}() == {1000 + n}\n" for n in range(SLOW)),
}  # fmt: skip
CASES: Final = [
    Case("fewer", "return [1, 2]", "return [1]", "shop/code.py"),
    Case("other", "[1, 2]", "[3, 4]", "shop/code.py"),
    Case("endless", "n = n - 1", "pass", "shop/code.py"),
    Case("exit", "return n * 2", "os._exit(0)", "shop/code.py"),
    Case("serial", "n + 7", "n + 8", "shop/code.py"),
    Case("quiet", "n + 7", "7 + n", "shop/code.py"),
    Case("path", '".none").read()', '".none").name', "shop/code.py"),
    Case("where", 'return open(__file__ + ".none").read()', "raise ValueError(__file__)", "shop/code.py"),
    Case("static", "RATE = 3", "RATE = 4", "shop/code.py"),
    Case("limits", '"most": 5', '"most": 6', "shop/code.py"),
    Case("invalid", "RATE = 3", "RATE = 3 / 0", "shop/code.py"),
    Case("late", "return 'late'", "return 'early'", "shop/late.py"),
    Case("silent", "return 'late'", "return 'late'.lower()", "shop/late.py"),
    *(Case(f"slow{n}", f"return {1000 + n}", f"return note({2000 + n})", "shop/slow.py") for n in range(SLOW)),
]
WORDS: Final = [*BARE, "--kill-matrix-timeout=5:6"]


def written(project: Project) -> dict[str, str]:
    """The project, and the environment of its runs."""
    project.write(PROJECT).cases(CASES)
    return {"SEEN": str(project.outside / "seen"), "LOCK": str(project.outside / "lock"), "GO": os.devnull}


@pytest.fixture(scope="module")
def local(new_project: Callable[[], Project]) -> Run:
    project = new_project()
    return project.run(*WORDS, "--kill-matrix-executor=fork", env=written(project))


@pytest.fixture(scope="module")
def killed(new_project: Callable[[], Project], cluster: Cluster) -> tuple[Run, Worker, Worker]:
    """A run on three workers, one of which sees no project and one of which is killed while its mutants run."""
    project = new_project()
    env = written(project)
    cluster.worker(threads=2)
    unpacking = cluster.worker({"KILLMATRIX_UNPACK": "1"})
    victim = cluster.worker()
    before = project.snapshot()
    env["GO"] = str(project.outside / "go")  # until then no slow mutant comes to its end
    process = project.start(project.command(*WORDS, DASK, scheduler(cluster)), env)
    seen = project.outside / "seen"

    def has_run(worker: Worker) -> bool:
        return seen.exists() and str(worker.temporary) in seen.read_text()

    wait_until(lambda: process.poll() is not None or (has_run(unpacking) and has_run(victim)))
    victim.kill()
    Path(env["GO"]).touch()
    ran = project.finish(process)
    assert project.changes(before) == []
    return ran, victim, unpacking


def test_a_worker_is_killed_and_every_cell_is_that_of_a_local_run(
    killed: tuple[Run, Worker, Worker], local: Run, cluster: Cluster
) -> None:
    ran = killed[0]
    ran.lines.fnmatch_lines([
        f"*the matrix ran on [23] workers of the Dask cluster at {cluster.address}*",  # if it was lost early, on 2
        "*1 worker(s) were lost or started over; what they had not answered ran again*",
    ])  # fmt: skip
    assert "left out" not in ran.screen
    assert (ran.status, ran.left) == (0, [])
    assert ran.statuses() == local.statuses()
    assert told(ran) == told(local)
    assert len(told(local)) > SLOW
    assert ran.data["run"]["complete"]


def test_tests_and_reach_are_those_of_a_local_run(killed: tuple[Run, Worker, Worker], local: Run) -> None:
    def of(run: Run) -> dict[str, object]:
        tests = {test["nodeid"]: (test["excluded"], test["parallel_safe"]) for test in run.data["tests"]}
        return tests | {mutant["key"]: mutant["reached_by"] for mutant in run.data["mutants"]}

    assert of(killed[0]) == of(local)
    assert local.test("test_alone")["parallel_safe"] is False  # or nothing would show that it ran alone


def test_nothing_is_left_on_the_workers_also_not_on_the_one_that_was_killed(
    killed: tuple[Run, Worker, Worker], cluster: Cluster
) -> None:
    assert {worker.name: nothing_left(worker) for worker in cluster.workers} == {
        worker.name: [] for worker in cluster.workers
    }


def test_an_unpacked_project_says_the_paths_of_the_controller(killed: tuple[Run, Worker, Worker]) -> None:
    ran, _, unpacking = killed
    assert str(unpacking.temporary) not in ran.report.read_text()
    assert ran.cell("where")["message"].startswith(str(ran.report.parents[1] / "project"))


def test_the_controls_and_the_executor_are_recorded(killed: tuple[Run, Worker, Worker]) -> None:
    run = killed[0].data["run"]
    assert run["controls"]["noop_kills"] == []
    assert {run["controls"]["routes"][route] for route in ("swap", "static", "collection")} == {"ok"}
    assert run["options"]["executor"] == "dask"


# -- sessions and workers that fail ------------------------------------------------------------------------------------


@pytest.fixture
def small(project: Project) -> Project:
    project.write({
        "shop.py": """\
            import os, signal, time
            def note():
                open(os.environ["SEEN"], "w").close()
                time.sleep(0 if os.environ["SEEN"] == os.devnull else 60)
            def one():
                return 1
            def two():
                return 2
            """,
        "test_shop.py": """\
            import os, shop
            def test_one():
                assert shop.one() == 1
            def test_two():
                assert shop.two() == 2
            """,
    })  # fmt: skip
    return project.cases([
        Case("one", "return 1", "return 3", "shop.py"),
        Case("two", "return 2", "return 4", "shop.py"),
    ])  # fmt: skip


def test_a_mutant_that_ends_every_session_is_a_run_error_and_costs_no_other_cell(
    small: Project, other: Cluster
) -> None:
    worker = other.worker()
    small.cases([Case("poison", "return 1", "os.kill(os.getppid(), signal.SIGKILL)", "shop.py")])
    ran = small.execute(small.command(*QUICK, DASK, scheduler(other)))
    assert ran.statuses() == {"one": "killed", "two": "killed", "poison": "run_error"}
    assert "sessions on the cluster ended with it" in ran.mutant("poison")["reason"]
    assert nothing_left(worker) == []


def test_a_worker_where_the_controls_say_otherwise_is_left_out(small: Project, other: Cluster, tmp_path: Path) -> None:
    small.write({"test_home.py": """\
        import os, shop
        def test_home():
            assert shop.one() and not os.path.exists(os.path.expanduser("~/strange"))
        """})  # fmt: skip
    small.cases([Case("slow", "return 2", "return time.sleep(4) or 5", "shop.py")])  # until all workers were heard
    (tmp_path / "strange").touch()
    strange, plain = other.worker({"HOME": str(tmp_path)}), other.worker()
    ran = small.run(*QUICK, DASK, scheduler(other), "--kill-matrix-sandbox=copy", "--kill-matrix-timeout=10:30")
    ran.lines.fnmatch_lines([
        "*the matrix ran on 1 worker of the Dask cluster*",
        "*the worker at tcp://*was left out: test_home.py::test_home says otherwise where nothing is*",
    ])  # fmt: skip
    assert ran.statuses() == {"one": "killed", "two": "killed", "slow": "killed"}
    assert (nothing_left(strange), nothing_left(plain)) == ([], [])


@pytest.fixture
def waiting(small: Project) -> Project:
    """One mutant is judged at once, one waits until something happens."""
    return small.cases([Case("wait", "return 2", "return note()", "shop.py")])


def test_all_workers_are_gone_and_the_run_goes_on_later(waiting: Project, other: Cluster) -> None:
    worker, seen = other.worker(), waiting.outside / "seen"
    command = waiting.command(*QUICK, DASK, scheduler(other), "--kill-matrix-timeout=10:30")
    process = waiting.start(command, {"SEEN": str(seen)})
    wait_until(lambda: seen.exists() or process.poll() is not None)
    worker.kill()
    ran = waiting.finish(process)
    assert (ran.status, ran.left) == (2, []), ran.screen
    ran.lines.fnmatch_lines([
        f"killmatrix: interrupted: all workers of the Dask cluster at {other.address} are gone; what was finished*",
    ])  # fmt: skip
    assert nothing_left(worker) == []
    worker = other.worker()
    again = waiting.run(*QUICK, DASK, scheduler(other), "--kill-matrix-timeout=10:30", env={"SEEN": os.devnull})
    again.lines.fnmatch_lines(["*resumed: * judged before the interruption*"])
    assert again.statuses() == {"one": "killed", "two": "killed", "wait": "killed"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_controller_is_ended(waiting: Project, other: Cluster, number: signal.Signals) -> None:
    worker, seen = other.worker(), waiting.outside / "seen"
    command = waiting.command(*QUICK, DASK, scheduler(other), "--kill-matrix-timeout=10:30")
    process = waiting.start(command, {"SEEN": str(seen)})
    wait_until(lambda: seen.exists() or process.poll() is not None)
    process.send_signal(number)
    process.wait(30)
    wait_until(lambda: not waiting.left(), 20)
    ran = waiting.finish(process)
    assert (ran.status, ran.left) == (2 if number is signal.SIGINT else -9, []), ran.screen
    assert nothing_left(worker) == []
    assert worker.process.poll() is None


# -- bad input ---------------------------------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([DASK], "--kill-matrix-executor=dask: name the cluster with --kill-matrix-scheduler=ADDRESS"),
        (
            ["--kill-matrix-scheduler=tcp://127.0.0.1:1"],
            "--kill-matrix-scheduler=tcp://127.0.0.1:1 does nothing without --kill-matrix-executor=dask",
        ),
        ([DASK, "--kill-matrix-scheduler=tcp://127.0.0.1:CLOSED"], "no Dask scheduler can be reached at tcp://127.0.0.1:"),
        ([DASK, "--kill-matrix-scheduler=nonsense://"], "no Dask scheduler can be reached at nonsense://"),
        ([DASK, "--kill-matrix-scheduler=EMPTY"], "has no workers; start some (dask worker tcp://127.0.0.1:"),
        (["-p", "without_dask", DASK, "--kill-matrix-scheduler=x"], "pip install 'pytest-killmatrix[dask]'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(small: Project, other: Cluster, words: list[str], said: str) -> None:
    small.write({"without_dask.py": """\
        import sys
        class Without:
            def find_spec(self, name, *rest):
                if name == "distributed":
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Without())
        """})  # fmt: skip
    known = {"CLOSED": str(closed_port()), "EMPTY": other.address}
    words = [re.sub("CLOSED|EMPTY", lambda found: known[found[0]], word) for word in words]
    ran = small.run(*BARE, *words, env={"PYTHONPATH": os.pathsep.join([str(PLUGIN), str(small.path)])})
    errors = [line for line in ran.screen.splitlines() if line.startswith("ERROR")]
    assert len(errors) == 1, ran.screen
    assert said in errors[0]
    assert ran.status == 4
    assert not small.sidecar.exists()


def test_a_worker_with_another_version_is_named_before_the_suite_runs(
    small: Project, other: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "pytest_timeout-0.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest-timeout\nVersion: 0.1\n")
    other.worker({"PYTHONPATH": str(tmp_path)})
    ran = small.run(*BARE, DASK, scheduler(other))
    ran.lines.fnmatch_lines(["ERROR: *is not like this interpreter: it has pytest-timeout 0.1 instead of *"])
    assert "test session starts" not in ran.screen
    assert ran.status == 4
