"""A server of raw bytes on loopback, for tests about the wire: it does what its script says, also what none should.

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\\r\\ncontent-le")
        wire.reset()

    async with raw_server(script) as server:
        ... server.url, server.requests, server.connections

The script runs once for each connection; when it returns, the connection is closed. It can wait for what the test
does (an `asyncio.Event`), never for time.

The one rule: it adds nothing: what is on the wire was written by the script, byte by byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

WAIT = 30.0
"""Longer than anything takes; a test that gets here has failed."""


@dataclass(frozen=True)
class Asked:
    """A request as it came. Names of headers in small letters."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


class HungUp(Exception):
    """The client closed its side while the script waited for a request."""


class Wire:
    """One connection, from the server's end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: RawServer) -> None:
        self._reader = reader
        self._writer = writer
        self.server = server
        self.number = server.connections

    async def request(self) -> Asked:
        """The next request, whole. Raises `HungUp`."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            start, *lines = head.decode("latin-1").split("\r\n")[:-2]
            headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            raise HungUp from None
        method, target, _ = start.split(" ")
        asked = Asked(method, target, headers, body, self.number)
        self.server.note(asked)
        return asked

    async def say(self, *parts: bytes) -> None:
        """Write; several parts are several writes, each on its way before the next."""
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()
            await asyncio.sleep(0)

    async def answer(self, body: bytes, status: str = "200 OK", **headers: str) -> None:
        headers = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.say(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body)

    async def open_stream(self, **headers: str) -> None:
        """The head of a chunked event stream."""
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
        await self.say(f"{head}{lines}\r\n".encode("latin-1"))

    async def chunk(self, data: bytes) -> None:
        await self.say(b"%x\r\n%b\r\n" % (len(data), data))

    async def last_chunk(self, data: bytes) -> None:
        """The data and the end of the stream in one write."""
        await self.say(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        await self.say(b"0\r\n\r\n")

    async def hung_up(self) -> None:
        """Until the client has closed its side."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(65536):
                pass

    async def hung_up_or(self, event: asyncio.Event) -> bool:
        """Until the event is set (True) or the client has closed its side."""
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self.hung_up())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return event.is_set()

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """RST instead of FIN."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Script: TypeAlias = Callable[[Wire], Awaitable[None]]


@dataclass
class RawServer:
    port: int = 0
    scheme: str = "http"
    connections: int = 0
    requests: list[Asked] = field(default_factory=list)
    open: set[asyncio.Task[None]] = field(default_factory=set)
    failures: list[BaseException] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/mcp"

    def note(self, asked: Asked | None = None) -> None:
        if asked is not None:
            self.requests.append(asked)
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something about requests or connections."""
        async with asyncio.timeout(WAIT):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_closed(self) -> None:
        """Until no connection is open any more."""
        await self.until(lambda: not self.open)


@contextlib.asynccontextmanager
async def raw_server(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    server = RawServer(scheme="https" if tls else "http")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        server.connections += 1
        server.open.add(task)
        server.note()
        try:
            await script(Wire(reader, writer, server))
        except (HungUp, ConnectionError, asyncio.CancelledError):
            pass
        except BaseException as error:  # noqa: BLE001 - told by the test that owns the server
            server.failures.append(error)
        finally:
            server.open.discard(task)
            server.note()
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=4 * 1024 * 1024)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in list(server.open):
            task.cancel()
        await server.until_closed()
        assert not server.failures, server.failures


def unused_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
