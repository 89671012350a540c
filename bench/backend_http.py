"""The cheapest MCP server over HTTP that Python can have: a protocol on httptools and uvloop, one process.

    python -m bench.backend_http PORT

The path chooses: `/legacy` or `/modern`, with `-sse` behind it for answers as event streams, `-get` for a standing
stream that stays open. Sessions are given and not looked at. The one rule: whatever is measured with it as a backend,
it must be the cheapest part.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from typing import cast

import httptools
import uvloop

from bench.answers import answer
from bench.wire import Era

_sessions = itertools.count(1)
_WHOLE = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n%b"
_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n%b"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
)
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
_GONE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_NOT_ALLOWED = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, DELETE\r\nContent-Length: 0\r\n\r\n"


class _Client(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._path = b""
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by inheritance

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            assert self._transport is not None
            sys.stderr.write(f"not HTTP: {error}\n")
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._path = url
        self._body.clear()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        assert self._transport is not None
        method = self._parser.get_method()
        if method == b"POST":
            self._transport.write(self._answer(b"".join(self._body)))
        elif method == b"GET" and self._path.endswith(b"-get"):
            self._transport.write(_OPEN)
        else:
            self._transport.write(_GONE if method == b"DELETE" else _NOT_ALLOWED)

    def _answer(self, body: bytes) -> bytes:
        era: Era = "modern" if self._path.startswith(b"/modern") else "legacy"
        said = answer(body, era)
        if said is None:
            return _ACCEPTED
        session = b""
        if era == "legacy" and b'"initialize"' in body:
            session = b"Mcp-Session-Id: bench-%d\r\n" % next(_sessions)
        if self._path.endswith(b"-sse"):
            event = b"event: message\ndata: %b\n\n" % said
            return _STREAM % (session, len(event), event)
        status = b"400 Bad Request" if era == "modern" and b'"error":{' in said[:60] else b"200 OK"
        return _WHOLE % (status, session, len(said), said)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(_Client, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(int(sys.argv[1])))
