"""What the fresh interpreter sends back."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.clean.fresh import FreshResult, flat

LINES = st.integers(-(2**31), 2**31 - 1)


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.lists(st.tuples(LINES, LINES)))))
def test_arcs_come_back_as_they_were(measured: dict[str, dict[str, list[tuple[int, int]]]]) -> None:
    reach = {path: {name: flat(arcs) for name, arcs in contexts.items()} for path, contexts in measured.items()}
    result: FreshResult = pickle.loads(pickle.dumps(FreshResult(0, {}, reach)))
    found: dict[str, dict[str, list[tuple[int, int]]]] = {path: {} for path in measured}
    for path, context, arcs in result.arcs():
        found[path][context] = list(arcs)
    assert found == measured
