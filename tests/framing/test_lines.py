"""Bytes to lines: any cut gives the same lines, and no line costs more than the limit."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.framing.json_text import Limits
from emceepee.framing.lines import HEAD, LineReader, Overlong


def _read(data: bytes, size: int, limit: int = 100) -> tuple[list[bytes | Overlong], bytes | None]:
    reader = LineReader(Limits(max_bytes=limit))
    found = [line for start in range(0, len(data), size) for line in reader.feed(data[start : start + size])]
    return found, reader.end()


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_line_is_a_message_crlf_is_tolerated_and_blank_lines_are_nobodys(size: int) -> None:
    assert _read(b'{"a":1}\n{"b":2}\r\n\n\r\n  \n{"c":3}\n', size) == ([b'{"a":1}', b'{"b":2}', b'{"c":3}'], None)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_half_a_message_at_the_end_is_handed_out_once(size: int) -> None:
    found, rest = _read(b'{"a":1}\n{"b":', size)
    assert (found, rest) == ([b'{"a":1}'], b'{"b":')
    reader = LineReader()
    list(reader.feed(b"x"))
    assert (reader.end(), reader.end()) == (b"x", None)


@pytest.mark.parametrize("length", [101, 102, 500])
@pytest.mark.parametrize("size", [1, 7, 99, 100, 101, 102, 1000])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_the_limit_is_exact_and_a_longer_line_is_dropped_and_said_once(size: int, ending: bytes, length: int) -> None:
    fits, too_long = b"f" * 100, b"l" * length
    [first, second, third], rest = _read(fits + ending + too_long + ending + b"after" + ending, size)
    assert isinstance(second, Overlong)
    assert second.limit == 100
    assert too_long.startswith(second.head.removesuffix(b"\r"))
    assert (first, third, rest) == (fits, b"after", None)


def test_a_dropped_line_without_end_is_not_half_a_message() -> None:
    [dropped], rest = _read(b"l" * 500, 50)
    assert isinstance(dropped, Overlong)
    assert rest is None


def test_the_head_of_a_dropped_line_says_which_message_it_was() -> None:
    line = b'{"jsonrpc":"2.0","id":"g-17","result":"' + b"x" * 5000
    [dropped], _ = _read(line, 4096, limit=1000)
    assert isinstance(dropped, Overlong)
    assert dropped.head == line[:HEAD]


def test_a_line_without_end_costs_no_more_than_the_limit() -> None:
    reader = LineReader(Limits(max_bytes=10_000))
    chunk = b"x" * 1000
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    dropped = [line for _ in range(5000) for line in reader.feed(chunk)]
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert len(dropped) == 1
    assert peak < 50_000


def test_a_chunk_is_taken_in_even_if_its_lines_are_not_read() -> None:
    reader = LineReader()
    reader.feed(b"unread\nha")
    assert list(reader.feed(b"lf\n")) == [b"half"]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_any_cut_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    text = b"\n".join(lines)
    whole, rest = _read(text, max(len(text), 1), limit=20)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    reader = LineReader(Limits(max_bytes=20))
    found: list[bytes | Overlong] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += reader.feed(text[start:end])
    assert [type(line) if isinstance(line, Overlong) else line for line in found] == [
        type(line) if isinstance(line, Overlong) else line for line in whole
    ]
    assert reader.end() == rest
