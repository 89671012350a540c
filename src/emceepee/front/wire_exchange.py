"""One exchange on a connection of our own wire: its body as it comes in, its answer as it goes out.

The connection (`http_wire.py`) parses and keeps the order; this knows one request and one answer, in one piece or in
chunks. The one rule: whether the connection may be used again is known here, and it may not when the request was not
whole or its answer not finished.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

import httptools

from emceepee.front.exchange import BodyTooLarge, ClientGone, Header, Known

if TYPE_CHECKING:
    from emceepee.front.http_wire import HttpConnection

STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
LENGTH: Final = b"content-length"
JSON: Final[Header] = (b"content-type", b"application/json")
_JSON_OK: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


class Owner(Protocol):
    """Who serves an exchange without waiting for anything."""

    def client_left(self) -> None:
        """Nobody reads what is written from now on."""
        ...

    def cut_off(self) -> None:
        """We go down, and it has lasted too long."""
        ...


class WireExchange:
    """Implements `front.exchange.Exchange`."""

    __slots__ = (
        "_connection",
        "_ended",
        "_gone",
        "_owner",
        "_parts",
        "_size",
        "_started",
        "_waiting",
        "_whole",
        "chunks",
        "headers",
        "keep_alive",
        "memory",
        "method",
        "path",
    )

    def __init__(self, connection: HttpConnection, method: str, path: str, headers: list[Header]) -> None:
        self._connection = connection
        self.method = method
        self.path = path
        self.headers = headers
        self.memory = connection.memory
        self.keep_alive = True
        self.chunks = True
        self._parts: list[bytes] = []
        self._size = 0
        self._whole = self._started = self._ended = False
        self._waiting: asyncio.Future[None] | None = None
        self._gone: asyncio.Future[None] | None = None
        self._owner: Owner | None = None

    @property
    def reusable(self) -> bool:
        """Whether another exchange may follow on this connection."""
        return self.keep_alive and self._whole and self._ended and not self._connection.closing

    # -- from the connection

    def feed(self, part: bytes) -> None:
        self._size += len(part)
        limit = self._connection.max_body
        if self._size > limit:
            # Counted on, not kept: whoever reads the body learns that it was too large.
            self._parts.clear()
        else:
            self._parts.append(part)
        self._tell(self._waiting, self._size > limit)

    def came_whole(self, body: bytes) -> None:
        """Head and body at once: nobody has had to wait for it."""
        self._parts.append(body)
        self._size = len(body)
        self._whole = True

    def whole(self) -> None:
        self._whole = True
        self._tell(self._waiting, True)

    def client_left(self) -> None:
        self._tell(self._waiting, True)
        self._tell(self._gone, True)
        if self._owner is not None:
            self._owner.client_left()

    def cut_off(self) -> None:
        if self._owner is not None:
            self._owner.cut_off()

    def _tell(self, waiting: asyncio.Future[None] | None, now: bool) -> None:
        if now and waiting is not None and not waiting.done():
            waiting.set_result(None)

    # -- for the front, where it serves without waiting

    @property
    def is_whole(self) -> bool:
        return self._whole

    def body(self) -> bytes | None:
        """All of one that is whole; None of one that was too large."""
        if self._size > self._connection.max_body:
            return None
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def owned(self, owner: Owner | None) -> None:
        """Who wants to know what becomes of its client meanwhile."""
        self._owner = owner
        self._connection.watch(self)

    def write_json(self, status: int, body: bytes) -> None:
        """The whole answer."""
        self._started = self._ended = True
        connection = self._connection
        if status == 200 and self.keep_alive and not connection.draining:
            connection.write(_JSON_OK % len(body), body)
        else:
            connection.write(self._head(status, [JSON], len(body)), body)

    def over(self) -> None:
        """Nothing more will be written: the next may come."""
        self._owner = None
        self._connection.over(self)

    # -- for the front

    @property
    def left(self) -> bool | None:
        return self._connection.gone

    @property
    def answered(self) -> bool:
        """Whether the whole of the answer was written."""
        return self._ended

    def on_read(self, known: Known) -> bool:
        return self._connection.doubt(self, known)

    async def read_body(self, limit: int, seconds: float) -> bytes:
        if not self._whole:
            if (b"expect", b"100-continue") in self.headers and not self._size:
                self._connection.write(CONTINUE)
            async with asyncio.timeout(seconds):
                await self._until_read(limit)
        if self._size > limit:
            raise BodyTooLarge
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def _until_read(self, limit: int) -> None:
        while not self._whole and self._size <= limit:
            if self._connection.gone:
                raise ClientGone
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
            self._waiting = None

    async def answer(self, status: int, headers: list[Header], body: bytes) -> None:
        self._started = self._ended = True
        connection = self._connection
        connection.write(self._head(status, headers, None if status in (204, 304) else len(body)), body)
        if connection.writable is not None:
            await connection.writable

    async def start(self, status: int, headers: list[Header]) -> None:
        self._started = True
        head = list(headers)
        if self.chunks:
            head.append((b"transfer-encoding", b"chunked"))
        else:
            self.keep_alive = False
        self._connection.write(self._head(status, head, None))

    async def write(self, chunk: bytes) -> None:
        if not chunk:
            return
        if self.chunks:
            self._connection.write(b"%x\r\n" % len(chunk), chunk, b"\r\n")
        else:
            self._connection.write(chunk)
        if self._connection.writable is not None:
            await self._connection.writable

    async def end(self) -> None:
        self._ended = True
        if self.chunks:
            self._connection.write(b"0\r\n\r\n")
        self._tell(self._gone, True)

    async def gone(self) -> None:
        if self._ended or self._connection.gone:
            return
        if self._gone is None:
            self._gone = asyncio.get_running_loop().create_future()
            self._connection.watch(self)
        # Several may look, and one who stops looking must not end it for the others.
        await asyncio.shield(self._gone)

    def _head(self, status: int, headers: list[Header], length: int | None) -> bytes:
        parts = [STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
        told = False
        for name, value in headers:
            told = told or name == LENGTH
            parts.append(name + b": " + value + b"\r\n")
        if length is not None and not told:
            parts.append(b"content-length: %d\r\n" % length)
        if not self.keep_alive or not self._whole or self._connection.draining:
            self.keep_alive = False
            parts.append(b"connection: close\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)


def path_of(target: bytes) -> str:
    """The path of a request target, decoded, without its query; an absolute target counts as its path."""
    if target.startswith(b"/") and b"%" not in target and b"?" not in target and b"#" not in target:
        return target.decode("latin-1")
    try:
        path = httptools.parse_url(target).path or b"/"
    except httptools.HttpParserInvalidURLError:
        return "/"
    return unquote(path.decode("latin-1"))
