"""Whatever bytes come, in whatever pieces, a reader gives what it promised or says that it cannot; never anything else.

read_message, read_messages   a message, or Unreadable
LineReader                    lines within the limit, or Overlong
SseReader                     events, whose data is within the bound
"""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from emceepee.framing.json_text import Limits, Unreadable, read_message, read_messages
from emceepee.framing.lines import LineReader, Overlong
from emceepee.framing.sse import SseEvent, SseReader
from emceepee.protocol.messages import Failure, Message, Notification, Request, Result
from emceepee.vocabulary.raw_json import read_value

KINDS = (Request, Notification, Result, Failure)
SHREDS = [b'{"jsonrpc":"2.0",', b'"id":', b'"method":', b'"params":', b'"result":', b'"error":{"code":', b'"message":']
SHREDS += [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"d83d", b"0", b"1.5", b"null", b"true", b"\xff"]
SHREDS += [b"\xef\xbb\xbf", b"\xc3\xa9", b"\n", b"\r\n", b" ", b"data: ", b"id: ", b"retry: 1", b":", b"\0", b"[" * 70]
BYTES = st.binary(max_size=200) | st.lists(st.sampled_from(SHREDS), max_size=25).map(b"".join)
LIMITS = Limits(max_bytes=300, max_depth=5, max_batch=4)


def _check(message: Message | Unreadable) -> None:
    if isinstance(message, Unreadable):
        assert message.code in (-32700, -32600, -32602)
        assert message.message
        return
    assert isinstance(message, KINDS)
    if isinstance(message, Request | Result):
        assert type(message.id) in (int, str)
    raw = message.result if isinstance(message, Result) else getattr(message, "params", None)
    if raw is not None:
        read_value(raw)


@settings(max_examples=300, deadline=None)
@given(BYTES)
@example(b'{"jsonrpc":"2.0","id":1,"result":"' + b"\\ud800" * 30 + b'"}')
@example(b'{"jsonrpc":"2.0","id":' + b"9" * 250 + b',"method":""}')
def test_a_text_is_a_message_or_unreadable(data: bytes) -> None:
    try:
        read: Message | Unreadable = read_message(data, LIMITS)
    except Unreadable as problem:
        read = problem
    _check(read)


@settings(max_examples=300, deadline=None)
@given(BYTES | BYTES.map(lambda data: b"[" + data + b"]"))
def test_a_text_is_a_message_or_a_batch_or_unreadable(data: bytes) -> None:
    try:
        read = read_messages(data, LIMITS)
    except Unreadable:
        return
    for member in read if isinstance(read, list) else [read]:
        _check(member)


@settings(max_examples=200, deadline=None)
@given(st.lists(BYTES, max_size=6))
def test_a_stream_of_lines_gives_lines_within_the_limit(chunks: list[bytes]) -> None:
    reader = LineReader(Limits(max_bytes=40))
    for chunk in chunks:
        for line in reader.feed(chunk):
            assert isinstance(line, Overlong) or (0 < len(line) <= 41 and b"\n" not in line)
    rest = reader.end()
    assert rest is None or len(rest) <= 41


@settings(max_examples=200, deadline=None)
@given(st.lists(BYTES, max_size=6))
def test_a_stream_of_events_gives_events_within_the_bound(chunks: list[bytes]) -> None:
    reader = SseReader(40)
    for chunk in chunks:
        for event in reader.feed(chunk):
            assert isinstance(event, SseEvent)
            assert len(event.data) <= 40
            assert not (event.overlong and event.data)
            assert event.id is None or "\0" not in event.id
