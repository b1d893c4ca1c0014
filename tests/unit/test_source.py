from __future__ import annotations
import __future__

from types import FunctionType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_killmatrix.source import SourceError, SourceFile


def source(data: bytes) -> SourceFile:
    return SourceFile("a.py", data)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"x = 1\n", "utf-8"),
        (b"\xef\xbb\xbfx = 1\n", "utf-8"),
        (b"# coding: latin-1\nx = '\xe9'\n", "iso-8859-1"),
        ("# -*- coding: cp1252 -*-\nx = '€'\n".encode("cp1252"), "cp1252"),
    ],
)
def test_encoding_is_the_one_python_uses(data: bytes, encoding: str) -> None:
    assert source(data).encoding == encoding
    assert not source(data).text.startswith("\ufeff")


def test_column_0_of_line_1_comes_after_the_byte_order_mark() -> None:
    file = source(b"\xef\xbb\xbfx = 1\n")
    assert file.offset(1, 0) == 3
    assert file.splice(file.offset(1, 4), file.offset(1, 5), "2") == b"\xef\xbb\xbfx = 2\n"


def test_lines_end_only_where_python_ends_them() -> None:
    text = "a = 1\r\nb = 'x\x0cy\x1cz\u2028'\rc = 3\n\x0cd = 4"
    assert [line.rstrip("\r\n") for line in source(text.encode()).lines] == [
        "a = 1",
        "b = 'x\x0cy\x1cz\u2028'",
        "c = 3",
        "\x0cd = 4",
    ]


def test_columns_are_code_points_and_offsets_bytes() -> None:
    file = source("s = 'é€😀' + x\n".encode())
    assert file.offset(1, 11) == len("s = 'é€😀' +".encode())
    assert file.data[file.offset(1, 12) :] == b"x\n"
    assert file.locate(file.offset(1, 12)) == (1, 12)


def test_splicing_writes_the_files_own_encoding() -> None:
    file = source(b"# coding: latin-1\nx = '\xe9'; y = 1\n")
    start = file.offset(2, 4)
    assert file.splice(start, start + 3, "'à'") == b"# coding: latin-1\nx = '\xe0'; y = 1\n"
    with pytest.raises(UnicodeEncodeError):
        file.splice(start, start + 3, "'€'")


@pytest.mark.parametrize("place", [(0, 0), (1, 7), (3, 0), (1, -1), (2, 1)])
def test_a_place_outside_the_file_is_an_error(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"a\.py has no line"):
        source(b"x = 12\n").index(*place)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"x = 1\nx = = 2\n", 2, "syntax error"),
        (b"x = 1\n\nreturn x\n", 3, "'return' outside function"),
        (b"x = 1\ny = '\xff'\n", 2, "cannot be decoded"),
        (b"# coding: no-such\n", 1, "cannot be decoded"),
        (b"x = '\x00'\n", 1, "null"),
    ],
)
def test_an_unreadable_file_is_one_line(data: bytes, line: int, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        _ = source(data).tree
    assert caught.value.line == line
    assert str(caught.value).startswith(f"a.py:{line}: ")
    assert "\n" not in str(caught.value)


def test_future_flags() -> None:
    flags = source(b"'doc'\nfrom __future__ import annotations\n").future_flags
    assert flags == __future__.annotations.compiler_flag


@pytest.mark.parametrize("feature", sorted(set(__future__.all_feature_names) - {"barry_as_FLUFL"}))
def test_future_flags_are_those_that_code_of_the_file_carries(feature: str) -> None:
    text = f"from __future__ import {feature}\ndef f(): pass\n"
    names: dict[str, FunctionType] = {}
    exec(compile(text, "a.py", "exec", dont_inherit=True), names)
    every = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
    carried = sum(flag for flag in set(every) if names["f"].__code__.co_flags & flag)
    # CO_NESTED is one of the old flags, and says something else of a function
    assert source(text.encode()).future_flags & ~0x10 == carried & ~0x10


def test_sections_take_decorators_and_share_lines() -> None:
    file = source(b"import a; import b\n\n@d\n@e\ndef f():\n    pass\nx = 1; y = (\n2); z = 3\n")
    assert [(section.first_line, section.last_line) for section in file.sections] == [(1, 1), (3, 6), (7, 8)]


@given(st.text(alphabet="a\n\r é€😀\x0c\x1c\u2028", max_size=30), st.booleans())
def test_positions_and_offsets_agree(text: str, bom: bool) -> None:
    file = SourceFile("a.py", (b"\xef\xbb\xbf" if bom else b"") + text.encode(), "utf-8")
    assert "".join(file.lines) == file.text
    for index in range(len(file.text)):
        line, column = file.position(index)
        assert file.index(line, column) == index
        offset = file.byte_offset(index)
        assert file.data[offset:].decode() == file.text[index:]
        assert file.locate(offset) == (line, column)


def test_a_carriage_return_ends_the_line_of_the_encoding() -> None:
    file = source(b"# coding: latin-1\rx = '\xe9'\r")
    assert (file.encoding, file.lines[1]) == ("iso-8859-1", "x = 'é'\r")
