"""A small HTTP/1.1 client on real sockets, and a client of each MCP era on it, for tests against a real gateway.

    client = await LegacyWire.arrive(port, "/mcp")
    answer = await client.call("tools/call", {...})

One `HttpWire` is one connection, used for one exchange after another; whoever wants two at once takes two. It imports
nothing of ours, so that it is a second opinion on what we serve.

The one rule: nothing here is tried twice; what goes wrong is raised where it went wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
USUAL = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
PATIENCE = 60.0


class Gone(Exception):
    """The other side closed the connection before the exchange was over."""


@dataclass
class Head:
    status: int
    headers: dict[str, str]

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")


class HttpWire:
    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host = host
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._left: int | None = 0
        self._chunked = False

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            self.leave()
            self._streams = await asyncio.open_connection(self._host, self._port, limit=2**24)
        return self._streams

    async def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Head:
        """Send a request and read the head of its answer."""
        await self.send(method, path, headers, body)
        return await self.head()

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        _, writer = await self._connected()
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        start = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n{lines}content-length: {len(body)}\r\n\r\n"
        )
        writer.write(start.encode("latin-1") + body)
        await writer.drain()

    async def head(self) -> Head:
        assert self._streams is not None
        try:
            async with asyncio.timeout(PATIENCE):
                text = await self._streams[0].readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            self.leave()
            raise Gone("before the head") from error
        first, *lines = text.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._left = int(headers.get("content-length", "0"))
        return Head(int(first.split()[1]), headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""
        assert self._streams is not None
        reader = self._streams[0]
        try:
            if not self._chunked:
                if self._left:
                    yield await reader.readexactly(self._left)
                return
            while size := int(await reader.readline() or b"x", 16):
                yield (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            self.leave()
            raise Gone("in the middle of the body") from error

    async def body(self) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return b"".join([chunk async for chunk in self.chunks()])

    async def events(self) -> AsyncIterator[Json]:
        """The JSON of each event of a stream, as it comes; comments and events without data are passed over."""
        rest = b""
        async for chunk in self.chunks():
            *blocks, rest = (rest + chunk).split(b"\n\n")
            for block in blocks:
                for line in block.split(b"\n"):
                    if line.startswith(b"data: ") and line != b"data: ":
                        yield json.loads(line[6:])

    def leave(self) -> None:
        """Close at once, whatever is on its way."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def ask_health(port: int) -> Json:
    wire = HttpWire(port)
    try:
        await wire.begin("GET", "/health", {"accept": "application/json"})
        found: Json = json.loads(await wire.body())
        return found
    finally:
        wire.leave()


class LegacyWire:
    """One session, and one connection for its requests."""

    def __init__(self, port: int, path: str) -> None:
        self.port = port
        self.path = path
        self.wire = HttpWire(port)
        self.headers = dict(USUAL)
        self.ids = itertools.count(1)

    @classmethod
    async def arrive(cls, port: int, path: str) -> LegacyWire:
        client = cls(port, path)
        info = {"name": "wire", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        head = await client.wire.begin("POST", path, USUAL, message("initialize", params, 0))
        assert head.status == 200, await client.wire.body()
        await client.wire.body()
        client.headers |= {"mcp-session-id": head.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        await client.tell("notifications/initialized")
        return client

    def request(self, method: str, params: Json) -> tuple[int, dict[str, str], bytes]:
        request_id = next(self.ids)
        return request_id, self.headers, message(method, params, request_id)

    async def call(self, method: str, params: Json) -> Json:
        _, headers, body = self.request(method, params)
        return await answered(self.wire, self.path, headers, body)

    async def tell(self, method: str, params: Json | None = None) -> None:
        """On a connection of its own when another exchange is on the way: the caller's to know."""
        head = await self.wire.begin("POST", self.path, self.headers, message(method, params or {}))
        await self.wire.body()
        assert head.status == 202, head

    async def cancel(self, request_id: int) -> None:
        beside = HttpWire(self.port)
        try:
            body = message("notifications/cancelled", {"requestId": request_id})
            await beside.begin("POST", self.path, self.headers, body)
            await beside.body()
        finally:
            beside.leave()

    async def end(self) -> int:
        """DELETE; the status."""
        head = await self.wire.begin("DELETE", self.path, self.headers)
        await self.wire.body()
        self.wire.leave()
        return head.status


class ModernWire:
    """Nobody in particular, on one connection."""

    def __init__(self, port: int, path: str) -> None:
        self.port = port
        self.path = path
        self.wire = HttpWire(port)
        self.ids = itertools.count(1)

    def request(self, method: str, params: Json) -> tuple[int, dict[str, str], bytes]:
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}} | params.get("_meta", {})
        headers = {**USUAL, "mcp-protocol-version": MODERN, "mcp-method": method}
        if "name" in params:
            headers["mcp-name"] = params["name"]
        request_id = next(self.ids)
        return request_id, headers, message(method, params | {"_meta": meta}, request_id)

    async def call(self, method: str, params: Json) -> Json:
        _, headers, body = self.request(method, params)
        return await answered(self.wire, self.path, headers, body)


def message(method: str, params: Json, request_id: int | str | None = None) -> bytes:
    named = {} if request_id is None else {"id": request_id}
    return json.dumps({"jsonrpc": "2.0", **named, "method": method, "params": params}).encode()


async def answered(wire: HttpWire, path: str, headers: Mapping[str, str], body: bytes) -> Json:
    """The response to one POST, in whichever form it came."""
    head = await wire.begin("POST", path, headers, body)
    if not head.is_stream:
        found: Json = json.loads(await wire.body())
        return found
    last: Json = {}
    async with asyncio.timeout(PATIENCE):
        async for event in wire.events():
            last = event
    return last
