"""From an address to an open socket: several addresses, TLS, and a proxy's tunnel. On both loops."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator

import pytest

from emceepee.backends.http_address import read_address
from emceepee.backends.http_client import HttpClient, HttpRequest
from emceepee.backends.http_opening import _interleaved, client_tls, open_connection
from tests.support.certificates import NAME, server_tls, trusting_tls
from tests.support.fake_clock import FakeClock
from tests.support.heard import Heard
from tests.support.raw_server import WAIT, HungUp, Wire, raw_server


async def echo(wire: Wire) -> None:
    while True:
        asked = await wire.request()
        await wire.answer(asked.body)


async def ask(client: HttpClient, url: str, body: bytes = b"{}") -> Heard:
    address = read_address(url)
    route = client.route(address)
    heard = Heard()
    client.start(HttpRequest(route, route.head("POST", address.target, []), body), heard)
    return await heard.end()


@pytest.fixture
async def trusting() -> AsyncIterator[HttpClient]:
    client = HttpClient(FakeClock(), {}, tls=trusting_tls)
    yield client
    await client.close()
    assert client.connections == 0


async def test_https_is_spoken_and_the_connection_kept(trusting: HttpClient) -> None:
    async with raw_server(echo, server_tls()) as server:
        body = b"x" * 300_000
        assert (await ask(trusting, server.url, body)).body == body
        assert (await ask(trusting, server.url)).body == b"{}"
        assert server.connections == 1


async def test_a_certificate_nobody_vouches_for_is_refused_and_nothing_is_sent() -> None:
    client = HttpClient(FakeClock(), {})
    async with raw_server(echo, server_tls()) as server:
        heard = await ask(client, server.url)
        assert heard.fault is not None
        assert heard.fault.kind == "unreached"
        assert "certificate" in heard.fault.detail
        assert not server.requests
    await client.close()


async def test_a_certificate_for_another_name_is_refused(trusting: HttpClient) -> None:
    async with raw_server(echo, server_tls()) as server:
        heard = await ask(trusting, f"https://localhost:{server.port}/mcp")
        assert heard.fault is not None
        assert heard.fault.kind == "unreached"
        assert not server.requests


async def test_https_to_a_server_without_tls_is_said_as_such(trusting: HttpClient) -> None:
    async def script(wire: Wire) -> None:
        await wire.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await wire.hung_up()

    async with raw_server(script) as server:
        heard = await ask(trusting, server.url.replace("http:", "https:"))
        assert heard.fault is not None
        assert heard.fault.kind == "unreached"
        assert "TLS" in heard.fault.detail


def test_the_clients_tls_verifies_and_offers_http_1_only() -> None:
    context = client_tls()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


async def test_the_context_is_made_once() -> None:
    made = []

    def make() -> ssl.SSLContext:
        made.append(trusting_tls())
        return made[-1]

    client = HttpClient(FakeClock(), {}, tls=make)
    async with raw_server(echo, server_tls()) as one, raw_server(echo, server_tls()) as other:
        await ask(client, one.url)
        await ask(client, other.url)
    assert len(made) == 1
    await client.close()


class ProxyWire:
    """A proxy that tunnels to a port of this machine, whatever name was asked for."""

    def __init__(self, port: int, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> None:
        self.port = port
        self.answer = answer
        self.asked: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answer)
            if self.answer.startswith(b"HTTP/1.1 200"):
                inner, outer = await asyncio.open_connection("127.0.0.1", self.port)
                await asyncio.gather(self.pump(reader, outer), self.pump(inner, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
        sink.close()


async def through(proxy: ProxyWire, url: str) -> Heard:
    listening = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    client = HttpClient(FakeClock(), {"https_proxy": f"http://me:hush@127.0.0.1:{port}"}, tls=trusting_tls)
    async with asyncio.timeout(WAIT):
        heard = await ask(client, url)
        await client.close()
        listening.close()
    assert client.connections == 0
    return heard


async def test_https_goes_through_a_tunnel_and_is_verified_at_its_end() -> None:
    async with raw_server(echo, server_tls()) as server:
        proxy = ProxyWire(server.port)
        heard = await through(proxy, f"https://{NAME}/mcp")
        assert (heard.fault, bytes(heard.body)) == (None, b"{}")
        assert server.requests[0].headers["host"] == NAME
        assert "proxy-authorization" not in server.requests[0].headers
        assert proxy.asked[0].startswith(b"CONNECT backend.test:443 HTTP/1.1\r\n")
        assert b"proxy-authorization: Basic bWU6aHVzaA==\r\n" in proxy.asked[0]


async def test_a_tunnel_to_the_wrong_server_is_refused() -> None:
    async with raw_server(echo, server_tls()) as server:
        heard = await through(ProxyWire(server.port), "https://other.test/mcp")
        assert heard.fault is not None
        assert heard.fault.kind == "unreached"
        assert not server.requests


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n", "HTTP 407"),
        (b"SSH-2.0\r\n", "not HTTP"),
        (b"HTTP/1.1 2", "hung up"),
        (b"HTTP/1.1 299 OK\r\nx: " + b"y" * 20_000, "does not end"),
    ],
)
async def test_a_proxy_that_gives_no_tunnel_is_said_as_such(answer: bytes, said: str) -> None:
    heard = await through(ProxyWire(0, answer), f"https://{NAME}/mcp")
    assert heard.fault is not None
    assert heard.fault.kind == "unreached"
    assert said in heard.fault.detail


async def test_an_address_that_hangs_does_not_hold_up_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(echo) as server:
        loop = asyncio.get_running_loop()
        stuck = loop.create_future()

        async def found(*_: object, **__: object) -> list[object]:
            dead = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 1, 0, 0))
            return [dead, (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

        async def connect(sock: socket.socket, where: tuple[object, ...]) -> None:
            if sock.family == socket.AF_INET6:
                await stuck
            sock.setblocking(True)
            sock.connect(where)
            sock.setblocking(False)

        address = read_address(f"http://{NAME}:{server.port}/")
        fake = _LoopWith(loop, found, connect)
        monkeypatch.setattr("emceepee.backends.http_opening.asyncio.get_running_loop", lambda: fake)
        async with asyncio.timeout(WAIT):
            transport = await open_connection(address, None, asyncio.Protocol, client_tls)
        monkeypatch.undo()
        transport.close()


class _LoopWith:
    """A loop with its own way to resolve and connect."""

    def __init__(self, loop: asyncio.AbstractEventLoop, found: object, connect: object) -> None:
        self._loop = loop
        self.getaddrinfo = found
        self.sock_connect = connect

    def __getattr__(self, name: str) -> object:
        return getattr(self._loop, name)


def test_the_families_take_turns() -> None:
    six, four = socket.AF_INET6, socket.AF_INET
    assert [info[0] for info in _interleaved([(six,), (six,), (six,), (four,)])] == [six, four, six, six]


async def test_the_servers_script_ends_when_the_client_hangs_up() -> None:
    """Of the fake itself: a script that waits for a request ends with `HungUp`, and that is no failure."""
    ended = asyncio.Event()

    async def script(wire: Wire) -> None:
        with pytest.raises(HungUp):
            await wire.request()
        ended.set()

    async with raw_server(script) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.close()
        async with asyncio.timeout(WAIT):
            await ended.wait()
