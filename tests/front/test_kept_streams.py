"""All kept streams: found by id in their own session only, and bounded three times."""

from __future__ import annotations

import pytest

from emceepee.front.kept_stream import KeptStream
from emceepee.front.kept_streams import KeptStreams, SessionStreams, TooOld
from emceepee.front.settings import FrontSettings
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session
from emceepee.vocabulary.calls import Caller
from tests.support.fake_clock import FakeClock

CLOCK = FakeClock()


def everybody(clock: FakeClock = CLOCK, **bounds: int) -> KeptStreams:
    return KeptStreams(FrontSettings(**bounds), clock)  # type: ignore[arg-type]


def of(kept: KeptStreams, name: str = "slot.one") -> SessionStreams:
    return kept.of(Session("/mcp", Caller(name), "2025-11-25", InFlight(4), 0.0))


def opened(streams: SessionStreams) -> KeptStream:
    stream = streams.open()
    assert stream is not None
    return stream


def answered(streams: SessionStreams, size: int = 10) -> KeptStream:
    stream = opened(streams)
    stream.answer(b"a" * size)
    stream.end()
    return stream


@pytest.mark.shows("A-SSE-06")
def test_an_id_leads_to_its_own_stream_and_never_out_of_its_session() -> None:
    kept = everybody()
    one, other = of(kept), of(kept, "slot.other")
    first, second = opened(one), opened(one)
    opened(other).notice(b"secret", None)
    first.notice(b"1", None)
    second.notice(b"2", None)
    assert one.find(first.event_id(1)) == (first, 1)
    assert one.find(second.event_id(0)) == (second, 0)
    assert one.find(f"{other.tag}.1.0") is None


@pytest.mark.parametrize(
    "unknown", ["x", "1", "..", "TAG.9.0", "TAG.1.9", "TAG.-1.0", "TAG.1.²", "TAG.1." + "9" * 99, "TAG.1.1.1"]
)
def test_what_is_no_id_of_ours_is_not_found(unknown: str) -> None:
    streams = of(everybody())
    opened(streams).notice(b"1", None)
    assert streams.find(unknown.replace("TAG", streams.tag)) is None


def test_a_session_without_streams_has_none_and_with_one_always_the_same() -> None:
    kept = everybody()
    session = Session("/mcp", Caller("s.1"), "2025-11-25", InFlight(4), 0.0)
    assert session.streams is None
    assert kept.of(session) is kept.of(session) is session.streams
    assert kept.of(session).standing() is kept.of(session).standing()


def test_a_stream_keeps_so_many_messages_and_the_oldest_goes() -> None:
    stream = opened(of(everybody(max_kept_messages=3)))
    for number in range(5):
        stream.notice(b"%d" % number, None)
    assert (len(stream), stream.dropped, stream.after(0)[0]) == (3, 2, (3, b"2"))


def test_a_session_keeps_so_many_bytes_what_is_over_goes_first_and_then_the_largest() -> None:
    kept = everybody(max_kept_bytes=100)
    streams = of(kept)
    over, running = answered(streams, 30), opened(streams)
    for _ in range(8):
        running.notice(b"x" * 10, None)
    with pytest.raises(TooOld):
        streams.find(over.event_id(0))
    for _ in range(4):
        running.notice(b"x" * 10, None)
    another = opened(streams)
    another.notice(b"y" * 10, None)
    assert (streams.bytes, len(another), len(running)) == (100, 1, 9)
    another.answer(b"z" * 1000)
    assert another.after(0) == [(2, b"z" * 1000)]


def test_a_session_keeps_so_many_streams_and_without_room_a_new_one_is_not_kept() -> None:
    kept = everybody(max_kept_streams=2)
    streams = of(kept)
    first, running = answered(streams), opened(streams)
    assert streams.find(first.event_id(0)) == (first, 0)
    assert opened(streams).number == 3
    opened(streams)
    with pytest.raises(TooOld):
        streams.find(first.event_id(0))
    assert streams.open() is None
    assert streams.find(running.event_id(0)) == (running, 0)


def test_the_process_keeps_so_many_bytes_and_the_first_that_ended_anywhere_goes() -> None:
    kept = everybody(max_kept_total=100)
    one, other = of(kept), of(kept, "slot.other")
    first, second = answered(one, 40), answered(other, 40)
    third = answered(one, 40)
    with pytest.raises(TooOld):
        one.find(first.event_id(0))
    assert other.find(second.event_id(0)) == (second, 0)
    running = opened(other)
    for _ in range(30):
        running.notice(b"x" * 10, None)
    assert kept.bytes == 100
    for stream, streams in ((second, other), (third, one)):
        with pytest.raises(TooOld):
            streams.find(stream.event_id(0))


def test_an_answer_larger_than_the_process_may_keep_is_not_kept() -> None:
    kept = everybody(max_kept_total=100)
    streams = of(kept)
    stream = answered(streams, 500)
    with pytest.raises(TooOld):
        streams.find(stream.event_id(0))
    assert kept.bytes == 0


async def test_what_ended_long_ago_is_forgotten_when_the_next_begins() -> None:
    clock = FakeClock()
    kept = everybody(clock)
    streams = of(kept)
    answered(streams)
    await clock.advance(299.0)
    opened(streams)
    assert kept.bytes == 10
    await clock.advance(2.0)
    opened(of(kept, "slot.other"))
    assert kept.bytes == 0


def test_a_session_that_ends_leaves_nothing() -> None:
    kept = everybody()
    streams = of(kept)
    answered(streams)
    running = opened(streams)
    running.notice(b"x", None)
    streams.standing().notice(b"y", None)
    streams.close()
    assert (kept.bytes, running.ended) == (0, True)
    running.notice(b"late", None)
    streams.close()
    assert kept.bytes == 0
