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


PARAMETERS = """
    import pytest
    events = []

    @pytest.fixture
    def dependent(value):
        events.append(("set up", value))
        yield [value]
        events.append(("torn down", value))

    @pytest.fixture
    def given(request):
        return request.param * 2

    @pytest.fixture
    def overridden():
        raise AssertionError

    @pytest.fixture(autouse=True)
    def around(request):
        if "value" in request.fixturenames:
            events.append(("early", request.getfixturevalue("value")))
        yield
        events.append(("late", request.fixturenames))

    @pytest.mark.parametrize("value", [1, [2], float("nan")])
    @pytest.mark.parametrize("other", "ab")
    def test_function(value, other, dependent, request):
        assert dependent[0] is value
        assert request.getfixturevalue("value") is value and request.getfixturevalue("other") == other
        assert request.node.callspec.params["other"] == other
        events.append((value, other))

    @pytest.mark.parametrize("given, value", [(1, 2), (3, 4)], indirect=["given"])
    def test_indirect(dependent, given, value):
        events.append((given, value))

    @pytest.mark.parametrize("overridden", [None])
    def test_overridden(overridden):
        assert overridden is None

    @pytest.mark.parametrize("value", [5, 6], scope="module")
    def test_wide(value):
        events.append(value)

    @pytest.mark.parametrize("value", [5, 6], scope="module")
    def test_wide_too(value, dependent):
        events.append(value)

    class TestClass:
        @pytest.mark.parametrize("value", [7])
        def test_method(self, value, dependent):
            events.append(value)

    def test_events():
        print("EVENTS", events)
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


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `install` puts in place goes with the test that put it there."""
    monkeypatch.setattr(_pytest.fixtures, "getfuncargnames", _pytest.fixtures.getfuncargnames)
    kind: Any = _pytest.fixtures.TopRequest
    monkeypatch.setattr(kind, "_get_active_fixturedef", kind._get_active_fixturedef)


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


def _events(pytester: pytest.Pytester, plugins: list[Any]) -> str:
    pytester.makepyfile(PARAMETERS)
    result = pytester.runpytest_inprocess("-s", "-p", "no:randomly", plugins=plugins)
    result.assert_outcomes(passed=15)
    return next(line for line in result.outlines if "EVENTS" in line)


def test_parameters_come_and_go_as_ever(pytester: pytest.Pytester) -> None:
    assert _events(pytester, [Install()]) == _events(pytester, [])


class Count:
    """Counts the fixtures that pytest sets up by its hook."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        self.names.append(fixturedef.argname)


def test_pytest_makes_no_fixture_of_a_parameter(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    execute = _pytest.fixtures.FixtureDef.execute

    def noted(self: Any, request: Any) -> Any:
        made.append(self.argname)
        return execute(self, request)

    monkeypatch.setattr(_pytest.fixtures.FixtureDef, "execute", noted)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("value", [1, 2])
        def test_it(value, tmp_path):
            pass
        """
    )
    pytester.inline_run(plugins=[Install()]).assertoutcome(passed=2)
    assert "tmp_path" in made
    assert "value" not in made


def test_who_watches_fixtures_sees_every_parameter(pytester: pytest.Pytester) -> None:
    count = Count()
    _events(pytester, [count, Install()])
    assert count.names.count("value") == 11  # those of module scope once for two tests
