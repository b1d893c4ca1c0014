"""Words of a test that the task never uses: a hint for a reader, no more. Pure functions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_killmatrix.oracle.model import Kind
from pytest_killmatrix.oracle.verdicts import JudgedCase

_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SHORTEST_STEM: Final = 4
_LONGEST_ENDING: Final = 3
_PREFIXES: Final = ("un", "in", "non", "dis", "re")
_PLAIN: Final = """
about above after again all also and any are assert assertion assertionerror because been before being below between
both but can cannot case cases check checks could did does doing done each equal equals error even every exactly
exception expect expected expects fail failed fails far few first fixture for found from gets give given gives good
got had has have having here how into its just keep keeps last least less like made make makes many may more most much
must never nor not nothing now object off once one only other others ought our out over own param parametrize pass
passed passes pytest raise raised raises real return returned returns right same self set shall should simple since
some still such test tests than that the their them then there these they thing this those three through too two type
under until upon use used uses using value values very want wants was way were what when where which while who whole
why will with without works would wrong yes yet you your
"""
_COMMON: Final = frozenset(_PLAIN.split()) | {word.lower() for word in keyword.kwlist}


@dataclass(frozen=True, slots=True)
class Hint:
    """A test that rejects something, and words of its name or message that the solver never reads."""

    test: str
    words: tuple[str, ...]


def hints(judged: JudgedCase, received: Mapping[str, str]) -> list[Hint]:
    """The hints on one case; ``received`` are the texts that the solver receives."""
    known = words_of(" ".join([*received, *received.values()]))
    messages: dict[str, list[str]] = {}
    for one in judged.variants:
        if one.variant.kind not in (Kind.REFERENCE, Kind.NOOP):
            for test, cell in one.cells:
                if cell.outcome.kills:
                    messages.setdefault(test, []).append(cell.message or "")
    found = []
    for test in judged.tests:
        if test in messages:
            said = words_of(" ".join([test.partition("::")[2], *messages[test]]))
            strange = sorted(word for word in said - _COMMON if not _is_known(word, known))
            if strange:
                found.append(Hint(test, tuple(strange)))
    return found


def words_of(text: str) -> set[str]:
    """The words of a text or a name, in lower case."""
    return {word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))}


def _is_known(word: str, known: Iterable[str]) -> bool:
    """Whether a text has the word, or one of the same stem, or either without a prefix."""
    return any(_alike(one, other) for one in _bare(word) for text_word in known for other in _bare(text_word))


def _alike(one: str, other: str) -> bool:
    """Whether two words differ in their endings only."""
    pairs = enumerate(zip(one, other, strict=False))
    stem = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
    return one == other or (stem >= _SHORTEST_STEM and max(len(one), len(other)) - stem <= _LONGEST_ENDING)


def _bare(word: str) -> set[str]:
    return {word, *(word.removeprefix(prefix) for prefix in _PREFIXES if len(word) > len(prefix) + 2)}
