"""Authored variants in runs of pytest: each meets every test of its case, and no verdict is taken for another."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from projects import Project, Run

pytestmark = pytest.mark.lengthy

TARGET = """\
def gate(a, b, c):
    return bool(a and b and c)


def name():
    return "gate"
"""
TESTS = """\
import pytest
from gate import gate, name

def test_all(): assert gate(1, 1, 1)
def test_b(): assert not gate(1, 0, 1)
def test_c(): assert not gate(1, 1, 0)
def test_name(): assert name() == "gate"
"""
HEAD = """\
chosen_by: somebody
cases:
  - case: gate
    version: 1
    materialized: [task.md]
    target: gate.py
    grader: [test_gate.py]
    variants:
      - {name: reference, kind: reference}
"""
CITE = "citations: [{file: task.md, quote: It may pass}]"


def variant(name: str, kind: str, before: str, after: str, more: str = "") -> str:
    replace = json.dumps({"definition": "<module>", "find": before, "with": after})
    return f"      - {{name: {name}, kind: {kind}, why: because, replace: {replace}{', ' + more if more else ''}}}\n"


@dataclass
class Audited:
    """A run with variants."""

    run: Run

    @property
    def audit(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run.data["variants"]
        return found

    def variant(self, name: str) -> dict[str, Any]:
        found = [one for case in self.audit["cases"] for one in case["variants"] if one["name"] == name]
        assert len(found) == 1, (name, self.run.screen)
        return dict(found[0])

    def outcomes(self, name: str) -> dict[str, str]:
        """What each test said of a variant, by its name without the file."""
        return {cell["test"].split("::", 1)[1]: cell["outcome"] for cell in self.variant(name)["cells"]}

    def findings(self, level: str) -> str:
        return "\n".join(
            one["text"] for case in self.audit["cases"] for one in case["findings"] if one["level"] == level
        )


LIGHT = [
    word
    for name in ("hypothesispytest", "xdist", "pytest_cov", "asyncio", "timeout")  # they cost more than the run
    for word in ("-p", f"no:{name}")
]


def write(project: Project, variants: str, head: str = HEAD, **files: str) -> None:
    project.write({"gate.py": TARGET, "test_gate.py": TESTS, "task.md": "It may pass.\n"})
    project.write({name.replace("_py", ".py"): text for name, text in files.items()})
    (project.path / "variants.yaml").write_text(head + variants, encoding="utf-8")


def audited(project: Project, *arguments: str, env: dict[str, str] | None = None) -> Audited:
    """Run nothing but the variants; nothing may be left."""
    command = [word for word in project.command(*LIGHT, *arguments) if word != "--kill-matrix"]
    before = project.snapshot()
    ran = project.execute([*command, "--mutation-variants=variants.yaml"], env=env)
    assert ran.left == [], ran.screen
    assert project.changes(before) == [], ran.screen
    return Audited(ran)


HISTORY = (
    "history: [{version: 1, kind: alternative-reading, source: me}, "
    "{version: 1, kind: mutation, source: me, repaired: []}]"
)
ALL = (
    variant("starter", "starter", "return bool(a and b and c)", "return None")
    + variant("killed", "mutation", "b and c", "c", f"{CITE}, {HISTORY}")
    + variant("reading", "alternative-reading", "b and c", "b")
    + variant("nameless", "mutation", '"gate"', '"door"', CITE)
    + variant("raises", "mutation", "b and c", "c[0]", CITE)
    + variant("endless", "mutation", "    return bool(a and b and c)", "    while True: pass", CITE)
    + variant("dies", "mutation", "    return bool(a and b and c)", "    import os; os._exit(0)", CITE)
    + variant("broken", "mutation", "def gate(a, b, c):", "def gate(:", CITE)
    + variant("unimportable", "mutation", "def gate(a, b, c):", "import nowhere\ndef gate(a, b, c):", CITE)
    + variant("exits", "mutation", "def gate(a, b, c):", "import os; os._exit(0)\ndef gate(a, b, c):", CITE)
    + variant("lacking", "mutation", "def name", "def nome", CITE)
    + "      - {name: unchanged, kind: noop}\n"
)


@pytest.fixture(scope="module")
def everything(new_project: Callable[[], Project]) -> Audited:
    project = new_project()
    write(project, ALL)
    return audited(project, "--kill-matrix-executor=fork", "--kill-matrix-timeout=10:0.5")


EVERY = {"test_all", "test_b", "test_c", "test_name"}


@pytest.mark.parametrize(("name", "verdict", "outcomes"), [
    ("reference", "accepted", {"passed"}), ("unchanged", "accepted", {"passed"}),
    ("killed", "assertion", {"passed", "assertion"}), ("reading", "assertion", {"passed", "assertion"}),
    ("nameless", "assertion", {"passed", "assertion"}), ("raises", "exception", {"passed", "exception"}),
    ("endless", "timeout", {"passed", "timeout"}), ("dies", "exception", {"passed", "crash"}),
    ("lacking", "exception", {"exception"}),
])  # fmt: skip
def test_every_test_says_what_it_says(everything: Audited, name: str, verdict: str, outcomes: set[str]) -> None:
    found = everything.outcomes(name)
    assert set(found) == EVERY  # also the tests that run nothing of what differs
    assert (everything.variant(name)["verdict"], set(found.values())) == (verdict, outcomes)


@pytest.mark.parametrize(("name", "why"), [
    ("broken", "does not compile"), ("unimportable", "cannot be imported"), ("exits", "cannot be imported"),
])  # fmt: skip
def test_what_cannot_be_imported_is_no_kill(everything: Audited, name: str, why: str) -> None:
    found = everything.variant(name)
    assert (found["verdict"], found["rejected"], found["passed"], found["counts"]) == ("invalid", [], [], False)
    assert why in found["reason"]


def test_the_counts(everything: Audited) -> None:
    score = everything.audit["score"]
    assert (score["mutations"]["numerator"], score["mutations"]["denominator"]) == (2, 6)
    assert (score["readings_accepted"]["numerator"], score["readings_accepted"]["denominator"]) == (0, 1)
    assert (score["underspecified"]["numerator"], score["underspecified"]["denominator"]) == (1, 4)
    assert score["flipped"]["value"] == 1.0
    assert everything.audit["cases"][0]["underspecified"] == ["test_gate.py::test_c"]
    assert everything.run.status == 1
    assert "reading can be defended" in everything.findings("defect")


def test_no_score_of_mutants_is_touched(everything: Audited) -> None:
    data = everything.run.data
    assert data["mutants"] == []
    assert data["run"]["population"] == 0
    assert set(data["score"]["counts"].values()) == {0}
    assert data["score"]["assertion"]["denominator"] == 0


def test_the_screen_says_what_a_kill_is_and_what_the_score_is_not(everything: Audited) -> None:
    words = " ".join(everything.run.screen.split())
    for said in ("mutations killed 2 of 6", "a kill an assertion of a test rejects", "chosen by somebody",
                 "does not say that the expected answers are right"):  # fmt: skip
        assert said in words, words
    assert "assertion score" not in words


def test_the_sidecar_has_kinds_and_cells(everything: Audited) -> None:
    with sqlite3.connect(everything.run.report.parent.parent / "project" / ".killmatrix.sqlite") as sidecar:
        rows = sidecar.execute(
            "SELECT v.kind, h.kind, h.source FROM variants v JOIN variant_history h USING (run, mutant) "
            "WHERE v.name = 'killed' ORDER BY h.entry"
        ).fetchall()
        like = "%variant:mutation:gate/killed%"
        cells = sidecar.execute("SELECT count(*) FROM matrix WHERE mutant LIKE ?", (like,)).fetchone()
    sidecar.close()
    assert rows == [("mutation", "alternative-reading", "me"), ("mutation", "mutation", "me")]
    assert cells == (4,)


def test_fresh_interpreters_say_the_same(everything: Audited, project: Project) -> None:
    names = ("starter", "killed", "lacking", "unimportable")
    write(project, "".join(line for line in ALL.splitlines(keepends=True) if line.split(",")[0].split()[-1] in names))
    ran = audited(project, "--kill-matrix-executor=subprocess")
    for name in ("reference", *names):
        assert ran.outcomes(name) == everything.outcomes(name)
        assert ran.variant(name)["verdict"] == everything.variant(name)["verdict"]


# -- a full score ----------------------------------------------------------------------------------------------------

STARTER = variant("starter", "starter", "return bool(a and b and c)", "return None")
KILLED = STARTER + variant("killed", "mutation", "b and c", "c", CITE)


def headline(ran: Audited) -> str:
    return next(line for line in ran.run.screen.splitlines() if line.startswith("mutations killed"))


def test_a_full_score_is_never_unqualified_beside_a_rejected_reading(project: Project) -> None:
    write(project, KILLED)
    good = audited(project)
    assert good.run.status == 0, good.run.screen
    assert "1 of 1" in headline(good)
    assert "100.0%" in headline(good)
    write(project, KILLED + variant("reading", "alternative-reading", "b and c", "b"))
    bad = audited(project)
    assert bad.run.status == 1
    assert "1 of 1" in headline(bad)
    assert "100" not in bad.run.screen.split("authored variants")[1]
    bad.run.lines.fnmatch_lines(["*qualified*a permitted reading is rejected*"])
    assert bad.audit["score"]["mutations"]["qualified_by"] == ["a permitted reading is rejected"]
    quiet = audited(project, "-q")
    assert "100" not in headline(quiet)
    quiet.run.lines.fnmatch_lines(["*qualified*a permitted reading is rejected*", "*chosen by somebody*"])


# -- the self-test ---------------------------------------------------------------------------------------------------


def test_the_self_test(project: Project) -> None:
    starter = variant("starter", "starter", "return bool(a and b and c)", "raise NotImplementedError")
    tests = TESTS.replace('assert name() == "gate"', "pass") + "def test_more(): assert gate(0, 0, 0)\n"
    write(project, starter + variant("killed", "mutation", "b and c", "c", CITE), test_gate_py=tests)
    ran = audited(project)
    assert "the reference fails 1 test: test_gate.py::test_more" in ran.findings("defect")
    assert "no assertion rejects the starter starter: ended by an exception" in ran.findings("defect")
    assert ran.run.status == 1
    assert ran.variant("killed")["not_run"] == [{"test": "test_gate.py::test_more", "why": "excluded: failed"}]


# -- what did not judge ----------------------------------------------------------------------------------------------


def test_a_test_that_skips_itself_is_neither_a_pass_nor_a_kill(project: Project) -> None:
    tests = TESTS + "def test_skips():\n    if gate(1, 1, 0): pytest.skip('not today')\n"
    write(project, KILLED + variant("reading", "alternative-reading", "b and c", "b"),
          test_gate_py=tests.replace("def test_c(): assert not gate(1, 1, 0)\n", ""))  # fmt: skip
    ran = audited(project)
    found = ran.variant("reading")
    assert (found["verdict"], found["skipped"], found["rejected"]) == ("partly", ["test_gate.py::test_skips"], [])
    assert ran.audit["score"]["readings_accepted"]["numerator"] == 0
    assert "test_skips" in ran.findings("flag")


# -- how graders load their target -----------------------------------------------------------------------------------

IMPORT = "from gate import gate, name\n"
LOADERS = {
    "inside the tests": TESTS.replace(IMPORT, "").replace("(): ", f"(): {IMPORT.strip()}; "),
    "by path": """\
        import importlib.util, pathlib
        spec = importlib.util.spec_from_file_location("answer", pathlib.Path(__file__).with_name("gate.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        gate, name = module.gate, module.name
        def test_all(): assert gate(1, 1, 1)
        def test_b(): assert not gate(1, 0, 1)
        def test_c(): assert not gate(1, 1, 0)
        def test_name(): assert name() == "gate"
        """,
    "by path inside": """\
        import importlib.util, pathlib, pytest
        @pytest.fixture
        def module():
            spec = importlib.util.spec_from_file_location("answer", pathlib.Path(__file__).with_name("gate.py"))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        def test_all(module): assert module.gate(1, 1, 1)
        def test_b(module): assert not module.gate(1, 0, 1)
        def test_c(module): assert not module.gate(1, 1, 0)
        def test_name(module): assert module.name() == "gate"
        """,
    "in another process": """\
        import subprocess, sys
        def ask(words): return subprocess.run([sys.executable, "-c", "from gate import *; print(" + words + ")"],
                                              capture_output=True, text=True).stdout.strip()
        def test_all(): assert ask("gate(1, 1, 1)") == "True"
        def test_b(): assert ask("gate(1, 0, 1)") == "False"
        def test_c(): assert ask("gate(1, 1, 0)") == "False"
        def test_name(): assert ask("name()") == "gate"
        """,
}  # fmt: skip


@pytest.mark.parametrize("loader", LOADERS)
def test_graders_load_their_target_in_many_ways(project: Project, loader: str) -> None:
    more = variant("reading", "alternative-reading", "b and c", "b")
    more += variant("unimportable", "mutation", "def gate(a, b, c):", "import nowhere\ndef gate(a, b, c):", CITE)
    write(project, KILLED + more, test_gate_py=LOADERS[loader])
    ran = audited(project)
    assert {name: one for name, one in ran.outcomes("killed").items() if one != "passed"} == {"test_b": "assertion"}
    assert {name: one for name, one in ran.outcomes("reading").items() if one != "passed"} == {"test_c": "assertion"}
    assert set(ran.outcomes("killed")) == set(ran.outcomes("reference")) == EVERY
    assert ran.variant("reference")["verdict"] == "accepted"
    if loader != "in another process":  # there it is the test's assertion that sees an empty answer
        assert ran.variant("unimportable")["verdict"] == "invalid", ran.variant("unimportable")


def test_a_target_that_is_never_loaded_or_runs_as_a_script_is_not_judged(project: Project) -> None:
    tests = """\
        import subprocess, sys
        def test_it(): assert subprocess.run([sys.executable, "gate.py"]).returncode == 0
        """
    other = HEAD.replace("case: gate", "case: idle").replace("gate.py", "idle.py").split("cases:\n")[1]
    other += variant("idle", "mutation", "1", "2", CITE)
    write(project, KILLED + other, test_gate_py=tests, idle_py="n = 1\n", test_idle_py="def test_it(): pass\n")
    ran = audited(project)
    for name in ("killed", "idle"):
        assert (ran.variant(name)["verdict"], ran.variant(name)["passed"]) == ("fault", [])
    assert ran.variant("idle")["reason"] == "no test loads the target"
    assert ran.run.status == 1


# -- many cases ------------------------------------------------------------------------------------------------------


def test_each_case_has_its_own_target_and_grader(project: Project) -> None:
    head = HEAD.replace("case: gate", "case: door").replace("gate.py", "door.py").split("cases:\n")[1]
    door = head.replace("[test_door.py]", "['test_door.py::TestDoor']")
    door += variant("other-reading", "alternative-reading", "n > 0", "n >= 0")
    door_tests = """\
        from door import door
        class TestDoor:
            def test_one(self): assert door(1)
            def test_zero(self): assert not door(0)
        def test_of_no_case(): assert not door(0)
        """
    write(project, KILLED + door, door_py="def door(n):\n    return n > 0\n", test_door_py=door_tests)
    ran = audited(project)
    assert set(ran.outcomes("other-reading")) == {"TestDoor::test_one", "TestDoor::test_zero"}
    assert set(ran.outcomes("killed")) == EVERY
    assert ran.audit["score"]["underspecified"]["denominator"] == 6
    assert [case["flips"] for case in ran.audit["cases"]] == [False, True]
    part = audited(project, "test_gate.py")
    assert [case["case"] for case in part.audit["cases"]] == ["gate"]
    assert "cases without a test in this session, not judged: door" in " ".join(part.run.screen.split())


def test_a_tree_that_has_the_starter_is_audited_in_a_copy(project: Project) -> None:
    head = HEAD.replace("kind: reference}", "kind: reference, file: solution.py}")
    start = "def gate(a, b, c): pass\ndef name(): pass\n"
    write(project, KILLED.replace(STARTER, ""), head, gate_py=start, solution_py=TARGET)
    with open(project.path / "variants.yaml", "a", encoding="utf-8") as file:
        file.write("      - {name: untouched, kind: starter, why: begins here, file: gate.py}\n")
    command = [word for word in project.command(*LIGHT) if word != "--kill-matrix"]
    refused = project.execute([*command, "--mutation-variants=variants.yaml"])
    assert refused.status == 4
    assert "what stands in gate.py is not the reference" in refused.screen
    ran = audited(project, "--kill-matrix-sandbox=copy")
    assert ran.run.status == 0, ran.run.screen
    assert "in the copy the reference stood in gate.py" in ran.run.screen
    assert (ran.variant("reference")["verdict"], ran.variant("untouched")["verdict"]) == ("accepted", "assertion")
    assert ran.variant("killed")["counts"]


# -- beside mutants --------------------------------------------------------------------------------------------------


def test_variants_and_mutants_in_one_run(project: Project) -> None:
    write(project, KILLED + variant("reading", "alternative-reading", "b and c", "b"))
    alone = project.run(*LIGHT, "--kill-matrix-fresh")
    assert "authored variants" not in alone.screen
    project.write({"pytest.ini": "[pytest]\nmutation_variants = variants.yaml\n"})
    ran = Audited(project.run(*LIGHT))
    assert ran.run.cells() == alone.cells()
    assert ran.run.data["score"] == alone.data["score"]
    assert ran.run.data["run"]["population"] == alone.data["run"]["population"] > 0
    assert ran.audit["score"]["mutations"]["denominator"] == 1
    ran.run.lines.fnmatch_lines([
        "*= kill matrix =*", "assertion score*", "qualified*a permitted reading is rejected*",
        "next*authored variants*", "*= authored variants =*", "mutations kill*",
    ])  # fmt: skip
    assert "kill matrix" not in project.plain().screen  # the configuration alone asks for nothing
    chosen = [word for word in project.command(*LIGHT, "--mutate=gate.py") if word != "--kill-matrix"]
    assert project.execute([*chosen, "--mutation-variants=variants.yaml"]).data["mutants"] != []


# -- versions --------------------------------------------------------------------------------------------------------


def test_a_run_is_compared_with_earlier_ones(project: Project) -> None:
    reading = variant("reading", "alternative-reading", "b and c", "b")
    write(project, KILLED + reading)
    audited(project)
    record = subprocess.run(
        [sys.executable, "-m", "pytest_killmatrix.cli", "variants", "record", "variants.yaml"],
        cwd=project.path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    entry = "".join(f"      {line}\n" for line in record.splitlines() if not line.startswith("#"))
    grown = TESTS.replace("assert not gate(1, 1, 0)", "pass") + "def test_new(): assert gate(2, 2, 2)\n"
    head = HEAD.replace(
        "    version: 1\n", f"    version: 2\n    versions:\n      - {{version: 2, repaired: [grader]}}\n{entry}", 1
    )
    write(project, KILLED + reading, head, test_gate_py=grown)
    ran = audited(project)
    assert "reading was wrong in version 1 (the variants file) and is right now: an oracle change" in ran.findings(
        "flag"
    )
    assert "1 tests are new since version 1" in ran.findings("flag")
    assert ran.run.status == 0, ran.run.screen


def test_divergence_that_changes_with_nothing_is_a_defect(project: Project) -> None:
    tests = TESTS + "import os\ndef test_mood(): assert gate(1, 1, 0) is False or os.environ['MOOD'] == 'good'\n"
    write(project, KILLED + variant("reading", "alternative-reading", "b and c", "b"), test_gate_py=tests)
    audited(project, env={"MOOD": "good"})
    ran = audited(project, env={"MOOD": "bad"})
    assert "are byte for byte those of version 1" in ran.findings("defect")
    assert "new: test_gate.py::test_mood" in ran.findings("defect")


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("head", "arguments", "words"), [
    (HEAD.replace("{name: reference, kind", "{name: reference, sort"), (),
     "variants.yaml:9: a variant has the unknown key"),
    (HEAD.replace("chosen_by: somebody", "chosen_bye: me"), (), "killmatrix variants check variants.yaml)"),
    (HEAD, ("--mutation-variants=none.yaml",), "no such file"),
    (HEAD, ("--kill-matrix-static=skip",), "--kill-matrix-static=skip cannot be with --mutation-variants"),
    (HEAD, ("task_test.py",), "no test of any case's grader was collected"),
    (HEAD.replace("target: gate.py", "target: task_test.py").replace("{name: reference", "{name: reference"), (),
     "the target task_test.py is a test file"),
])  # fmt: skip
def test_nothing_runs_where_the_file_is_wrong(
    project: Project, head: str, arguments: tuple[str, ...], words: str
) -> None:
    write(project, "", head, task_test_py="def test_nothing(): pass\n")
    command = [word for word in project.command() if word != "--kill-matrix"]
    options = (
        arguments
        if any("variants" in word for word in arguments)
        else (*arguments, "--mutation-variants=variants.yaml")
    )
    ran = project.execute([*command, *options])
    assert ran.status == 4, ran.screen
    lines = [line for line in ran.screen.splitlines() if line.startswith(("ERROR: ", "killmatrix: "))]
    assert len(lines) == 1, ran.screen
    assert words in lines[0]
    assert "Traceback" not in ran.screen
    assert not project.sidecar.exists()
