"""Events to messages, with their origin, and a GET from its head to its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.http_connection import HttpFault
from emceepee.backends.http_streams import EventIntake, EventStream, same_id
from emceepee.backends.transport import GET, Origin
from emceepee.framing.json_text import Limits
from emceepee.protocol.messages import Failure, Notification, Request, Result
from tests.support.inbox import RecordingInbox

RESULT = b'{"jsonrpc":"2.0","id":"g1","result":{"text":"gr\xc3\xbc\xc3\x9fe"}}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}'


def event(data: bytes, more: bytes = b"") -> bytes:
    return more + b"data: " + data + b"\n\n"


def intake(origin: Origin = GET, **limits: int) -> tuple[EventIntake, RecordingInbox]:
    inbox = RecordingInbox()
    return EventIntake(inbox, origin, Limits(**limits)), inbox


@given(st.lists(st.integers(1, 20), max_size=60))
def test_however_a_stream_is_cut_the_same_messages_come(cuts: list[int]) -> None:
    stream = b"\xef\xbb\xbf: hello\r\n\r\n" + event(NOTE, b"id: 7\r\nevent: message\r\n") + event(RESULT)
    taking, inbox = intake(Origin("post", "g1"))
    for cut in cuts:
        taking.feed(stream[:cut])
        stream = stream[cut:]
    taking.feed(stream)
    assert [type(message) for message, _ in inbox.messages] == [Notification, Result]
    assert all(origin == Origin("post", "g1") for _, origin in inbox.messages)
    assert (taking.answered, taking.last_id, inbox.rubbish_heard) == (True, "7", [])


@pytest.mark.parametrize("other", [b'"g2"', b"1", b'"G1"', b"null"])
def test_the_answer_to_another_request_is_not_this_ones(other: bytes) -> None:
    taking, inbox = intake(Origin("post", "g1"))
    taking.feed(event(b'{"jsonrpc":"2.0","id":%b,"error":{"code":1,"message":"x"}}' % other))
    assert not taking.answered
    assert len(inbox.messages) == 1


def test_ids_are_compared_by_type_and_value() -> None:
    assert same_id("1", "1")
    assert not same_id(1, "1")
    assert not same_id(None, None)


def test_a_server_asking_with_our_id_is_no_answer() -> None:
    taking, inbox = intake(Origin("post", "g1"))
    taking.feed(event(b'{"jsonrpc":"2.0","id":"g1","method":"ping"}'))
    assert not taking.answered
    assert isinstance(inbox.messages[0][0], Request)


def test_rubbish_in_an_event_is_told_and_the_stream_goes_on() -> None:
    taking, inbox = intake()
    taking.feed(event(b"{") + event(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}') + event(NOTE))
    assert len(inbox.rubbish_heard) == 2
    assert len(inbox.messages) == 1


def test_an_event_that_is_too_large_is_told_and_the_stream_goes_on() -> None:
    taking, inbox = intake(max_bytes=100)
    taking.feed(event(b"x" * 200) + event(NOTE))
    assert taking.overlong
    assert inbox.rubbish_heard == ["an event larger than 100 bytes"]
    assert len(inbox.messages) == 1


def test_a_batch_is_handed_over_one_by_one() -> None:
    taking, inbox = intake(Origin("post", "g1"))
    taking.feed(event(b"[" + NOTE + b',{"x":1},' + RESULT + b"]"))
    assert [type(message) for message, _ in inbox.messages] == [Notification, Result]
    assert len(inbox.rubbish_heard) == 1
    assert taking.answered


def test_priming_and_other_events_are_no_messages() -> None:
    taking, inbox = intake()
    taking.feed(b"id: 1\nretry: 250\ndata:\n\nevent: other\ndata: x\n\n: comment\n\n")
    assert (inbox.messages, inbox.rubbish_heard) == ([], [])
    assert (taking.last_id, taking.retry, taking.heard) == ("1", 250, 2)


def test_a_new_stream_forgets_half_an_event_and_keeps_the_position() -> None:
    taking, inbox = intake(Origin("post", "g1"))
    taking.feed(b"id: 4\ndata:\n\ndata: {half")
    taking.again(Origin("resume", "g1"))
    taking.feed(event(RESULT))
    assert taking.last_id == "4"
    assert inbox.messages[0][1] == Origin("resume", "g1")
    assert inbox.rubbish_heard == []


def test_an_empty_id_means_that_there_is_no_position() -> None:
    taking, _ = intake()
    taking.feed(b"id: 4\ndata:\n\nid:\ndata:\n\n")
    assert taking.last_id is None


async def test_a_stream_opens_and_ends() -> None:
    stream = EventStream(intake()[0])
    stream.on_head(200, {b"content-type": b"text/event-stream"})
    assert stream.opened.result() is True
    stream.on_data(event(NOTE))
    stream.on_end()
    assert (stream.ended.result().how, stream.ended.result().status) == ("ended", 200)


async def test_anything_else_is_a_refusal_with_its_body() -> None:
    stream = EventStream(intake()[0])
    stream.on_head(405, {})
    stream.on_data(b"no")
    stream.on_fault(HttpFault("truncated", "x"))
    ending = stream.ended.result()
    assert stream.opened.result() is False
    assert (ending.how, ending.status, ending.body) == ("refused", 405, b"no")


async def test_a_refusal_that_does_not_end_is_cut_off() -> None:
    stream = EventStream(intake()[0])
    stream.on_head(200, {b"content-type": b"text/html"})
    stream.on_data(b"x" * 100_000)
    assert stream.ended.result().how == "refused"
    assert len(stream.ended.result().body) < 20_000


async def test_an_abandoned_stream_has_ended_for_whoever_waits() -> None:
    stream = EventStream(intake()[0])
    stream.abandon()
    assert stream.opened.result() is False
    assert stream.ended.result().status == 0


def test_an_answer_that_cannot_be_read_ends_its_request_all_the_same() -> None:
    taking, inbox = intake(Origin("post", "g1"))
    taking.feed(event(b'{"jsonrpc":"2.0","id":"g1","result":{},"error":{"code":1,"message":"m"}}'))
    assert taking.answered
    assert [type(message) for message, _ in inbox.messages] == [Failure]
    assert len(inbox.rubbish_heard) == 1
