"""The HTML report in a real browser: chromium, without network, where one is installed."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from projects import Case, Project

from pytest_killmatrix.report.files import FORMATS, write_chunks, write_report
from pytest_killmatrix.store.harness import HarnessMutant, HarnessRun, store_harness_run
from pytest_killmatrix.store.reader import Reader

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
pytestmark = [pytest.mark.lengthy, pytest.mark.skipif(not BROWSER, reason="no chromium is installed")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("page"))
    project.write({
        "subject.py": 'def f(a, b):\n    if a < b:  # 😀\n        return a + b\n    return "</script><b>"\n',
        "test_code.py": """\
            import subject
            def test_f():
                assert subject.f(1, 2) == 3
            def test_idle():
                subject.f(2, 1)
            """,
    })  # fmt: skip
    project.cases([
        Case("tie", "a < b", "a <= b", "subject.py"), Case("sum", "a + b", "a - b", "subject.py"),
        Case("text", '"</script><b>"', '"<i>"', "subject.py"),
    ])  # fmt: skip
    project.run()
    path = project.outside / "page.html"
    with Reader(project.sidecar) as reader:
        write_report(reader, path, FORMATS["html"], "--output")
    return path


def shown(page: Path, place: str, tmp_path: Path, script: str = "") -> str:
    """The document as the browser has it in the end, at a place after the #."""
    if script:  # a copy that does something once it is ready
        text = page.read_text().replace("begin();\n</script>", f"begin().then(() => {{ {script} }});\n</script>")
        page = tmp_path / "page.html"
        page.write_text(text)
    done = subprocess.run(
        [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=30000", "--dump-dom", f"file://{page}{place}"],
        capture_output=True, text=True, timeout=90, check=True,
    )  # fmt: skip
    assert 'data-ready="yes"' in done.stdout, done.stderr
    found = re.search(r"<main.*?</main>", done.stdout, re.DOTALL)
    assert found is not None
    return found[0]


def words(markup: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", markup).split()))


def test_overview(page: Path, tmp_path: Path) -> None:
    text = words(shown(page, "", tmp_path))
    assert "assertion score 33.3 % 1 of 3: killed / (killed + survived)" in text
    assert "subject.py 3" in text
    assert "1 test reaches it, none has a == b" in text or "2 tests reach it, none has a == b" in text
    assert "Operators" in text


def test_source_with_a_mutant(page: Path, tmp_path: Path) -> None:
    markup = shown(page, "#m/0", tmp_path)
    text = words(markup)
    assert "if a < b : # 😀" in text.replace("  ", " ")
    assert "- if a < b: # 😀" in text
    assert "+ if a <= b: # 😀" in text
    assert "test_code.py::test_f" in text
    assert 'aria-expanded="true"' in markup
    assert "<b>" not in markup  # the source's own markup is text


def test_a_click_opens_and_another_closes(page: Path, tmp_path: Path) -> None:
    click = "document.querySelectorAll('.dot')[1].click();"
    assert shown(page, "#f/0", tmp_path, click).count('class="panel"') == 1
    (tmp_path / "again").mkdir()
    assert shown(page, "#f/0", tmp_path / "again", click + click).count('class="panel"') == 0


def test_tests(page: Path, tmp_path: Path) -> None:
    text = words(shown(page, "#tests", tmp_path))
    assert "kill nothing (1)" in text
    assert "test_code.py::test_f" in text


def test_one_test(page: Path, tmp_path: Path) -> None:
    text = words(shown(page, "#t/0", tmp_path))
    assert "kills 1 by assertion 1 only it kills 1" in text
    assert "AssertionError" in text


def test_matrix_by_keyboard(page: Path, tmp_path: Path) -> None:
    press = (
        "const map = document.querySelector('canvas'), press = () => {"
        "if (map.dataset.ready !== 'yes') { setTimeout(press, 10); return; }"
        "for (const key of ['ArrowRight', 'Enter']) map.dispatchEvent(new KeyboardEvent('keydown', {key})); }; press();"
    )
    markup = shown(page, "#matrix", tmp_path, press)
    assert 'class="panel"' in markup  # Enter opened the mutant


def test_harness_runs_alone(tmp_path: Path) -> None:
    run = HarnessRun(
        "one", "2026-11-30T12:00:00+00:00", "toy", "base", "toy-1", ("task",), 2, scored=True, killed=1, survived=1,
        low=0.0945, high=0.9055, k=2, bound=0.9, level=0.95, notes=("few tasks",),
        mutants=(
            HarnessMutant("mutant-a", "drop-key", "a", "<b>a</b>", "survived", "x x", "redundant", suggestion="- a: b"),
            HarnessMutant("mutant-b", "drop-key", "b", "key b", "killed", "y", "necessary"),
        ),
    )  # fmt: skip
    store_harness_run(tmp_path / "a.sqlite", run)
    place = tmp_path / "harness.html"
    write_chunks(FORMATS["html"].harness_chunks(tmp_path / "a.sqlite"), place, FORMATS["html"], "--output")
    sort_by_verdict = "document.querySelectorAll('th button')[1].click();"
    wide = "document.querySelector('h1').dataset.wide = document.documentElement.scrollWidth > innerWidth;"
    widen = "document.querySelectorAll('td.wide').forEach((cell) => { cell.style.minWidth = '40rem'; });"
    markup = shown(place, "", tmp_path, sort_by_verdict + widen + wide)
    assert 'data-wide="false"' in markup  # a table scrolls in its own box
    text = words(markup)
    assert "Score 50%: 1 of 2 mutants killed" in text
    assert "95% Wilson interval 9% to 91%. few tasks" in text
    assert text.index("key b mutant-b ✓ killed y necessary") < text.index("<b>a</b> mutant-a ! survived x x")
    assert "a spec worth adding - a: b" in text
    assert 'aria-sort="ascending"' in markup
    assert "<b>" not in markup
