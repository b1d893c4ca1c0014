"""Survivors are asked why in parts, so that what is seen of them is never kept for all at once."""

from __future__ import annotations

import pytest
from projects import Project

SHOP = """\
    def dearer(a, b):
        return a if a >= b else b


    def near(a):
        return a > 10 or a < -10
"""


@pytest.mark.lengthy
def test_parts_say_the_same(project: Project) -> None:
    tests = """\
        def test_dearer():
            assert dearer(2, 1) == 2
            assert dearer(1, 2) == 2


        def test_near():
            assert near(50)
    """
    files = {f"shop{number}.py": SHOP for number in range(3)}
    files |= {f"test_shop{number}.py": f"        from shop{number} import *\n\n\n{tests}" for number in range(3)}
    project.write(files)
    whole = why(project)
    project.write({
        "conftest.py": """\
            from pytest_killmatrix import explaining
            explaining._AT_ONCE = 1
            """
    })  # fmt: skip
    assert why(project) == whole
    assert len(whole) > 5


def why(project: Project) -> dict[str, object]:
    ran = project.run(*(f"--mutate=shop{number}.py" for number in range(3)), "--kill-matrix-fresh")
    return {mutant["key"]: mutant["why"] for mutant in ran.data["mutants"] if mutant["why"] is not None}
