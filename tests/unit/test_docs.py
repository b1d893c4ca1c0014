"""The documentation: generated pages are up to date, links resolve, every option is explained somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_killmatrix import options
from pytest_killmatrix.commands.reference import reference
from pytest_killmatrix.store import schema

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
GENERATED = [DOCS / "reference" / "options.md", DOCS / "reference" / "schema.md", DOCS / "reference" / "command.md"]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SCREEN = re.compile(r"<!-- SCREEN: begin.*?-->\n```text\n(.*?)```\n<!-- SCREEN: end -->", re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Where the relative links of a page lead: a path, and the anchor in it."""
    for target in _LINK.findall(prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path if path else page), anchor


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_options_page_is_up_to_date() -> None:
    assert GENERATED[0].read_text(encoding="utf-8") == options.reference()


def test_the_schema_page_is_up_to_date() -> None:
    assert GENERATED[1].read_text(encoding="utf-8") == schema.markdown() + "\n"


def test_the_commands_page_is_up_to_date() -> None:
    assert GENERATED[2].read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    for path, anchor in links(page):
        assert path.exists(), f"{path} does not exist"
        assert not anchor or anchor in anchors(path), f"{path} has no heading for #{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_page_can_be_found_from_the_index(page: Path) -> None:
    found = {path.resolve() for start in (ROOT / "README.md", DOCS / "index.md") for path, _ in links(start)}
    assert page in found or page in (ROOT / "README.md", DOCS / "index.md")


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: option.flag)
def test_every_option_is_explained_beside_the_generated_page(option: options.Option) -> None:
    pages = [page for page in PAGES if page not in GENERATED]
    assert any(re.search(rf"{option.flag}(?![\w-])", page.read_text(encoding="utf-8")) for page in pages)


def test_commands_that_are_shown_ask_for_what_they_say() -> None:
    known = {option.flag: option.dest for option in options.OPTIONS}
    commands = [
        line for page in PAGES for line in re.findall(r"^\$ pytest .*--.*$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert commands
    for command in commands:
        ours = {known[flag] for flag in re.findall(r"--[\w-]+", command) if flag in known}
        assert not ours or ours & set(options.ASKING), command


def test_options_that_are_named_exist() -> None:
    flags = {option.flag for option in options.OPTIONS}
    for page in PAGES:
        named = set(re.findall(r"(--(?:kill-matrix|mut)[\w-]*)", page.read_text(encoding="utf-8")))
        assert named <= flags, f"{name_of(page)}: {named - flags}"


def test_the_screen_in_the_readme_is_80_columns_wide_at_most() -> None:
    found = _SCREEN.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    assert [line for line in found[1].splitlines() if len(line) > 80] == []
