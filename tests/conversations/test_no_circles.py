"""What a call leaves is freed by its references, at once, however it ended: nothing waits for the garbage collector,
which a serving gateway runs seldom. The rule of the test: the same ending several times, and then not one object that
only the collector can free.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from tests.conversations.house import House, Json, LegacyClient, ModernClient
from tests.support.fake_clock import settle
from tests.support.scripted_backend import ECHO, Answer, Fail, ScriptedBackend, Turn

TIMES = 5
PATHS = ("/mcp", "/direct/mcp", "/servers/files/mcp")

Client: TypeAlias = LegacyClient | ModernClient


async def called(turn: Turn) -> Answer:
    match turn.params["name"]:
        case "echo":
            return {"content": [{"type": "text", "text": "here"}]}
        case "refused":
            return Fail(-32602, "not like this")
        case "rubbish":
            turn.say(b'{"jsonrpc":"2.0","id":"' + str(turn.id).encode() + b'","result":7}')
            return "silent"
    turn.progress(1)
    await asyncio.Event().wait()
    return "silent"


class Room:
    """One client in front of one server, and the ways in which its calls end."""

    def __init__(self, house: House, backend: ScriptedBackend, path: str, client: Client) -> None:
        self.house = house
        self.backend = backend
        self.path = path
        self.client = client

    def params(self, tool: str, **more: Any) -> Json:
        token = {"_meta": {"progressToken": "t"}}
        if self.path == "/mcp":
            asked = {"server": "files", "tool": tool, "arguments": {}} | more
            return {"name": "execute_tool", "arguments": asked} | token
        return {"name": f"files__{tool}" if self.path == "/direct/mcp" else tool, "arguments": {}} | token

    async def answered(self, tool: str = "echo") -> None:
        await self.client.start("tools/call", self.params(tool)).done()

    async def refused(self) -> None:
        await self.answered("refused")

    async def failed(self) -> None:
        await self.answered("rubbish")

    async def left(self) -> None:
        """What goes on without its client is over when its time is."""
        answer = await self._begun()
        answer.leave()
        await self.house.clock.advance(601)
        await answer.done()

    async def cancelled(self) -> None:
        if isinstance(self.client, ModernClient):
            # Over modern HTTP whoever cancels hangs up.
            await self.left()
            return
        answer = await self._begun(request_id="mine")
        await self.client.tell("notifications/cancelled", {"requestId": "mine"})
        await answer.done()

    async def timed_out(self) -> None:
        """On `/mcp` the call goes on as a task, whose own time is over after that; elsewhere it is called off."""
        meta = self.path == "/mcp"
        answer = await self._begun(**({"timeout_ms": 1_000, "task_ttl_ms": 1_000} if meta else {}))
        await self.house.clock.advance(3 if meta else 601)
        await answer.done()

    async def lost(self) -> None:
        """On `/mcp` the call is a task by then."""
        answer = await self._begun(**({"timeout_ms": 1_000} if self.path == "/mcp" else {}))
        await self.house.clock.advance(2)
        self.backend.exit()
        await answer.done()

    async def _begun(self, request_id: str | None = None, **more: int) -> Any:
        params = self.params("slow", **more)
        more_meta = {"meta": params["_meta"]} if isinstance(self.client, ModernClient) else {}
        answer = self.client.start("tools/call", params, request_id, **more_meta)
        return await answer.until(lambda: b'"progress"' in answer.body)

    async def forget(self) -> None:
        """What the test itself has kept."""
        await settle(30)
        self.house.forget_clients()
        self.client.http.forget_ended()
        self.backend.received.clear()
        self.backend.cancelled.clear()


@pytest.fixture
async def house() -> AsyncIterator[Callable[..., Awaitable[Room]]]:
    houses: list[House] = []

    async def make(server: Any, client: str, path: str) -> Room:
        backend = ScriptedBackend(server, {"tools/call": called}, [ECHO | {"name": name} for name in TOOLS])
        house = House({"files": backend})
        houses.append(house)
        there = await house.legacy_client(path) if client == "legacy" else house.modern_client(path)
        return Room(house, backend, path, there)

    yield make
    for one in houses:
        await one.close()


TOOLS = ("echo", "refused", "rubbish", "slow")


async def garbage(ending: Callable[[], Awaitable[None]], room: Room) -> Counter[str]:
    """By type, what the collector alone could free after the same ending several times."""
    await ending()
    await room.forget()
    gc.collect()
    gc.disable()
    try:
        for _ in range(TIMES):
            await ending()
        await room.forget()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return Counter(type(one).__qualname__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("client", ["legacy", "modern"])
@pytest.mark.parametrize("server", ["legacy", "modern"])
@pytest.mark.parametrize("ending", ["answered", "refused", "failed", "left", "cancelled", "timed_out"])
async def test_a_call_leaves_nothing_to_the_collector(
    house: Callable[..., Awaitable[Room]], ending: str, server: str, client: str, path: str
) -> None:
    room = await house(server, client, path)
    assert await garbage(getattr(room, ending), room) == {}


OF_CALLS = {"Job", "Asked", "Task", "frame", "traceback", "EventStream", "Outbox", "Conversation", "LegacyLink"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_nor_does_one_whose_connection_is_lost(
    house: Callable[..., Awaitable[Room]], server: str, path: str
) -> None:
    """The scripted server and its channel know each other, so only what is ours is looked for."""
    room = await house(server, "legacy", path)
    left = await garbage(room.lost, room)
    assert not OF_CALLS & left.keys(), left


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_nor_does_a_session(house: Callable[..., Awaitable[Room]], server: str, path: str) -> None:
    room = await house(server, "legacy", path)

    async def come_and_go() -> None:
        client = await room.house.legacy_client(path)
        await client.result("tools/call", room.params("echo"))
        stream = await client.get()
        assert (await client.delete()).status == 204
        await stream.done()
        await settle(50)
        client.http.forget_ended()

    left = await garbage(come_and_go, room)
    assert not (OF_CALLS | {"Workspace", "Session", "Standing", "Connection"}) & left.keys(), left


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("server", ["legacy", "modern"])
async def test_nor_does_a_listener(house: Callable[..., Awaitable[Room]], server: str, path: str) -> None:
    room = await house(server, "modern", path)
    assert isinstance(room.client, ModernClient)
    client = room.client

    async def listen() -> None:
        stream = await client.listen(toolsListChanged=True)
        stream.leave()
        await stream.done()

    assert await garbage(listen, room) == {}
