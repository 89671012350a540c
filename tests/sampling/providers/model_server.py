"""A server on loopback that answers requests of a model provider's client as a test says, on real sockets.

It knows no provider: what is answered has the shape that the real one's answers were seen to have, and is in the tests.

The one rule: each request is written down as it came, its key included, so that a test can say what was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Reply:
    """`body` is sent as JSON, bytes as they are; `silent` says nothing at all."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ModelServer:
    port: int = 0
    replies: list[Reply] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (line := await reader.readline()).strip():
                headers: dict[str, str] = {}
                while (field_line := (await reader.readline()).decode().strip()) != "":
                    name, _, value = field_line.partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.seen.append(Seen(line.split()[1].decode(), headers, json.loads(body or b"null")))
                self.asked.set()
                reply = self.replies.pop(0)
                if reply.silent:
                    await reader.read()
                    return
                writer.write(_written(reply))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def _written(reply: Reply) -> bytes:
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    kind = {} if isinstance(reply.body, bytes) else {"content-type": "application/json"}
    headers = {**kind, "content-length": str(len(body)), **reply.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {reply.status} Whatever\r\n{head}\r\n".encode() + body


@asynccontextmanager
async def model_server(*replies: Reply) -> AsyncIterator[ModelServer]:
    model = ModelServer(replies=list(replies))
    server = await asyncio.start_server(model.talk, "127.0.0.1", 0)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
        await asyncio.wait_for(server.wait_closed(), 5)
