"""A backend that does what a test says: answers by method, remembers what it was sent, and misbehaves on request.

    backend = ScriptedBackend("legacy", {"tools/call": {"content": []}, "prompts/get": Fail(-32602, "no such prompt")})
    transport = InMemoryTransport("files", backend.connection())

An answer is a dict (the result), a `Fail`, `SILENT`, `Twice`, `WrongId`, `Late`, `Text` (bytes as they are), `EXIT`, or
a function of the `Turn`, sync or async, that returns one of these. The handshake, `server/discover`, ping, log level
and listening are answered by themselves unless the script says otherwise; what is in no script is "method not found".

One backend may have any number of connections; `received` has what came over all of them, in order. In the modern era
results are stamped (`resultType`, cache hints, identity) unless the script has these keys itself.

The one rule: it is right by default. A test sees only those mistakes of a server that it asked for.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from emceepee.backends.in_memory import Channel, Say
from emceepee.protocol.messages import (
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    write_failure,
    write_result,
)
from emceepee.vocabulary.raw_json import read_value

Json: TypeAlias = dict[str, Any]
Era: TypeAlias = Literal["legacy", "modern"]

MODERN = "2026-07-28"
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
CACHED = (*LISTS, "server/discover", "resources/read")

ECHO: Json = {
    "name": "echo",
    "description": "Returns its arguments.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


@dataclass(frozen=True)
class Fail:
    code: int
    message: str = "as scripted"
    data: Any = None


@dataclass(frozen=True)
class Twice:
    result: Json


@dataclass(frozen=True)
class WrongId:
    """Answers a request nobody made, and then this one not at all."""

    result: Json
    id: RequestId = "nobody"


@dataclass(frozen=True)
class Late:
    """Answers when `when` is set, also when it was cancelled meanwhile."""

    result: Json
    when: asyncio.Event


@dataclass(frozen=True)
class Text:
    text: bytes


SILENT = "silent"
EXIT = "exit"

Answer: TypeAlias = "Json | Fail | Twice | WrongId | Late | Text | Literal['silent', 'exit'] | None"
Scripted: TypeAlias = "Answer | Callable[[Turn], Answer | Awaitable[Answer]]"


class Turn:
    """One request being answered, for scripts that are functions."""

    def __init__(self, connection: ScriptedConnection, request: Request, say: Say) -> None:
        self.connection = connection
        self.request = request
        self.id = request.id
        self.method = request.method
        self.params: Json = read_value(request.params) if request.params is not None else {}
        self.meta: Json = self.params.get("_meta") or {}
        self.say = say

    def notify(self, method: str, params: Json | None = None) -> None:
        """On the stream of this request."""
        self.say(notification(method, params))

    async def ask(
        self, method: str, params: Json, request_id: RequestId = "ask-1", beside: bool = False
    ) -> Result | Failure:
        """On the stream of this request, or beside all streams; the answer."""
        say = self.connection.say if beside else self.say
        say(message_of({"id": request_id, "method": method, "params": params}))
        return await self.connection.answer_to(request_id)

    def progress(self, value: float, **more: Any) -> None:
        self.notify("notifications/progress", {"progressToken": self.meta["progressToken"], "progress": value} | more)


@dataclass
class ScriptedBackend:
    era: Era = "legacy"
    answers: Mapping[str, Scripted] = field(default_factory=dict)
    tools: list[Json] = field(default_factory=lambda: [ECHO])
    capabilities: Json = field(default_factory=lambda: {"tools": {"listChanged": True}, "logging": {}})
    revision: str = "2025-11-25"
    server_info: Json = field(default_factory=lambda: {"name": "scripted", "version": "1"})
    instructions: str | None = None

    def __post_init__(self) -> None:
        self.connections: list[ScriptedConnection] = []
        self.received: list[Message] = []
        self.cancelled: list[RequestId] = []
        self._news = asyncio.Event()

    def connection(self) -> ScriptedConnection:
        """A fresh one, as for each child or each session."""
        connection = ScriptedConnection(self)
        self.connections.append(connection)
        return connection

    # --- what it saw

    def methods(self) -> list[str]:
        return [message.method for message in self.received if isinstance(message, Request | Notification)]

    def params(self, method: str) -> list[Json]:
        """The parameters of each message of this method."""
        asked = [m for m in self.received if isinstance(m, Request | Notification) and m.method == method]
        return [read_value(message.params) if message.params is not None else {} for message in asked]

    async def saw(self, method: str, times: int = 1, seconds: float = 30) -> Json:
        """Wait until it has received that many messages of a method; the parameters of the last."""
        async with asyncio.timeout(seconds):
            while len(self.params(method)) < times:
                self._news.clear()
                await self._news.wait()
        return self.params(method)[times - 1]

    def note(self, message: Message) -> None:
        self.received.append(message)
        self._news.set()

    # --- what it does unasked, over its newest connection

    def notify(self, method: str, params: Json | None = None) -> None:
        self.connections[-1].notify(method, params)

    def ask(self, method: str, params: Json | None = None, request_id: RequestId = "ask-1") -> None:
        self.connections[-1].say(message_of({"id": request_id, "method": method, "params": params or {}}))

    def exit(self, detail: str = "exited with code 1") -> None:
        self.connections[-1].exit(detail)


class ScriptedConnection:
    """Implements `in_memory.InProcessServer`."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self.channel: Channel | None = None
        self.listening: dict[RequestId, tuple[Json, Say]] = {}
        self.answers: dict[RequestId, asyncio.Future[Result | Failure]] = {}

    def answer_to(self, request_id: RequestId) -> asyncio.Future[Result | Failure]:
        return self.answers.setdefault(request_id, asyncio.get_running_loop().create_future())

    def opened(self, channel: Channel) -> None:
        self.channel = channel

    def closed(self) -> None:
        """It goes on with what it does; a script says when it ends."""

    def say(self, message: bytes) -> None:
        assert self.channel is not None, "nobody is connected"
        self.channel.say(message)

    def exit(self, detail: str) -> None:
        assert self.channel is not None, "nobody is connected"
        self.channel.hang_up(detail)

    def notify(self, method: str, params: Json | None = None) -> None:
        """A modern one tells those who listen, each on its own stream; a legacy one tells its client."""
        if self.backend.era == "legacy":
            self.say(notification(method, params))
        for listen_id, (_, say) in self.listening.items():
            meta = {META_SUBSCRIPTION: listen_id}
            say(notification(method, {**(params or {}), "_meta": meta}))

    async def handle(self, message: Message, say: Say) -> None:
        self.backend.note(message)
        if isinstance(message, Notification) and message.method == "notifications/cancelled":
            self.backend.cancelled.append(self.backend.params(message.method)[-1]["requestId"])
        if isinstance(message, Result | Failure) and message.id is not None:
            answer = self.answer_to(message.id)
            # Whoever asked may have been cancelled.
            if not answer.done():
                answer.set_result(message)
        if isinstance(message, Request):
            await self._answer(Turn(self, message, say))

    async def _answer(self, turn: Turn) -> None:
        scripted = self.backend.answers.get(turn.method)
        if scripted is None:
            scripted = await self._by_itself(turn)
        if callable(scripted):
            found = scripted(turn)
            scripted = await found if inspect.isawaitable(found) else found
        match scripted:
            case dict() as result:
                turn.say(self._result(turn, result))
            case Fail(code, text, data):
                turn.say(write_failure(turn.id, code, text, data))
            case Twice(result):
                turn.say(self._result(turn, result))
                turn.say(self._result(turn, result))
            case WrongId(result, other):
                turn.say(write_result(other, json.dumps(result).encode()))
            case Late(result, when):
                await self._late(turn, result, when)
            case Text(text):
                turn.say(text)
            case "exit":
                self.exit("exited with code 1")

    async def _late(self, turn: Turn, result: Json, when: asyncio.Event) -> None:
        while not when.is_set():
            try:
                await when.wait()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                assert task is not None
                task.uncancel()
                if self.channel is None:
                    raise
        turn.say(self._result(turn, result))

    def _result(self, turn: Turn, result: Json) -> bytes:
        if self.backend.era == "modern":
            stamped: Json = {"resultType": "complete", "_meta": {META_SERVER: self.backend.server_info}}
            if turn.method in CACHED:
                stamped |= {"ttlMs": 0, "cacheScope": "private"}
            result = stamped | result
        return write_result(turn.id, json.dumps(result).encode())

    async def _by_itself(self, turn: Turn) -> Answer:
        era_answer = self._legacy(turn) if self.backend.era == "legacy" else await self._modern(turn)
        if era_answer is not None:
            return era_answer
        match turn.method:
            case "tools/list":
                return {"tools": self.backend.tools}
            case "tools/call" if turn.params.get("name") == "echo":
                text = json.dumps(turn.params.get("arguments"))
                return {"content": [{"type": "text", "text": text}]}
            case "tools/call":
                return Fail(-32602, f"Unknown tool: {turn.params.get('name')}")
        return Fail(-32601, f"Method not found: {turn.method}")

    def _legacy(self, turn: Turn) -> Answer:
        backend = self.backend
        match turn.method:
            case "initialize":
                instructions = {} if backend.instructions is None else {"instructions": backend.instructions}
                return {
                    "protocolVersion": backend.revision,
                    "capabilities": backend.capabilities,
                    "serverInfo": backend.server_info,
                } | instructions
            case "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
                return {}
        return None

    async def _modern(self, turn: Turn) -> Answer:
        backend = self.backend
        if turn.method == "initialize":
            return Fail(-32022, "Unsupported protocol version", {"supported": [MODERN]})
        if META_VERSION not in turn.meta or META_CAPABILITIES not in turn.meta:
            return Fail(-32602, "_meta lacks the protocol version or the client's capabilities")
        if turn.meta[META_VERSION] != MODERN:
            data = {"supported": [MODERN], "requested": turn.meta[META_VERSION]}
            return Fail(-32022, "Unsupported protocol version", data)
        if turn.method == "server/discover":
            instructions = {} if backend.instructions is None else {"instructions": backend.instructions}
            return {"supportedVersions": [MODERN], "capabilities": backend.capabilities} | instructions
        if turn.method == "subscriptions/listen":
            return await self._listen(turn)
        return None

    async def _listen(self, turn: Turn) -> Answer:
        """Acknowledges all that was wished, and goes on until it is cancelled."""
        wished = turn.params.get("notifications") or {}
        self.listening[turn.id] = (wished, turn.say)
        meta = {META_SUBSCRIPTION: turn.id}
        turn.notify("notifications/subscriptions/acknowledged", {"notifications": wished, "_meta": meta})
        try:
            await asyncio.Event().wait()
        finally:
            del self.listening[turn.id]
        return "silent"


def message_of(fields: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | fields).encode()


def notification(method: str, params: Json | None = None) -> bytes:
    return message_of({"method": method} | ({} if params is None else {"params": params}))
