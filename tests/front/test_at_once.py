"""Calls that nobody waits for, from the client's bytes to the server's and back: each way in which one can end, over
every surface, and what goes the ordinary way instead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from emceepee.front.at_once import AtOnce
from emceepee.relay.transparent import Transparent
from tests.conversations.house import House, LegacyClient, ModernClient, response_of
from tests.conversations.test_no_circles import TOOLS, Room, called, garbage
from tests.support.fake_clock import settle
from tests.support.scripted_backend import ECHO, Answer, ScriptedBackend, Turn
from tests.support.wire_client import WireAnswer

PATHS = ("/mcp", "/direct/mcp", "/servers/files/mcp")


class Counted:
    """How many requests were offered to be served at once, and were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        begin = AtOnce.begin

        def counting(at_once: AtOnce, exchange: Any) -> bool:
            taken = begin(at_once, exchange)
            self.taken += taken
            return taken

        monkeypatch.setattr(AtOnce, "begin", counting)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
async def room(counted: Counted) -> AsyncIterator[Callable[..., Awaitable[Room]]]:
    houses: list[House] = []

    async def make(server: Any, client: str, path: str = "/servers/files/mcp") -> Room:
        tools = [ECHO | {"name": name} for name in (*TOOLS, "quiet")]
        backend = ScriptedBackend(server, {"tools/call": answered}, tools)
        house = House({"files": backend}, over_wire=True)
        houses.append(house)
        there: LegacyClient | ModernClient
        there = await house.legacy_client(path) if client == "legacy" else house.modern_client(path)
        made = Room(house, backend, path, there)
        # The first of each kind learns what the next ones need not wait for.
        await there.call("tools/list")
        for _ in range(2):
            await made.answered()
        counted.taken = 0
        return made

    yield make
    for one in houses:
        await one.close()


async def answered(turn: Turn) -> Answer:
    if turn.params["name"] == "quiet":
        await asyncio.Event().wait()
    return await called(turn)


GRID = [(server, client) for server in ("legacy", "modern") for client in ("legacy", "modern")]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("server", "client"), GRID)
async def test_a_plain_call_is_answered_in_the_turn_of_its_answer(
    room: Callable[..., Awaitable[Room]], counted: Counted, server: str, client: str, path: str
) -> None:
    there = await room(server, client, path)
    response = await there.client.call("tools/call", there.params("echo"))
    assert response["result"]["content"][0] == {"type": "text", "text": "here"}
    assert counted.taken == 1
    assert there.house.gateway.load()["calls"] == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("server", "client"), GRID)
async def test_errors_are_answered_as_they_are_in_the_ordinary_way(
    room: Callable[..., Awaitable[Room]], counted: Counted, server: str, client: str, path: str
) -> None:
    there = await room(server, client, path)
    said = [await there.client.call("tools/call", there.params(tool)) for tool in ("refused", "rubbish")]
    assert counted.taken == 2
    for one in said:
        one.pop("id")
    ordinary = House({"files": there.backend})
    try:
        client_there = await ordinary.legacy_client(path) if client == "legacy" else ordinary.modern_client(path)
        await client_there.call("tools/call", there.params("echo"))
        for one, tool in zip(said, ("refused", "rubbish"), strict=True):
            again = await client_there.call("tools/call", there.params(tool))
            again.pop("id")
            assert again == one
    finally:
        await ordinary.close()


@pytest.mark.parametrize("client", ["legacy", "modern"])
@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_progress_makes_a_stream_of_the_answer(
    room: Callable[..., Awaitable[Room]], counted: Counted, server: str, client: str
) -> None:
    there = await room(server, client)
    answer = await there._begun()
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.events[0]["params"]["progressToken"] == "t"
    assert counted.taken == 1
    await there.house.clock.advance(601)
    await answer.done()
    assert response_of(answer)["error"]["data"]["reason"] == "backend_timeout"


async def test_silence_is_broken_with_a_comment_and_the_answer_still_comes(
    room: Callable[..., Awaitable[Room]], counted: Counted
) -> None:
    there = await room("legacy", "legacy")
    go = asyncio.Event()

    async def late(turn: Any) -> Any:
        await go.wait()
        return {"content": []}

    there.backend.answers["tools/call"] = late
    answer = there.client.start("tools/call", {"name": "echo", "arguments": {}})
    await settle(30)
    await there.house.clock.advance(14)
    assert (answer.status, counted.taken) == (0, 1)
    await there.house.clock.advance(2)
    await settle(10)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    go.set()
    await answer.done()
    assert response_of(answer)["result"] == {"content": []}


@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_a_modern_client_that_leaves_has_cancelled_and_a_legacy_one_has_not(
    room: Callable[..., Awaitable[Room]], counted: Counted, server: str
) -> None:
    for client, cancelled in (("modern", 1), ("legacy", 0)):
        there = await room(server, client)
        started = there.client.start("tools/call", {"name": "quiet", "arguments": {}})
        await settle(30)
        started.leave()
        await settle(50)
        assert len(there.backend.cancelled) == cancelled
        assert there.house.gateway.load()["calls"] == 1 - cancelled


@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_a_legacy_client_cancels_by_its_own_word_and_its_next_request_is_served(
    room: Callable[..., Awaitable[Room]], counted: Counted, server: str
) -> None:
    there = await room(server, "legacy")
    await there.cancelled()
    await settle(30)
    assert len(there.backend.cancelled) == 1
    assert there.house.gateway.load()["calls"] == 0
    await there.answered()


@pytest.mark.parametrize("client", ["legacy", "modern"])
async def test_what_was_begun_before_a_stop_and_lasts_too_long_is_told_so(
    room: Callable[..., Awaitable[Room]], client: str
) -> None:
    there = await room("legacy", client)
    answer = there.client.start("tools/call", {"name": "quiet", "arguments": {}})
    assert isinstance(answer, WireAnswer)
    await settle(30)
    there.house.gateway.front.drain()
    connections = there.client.http.connections  # type: ignore[attr-defined]
    connections.drain()
    connections.cut_off()
    await answer.done()
    assert answer.status == 503
    await settle(50)
    assert len(there.backend.cancelled) == 1


async def test_a_server_that_is_gone_is_reached_again_where_nothing_was_asked(
    room: Callable[..., Awaitable[Room]], counted: Counted
) -> None:
    there = await room("legacy", "legacy")
    there.backend.exit()
    await settle(50)
    response = await there.client.call("tools/call", {"name": "echo", "arguments": {}})
    assert response["result"]["content"][0]["text"] == "here"


async def test_one_that_dies_on_the_way_leaves_the_outcome_unknown(room: Callable[..., Awaitable[Room]]) -> None:
    there = await room("legacy", "legacy")
    answer = there.client.start("tools/call", {"name": "quiet", "arguments": {}})
    await settle(30)
    there.backend.exit()
    await answer.done()
    assert response_of(answer)["error"]["data"]["reason"] == "outcome_unknown"


async def test_requests_in_one_chunk_are_answered_in_their_order(room: Callable[..., Awaitable[Room]]) -> None:
    there = await room("legacy", "legacy")
    first = there.client.start("tools/call", {"name": "quiet", "arguments": {}})
    assert isinstance(first, WireAnswer)
    await settle(30)
    line = first.line
    sent = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{}}}'
    head = f"POST {there.path} HTTP/1.1\r\nhost: 127.0.0.1:8000\r\n"
    for name, value in (
        *there.client.headers.items(),  # type: ignore[union-attr]
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ):
        head += f"{name}: {value}\r\n"
    written: list[bytes] = []
    line.write = written.append  # type: ignore[method-assign, assignment]
    whole = b"".join(
        head.encode() + b"content-length: %d\r\n\r\n%b" % (len(body), body) for body in (sent % 901, sent % 902)
    )
    line.connection.data_received(whole)
    await settle(30)
    assert written == [], "the one before is not answered yet"
    await there.client.tell("notifications/cancelled", {"requestId": 4})  # type: ignore[union-attr]
    await settle(60)
    text = b"".join(written)
    assert 0 < text.find(b'"id":901') < text.find(b'"id":902')


@pytest.mark.parametrize("capabilities", [{"elicitation": {}}, {"sampling": {}}, {"roots": {}}])
async def test_a_client_that_can_be_asked_goes_the_ordinary_way(
    room: Callable[..., Awaitable[Room]], counted: Counted, capabilities: dict[str, Any]
) -> None:
    there = await room("legacy", "legacy")
    client = await there.house.legacy_client(there.path, capabilities=capabilities)
    for _ in range(3):
        assert "result" in await client.call("tools/call", {"name": "echo", "arguments": {}})
    assert counted.taken == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("client", ["legacy", "modern"])
@pytest.mark.parametrize("server", ["legacy", "modern"])
@pytest.mark.parametrize("ending", ["answered", "refused", "failed", "left", "cancelled", "timed_out"])
async def test_a_call_at_once_leaves_nothing_to_the_collector(
    room: Callable[..., Awaitable[Room]], ending: str, server: str, client: str, path: str
) -> None:
    there = await room(server, client, path)
    assert await garbage(getattr(there, ending), there) == {}


@pytest.mark.parametrize("client", ["legacy", "modern"])
async def test_a_fault_of_our_own_is_answered_and_nothing_is_asked_twice(
    room: Callable[..., Awaitable[Room]], monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    there = await room("legacy", client)
    begin = Transparent.begin

    def broken(self: Transparent, *args: Any) -> Any:
        begin(self, *args)
        raise RuntimeError("not for the client")

    monkeypatch.setattr(Transparent, "begin", broken)
    asked = len(there.backend.params("tools/call"))
    response = await there.client.call("tools/call", {"name": "quiet", "arguments": {}})
    assert response["error"] == {"code": -32603, "message": "Internal error"}
    assert len(there.backend.params("tools/call")) == asked + 1
    monkeypatch.undo()
    await there.answered()
