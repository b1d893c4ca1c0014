"""What holds of the mutants of any module that Python compiles."""

from __future__ import annotations

from dataclasses import replace

from generation_checks import faults, generated
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from modules import Module, modules

INSERTED = ("", "\n\n", "# é = 1 + 2", "def other(x):\n    return x + 1", "import other", "class Z:\n  y = 1")

any_module = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # making a module smaller takes minutes
)


@settings(any_module, max_examples=25)
@given(modules())
def test_mutants_are_what_they_say(module: Module) -> None:
    source, made = generated(module.data)
    assert faults(source, made) == []


@settings(any_module, max_examples=8)
@given(modules(most=3))
def test_generation_repeats_itself(module: Module) -> None:
    (_, first), (_, second) = generated(module.data), generated(module.data)
    assert first == second


@settings(any_module, max_examples=15)
@given(
    modules(),
    st.integers(0, 4),
    st.sampled_from(INSERTED),
)
def test_keys_stand_when_other_things_are_inserted(module: Module, at: int, inserted: str) -> None:
    pieces = list(module.pieces)
    pieces.insert(min(at, len(pieces)), inserted)
    before = _changes(module)
    after = _changes(replace(module, pieces=tuple(pieces)))
    assert before.items() <= after.items()


@settings(any_module, max_examples=10)
@given(modules(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_keys_stand_when_line_ends_change(module: Module, newline: str) -> None:
    before, after = (
        {key for key, (original, new) in _changes(one).items() if not {"\n", "\r"} & {*original, *new}}
        for one in (module, replace(module, newline=newline))
    )
    assert before == after


def _changes(module: Module) -> dict[str, tuple[str, str]]:
    _, made = generated(module.data)
    return {mutant.key: (mutant.original, mutant.replacement) for mutant, _ in made}
