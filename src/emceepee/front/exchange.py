"""One HTTP exchange as the front sees it: what came, and four ways to answer.

It knows nothing of MCP. The one rule: no other file of the front knows what serves HTTP: our own wire does
(`http_wire.py`), and an ASGI server can, for whoever embeds us in one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, TypeAlias

Header: TypeAlias = tuple[bytes, bytes]

Known: TypeAlias = Callable[[bool], None]
"""Takes whether an answer was read, as far as can be told."""


class ClientGone(Exception):
    """The client went away before its request was complete; there is nobody to answer."""


class BodyTooLarge(Exception):
    """More came than was allowed; the rest was not read."""


class Exchange(Protocol):
    """Names of headers are lower case; values as they came."""

    method: str
    path: str
    headers: list[Header]
    memory: dict[str, Any]
    """What the front wants to find again in the next exchange of the same connection."""

    @property
    def left(self) -> bool | None:
        """Whether the client has gone; None where only `gone` can tell."""
        ...

    def on_read(self, known: Known) -> bool:
        """Asked before the answer: `known` is called once, when the client has shown that it read all of it, or that
        it did not. False, and no call, where that cannot be found out."""
        ...

    async def read_body(self, limit: int, seconds: float) -> bytes:
        """All of it. Raises `BodyTooLarge`, `ClientGone`, or `TimeoutError` when it begins and does not end. One that
        never begins is for what serves HTTP to notice, which sees heads and bodies alike."""
        ...

    async def answer(self, status: int, headers: list[Header], body: bytes) -> None:
        """Everything at once; only if nothing was started. Waits while the client does not read."""
        ...

    async def start(self, status: int, headers: list[Header]) -> None: ...

    async def write(self, chunk: bytes) -> None:
        """Waits while the client does not read: that is the back-pressure."""
        ...

    async def end(self) -> None: ...

    async def gone(self) -> None:
        """Returns when the client went away, or the answer is complete. Only after the body was read."""
        ...


Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class AsgiExchange:
    """The ASGI form of it."""

    __slots__ = ("_receive", "_send", "headers", "memory", "method", "path")

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: list[Header] = scope["headers"]
        self.memory: dict[str, Any] = {}
        self._receive = receive
        self._send = send

    @property
    def left(self) -> bool | None:
        return None

    def on_read(self, known: Known) -> bool:
        return False

    async def read_body(self, limit: int, seconds: float) -> bytes:
        event = await self._receive()
        if event["type"] == "http.request" and not event.get("more_body", False):
            body: bytes = event.get("body", b"")
            if len(body) > limit:
                raise BodyTooLarge
            return body
        async with asyncio.timeout(seconds):
            return await self._read_parts(event, limit)

    async def _read_parts(self, event: MutableMapping[str, Any], limit: int) -> bytes:
        chunks: list[bytes] = []
        total = 0
        while event["type"] == "http.request":
            chunk = event.get("body", b"")
            total += len(chunk)
            if total > limit:
                raise BodyTooLarge
            chunks.append(chunk)
            if not event.get("more_body", False):
                return b"".join(chunks)
            event = await self._receive()
        raise ClientGone

    async def answer(self, status: int, headers: list[Header], body: bytes) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def start(self, status: int, headers: list[Header]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        # Some servers hold the head back until there is a body.
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})

    async def write(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            # A server may report an empty body part first; nothing else comes after the body.
            continue


def header(headers: list[Header], name: bytes) -> str | None:
    """The first value, as text, or None."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return None
