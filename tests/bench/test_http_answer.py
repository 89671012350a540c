"""An answer is complete with its last byte, however it was cut on the way."""

from __future__ import annotations

import pytest

from bench.http_answer import HttpAnswer, NotHttp

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nMCP-Session-Id: abc\r\ncontent-length: 5\r\n\r\nwords"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nwor\r\n2;x=y\r\nds\r\n0\r\n\r\n"
)
EMPTY = b"HTTP/1.1 202 Accepted\r\n\r\n"


@pytest.mark.parametrize(("data", "body"), [(WHOLE, b"words"), (CHUNKED, b"words"), (EMPTY, b"")])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_it_is_complete_with_its_last_byte(data: bytes, body: bytes, size: int) -> None:
    answer = HttpAnswer()
    for start in range(0, len(data), size):
        assert not answer.ended
        answer.feed(data[start : start + size])
    assert answer.ended
    assert answer.body() == body


def test_status_session_and_kind_are_read_whatever_their_case() -> None:
    answer = HttpAnswer()
    answer.feed(WHOLE)
    assert (answer.status, answer.session, answer.stream) == (200, "abc", False)
    answer = HttpAnswer()
    answer.feed(CHUNKED[:-5])
    assert (answer.begun, answer.ended, answer.stream) == (True, False, True)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        WHOLE + b"!",
        CHUNKED + b"!",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(NotHttp):
        HttpAnswer().feed(data)


def test_a_second_answer_to_one_request_is_refused() -> None:
    answer = HttpAnswer()
    answer.feed(WHOLE)
    with pytest.raises(NotHttp):
        answer.feed(WHOLE)
