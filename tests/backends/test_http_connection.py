"""One socket and its parser, fed by hand: a fake socket on one side, a fake pool on the other."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.http_client import HttpRequest, Route
from emceepee.backends.http_connection import MAX_BARREN, Connection, Exchange
from tests.support.heard import Heard


class FakeSocket:
    """Just enough of an asyncio transport."""

    def __init__(self, dead: bool = False) -> None:
        self.written = b""
        self.unsent = 0
        self.closing = False
        self.reading = True
        self.dead = dead

    def write(self, data: bytes) -> None:
        if self.dead:
            self.closing = True
        else:
            self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    abort = close

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str) -> None:
        return None


class FakePool:
    """Notes what a connection told it."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda _: self.told.append(name)


class Scene:
    """A connection in the middle of its first request."""

    def __init__(self, repeatable: bool = False, dead: bool = False) -> None:
        self.pool = FakePool()
        self.socket = FakeSocket(dead)
        self.connection = Connection(cast(Any, self.pool))
        self.connection.connection_made(cast(asyncio.BaseTransport, self.socket))
        self.repeatable = repeatable
        self.heard = self.ask()

    def ask(self) -> Heard:
        heard = Heard()
        request = HttpRequest(cast(Route, None), b"POST / HTTP/1.1\r\n", b"{}", repeatable=self.repeatable)
        heard.exchange = Exchange(request, heard, cast(Any, self.pool))
        self.begun = self.connection.begin(heard.exchange)
        return heard

    def come(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.connection.data_received(chunk)

    def hang_up(self, error: Exception | None = None) -> None:
        self.connection.eof_received()
        self.connection.connection_lost(error)

    @property
    def free(self) -> bool:
        return "released" in self.pool.told


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_a_request_is_written_whole_with_its_length() -> None:
    assert Scene().socket.written == b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"


async def test_an_answer_is_told_part_by_part_and_the_connection_is_free_again() -> None:
    scene = Scene()
    scene.come(OK)
    heard = scene.heard
    assert (heard.status, heard.body, heard.ends, heard.fault) == (200, b"hi", 1, None)
    assert heard.headers == {b"content-length": b"2"}
    assert scene.free
    assert not scene.socket.closing


async def test_a_free_connection_serves_the_next_request() -> None:
    scene = Scene()
    scene.come(OK)
    second = scene.ask()
    scene.come(b"HTTP/1.1 404 Not Found\r\nX: 1\r\nX: 2\r\ncontent-length: 0\r\n\r\n")
    assert (second.status, second.headers[b"x"]) == (404, b"1, 2")
    assert scene.pool.told == ["made", "released", "released"]


@given(st.lists(st.integers(1, 30), max_size=40), st.sampled_from(["length", "chunked", "interim"]))
def test_where_an_answer_is_cut_does_not_change_what_is_heard(cuts: list[int], form: str) -> None:
    body = "grüße, 世界".encode()
    whole = {
        "length": b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nx: y\r\n\r\n%b" % (len(body), body),
        "chunked": CHUNKED
        + b"4;e=1\r\n%b\r\n%x\r\n%b\r\n0\r\ntrailer: t\r\n\r\n" % (body[:4], len(body) - 4, body[4:]),
        "interim": b"HTTP/1.1 103 Early\r\nl: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"
        % (len(body), body),
    }[form]
    scene = Scene()
    for cut in cuts:
        if whole:
            scene.come(whole[:cut])
            whole = whole[cut:]
    if whole:
        scene.come(whole)
    assert (scene.heard.status, scene.heard.body, scene.heard.ends) == (200, body, 1)
    assert b"l" not in scene.heard.headers
    assert b"trailer" not in scene.heard.headers
    assert scene.free


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    scene = Scene()
    scene.come(b"HTTP/1.0 200 OK\r\n\r\nhe", b"llo")
    assert scene.heard.ends == 0
    scene.hang_up()
    assert (scene.heard.body, scene.heard.ends, scene.heard.fault) == (b"hello", 1, None)


async def test_a_reset_is_no_end_of_an_answer_without_a_length() -> None:
    scene = Scene()
    scene.come(b"HTTP/1.0 200 OK\r\n\r\nhe")
    scene.hang_up(ConnectionResetError())
    assert scene.heard.fault is not None
    assert scene.heard.fault.kind == "truncated"


@pytest.mark.parametrize(
    "part",
    [
        b"H",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi",
        CHUNKED + b"5\r\nhi",
        CHUNKED + b"2\r\nhi\r\n",
        CHUNKED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n") + b"2\r\nhi\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_half_an_answer_is_told_as_half_an_answer(part: bytes) -> None:
    scene = Scene()
    scene.come(part)
    scene.hang_up()
    assert scene.heard.fault is not None
    assert scene.heard.fault.kind == "truncated"


async def test_no_byte_of_an_answer_is_told_apart_from_half_an_answer() -> None:
    scene = Scene()
    scene.hang_up()
    assert scene.heard.fault is not None
    assert scene.heard.fault.kind == "unanswered"


async def test_a_kept_connection_that_dies_silent_gives_back_only_what_may_be_repeated() -> None:
    for repeatable, told in ((True, True), (False, False)):
        scene = Scene(repeatable)
        scene.come(OK)
        second = scene.ask()
        scene.hang_up()
        assert ("again" in scene.pool.told) == told
        assert (second.fault is None) == told


async def test_a_fresh_connection_that_dies_silent_gives_nothing_back() -> None:
    scene = Scene(repeatable=True)
    scene.hang_up()
    assert "again" not in scene.pool.told
    assert scene.heard.fault is not None


async def test_a_write_that_fails_at_once_sent_nothing() -> None:
    scene = Scene(dead=True)
    assert not scene.begun
    assert scene.connection.exchange is None


async def test_a_connection_known_to_be_ended_takes_no_request() -> None:
    scene = Scene()
    scene.come(OK)
    scene.connection.eof_received()
    scene.ask()
    assert not scene.begun
    assert scene.connection.is_stale()


@pytest.mark.parametrize(
    "junk",
    [b"junk", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nx: y", b"\0"],
)
async def test_what_comes_after_an_answer_costs_the_connection_and_not_the_answer(junk: bytes) -> None:
    scene = Scene()
    scene.come(OK + junk)
    assert (scene.heard.body, scene.heard.ends, scene.heard.fault) == (b"hi", 1, None)
    assert scene.socket.closing
    assert not scene.free


async def test_an_answer_nobody_asked_for_costs_the_connection() -> None:
    scene = Scene()
    scene.come(OK)
    scene.come(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
    assert scene.socket.closing
    assert scene.heard.ends == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
    ],
)
async def test_a_server_that_says_close_is_taken_at_its_word(answer: bytes) -> None:
    scene = Scene()
    scene.come(answer)
    assert scene.heard.body == b"hi"
    assert scene.socket.closing


async def test_an_answer_before_the_whole_request_was_sent_costs_the_connection() -> None:
    scene = Scene()
    scene.socket.unsent = 5
    scene.come(OK)
    assert scene.heard.body == b"hi"
    assert scene.socket.closing


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
async def test_a_status_that_has_no_body_ends_with_its_head(status: bytes) -> None:
    scene = Scene()
    scene.come(b"HTTP/1.1 %b\r\n\r\n" % status)
    assert scene.heard.ends == 1
    assert scene.free


@pytest.mark.parametrize(
    "rubbish",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na : b\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"1\r\nxyz\r\n",
    ],
)
async def test_what_is_not_http_is_told_and_the_connection_closed(rubbish: bytes) -> None:
    scene = Scene()
    scene.come(rubbish)
    assert scene.heard.fault is not None
    assert scene.heard.fault.kind == "garbled"
    assert scene.heard.ends == 1
    assert scene.socket.closing


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"x: %b\r\n" % (b"y" * 1000)),
        (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED + b"1\r\nx\r\n0\r\nt: ", b"y" * 1000),
        (CHUNKED + b"1;", b"e" * 1000),
        (b"", b"\r\n" * 500),
    ],
)
async def test_what_never_gets_to_a_body_is_cut_off(start: bytes, more: bytes) -> None:
    scene = Scene()
    scene.come(start) if start else None
    for _ in range(MAX_BARREN // len(more) + 2):
        if scene.socket.closing:
            break
        scene.come(more)
    assert scene.heard.fault is not None
    assert scene.heard.fault.kind == "garbled"


async def test_a_long_stream_of_small_chunks_is_not_cut_off() -> None:
    scene = Scene()
    scene.come(CHUNKED)
    for _ in range(MAX_BARREN // 5):
        scene.come(b"1\r\nx\r\n")
    assert scene.heard.fault is None
    assert len(scene.heard.body) == MAX_BARREN // 5


async def test_abandoning_in_the_middle_of_data_ends_it_there() -> None:
    scene = Scene()
    exchange = scene.heard.exchange
    assert exchange is not None
    scene.heard._on_data = lambda _: exchange.abandon()
    scene.come(CHUNKED + b"1\r\nx\r\n1\r\ny\r\n0\r\n\r\n")
    assert scene.heard.body == b"x"
    assert scene.heard.ends == 0
    assert scene.socket.closing
    exchange.abandon()


async def test_a_receiver_that_fails_costs_its_own_exchange_only(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()

    def fail(_: bytes) -> None:
        raise RuntimeError("a bug")

    scene.heard._on_data = fail
    scene.come(OK)
    assert scene.heard.fault is not None
    assert "RuntimeError" in scene.heard.fault.detail
    assert caplog.messages == ["http_receiver_failed"]


async def test_holding_stops_the_reading_and_the_next_request_reads_again() -> None:
    scene = Scene()
    exchange = scene.heard.exchange
    assert exchange is not None
    exchange.pause()
    assert not scene.socket.reading
    exchange.resume()
    assert scene.socket.reading
    exchange.pause()
    scene.come(OK)
    assert scene.socket.reading


async def test_a_detached_exchange_is_read_to_its_end_and_the_connection_freed() -> None:
    scene = Scene()
    scene.come(CHUNKED + b"1\r\nx\r\n")
    assert scene.heard.exchange is not None
    scene.heard.exchange.detach()
    scene.come(b"1\r\ny\r\n0\r\n\r\n")
    assert (scene.heard.body, scene.heard.ends) == (b"x", 0)
    assert scene.pool.told == ["made", "draining", "released"]


async def test_a_detached_exchange_that_goes_on_and_on_costs_its_connection() -> None:
    scene = Scene()
    scene.come(CHUNKED)
    assert scene.heard.exchange is not None
    scene.heard.exchange.detach()
    for _ in range(10):
        scene.come(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
    assert scene.socket.closing


@pytest.mark.parametrize("ending", ["answered", "cut", "garbled", "unanswered"])
async def test_an_exchange_that_ended_holds_its_receiver_no_more(ending: str) -> None:
    """They hold each other while it lasts; a circle would be left for the garbage collector with every call."""
    scene = Scene()
    exchange = scene.heard.exchange
    assert exchange is not None
    assert exchange.receiver is scene.heard
    if ending == "answered":
        scene.come(OK)
    elif ending == "garbled":
        scene.come(b"rubbish\r\n\r\n")
    else:
        scene.come(*([OK[:-1]] if ending == "cut" else []))
        scene.hang_up()
    assert scene.heard.ends == 1
    assert exchange.receiver is not scene.heard
