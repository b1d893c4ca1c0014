"""Shortcuts in pytest's machinery: taken where they are meant to be, without a difference that a test could see."""

from __future__ import annotations

from typing import Any

import _pytest.fixtures
import pytest

from pytest_killmatrix.child import shortcuts

SUITE = """
    import pytest

    @pytest.fixture
    def plain(request):
        return request.fixturename, request.scope, request.node.name

    @pytest.fixture(params=[1, 2])
    def several(request, plain):
        yield request.param
        request.addfinalizer(lambda: None)

    def test_request(request, plain, several):
        assert request.fixturename is None
        assert plain == ("plain", "function", request.node.name)
        assert request.getfixturevalue("request") is request
        assert set(request.fixturenames) >= {"plain", "several", "request"}
"""


class Install:
    """Takes the shortcuts where a child would."""

    def __init__(self) -> None:
        self.plugins: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        shortcuts.install(session)
        self.plugins = {name for name, _ in session.config.pluginmanager.list_name_plugin()}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The fixtures whose signature was read while tests ran; what was patched is taken back."""
    asked: list[str] = []
    original = _pytest.fixtures.getfuncargnames

    def getfuncargnames(function: Any, *rest: Any, **more: Any) -> Any:
        asked.append(more.get("name", ""))
        return original(function, *rest, **more)

    monkeypatch.setattr(_pytest.fixtures, "getfuncargnames", getfuncargnames)
    return asked


def test_tests_see_no_difference(pytester: pytest.Pytester, names: list[str]) -> None:
    pytester.makepyfile(SUITE)
    plugin = Install()
    pytester.inline_run(plugins=[plugin]).assertoutcome(passed=2)
    assert not plugin.plugins & {"setuponly", "setupplan"}
    assert "request" not in names  # pytest 9 would have read it once for each fixture that asks for it


def test_what_was_kept_is_forgotten(pytester: pytest.Pytester) -> None:
    session = pytester.getmodulecol("def test_one(): pass").session
    before = session.gethookproxy
    elsewhere = pytester.mkdir("sub") / "conftest.py"
    elsewhere.write_text("")
    manager: Any = session.config.pluginmanager
    manager._importconftest(elsewhere, "prepend", pytester.path, consider_namespace_packages=False)
    assert before(session.path) is not before(session.path)  # not all conftests hold there: a new proxy each time
    shortcuts.install(session)
    assert session.gethookproxy(session.path) is session.gethookproxy(session.path)
    shortcuts.forget(session)
    assert session.gethookproxy == before


def test_who_wants_to_see_the_set_up_sees_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest("--setup-show", plugins=[Install()])
    result.stdout.fnmatch_lines(["*SETUP    F plain*"])
