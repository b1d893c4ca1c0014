"""What harness mutation drops, and what specs see: texts, operators, traces, projections, the outcome of a trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness_samples import BASE, make_plan, make_trials, trace
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_killmatrix.harness.dataplane import Outcome
from pytest_killmatrix.harness.documents import items_dropped, keys_dropped
from pytest_killmatrix.harness.markdown import blocks, sections
from pytest_killmatrix.harness.operators import OPERATORS, Proposal, Refusal, propose
from pytest_killmatrix.harness.process import judge
from pytest_killmatrix.harness.projection import project
from pytest_killmatrix.harness.reading import HarnessError
from pytest_killmatrix.harness.spans import normal_span, read_spans, total
from pytest_killmatrix.harness.specs import Spec, matches, named_skills, read_specs

relaxed = settings(deadline=None)  # no test is about time
MARKDOWN = """\
---
name: x
---
First line
second

# One
text
```sh
# no heading
```
## Two
more

Underlined
==========
last
- item
---
"""


# -- texts ------------------------------------------------------------------------------------------------------------


def test_blocks_begin_at_headings_and_are_lines_elsewhere() -> None:
    assert [part.title for part in blocks(MARKDOWN)] == ["First line", "second", "One", "Two", "Underlined"]
    assert [part.title for part in blocks("a\n\n  b\nc\n")] == ["a", "b", "c"]
    assert blocks(" \n\n") == []


def test_sections_hold_those_below_them() -> None:
    assert [(part.title, part.first, part.last) for part in sections(MARKDOWN)] == [
        ("One", 6, 14), ("Two", 11, 14), ("Underlined", 14, 19),
    ]  # fmt: skip


@relaxed
@given(st.text(alphabet="# a\n-=`~", max_size=40))
def test_each_block_is_dropped_and_nothing_else(text: str) -> None:
    lines = text.splitlines(keepends=True)
    for part in blocks(text):
        assert part.dropped_from(text) == "".join(lines[: part.first] + lines[part.last :])
        assert part.last > part.first
    covered = [line for part in blocks(text) for line in range(part.first, part.last)]
    assert len(covered) == len(set(covered))


data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab:#-' \n", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c d"]), inner, max_size=3),
    max_leaves=8,
)


def without(content: Any, path: tuple[str | int, ...]) -> Any:
    copy = yaml.safe_load(yaml.safe_dump(content))
    holder = copy
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    return copy


@relaxed
@given(content=data, flow=st.booleans())
def test_what_is_left_of_yaml_is_the_data_less_one_thing(content: Any, flow: bool) -> None:
    text = yaml.safe_dump(content, default_flow_style=flow)
    for cut in (*keys_dropped(text, "file"), *items_dropped(text, "file")):
        assert yaml.safe_load(cut.text) == without(content, cut.path)


def test_comments_and_layout_of_the_rest_stay() -> None:
    text = "# head\na: 1   # one\nb:\n  - x  # ex\n  - y\nc: [p,  q]\nonly:\n  - it\n"
    found = {cut.label: cut.text for cut in (*keys_dropped(text, "file"), *items_dropped(text, "file"))}
    assert found["a"] == "# head\nb:\n  - x  # ex\n  - y\nc: [p,  q]\nonly:\n  - it\n"
    assert found["b.x"] == "# head\na: 1   # one\nb:\n  - y\nc: [p,  q]\nonly:\n  - it\n"
    assert found["c.q"] == "# head\na: 1   # one\nb:\n  - x  # ex\n  - y\nc: [p]\nonly:\n  - it\n"
    assert found["only.it"] == "# head\na: 1   # one\nb:\n  - x  # ex\n  - y\nc: [p,  q]\nonly: []\n"


# -- operators --------------------------------------------------------------------------------------------------------


def proposed(base: Any, *operators: str, used: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        made.variant.name: made.variant
        for made in propose(base, operators or OPERATORS, used)
        if isinstance(made, Proposal)
    }


def refused(base: Any, *operators: str) -> dict[str, str]:
    return {made.operator: made.reason for made in propose(base, operators, ()) if isinstance(made, Refusal)}


def test_one_mutant_for_each_component() -> None:
    base = replace(
        BASE, instructions_append="Be kind.\n", approvals="deny-risky",
        files=(("conf.yaml", "a: [1, 2]\n"), ("NOTES.md", "# One\n## Two\n"), ("other.txt", "# no\n")),
    )  # fmt: skip
    found = proposed(base)
    assert list(found) == [
        "mutant-drop-skill-versions", "mutant-drop-skill-poetry", "mutant-drop-instruction-line-tone",
        "mutant-drop-instruction-line-tests", "mutant-drop-instruction-line-be-kind", "mutant-approvals-auto",
        "mutant-drop-section-notes-one", "mutant-drop-section-notes-two", "mutant-drop-key-conf-a",
        "mutant-drop-list-item-conf-a-1", "mutant-drop-list-item-conf-a-2", "mutant-noop-control",
    ]  # fmt: skip
    assert found["mutant-drop-skill-poetry"].skills == ("versions",)
    assert found["mutant-drop-instruction-line-tone"].instructions == "# Tests\n\nTest it.\n"
    assert found["mutant-drop-instruction-line-be-kind"].instructions_append == ""
    assert found["mutant-approvals-auto"].approvals == "auto"
    assert dict(found["mutant-drop-section-notes-two"].files)["NOTES.md"] == "# One\n"
    assert dict(found["mutant-drop-list-item-conf-a-1"].files)["conf.yaml"] == "a: [2]\n"
    assert found["mutant-noop-control"].fingerprint == base.fingerprint
    assert len({variant.fingerprint for variant in found.values()}) == len(found)


def test_skills_of_the_harness_itself_are_known_from_traces() -> None:
    base = replace(BASE, skills=None, skills_remove=("poetry",))
    found = proposed(base, "drop-skill", used=("versions", "poetry"))
    assert {name: variant.skills_remove for name, variant in found.items()} == {
        "mutant-drop-skill-versions": ("poetry", "versions")
    }
    assert "--data" in refused(base, "drop-skill")["drop-skill"]


def test_components_of_the_same_name_get_numbers() -> None:
    found = proposed(replace(BASE, instructions="Be kind.\nBe kind!\n"), "drop-instruction-line")
    assert list(found) == ["mutant-drop-instruction-line-be-kind", "mutant-drop-instruction-line-be-kind-2"]


def test_components_without_latin_letters_have_names_too() -> None:
    found = proposed(replace(BASE, instructions="優しく\nÉcris!\n書く\n"), "drop-instruction-line")
    names = [name.removeprefix("mutant-drop-instruction-line-") for name in found]
    assert names[1] == "ecris"
    assert len(set(names)) == 3
    assert all(name.isascii() for name in names)


def test_a_file_that_cannot_be_read_stops_no_other(tmp_path: Path) -> None:
    files = (("a.yaml", "a: {{ templated }}\n"), ("b.yaml", "!secret x\n"), ("c.yaml", "a: 1\n"))
    base = replace(BASE, files=files)
    assert list(proposed(base, "drop-key")) == ["mutant-drop-key-c-a"]
    assert "file b.yaml" in refused(base, "drop-key")["drop-key"]


def test_operators_without_a_component_say_why() -> None:
    bare = replace(BASE, skills=(), instructions="", approvals="auto")
    names = [name for name in OPERATORS if name != "noop"]
    assert set(refused(bare, *names, "drop-hook", "widen-egress")) == {*names, "drop-hook", "widen-egress"}


# -- specs ------------------------------------------------------------------------------------------------------------

STEP = {"tool": "run_tests", "skill": "versions", "arguments": '{"own": true, "n": 3}', "http.status": 200}


@pytest.mark.parametrize(("pattern", "expected"), [
    ({"tool": "run_tests"}, True),
    ({"tool": "run_*"}, True),
    ({"tool": "commit"}, False),
    ({"tool": ["commit", "run_tests"]}, True),
    ({"tool": {"name": "run_tests", "skill": "versions"}}, True),
    ({"tool": {"skill": "poetry"}}, False),
    ({"tool": {"arguments": {"own": True}}}, True),
    ({"tool": {"arguments": {"own": 1}}}, False),  # true is no number
    ({"tool": {"arguments": {"n": 3.0}}}, True),
    ({"tool": {"arguments": {"missing": None}}}, True),
    ({"skill": "versions"}, True),
    ({"skill_name": "versions"}, True),
    ({"gen_ai.tool.name": "run_tests"}, True),
    ({"gen_ai": {"tool": {"name": "run_tests"}}}, True),
    ({"http": {"status": 200}}, True),
    ({"http": {}}, False),
    ({"http.status": "200"}, False),
    ({"name": "run_tests"}, True),
    ({"model": None}, True),
    ({"tool": "run_[t]ests"}, False),  # only * and ? are special
])  # fmt: skip
def test_patterns(pattern: dict[str, Any], expected: bool) -> None:
    assert matches(normal_span(STEP), pattern) is expected


def test_a_step_that_is_no_call_of_a_tool_matches_no_tool() -> None:
    assert not matches(normal_span({"model": "x"}), {"tool": {"name": None}})
    for call in ({"skill": "x"}, {"operation": "execute_tool"}):
        assert matches(normal_span(call), {"tool": {"name": None}})
    assert matches(normal_span({"skill": "versions"}), {"tool": {"skill": "versions"}})


@pytest.mark.parametrize("span", [
    {"tool": {"name": "ls", "skill": "files", "arguments": {"n": 5}}},
    {"attributes": {"tool": {"name": "ls"}, "skill": "files", "arguments": '{"n": 5}'}},
    {"attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "ls"}}, {"key": "skill", "value": "files"},
                    {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"n": 5}'}}, "odd", {"key": 1}]},
])  # fmt: skip
def test_spans_are_understood_as_others_write_them(span: dict[str, Any]) -> None:
    found = normal_span(span)
    assert (found.tool, found.skill, found.attributes["gen_ai.tool.call.arguments"]) == ("ls", "files", {"n": 5})


def test_whole_numbers_of_opentelemetry_are_numbers() -> None:
    data = {"attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}}]}
    assert total([normal_span(data)], "gen_ai.usage.input_tokens") == 12


def specs(folder: Path, text: str) -> list[Spec]:
    path = folder / "specs.yaml"
    path.write_text(text, encoding="utf-8")
    return list(read_specs(path))


@pytest.mark.parametrize(("clause", "holding", "failing"), [
    ("eventually: {tool: a}", [("b", "a")], [(), ("b",)]),
    ("never: {tool: a}", [(), ("b",)], [("b", "a")]),
    ("always: {tool: a}", [(), ("a", "a")], [("a", "b")]),
    ("always: {when: {tool: a}, then: {skill: s}}", [("b",), ({"tool": "a", "skill": "s"},)], [("b", "a")]),
    ("before: {first: {tool: a}, then: {tool: b}}", [(), ("a",), ("a", "b", "b"), ("c",)], [("b",), ("b", "a", "b")]),
    ("before: [{tool: a}, {tool: b}]", [("a", "b")], [("b", "a")]),
    ("eventually: {tool: a}\n  never: {tool: b}", [("a",)], [("a", "b"), ()]),
])  # fmt: skip
def test_forms(tmp_path: Path, clause: str, holding: list[Any], failing: list[Any]) -> None:
    (spec,) = specs(tmp_path, f"- name: x\n  {clause}\n")
    assert [spec.holds(trace(*steps)) for steps in holding] == [True] * len(holding)
    assert [spec.holds(trace(*steps)) for steps in failing] == [False] * len(failing)


def test_a_spec_may_be_for_some_tasks(tmp_path: Path) -> None:
    (spec,) = specs(tmp_path, "specs: [{name: x, tasks: 'minor-*', eventually: {tool: {skill: [pdf, 'x*']}}}]")
    assert (spec.applies_to("minor-1"), spec.applies_to("major-1")) == (True, False)
    assert named_skills(spec) == {"pdf"}


@pytest.mark.parametrize(("text", "message"), [
    ("", "a mapping of keys to values is needed, not nothing"),
    ("[]", "no spec"),
    ("- name: x", "'x' asks for nothing; give it one of eventually, never, always, before"),
    ("- eventually: {tool: a}", "the key 'name' is missing"),
    ("- {name: x, eventualy: {tool: a}}", "unknown key 'eventualy'; did you mean 'eventually'?"),
    ("- {name: x, eventually: a}", "a pattern is needed, such as"),
    ("- {name: x, eventually: {}}", "a pattern is needed, such as"),
    ("- {name: x, eventually: {1: a}}", "put them in quotes"),
    ("- {name: x, before: {first: {tool: a}}}", "two patterns are needed"),
    ("- {name: x, always: {then: {tool: a}, if: {tool: b}}}", "{when: PATTERN, then: PATTERN}"),
    ("- {name: x, never: {tool: a}}\n- {name: x, never: {tool: a}}", "two specs are named 'x'"),
    ("- {name: x, never: {tool: a, tool: b}}", "line 1: the key 'tool' is given twice"),
    ("- [", "specs"),
])  # fmt: skip
def test_specs_that_will_not_do(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HarnessError) as caught:
        specs(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# -- traces -----------------------------------------------------------------------------------------------------------


def test_a_trace_from_elsewhere_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(
        '{"name": "execute_tool ls", "attributes": {"gen_ai.tool.name": "ls", "gen_ai.skill.name": "files"}}\n'
        '\n{"tool": "cat", "input_tokens": 5}\n[1]\n{"torn": \n',
        encoding="utf-8",
    )
    spans, bad = read_spans(path)
    assert [(span.name, span.tool, span.skill) for span in spans] == [
        ("execute_tool ls", "ls", "files"),
        ("cat", "cat", None),
    ]
    assert bad == 2
    assert total(spans, "gen_ai.usage.input_tokens") == 5
    assert read_spans(tmp_path / "none") == ((), 0)


def test_a_step_that_sums_up_others_is_not_counted_twice() -> None:
    steps = [{"operation": "chat", "input_tokens": n} for n in (1, 2)]
    whole = {"operation": "invoke_agent", "input_tokens": 3}
    assert total(trace(*steps, whole), "gen_ai.usage.input_tokens") == 3
    assert total(trace(whole), "gen_ai.usage.input_tokens") == 3
    assert total(trace("ls", {"cost_usd": True}, {"cost_usd": -1}, {"cost_usd": "1"}), "cost_usd") is None


# -- what a trial came to ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tests", "status", "expected"), [
    (["passed", "passed"], 0, Outcome.RESOLVED),
    (["passed", "skipped", "xfailed"], 0, Outcome.RESOLVED),
    (["passed", "failed"], 1, Outcome.UNRESOLVED),
    (["passed", "error"], 1, Outcome.FAULT),
    (["failed", "error"], 1, Outcome.FAULT),
    (["skipped"], 0, Outcome.FAULT),
    (["xfailed"], 0, Outcome.FAULT),
    ([], 5, Outcome.FAULT),
    (["passed"], 2, Outcome.FAULT),
    (["passed"], 3, Outcome.FAULT),
    ([], 4, Outcome.FAULT),
    (["passed"], 1, Outcome.RESOLVED),  # a threshold of another plugin is no grader
])  # fmt: skip
def test_the_outcome_of_a_trial(tests: list[str], status: int, expected: Outcome) -> None:
    result = {"exit": status, "tests": {f"t{n}": outcome for n, outcome in enumerate(tests)}, "messages": []}
    outcome, reason, _ = judge(result)
    assert outcome is expected
    assert (reason is None) == (expected is Outcome.RESOLVED or expected is Outcome.UNRESOLVED)


# -- projections ------------------------------------------------------------------------------------------------------


def test_a_projection_prefers_what_was_recorded() -> None:
    plan = make_plan([], tasks=2)
    recorded = [
        replace(record, cost_usd=cost, seconds=60.0)
        for record, cost in zip(make_trials(plan, "base", "+"), [1.0, 3.0, None, None], strict=True)
    ]
    found = project(["task-0", "task-0", "task-1"], 9, recorded, 2, cost_usd=7, minutes=9)
    assert (found.usd, found.minutes) == (2.0 * 3, 1.5)
    assert "from 2 recorded trials" in found.usd_source
    stated = project(["task-0"] * 4, 4, [], 2, cost_usd=0.5, minutes=3)
    assert (stated.usd, stated.minutes, stated.usd_source) == (2.0, 6.0, "cost_usd in the plan")
    unknown = project(["task-0"], 1, [], 1, cost_usd=None, minutes=None)
    assert (unknown.usd, unknown.minutes) == (None, None)
    assert unknown.lines()[1].startswith("dollars  unknown")
    assert project([], 4, [], 1, cost_usd=None, minutes=None).usd == 0
