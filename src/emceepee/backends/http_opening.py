"""Getting from an address to an open socket: names, several addresses at once, a proxy's tunnel, TLS.

What a connection does once it is open is `http_connection`'s. The time this may take is the caller's: it cancels.

The one rule: certificates are verified, always, and against the server's own name also behind a proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from asyncio.staggered import staggered_race
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, cast

import httptools

from emceepee.backends.http_address import Address
from emceepee.backends.http_proxy import Proxy

HAPPY_EYEBALLS_SECONDS = 0.25
"""How long one of a name's addresses is tried before the next is tried beside it (RFC 8305)."""
_MAX_TUNNEL_HEAD = 16 * 1024

ProtocolFactory: TypeAlias = Callable[[], asyncio.Protocol]


def client_tls() -> ssl.SSLContext:
    """The system's trust, names checked, HTTP/1.1 only."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def open_connection(
    address: Address, proxy: Proxy | None, make: ProtocolFactory, tls: Callable[[], ssl.SSLContext]
) -> asyncio.BaseTransport:
    """Raises `OSError` (also for names and certificates) with a text that can be shown."""
    if proxy is None:
        secure = tls() if address.scheme == "https" else None
        return await _connect(address.host, address.port, make, secure)
    if address.scheme == "http":
        return await _connect(proxy.host, proxy.port, make, None)
    tunnel = _Tunnel(address, proxy)
    transport = await _connect(proxy.host, proxy.port, lambda: tunnel, None)
    try:
        await tunnel.opened
        protocol = make()
        secured = await asyncio.get_running_loop().start_tls(
            cast("asyncio.Transport", transport),
            protocol,
            tls(),
            server_hostname=address.host,
        )
    except BaseException:
        transport.close()
        raise
    if secured is None:
        raise ConnectionResetError("the proxy hung up during the TLS handshake")
    protocol.connection_made(secured)
    return secured


async def _connect(host: str, port: int, make: ProtocolFactory, tls: ssl.SSLContext | None) -> asyncio.BaseTransport:
    loop = asyncio.get_running_loop()
    options: dict[str, Any] = {"ssl": tls, "server_hostname": host if tls is not None else None}
    if _is_numeric(host):
        transport, _ = await loop.create_connection(make, host, port, **options)
        return transport
    sock = await _first_of(host, port)
    try:
        transport, _ = await loop.create_connection(make, sock=sock, **options)
    except BaseException:
        sock.close()
        raise
    return transport


async def _first_of(host: str, port: int) -> socket.socket:
    """The first of a name's addresses that takes us. Written out because not every loop has it."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    tries = [partial(_connect_socket, family, where) for family, _, _, _, where in _interleaved(found)]
    if len(tries) == 1:
        return await tries[0]()
    winner: socket.socket | None
    winner, _, errors = await staggered_race(tries, HAPPY_EYEBALLS_SECONDS)
    if winner is not None:
        return winner
    raise next((error for error in errors if error is not None), OSError("no address of the name answered"))


def _interleaved(found: list[Any]) -> list[Any]:
    """The families in turn, beginning with the one that the system prefers."""
    first = [info for info in found if info[0] == found[0][0]]
    others = [info for info in found if info[0] != found[0][0]]
    ordered = []
    for index in range(max(len(first), len(others))):
        ordered += first[index : index + 1] + others[index : index + 1]
    return ordered


async def _connect_socket(family: int, where: Any) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class _Tunnel(asyncio.Protocol):
    """Asks a proxy for a way through, and is done when it got one."""

    def __init__(self, address: Address, proxy: Proxy) -> None:
        lines = [f"CONNECT {address.authority} HTTP/1.1", f"host: {address.authority}"]
        if proxy.credentials is not None:
            lines.append(f"proxy-authorization: {proxy.credentials}")
        self._question = "\r\n".join((*lines, "", "")).encode("latin-1")
        self._parser = httptools.HttpResponseParser(self)
        self._heard = 0
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not of asyncio's classes, only of their shape.
        cast(asyncio.Transport, transport).write(self._question)

    def data_received(self, data: bytes) -> None:
        self._heard += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._refused(f"the proxy's answer is not HTTP: {error}")
        if self._heard > _MAX_TUNNEL_HEAD:
            self._refused("the proxy's answer does not end")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 200 <= status < 300:
            if not self.opened.done():
                self.opened.set_result(None)
        elif status >= 300:
            self._refused(f"the proxy refused the tunnel with HTTP {status}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._refused("the proxy hung up")

    def _refused(self, why: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionRefusedError(why))
