"""The standalone stream: what comes unasked, and how it is kept open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emceepee.backends.http_answers import SessionGone
from emceepee.backends.streamable_http import HttpTransport
from emceepee.backends.transport import GET
from emceepee.protocol.messages import Notification, Request
from tests.support.fake_clock import settle
from tests.support.http_stage import ASK, CALL, DONE, TOLD, Stage, event
from tests.support.raw_server import WAIT, Script, Wire, raw_server


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    one = Stage()
    yield one
    async with asyncio.timeout(WAIT):
        await one.close()


async def asleep(transport: HttpTransport) -> None:
    """Until the stream has ended and waits to come back."""
    async with asyncio.timeout(WAIT):
        while transport._streams:  # noqa: ASYNC110 - who backs off tells nobody
            await asyncio.sleep(0)
    await settle()


async def opened(first: asyncio.Future[bool]) -> bool:
    async with asyncio.timeout(WAIT):
        return await first


def refusing(status: str) -> Script:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.answer(b"", status)

    return script


async def test_what_comes_unasked_is_handed_over_as_that(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(event(TOLD) + event(ASK))
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        assert await opened(transport.open_get_stream())
        assert isinstance(await stage.inbox.next(), Notification)
        assert isinstance(await stage.inbox.next(), Request)
        assert stage.origins == [GET, GET]
        assert server.requests[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("status", ["405 Method Not Allowed", "404 Not Found", "400 Bad Request", "401 Unauthorized"])
async def test_a_server_without_it_is_not_asked_again(stage: Stage, status: str) -> None:
    async with raw_server(refusing(status)) as server:
        transport = await stage.to(server.url)
        assert not await opened(transport.open_get_stream())
        await stage.clock.advance(600)
        assert len(server.requests) == 1
        assert stage.inbox.faults == []
        assert len(transport._scope) == 0


async def test_an_outage_is_waited_out_longer_each_time(stage: Stage) -> None:
    async with raw_server(refusing("503 Service Unavailable")) as server:
        transport = await stage.to(server.url)
        assert not await opened(transport.open_get_stream())
        for pause, times in ((1, 2), (2, 3), (4, 4)):
            await stage.clock.advance(pause - 0.5)
            assert len(server.requests) == times - 1
            await stage.clock.advance(0.6)
            await server.until(lambda times=times: len(server.requests) == times)  # type: ignore[misc]
            await asleep(transport)


async def test_a_dropped_stream_is_opened_again_where_it_was(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(event(TOLD, f"e{wire.number}"))
        if wire.number > 1:
            await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        transport.open_get_stream()
        await stage.inbox.next()
        await asleep(transport)
        await stage.clock.advance(1.1)
        await stage.inbox.next()
        assert server.requests[1].headers["last-event-id"] == "e1"
        assert stage.origins == [GET, GET]


async def test_the_servers_own_pause_is_kept_within_reason(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.chunk(b"retry: 999999999\n\n" if wire.number == 1 else event(TOLD))
        if wire.number > 1:
            await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url, retry_seconds_at_most=5)
        transport.open_get_stream()
        await server.until(lambda: len(server.requests) == 1)
        await asleep(transport)
        await stage.clock.advance(4.9)
        assert server.connections == 1
        await stage.clock.advance(0.2)
        await stage.inbox.next()


async def test_a_server_that_wishes_no_pause_and_says_nothing_gets_one(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        if wire.number == 1:
            await wire.chunk(b"retry: 0\n\n")
        await wire.end_stream()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        transport.open_get_stream()
        for _ in range(60):
            await stage.clock.advance(0.1)
            await asleep(transport)
        assert 3 <= len(server.requests) <= 5


async def test_a_session_that_is_gone_ends_the_connection(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        while True:
            asked = await wire.request()
            if asked.method == "POST":
                await wire.answer(DONE, mcp_session_id="s-1")
            elif len(wire.server.requests) == 2:
                await wire.open_stream()
                await wire.chunk(event(TOLD))
                return
            else:
                await wire.answer(b"", "404 Not Found")

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        await transport.send(CALL, "g1")
        transport.open_get_stream()
        await stage.inbox.next()
        await stage.inbox.next()
        await asleep(transport)
        await stage.clock.advance(2)
        assert isinstance(await stage.inbox.fault(), SessionGone)
        assert server.requests[2].headers["mcp-session-id"] == "s-1"


async def test_a_forgotten_session_takes_its_stream_with_it(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        assert await opened(transport.open_get_stream())
        transport.forget_session()
        await server.until_closed()
        assert await opened(transport.open_get_stream())
        assert len(server.open) == 1


async def test_opening_it_again_leaves_one(stage: Stage) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.open_stream()
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        first = transport.open_get_stream()
        second = transport.open_get_stream()
        assert await opened(second)
        assert not await opened(first)
        await server.until(lambda: len(server.open) == 1)


async def test_a_server_that_is_slow_to_say_yes_is_still_waited_for(stage: Stage) -> None:
    """Some send the head with the first event only."""
    go = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await go.wait()
        await wire.open_stream()
        await wire.chunk(event(TOLD))
        await wire.hung_up()

    async with raw_server(script) as server:
        transport = await stage.to(server.url)
        first = transport.open_get_stream()
        await server.until(lambda: len(server.requests) == 1)
        assert not first.done()
        go.set()
        assert await opened(first)
        await stage.inbox.next()
