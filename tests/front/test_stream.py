"""One event stream: opens with its first event, kept alive while silent, ended once."""

from __future__ import annotations

import asyncio

import pytest

from emceepee.front.exchange import Header
from emceepee.front.settings import FrontSettings
from emceepee.front.stream import EventStream
from emceepee.runtime.spawn import TaskScope
from tests.support.fake_clock import FakeClock, settle


class FakeExchange:
    """Implements what a stream needs of `Exchange`; `reading` says whether the client takes anything."""

    method, path, headers = "GET", "/mcp", []

    def __init__(self) -> None:
        self.head: list[Header] | None = None
        self.body = b""
        self.ended = False
        self.reading = asyncio.Event()
        self.reading.set()

    async def read_body(self, limit: int, seconds: float) -> bytes:
        return b""

    async def answer(self, status: int, headers: list[Header], body: bytes) -> None:
        raise AssertionError

    async def start(self, status: int, headers: list[Header]) -> None:
        assert self.head is None
        self.head = headers

    async def write(self, chunk: bytes) -> None:
        await self.reading.wait()
        self.body += chunk

    async def end(self) -> None:
        self.ended = True

    async def gone(self) -> None:
        await asyncio.Event().wait()


class Streaming:
    def __init__(self, **settings: float) -> None:
        self.exchange, self.clock, self.tasks = FakeExchange(), FakeClock(), TaskScope("test")
        self.stream = EventStream(
            self.exchange,
            self.tasks,
            self.clock,
            FrontSettings(**settings),
            [(b"x", b"y")],  # type: ignore[arg-type]
        )


async def test_nothing_is_sent_before_the_first_event_and_then_the_head_once() -> None:
    streaming = Streaming()
    await settle()
    assert streaming.exchange.head is None
    streaming.stream.notice(b'{"a":1}', None)
    streaming.stream.answer(b'{"b":2}')
    streaming.stream.end()
    await streaming.stream.finished()
    assert dict(streaming.exchange.head or [])[b"content-type"] == b"text/event-stream"
    assert dict(streaming.exchange.head or [])[b"x"] == b"y"
    assert streaming.exchange.body == b'data: {"a":1}\n\ndata: {"b":2}\n\n'
    assert streaming.exchange.ended
    assert (streaming.clock.waiting, streaming.stream.ended) == (0, True)


async def test_a_stream_that_ends_without_an_event_still_has_a_head() -> None:
    streaming = Streaming()
    streaming.stream.end()
    streaming.stream.end()
    await streaming.stream.finished()
    assert streaming.exchange.head is not None
    assert streaming.exchange.ended


async def test_an_idle_open_stream_costs_no_task_and_one_timer() -> None:
    streaming = Streaming()
    streaming.stream.open()
    await settle()
    assert (len(streaming.tasks), streaming.clock.waiting) == (0, 1)
    streaming.stream.client_left()
    assert streaming.clock.waiting == 0


async def test_keep_alives_are_not_piled_up_behind_a_client_that_does_not_read() -> None:
    streaming = Streaming()
    streaming.exchange.reading.clear()
    streaming.stream.notice(b"{}", None)
    await streaming.clock.advance(600.0)
    assert streaming.stream.waiting == 0
    streaming.exchange.reading.set()
    await settle()
    assert streaming.exchange.body == b"data: {}\n\n"
    await streaming.clock.advance(15.0)
    assert streaming.exchange.body.endswith(b": keep-alive\n\n")
    streaming.stream.client_left()


async def test_a_client_that_never_takes_its_last_bytes_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    streaming = Streaming(stalled_after=0.01)
    streaming.exchange.reading.clear()
    streaming.stream.answer(b"{}")
    streaming.stream.end()
    await streaming.stream.finished()
    await settle()
    assert len(streaming.tasks) == 0
    assert [record.message for record in caplog.records] == ["client_does_not_read"]
