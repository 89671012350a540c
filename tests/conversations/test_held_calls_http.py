"""Held calls in front of servers over real sockets: on which stream they ask, and when that stream is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from emceepee.backends.definition import HttpEndpoint, ServerDefinition
from tests.conversations.house import House, Json, ModernClient
from tests.conversations.test_held_calls import ABLE, ACCEPT, back, refused
from tests.support.asking_server import STREAM, AskingServer, Way, event, result_of
from tests.support.fake_clock import settle
from tests.support.http_backend import Asked, HttpBackend, Reply

CALL: Json = {"name": "ask", "arguments": {}}


class Losing(AskingServer):
    """Its stream ends after the question, when the test says so; with event ids it can be resumed."""

    def __init__(self, with_ids: bool) -> None:
        super().__init__("post")
        self.ids = with_ids
        self.lose = asyncio.Event()
        self.message: Json = {}
        self.resumed: list[str] = []

    def _listened(self, asked: Asked) -> Reply:
        last = asked.headers.get("last-event-id")
        if asked.method != "GET" or last is None:
            return Reply(405)
        self.resumed.append(last)
        return Reply(200, STREAM, self._rest())

    async def _rest(self) -> AsyncIterator[bytes]:
        await self.answered
        yield b"id: e2\n" + event(result_of(self.message, self.answered))

    async def _on_its_own_stream(self, message: Json) -> AsyncIterator[bytes]:
        self.message = message
        yield (b"id: e1\n" if self.ids else b"") + event(self.ask)
        await self.lose.wait()


async def sent_away(house: House, client: ModernClient, server: AskingServer) -> Json:
    started = client.start("tools/call", CALL)
    async with asyncio.timeout(5):
        while not started.complete:
            await asyncio.sleep(0)
            await house.clock.advance(0.03 if len(house.gateway.holds) else 0)
    found: Json = started.json["result"] if not started.events else started.events[-1]["result"]
    assert found["resultType"] == "input_required"
    return found


async def until(house: House, done: Any, seconds: float = 0.0) -> None:
    async with asyncio.timeout(5):
        while not done():
            await asyncio.sleep(0.001)
            await house.clock.advance(seconds)


def house_of(url: str) -> tuple[House, ModernClient]:
    house = House({}, (ServerDefinition("far", HttpEndpoint(url)),))
    return house, house.modern_client("/servers/far/mcp", ABLE)


@pytest.mark.shows("EB-D1", "EB-D8")
@pytest.mark.parametrize("way", ["post", "get", "sse"])
async def test_a_modern_client_is_asked_on_whichever_stream_its_server_asks(way: Way) -> None:
    server = AskingServer(way)
    async with HttpBackend(server.answer) as backend:
        house, client = house_of(backend.url)
        told = await sent_away(house, client, server)
        (key,) = told["inputRequests"]
        result = await client.result("tools/call", back(told, {key: ACCEPT}, CALL))
        assert result["structuredContent"] == {"answers": [ACCEPT]}
        assert server.answers == 1
        assert server.declared == {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
        if way == "get":
            said = backend.said()
            assert said.index("GET") < said.index("tools/call")
        await house.close()


@pytest.mark.shows("EB-C20")
async def test_a_stream_that_is_lost_meanwhile_is_resumed() -> None:
    server = Losing(with_ids=True)
    async with HttpBackend(server.answer) as backend:
        house, client = house_of(backend.url)
        told = await sent_away(house, client, server)
        server.lose.set()
        await until(house, lambda: server.resumed, 0.5)
        assert server.resumed == ["e1"]
        (key,) = told["inputRequests"]
        result = await client.result("tools/call", back(told, {key: ACCEPT}, CALL))
        assert result["structuredContent"] == {"answers": [ACCEPT]}
        await house.close()


@pytest.mark.shows("EB-C21")
async def test_a_stream_that_is_lost_for_good_leaves_the_outcome_unknown() -> None:
    server = Losing(with_ids=False)
    async with HttpBackend(server.answer) as backend:
        house, client = house_of(backend.url)
        told = await sent_away(house, client, server)
        server.lose.set()
        await until(house, lambda: not len(house.gateway.holds))
        (key,) = told["inputRequests"]
        status, code, _, data = await refused(client, back(told, {key: ACCEPT}, CALL))
        assert (status, code, data["reason"]) == (200, -32603, "outcome_unknown")
        await settle()
        assert backend.said().count("tools/call") == 1
        # The person's answer went nowhere: what it led to could not be read any more.
        assert not server.answered.done() or server.answered.result() == {"action": "cancel"}
        await house.close()
