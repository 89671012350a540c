"""A legacy server over HTTP that may be restarted under its clients: it forgets its sessions and is another after.

    server = ForgetfulServer()
    async with HttpBackend(server.answer) as backend: ...
    server.forget(version="2", tools=["other"])

Its tool `wait` never answers, `ask` asks first and never answers, everything else answers at once. Each session has an
id of its own. The one rule: what a session was promised is gone when the session is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal

from tests.support.http_backend import Asked, Reply, json_reply

Json = dict[str, Any]
STREAM = {"content-type": "text/event-stream"}
ASKS = {"elicitation/create": {"message": "Sure?"}, "sampling/createMessage": {"messages": [], "maxTokens": 1}}


class ForgetfulServer:
    def __init__(self, tools: tuple[str, ...] = ("echo",), version: str = "1") -> None:
        self.version = version
        self.lists: dict[str, list[Json]] = {"tools": [], "resources": [], "prompts": []}
        self.offer(*tools)
        self.capabilities: Json = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
        self.refused: set[str] = set()
        """Methods that are answered with an error."""
        self.slow = asyncio.Event()
        """Lists wait until it is set."""
        self.slow.set()
        self.away = False
        self.sessions: set[str] = set()
        self.seen: list[Json] = []
        self._count = 0

    def offer(self, *tools: str) -> None:
        self.lists["tools"] = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]

    def forget(self, version: str | None = None, tools: tuple[str, ...] | None = None) -> None:
        self.sessions.clear()
        self.version = version or self.version
        if tools is not None:
            self.offer(*tools)

    def methods(self) -> list[str]:
        return [message.get("method", "response") for message in self.seen]

    async def answer(self, asked: Asked) -> Reply | Literal["hang", "reset"]:
        if self.away:
            return "reset"
        if asked.method != "POST":
            return Reply(405 if asked.method == "GET" else 200)
        message = asked.json
        if asked.says == "server/discover":
            return Reply(400, {"content-type": "text/plain"}, b"no session")
        if asked.says == "initialize":
            return self._greet(message)
        if asked.headers.get("mcp-session-id") not in self.sessions:
            return Reply(404)
        self.seen.append(message)
        return Reply(202) if "id" not in message or "method" not in message else await self._reply(message)

    def _greet(self, message: Json) -> Reply:
        self._count += 1
        session = f"session-{self._count}"
        self.sessions.add(session)
        info = {"name": "forgetful", "version": self.version}
        result = {"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "serverInfo": info}
        return json_reply(_result(message, result), **{"mcp-session-id": session})

    async def _reply(self, message: Json) -> Reply:
        method = message["method"]
        if method in self.refused:
            error = {"code": -32603, "message": "not today"}
            return json_reply({"jsonrpc": "2.0", "id": message["id"], "error": error})
        if method.endswith("/list"):
            await self.slow.wait()
            key = method.split("/")[0]
            return json_reply(_result(message, {key: self.lists[key]}))
        name = message.get("params", {}).get("name")
        if method == "tools/call" and name in ("wait", *ASKS):
            return Reply(200, STREAM, _stream(name, message["id"]))
        return json_reply(_result(message, {"content": [{"type": "text", "text": f"by version {self.version}"}]}))


def _result(message: Json, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def _stream(name: str, call: str) -> AsyncIterator[bytes]:
    if name in ASKS:
        ask = {"jsonrpc": "2.0", "id": f"ask-{call}", "method": name, "params": ASKS[name]}
        yield b"data: %s\n\n" % json.dumps(ask).encode()
    else:
        yield b": wait\n\n"
    await asyncio.Event().wait()
