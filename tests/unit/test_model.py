"""Records that do more than hold values."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.model import SwapCode


@given(st.binary(), st.binary(), st.binary())
def test_code_comes_back_as_it_was(original: bytes, marked: bytes, plain: bytes) -> None:
    code = SwapCode.of("f", 1, original, marked, plain)
    assert (code.marked, code.plain) == (marked, plain)
    assert pickle.loads(pickle.dumps(code)) == code


def test_code_that_differs_little_costs_little() -> None:
    original = bytes(range(256)) * 8
    code = SwapCode.of("f", 1, original, original[:1000] + b"marks" + original[1000:], original[:-1])
    assert len(code.marked_packed) + len(code.plain_packed) < len(original) / 5
