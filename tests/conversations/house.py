"""The whole gateway in memory: real fronts, real relay, real links, scripted servers behind, a hand-moved clock.

    house = House({"files": ScriptedBackend("legacy")})
    legacy = await house.legacy_client("/servers/files/mcp")
    answer = await legacy.call("tools/call", {"name": "echo", "arguments": {}})

Clients speak wire: what they return is what stood on the wire. `answer.json` is a JSON answer, `answer.events` what a
stream carried. The one rule: a conversation test asserts what each side's wire carried, never what a part thinks.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any, TypeAlias

from emceepee.app import Gateway
from emceepee.backends.definition import Affinity, InProcess, ServerDefinition
from emceepee.config.settings import DEFAULTS, Settings
from emceepee.storage.kept import Kept
from emceepee.vocabulary.raw_json import read_value
from tests.support.asgi_client import AsgiAnswer, AsgiClient
from tests.support.fake_clock import FakeClock, settle
from tests.support.scripted_backend import ScriptedBackend
from tests.support.wire_client import WireClient

Json: TypeAlias = dict[str, Any]

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
VERSION = META + "protocolVersion"
CAPABILITIES = META + "clientCapabilities"
SERVER_INFO = META + "serverInfo"
SUBSCRIPTION = META + "subscriptionId"
LOG_LEVEL = META + "logLevel"

GATEWAY_INFO_NAME = "emceepee"


class House:
    def __init__(
        self,
        backends: Mapping[str, ScriptedBackend],
        definitions: tuple[ServerDefinition, ...] = (),
        settings: Settings = DEFAULTS,
        affinity: Affinity = "workspace",
        auto_connect: bool = False,
        kept: Kept | None = None,
        over_wire: bool = False,
    ) -> None:
        """Nothing connects by itself unless the test wants that. `kept` is what outlives it."""
        self.clock = FakeClock()
        self.backends = backends
        hosted = tuple(ServerDefinition(name, InProcess(name), affinity=affinity) for name in backends)
        hosts = {name: backend.connection for name, backend in backends.items()}
        settings = dataclasses.replace(settings, auto_connect=auto_connect)
        self.gateway = Gateway(settings, hosted + definitions, environment={}, clock=self.clock, hosted=hosts)
        if kept is not None:
            self.gateway.remember(kept)
        self._clients: list[AsgiClient] = []
        self.over_wire = over_wire
        """Whether clients come by our own wire, where calls that need not wait are served without a task."""

    def http(self, path: str) -> AsgiClient:
        client = (WireClient if self.over_wire else AsgiClient)(self.gateway.front, path)
        self._clients.append(client)
        return client

    async def legacy_client(self, path: str, revision: str = "2025-11-25", **hello: Any) -> LegacyClient:
        client = LegacyClient(self.http(path), revision)
        await client.hello(**hello)
        return client

    def modern_client(self, path: str, capabilities: Json | None = None) -> ModernClient:
        return ModernClient(self.http(path), capabilities or {})

    def forget_clients(self) -> None:
        """Let go of what has ended: a long test counts what is left, and clients remember their answers."""
        self._clients = [client for client in self._clients if client.forget_ended()]

    async def close(self) -> None:
        await self.gateway.close()
        for client in self._clients:
            await client.close()


class LegacyClient:
    """One session. `get` opens its standing stream."""

    def __init__(self, http: AsgiClient, revision: str) -> None:
        self.http = http
        self.revision = revision
        self.headers: dict[str, str] = {}
        self.welcome: Json = {}
        self.ids = itertools.count(1)

    async def hello(self, **more: Any) -> None:
        info = {"name": "test-client", "version": "7"}
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": info} | more
        answer = await self.post({"id": 0, "method": "initialize", "params": params}).done()
        self.welcome = answer.json["result"]
        self.headers = {"mcp-session-id": answer.headers["mcp-session-id"]}
        self.headers["mcp-protocol-version"] = self.welcome["protocolVersion"]
        await self.post({"method": "notifications/initialized"}).done()

    def post(self, message: Json | list[Json]) -> AsgiAnswer:
        if isinstance(message, dict):
            message = {"jsonrpc": "2.0"} | message
        return self.http.post(message, self.headers)

    def start(self, method: str, params: Json | None = None, request_id: int | str | None = None) -> AsgiAnswer:
        """Begin a request; `await answer.done()` for its end."""
        used = next(self.ids) if request_id is None else request_id
        return self.post({"id": used, "method": method} | ({} if params is None else {"params": params}))

    async def call(self, method: str, params: Json | None = None) -> Json:
        """The response, whether it came as JSON or on a stream."""
        return response_of(await self.start(method, params).done())

    async def result(self, method: str, params: Json | None = None) -> Json:
        response = await self.call(method, params)
        assert "result" in response, response
        found: Json = response["result"]
        return found

    async def get(self) -> AsgiAnswer:
        answer = self.http.start("GET", {**self.headers, "accept": "text/event-stream"}, b"")
        await answer.until(lambda: answer.status != 0)
        await settle(30)
        return answer

    async def tell(self, method: str, params: Json | None = None) -> AsgiAnswer:
        return await self.post({"method": method, "params": params or {}}).done()

    async def delete(self) -> AsgiAnswer:
        return await self.http.start("DELETE", self.headers, b"").done()


class ModernClient:
    def __init__(self, http: AsgiClient, capabilities: Json) -> None:
        self.http = http
        self.capabilities = capabilities
        self.ids = itertools.count(1)

    def start(
        self,
        method: str,
        params: Json | None = None,
        request_id: int | str | None = None,
        meta: Json | None = None,
        headers: dict[str, str] | None = None,
    ) -> AsgiAnswer:
        params = dict(params or {})
        params["_meta"] = {VERSION: MODERN, CAPABILITIES: self.capabilities} | (meta or {})
        sent = {"mcp-protocol-version": MODERN, "mcp-method": method}
        key = {"resources/read": "uri", "tools/call": "name", "prompts/get": "name"}.get(method, "taskId")
        if (name := params.get(key)) is not None:
            sent["mcp-name"] = str(name)
        used = next(self.ids) if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": used, "method": method, "params": params}
        return self.http.post(message, sent | (headers or {}))

    async def call(self, method: str, params: Json | None = None, **more: Any) -> Json:
        return response_of(await self.start(method, params, **more).done())

    async def result(self, method: str, params: Json | None = None, **more: Any) -> Json:
        response = await self.call(method, params, **more)
        assert "result" in response, response
        found: Json = response["result"]
        return found

    async def listen(self, **notifications: Any) -> AsgiAnswer:
        """A listen stream whose acknowledgement has come."""
        answer = self.start("subscriptions/listen", {"notifications": notifications}, request_id="listen-1")
        return await answer.until(lambda: bool(answer.events))


def response_of(answer: AsgiAnswer) -> Json:
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        found: Json = answer.events[-1]
        return found
    return answer.json


def wire(backend: ScriptedBackend, method: str) -> Json:
    """The parameters of the last message of a method that a backend saw."""
    seen = backend.params(method)
    assert seen, f"{method} never reached the backend; it saw {backend.methods()}"
    return seen[-1]


def seen_by(backend: ScriptedBackend) -> list[tuple[str, Any]]:
    """Everything a backend received: method (or `response`) and parameters."""
    found = []
    for message in backend.received:
        params = getattr(message, "params", None)
        found.append((getattr(message, "method", "response"), None if params is None else read_value(params)))
    return found


async def let_run(seconds: float = 0.0) -> None:
    """Let everything that is ready run (and nothing else)."""
    async with asyncio.timeout(30):
        await settle(50)
