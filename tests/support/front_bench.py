"""The whole front in memory: fake clock, countable ids, fake surfaces, and how clients of both eras speak to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from emceepee.front.exchange import Exchange, header
from emceepee.front.http import HttpFront
from emceepee.front.settings import FrontSettings
from emceepee.front.shop import Shop
from emceepee.relay.surface import Surface
from emceepee.sessions.directory import Directory
from emceepee.sessions.settings import SessionSettings
from tests.support.asgi_client import AsgiAnswer, AsgiClient
from tests.support.fake_clock import FakeClock
from tests.support.fake_surface import Answering, FakeSurface

Json = dict[str, Any]

SERVER_INFO = Raw(b'{"name":"bench","version":"1"}')
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
LOG_KEY = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"


class CountedIds:
    """Implements `runtime.ids.Ids`: guessable, so only for tests."""

    def __init__(self) -> None:
        self._count = 0

    def secret(self) -> str:
        self._count += 1
        return f"{self._count:026d}"

    def slot(self) -> str:
        return "slot0000"


def who_says_so(exchange: Exchange) -> str:
    """The principal is whoever the test's own header says."""
    return header(exchange.headers, b"x-test-principal") or "local"


def request(method: str, params: Json | None = None, id: int | str = 1) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


def notification(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def call(name: str = "echo", arguments: Json | None = None, id: int | str = 1, **meta: Any) -> Json:
    params: Json = {"name": name, "arguments": arguments or {}}
    return request("tools/call", {**params, "_meta": meta} if meta else params, id)


def enveloped(message: Json, version: str = MODERN, **meta: Any) -> Json:
    """The same message with a modern envelope."""
    params = dict(message.get("params", {}))
    params["_meta"] = {VERSION_KEY: version, CAPABILITIES_KEY: {}, **params.get("_meta", {}), **meta}
    return {**message, "params": params}


def mirrored(message: Json, **changed: str | None) -> dict[str, str]:
    """The headers a modern client sends with a message; `changed` replaces some, None leaves one out."""
    params = message.get("params", {})
    headers: dict[str, str | None] = {
        "mcp-protocol-version": params.get("_meta", {}).get(VERSION_KEY, MODERN),
        "mcp-method": message["method"],
        "mcp-name": params.get("name") or params.get("uri"),
    }
    headers.update({key.replace("_", "-"): value for key, value in changed.items()})
    return {key: value for key, value in headers.items() if value is not None}


@dataclass
class Bench:
    settings: FrontSettings = field(default_factory=FrontSettings)
    session_settings: SessionSettings = field(default_factory=SessionSettings)
    answering: Answering | None = None

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.surface = FakeSurface(self.answering)
        self.other = FakeSurface()
        self.shop = Shop(self.clock, SERVER_INFO, self.settings)
        self.directory = Directory(self.clock, CountedIds(), self.session_settings)
        self.front = HttpFront(self.shop, self.directory, self.behind, who_says_so)
        self.client = AsgiClient(self.front)

    def behind(self, path: str) -> Surface | None:
        return {"/mcp": self.surface, "/servers/other/mcp": self.other}.get(path)

    async def hello(self, revision: str = "2025-11-25", path: str = "/mcp", **headers: str) -> dict[str, str]:
        """A legacy session: the headers its client sends from then on."""
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.post(request("initialize", params, id=0), named, path).done()
        assert answer.status == 200, answer.body
        agreed = answer.json["result"]["protocolVersion"]
        session = {**named, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": agreed}
        await self.client.post(notification("notifications/initialized"), session, path).done()
        return session

    async def ask(self, message: Any, headers: dict[str, str] | None = None, path: str | None = None) -> AsgiAnswer:
        return await self.client.post(message, headers, path).done()

    def modern(self, message: Json, **changed: str | None) -> AsgiAnswer:
        """Start a modern request with the right headers, unless changed."""
        full = enveloped(message)
        return self.client.post(full, mirrored(full, **changed))

    def stream(self, session: dict[str, str]) -> AsgiAnswer:
        """Open a session's standing stream."""
        return self.client.start("GET", {**session, "accept": "text/event-stream"}, b"")

    async def close(self) -> None:
        """End everything and show that nothing is left."""
        await self.client.close()
        await self.front.close()
        assert len(self.directory) == 0
        assert self.directory.cleaning == 0
        assert len(self.shop.tasks) == 0
        assert (self.front.modern.calls, self.front.modern.listens) == (0, 0)
        assert self.surface.listeners == []
        assert self.surface.running == 0
        assert self.clock.waiting == 0


def said(line: bytes) -> Json:
    message: Json = json.loads(line)
    return message
