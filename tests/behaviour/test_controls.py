"""The controls of a run: one that fails is said, on the screen and by the exit status, and is no kill."""

from __future__ import annotations

from projects import Case, Project

CODE = {"shop.py": "def value(n):\n    return n + 1\n"}
CASES = [Case("value", "n + 1", "n - 1", "shop.py")]


def test_a_noop_that_kills_is_our_fault(project: Project) -> None:
    project.write(CODE).write({"test_shop.py": """\
        import shop
        CODE = shop.value.__code__
        def test_same(): assert shop.value(1) and shop.value.__code__ is CODE
        def test_value(): assert shop.value(1) == 2
        """})  # fmt: skip
    ran = project.cases(CASES).run("--mutate=shop.py")
    assert ran.status == 3
    (kill,) = ran.data["run"]["controls"]["noop_kills"]
    assert kill.startswith("test_shop.py::test_same: assertion")
    assert ran.data["run"]["controls"]["routes"]["swap"] == "failed"
    assert "test_same" in ran.screen.split("kill matrix", 1)[1]


def test_a_suite_that_notices_nothing_is_no_proof_of_life(project: Project) -> None:
    project.write(CODE).write({"test_shop.py": """\
        import shop
        def test_value():
            try: shop.value(1)
            except BaseException: pass
        """})  # fmt: skip
    ran = project.cases(CASES).run("--mutate=shop.py")
    assert ran.status == 3
    assert ran.data["run"]["controls"]["routes"]["swap"] == "failed: no test noticed a function that raises"
    assert ran.data["run"]["controls"]["noop_kills"] == []
    assert ran.outcomes("value") == {"test_value": "passed"}
    assert "no test noticed a function that raises" in " ".join(ran.screen.split())
