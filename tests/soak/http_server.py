"""An HTTP MCP server of one era as a program, for the soak: sessions, a standing stream, slow calls, cancellation.

    python http_server.py legacy|modern        prints its port

Tools are `echo` and `slow`, as in `tests/support/stdio_server.py`. `GET /left` tells what it still holds: sessions,
running calls, open streams. The one rule: it imports nothing of ours, so that what it counts is a second opinion.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from typing import Any

MODERN = "2026-07-28"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
INFO = {"name": "soak", "version": "1"}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "slow")]
CACHED = ("tools/list", "server/discover")

Json = dict[str, Any]


class Server:
    def __init__(self, era: str) -> None:
        self.era = era
        self.sessions: set[str] = set()
        self.running: dict[tuple[str, Any], asyncio.Event] = {}
        self.streams = 0
        self.seen = itertools.count(1)

    def left(self) -> Json:
        return {"sessions": len(self.sessions), "running": len(self.running), "streams": self.streams}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.split(" ", 2)
                lines = (line.partition(":") for line in head.split("\r\n")[1:])
                headers = {name.lower(): value.strip() for name, _, value in lines}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                await self.exchange(method, path, headers, body, reader, writer)
        writer.close()

    async def exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        session = headers.get("mcp-session-id", "")
        if path == "/left":
            reply(writer, 200, self.left())
        elif method == "POST":
            await self.post(json.loads(body), session, reader, writer)
        elif method == "DELETE":
            self.sessions.discard(session)
            reply(writer, 200)
        elif self.era == "legacy" and session in self.sessions:
            await self.stand(session, reader, writer)
        else:
            reply(writer, 405)

    async def stand(self, session: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begin_stream(writer)
        self.streams += 1
        try:
            while session in self.sessions and not reader.at_eof():  # noqa: ASYNC110 -- a stream tells nobody of its end
                await asyncio.sleep(0.05)
        finally:
            self.streams -= 1
        end_stream(writer)

    async def post(
        self, message: Json, session: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, params, request = message.get("method"), message.get("params") or {}, message.get("id")
        if method == "initialize" and self.era == "legacy":
            session = f"s{next(self.seen)}"
            self.sessions.add(session)
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
            reply(writer, 200, answer(request, result), session)
        elif self.era == "legacy" and session not in self.sessions:
            reply(writer, 404 if session else 400, refusal(None, -32600, "no such session"))
        elif request is None:
            stop = self.running.get((session, params.get("requestId")))
            if method == "notifications/cancelled" and stop is not None:
                stop.set()
            reply(writer, 202)
        elif method == "tools/call" and params["name"] == "slow":
            await self.slow(request, params, session, reader, writer)
        elif (result := self.result(method or "", params)) is None:
            reply(writer, 200, refusal(request, -32602, "unknown"))
        else:
            reply(writer, 200, answer(request, self.stamped(method or "", result)))

    def result(self, method: str, params: Json) -> Json | None:
        if method == "server/discover":
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "tools/call" and params["name"] == "echo":
            return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
        return {} if method == "ping" else None

    def stamped(self, method: str, result: Json) -> Json:
        if self.era == "legacy":
            return result
        hints = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED else {}
        return {"resultType": "complete", "_meta": {SERVER_INFO: INFO}, **hints, **result}

    async def slow(
        self, request: Any, params: Json, session: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Progress, then the answer; ends without one when it is cancelled or hung up on."""
        key = (session, request) if self.era == "legacy" else ("", next(self.seen))
        stop = self.running[key] = asyncio.Event()
        begin_stream(writer)
        token = (params.get("_meta") or {}).get("progressToken")
        if token is not None:
            told = {"progressToken": token, "progress": 1}
            event(writer, {"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
        loop = asyncio.get_running_loop()
        end = loop.time() + params["arguments"]["seconds"]
        try:
            while loop.time() < end and not stop.is_set() and not reader.at_eof():  # noqa: ASYNC110 -- as above
                await asyncio.sleep(0.01)
        finally:
            del self.running[key]
        if not stop.is_set() and not reader.at_eof():
            result = {"content": [{"type": "text", "text": "done"}]}
            event(writer, answer(request, self.stamped("tools/call", result)))
        end_stream(writer)


def answer(request: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request, "result": result}


def refusal(request: Any, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}


def reply(writer: asyncio.StreamWriter, status: int, message: Json | None = None, session: str | None = None) -> None:
    body = b"" if message is None else json.dumps(message).encode()
    more = "" if session is None else f"mcp-session-id: {session}\r\n"
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


def begin_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")


def event(writer: asyncio.StreamWriter, message: Json) -> None:
    data = b"data: " + json.dumps(message).encode() + b"\n\n"
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


def end_stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"0\r\n\r\n")


async def main() -> None:
    server = await asyncio.start_server(Server(sys.argv[1]).connected, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
