"""The load: sessions that come and go, and calls in both eras which end in every way a call can.

Each worker opens a session, makes some calls through it and some as a modern client, and leaves: by DELETE, or by just
going away. What is done is drawn from a seeded generator, so a run can be repeated as far as the network lets it.

The one rule: an answer that comes is checked to be the right one; a wrong answer ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_wire import Gone, HttpWire, Json, LegacyWire, ModernWire

SERVERS = ("http-legacy", "http-modern", "pipe-legacy", "pipe-modern")
OWN = "pipe-own"
"""A stdio server with a process for each session, so it is asked rarely."""
SLOW_SECONDS = 0.5
STEPS = ("echo",) * 60 + ("slow",) * 10 + ("cancel",) * 13 + ("leave",) * 13 + ("list",) * 3 + ("wrong",) * 1


@dataclass(frozen=True)
class Size:
    sessions: int
    calls: int
    at_once: int


@dataclass
class Load:
    port: int
    size: Size
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)

    async def run(self) -> Counter[str]:
        sessions = iter(range(self.size.sessions))
        async with asyncio.TaskGroup() as workers:
            for _ in range(self.size.at_once):
                workers.create_task(self._worker(sessions))
        return self.done

    async def touch_everything(self) -> None:
        """What is kept for modern clients is kept for all of them together: it is there before anything is counted."""
        for server in (*SERVERS, OWN):
            client = ModernWire(self.port, f"/servers/{server}/mcp")
            for path in (client.path, "/direct/mcp"):
                client.path = path
                found = await client.call("tools/list", {})
                assert found["result"]["tools"], found
            client.wire.leave()

    async def _worker(self, sessions: Iterator[int]) -> None:
        """Draws from one iterator with the others, so that together they do exactly what was asked."""
        modern = ModernWire(self.port, "/mcp")
        for number in sessions:
            await self._session(number, modern)
        modern.wire.leave()

    def _calls_of(self, number: int) -> int:
        """How many calls the session with this number is followed by: the total divided without a remainder."""
        size = self.size
        return (number + 1) * size.calls // size.sessions - number * size.calls // size.sessions

    def _surface(self) -> tuple[str, str | None]:
        """A path, and the server a call through it goes to (None: to any)."""
        drawn = self.chance.random()
        if drawn < 0.5:
            return "/mcp", None
        if drawn < 0.53:
            return "/direct/mcp", None
        server = OWN if drawn < 0.55 else self.chance.choice(SERVERS)
        return f"/servers/{server}/mcp", server

    async def _session(self, number: int, modern: ModernWire) -> None:
        path, server = self._surface()
        client = await LegacyWire.arrive(self.port, path)
        self.done["sessions"] += 1
        listening = await self._listen(client) if self.chance.random() < 0.3 else None
        for _ in range(self._calls_of(number)):
            if self.chance.random() < 0.5:
                await self._call(client, server)
            else:
                modern.path, wanted = self._surface()
                await self._call(modern, wanted)
            if listening is not None and self.chance.random() < 0.1:
                listening.leave()
        if self.chance.random() < 0.85:
            status = await client.end()
            assert status == 204, status
            self.done["deleted"] += 1
        else:
            client.wire.leave()
            self.done["walked away"] += 1
        if listening is not None:
            listening.leave()

    async def _listen(self, client: LegacyWire) -> HttpWire:
        wire = HttpWire(self.port)
        head = await wire.begin("GET", client.path, client.headers | {"accept": "text/event-stream"})
        assert head.status == 200, head
        self.done["streams"] += 1
        return wire

    async def _call(self, client: LegacyWire | ModernWire, server: str | None) -> None:
        step = self.chance.choice(STEPS)
        self.done[f"calls, {'legacy' if isinstance(client, LegacyWire) else 'modern'}"] += 1
        self.done[step] += 1
        match step:
            case "echo":
                text = f"text-{self.done['echo']}-{self.chance.random()}"
                found = await client.call("tools/call", self._params(client.path, server, "echo", {"text": text}))
                assert text_of(found) == text, (client.path, found)
            case "slow":
                found = await client.call("tools/call", self._slow(client.path, server, 0.1))
                assert text_of(found) == "done", (client.path, found)
            case "list":
                found = await client.call("tools/list", {})
                assert found["result"]["tools"], found
            case "wrong":
                found = await client.call("tools/call", self._params(client.path, server, "no such tool", {}))
                assert "error" in found or found["result"]["isError"], found
            case _:
                await self._interrupted(client, server, step)

    async def _interrupted(self, client: LegacyWire | ModernWire, server: str | None, step: str) -> None:
        """Begin a call, and think again: hang up on it, or cancel it. Over modern HTTP both are the same."""
        request, headers, body = client.request("tools/call", self._slow(client.path, server, SLOW_SECONDS))
        wire = HttpWire(self.port)
        await wire.send("POST", client.path, headers, body)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.chance.random() * 0.1):
                await wire.head()
        if step == "cancel" and isinstance(client, LegacyWire):
            await client.cancel(request)
            if self.chance.random() < 0.5:
                await self._until_over(wire)
        wire.leave()

    async def _until_over(self, wire: HttpWire) -> None:
        """A cancelled call ends without an answer, unless the cancellation came too early or too late."""
        wire_left = False
        try:
            async with asyncio.timeout(30):
                async for event in wire.events():
                    wire_left = wire_left or "result" in event
        except Gone:
            return
        self.done["cancelled too late" if wire_left else "cancelled"] += 1

    def _slow(self, path: str, server: str | None, seconds: float) -> Json:
        params = self._params(path, server, "slow", {"seconds": seconds})
        return params | {"_meta": {"progressToken": f"t{self.chance.random()}"}}

    def _params(self, path: str, server: str | None, tool: str, arguments: Json) -> Json:
        if server is not None:
            return {"name": tool, "arguments": arguments}
        server = self.chance.choice(SERVERS)
        if path == "/direct/mcp":
            return {"name": f"{server}__{tool}", "arguments": arguments}
        return {"name": "execute_tool", "arguments": {"server": server, "tool": tool, "arguments": arguments}}


def text_of(found: Json) -> Any:
    return found.get("result", {}).get("content", [{}])[0].get("text")
