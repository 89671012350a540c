"""A server's HTTP side over a real socket, scripted by the test: what was sent is kept, what is answered is a function.

    async def answer(request): return Reply(200, {"content-type": "application/json"}, b"…")
    async with HttpBackend(answer) as backend: ... backend.url ... backend.requests

`mcp_over(backend)` makes the answering function of a well-behaved server out of a `ScriptedBackend`. A reply may be
`HANG` (nothing, until the other side goes) or `RESET` (the connection is torn down at once).

The one rule: it does what the script says and repairs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

HANG = "hang"
RESET = "reset"


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closed the connection before the reply was complete."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def says(self) -> str:
        """`initialize` for a POST of that method, `GET` for a GET."""
        return self.json.get("method", "response") if self.method == "POST" else self.method


@dataclass
class Reply:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | AsyncIterator[bytes] = b""


Answer: TypeAlias = Callable[[Asked], Awaitable[Reply | Literal["hang", "reset"]]]


def json_reply(message: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, {"content-type": "application/json", **headers}, json.dumps(message).encode())


class HttpBackend:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Asked] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._news = asyncio.Event()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"

    def said(self) -> list[str]:
        return [request.says for request in self.requests]

    async def saw(self, says: str, times: int = 1) -> Asked:
        async with asyncio.timeout(30):
            while self.said().count(says) < times:
                self._news.clear()
                await self._news.wait()
        return [request for request in self.requests if request.says == says][times - 1]

    async def __aenter__(self) -> HttpBackend:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=5)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        asked = Asked(method, path, headers, body)
        self.requests.append(asked)
        self._news.set()
        answering = asyncio.ensure_future(self._reply(asked, writer))
        leaving = asyncio.ensure_future(reader.read(1))
        done, _ = await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering not in done:
            asked.gone.set()
            answering.cancel()
            return False
        kept = answering.result()
        if not kept or leaving in done:
            leaving.cancel()
            return False
        # What the reader waits for is the next request's first byte: cancelling loses nothing of it.
        leaving.cancel()
        await asyncio.wait((leaving,))
        return not (leaving.done() and not leaving.cancelled())

    async def _reply(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        reply = await self.answer(asked)
        if reply == HANG:
            await asyncio.Event().wait()
        if reply == RESET:
            writer.transport.abort()
            return False
        assert isinstance(reply, Reply)
        streams = not isinstance(reply.body, bytes)
        length = {"transfer-encoding": "chunked"} if streams else {"content-length": str(len(reply.body))}  # type: ignore[arg-type]
        head = [f"HTTP/1.1 {reply.status} X", *(f"{k}: {v}" for k, v in {**reply.headers, **length}.items())]
        writer.write("\r\n".join([*head, "", ""]).encode())
        if isinstance(reply.body, bytes):
            writer.write(reply.body)
        else:
            async for chunk in reply.body:
                writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def mcp_legacy(
    capabilities: dict[str, Any] | None = None, sessions: list[str] | None = None, probe: Reply | None = None
) -> Answer:
    """A legacy server: JSON answers, sessions that can be ended by emptying the given list, 405 on GET. The probe is
    answered as told, or as a server that misses its session."""
    live = sessions if sessions is not None else []
    count = 0

    async def answer(asked: Asked) -> Reply | Literal["hang", "reset"]:
        nonlocal count
        if asked.method != "POST":
            return Reply(405 if asked.method == "GET" else 200, {"allow": "POST"})
        message = asked.json
        if asked.says == "initialize":
            count += 1
            live.append(f"session-{count}")
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities or {"tools": {}},
                "serverInfo": {"name": "http", "version": "1"},
            }
            return json_reply({"jsonrpc": "2.0", "id": message["id"], "result": result}, **{"mcp-session-id": live[-1]})
        session = asked.headers.get("mcp-session-id")
        if session is None:
            return probe or Reply(400, {"content-type": "text/plain"}, b"Bad Request: no session")
        if session not in live:
            return Reply(404, {"content-type": "text/plain"}, b"Session not found")
        if "id" not in message:
            return Reply(202)
        return json_reply({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "tools": []}})

    return answer


def mcp_modern(result: Callable[[dict[str, Any]], dict[str, Any] | Literal["hang"]]) -> Answer:
    """A modern server: answers discovery itself and everything else as told, stamped."""

    async def answer(asked: Asked) -> Reply | Literal["hang", "reset"]:
        message = asked.json
        if message["method"] == "server/discover":
            found: Any = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        else:
            found = result(message)
        if found == HANG:
            return HANG  # type: ignore[return-value]
        if "code" in found:
            return json_reply({"jsonrpc": "2.0", "id": message["id"], "error": found}, 400)
        return json_reply({"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", **found}})

    return answer
