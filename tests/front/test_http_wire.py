"""One connection's bytes: requests cut anywhere, answers, bounds and deadlines, with a socket that the test plays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from emceepee.front.exchange import BodyTooLarge, ClientGone, Exchange
from emceepee.front.http_wire import MAX_HEAD, MAX_PIPELINED, Connections, HttpConnection
from emceepee.front.settings import FrontSettings
from emceepee.runtime.spawn import TaskScope
from tests.support.fake_clock import FakeClock, settle

SETTINGS = FrontSettings(max_body=1000, max_connections=2, request_timeout=45, idle_connection=75, stalled_after=60)


class Socket:
    """The transport's side."""

    def __init__(self) -> None:
        self.sent = b""
        self.closed = self.aborted = self.ended = False
        self.writes = self.unsent = self.error = 0

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str) -> Any:
        return self if name == "socket" else None

    def getsockopt(self, level: int, option: int) -> int:
        """What the system has to say of the socket."""
        return self.error

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def write(self, data: bytes) -> None:
        self.writes += 1
        self.sent += data

    def writelines(self, parts: Any) -> None:
        self.write(b"".join(parts))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class House:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.tasks = TaskScope("wire")
        self.seen: list[tuple[str, str, bytes]] = []
        self.serve: Callable[[Exchange], Awaitable[None]] = self.echo
        self.all = Connections(self._serve, SETTINGS, self.clock, self.tasks)

    async def _serve(self, exchange: Exchange) -> None:
        await self.serve(exchange)

    def connect(self) -> tuple[HttpConnection, Socket]:
        connection, socket = HttpConnection(self.all), Socket()
        connection.connection_made(socket)  # type: ignore[arg-type]
        return connection, socket

    async def echo(self, exchange: Exchange) -> None:
        try:
            body = await exchange.read_body(1000, 30)
        except BodyTooLarge:
            await exchange.answer(413, [], b"")
            return
        self.seen.append((exchange.method, exchange.path, body))
        await exchange.answer(200, [(b"content-type", b"text/plain")], body)

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        self.all.sweep()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House()
    yield made
    made.all.abort()
    await made.tasks.close()


def post(body: bytes, *more: str, path: str = "/mcp", version: str = "1.1") -> bytes:
    lines = [f"POST {path} HTTP/{version}", "Host: x", f"Content-Length: {len(body)}", *more, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize("cut", [1, 7, 64, 10_000])
async def test_requests_cut_anywhere_are_answered_in_order_on_one_connection(house: House, cut: int) -> None:
    connection, socket = house.connect()
    wire = post(b"one") + post(b"") + post(b"three", path="/a%20b?q=1")
    for start in range(0, len(wire), cut):
        connection.data_received(wire[start : start + cut])
        await settle(2)
    await settle()
    assert house.seen == [("POST", "/mcp", b"one"), ("POST", "/mcp", b""), ("POST", "/a b", b"three")]
    assert socket.sent.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert socket.sent.endswith(b"content-length: 5\r\n\r\nthree")
    assert not socket.closed


async def test_a_small_answer_is_one_write(house: House) -> None:
    connection, socket = house.connect()
    connection.data_received(post(b"hi"))
    await settle()
    assert socket.writes == 1


async def test_chunked_bodies_come_whole_and_names_of_headers_in_lower_case(house: House) -> None:
    heads: list[Any] = []

    async def serve(exchange: Exchange) -> None:
        heads.append(exchange.headers)
        await house.echo(exchange)

    house.serve = serve
    connection, socket = house.connect()
    connection.data_received(b"POST /mcp HTTP/1.1\r\nHOST: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    await settle()
    connection.data_received(b"2\r\nde\r\n0\r\n\r\n")
    await settle()
    assert socket.sent.endswith(b"abcde")
    assert heads == [[(b"host", b"x"), (b"transfer-encoding", b"chunked")]]


async def test_a_client_that_asks_before_it_sends_is_told_to_go_on(house: House) -> None:
    connection, socket = house.connect()
    connection.data_received(post(b"")[:-2].replace(b": 0", b": 2") + b"Expect: 100-continue\r\n\r\n")
    await settle()
    assert socket.sent == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.data_received(b"ok")
    await settle()
    assert socket.sent.endswith(b"\r\n\r\nok")


async def test_a_body_over_the_limit_is_refused_before_it_is_whole_and_the_connection_closed(house: House) -> None:
    connection, socket = house.connect()
    connection.data_received(post(b"x" * 5000)[:2000])
    await settle()
    assert socket.sent.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close\r\n" in socket.sent
    assert socket.closed


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * (MAX_HEAD + 1), 431),
    ],
)
async def test_what_is_no_request_gets_its_status_and_is_hung_up_on(house: House, sent: bytes, status: int) -> None:
    connection, socket = house.connect()
    connection.data_received(sent)
    await settle()
    assert socket.sent.startswith(b"HTTP/1.1 %d " % status)
    assert socket.closed
    assert house.seen == []


async def test_rubbish_behind_a_request_does_not_spoil_its_answer(house: House) -> None:
    connection, _ = house.connect()
    connection.data_received(post(b"fine") + b"\x00\x01rubbish\r\n\r\n")
    await settle()
    assert house.seen == [("POST", "/mcp", b"fine")]


async def test_a_wish_to_upgrade_is_ignored_and_the_request_answered(house: House) -> None:
    connection, socket = house.connect()
    more = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA")
    connection.data_received(post(b"body", *more))
    await settle()
    assert house.seen == [("POST", "/mcp", b"body")]
    assert socket.sent.startswith(b"HTTP/1.1 200 OK")


async def test_too_many_requests_at_once_are_hung_up_on(house: House) -> None:
    async def never(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    house.serve = never
    connection, socket = house.connect()
    connection.data_received(post(b"") * (MAX_PIPELINED + 2))
    await settle()
    assert socket.closed


async def test_http_1_0_is_answered_and_closed_and_streams_without_chunks(house: House) -> None:
    async def stream(exchange: Exchange) -> None:
        await exchange.start(200, [])
        await exchange.write(b"part")
        await exchange.end()

    house.serve = stream
    connection, socket = house.connect()
    connection.data_received(post(b"", version="1.0"))
    await settle()
    assert socket.sent.endswith(b"connection: close\r\n\r\npart")
    assert socket.closed


async def test_a_stream_is_written_in_chunks_and_waits_while_the_client_does_not_read(house: House) -> None:
    written: list[str] = []

    async def stream(exchange: Exchange) -> None:
        await exchange.start(200, [])
        for part in (b"one", b"", b"two"):
            await exchange.write(part)
            written.append(part.decode())
        await exchange.end()

    house.serve = stream
    connection, socket = house.connect()
    connection.pause_writing()
    connection.data_received(post(b""))
    await settle()
    assert written == []
    connection.resume_writing()
    await settle()
    assert written == ["one", "", "two"]
    assert socket.sent.endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


async def test_a_client_that_leaves_is_noticed_while_it_is_served_and_while_it_sends(house: House) -> None:
    noticed: list[str] = []

    async def serve(exchange: Exchange) -> None:
        try:
            await exchange.read_body(1000, 30)
            await exchange.gone()
            assert exchange.left
            noticed.append("gone")
        except ClientGone:
            noticed.append("never whole")

    house.serve = serve
    for sent in (post(b"whole"), post(b"half of it")[:-4]):
        connection, _ = house.connect()
        connection.data_received(sent)
        await settle()
        connection.connection_lost(None)
        await settle()
    assert noticed == ["gone", "never whole"]
    assert (len(house.all), len(house.tasks)) == (0, 0)


@pytest.mark.parametrize(("sent", "seconds"), [(b"", 45), (b"POST /mcp HT", 45), (post(b"abc")[:-1], 45)])
async def test_a_request_that_does_not_become_whole_is_given_up(house: House, sent: bytes, seconds: float) -> None:
    connection, socket = house.connect()
    if sent:
        connection.data_received(sent)
    await house.pass_time(seconds - 1)
    assert not socket.closed
    await house.pass_time(2)
    assert socket.closed


async def test_an_idle_connection_is_closed_and_a_busy_one_never(house: House) -> None:
    connection, socket = house.connect()
    connection.data_received(post(b"x"))
    await settle()
    await house.pass_time(74)
    assert not socket.closed
    await house.pass_time(2)
    assert socket.closed

    async def long(exchange: Exchange) -> None:
        await house.clock.sleep(1000)

    house.serve = long
    connection, socket = house.connect()
    connection.data_received(post(b"x"))
    await settle()
    await house.pass_time(900)
    assert not socket.closed


async def test_a_client_that_never_reads_is_cut_off(house: House) -> None:
    connection, socket = house.connect()
    connection.pause_writing()
    await house.pass_time(59)
    assert not socket.aborted
    await house.pass_time(2)
    assert socket.aborted


async def test_connections_are_bounded(house: House) -> None:
    house.connect()
    house.connect()
    _, third = house.connect()
    assert third.sent.startswith(b"HTTP/1.1 503 ")
    assert third.closed
    assert len(house.all) == 2


async def test_going_down_closes_the_idle_and_lets_the_busy_finish(house: House) -> None:
    release = asyncio.Event()

    async def serve(exchange: Exchange) -> None:
        await release.wait()
        await exchange.answer(200, [], b"done")

    house.serve = serve
    _, idle = house.connect()
    connection, busy = house.connect()
    connection.data_received(post(b"x"))
    await settle()
    house.all.drain()
    assert (idle.closed, busy.closed) == (True, False)
    release.set()
    await settle()
    assert busy.sent.endswith(b"connection: close\r\n\r\ndone")
    assert busy.closed


# -- whether an answer was read


def asking(house: House) -> list[bool]:
    """Each exchange wants to know; what it was told."""
    told: list[bool] = []

    async def serve(exchange: Exchange) -> None:
        body = await exchange.read_body(1000, 30)
        if not exchange.on_read(told.append):
            told.append(body == b"nothing will be known")
        await exchange.answer(200, [], body)

    house.serve = serve
    return told


async def answered(house: House, *more: str) -> tuple[HttpConnection, Socket]:
    connection, socket = house.connect()
    connection.data_received(post(b"x", *more))
    await settle()
    assert socket.sent.endswith(b"x")
    return connection, socket


@pytest.mark.shows("A-DEL-16")
async def test_a_client_that_goes_on_or_ends_in_order_has_read_its_answer(house: House) -> None:
    told = asking(house)
    connection, _ = await answered(house)
    assert told == []
    connection.data_received(post(b"y"))
    assert told == [True]
    await settle()
    connection.eof_received()
    connection.connection_lost(None)
    assert told == [True, True]


@pytest.mark.shows("A-DEL-16")
@pytest.mark.parametrize("how", ["reset", "left before it came", "not all was sent"])
async def test_a_client_that_is_gone_before_it_read_has_not(house: House, how: str) -> None:
    told = asking(house)
    connection, socket = await answered(house)
    if how == "reset":
        connection.connection_lost(ConnectionResetError())
    else:
        socket.error, socket.unsent = (32, 0) if how == "left before it came" else (0, 5)
        connection.eof_received()
        connection.connection_lost(None)
    assert told == [False]


async def test_one_that_is_cut_off_has_not_and_one_that_stays_silent_has_had_its_time(house: House) -> None:
    told = asking(house)
    connection, _ = await answered(house)
    connection.abort()
    assert told == [False]
    _, socket = await answered(house)
    await house.pass_time(4)
    assert told == [False]
    await house.pass_time(2)
    assert told == [False, True]
    assert not socket.closed


async def test_a_connection_that_is_to_be_closed_is_closed_when_that_is_known(house: House) -> None:
    told = asking(house)
    _, socket = await answered(house, "Connection: close")
    assert (told, socket.ended, socket.closed) == ([], True, False)
    await house.pass_time(6)
    assert (told, socket.closed) == ([True], True)
    connection, _ = await answered(house, "Connection: close")
    connection.connection_lost(ConnectionResetError())
    assert told == [True, False]


async def test_behind_a_further_request_nothing_will_be_known(house: House) -> None:
    told = asking(house)
    connection, _ = house.connect()
    connection.data_received(post(b"nothing will be known") + post(b"x"))
    await settle()
    assert told == [True]


async def test_going_down_waits_for_nobody_to_read(house: House) -> None:
    told = asking(house)
    _, socket = await answered(house)
    house.all.drain()
    assert (told, socket.closed) == ([True], True)
