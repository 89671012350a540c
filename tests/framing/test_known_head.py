"""A head that comes again is recognised, whatever its length, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.framing.known_head import known_head

HEAD = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nAccept: b\r\n\r\n%b"


def message(body: bytes) -> bytes:
    return HEAD % (len(body), body)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_the_same_head_with_another_length_gives_its_body(first: bytes, second: bytes) -> None:
    known = known_head(message(first))
    assert known is not None
    assert known.body(message(second)) == second


@pytest.mark.parametrize(
    "data",
    [
        b"",
        message(b"{}")[:-1],
        message(b"{}") + b" ",
        message(b"{}") + message(b"{}"),
        message(b"{}").replace(b"Host: a", b"Host: b"),
        message(b"{}").replace(b"Accept: b", b"Accept: c"),
        message(b"{}").replace(b"Accept: b", b"Accept: b\r\nX: 1"),
        message(b"{}").replace(b"Content-Length: 2", b"Content-Length: +2"),
        message(b"{}").replace(b"Content-Length: 2", b"Content-Length: 0x2"),
        message(b"{}").replace(b"Content-Length: 2", b"Content-Length: 2, 2"),
        message(b"{}").replace(b"Content-Length: 2", b"Content-Length: "),
        message(b"{}").replace(b"Content-Length: 2", b"Content-Length: 9999999999999999999999"),
        message(b"{}").replace(b"POST", b"post"),
    ],
)
def test_anything_else_is_for_the_parser(data: bytes) -> None:
    known = known_head(message(b"[]"))
    assert known is not None
    assert known.body(data) is None


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding : chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\nUpgrade: h2c\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"POST / HTTP/1.1\r\nX-Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\n",
    ],
)
def test_a_head_whose_length_is_said_in_any_but_the_plain_way_is_not_kept(head: bytes) -> None:
    assert known_head(head) is None
