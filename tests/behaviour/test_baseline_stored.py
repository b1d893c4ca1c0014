"""The delta of stored runs, and the case that it all began with."""

from __future__ import annotations

import json
import sys

import pytest
from projects import Case, Run
from repositories import GAINED, NEW_TEST, OLD_TEST, SHOP, Repository, delta

# -- stored runs -----------------------------------------------------------------------------------------------------


def command(repository: Repository, *words: str) -> Run:
    return repository.project.execute([sys.executable, "-m", "pytest_killmatrix.cli", "delta", *words])


@pytest.mark.lengthy
def test_the_delta_of_stored_runs(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST + NEW_TEST})
    ran = repository.run("--mutation-scope=all", "-k", "not vip")
    assert delta(ran)["confirmed"] is True
    assert json.loads(command(repository, "--json").screen)["verdict"] == "gained nothing"
    repository.project.run("-k", "not vip")
    repository.project.run()
    found = json.loads(command(repository, "2", "3", "--json").screen)
    assert (found["confirmed"], found["tests"]["added"]) == (False, ["test_shop.py::test_vip"])
    assert found["gained_by_assertion"] == len(found["gained"]) >= len(GAINED)
    assert found["unmatched"] == {"old": [], "new": []}
    converse = json.loads(command(repository, "3", "2", "--json").screen)
    assert [one["mutant"] for one in converse["lost"]] == [one["mutant"] for one in found["gained"]]
    command(repository, "2", "3").lines.fnmatch_lines(["gained by assertion *", "confirmed * no *", "gained (*)"])
    command(repository, "2", "3", "--markdown").lines.fnmatch_lines(["### Mutants: what the tests gained since `2`"])
    repository.write({"shop.py": SHOP.replace("* 7", "* 8"), "test_shop.py": OLD_TEST.replace("== 14", "== 16")})
    repository.project.run()
    other = json.loads(command(repository, "3", "4", "--json").screen)
    assert len(other["unmatched"]["old"]) == len(other["unmatched"]["new"]) > 0


@pytest.mark.lengthy
def test_runs_that_are_not_compared(repository: Repository) -> None:
    repository.commit({"shop.py": SHOP, "test_shop.py": OLD_TEST})
    repository.write({"test_new.py": "import shop\ndef test_label(): assert shop.label(' a') == 'A'\n"})
    repository.run()
    repository.project.run("--mutation-operators=number")
    repository.project.run()
    for words, message in (
        (("1", "2"), "*different reference sets (scope: 'covered' and 'all')*"),
        (("1", "1"), "*each suite chose its own reference set*"),
        (("2", "3"), "*different reference sets (operators: 'number' and '')*"),
        (("1",), "*name two runs, the old suite's first, or none*"),
        (("7", "3"), "*has no run 7*"),
        ((), "*this run has no baseline*"),
    ):
        ran = command(repository, *words)
        assert ran.status == 4
        ran.lines.fnmatch_lines([message])


# -- where it all began: a ratio that says nothing about the change --------------------------------------------------

TAX = """\
    def tax(amount, rate):
        if amount <= 0:
            return 0
        return amount * rate // 100

    def net(amount, rate, paid):
        due = tax(amount, rate)
        if paid > due:
            return amount - due + 1
        return amount - due

    def report(amount, rate):
        text = str(amount)
        return text + "/" + str(rate)
    """
TAX_CASES = [
    Case(name, before, after, "tax.py")
    for name, before, after in (
        ("sign", "amount <= 0", "amount > 0"), ("zero", "return 0", "return 1"), ("floor", "// 100", "% 100"),
        ("times", "amount * rate", "amount + rate"), ("hundred", "100", "101"), ("paid", "paid > due", "paid < due"),
        ("due", "due = tax(amount, rate)", "due = tax(amount, 0)"), ("last", "amount - due\n", "amount + due\n"),
        ("bonus", "due + 1", "due + 2"), ("minus", "- due + 1", "+ due + 1"), ("slash", '"/"', '"-"'),
        ("text", "str(amount)", "None"),
    )
]  # fmt: skip
TAX_TESTS = """\
    from tax import net, tax
    def test_tax(): assert tax(200, 20) == 40 and tax(0, 20) == 0 and tax(-5, 20) == 0
    def test_net(): assert net(200, 10, 0) == 180
    def test_paid(): assert net(300, 10, 100) == 271
    """


SMOKE = "import tax\ndef test_smoke(): tax.report(1, 2)\n"
REPORT = "import tax\ndef test_report(): assert tax.report(1, 2) == '1/2'\n"


def killed_by_plain_pytest(repository: Repository) -> dict[str, set[str]]:
    """The tests that fail on each case: written into the file by hand, the suite run by pytest alone."""
    place = repository.project.path / "tax.py"
    pristine = place.read_text(encoding="utf-8")
    found = {}
    for case in TAX_CASES:
        assert pristine.count(case.before) == 1, case
        place.write_text(pristine.replace(case.before, case.after), encoding="utf-8")
        lines = repository.project.plain("-rf").screen.splitlines()
        found[case.name] = {line.split()[1].rpartition("::")[2] for line in lines if line.startswith("FAILED ")}
    place.write_text(pristine, encoding="utf-8")
    return found


@pytest.mark.lengthy
def test_the_ratio_and_the_delta(repository: Repository) -> None:
    repository.project.cases(TAX_CASES)
    repository.commit({"tax.py": TAX, "test_tax.py": TAX_TESTS})
    repository.write({"test_smoke.py": SMOKE, "test_report.py": REPORT})
    truth = killed_by_plain_pytest(repository)
    before = {name for name, tests in truth.items() if tests - {"test_smoke", "test_report"}}
    assert len(before) / len(TAX_CASES) == pytest.approx(0.833, abs=0.001)

    repository.write({"test_report.py": None})
    nothing = delta(repository.run("--mutation-scope=all"))
    assert nothing["gained_by_assertion"] == 0
    assert [(gain["by"], gain["killed_by"]) for gain in nothing["gained"]] == [("crash", ["test_smoke.py::test_smoke"])]
    assert nothing["score_old"] == nothing["score_new"]
    # a ratio of kills takes that crash for a check
    assert {name for name, tests in truth.items() if "test_smoke" in tests} - before

    repository.write({"test_smoke.py": None, "test_report.py": REPORT})
    ran = repository.run("--mutation-scope=all")
    names = {mutant["key"]: mutant["operator"].removeprefix("case:") for mutant in ran.data["mutants"]}
    now = {names[gain["mutant"]]: gain["by"] for gain in delta(ran)["gained"]}
    assert now == {"slash": "assertion", "text": "crash"}
    assert set(now) == {name for name, tests in truth.items() if "test_report" in tests} - before
    assert delta(ran)["gained_by_assertion"] == 1
