"""A legacy client that is asked in the middle of its calls, over HTTP or pipes: what came on which stream, and its
answers.

    asked = await http_client(house, "/servers/shop/mcp", elicitation={})
    call = asked.call("paint")
    ask = await asked.next_ask(call)
    await asked.reply(ask, {"action": "accept"})

The one rule: it answers nothing by itself.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

from emceepee.front.stdio import StdioFront
from tests.conversations.house import House, Json, LegacyClient, response_of
from tests.support.asgi_client import AsgiAnswer
from tests.support.fake_clock import settle

ASK_METHODS = ("elicitation/create", "sampling/createMessage", "roots/list")


def asks_among(messages: list[Json]) -> list[Json]:
    return [one for one in messages if one.get("method") in ASK_METHODS]


class HttpAsked:
    def __init__(self, client: LegacyClient) -> None:
        self.client = client
        self._seen: set[str] = set()

    def call(self, tool: str = "paint", request_id: int | str | None = None, **more: Any) -> AsgiAnswer:
        return self.client.start("tools/call", {"name": tool, "arguments": {}} | more, request_id)

    def asks(self, answer: AsgiAnswer) -> list[Json]:
        return asks_among(answer.events)

    async def next_ask(self, answer: AsgiAnswer) -> Json:
        """The next one that was not taken yet, on that stream."""
        await answer.until(lambda: any(one["id"] not in self._seen for one in self.asks(answer)))
        ask = next(one for one in self.asks(answer) if one["id"] not in self._seen)
        self._seen.add(ask["id"])
        return ask

    def unanswered(self, answer: AsgiAnswer) -> list[Json]:
        """Those on that stream that were not taken yet; taken now."""
        left = [one for one in self.asks(answer) if one["id"] not in self._seen]
        self._seen.update(one["id"] for one in left)
        return left

    async def reply(self, ask: Json, result: Json) -> None:
        answer = await self.client.post({"id": ask["id"], "result": result}).done()
        assert answer.status == 202

    async def refuse(self, ask: Json, code: int = -1, message: str = "User rejected sampling") -> None:
        answer = await self.client.post({"id": ask["id"], "error": {"code": code, "message": message}}).done()
        assert answer.status == 202

    async def result(self, answer: AsgiAnswer) -> Json:
        response = response_of(await answer.done())
        assert "result" in response, response
        found: Json = response["result"]
        return found


async def http_client(house: House, path: str, revision: str = "2025-11-25", **capabilities: Any) -> HttpAsked:
    return HttpAsked(await house.legacy_client(path, revision, capabilities=capabilities))


class PipeClient:
    """A client on pipes. `said` is everything that it was written."""

    def __init__(self, house: House, path: str) -> None:
        self.house = house
        self.said: list[Json] = []
        self.ids = itertools.count(1)
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._taken = 0
        gateway = house.gateway
        surface = gateway.surface(path)
        assert surface is not None
        self.front = StdioFront(gateway.shop, gateway.directory, surface, self._input.get, self._write)
        self._running = asyncio.ensure_future(self.front.run())

    async def _write(self, data: bytes) -> None:
        self.said += [json.loads(line) for line in data.splitlines()]

    async def say(self, **message: Any) -> None:
        self._input.put_nowait(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        await settle(60)

    async def hello(self, revision: str = "2025-11-25", ready: bool = True, **capabilities: Any) -> None:
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "p", "version": "1"},
        }
        await self.say(id="hello", method="initialize", params=params)
        await self.response("hello")
        if ready:
            await self.say(method="notifications/initialized")

    async def start(self, tool: str, **arguments: Any) -> int:
        used = next(self.ids)
        await self.say(id=used, method="tools/call", params={"name": tool, "arguments": arguments})
        return used

    @property
    def asks(self) -> list[Json]:
        return asks_among(self.said)

    async def until(self, ready: Any) -> None:
        async with asyncio.timeout(30):
            while not ready():
                await settle(5)

    async def next_ask(self) -> Json:
        await self.until(lambda: len(self.asks) > self._taken)
        self._taken += 1
        return self.asks[self._taken - 1]

    async def response(self, request_id: Any) -> Json:
        def found() -> list[Json]:
            return [one for one in self.said if one.get("id") == request_id and "method" not in one]

        await self.until(found)
        return found()[0]

    async def close(self) -> None:
        self._input.put_nowait(b"")
        async with asyncio.timeout(30):
            await self._running
