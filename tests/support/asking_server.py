"""A legacy server over HTTP whose one tool asks, and answers with what it was answered: on the stream of the call
(`post`), on the standing stream (`get`), or over the old transport, where there is one stream for everything (`sse`).

    server = AskingServer("get")
    async with HttpBackend(server.answer) as backend: ...

The one rule: an ask and the call that waits for it never share anything but the session.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Literal, TypeAlias

from tests.support.http_backend import Asked, Reply, json_reply

Json: TypeAlias = dict[str, Any]
Way: TypeAlias = Literal["post", "get", "sse"]

STREAM = {"content-type": "text/event-stream"}


class AskingServer:
    def __init__(self, way: Way, method: str = "elicitation/create", params: Json | None = None) -> None:
        self.way = way
        self.ask = {"jsonrpc": "2.0", "id": 0, "method": method, "params": params or {"message": "?"}}
        self.declared: Json = {}
        self.answered: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.answers = 0
        self.refuses: int | None = None
        """Set by a test: the status with which it takes no answer."""
        self.forgetful = False
        """Set by a test: it has lost its session, until it is greeted again."""
        self._sessions = 0
        self._standing: dict[str, asyncio.Queue[Json]] = {}

    def _of(self, session: str) -> asyncio.Queue[Json]:
        """What goes over the standing stream of one session."""
        return self._standing.setdefault(session, asyncio.Queue())

    async def answer(self, asked: Asked) -> Reply:
        if asked.method != "POST":
            return self._listened(asked)
        message = asked.json
        if self.forgetful and asked.says not in ("initialize", "server/discover"):
            return Reply(404)
        if "method" not in message and self.refuses is not None:
            return Reply(self.refuses)
        if "method" not in message:
            self.answers += 1
            self.answered.set_result(message.get("result") or message["error"])
            return Reply(202)
        if "id" not in message:
            return Reply(202)
        if asked.says == "server/discover":
            return Reply(400, {"content-type": "text/plain"}, b"no session")
        if self.way == "sse" and asked.path == "/mcp":
            return Reply(405)
        session = asked.path if self.way == "sse" else asked.headers.get("mcp-session-id", "")
        return await self._replied(message, session)

    def _listened(self, asked: Asked) -> Reply:
        if asked.method != "GET" or self.way == "post":
            return Reply(405)
        if self.way == "get":
            return Reply(200, STREAM, self._everything(asked.headers["mcp-session-id"], b": open\n\n"))
        self._sessions += 1
        path = f"/messages/{self._sessions}"
        return Reply(200, STREAM, self._everything(path, b"event: endpoint\ndata: %s\n\n" % path.encode()))

    async def _everything(self, session: str, opening: bytes) -> AsyncIterator[bytes]:
        yield opening
        while True:
            yield event(await self._of(session).get())

    async def _replied(self, message: Json, session: str) -> Reply:
        if message["method"] == "tools/call":
            return self._called(message, session)
        result: Json = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
        if message["method"] == "initialize":
            self.declared = message["params"]["capabilities"]
            self.forgetful = False
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"},
            }
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if self.way != "sse":
            if not session:
                self._sessions += 1
            return json_reply(reply, **{"mcp-session-id": session or f"session-{self._sessions}"})
        self._of(session).put_nowait(reply)
        return Reply(202)

    def _called(self, message: Json, session: str) -> Reply:
        if self.way != "post":
            self._of(session).put_nowait(self.ask)
        if self.way != "sse":
            return Reply(200, STREAM, self._on_its_own_stream(message))
        self.answered.add_done_callback(lambda answered: self._of(session).put_nowait(result_of(message, answered)))
        return Reply(202)

    async def _on_its_own_stream(self, message: Json) -> AsyncIterator[bytes]:
        yield event(self.ask) if self.way == "post" else b": wait\n\n"
        await self.answered
        yield event(result_of(message, self.answered))


def result_of(message: Json, answered: asyncio.Future[Json]) -> Json:
    result = {"content": [], "structuredContent": {"answers": [answered.result()]}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def event(message: Json) -> bytes:
    return b"event: message\ndata: %s\n\n" % json.dumps(message).encode()
